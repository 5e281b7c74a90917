"""What a search tries for an entry: a space of points, each some options with their values.

space = "paper"                                    a preset's own space of the algorithm

[entries.space]                                    a grid: every combination
"learner.learning_rate" = [1e-4, 3e-4]
"explorer.c_act" = [0.0, 0.01]

space = [{ ... }, { ... }]                         several grids: all points of each
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from coemarl.studies.study import Entry, Values

Grid = Mapping[str, tuple[Any, ...]]
"""Dotted path of an option: the values to try."""


@dataclass(frozen=True)
class Space:
    """Some grids, less the points that make no sense."""

    grids: tuple[Grid, ...]
    allowed: Callable[[Values], bool] = lambda point: True

    def points(self) -> Iterator[Values]:
        """Every point once, grid by grid, the last option changing first."""
        seen: list[Values] = []
        for grid in self.grids:
            for choice in itertools.product(*grid.values()):
                point = dict(zip(grid, choice, strict=True))
                if self.allowed(point) and point not in seen:
                    seen.append(point)
                    yield point


def space_of(entry: Entry) -> Space:
    """The space of an entry; ValueError in a sentence if what it says is none."""
    if isinstance(entry.space, str):
        return preset_space(entry.space, entry.algo)
    tables = entry.space if isinstance(entry.space, list | tuple) else [entry.space]
    space = Space(tuple(_grid(table, entry.label) for table in tables))
    if next(space.points(), None) is None:
        raise ValueError(f"the space of {entry.label} has no point")
    return space


def _grid(table: Any, label: str) -> Grid:
    if not isinstance(table, dict) or not table:
        raise ValueError(f"the space of {label} is {table!r}: it must be a table of lists")
    for path, values in table.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"the space of {label} has {path} = {values!r}: it must be a list")
    return {path: tuple(values) for path, values in table.items()}


def preset_space(name: str, algo: str) -> Space:
    """The space that a preset's search had; ValueError if it has none."""
    from coemarl.presets import paper

    if name != "paper":
        raise ValueError(f"no space '{name}': there is paper, or write a table of lists")
    table = paper.table_of(algo)
    return Space((table.swept,), table.allowed)
