"""Reports: reading rows, naming, tables by hand and against scipy, and every oddity said."""

import json
import math
import re

import numpy as np
import pytest
from scipy import stats

from coemarl import config as configs
from coemarl.cli import main
from coemarl.refusal import Refusal
from coemarl.report import names
from coemarl.report.aggregate import make_aggregates, make_arrivals
from coemarl.report.document import make_document
from coemarl.report.paper_tables import ALGORITHMS, TABLES, TASKS, paper_cell
from coemarl.report.results import RETURN, of_rows
from coemarl.report.rows import Gathered, gather
from coemarl.report.table import Settings, legend, make_table, quantity, text
from reported import BATTLE, COMMIT, LBF, SPREAD, rows, study, write


def document(lines, settings=None, **more):
    return make_document(
        "a study", Gathered(tuple(lines), ("here",)), settings or Settings(), **more
    )


def line_of(lines, summary="average", task=LBF, kind="return", **settings):
    """One line of the table of these rows."""
    table = make_table(of_rows(lines), summary, Settings(**settings))
    return next(line for line in table.lines if (line.task, line.kind) == (task, kind))


# Reading


def test_rows_come_from_files_and_folders_of_files(tmp_path):
    one = write(tmp_path / "one.jsonl", rows(LBF, "coe", {0: (0, 1, 2)}))
    write(tmp_path / "deep" / "two.jsonl", rows(LBF, "coe", {1: (0, 1, 2)}))
    assert len(gather([one]).rows) == 3
    both = gather([tmp_path])
    assert {row["seed"] for row in both.rows} == {0, 1}
    assert len(both.sources) == 2


def test_rows_come_from_run_folders_with_their_options_and_not_twice(tmp_path):
    config = configs.replace(
        configs.default_config(LBF, "qmix"), {"learner.learning_rate": 0.001, "seed": 4}
    )
    run = tmp_path / "run"
    (run / "checkpoints").mkdir(parents=True)
    (run / "config.json").write_text(configs.to_json(config))
    plain = {"boundary": 0, "steps": 0, "episodes": 0, "updates": 0, "eval/return": 0.5}
    write(run / "rows.jsonl", [plain])
    write(run / "timing.jsonl", [{"boundary": 0, "seconds": 1.0}])
    (row,) = gather([tmp_path]).rows
    assert (row["task"], row["algo"], row["seed"]) == (LBF, "qmix", 4)
    assert row["options"] == {"learner.learning_rate": 0.001}


def test_a_study_is_read_from_its_store_and_what_it_lacks_is_said(tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "study.toml").write_text(
        f'seeds = [0, 1]\nsteps = 300\ntasks = ["{LBF}"]\n[[entries]]\nalgo = "qmix"\n'
        '[[entries]]\nalgo = "qmix"\nlabel = "qmix-fast"\n'
    )
    options = json.dumps({"learner.learning_rate": 0.1})
    stored = rows(LBF, "qmix-fast", {0: (0, 1, 2)}, algorithm="qmix")
    write(place / "rows.jsonl", [{**row, "options": options} for row in stored])
    write(place / "events.jsonl", [{"event": "begun"}])
    found = gather([tmp_path])
    assert len(found.rows) == 3
    assert found.rows[0]["options"] == {"learner.learning_rate": 0.1}
    assert of_rows(found.rows).algos == ("qmix-fast",)
    assert f"qmix on {LBF}: no rows (yet) of seed 0, 1" in found.notes
    assert f"qmix-fast on {LBF}: no rows (yet) of seed 1" in found.notes
    assert f"qmix-fast on {LBF}: not done, seed 0 at step 200 of 300" in found.notes


def test_other_files_in_a_folder_are_named_and_left(tmp_path):
    write(tmp_path / "a.jsonl", rows(LBF, "coe", {0: (0, 1, 2)}))
    write(tmp_path / "log.jsonl", [{"event": "start"}])
    found = gather([tmp_path])
    assert len(found.rows) == 3
    assert any("log.jsonl is not read" in note for note in found.notes)


