"""Search by optuna: TPE chooses points of an entry's space, and poor ones are given up early.

Each entry is an optuna study of its own, all of them in one file, `optuna.journal`, in the study's
folder; whoever opens it again goes on with the trials that are there, and optuna's own tools read
it. A trial is a candidate: it trains its seeds one after another on the search's tasks, and after
each evaluation reports the mean over the seeds so far. A trial that is worse there than the median
of those before is given up. The value of one that ends is its maximum return, as in the paper.
"""

import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from coemarl.refusal import Refusal
from coemarl.studies import folder as folders
from coemarl.studies.driver import Work
from coemarl.studies.folder import StudyFolder
from coemarl.studies.runs import Run, checked, config_of
from coemarl.studies.search import (
    Chosen,
    by_task,
    candidate,
    check_finals,
    curve_of,
    finals,
    note_best,
    of,
    score,
    searched,
)
from coemarl.studies.space import Space, space_of
from coemarl.studies.store import Row
from coemarl.studies.study import Entry, Study, Values

FILE = "optuna.journal"
STARTUP = 5
"""Trials before any is given up, or chosen by more than chance."""
TRIES = 1000
"""So many points are asked for until one makes sense."""


@dataclass
class Trial:
    """One candidate on its way."""

    trial: Any
    runs: list[Run]
    """In the order they are trained."""
    at: int = 0
    """The run that is trained now."""
    reported: set[int] = field(default_factory=set)


@dataclass
class Hunt:
    """The search for one entry."""

    entry: Entry
    tasks: list[str]
    space: Space
    study: Any
    """optuna's."""
    over: bool = False


