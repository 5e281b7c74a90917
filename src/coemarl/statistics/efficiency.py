"""Sample efficiency: how many steps a run needs to reach a given return.

A run that has not reached it when it ends (or so far) tells that its time is longer than that: it
is censored. Leaving such runs out would make slow algorithms look fast, so times are put together
by the estimator of Kaplan and Meier (1958): S(t), the share of runs that need more than t steps,
falls at each time t_i with d_i arrivals among n_i runs still on their way:
    S(t) = prod over t_i ≤ t of (1 - d_i / n_i)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coemarl.statistics.curves import Curves


@dataclass(frozen=True)
class Times:
    """Per seed the steps to the target, or the last step seen if it was not reached."""

    steps: np.ndarray
    """(S,)"""
    reached: np.ndarray
    """(S,) False where censored."""
    target: float

    @property
    def median(self) -> float:
        """Steps by which half of the runs have arrived; NaN if the rows cannot say."""
        return quantile(*survival(self.steps, self.reached), share=0.5)

    def text(self) -> str:
        """In words: how many arrived, and the median time."""
        count = f"{int(self.reached.sum())} of {len(self.reached)} seeds"
        if len(self.reached) == 0:
            return "no seed"
        if not np.isfinite(self.median):
            return f"more than {int(self.steps.max()):,} ({count})"
        return f"{int(self.median):,} ({count})"


def steps_to(curves: Curves, target: float) -> Times:
    """The first evaluation point of each seed with a value of at least the target. Seeds without
    any value are left out."""
    steps, reached = [], []
    for values in curves.values:
        known = np.isfinite(values)
        if not known.any():
            continue
        there = known & (values >= target)
        reached.append(bool(there.any()))
        at = int(there.argmax()) if there.any() else int(np.flatnonzero(known)[-1])
        steps.append(float(curves.steps[at]))
    return Times(np.asarray(steps), np.asarray(reached, bool), target)


def survival(
    times: Sequence[float] | np.ndarray, arrived: Sequence[bool] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Kaplan and Meier: the times with arrivals, and S just after each."""
    at, event = np.asarray(times, float), np.asarray(arrived, bool)
    moments = np.unique(at[event])
    waiting = np.array([(at >= moment).sum() for moment in moments], float)
    arrivals = np.array([(event & (at == moment)).sum() for moment in moments], float)
    return moments, np.cumprod(1 - arrivals / waiting) if moments.size else np.ones(0)


def quantile(moments: np.ndarray, remaining: np.ndarray, share: float) -> float:
    """The first time at which at least that share has arrived; NaN if that is not seen."""
    # A share of a few runs is a small fraction: compare with a tolerance for its rounding.
    arrived = np.flatnonzero(1 - remaining >= share - 1e-12)
    return float(moments[arrived[0]]) if arrived.size else float("nan")