def test_a_row_that_stands_twice_counts_once_and_a_contradiction_is_refused(tmp_path):
    lines = rows(LBF, "coe", {0: (0, 1, 2)})
    one, two = write(tmp_path / "1.jsonl", lines), write(tmp_path / "2.jsonl", lines)
    found = gather([one, two])
    assert len(found.rows) == 3
    assert "3 rows stood twice and count once" in found.notes
    write(two, rows(LBF, "coe", {0: (0, 1, 2.5)}))
    with pytest.raises(Refusal, match=r"coe on lbf:10x10-3p-3f, seed 0, at step 200 differ"):
        gather([one, two])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"algo": "coe"}, "has no task in line 1"),
        ({"task": "a:b", "algo": "coe", "seed": "x", "boundary": 0}, "without sense in line 1"),
        (
            {"task": "a:b", "algo": "coe", "seed": 0, "boundary": 0, "eval/return": "high"},
            "without sense in line 1",
        ),
        (
            {"task": "a:b", "algo": "coe", "seed": 0, "boundary": 0, "options": 3},
            "without sense in line 1",
        ),
        ([1], "line 1 is not a row"),
    ],
)
def test_files_that_are_not_rows_are_refused_by_line(tmp_path, line, said):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(Refusal, match=said):
        gather([path])


def test_places_without_rows_are_refused(tmp_path):
    with pytest.raises(Refusal, match="no file or folder"):
        gather([tmp_path / "nothing"])
    with pytest.raises(Refusal, match="holds no rows"):
        gather([tmp_path])


# Names


def test_variants_of_an_algorithm_are_told_apart_and_the_papers_is_plain():
    lines = [
        *rows(LBF, "qmix", {0: (0, 1, 2)}, options={"learner.learning_rate": 1e-4}),
        *rows(LBF, "qmix", {0: (0, 1, 3)}, options={"learner.learning_rate": 3e-4}),
    ]
    assert of_rows(lines).algos == ("qmix", "qmix lr=0.0003")
    assert names.algorithm_title("qmix lr=0.0003") == "QMIX (lr=0.0003)"


def test_a_studys_label_and_a_run_of_that_name_with_other_options_are_not_one():
    lines = [
        *rows(LBF, "emc", {0: (0, 1, 2)}, algorithm="emc", options={"learner.learning_rate": 0.1}),
        *rows(LBF, "emc", {1: (0, 1, 2)}, options={"learner.learning_rate": 0.2}),
    ]
    assert of_rows(lines).algos == ("emc lr=0.1", "emc lr=0.2")


def test_two_runs_with_one_seed_that_were_evaluated_differently_are_refused():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2)}),
        *rows(LBF, "coe", {0: (0, 1, 3)}, options={"evaluation.episodes": 5}),
    ]
    with pytest.raises(Refusal, match="seed 0 that differ in how they were evaluated"):
        of_rows(lines)


def test_the_same_options_on_every_run_make_no_variant():
    lines = rows(LBF, "coe", {0: (0, 1, 2)}, options={"learner.learning_rate": 3e-4})
    assert of_rows(lines).algos == ("coe",)


def test_labels_that_would_be_equal_say_everything():
    found = names.labels("coe", [{}, {"a.b": 1}], {"a.b": 1})
    assert sorted(found.values()) == ["coe b=1", "coe b=default"]


def test_options_of_the_task_make_two_tasks_and_those_of_the_evaluation_none():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2)}),
        *rows(LBF, "coe", {0: (0, 1, 3)}, options={"env.penalty": 0.1}),
        *rows(LBF, "coe", {1: (0, 1, 3)}, options={"evaluation.episodes": 5}),
    ]
    results = of_rows(lines)
    assert results.tasks == (LBF, f"{LBF} penalty=0.1")
    assert results.algos == ("coe",)
    assert any("evaluated in 2 different ways" in note for note in results.notes)


