"""Tasks: the families of cooperative games, and `make_task`, which makes one from its name.

A name is `family:words`, and the words say what the original's id says. What a name cannot say is
an option: `make_task("lbf:10x10-3p-3f", penalty=0.1)`.

A family can be a file of yours as well, or an installed module: `./corridor.py:5`,
`mylab.corridor:5` (docs/add-a-task.md).

A family is one module (or package) with
    Options            a frozen dataclass: every choice and its default, each with its meaning
    parse(words)       the options that a name's words say; ValueError in one sentence if they
                       say nothing, with what would be right
    make(options)      the compiled Task; ValueError likewise
    EXAMPLES           {name: one line on it}, for `coe list tasks`
    POLICIES           (optional) {name: (one line on it, make)}: scripted teams, for
                       `coe eval TASK --policy NAME`; `make(options)` gives
                       `act(key, env_state, seen) -> actions`, for one environment, or a
                       `scripted.Remembering`
and beside it a view module, imported only to draw, with
    frame(options, env_state, step, caption)   one picture, uint8 (height, width, 3); it may also
                       have `actions=None`, the joint action that is taken in that state
A file of yours needs only Options and make; without parse, its name has no words. It may draw
itself, by a `frame` of its own that imports what it needs when it is called.
"""

import dataclasses
import functools
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from coemarl.tasks.task import EnvState, Task, TaskSpec, TimeStep

__all__ = ["FAMILIES", "EnvState", "Task", "TaskSpec", "TimeStep", "make_task", "task_options"]

FAMILIES: dict[str, tuple[str, str]] = {
    # family: (module, view module)
    "battle": ("coemarl.tasks.battle", "coemarl.tasks.battle.view"),
    "game": ("coemarl.tasks.matrix_game", "coemarl.tasks.matrix_game_view"),
    "lbf": ("coemarl.tasks.lbf", "coemarl.tasks.lbf_view"),
    "mpe": ("coemarl.tasks.mpe", "coemarl.tasks.mpe.view"),
}


def split_name(name: str) -> tuple[str, str]:
    """The family and the words of a task's name; ValueError if there is no such family."""
    if name.startswith("Foraging"):  # the original's ids stand as they are
        return "lbf", name
    stem, is_file, words = name.partition(".py")
    if is_file and words[:1] in ("", ":"):
        return f"{stem}.py", words[1:]
    family, _, words = name.partition(":")
    if family not in FAMILIES and not ("." in family and family.replace(".", "").isidentifier()):
        known = ", ".join(sorted(FAMILIES))
        raise ValueError(
            f"no task '{name}': a task is FAMILY:NAME with a family of {known}, or a file of yours"
            " as in ./corridor.py:5"
        )
    return family, words


def family_name(name: str) -> str:
    """The family of a task, by name."""
    return split_name(name)[0]


def family_of(name: str) -> tuple[ModuleType, str]:
    """The family's module and the words of a task's name; ValueError if there is none."""
    family, words = split_name(name)
    if family in FAMILIES:
        return importlib.import_module(FAMILIES[family][0]), words
    return users_module(family), words


def users_module(family: str) -> ModuleType:
    """A family that is not ours: a file, or an installed module."""
    if family.endswith(".py"):
        path = Path(family).expanduser()
        if not path.is_file():
            raise ValueError(f"no file {family}: a task's file is found from the current folder")
        module = loaded(path.resolve())
    else:
        if not has_module(family):
            raise ValueError(
                f"no module {family} is installed; a file is named as in ./corridor.py"
            )
        module = importlib.import_module(family)
    for part in ("Options", "make"):
        if not hasattr(module, part):
            raise ValueError(f"{family} has no {part}: a task's file defines Options and make")
    return module


@functools.cache
def loaded(path: Path) -> ModuleType:
    """The module in a file, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"coemarl_task_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module


def has_module(name: str) -> bool:
    """Whether a module could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor could the package that it would lie in
        return False


def view_of(name: str) -> ModuleType | None:
    """The module whose `frame` draws a task; None if nothing draws it."""
    family = family_name(name)
    if family in FAMILIES:
        place = FAMILIES[family][1]
        return importlib.import_module(place) if has_module(place) else None
    module = users_module(family)
    return module if hasattr(module, "frame") else None


def task_options(name: str, **overrides: Any) -> Any:
    """The options that a name says, with some replaced."""
    module, words = family_of(name)
    if hasattr(module, "parse"):
        options = module.parse(words)
    elif words:
        raise ValueError(
            f"'{name}' says '{words}', but {family_name(name)} has no parse to read it"
        )
    else:
        options = module.Options()
    return dataclasses.replace(options, **overrides)


def make_task(name: str, **overrides: Any) -> Task:
    """The task of that name, with options that a name cannot say given by keyword."""
    module, _ = family_of(name)
    return module.make(task_options(name, **overrides))
