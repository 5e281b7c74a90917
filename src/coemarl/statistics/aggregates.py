"""One number for many tasks, after Agarwal et al., "Deep reinforcement learning at the edge of the
statistical precipice" (2021).

Scores are normalised per task, so that tasks can be put together: (value - low) / (high - low).
`Scores` are one algorithm's: for each task one score per seed. Tasks may have different numbers of
seeds. Intervals resample the seeds within each task (stratified bootstrap): they speak of new
seeds on these tasks, not of other tasks.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from coemarl.statistics.intervals import percentile_interval

Scores = Mapping[str, np.ndarray]
"""Task: one score per seed."""
RESAMPLES = 2000
CUT = 0.25
"""The share that the interquartile mean drops at each end."""


class Aggregate(NamedTuple):
    """A point estimate with the 95% interval of the stratified bootstrap."""

    value: float
    low: float
    high: float
    note: str = ""


def bounds_of(values: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, tuple[float, float]]:
    """Per task the lowest and highest value of any algorithm and seed: what scores are normalised
    by where a study gives no bounds. Such scores depend on who was compared."""
    tasks = dict.fromkeys(task for scores in values.values() for task in scores)
    bounds = {}
    for task in tasks:
        pooled = np.concatenate([np.ravel(s[task]) for s in values.values() if task in s])
        pooled = pooled[np.isfinite(pooled)]
        if pooled.size:
            bounds[task] = (float(pooled.min()), float(pooled.max()))
    return bounds


def normalised(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """(value - low) / (high - low); NaN if the bounds are equal, for then all scores would be."""
    low, high = bounds
    if not high > low:
        return np.full(np.shape(values), np.nan)
    return (np.asarray(values, float) - low) / (high - low)


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """The mean along the last axis without the lowest and the highest quarter: of n values
    floor(n / 4) are dropped at each end."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    cut = int(CUT * count)
    return ordered[..., cut : count - cut].mean(axis=-1)


def finite_scores(scores: Scores) -> tuple[list[np.ndarray], str]:
    """The tasks' scores that are numbers, and which tasks have none."""
    kept = {task: np.asarray(s, float)[np.isfinite(s)] for task, s in scores.items()}
    empty = [task for task, s in kept.items() if s.size == 0]
    note = f"without {', '.join(empty)}: no score there" if empty else ""
    return [s for s in kept.values() if s.size], note


def resample(scores: list[np.ndarray], rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, N): for each resample as many seeds of every task, drawn with replacement within
    the task, all tasks side by side."""
    parts = [s[rng.integers(0, s.size, (count, s.size))] for s in scores]
    return np.concatenate(parts, axis=1)


def stratified_interval(
    scores: Scores,
    statistic: Callable[[np.ndarray], np.ndarray] = interquartile_mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Aggregate:
    """A statistic (over the last axis) of all scores, with its interval."""
    kept, note = finite_scores(scores)
    if not kept:
        return Aggregate(np.nan, np.nan, np.nan, note or "no score")
    value = float(statistic(np.concatenate(kept)))
    if all(s.size < 2 for s in kept):
        return Aggregate(value, np.nan, np.nan, joined(note, "one seed per task: no interval"))
    samples = statistic(resample(kept, np.random.default_rng(seed), resamples))
    return Aggregate(value, *percentile_interval(samples), note)


def joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def performance_profile(
    scores: Scores, thresholds: np.ndarray, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The share of runs with a score above each threshold, and the ends of its pointwise 95%
    interval; each of the thresholds' shape.

    Every task has the same weight, whatever its number of seeds.
    """
    kept, _ = finite_scores(scores)
    if not kept:
        nothing = np.full(thresholds.shape, np.nan)
        return nothing, nothing, nothing
    rng = np.random.default_rng(seed)
    point = np.mean([shares_above(s[None], thresholds)[0] for s in kept], axis=0)
    drawn = [s[rng.integers(0, s.size, (resamples, s.size))] for s in kept]
    samples = np.mean([shares_above(each, thresholds) for each in drawn], axis=0)
    low, high = np.percentile(samples, [2.5, 97.5], axis=0)
    return point, low, high


def shares_above(samples: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """(R, seeds) scores and (P,) thresholds: (R, P) shares of seeds above."""
    return (samples[:, :, None] > thresholds).mean(axis=1)


def probability_of_improvement(
    better: Scores, worse: Scores, resamples: int = RESAMPLES, seed: int = 0
) -> Aggregate:
    """How likely a run of the first algorithm beats one of the second on a task: the share of
    pairs of seeds in which it does, ties as halves, averaged over the tasks that both have."""
    pairs = {}
    for task in better:
        if task in worse:
            a, b = (np.asarray(s[task], float) for s in (better, worse))
            pairs[task] = (a[np.isfinite(a)], b[np.isfinite(b)])
    usable = [(a, b) for a, b in pairs.values() if a.size and b.size]
    lost = [task for task, (a, b) in pairs.items() if not (a.size and b.size)]
    note = f"without {', '.join(lost)}: no score there" if lost else ""
    if not usable:
        return Aggregate(np.nan, np.nan, np.nan, joined(note, "no task that both have"))
    value = float(np.mean([wins(a[None], b[None])[0] for a, b in usable]))
    if all(max(a.size, b.size) < 2 for a, b in usable):
        return Aggregate(value, np.nan, np.nan, joined(note, "one seed per task: no interval"))
    rng = np.random.default_rng(seed)
    samples = np.zeros(resamples)
    for a, b in usable:
        samples += wins(resample([a], rng, resamples), resample([b], rng, resamples))
    return Aggregate(value, *percentile_interval(samples / len(usable)), note)


def wins(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(R, n) and (R, m): (R,) shares of the n m pairs in which the first is larger, ties as
    halves."""
    a, b = first[:, :, None], second[:, None, :]
    return ((a > b) + 0.5 * (a == b)).mean(axis=(1, 2))
