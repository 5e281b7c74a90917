"""One number for many tasks: interquartile mean, performance profiles, probability of improvement;
and how fast a return is reached.

Scores are per-seed average returns, normalised per task. Only algorithms that have every task (and
all its steps) are put together; who is left out is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coemarl.report import names
from coemarl.report.results import RETURN, Results
from coemarl.report.table import Table
from coemarl.statistics.aggregates import (
    Aggregate,
    bounds_of,
    normalised,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)
from coemarl.statistics.curves import maximum
from coemarl.statistics.efficiency import Times, steps_to

THRESHOLDS = np.linspace(0, 1, 51)
SHARE = 0.5
"""The return whose arrival is timed, where none is given: this share of the way from 0 to the best
maximum return of the task."""

Bounds = Mapping[str, tuple[float, float]]
KNOWN: Bounds = {"lbf": (0.0, 1.0), "smac": (0.0, 20.0), "battle": (0.0, 20.0)}
"""What returns of a family lie between by its rules: all food is worth 1, and rewards of battles
are scaled to 20."""


@dataclass(frozen=True)
class Profile:
    """Share of runs above each of `THRESHOLDS`, with the ends of the pointwise interval."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Aggregates:
    """What the tasks say together."""

    tasks: tuple[str, ...]
    algos: tuple[str, ...]
    bounds: Bounds
    fitted: tuple[str, ...]
    """The tasks whose bounds are the lowest and highest value of those compared."""
    means: Mapping[str, Aggregate]
    """Interquartile means."""
    profiles: Mapping[str, Profile]
    improvement: Mapping[tuple[str, str], Aggregate]
    """(first, second): how likely a run of the first is better."""
    notes: tuple[str, ...]


def make_aggregates(results: Results, table: Table, given: Bounds) -> Aggregates:
    """The aggregates of a table's returns. `given` are bounds by task or family."""
    returns = {line.task: line for line in table.lines if line.kind == "return"}
    raw: dict[str, dict[str, np.ndarray]] = {algo: {} for algo in results.algos}
    for task, line in returns.items():
        for algo, cell in line.cells.items():
            if not cell.short and cell.estimate.values:
                raw[algo][task] = np.asarray(cell.estimate.values)
    algos = tuple(algo for algo in results.algos if len(raw[algo]) == len(returns))
    notes = [
        f"{names.algorithm_title(algo)} is left out: it has no rows, or too few steps, on"
        f" {', '.join(names.task_title(task) for task in returns if task not in raw[algo])}"
        for algo in results.algos
        if algo not in algos
    ]
    found = bounds_of({algo: raw[algo] for algo in algos})
    chosen = {task: bounds_for(task, {**KNOWN, **given}) or found[task] for task in found}
    for task, (low, high) in chosen.items():
        if not high > low:
            notes.append(f"{task}: all values are equal, so that no score can be made of them")
    scores = {
        algo: {task: normalised(raw[algo][task], chosen[task]) for task in chosen} for algo in algos
    }
    return Aggregates(
        tuple(chosen),
        algos,
        chosen,
        tuple(task for task in chosen if not bounds_for(task, {**KNOWN, **given})),
        {algo: stratified_interval(scores[algo]) for algo in algos},
        {algo: Profile(*performance_profile(scores[algo], THRESHOLDS)) for algo in algos},
        {
            (a, b): probability_of_improvement(scores[a], scores[b])
            for a in algos
            for b in algos
            if a != b
        },
        tuple(notes),
    )


def bounds_for(task: str, bounds: Bounds) -> tuple[float, float] | None:
    """The bounds of a task or else of its family."""
    return bounds.get(task) or bounds.get(task.partition(":")[0])


@dataclass(frozen=True)
class Arrival:
    """How many steps the algorithms need to a return on one task."""

    task: str
    target: float
    times: Mapping[str, Times]


def make_arrivals(results: Results, targets: Sequence[float] = ()) -> list[Arrival]:
    """For every task and target (the usual one, if none is given) the algorithms' times."""
    arrivals = []
    for task in results.tasks:
        algos = [algo for algo in results.algos if results.has(task, algo)]
        curves = {algo: results.curves(task, algo, RETURN) for algo in algos}
        for target in targets or usual_target([maximum(each).mean for each in curves.values()]):
            times = {algo: steps_to(each, target) for algo, each in curves.items()}
            arrivals.append(Arrival(task, target, times))
    return arrivals


def usual_target(maxima: Sequence[float]) -> list[float]:
    """A share of the best maximum, to two digits; none if nothing was reached."""
    best = max((each for each in maxima if np.isfinite(each)), default=0.0)
    return [float(f"{SHARE * best:.2g}")] if best > 0 else []