def test_titles_and_order_are_the_papers():
    given = ["zeta", "qmix-3e-4", "qmix", "coe-vdn", "emc", "coe", "coe-cond-cq"]
    ordered = names.ordered_algorithms(given)
    assert ordered[0] == "coe"
    assert ordered.index("coe-cond-cq") < ordered.index("emc") < ordered.index("qmix")
    assert ordered.index("qmix") + 1 == ordered.index("qmix-3e-4")
    assert ordered[-1] == "zeta"
    assert names.algorithm_title("coe-cond-cq") == "COE-Cond-CQ"
    assert names.algorithm_title("qmix-3e-4") == "QMIX-3e-4"
    assert names.algorithm_title("zeta") == "zeta"
    assert names.task_title(BATTLE) == "3s-vs-5z"
    assert names.ordered_tasks([BATTLE, "mpe:spread", LBF, SPREAD]) == (
        *(SPREAD, "mpe:spread"),
        *(LBF, BATTLE),
    )


def test_every_algorithm_has_its_own_look_and_the_papers_have_always_the_same():
    many = [*ALGORITHMS, *(f"other-{i}" for i in range(8))]
    looks = names.looks(many)
    assert len(set(looks.values())) == len(many)
    assert names.looks(["qmix", "x"])["qmix"] == looks["qmix"]
    drawn = {(names.colour(i), names.dash(i)) for i in looks.values()}
    assert len(drawn) == len(many)


def linear(colour):
    """Linear RGB of a hexadecimal colour."""
    s = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear sRGB under D65."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    t = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


# Machado, Oliveira and Fernandes (2009): eyes without one kind of cone, on linear RGB.
SIGHTS = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_colours_of_the_papers_first_table_differ_to_every_eye(sight):
    four = [names.colour(names.FIXED[algo]) for algo in ("coe", "emc", "maven", "qmix")]
    seen = [lab(SIGHTS[sight] @ linear(each)) for each in four]
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    assert min(gaps) > 15  # differences above about 10 are seen at a glance


# The paper's own numbers


@pytest.fixture(scope="module")
def printed(shared):
    """Label: rows of the paper's tables, each its task's name and its cells."""
    source = (shared / "paper" / "coe.tex").read_text()
    found = {}
    for body in re.findall(r"\\begin\{table\*\}(.*?)\\end\{table\*\}", source, re.DOTALL):
        label = re.search(r"\\label\{(tab:[\w-]+)\}", body)[1]
        head = re.findall(r"\\multicolumn\{1\}\{c\}\{([\w-]+)\}", body)
        lines = []
        for line in body.split(r"\\"):
            parts = line.split("&")
            if r"\pm" in line:
                name = re.sub(r"\\textbf\{(.*)\}", r"\1", parts[2].strip())
                lines.append((name, r"\textbf" in parts[2], [each.strip() for each in parts[3:]]))
        found[label] = (head, lines)
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.label)
def test_the_papers_tables_are_as_printed(printed, table):
    head, lines = printed[table.label]
    assert [ALGORITHMS[algo] for algo in table.algos] == head
    ours = iter(table.cells.items())
    count = 0
    for place, (name, _, cells) in enumerate(lines):
        for cell in cells:
            (task, kind, _), mine = next(ours)
            assert TASKS[task].name == name
            assert kind == ("win" if place >= 9 else "return")
            mean, half = re.search(r"(\d+\.\d+) \\pm (\d+\.\d+)", cell).groups()
            assert (mine.mean, mine.half) == (mean, half)
            assert mine.best == (r"\bm" in cell)
            assert mine.indistinct == ("{*}" in cell)
            count += 1
    assert count == len(table.cells) == 11 * len(head)


def test_sparse_tasks_are_those_that_the_paper_prints_bold(printed):
    _, lines = printed["tab:avg-return-baseline"]
    bold = {name for name, is_bold, _ in lines if is_bold}
    assert bold == {task.name for task in TASKS.values() if task.sparse}


def test_battles_have_the_papers_numbers_of_their_maps_and_variants_have_none():
    assert paper_cell("average", "battle:3s_vs_5z", "win", "coe").text == "0.45 ± 0.09"
    assert paper_cell("maximum", LBF, "return", "maven").text == "0.37 ± 0.18"
    assert paper_cell("average", LBF, "return", "coe").best
    assert paper_cell("average", LBF, "return", "qmix lr=0.0003") is None
    assert paper_cell("average", f"{LBF} penalty=0.1", "return", "qmix") is None


# Tables


