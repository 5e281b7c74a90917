"""A study as data: which runs there are, before any of them exists. Read from a TOML file.

    summary = "what it asks"
    preset = "paper"                      # where every run begins
    seeds = [0, 1, 2]
    steps = 1_000_000
    tasks = ["lbf:10x10-3p-3f", { name = "mpe:sparse-spread", steps = 500_000 }]
    measure = "average"                   # what its table shows of a metric, or "maximum"
    paper_table = "tab:avg-return-baseline"

    [evaluation]                          # the protocol
    every = 50_000
    episodes = 100

    [overrides]                           # options of every run, by dotted path
    "replay.dtype" = "float16"

    [[entries]]                           # one column of the table each
    algo = "coe"

    [[entries]]
    label = "qmix-3e-4"                   # its name in rows and tables; the algorithm's if none
    algo = "qmix"
    tasks = ["lbf:10x10-3p-3f"]           # where it runs; everywhere if not said
    overrides = { "learner.learning_rate" = 3e-4 }

Later words win: defaults, preset, the study's steps, evaluation and overrides, the task's, the
entry's. An entry's `space` and the study's `[search]` make it a search (`coemarl.studies.space`,
`coemarl.studies.search`).
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from coemarl.refusal import Refusal

Values = dict[str, Any]
"""Dotted path of a run's configuration: value."""
SearchKind = Literal["grid", "tpe"]
Measure = Literal["average", "maximum"]
"""Of a metric's curve: the mean over all evaluations, or the highest mean over seeds."""
LABEL = re.compile(r"[A-Za-z0-9][\w.+@-]*")
"""What an entry may be called: it becomes the name of a folder. (# is kept for candidates.)"""


@dataclass(frozen=True)
class StudyTask:
    """One row of the table."""

    name: str
    steps: int | None = None
    """Steps of runs on this task; the study's if None."""
    overrides: Values = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One column of the table: an algorithm with its settings."""

    algo: str
    label: str = ""
    preset: str | None = None
    """The study's if None; "none" for the plain defaults."""
    overrides: Values = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    """Where it runs; empty: everywhere."""
    space: Any = None
    """What a search tries: a preset's name, or grids as `coemarl.studies.space` reads them."""


@dataclass(frozen=True)
class Search:
    """How the best of each entry's space is found, and what is then done with it."""

    kind: SearchKind = "grid"
    """Try every point, or let optuna's TPE choose points and give up poor ones early."""
    trials: int = 30
    """Points that TPE tries for each entry."""
    metric: str = "eval/return"
    """Searched for its highest maximum: the mean over seeds, at the best evaluation."""
    final_tasks: tuple[str, ...] = ()
    """Where the best runs again, under the entry's own label; empty: nowhere."""
    final_seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Study:
    """Tasks × entries × seeds, and how each run is done."""

    name: str
    tasks: tuple[StudyTask, ...]
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    summary: str = ""
    preset: str | None = None
    steps: int | None = None
    """Steps of every run; the preset's if None."""
    evaluation: Values = field(default_factory=dict)
    overrides: Values = field(default_factory=dict)
    measure: Measure = "average"
    paper_table: str | None = None
    """The paper's table that this study is to be laid beside, by its LaTeX label."""
    search: Search | None = None

    def task(self, name: str) -> StudyTask:
        """The row of that task; the bare name where the study has none (a search's final runs)."""
        return next((task for task in self.tasks if task.name == name), StudyTask(name))

    def tasks_of(self, entry: Entry) -> list[str]:
        """Where an entry runs, in the table's order."""
        return [t.name for t in self.tasks if not entry.tasks or t.name in entry.tasks]


Record = TypeVar("Record")


# Finding


