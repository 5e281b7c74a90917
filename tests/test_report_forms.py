"""The forms of a report: Markdown, LaTeX, terminal, pictures, marl-eval's JSON."""

import io
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from coemarl.report import aggregate_figure, figures, names
from coemarl.report.document import make_document
from coemarl.report.interchange import interchange
from coemarl.report.latex import latex
from coemarl.report.markdown import escaped, markdown
from coemarl.report.results import RETURN, of_rows
from coemarl.report.rows import Gathered
from coemarl.report.table import Settings
from coemarl.report.terminal import show
from coemarl.statistics.curves import pointwise
from reported import BATTLE, COMMIT, LBF, SPREAD, rows, study


@pytest.fixture(scope="module")
def document():
    return make_document(
        "A study", Gathered(tuple(study()), ()), Settings(), command="coe report x"
    )


# Markdown


def grid_of(told, heading):
    """The cells of the first table under a heading."""
    part = told.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_markdown_has_the_papers_layout_with_its_numbers_below_ours(document):
    grid = grid_of(markdown(document), "Average returns and win rates")
    assert grid[0][1:] == ["task", "steps", "COE", "EMC", "QMIX"]
    assert {len(row) for row in grid} == {6}
    at = next(i for i, row in enumerate(grid) if "10x10" in row[1])
    assert grid[at] == ["LBF", "**10x10-3p-3f**", "200", *grid[at][3:]]
    assert grid[at][3:] == ["**0.43 ± 0.07**", "0.40 ± 0.00\\*", "0.10 ± 0.04"]
    paper = ["***0.71 ± 0.05***", "*0.68 ± 0.03*\\*", "*0.49 ± 0.01*"]
    assert grid[at + 1] == ["", "*paper*", "*4M*", *paper]


def test_markdown_says_signs_notes_and_how_it_was_made(document):
    told = markdown(document, "curves/all.png")
    assert "![learning curves](curves/all.png)" in told
    assert "not a number of ours" in told
    assert "one seed: no interval" in told
    assert f"`{COMMIT[:10]}`" in told
    assert "coe train lbf:10x10-3p-3f --algo coe --seed SEED" in told
    assert "| `lbf:10x10-3p-3f` | COE | 0, 1, 2 | 207 | 3 |" in told


def test_every_test_of_the_tables_stands_in_a_line(document):
    grid = grid_of(markdown(document), "Tests against the best")
    cells = [c for t in document.tables for li in t.lines for c in li.cells.values()]
    assert len(grid) - 2 == sum(bool(cell.outcomes) for cell in cells)
    row = next(r for r in grid if r[:4] == ["average", "10x10-3p-3f", "COE", "QMIX"])
    assert float(row[4]) == pytest.approx(0.333, abs=1e-3)
    assert float(row[5]) < 0.05 < float(row[7])


def test_signs_with_a_meaning_are_escaped():
    assert escaped("a|b*c_d<e") == "a\\|b\\*c\\_d&lt;e"


# LaTeX


def test_latex_has_as_many_cells_in_every_row(document):
    told = latex(document)
    tables = re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", told, re.DOTALL)
    assert len(tables) == 2
    for columns, body in tables:
        lines = [line for line in body.split(r"\\") if "&" in line]
        assert {line.count("&") + 1 for line in lines} == {len(columns)} == {6}
    assert r"\textbf{10x10-3p-3f} (200) & $\bm{0.43 \pm 0.07}$ & $0.40 \pm 0.00${*}" in told
    assert r"\textcolor{gray}{\tiny $\bm{0.71 \pm 0.05}$}" in told
    assert told.count("{") == told.count("}")
    assert f"% coe on {LBF}: seeds 0, 1, 2; 207 steps; commit {COMMIT[:10]}" in told


def test_latex_escapes_what_a_caption_may_hold():
    lines = rows("my:a_b&c", "x%y", {0: (0, 1, 2)})
    told = latex(make_document("t", Gathered(tuple(lines), ()), Settings()))
    assert r"a\_b\&c" in told
    assert r"x\%y" in told


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex to try the tables with")
def test_latex_compiles(document, tmp_path):
    told = latex(document)
    packages = re.search(r"% Needs (.*)", told)[1]
    frame = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{t}}\end{{document}}"
    (tmp_path / "t.tex").write_text(told)
    (tmp_path / "main.tex").write_text(frame)
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    if "not found" in done.stdout and done.returncode:
        pytest.skip("this LaTeX lacks a package")
    assert done.returncode == 0, done.stdout[-2000:]


# Terminal


def test_a_pipe_gets_plain_whole_lines(document):
    stream = io.StringIO()
    show(document, stream)
    told = stream.getvalue()
    assert "\x1b" not in told
    assert re.search(r"LBF 10x10-3p-3f, 200 steps +0\.43 ± 0\.07 +0\.40 ± 0\.00\* +0\.10", told)
    assert re.search(r"paper, 4M steps +0\.71 ± 0\.05 +0\.68 ± 0\.03\* +0\.49", told)
    assert "- QMIX on Sparse Spread: seed 1 incomplete: left out" in told


def test_a_narrow_terminal_gets_several_tables_and_every_number_whole(document):
    stream = io.StringIO()
    show(document, stream, width=60)
    told = stream.getvalue()
    assert "…" not in told
    assert told.count("LBF 10x10-3p-3f, 200 steps") == 6  # three parts of two tables
    for number in ("0.43 ± 0.07", "0.40 ± 0.00*", "0.10 ± 0.04", "0.71 ± 0.05", "0.49 ± 0.01"):
        assert number in told


