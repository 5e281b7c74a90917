# ruff: noqa: E501  (a row of a table is a line)
"""The paper's own results, as data: its tables of average and maximum returns, as printed.

They come from four million steps and five seeds, 41 evaluations of 100 episodes; ± is the paper's
95% interval. A cell is text as in the paper: `17.77 ± 0.71`, with `!` where the paper prints it
bold (the best) and `*` where it marks no significant difference from the best. The tables of
ablations and of maxima have no such marks.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

PAPER_STEPS = 4_000_000
PAPER_SEEDS = 5


@dataclass(frozen=True)
class PaperTask:
    """How the paper names one of our tasks."""

    name: str
    """As printed."""
    benchmark: str
    sparse: bool
    """Whether the paper counts it among the hard exploration tasks, whose names it prints bold."""


TASKS: dict[str, PaperTask] = {
    "mpe:adversary": PaperTask("Adversary", "MPE", False),
    "mpe:sparse-tag": PaperTask("Sparse Tag", "MPE", True),
    "mpe:sparse-spread": PaperTask("Sparse Spread", "MPE", True),
    "lbf:10x10-3p-3f": PaperTask("10x10-3p-3f", "LBF", True),
    "lbf:15x15-3p-5f": PaperTask("15x15-3p-5f", "LBF", True),
    "lbf:15x15-4p-3f": PaperTask("15x15-4p-3f", "LBF", True),
    "lbf:15x15-4p-5f": PaperTask("15x15-4p-5f", "LBF", True),
    "smac:2s_vs_1sc": PaperTask("2s-vs-1sc", "SMAC", False),
    "smac:3s_vs_5z": PaperTask("3s-vs-5z", "SMAC", False),
}
"""Our name of a task: the paper's, in the paper's order."""

ALGORITHMS: dict[str, str] = {
    "coe": "COE",
    "coe-cond-iq": "COE-Cond-IQ",
    "coe-cond-cq": "COE-Cond-CQ",
    "ucb-ind": "UCB-Ind",
    "ucb-cen": "UCB-Cen",
    "emc": "EMC",
    "maven": "MAVEN",
    "qmix": "QMIX",
}
"""Our name of an algorithm: the paper's, in the paper's order."""


@dataclass(frozen=True)
class PaperCell:
    """One printed number."""

    mean: str
    half: str
    """Behind ±."""
    best: bool = False
    indistinct: bool = False
    """The asterisk."""

    @property
    def text(self) -> str:
        return f"{self.mean} ± {self.half}"


Key = tuple[str, str, str]
"""Task, `return` or `win`, algorithm."""


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper."""

    number: str
    label: str
    """Its LaTeX label."""
    summary: str
    """`average` or `maximum` over the evaluations."""
    algos: tuple[str, ...]
    """Its columns."""
    cells: dict[Key, PaperCell]


def cell(text: str) -> PaperCell:
    """The cell that a text such as `0.68 ± 0.03*` says."""
    mean, half, mark = re.fullmatch(r"(\d+\.\d\d) ± (\d+\.\d\d)([!*]?)", text).groups()  # type: ignore[union-attr]
    return PaperCell(mean, half, mark == "!", mark == "*")


def table(number: str, label: str, summary: str, algos: Sequence[str], rows: str) -> PaperTable:
    """The table whose rows are lines `task | return or win | cell | cell ...`."""
    cells: dict[Key, PaperCell] = {}
    for row in rows.strip().splitlines():
        task, kind, *texts = (part.strip() for part in row.split("|"))
        for algo, text in zip(algos, texts, strict=True):
            cells[task, kind, algo] = cell(text)
    return PaperTable(number, label, summary, tuple(algos), cells)


