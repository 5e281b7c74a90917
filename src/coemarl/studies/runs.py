"""From a study to its runs, each with its whole configuration; all of them refused or none.

Every task, algorithm, preset and option is looked up, and every run's parts are made, before the
first run starts: what cannot be is said at once, all of it, in a sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coemarl import config as configs
from coemarl.algorithms import ALGORITHMS, is_algorithm
from coemarl.config import RunConfig
from coemarl.refusal import Refusal
from coemarl.studies.study import Entry, Study, Values

Config = RunConfig[Any, Any, Any, Any]
PROBLEMS = 4
"""So many different reasons are told at once."""


@dataclass(frozen=True)
class Run:
    """One training of a study."""

    label: str
    """The entry's; a search's candidate has its number behind it: coe#012."""
    config: Config

    @property
    def name(self) -> str:
        """What it is called, and where it lies below the study's runs."""
        task = folder_name(self.config.task)
        return f"{task}/{self.label}/seed-{self.config.seed}"


def folder_name(task: str) -> str:
    """A task's name as that of a folder."""
    return "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in task)


def is_candidate(label: str) -> bool:
    """Whether a label is that of a point that a search tries."""
    return "#" in label


def select(study: Study, tasks: Sequence[str], labels: Sequence[str]) -> list[tuple[Entry, str]]:
    """The entries and the tasks to run them on: all, or those named; task by task."""
    _known("task", tasks, [task.name for task in study.tasks], study.name)
    _known("entry", labels, [entry.label for entry in study.entries], study.name)
    chosen = [
        (entry, task.name)
        for task in study.tasks
        for entry in study.entries
        if task.name in study.tasks_of(entry)
        and (not tasks or task.name in tasks)
        and (not labels or entry.label in labels)
    ]
    if not chosen:
        raise Refusal(f"nothing of study {study.name} is left: those entries run on other tasks")
    return chosen


def _known(what: str, names: Sequence[str], there: Sequence[str], study: str) -> None:
    for name in names:
        if name not in there:
            raise Refusal(f"study {study} has no {what} '{name}': it has {', '.join(there)}")


def config_of(study: Study, entry: Entry, task: str, seed: int, point: Values) -> Config:
    """The configuration of one run; later words win: defaults, preset, study, task, entry, and
    the point of a search's space. ValueError in one sentence if it cannot be."""
    from coemarl import presets

    config = configs.default_config(task, entry.algo)
    preset = entry.preset or study.preset
    if preset not in (None, "none"):
        config = presets.apply(config, preset)
    row = study.task(task)
    said: Values = {f"evaluation.{name}": value for name, value in study.evaluation.items()}
    if (steps := row.steps or study.steps) is not None:
        said["steps"] = steps
    said |= study.overrides | row.overrides | entry.overrides | point | {"seed": seed}
    # All at once: what some options may be depends on others.
    config = configs.replace(config, {path: fitting(config, path, v) for path, v in said.items()})
    configs.check(config)
    return config


def fitting(config: Config, path: str, value: Any) -> Any:
    """A value of a file as the option's own kind: lists become tuples, whole numbers reals."""
    old: Any = config
    for name in path.split("."):
        old = getattr(old, name, None)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(old, float) and type(value) is int:
        return float(value)
    if old is not None and not isinstance(old, str) and isinstance(value, str):
        raise ValueError(f"{path} is {value!r}: it must be such as {old!r}")
    if isinstance(old, str | bool | int) and type(value) is not type(old):
        raise ValueError(f"{path} is {value!r}: it must be such as {old!r}")
    return value


def expand(
    study: Study, chosen: Iterable[tuple[Entry, str]], seeds: Sequence[int] | None = None
) -> list[Run]:
    """The runs of chosen entries on chosen tasks; Refusal names all that is wrong."""
    chosen = list(chosen)
    check_algorithms(study, chosen)
    return checked(
        study,
        (
            (entry.label, partial(config_of, study, entry, task, seed, {}))
            for entry, task in chosen
            for seed in seeds or study.seeds
        ),
    )


def check_algorithms(study: Study, chosen: Iterable[tuple[Entry, str]]) -> None:
    """Refuse entries of algorithms that there are not."""
    if absent := dict.fromkeys(e.algo for e, _ in chosen if not is_algorithm(e.algo)):
        raise Refusal(
            f"study {study.name} cannot run: no algorithm {', '.join(absent)}; there are"
            f" {', '.join(ALGORITHMS)} (--algos takes a part of the study)"
        )


def checked(study: Study, makers: Iterable[tuple[str, Callable[[], Config]]]) -> list[Run]:
    """The runs that the makers of configurations give, all possible; else Refusal."""
    runs: list[Run] = []
    problems: dict[str, list[str]] = {}
    made: set[Config] = set()
    for label, make in makers:
        try:
            run = Run(label, make())
            plain = configs.replace(run.config, {"seed": 0})
            if plain not in made:
                parts_of(run.config)
                made.add(plain)
            runs.append(run)
        except ValueError as error:
            problems.setdefault(" ".join(str(error).split()), []).append(label)
    if problems:
        raise Refusal(f"study {study.name} cannot run: {told(problems)}")
    return runs


def parts_of(config: Config) -> None:
    """Make the parts of a run, to see that they can be made; ValueError if not."""
    from coemarl.training import make_parts

    make_parts(config)


def told(problems: dict[str, list[str]]) -> str:
    """Problems in a sentence, each with the labels that have it."""
    said = list(_said(problems))
    more = len(said) - PROBLEMS
    return "; ".join(said[:PROBLEMS]) + (f"; and {more} more" if more > 0 else "")


def _said(problems: dict[str, list[str]]) -> Iterator[str]:
    for problem, labels in problems.items():
        names = list(dict.fromkeys(labels))
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        yield f"{problem} (of {shown})"


def folder_of(study: Path, run: Run) -> Path:
    """Where a run lies in a study's folder."""
    return study / "runs" / run.name