def test_a_line_by_hand():
    line = line_of(study())
    assert list(line.cells) == ["coe", "emc", "qmix"]
    coe, emc, qmix = line.cells.values()
    # Means over the three points, then over seeds.
    assert coe.estimate.values == pytest.approx((0.4, 0.5, 0.4))
    assert coe.estimate.mean == pytest.approx(1.3 / 3)
    half = 1.96 * np.std([0.4, 0.5, 0.4], ddof=1) / math.sqrt(3)
    assert coe.estimate.half == pytest.approx(half)
    assert text(coe.estimate, Settings()) == "0.43 ± 0.07"
    assert (coe.best, emc.best, qmix.best) == (True, False, False)
    assert (coe.mark, emc.mark, qmix.mark) == ("", "*", "")
    assert coe.paper.text == "0.71 ± 0.05"
    assert line.steps == 200


def test_tests_beside_it_are_scipys():
    cells = line_of(study()).cells
    a, b = cells["coe"].estimate.values, cells["qmix"].estimate.values
    assert b == pytest.approx((0.4 / 3, 0.1, 0.2 / 3))
    qmix = cells["qmix"]
    assert qmix.outcomes["student"].p == pytest.approx(stats.ttest_ind(a, b).pvalue)
    assert qmix.outcomes["welch"].p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
    assert qmix.outcomes["mann-whitney"].p == pytest.approx(stats.mannwhitneyu(a, b).pvalue)
    assert qmix.comparison.p == qmix.outcomes["student"].p


def test_the_chosen_test_decides():
    # Three seeds against three: no order of ranks is significant at 0.05.
    assert line_of(study(), test="mann-whitney").cells["qmix"].mark == "*"


def test_holm_corrects_for_every_test_of_the_table():
    plain = make_table(of_rows(study()), "average", Settings())
    holm = make_table(of_rows(study()), "average", Settings(holm=True))
    raw = [c.comparison.p for li in plain.lines for c in li.cells.values() if c.comparison]
    new = [c.comparison.p for li in holm.lines for c in li.cells.values() if c.comparison]
    tested = [p for p in raw if math.isfinite(p)]
    smallest = raw.index(min(tested))
    assert new[smallest] == pytest.approx(len(tested) * raw[smallest])
    assert "corrected by Holm" in " ".join(legend(holm))


def test_the_maximum_is_at_the_point_of_the_highest_mean_over_seeds():
    emc = line_of(study(), "maximum").cells["emc"]
    assert (emc.estimate.mean, emc.estimate.step) == (pytest.approx(0.8), 200)
    assert emc.estimate.values == (0.7, 0.9, 0.8)


def test_wins_have_lines_of_their_own_after_the_returns_of_their_family():
    table = make_table(of_rows(study()), "average", Settings())
    assert [(line.task, line.kind) for line in table.lines] == [
        (SPREAD, "return"),
        (LBF, "return"),
        (BATTLE, "return"),
        (BATTLE, "win"),
    ]
    won = table.lines[-1].cells["coe"]
    assert won.estimate.mean == pytest.approx(np.mean([28 / 3, 32 / 3, 31 / 3]) / 20)
    assert won.paper.text == "0.45 ± 0.09"
    assert table.title == "Average returns and win rates"


@pytest.mark.parametrize(
    ("interval", "shown"), [("t", "0.43 ± 0.14"), ("bootstrap", "0.43 [0.40, 0.50]")]
)
def test_other_intervals_are_shown_as_what_they_are(interval, shown):
    settings = Settings(interval=interval)
    assert text(line_of(study(), interval=interval).cells["coe"].estimate, settings) == shown


def test_the_best_of_one_is_not_bold():
    line = line_of(rows(LBF, "coe", {0: (0, 1, 2), 1: (0, 1, 1)}))
    assert not line.cells["coe"].best
    assert line.cells["coe"].mark == ""
    table = make_table(of_rows(rows(LBF, "coe", {0: (0, 1, 2)})), "average", Settings())
    assert not any("Bold" in words for words in legend(table))


