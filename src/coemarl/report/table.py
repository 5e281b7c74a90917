"""The paper's tables from results: average and maximum returns, and shares of battles won.

A line is one metric on one task, a cell one algorithm there. Within a line the best mean is marked,
and whoever is not significantly different from it; not compared is who has fewer steps than others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from coemarl.report import names
from coemarl.report.paper_tables import PaperCell, paper_cell
from coemarl.report.results import RETURN, WINS, Results
from coemarl.statistics import curves as curve_statistics
from coemarl.statistics.comparisons import (
    TESTS,
    Comparison,
    Outcome,
    TestKind,
    compare_with_best,
    corrected,
)
from coemarl.statistics.curves import Curves
from coemarl.statistics.intervals import KINDS, Estimate, IntervalKind

SUMMARIES: dict[str, tuple[str, Callable[[Curves, IntervalKind], Estimate]]] = {
    "average": ("mean over all evaluation points", curve_statistics.average),
    "maximum": ("highest, over points, of the mean over seeds", curve_statistics.maximum),
}
"""The paper's two numbers of a curve: what each is, and its function."""
INTERVALS = {
    "normal": "mean ± 1.96 s / √n over seeds, as in the paper",
    "t": "mean ± t(0.975, n - 1) s / √n over seeds",
    "bootstrap": "2.5% and 97.5% points of means of resampled seeds",
}
TEST_NAMES = {
    "student": "Student's t-test",
    "welch": "Welch's t-test",
    "mann-whitney": "the rank test of Mann and Whitney",
}


@dataclass(frozen=True)
class Cell:
    """One algorithm's number in a line."""

    estimate: Estimate
    """With the chosen interval."""
    intervals: Mapping[str, tuple[float, float]]
    """All kinds of interval."""
    comparison: Comparison | None
    """None: not compared, or nobody to compare with."""
    outcomes: Mapping[str, Outcome]
    """All tests against the best; none for the best itself."""
    paper: PaperCell | None
    short: bool
    """Whether others have more steps."""
    notes: tuple[str, ...]

    @property
    def best(self) -> bool:
        return self.comparison is not None and self.comparison.best

    @property
    def mark(self) -> str:
        """`*` not significantly different from the best, `?` no test is possible, `†` not
        compared, nothing else."""
        if self.short:
            return "†" if self.estimate.values else ""
        if self.comparison is None:
            return ""
        return {True: "*", None: "?", False: ""}[self.comparison.indistinct]


@dataclass(frozen=True)
class Line:
    """One metric on one task."""

    task: str
    kind: str
    """`return` or `win`."""
    metric: str
    steps: int
    """Up to which the runs that went furthest are counted."""
    cells: Mapping[str, Cell]
    """By algorithm; those without any row are missing."""

    @property
    def champion(self) -> str | None:
        """The algorithm that the others are tested against."""
        return next((algo for algo, cell in self.cells.items() if cell.best), None)


@dataclass(frozen=True)
class Settings:
    """How numbers are judged and shown."""

    interval: IntervalKind = "normal"
    test: TestKind = "student"
    holm: bool = False
    digits: int = 2


@dataclass(frozen=True)
class Table:
    """One summary of every task."""

    summary: str
    """`average` or `maximum`."""
    algos: tuple[str, ...]
    lines: tuple[Line, ...]
    settings: Settings

    @property
    def title(self) -> str:
        kinds = {line.kind for line in self.lines}
        what = "returns and win rates" if "win" in kinds else "returns"
        return f"{self.summary.capitalize()} {what}"


def make_table(results: Results, summary: str, settings: Settings) -> Table:
    """The table of a summary: returns of every task, then wins where there are battles, each
    family's together."""
    families: dict[str, list[str]] = {}
    for task in results.tasks:
        families.setdefault(names.family_title(task), []).append(task)
    lines = []
    for tasks in families.values():
        lines += [make_line(results, task, "return", RETURN, summary, settings) for task in tasks]
        for task in tasks:
            won = next((metric for metric in WINS if results.measures(task, metric)), None)
            if won:
                lines.append(make_line(results, task, "win", won, summary, settings))
    if settings.holm:
        lines = with_holm(lines)
    return Table(summary, results.algos, tuple(lines), settings)


