"""Tasks: the families of cooperative games, and `make_task`, which makes one from its name.

A name is `family:words`, and the words say what the original's id says. What a name cannot say is
an option: `make_task("lbf:10x10-3p-3f", penalty=0.1)`.

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
"""

import dataclasses
import importlib
from types import ModuleType
from typing import Any

from coemarl.tasks.task import EnvState, Task, TaskSpec, TimeStep

__all__ = ["FAMILIES", "EnvState", "Task", "TaskSpec", "TimeStep", "make_task", "task_options"]

FAMILIES: dict[str, tuple[str, str]] = {
    # family: (module, view module)
    "battle": ("coemarl.tasks.battle", "coemarl.tasks.battle.view"),
    "lbf": ("coemarl.tasks.lbf", "coemarl.tasks.lbf_view"),
    "mpe": ("coemarl.tasks.mpe", "coemarl.tasks.mpe.view"),
}


def split_name(name: str) -> tuple[str, str]:
    """The family and the words of a task's name; ValueError if there is no such family."""
    family, _, words = name.partition(":")
    if name.startswith("Foraging"):  # the original's ids stand as they are
        family, words = "lbf", name
    if family not in FAMILIES:
        known = ", ".join(sorted(FAMILIES))
        raise ValueError(f"no task '{name}': a task is FAMILY:NAME with a family of {known}")
    return family, words


def family_name(name: str) -> str:
    """The family of a task, by name."""
    return split_name(name)[0]


def family_of(name: str) -> tuple[ModuleType, str]:
    """The family's module and the words of a task's name; ValueError if there is none."""
    family, words = split_name(name)
    return importlib.import_module(FAMILIES[family][0]), words


def task_options(name: str, **overrides: Any) -> Any:
    """The options that a name says, with some replaced."""
    module, words = family_of(name)
    return dataclasses.replace(module.parse(words), **overrides)


def make_task(name: str, **overrides: Any) -> Task:
    """The task of that name, with options that a name cannot say given by keyword."""
    module, _ = family_of(name)
    return module.make(task_options(name, **overrides))