# Pictures


@pytest.fixture(scope="module")
def together(document):
    return figures.together(document)


def axes_of(figure, title):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == title)


def test_a_line_is_the_mean_and_the_band_its_interval(document, together):
    axes = axes_of(together, "LBF 10x10-3p-3f")
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"COE", "EMC", "QMIX"}
    points = pointwise(document.results.curves(LBF, "coe", RETURN))
    assert lines["COE"].get_xdata().tolist() == [0, 100, 200]
    assert lines["COE"].get_ydata() == pytest.approx([0, 0.4, 0.9])
    assert lines["COE"].get_color() == names.colour(names.FIXED["coe"])
    corners = axes.collections[0].get_paths()[0].vertices
    at_end = corners[corners[:, 0] == 200][:, 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((points[-1].low, points[-1].high))


def test_where_there_is_one_seed_there_is_no_band(together):
    axes = axes_of(together, "Battle 3s-vs-5z")
    drawn = [path for each in axes.collections for path in each.get_paths() if len(path.vertices)]
    assert len(axes.get_lines()) == 3
    assert len(drawn) == 2


def test_wins_have_a_picture_of_their_own(together):
    axes = axes_of(together, "Battle 3s-vs-5z, battles won")
    assert axes.get_ylabel() == "share won"
    assert max(line.get_ydata().max() for line in axes.get_lines()) <= 1


def test_pictures_say_what_they_are_and_are_the_same_every_time(tmp_path):
    from PIL import Image

    lines = rows(LBF, "coe", {0: (0, 1, 2), 1: (0, 1, 1)})
    one = make_document("A study", Gathered(tuple(lines), ()), Settings())
    first = figures.pictures(one, tmp_path / "a")
    second = figures.pictures(one, tmp_path / "b")
    assert [p.name for p in first] == [
        f"{name}.{kind}" for name in ("lbf-10x10-3p-3f", "all") for kind in ("png", "pdf")
    ]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    with Image.open(first[0]) as picture:
        width = round(figures.COLUMN * figures.DOTS)
        assert abs(picture.width - width) <= 1
        assert COMMIT[:10] in picture.text["Description"]
        assert len(np.unique(np.asarray(picture.convert("L")))) > 20
    assert first[1].read_bytes().startswith(b"%PDF")


def test_the_means_and_profiles_of_all_tasks_are_drawn(document):
    means, profiles = aggregate_figure.drawn(document).axes
    assert [label.get_text() for label in means.get_yticklabels()] == ["COE", "QMIX"]
    at = [line.get_xdata()[0] for line in means.get_lines() if len(line.get_xdata()) == 1]
    assert at == pytest.approx([document.aggregates.means[a].value for a in ("coe", "qmix")])
    coe = profiles.get_lines()[0]
    assert coe.get_ydata() == pytest.approx(document.aggregates.profiles["coe"].share)


def test_what_is_drawn_is_said_below(document):
    said = figures.drawn(document, [LBF])
    assert said == f"mean of 3 seeds, band: 95% interval (1.96 s/√n); commit {COMMIT[:10]}"
    assert figures.drawn(document, [BATTLE]).startswith("mean of 1 to 3 seeds")


# Interchange


def test_the_tree_has_marl_evals_layout_and_our_numbers(document):
    tree, notes = interchange(document.results)
    assert list(tree) == ["mpe", "lbf", "battle"]
    runs = tree["lbf"]["10x10-3p-3f"]["coe"]
    assert list(runs) == ["seed_0", "seed_1", "seed_2"]
    run = runs["seed_1"]
    assert list(run) == ["step_1", "step_2", "step_3", "absolute_metrics"]
    assert run["step_2"] == {"step_count": 100, "return": [0.5], "length": [50.0]}
    assert run["absolute_metrics"]["return"] == [1.0]
    assert tree["battle"]["3s_vs_5z"]["coe"]["seed_0"]["step_3"]["battle_won"] == [0.9]
    assert [note.split(" of ")[1].split(",")[0] for note in notes] == ["mpe", "battle"]


def test_all_runs_of_an_environment_are_alike_and_every_value_is_a_number(document):
    tree, _ = interchange(document.results)
    assert list(tree["mpe"]["sparse-spread"]["qmix"]) == ["seed_0", "seed_2"]
    read = json.loads(json.dumps(tree, allow_nan=False))
    for tasks in read.values():
        runs = [run for algos in tasks.values() for runs in algos.values() for run in runs.values()]
        assert len({frozenset(part) - {"step_count"} for run in runs for part in run.values()}) == 1
        for run in runs:
            *steps, last = run
            assert last == "absolute_metrics"
            counts = [run[step]["step_count"] for step in steps]
            assert counts == sorted(counts)
            lists = [v for part in run.values() for k, v in part.items() if k != "step_count"]
            assert all(isinstance(v, list) and len(v) == 1 for v in lists)


def test_a_metric_that_some_runs_lack_is_not_written():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2)}, **{"eval/extra": 1.0}),
        *rows("lbf:8x8-2p-2f", "coe", {0: (0, 1, 2)}),
    ]
    tree, _ = interchange(of_rows(lines))
    run = tree["lbf"]["10x10-3p-3f"]["coe"]["seed_0"]
    assert set(run["step_1"]) == {"step_count", "return", "length"}


def test_equal_seeds_and_points_leave_nothing_to_say():
    lines = [line for algo in ("coe", "qmix") for line in rows(SPREAD, algo, {0: (0, 1, 2)})]
    assert interchange(of_rows(lines))[1] == []
