"""The report's page in a real browser: Chromium without a screen (Debian's package `chromium`)."""

import re

import pytest

import browser as browsers
from coemarl.report.document import make_document
from coemarl.report.page import page
from coemarl.report.rows import Gathered
from coemarl.report.table import Settings, text
from reported import LBF, SPREAD, rows, study

PHONE, DESK = (390, 844), (1280, 900)
COMMAND = "coe report '</script><b>x'"
TITLE = "A study <i>of</i> </script>&amp;"


def document_of(lines, title=TITLE):
    return make_document(title, Gathered(tuple(lines), ()), Settings(), command=COMMAND)


@pytest.fixture(scope="module")
def document():
    return document_of(study())


# Without a browser


def test_the_page_names_no_other_place(document):
    told = page(document)
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", told))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, which nobody fetches
    assert not re.search(r"<(link|img|iframe|script)[^>]+(src|href)=\"(?!data:)", told)
    assert "default-src 'none'" in told
    assert "@import" not in told
    assert "url(" not in told


def test_no_text_can_end_the_element_that_it_stands_in(document):
    assert page(document).count("</script>") == 2


# In a browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    path = browsers.find()
    if path is None:
        pytest.skip("no chromium here: on Debian, apt-get install chromium")
    with browsers.Browser(path, tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture(scope="module")
def file(document, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(document), encoding="utf-8")
    return path


@pytest.fixture
def shown(chromium, file):
    """The page, freshly opened on a desk."""
    chromium.size(*DESK)
    chromium.open(file)
    return chromium


def texts(chromium, selector):
    return chromium.ask(
        f"[...document.querySelectorAll({selector!r})].map(e => e.innerText.trim())"
    )


def press(chromium, words):
    """Press the filter's button with these words."""
    buttons = "[...document.querySelectorAll('#filters button')]"
    chromium.ask(f"{buttons}.find(b => b.innerText.trim() === {words!r}).click()")


def test_it_opens_from_the_disk_alone_and_complains_of_nothing(shown, file):
    assert shown.requests() == [file.resolve().as_uri()]
    assert shown.complaints() == []
    assert shown.ask("document.title") == TITLE
    assert texts(shown, "h1") == [TITLE]
    assert texts(shown, "pre")[-1] == COMMAND
    assert texts(shown, "h2") == [
        "Average returns and win rates",
        "Maximum returns and win rates",
        "Notes",
        "Learning curves",
        "Over all tasks",
        "Steps to a return",
        "Tests against the best",
        "How it was made",
    ]


def test_it_may_not_load_anything(shown):
    shown.ask("fetch('http://127.0.0.1:9/').catch(() => { window.refused = true; })")
    shown.call(
        "Runtime.evaluate", expression="new Promise(r => setTimeout(r, 50))", awaitPromise=True
    )
    assert shown.ask("window.refused") is True
    assert any("Content Security Policy" in each for each in shown.complaints())


def test_every_number_of_the_tables_is_there_with_its_mark(shown, document):
    seen = texts(shown, "table.results td.cell")
    wanted = []
    for table in document.tables:
        for line in table.lines:
            for algo in table.algos:
                if cell := line.cells.get(algo):
                    paper = ""
                    if cell.paper:
                        paper = f"paper {cell.paper.text}{'*' if cell.paper.indistinct else ''}"
                    wanted.append(
                        f"{text(cell.estimate, table.settings)}{cell.mark} {paper}".strip()
                    )
    assert [" ".join(each.split()) for each in seen] == wanted
    bold = texts(shown, "table.results td.cell.best")
    assert len(bold) == sum(
        c.best for t in document.tables for li in t.lines for c in li.cells.values()
    )


def test_all_notes_are_there(shown, document):
    assert texts(shown, "section:nth-of-type(3) li") == list(document.notes)


def test_pointing_at_a_number_shows_what_is_behind_it(shown, document):
    x, y = shown.place("table.results td.cell:nth-of-type(3)")  # QMIX on sparse spread
    shown.point(x, y)
    said = shown.ask("card.innerText")
    assert "QMIX on Sparse Spread" in said
    assert re.search(r"seed 0\s+0\.500", said)
    assert re.search(r"Student's t-test\s+p = ", said)
    assert "seed 1 incomplete: left out" in said
    assert "The paper's own, Table 1 (tab:avg-return-baseline): 0.29 ± 0.05" in said
    shown.point(5, 5)
    assert shown.ask("card.hidden") is True


def test_pointing_at_a_curve_shows_the_values_at_the_nearest_step(shown):
    box = shown.place(".panels .panel:nth-of-type(2) svg")  # foraging; its middle is step 100
    shown.point(box[0] + 12, box[1])
    said = shown.ask("card.innerText")
    assert "step 100" in said
    assert re.search(r"COE\s+0\.400\s+0\.287 to 0\.513\s+n 3", said)
    assert shown.ask("document.querySelectorAll('.panel circle').length") == 3


def test_arrow_keys_move_along_a_curve(shown):
    shown.place(".panels .panel:nth-of-type(2) svg")
    shown.ask("document.querySelector('.panels .panel:nth-of-type(2) svg').focus()")
    shown.key("ArrowLeft")
    assert "step 100" in shown.ask("card.innerText")
    shown.key("ArrowRight")
    assert "step 200" in shown.ask("card.innerText")


def test_lines_are_where_the_numbers_are(shown):
    path = shown.ask(
        "document.querySelector('.panels .panel:nth-of-type(2) [data-algo=coe]').getAttribute('d')"
    )
    numbers = [float(word) for word in re.findall(r"-?[\d.]+", path)]
    (x0, y0), (x1, y1), (x2, y2) = zip(numbers[::2], numbers[1::2], strict=True)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.02)
    assert (y1 - y0) / (y2 - y0) == pytest.approx(0.4 / 0.9, abs=1e-3)
    assert y2 < y1 < y0  # up is more