TABLES = (
    table(
        "Table 1",
        "tab:avg-return-baseline",
        "average",
        ("coe", "emc", "maven", "qmix"),
        """
        mpe:adversary     | return | 17.77 ± 0.71  | 16.73 ± 0.83  | 19.57 ± 0.51! | 18.20 ± 0.56
        mpe:sparse-tag    | return | 0.65 ± 0.09!  | 0.43 ± 0.06   | 0.01 ± 0.00   | 0.40 ± 0.05
        mpe:sparse-spread | return | 0.79 ± 0.09!  | 0.41 ± 0.18   | 0.10 ± 0.14   | 0.29 ± 0.05
        lbf:10x10-3p-3f   | return | 0.71 ± 0.05!  | 0.68 ± 0.03*  | 0.16 ± 0.06   | 0.49 ± 0.01
        lbf:15x15-3p-5f   | return | 0.20 ± 0.02!  | 0.12 ± 0.02   | 0.03 ± 0.00   | 0.08 ± 0.01
        lbf:15x15-4p-3f   | return | 0.41 ± 0.06!  | 0.25 ± 0.07   | 0.04 ± 0.01   | 0.19 ± 0.02
        lbf:15x15-4p-5f   | return | 0.30 ± 0.02!  | 0.23 ± 0.04   | 0.04 ± 0.00   | 0.15 ± 0.02
        smac:2s_vs_1sc    | return | 17.83 ± 0.16* | 17.88 ± 0.74* | 17.78 ± 1.26* | 18.21 ± 0.39!
        smac:3s_vs_5z     | return | 16.03 ± 1.58! | 9.66 ± 2.62   | 14.11 ± 2.36* | 11.74 ± 1.87
        smac:2s_vs_1sc    | win    | 0.79 ± 0.01   | 0.83 ± 0.04!  | 0.82 ± 0.08*  | 0.83 ± 0.02!
        smac:3s_vs_5z     | win    | 0.45 ± 0.09!  | 0.08 ± 0.14   | 0.29 ± 0.12*  | 0.13 ± 0.11
        """,
    ),
    table(
        "Table 2",
        "tab:avg-return-ablation",
        "average",
        ("coe", "coe-cond-iq", "coe-cond-cq", "ucb-ind", "ucb-cen"),
        """
        mpe:adversary     | return | 17.77 ± 0.71 | 15.46 ± 0.68 | 18.99 ± 0.26 | 17.70 ± 0.37 | 17.15 ± 0.82
        mpe:sparse-tag    | return | 0.65 ± 0.09  | 0.07 ± 0.01  | 0.83 ± 0.17  | 0.52 ± 0.13  | 0.49 ± 0.13
        mpe:sparse-spread | return | 0.79 ± 0.09  | 0.36 ± 0.05  | 0.54 ± 0.19  | 0.59 ± 0.31  | 0.75 ± 0.16
        lbf:10x10-3p-3f   | return | 0.71 ± 0.05  | 0.76 ± 0.04  | 0.68 ± 0.01  | 0.67 ± 0.07  | 0.64 ± 0.02
        lbf:15x15-3p-5f   | return | 0.20 ± 0.02  | 0.19 ± 0.02  | 0.12 ± 0.05  | 0.15 ± 0.03  | 0.13 ± 0.05
        lbf:15x15-4p-3f   | return | 0.41 ± 0.06  | 0.47 ± 0.06  | 0.24 ± 0.06  | 0.23 ± 0.05  | 0.16 ± 0.10
        lbf:15x15-4p-5f   | return | 0.30 ± 0.02  | 0.23 ± 0.04  | 0.14 ± 0.02  | 0.23 ± 0.07  | 0.27 ± 0.06
        smac:2s_vs_1sc    | return | 17.83 ± 0.16 | 16.67 ± 1.56 | 18.64 ± 0.48 | 11.09 ± 7.27 | 15.77 ± 1.45
        smac:3s_vs_5z     | return | 16.03 ± 1.58 | 16.85 ± 1.55 | 17.01 ± 0.74 | 11.03 ± 3.03 | 13.36 ± 3.41
        smac:2s_vs_1sc    | win    | 0.79 ± 0.01  | 0.66 ± 0.13  | 0.87 ± 0.04  | 0.47 ± 0.35  | 0.66 ± 0.07
        smac:3s_vs_5z     | win    | 0.45 ± 0.09  | 0.56 ± 0.15  | 0.57 ± 0.06  | 0.19 ± 0.18  | 0.25 ± 0.21
        """,
    ),
    table(
        "Table 3",
        "tab:max-return-all",
        "maximum",
        ("coe", "coe-cond-iq", "coe-cond-cq", "ucb-ind", "ucb-cen", "emc", "maven", "qmix"),
        """
        mpe:adversary     | return | 22.68 ± 0.80 | 19.18 ± 1.70 | 24.14 ± 0.83 | 23.16 ± 1.28 | 23.02 ± 0.93 | 22.03 ± 2.12 | 23.52 ± 1.50 | 22.70 ± 1.61
        mpe:sparse-tag    | return | 1.60 ± 0.41  | 0.16 ± 0.18  | 1.98 ± 0.77  | 1.28 ± 0.31  | 1.44 ± 0.05  | 1.23 ± 0.35  | 0.06 ± 0.03  | 1.16 ± 0.29
        mpe:sparse-spread | return | 2.11 ± 1.86  | 0.99 ± 0.85  | 1.46 ± 1.05  | 1.51 ± 1.06  | 1.80 ± 1.15  | 1.31 ± 0.92  | 0.43 ± 0.85  | 1.46 ± 0.28
        lbf:10x10-3p-3f   | return | 0.99 ± 0.01  | 0.98 ± 0.02  | 0.98 ± 0.01  | 0.98 ± 0.02  | 0.99 ± 0.01  | 0.96 ± 0.04  | 0.37 ± 0.18  | 0.94 ± 0.03
        lbf:15x15-3p-5f   | return | 0.45 ± 0.10  | 0.36 ± 0.09  | 0.29 ± 0.15  | 0.37 ± 0.08  | 0.31 ± 0.14  | 0.24 ± 0.04  | 0.04 ± 0.01  | 0.20 ± 0.02
        lbf:15x15-4p-3f   | return | 0.93 ± 0.03  | 0.89 ± 0.02  | 0.63 ± 0.13  | 0.75 ± 0.11  | 0.48 ± 0.31  | 0.71 ± 0.13  | 0.06 ± 0.01  | 0.51 ± 0.09
        lbf:15x15-4p-5f   | return | 0.69 ± 0.08  | 0.38 ± 0.05  | 0.32 ± 0.07  | 0.52 ± 0.20  | 0.57 ± 0.15  | 0.50 ± 0.08  | 0.05 ± 0.01  | 0.33 ± 0.04
        smac:2s_vs_1sc    | return | 20.25 ± 0.01 | 19.57 ± 0.73 | 20.24 ± 0.00 | 15.88 ± 7.79 | 20.19 ± 0.07 | 20.22 ± 0.06 | 20.22 ± 0.04 | 20.16 ± 0.05
        smac:3s_vs_5z     | return | 21.32 ± 0.75 | 21.16 ± 0.56 | 21.47 ± 0.59 | 16.93 ± 4.24 | 19.86 ± 5.03 | 14.84 ± 4.19 | 20.15 ± 1.43 | 18.57 ± 3.01
        smac:2s_vs_1sc    | win    | 1.00 ± 0.00  | 0.92 ± 0.09  | 1.00 ± 0.00  | 0.77 ± 0.38  | 0.99 ± 0.01  | 1.00 ± 0.00  | 1.00 ± 0.00  | 0.99 ± 0.00
        smac:3s_vs_5z     | win    | 0.97 ± 0.00  | 0.93 ± 0.05  | 0.98 ± 0.02  | 0.56 ± 0.45  | 0.61 ± 0.37  | 0.27 ± 0.37  | 0.87 ± 0.16  | 0.65 ± 0.30
        """,
    ),
)


def paper_task(task: str) -> str:
    """Which of the paper's tasks ours stands for: a battle for the SMAC map that it re-makes."""
    return task.replace("battle:", "smac:", 1)


def paper_cell(summary: str, task: str, kind: str, algo: str) -> PaperCell | None:
    """The paper's number for one of ours; None if it has none. What stands in two tables (COE's
    averages) is taken from the first, which has the marks."""
    for each in TABLES:
        found = each.cells.get((paper_task(task), kind, algo))
        if each.summary == summary and found:
            return found
    return None
