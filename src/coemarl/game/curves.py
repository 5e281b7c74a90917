"""The paper's Figure 4: for each p0 the expected regret, and the share of optimal joint actions.

Lines are means over seeds, bands one standard error on either side. A point of the right column is
the share in the steps since the point before it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coemarl.game.options import TITLES
from coemarl.game.run import Outcome

POINTS = 100
"""Points of a line."""

LOOKS = {
    "dep-dep": ("#2f6fd6", "-"),
    "ind-dep": ("#e07b1a", "--"),
    "ind-ind": ("#2a9d6f", "-."),
    "central": ("#b64fa0", (0, (1, 1))),
    "uniform": ("#8894a0", ":"),
}
"""Colour and dashes of each learner's line: told apart in grey too."""


def figure(outcomes: Sequence[Outcome]) -> Any:
    """The figure as matplotlib has it."""
    from matplotlib.figure import Figure

    p0s = list(dict.fromkeys(each.p0 for each in outcomes))
    made = Figure(figsize=(9, 2.5 * len(p0s) + 0.7), layout="constrained")
    grid = made.subplots(len(p0s), 2, squeeze=False, sharex=True)
    for each in outcomes:
        left, right = grid[p0s.index(each.p0)]
        steps, hits = thinned(each)
        draw(left, each.learner, steps[1:], each_regret(each, steps[1:], hits[:, 1:]))
        draw(right, each.learner, steps[1:], 100 * np.diff(hits) / np.diff(steps))
    for p0, (left, right) in zip(p0s, grid, strict=True):
        left.set_ylabel(f"p0 = {p0:g}\nexpected regret")
        left.set_ylim(bottom=0)
        right.set_ylabel("optimal joint actions, %")
        right.set_ylim(-3, 103)
        for axes in (left, right):
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_xlim(left=0)
    for axes in grid[-1]:
        axes.set_xlabel("steps")
    lines, names = grid[0, 0].get_legend_handles_labels()
    made.legend(lines, names, loc="outside upper center", ncols=len(names), frameon=False)
    return made


def thinned(outcome: Outcome) -> tuple[np.ndarray, np.ndarray]:
    """About so many points as a line has, from 0 on: their steps (K,) and hits (S, K)."""
    count = len(outcome.steps)
    kept = np.unique(np.linspace(0, count, min(POINTS, count) + 1).round().astype(int))
    hits = np.pad(outcome.hits, ((0, 0), (1, 0)))
    return np.concatenate([[0], outcome.steps])[kept], hits[:, kept]


def each_regret(outcome: Outcome, steps: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Expected regret at the points of a line (S, K)."""
    from coemarl.game.payoff import regret

    return regret(outcome.p0, steps, hits)


def draw(axes: Any, learner: str, steps: np.ndarray, values: np.ndarray) -> None:
    """One learner's mean (S, K) over seeds and its standard error."""
    colour, dashes = LOOKS[learner]
    mean = values.mean(axis=0)
    axes.plot(steps, mean, color=colour, linestyle=dashes, label=TITLES[learner])
    if len(values) > 1:
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def save(figure: Any, path: Path) -> list[Path]:
    """The figure as PNG and PDF."""
    files = [path.with_suffix(".png"), path.with_suffix(".pdf")]
    for file in files:
        figure.savefig(file, dpi=150)
    return files
