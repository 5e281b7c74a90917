"""Learning curves of several seeds, and the paper's two numbers of them (its appendix on the
evaluation protocol).

    average return   the evaluation return, averaged over all evaluation points (step 0 and the end
                     included), one value per seed
    maximum return   the highest, over evaluation points, of the mean over seeds; its interval is
                     over the seeds at that point

Both are defined for any metric of the evaluation: returns, or the share of battles won.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coemarl.statistics.intervals import Estimate, IntervalKind, estimate


@dataclass(frozen=True)
class Curves:
    """One metric of one algorithm on one task: S seeds at P evaluation points."""

    seeds: tuple[int, ...]
    steps: np.ndarray
    """(P,) environment steps of the points, rising."""
    values: np.ndarray
    """(S, P); NaN where there is no value (yet)."""
    notes: tuple[str, ...] = ()
    """What the reader of the rows found odd."""

    def __post_init__(self) -> None:
        wanted = (len(self.seeds), len(self.steps))
        if self.values.shape != wanted:
            raise ValueError(f"curves of shape {self.values.shape} for seeds and points {wanted}")

    @property
    def complete(self) -> np.ndarray:
        """(S,) whether a seed has a value at every point."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


@dataclass(frozen=True)
class Usable:
    """The part of curves that can be averaged fairly, and what was left out."""

    rows: np.ndarray
    """(S,) seeds that enter."""
    columns: np.ndarray
    """(P,) points that enter."""
    notes: tuple[str, ...]


def usable(curves: Curves) -> Usable:
    """Seeds that are complete, at all points. If none is: all seeds that have begun, at the points
    that all of them have, which makes the result preliminary."""
    finite = np.isfinite(curves.values)
    begun = np.asarray(finite.any(axis=1))
    everywhere = np.ones(len(curves.steps), bool)
    notes = list(curves.notes)
    if absent := labels(curves.seeds, ~begun):
        notes.append(f"no row of {absent}")
    if curves.complete.any():
        if partial := labels(curves.seeds, begun & ~curves.complete):
            notes.append(f"{partial} incomplete: left out")
        return Usable(curves.complete, everywhere, tuple(notes))
    columns = np.asarray(finite[begun].all(axis=0)) if begun.any() else ~everywhere
    if begun.any():
        last = f" up to step {curves.steps[columns][-1]:,}" if columns.any() else ""
        notes.append(
            f"preliminary: no seed is complete, {int(columns.sum())} of {len(columns)} points{last}"
        )
    return Usable(begun, columns, tuple(notes))


def labels(seeds: Sequence[int], chosen: np.ndarray) -> str:
    """The chosen seeds in words; empty if there is none."""
    named = [str(seed) for seed, one in zip(seeds, chosen, strict=True) if one]
    if not named:
        return ""
    return f"seed{'s' if len(named) > 1 else ''} {', '.join(named)}"


def chosen_seeds(curves: Curves, rows: np.ndarray) -> list[int]:
    return [seed for seed, one in zip(curves.seeds, rows, strict=True) if one]


def average(curves: Curves, kind: IntervalKind = "normal") -> Estimate:
    """The paper's average return: per seed the mean over all evaluation points."""
    part = usable(curves)
    seeds = chosen_seeds(curves, part.rows)
    if not part.columns.any():
        return estimate([], kind, notes=part.notes)
    per_seed = curves.values[part.rows][:, part.columns].mean(axis=1)
    return estimate(per_seed, kind, seeds, part.notes)


def maximum(curves: Curves, kind: IntervalKind = "normal") -> Estimate:
    """The paper's maximum return: the highest mean over seeds, with its point.

    Of equal points the first counts. Being the highest of many noisy means, it is biased upwards.
    """
    part = usable(curves)
    seeds = chosen_seeds(curves, part.rows)
    if not part.columns.any():
        return estimate([], kind, notes=part.notes)
    values = curves.values[part.rows][:, part.columns]
    best = int(values.mean(axis=0).argmax())
    step = int(curves.steps[part.columns][best])
    return estimate(values[:, best], kind, seeds, part.notes, step)


def pointwise(curves: Curves, kind: IntervalKind = "normal") -> list[Estimate]:
    """The learning curve: the mean over the seeds that have a value, at every point."""
    return [
        estimate(column, kind, curves.seeds, step=int(step))
        for step, column in zip(curves.steps, curves.values.T, strict=True)
    ]