def shipped() -> dict[str, Path]:
    """The studies that come with the package, by name."""
    folder = Path(str(resources.files("coemarl.studies") / "table"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find(name: str) -> Path:
    """The file of a study: a path to one, a folder where one was run, or a shipped one's name."""
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return path
    if (path / "study.toml").is_file():
        return path / "study.toml"
    known = shipped()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        perhaps = f" (perhaps {near[0]})" if near else ""
        raise Refusal(
            f"no study '{name}'{perhaps}: there are {', '.join(known)}, or give the path of a .toml"
        )
    return known[name]


def load(name: str) -> Study:
    """The study of that name or path."""
    path = find(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"cannot read {path}: {error}") from None
    return parse(text, path)


# Reading


def parse(text: str, path: Path) -> Study:
    """The study that a file's text says; Refusal in one sentence, naming the file, if it says
    none. The study is called as the file, or as the text's `name`."""
    try:
        words = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refusal(f"{path} is not TOML: {error}") from None
    try:
        return study_of({"name": path.stem, **words})
    except ValueError as error:
        raise Refusal(f"{path}: {error}") from None


def study_of(words: Mapping[str, Any]) -> Study:
    """The study that a table of plain values says; ValueError if it says none."""
    for name in ("tasks", "entries", "seeds"):
        if not isinstance(words.get(name), list) or not words[name]:
            raise ValueError(f"{name} is missing: a study has a list of {name}")
    study = _record(
        Study,
        words,
        "a study",
        tasks=tuple(map(_task, words["tasks"])),
        entries=tuple(map(_entry, words["entries"])),
        search=_search(words["search"]) if "search" in words else None,
    )
    _check(study)
    return study


def _task(said: Any) -> StudyTask:
    words = {"name": said} if isinstance(said, str) else said
    if not isinstance(words, dict) or "name" not in words:
        raise ValueError(f"task {said!r} has no name: write its name, or {{ name = ..., ... }}")
    return _record(StudyTask, words, "a task")


def _entry(said: Any) -> Entry:
    if not isinstance(said, dict) or "algo" not in said:
        raise ValueError(f"entry {said!r} has no algo: say which algorithm it runs")
    entry = _record(Entry, {"label": said["algo"], **said}, "an entry")
    if not LABEL.fullmatch(entry.label):
        raise ValueError(f"label '{entry.label}' is no name for a folder: use letters, digits, .-_")
    return entry


def _search(said: Any) -> Search:
    if not isinstance(said, dict):
        raise ValueError("search is not a table: write [search]")
    search = _record(Search, said, "a search")
    if bool(search.final_tasks) != bool(search.final_seeds):
        raise ValueError("search.final_tasks and search.final_seeds go together: give both or none")
    return search


def _word(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return type(value) is int and value > 0


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is int and each >= 0 for each in value)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _one_of(choices: Any) -> tuple[Callable[[Any], bool], str]:
    words = get_args(choices)
    return (lambda value: value in words), f"one of {', '.join(words)}"


CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("name", "summary", "preset", "label", "algo", "paper_table", "metric"), (_word, "a word")
    ),
    **dict.fromkeys(("steps", "trials"), (_count, "a whole number above 0")),
    **dict.fromkeys(("seeds", "final_seeds"), (_numbers, "a list of whole numbers")),
    **dict.fromkeys(("tasks", "final_tasks"), (_names, "a list of names")),
    **dict.fromkeys(("evaluation", "overrides"), (_table, "a table of options")),
    "measure": _one_of(Measure),
    "kind": _one_of(SearchKind),
}
"""What the file may say under a name, and how that is called."""


def _record(kind: type[Record], words: Mapping[str, Any], what: str, **made: Any) -> Record:
    """The frozen record that the words say, with some fields made already; ValueError names the
    first word that it does not know, or whose value cannot be."""
    known = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    values = {}
    for name, value in words.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            perhaps = f" (perhaps {near[0]})" if near else ""
            raise ValueError(f"{what} has no '{name}'{perhaps}: it has {', '.join(known)}")
        fits, wanted = CHECKS.get(name, (lambda _: True, ""))
        if name not in made and not fits(value):
            raise ValueError(f"{what}'s {name} is {value!r}: it must be {wanted}")
        values[name] = tuple(value) if isinstance(value, list) else value
    return kind(**(values | made))


def _check(study: Study) -> None:
    """Refuse what makes no study, whatever tasks and algorithms there are."""
    _once("seed", study.seeds)
    _once("task", [task.name for task in study.tasks])
    _once("label", [entry.label for entry in study.entries])
    tasks = [task.name for task in study.tasks]
    for entry in study.entries:
        for name in entry.tasks:
            if name not in tasks:
                raise ValueError(f"entry {entry.label} names task {name}, which the study has not")
        if entry.space is not None and study.search is None:
            raise ValueError(f"entry {entry.label} has a space, but the study no [search]")
    if study.search is not None and not any(entry.space for entry in study.entries):
        raise ValueError("it has a [search], but no entry has a space to search in")


def _once(what: str, names: Sequence[Any]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what} {name} is there twice")
