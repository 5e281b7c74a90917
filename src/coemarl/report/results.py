"""From rows to learning curves: one metric of one algorithm on one task, seeds by points.

A row's place on the curve is its `boundary`, the step at which it was due: there the seeds meet,
though each ends the episode that was going on. What the rows lack or do oddly is said in notes.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coemarl.refusal import Refusal
from coemarl.report import names
from coemarl.report.rows import METRIC, Row
from coemarl.statistics.curves import Curves

Pair = tuple[str, str]
"""Labels of a task and of an algorithm."""
RETURN = "eval/return"
WINS = ("eval/battle_won", "eval/win_rate", "eval/won")
"""Metrics that are the share of battles won, whichever a task has."""


@dataclass(frozen=True)
class Run:
    """One training, as its rows tell it."""

    task: str
    algo: str
    """Labels."""
    seed: int
    rows: Mapping[int, Row]
    """By boundary, rising."""

    @property
    def end(self) -> int:
        """The last point reached."""
        return max(self.rows)

    @property
    def last(self) -> Row:
        return self.rows[self.end]


@dataclass(frozen=True)
class Results:
    """All that a report is about."""

    tasks: tuple[str, ...]
    algos: tuple[str, ...]
    metrics: tuple[str, ...]
    """Of the evaluation, the return first."""
    runs: tuple[Run, ...]
    grids: Mapping[Pair, np.ndarray]
    """The points of an algorithm's curves on a task."""
    short: Mapping[Pair, str]
    """Whose curves end before others' on the task, and where: not compared with them."""
    notes: tuple[str, ...]

    def curves(self, task: str, algo: str, metric: str) -> Curves:
        """The curves of a pair. Seeds that only others have on this task are there too, without
        values, so that what is missing is said."""
        mine = {run.seed: run for run in self.runs if (run.task, run.algo) == (task, algo)}
        seeds = sorted({run.seed for run in self.runs if run.task == task})
        steps = self.grids.get((task, algo), np.zeros(0, int))
        values = np.full((len(seeds), len(steps)), np.nan)
        for row, seed in enumerate(seeds):
            for column, step in enumerate(steps):
                if seed in mine and int(step) in mine[seed].rows:
                    values[row, column] = value(mine[seed].rows[int(step)], metric)
        return Curves(tuple(seeds), steps, values)

    def has(self, task: str, algo: str) -> bool:
        return (task, algo) in self.grids

    def measures(self, task: str, metric: str) -> bool:
        """Whether a task's runs know the metric."""
        return any(metric in run.last for run in self.runs if run.task == task)


def value(row: Row, metric: str) -> float:
    """A row's value of a metric; NaN where it has none."""
    found = row.get(metric)
    return float(found) if found is not None and math.isfinite(found) else math.nan


def of_rows(rows: Sequence[Row], until: int | None = None, notes: Iterable[str] = ()) -> Results:
    """The results that rows tell, up to a step if one is given."""
    kept = [row for row in rows if until is None or row["boundary"] <= until]
    if not kept:
        raise Refusal(f"no row up to step {until:,}: choose a later --until")
    runs = runs_of(kept)
    tasks = names.ordered_tasks(run.task for run in runs)
    said = list(notes)
    grids: dict[Pair, np.ndarray] = {}
    short: dict[Pair, str] = {}
    for task in tasks:
        part = [run for run in runs if run.task == task]
        its_grids, its_short, its_notes = points_of(part)
        grids |= its_grids
        short |= its_short
        said += its_notes + oddities(part)
    metrics = {name for row in kept for name in row if name.startswith(METRIC)}
    return Results(
        tasks,
        names.ordered_algorithms(run.algo for run in runs),
        tuple(sorted(metrics, key=lambda name: (name != RETURN, name not in WINS, name))),
        tuple(sorted(runs, key=lambda run: (tasks.index(run.task), run.algo, run.seed))),
        grids,
        short,
        tuple(dict.fromkeys(said)),
    )


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """Rows by run, tasks and algorithms with their labels."""
    task_options: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        task_options[row["task"]].append(names.split(row.get("options") or {})[0])
    task_labels = {name: names.labels(name, each, {}) for name, each in task_options.items()}

    places: dict[Pair, list[Row]] = defaultdict(list)
    for row in rows:
        of_task, _ = names.split(row.get("options") or {})
        places[task_labels[row["task"]][names.identity(of_task)], row["algo"]].append(row)

    found: dict[tuple[str, str, int], dict[int, Row]] = defaultdict(dict)
    for (task, algo), its_rows in places.items():
        options = [names.split(row.get("options") or {})[1] for row in its_rows]
        labels = names.labels(algo, options, names.paper_values(algo, its_rows[0]["task"]))
        for row, each in zip(its_rows, options, strict=True):
            run = found[task, labels[names.identity(each)], row["seed"]]
            if row["boundary"] in run:
                raise Refusal(
                    f"there are two runs of {algo} on {task} with seed {row['seed']} that differ in"
                    " how they were evaluated: report them apart"
                )
            run[row["boundary"]] = row
    return [Run(*key, dict(sorted(each.items()))) for key, each in found.items()]


def points_of(runs: Sequence[Run]) -> tuple[dict[Pair, np.ndarray], dict[Pair, str], list[str]]:
    """Of one task: the points of each algorithm, who ends early, and what is odd.

    An algorithm's points are those that all its runs have that went as far as any of it. Algorithms
    that went as far as any on the task are compared at the points that all of them have.
    """
    task = runs[0].task
    ends: dict[str, int] = {}
    for run in runs:
        ends[run.algo] = max(run.end, ends.get(run.algo, 0))
    far = max(ends.values())
    complete = [run for run in runs if run.end == far]
    shared = sorted(set.intersection(*(set(run.rows) for run in complete)))
    notes = []
    every = set().union(*(run.rows for run in complete))
    if len(shared) < len(every):
        notes.append(
            f"{task}: not all runs were evaluated at the same points; of {len(every)} the"
            f" {len(shared)} that all have are used"
        )
    elif len({b - a for a, b in itertools.pairwise(shared)}) > 1:
        notes.append(f"{task}: the points are not at equal distances, and each weighs the same")
    if len(shared) == 1:
        notes.append(f"{task}: there is one evaluation point only, at step {shared[0]:,}")
    grids, short = {}, {}
    for algo, end in ends.items():
        mine = [run for run in runs if run.algo == algo and run.end == end]
        own = sorted(set.intersection(*(set(run.rows) for run in mine)))
        grids[task, algo] = np.asarray(shared if end == far else own)
        if end < far:
            short[task, algo] = f"up to step {end:,} of {far:,} that others have: not compared"
    return grids, short, notes


def oddities(runs: Sequence[Run]) -> list[str]:
    """What a reader should know of how one task's runs were made."""
    notes = []
    by_algo: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_algo[run.algo].append(run)
    for algo, mine in by_algo.items():
        where = f"{names.algorithm_title(algo)} on {runs[0].task}"
        commits = {run.last.get("commit") for run in mine}
        if len(commits) > 1:
            notes.append(f"{where}: its seeds were made by {len(commits)} states of the code")
        protocols = {names.identity(protocol(run.last.get("options") or {})) for run in mine}
        if len(protocols) > 1:
            notes.append(f"{where}: its seeds were evaluated in {len(protocols)} different ways")
    if any(str(run.last.get("commit") or "").find("-dirty") >= 0 for run in runs):
        notes.append(f"{runs[0].task}: some runs were made by code with changes in no commit")
    return notes


def protocol(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the evaluation."""
    return {p: v for p, v in options.items() if p.startswith(names.PROTOCOL_PREFIX)}