def test_filters_take_algorithms_and_tasks_away_and_bring_them_back(shown):
    heads = "table.results thead th"
    assert texts(shown, heads)[:4] == ["", "COE", "EMC", "QMIX"]
    press(shown, "EMC")
    assert texts(shown, heads)[:3] == ["", "COE", "QMIX"]
    assert shown.ask("document.querySelectorAll('.panel [data-algo=emc]').length") == 0
    assert shown.ask("document.querySelectorAll('.panel [data-algo=coe]').length") == 3
    press(shown, "Sparse Spread")
    assert "Sparse Spread" not in " ".join(texts(shown, "table.results tbody th"))
    assert len(texts(shown, ".panel h3")) == 2
    press(shown, "everything again")
    assert texts(shown, heads)[:4] == ["", "COE", "EMC", "QMIX"]
    assert len(texts(shown, ".panel h3")) == 3


def test_without_any_algorithm_nothing_breaks(shown):
    for words in ("COE", "EMC", "QMIX"):
        press(shown, words)
    assert "Nothing of this metric" in " ".join(texts(shown, ".panel"))
    assert shown.complaints() == []


def test_the_papers_numbers_can_be_hidden(shown):
    visible = "getComputedStyle(document.querySelector('.results .theirs')).display"
    assert shown.ask(visible) == "block"
    press(shown, "the paper's numbers")
    assert shown.ask(visible) == "none"


def test_seeds_and_other_metrics_can_be_shown(shown):
    assert shown.ask("document.querySelectorAll('.seed').length") == 0
    press(shown, "each seed")
    assert shown.ask("document.querySelectorAll('.panel:nth-of-type(2) .seed').length") == 9
    options = texts(shown, "#metric option")
    assert options == ["return", "battle won", "length"]
    shown.ask("metric.value = 'eval/battle_won'; metric.dispatchEvent(new Event('change'))")
    assert texts(shown, ".panels .empty")[:1] == ["Nothing of this metric among what is shown."]
    assert shown.ask("document.querySelectorAll('.panel [data-algo]').length") == 3


@pytest.mark.parametrize(("width", "height"), [PHONE, DESK])
def test_no_screen_is_too_narrow(shown, tmp_path, width, height):
    shown.size(width, height, mobile=width < 500)
    shown.ask("location.reload()")
    shown.event("Page.loadEventFired")
    assert shown.ask("document.documentElement.scrollWidth") <= width
    shown.picture(tmp_path / "page.png")
    from PIL import Image

    with Image.open(tmp_path / "page.png") as picture:
        assert picture.size == (width, height)
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 50


def test_on_a_phone_the_filters_are_folded_and_a_touch_shows_the_card(shown):
    shown.size(*PHONE, mobile=True)
    shown.ask("location.reload()")
    shown.event("Page.loadEventFired")
    assert shown.ask("document.querySelector('#filters details').open") is False
    x, y = shown.place("table.results td.cell")
    shown.click(x, y)
    assert "COE on Sparse Spread" in shown.ask("card.innerText")
    box = shown.ask("(b => [b.left, b.right, b.top])(card.getBoundingClientRect())")
    assert box[0] >= 0
    assert box[1] <= PHONE[0]


def test_dark_screens_get_a_dark_page(shown):
    background = "getComputedStyle(document.body).backgroundColor"
    light = shown.ask(background)
    shown.dark(True)
    dark = shown.ask(background)
    shown.dark(False)
    assert light == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark))) < 60


def test_a_page_of_almost_nothing_is_drawn_too(chromium, tmp_path):
    lines = [*rows(LBF, "coe", {0: (None, None, None)}), *rows(SPREAD, "qmix", {3: (1,)}, (0,))]
    (tmp_path / "page.html").write_text(page(document_of(lines)), encoding="utf-8")
    chromium.size(*DESK)
    chromium.open(tmp_path / "page.html")
    assert chromium.complaints() == []
    assert "no seed has a value" in " ".join(texts(chromium, ".notes li"))
    assert "Fewer than two algorithms" in " ".join(texts(chromium, ".empty"))
