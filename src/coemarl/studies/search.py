"""The paper's search: every point of each entry's space on the search's tasks, the best by maximum
return, and then that one, under the entry's own label, on all tasks with more seeds.

A point is a candidate: the entry's label, # and the point's number. Nothing is remembered beside
the rows: what is best follows from them, so a search that is stopped goes on like any study.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coemarl.runs import checkpoint
from coemarl.studies import folder as folders
from coemarl.studies.driver import Work
from coemarl.studies.folder import StudyFolder
from coemarl.studies.runs import Run, checked, config_of
from coemarl.studies.space import space_of
from coemarl.studies.store import Row
from coemarl.studies.study import Entry, Search, Study, Values

Chosen = Sequence[tuple[Entry, str]]
"""Entries and the tasks to run them on, as `runs.select` gives them."""


def candidate(entry: Entry, number: int) -> str:
    """The label of a point of an entry's space."""
    return f"{entry.label}#{number:03d}"


def searched(chosen: Chosen) -> dict[str, tuple[Entry, list[str]]]:
    """The entries that have a space, by label, each with its tasks."""
    found: dict[str, tuple[Entry, list[str]]] = {}
    for entry, task in chosen:
        if entry.space is not None:
            found.setdefault(entry.label, (entry, []))[1].append(task)
    return found


def check_finals(study: Study, chosen: Chosen) -> None:
    """Refuse a search whose end could not be run, before it begins."""
    for entry, _ in searched(chosen).values():
        finals(study, entry, next(space_of(entry).points()))


def finals(study: Study, entry: Entry, point: Values) -> list[Run]:
    """The runs of the best point; none if the search wants none."""
    search = of(study)
    return checked(
        study,
        [
            (entry.label, partial(config_of, study, entry, task, seed, point))
            for task in search.final_tasks
            for seed in search.final_seeds
        ],
    )


def of(study: Study) -> Search:
    """The study's search, which it is known to have."""
    assert study.search is not None
    return study.search


def expand(study: Study, chosen: Chosen) -> list[Run]:
    """Every candidate's runs; Refusal names all that is wrong."""
    return checked(
        study,
        [
            (candidate(entry, number), partial(config_of, study, entry, task, seed, point))
            for entry, tasks in searched(chosen).values()
            for number, point in enumerate(space_of(entry).points())
            for task in tasks
            for seed in study.seeds
        ],
    )


# Judging


def curve_of(rows: Iterable[Row], metric: str) -> dict[int, float]:
    """Boundary: value, where there is one."""
    return {row["boundary"]: row[metric] for row in rows if row.get(metric) is not None}


def maximum(curves: Sequence[dict[int, float]]) -> float | None:
    """The paper's maximum return: the highest, over evaluations that all seeds have, of the mean
    over seeds; None if they share none."""
    points = set.intersection(*(set(curve) for curve in curves)) if curves else set()
    means = [sum(curve[point] for curve in curves) / len(curves) for point in points]
    return max(means, default=None)


def score(by_task: Sequence[Sequence[dict[int, float]]]) -> float | None:
    """A candidate's mean over its tasks of the maximum return; None if a task has none."""
    found = [maximum(curves) for curves in by_task]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


@dataclass
class Contest:
    """The candidates of one entry."""

    entry: Entry
    open: set[str] = field(default_factory=set)
    """Names of runs that are not over."""
    failed: set[str] = field(default_factory=set)
    """Labels of candidates of which a run failed: they cannot be judged."""
    runs: dict[str, list[Run]] = field(default_factory=dict)
    """Label: its runs."""


class GridSearch:
    """The search of every point, as work for the driver."""

    def __init__(self, study: Study, chosen: Chosen, place: StudyFolder) -> None:
        check_finals(study, chosen)
        self.study, self.place = study, place
        self.runs = expand(study, chosen)
        self.points = {
            candidate(entry, number): point
            for entry, _ in searched(chosen).values()
            for number, point in enumerate(space_of(entry).points())
        }
        self.contests = {label: Contest(e) for label, (e, _) in searched(chosen).items()}
        for run in self.runs:
            contest = self.contests[run.label.partition("#")[0]]
            contest.open.add(run.name)
            contest.runs.setdefault(run.label, []).append(run)

    def work(self) -> Work:
        """What the driver asks for."""
        return Work(self.runs, ended=self.ended)

    def ended(self, run: Run, how: str) -> list[Run]:
        """When an entry's last candidate is over, the runs of its best."""
        contest = self.contests[run.label.partition("#")[0]]
        if run.name not in contest.open:
            return []
        contest.open.remove(run.name)
        if how != "done":
            contest.failed.add(run.label)
        if contest.open:
            return []
        best = self.best(contest)
        return [] if best is None else finals(self.study, contest.entry, self.points[best])

    def best(self, contest: Contest) -> str | None:
        """The label of the best candidate, noted in best.json; None if none can be judged."""
        metric = of(self.study).metric
        scores: dict[str, float] = {}
        for label, runs in contest.runs.items():
            curves = [curve_of(folders.rows_of(self.place, run), metric) for run in runs]
            value = score(list(by_task(runs, curves).values()))
            if value is not None and label not in contest.failed:
                scores[label] = value
        if not scores:
            return None
        best = max(scores, key=lambda label: scores[label])
        note_best(self.place, contest.entry.label, best, scores[best], self.points[best])
        return best


def by_task(
    runs: Sequence[Run], curves: Sequence[dict[int, float]]
) -> dict[str, list[dict[int, float]]]:
    """The curves of runs, by their tasks."""
    found: dict[str, list[dict[int, float]]] = {}
    for run, curve in zip(runs, curves, strict=True):
        found.setdefault(run.config.task, []).append(curve)
    return found


def note_best(place: StudyFolder, entry: str, label: str, value: float, point: Values) -> None:
    """Write into best.json what a search found for an entry."""
    path = place.path / "best.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found[entry] = {"candidate": label, "maximum": value, "options": point}
    checkpoint.write_text(path, json.dumps(found, indent=1, sort_keys=True) + "\n")