class TpeSearch:
    """The search by trials, as work for the driver."""

    def __init__(self, study: Study, chosen: Chosen, place: StudyFolder, slots: int) -> None:
        check_finals(study, chosen)
        self.study, self.place = study, place
        entries = searched(chosen)
        self.at_once = max(1, slots // len(entries))
        storage = opened(place)
        self.hunts = {
            label: Hunt(entry, tasks, space_of(entry), self.open(storage, label))
            for label, (entry, tasks) in entries.items()
        }
        self.trials: dict[str, Trial] = {}

    def open(self, storage: Any, label: str) -> Any:
        """optuna's study of an entry."""
        import optuna

        study = optuna.create_study(
            study_name=label, storage=storage, direction="maximize", load_if_exists=True
        )
        # After a restart the sampler must not draw again what it drew first.
        study.sampler = optuna.samplers.TPESampler(
            seed=len(study.get_trials(deepcopy=False)), n_startup_trials=STARTUP
        )
        points = len(range(0, self.study.steps or 1, self.study.evaluation.get("every", 100_000)))
        study.pruner = optuna.pruners.MedianPruner(STARTUP, n_warmup_steps=points // 4)
        return study

    def work(self) -> Work:
        """What the driver asks for."""
        runs = [run for hunt in self.hunts.values() for run in self.first(hunt)]
        return Work(runs, heard=self.heard, ended=self.ended)

    def first(self, hunt: Hunt) -> list[Run]:
        """The trials that a driver before left open, and new ones up to as many as run at once."""
        import optuna

        going = hunt.study.get_trials(states=(optuna.trial.TrialState.RUNNING,))
        runs = [run for each in going for run in self.again(hunt, each)]
        while len(runs) < self.at_once and (more := self.next(hunt)):
            runs += more
        return runs or self.last(hunt)

    def again(self, hunt: Hunt, frozen: Any) -> list[Run]:
        """The run to begin with of a trial that was going on when its driver ended."""
        import optuna

        trial = optuna.trial.Trial(hunt.study, frozen._trial_id)
        point = point_of(hunt.space, frozen.params)
        if point is None:  # its driver was killed before it had chosen everything
            hunt.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            return []
        return self.begun(hunt, trial, point, set(frozen.intermediate_values))

    def next(self, hunt: Hunt) -> list[Run]:
        """The first run of a new trial; none if there were enough."""
        import optuna

        states = optuna.trial.TrialState
        used = (states.COMPLETE, states.PRUNED, states.RUNNING)
        if len(hunt.study.get_trials(deepcopy=False, states=used)) >= of(self.study).trials:
            return []
        for _ in range(TRIES):
            trial = hunt.study.ask()
            point = suggested(trial, hunt.space)
            if hunt.space.allowed(point):
                return self.begun(hunt, trial, point, set())
            hunt.study.tell(trial, state=states.FAIL)
        raise Refusal(f"no point of the space of {hunt.entry.label} is allowed")

    def begun(self, hunt: Hunt, trial: Any, point: Values, reported: set[int]) -> list[Run]:
        """Know a trial's runs, and give the first of them."""
        label = candidate(hunt.entry, trial.number)
        makers = [
            (label, partial(config_of, self.study, hunt.entry, task, seed, point))
            for seed in self.study.seeds
            for task in hunt.tasks
        ]
        runs = checked(self.study, makers)
        self.trials[label] = Trial(trial, runs, reported=reported)
        return runs[:1]

    def curves(self, trial: Trial) -> list[dict[int, float]]:
        """The curves of a trial's runs so far."""
        metric = of(self.study).metric
        begun = trial.runs[: trial.at + 1]
        return [curve_of(folders.rows_of(self.place, run), metric) for run in begun]

    def heard(self, run: Run, rows: list[Row]) -> bool:
        """Report what is new; whether optuna would give the trial up."""
        trial = self.trials.get(run.label)
        if trial is None or trial.runs[trial.at].name != run.name:
            return False
        self.report(trial)
        return trial.trial.should_prune()

    def report(self, trial: Trial) -> None:
        """Tell optuna, at the n-th evaluation of the trial, the mean over its runs so far at that
        point. Every trial has the same runs in the same order, so that step n means the same."""
        curves = self.curves(trial)
        points = sorted(curves[-1])
        length = len(range(0, trial.runs[0].config.steps, every(trial.runs[0]))) + 1
        for number, point in enumerate(points):
            step = trial.at * length + number
            if step not in trial.reported:
                values = [curve[point] for curve in curves if point in curve]
                trial.trial.report(sum(values) / len(values), step)
                trial.reported.add(step)

    def ended(self, run: Run, how: str) -> list[Run]:
        """What follows a run: the trial's next, the next trial, or the best's final runs."""
        trial = self.trials.get(run.label)
        if trial is None or trial.runs[trial.at].name != run.name:
            return []
        hunt = self.hunts[run.label.partition("#")[0]]
        if how == "done":
            self.report(trial)
            if trial.at + 1 < len(trial.runs):
                trial.at += 1
                return [trial.runs[trial.at]]
        self.tell(hunt, trial, how)
        del self.trials[run.label]
        return self.next(hunt) or self.last(hunt)

    def tell(self, hunt: Hunt, trial: Trial, how: str) -> None:
        """Close a trial."""
        import optuna

        states = optuna.trial.TrialState
        value = None
        if how == "done":
            value = score(list(by_task(trial.runs, self.curves(trial)).values()))
        if value is not None:
            hunt.study.tell(trial.trial, value)
        else:
            state = states.PRUNED if how == "given-up" else states.FAIL
            hunt.study.tell(trial.trial, state=state)

    def last(self, hunt: Hunt) -> list[Run]:
        """The best's final runs, once all trials of an entry are closed."""
        import optuna

        label = hunt.entry.label
        if hunt.over or any(name.partition("#")[0] == label for name in self.trials):
            return []
        hunt.over = True
        complete = (optuna.trial.TrialState.COMPLETE,)
        if not hunt.study.get_trials(deepcopy=False, states=complete):
            return []
        best = hunt.study.best_trial
        point = point_of(hunt.space, best.params) or {}
        note_best(self.place, label, candidate(hunt.entry, best.number), best.value, point)
        return finals(self.study, hunt.entry, point)


def every(run: Run) -> int:
    return run.config.evaluation.every


def opened(place: StudyFolder) -> Any:
    """The file of trials; Refusal if optuna is not there."""
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise Refusal("optuna is not installed: pip install 'coemarl[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return JournalStorage(JournalFileBackend(str(place.path / FILE)))


# Points as optuna's parameters


GRID = "grid"
"""The parameter that says which of several grids a point is of."""


def suggested(trial: Any, space: Space) -> Values:
    """The point that a trial chooses."""
    number = 0
    if len(space.grids) > 1:
        number = trial.suggest_categorical(GRID, list(range(len(space.grids))))
    grid = space.grids[number]
    return {
        path: trial.suggest_categorical(parameter(path, number), list(values))
        for path, values in grid.items()
    }


def parameter(path: str, number: int) -> str:
    """An option's name as a parameter; grids may try different values of one option."""
    return f"{path} ({number})" if number else path


def point_of(space: Space, parameters: Values) -> Values | None:
    """The point that a trial's parameters say; None if some are missing."""
    number = parameters.get(GRID, 0)
    names = {path: parameter(path, number) for path in space.grids[number]}
    if not set(names.values()) <= parameters.keys():
        return None
    return {path: parameters[name] for path, name in names.items()}