def make_line(
    results: Results, task: str, kind: str, metric: str, summary: str, settings: Settings
) -> Line:
    """The cells of a line and how they compare."""
    statistic = SUMMARIES[summary][1]
    algos = [algo for algo in results.algos if results.has(task, algo)]
    curves = {algo: results.curves(task, algo, metric) for algo in algos}
    estimates = {algo: statistic(each, settings.interval) for algo, each in curves.items()}
    rivals = {a: estimates[a].values for a in algos if (task, a) not in results.short}
    compared = compare_with_best(rivals, settings.test)
    if len(compared) < 2:  # the best of one is no merit
        compared = {}
    champion = next((algo for algo, each in compared.items() if each.best), None)
    cells = {}
    for algo in algos:
        comparison = compared.get(algo)
        outcomes = {}
        if champion and comparison and not comparison.best:
            outcomes = {n: test(rivals[champion], rivals[algo]) for n, test in TESTS.items()}
        short = results.short.get((task, algo))
        cells[algo] = Cell(
            estimates[algo],
            {k: ends(statistic(curves[algo], k)) for k in KINDS},
            comparison,
            outcomes,
            paper_cell(summary, task, kind, algo),
            short is not None,
            ((short,) if short else ()) + estimates[algo].notes + said_by(comparison),
        )
    return Line(task, kind, metric, max(int(curves[a].steps[-1]) for a in algos), cells)


def ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def said_by(comparison: Comparison | None) -> tuple[str, ...]:
    """What a test has to say besides its p."""
    note = comparison.outcome.note if comparison and comparison.outcome else ""
    return (f"test against the best: {note}",) if note else ()


def with_holm(lines: Sequence[Line]) -> list[Line]:
    """The lines with every p corrected for the number of tests in all of them."""
    tables = [{a: c.comparison for a, c in line.cells.items() if c.comparison} for line in lines]
    return [
        replace(
            line,
            cells={a: replace(c, comparison=new.get(a)) for a, c in line.cells.items()},
        )
        for line, new in zip(lines, corrected(tables), strict=True)
    ]


def number(value: float, digits: int) -> str:
    """A number with so many digits behind the point; a dash for none."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def quantity(steps: int) -> str:
    """A number of steps in few letters: 25k, 500k, 4M."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if steps >= size:
            return f"{steps / size:.4g}{letter}"
    return str(steps)


def text(estimate: Estimate, settings: Settings) -> str:
    """A number with its interval as the paper prints it: `0.71 ± 0.05`; ends in brackets if the
    interval is not symmetric, and nothing where there is none."""
    mean = number(estimate.mean, settings.digits)
    if not math.isfinite(estimate.half):
        return mean
    if settings.interval == "bootstrap":
        low, high = (number(end, settings.digits) for end in (estimate.low, estimate.high))
        return f"{mean} [{low}, {high}]"
    return f"{mean} ± {number(estimate.half, settings.digits)}"


def legend(table: Table) -> list[str]:
    """What a table's signs mean, in sentences; only those that it has."""
    settings = table.settings
    marks = {cell.mark for line in table.lines for cell in line.cells.values()}
    correction = ", p corrected by Holm for all tests of this table" if settings.holm else ""
    interval = f"95% interval: {INTERVALS[settings.interval]}"
    said = [f"{table.summary.capitalize()}: {SUMMARIES[table.summary][0]}. {interval}."]
    if any(cell.best for line in table.lines for cell in line.cells.values()):
        said.append("Bold: the best mean of its line.")
    if "*" in marks:
        test = TEST_NAMES[settings.test]
        said.append(
            f"*: not significantly different from the best ({test}, two-sided, 0.05{correction})."
        )
    if "?" in marks:
        said.append("?: no test against the best is possible; the notes say why.")
    if "†" in marks:
        said.append("†: has fewer steps than others on this task; not compared with them.")
    if any(cell.paper for line in table.lines for cell in line.cells.values()):
        said.append(
            "paper: the number that the paper prints, from 4,000,000 steps and five seeds, with its"
            " own bold and asterisks; not a number of ours."
        )
    if any(line.task.startswith("battle:") for line in table.lines):
        said.append("The paper's battles are StarCraft II's; ours re-make their rules.")
    return said


def cell_notes(table: Table) -> list[str]:
    """All that must be known of single cells, those with the same said together."""
    who: dict[str, list[str]] = {}
    for line in table.lines:
        where = names.task_title(line.task) + (" (won)" if line.kind == "win" else "")
        for algo, cell in line.cells.items():
            for note in cell.notes:
                who.setdefault(note, []).append(f"{names.algorithm_title(algo)} on {where}")
    said = [f"{'; '.join(cells)}: {note}" for note, cells in who.items()]
    for algo in table.algos:
        absent = [names.task_title(li.task) for li in table.lines if algo not in li.cells]
        if absent:
            where = ", ".join(dict.fromkeys(absent))
            said.append(f"no row of {names.algorithm_title(algo)} on {where}")
    return said