@pytest.mark.parametrize(
    ("steps", "shown"), [(50, "50"), (25_000, "25k"), (1_500_000, "1.5M"), (4_000_000, "4M")]
)
def test_steps_in_few_letters(steps, shown):
    assert quantity(steps) == shown


# What is odd is said


@pytest.fixture(scope="module")
def odd():
    return document(study())


@pytest.mark.parametrize(
    "said",
    [
        "EMC on 3s-vs-5z; EMC on 3s-vs-5z (won): one seed: no interval",
        "COE on Sparse Spread: all 3 seeds have the same value: the interval has no width",
        "QMIX on Sparse Spread: seed 1 incomplete: left out",
        "EMC on Sparse Spread: up to step 100 of 200 that others have: not compared",
        "EMC on Sparse Spread; EMC on 3s-vs-5z; EMC on 3s-vs-5z (won): no row of seeds 1, 2",
        "EMC on 3s-vs-5z; EMC on 3s-vs-5z (won): test against the best: 3 against 1 seeds:"
        " a test needs two of each",
    ],
)
def test_degenerate_input_is_said(odd, said):
    assert any(said in note for note in odd.notes), odd.notes


def test_signs_of_what_cannot_be_judged(odd):
    cells = {line.task: line.cells for line in odd.tables[0].lines if line.kind == "return"}
    assert cells[SPREAD]["emc"].mark == "†"
    assert cells[BATTLE]["emc"].mark == "?"
    words = " ".join(legend(odd.tables[0]))
    assert "†: has fewer steps" in words
    assert "?: no test against the best is possible" in words


def test_who_has_fewer_steps_does_not_compete():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2), 1: (0, 1, 1)}),
        *rows(LBF, "qmix", {0: (0, 0, 1), 1: (0, 1, 1)}),
        *rows(LBF, "emc", {0: (9, 8), 1: (7, 9)}, points=(0, 100)),
    ]
    cells = line_of(lines).cells
    assert [algo for algo, cell in cells.items() if cell.best] == ["coe"]
    assert (cells["emc"].mark, cells["emc"].outcomes) == ("†", {})
    assert cells["emc"].estimate.mean == 8.25


def test_values_that_are_missing_are_no_numbers_anywhere(odd):
    curves = odd.results.curves(SPREAD, "qmix", RETURN)
    assert np.isnan(curves.values[1, 1])
    assert odd.tables[0].lines[0].cells["qmix"].estimate.seeds == (0, 2)


def test_points_that_not_all_have_are_left_out_for_all_and_it_is_said():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2, 3, 4)}, points=(0, 50, 100, 150, 200)),
        *rows(LBF, "qmix", {0: (0, 1, 2)}),
    ]
    results = of_rows(lines)
    assert results.grids[LBF, "coe"].tolist() == [0, 100, 200]
    assert any("of 5 the 3 that all have are used" in note for note in results.notes)
    assert line_of(lines).cells["coe"].estimate.mean == pytest.approx(2.0)


def test_unequal_distances_are_said():
    notes = of_rows(rows(LBF, "coe", {0: (0, 1, 2)}, points=(0, 100, 150))).notes
    assert any("not at equal distances" in note for note in notes)


def test_a_single_point_is_said():
    notes = of_rows(rows(LBF, "coe", {0: (0,)}, points=(0,))).notes
    assert f"{LBF}: there is one evaluation point only, at step 0" in notes


def test_seeds_of_different_code_are_said():
    lines = [
        *rows(LBF, "coe", {0: (0, 1, 2)}),
        *rows(LBF, "coe", {1: (0, 1, 2)}, commit="f" * 40 + "-dirty"),
    ]
    notes = " ".join(of_rows(lines).notes)
    assert "made by 2 states of the code" in notes
    assert "changes in no commit" in notes


def test_only_missing_values_make_a_dash_and_not_an_error():
    lines = [
        *rows(LBF, "coe", {0: (None, None, None)}),
        *rows(LBF, "qmix", {0: (0, 1, 2), 1: (0, 0, 1)}),
    ]
    told = document(lines)
    cell = told.tables[0].lines[0].cells["coe"]
    assert text(cell.estimate, Settings()) == "–"
    assert any("COE on 10x10-3p-3f: no seed has a value" in note for note in told.notes)


def test_until_leaves_out_what_is_behind_and_makes_all_comparable():
    told = document(study(), until=100)
    assert not told.results.short
    assert any("behind step 100" in note for note in told.notes)
    with pytest.raises(Refusal, match="no row up to step -1"):
        document(study(), until=-1)


# Over tasks


def test_aggregates_are_of_those_that_have_every_task():
    results = of_rows(study())
    table = make_table(results, "average", Settings())
    told = make_aggregates(results, table, {"mpe": (0.0, 4.0)})
    assert told.algos == ("coe", "qmix")
    assert any(note.startswith("EMC is left out") for note in told.notes)
    assert told.bounds == {SPREAD: (0.0, 4.0), LBF: (0.0, 1.0), BATTLE: (0.0, 20.0)}
    assert told.fitted == ()
    scores = [0.25] * 3 + [0.4, 0.5, 0.4] + [28 / 60, 32 / 60, 31 / 60]
    assert told.means["coe"].value == pytest.approx(stats.trim_mean(scores, 0.25))
    assert told.improvement["coe", "qmix"].value == 1.0
    assert told.improvement["qmix", "coe"].value == 0.0
    profile = told.profiles["coe"]
    at = lambda score: profile.share[round(score * 50)]  # noqa: E731
    # Above 0.46: none of spread, one of three in foraging, all three battles.
    assert at(0.46) == pytest.approx((0 + 1 / 3 + 1) / 3)
    assert at(0) == 1.0


def test_tasks_without_known_bounds_take_those_of_the_values():
    results = of_rows(study())
    told = make_aggregates(results, make_table(results, "average", Settings()), {})
    assert told.fitted == (SPREAD,)
    assert told.bounds[SPREAD] == (pytest.approx(0.25), pytest.approx(1.0))


def test_arrivals_count_who_never_arrives():
    (arrival,) = make_arrivals(of_rows(rows(LBF, "coe", {0: (0, 0.5, 1), 1: (0, 0, 0)})), [0.5])
    assert arrival.times["coe"].text() == "100 (1 of 2 seeds)"
    usual = make_arrivals(of_rows(study()))
    assert {each.task: each.target for each in usual} == {SPREAD: 1.0, LBF: 0.45, BATTLE: 9.5}


# The command


def test_the_command_prints_tables_and_writes_everything(tmp_path, capsys):
    path = write(tmp_path / "rows.jsonl", study())
    assert main(["report", str(path), "--holm", "--title", "Mine"]) == 0
    said = capsys.readouterr()
    assert "Mine" in said.out
    assert "0.43 ± 0.07" in said.out
    assert "paper, 4M steps" in said.out
    assert "one seed: no interval" in said.out
    written = {str(p.relative_to(tmp_path / "report")) for p in (tmp_path / "report").rglob("*.*")}
    assert {"report.md", "report.html", "tables.tex", "marl-eval.json"} <= written
    assert {
        "over-tasks.png",
        "over-tasks.pdf",
        "curves/all.png",
        "curves/all.pdf",
        "curves/battle-3s_vs_5z-won.png",
    } <= written
    assert all(line.startswith("wrote ") for line in said.err.splitlines())
    for name in ("report.md", "report.html", "tables.tex"):
        told = (tmp_path / "report" / name).read_text()
        assert COMMIT[:10] in told
        assert "coe report" in told
        assert "coe train lbf:10x10-3p-3f --algo coe --seed SEED" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no place given"),
        (["nowhere"], "no file or folder nowhere"),
        (["{}", "--digits", "12"], "from 0 to 9"),
        (["{}", "--bounds", "lbf"], "say a task or a family and two numbers"),
        (["{}", "--bounds", "lbf=1,0"], "must be below"),
        (["{}", "--interval", "exact"], "choose normal, t or bootstrap"),
        (["{}", "--until", "-5"], "choose a later --until"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_in_a_sentence(tmp_path, capfd, words, said):
    path = write(tmp_path / "rows.jsonl", rows(LBF, "coe", {0: (0, 1, 2)}))
    assert main(["report", *(word.format(path) for word in words)]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert error.count("\n") == 1
