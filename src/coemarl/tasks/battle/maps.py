"""Maps: who fights whom, where, and how long. Each is one small table in a TOML file.

    about = "three stalkers against five zealots"
    episode_limit = 250
    terrain = "open"               # a name of terrain.TERRAINS, or 32 lines of '.' and '#'
    order = [9, 16]                # where the enemies attack: a point, "allies" (the nearest one),
                                   # "between" (a random point between the allies), or "none"
    [[groups]]
    side = "ally"                  # or "enemy"
    at = [9, 16]                   # the first unit's place; the others stand around it
    units = { stalker = 3 }        # kinds of units.py, and how many

Optional are `terrain_smaclite` and `order_smaclite`, for the rules `smaclite` alone, and
`enemy_kinds`, the order in which the enemy's kinds are numbered where it is not the alphabet's.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from coemarl.tasks.battle import terrain
from coemarl.tasks.battle.units import LIBERTY

Point = tuple[float, float]
Order = Point | Literal["allies", "between", "none"]

MOST_UNITS = 128


@dataclass(frozen=True)
class Group:
    """Units that start together."""

    ally: bool
    at: Point
    units: tuple[tuple[str, int], ...]
    """(kind, how many), in order."""


@dataclass(frozen=True)
class BattleMap:
    """A map as it stands in its file."""

    name: str
    about: str
    episode_limit: int
    terrain: str | tuple[str, ...]
    terrain_smaclite: str | tuple[str, ...]
    order: Order
    order_smaclite: Order
    groups: tuple[Group, ...]
    enemy_kinds: tuple[str, ...] | None

    def count(self, ally: bool) -> int:
        """How many units a side has."""
        return sum(n for group in self.groups if group.ally == ally for _, n in group.units)


def _folder():
    return resources.files("coemarl.tasks.battle") / "maps"


def names() -> list[str]:
    """The maps that come with the package."""
    return sorted(
        (file.name.removesuffix(".toml") for file in _folder().iterdir() if file.suffix == ".toml"),  # type: ignore[attr-defined]
        key=str.lower,
    )


def load(name: str) -> BattleMap:
    """A map by its name, or from the file of that name; ValueError in one sentence."""
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ValueError(f"no map file {name}")
        text = path.read_bytes()
    else:
        known = names()
        if name not in known:
            raise ValueError(
                f"no battle map '{name}': there are {', '.join(known)}, or a file such as "
                "./my_map.toml"
            )
        text = (_folder() / f"{name}.toml").read_bytes()
    try:
        table = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"map {name} is not TOML: {error}") from None
    try:
        return read(name, table)
    except ValueError as error:
        raise ValueError(f"map {name}: {error}") from None


_FIELDS = {
    "about": False,
    "episode_limit": True,
    "terrain": True,
    "terrain_smaclite": False,
    "order": True,
    "order_smaclite": False,
    "groups": True,
    "enemy_kinds": False,
}
"""What a file may hold, and whether it must."""


def read(name: str, table: Mapping[str, Any]) -> BattleMap:
    """The map that a table says; ValueError in one sentence if it says none."""
    for field in table:
        if field not in _FIELDS:
            raise ValueError(f"no field '{field}': there are {', '.join(_FIELDS)}")
    for field, needed in _FIELDS.items():
        if needed and field not in table:
            raise ValueError(f"it has no '{field}'")
    limit = table["episode_limit"]
    if not _is_whole(limit) or limit < 1:
        raise ValueError(f"episode_limit is {limit!r}: it is a number of steps, at least 1")
    if not isinstance(table["groups"], list) or not table["groups"]:
        raise ValueError("it has no groups of units: [[groups]] begins one")
    ground = _terrain(table["terrain"])
    made = BattleMap(
        name=name,
        about=str(table.get("about", "")),
        episode_limit=limit,
        terrain=ground,
        terrain_smaclite=_terrain(table.get("terrain_smaclite", ground)),
        order=_order(table["order"]),
        order_smaclite=_order(table.get("order_smaclite", table["order"])),
        groups=tuple(_group(group) for group in table["groups"]),
        enemy_kinds=None,
    )
    for ally, side in ((True, "ally"), (False, "enemy")):
        if not 1 <= made.count(ally) <= MOST_UNITS:
            raise ValueError(f"it has {made.count(ally)} units of side '{side}': 1 to {MOST_UNITS}")
    _check_places(made)
    return _with_enemy_kinds(made, table.get("enemy_kinds"))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, int | float) and 0 <= part <= terrain.SIZE for part in value)
    )


def _terrain(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, list):
        value = tuple(value)
    if not isinstance(value, str | tuple):
        raise ValueError("a terrain is a name, or 32 lines of 32 signs '.' (open) and '#' (wall)")
    terrain.open_cells(value)
    return value


def _order(value: Any) -> Order:
    if _is_point(value):
        return (float(value[0]), float(value[1]))
    if value in ("allies", "between", "none"):
        return value
    raise ValueError(
        f"order is {value!r}: it is a point such as [9, 16], 'allies', 'between' or 'none'"
    )


def _group(table: Any) -> Group:
    if not isinstance(table, Mapping) or set(table) != {"side", "at", "units"}:
        raise ValueError("a group has side, at and units, no more and no less")
    if table["side"] not in ("ally", "enemy"):
        raise ValueError(f"a group's side is {table['side']!r}: it is 'ally' or 'enemy'")
    if not _is_point(table["at"]):
        raise ValueError(f"a group stands at {table['at']!r}: a point such as [9, 16], 0 to 32")
    if not isinstance(table["units"], Mapping) or not table["units"]:
        raise ValueError("a group's units are a table such as { marine = 3 }")
    for kind, count in table["units"].items():
        if kind not in LIBERTY:
            raise ValueError(f"no kind of unit '{kind}': there are {', '.join(sorted(LIBERTY))}")
        if not _is_whole(count) or count < 1:
            raise ValueError(f"{count!r} {kind}s in a group: at least 1")
    at = (float(table["at"][0]), float(table["at"][1]))
    return Group(table["side"] == "ally", at, tuple(table["units"].items()))


def _check_places(made: BattleMap) -> None:
    """Refuse a group that begins in a wall."""
    for cells in (terrain.open_cells(made.terrain), terrain.open_cells(made.terrain_smaclite)):
        for group in made.groups:
            x, y = (min(int(part), terrain.SIZE - 1) for part in group.at)
            if not cells[x, y]:
                raise ValueError(f"a group stands at {list(group.at)}, which is in a wall")


def _with_enemy_kinds(made: BattleMap, kinds: Any) -> BattleMap:
    if kinds is None:
        return made
    have = {kind for group in made.groups if not group.ally for kind, _ in group.units}
    if not isinstance(kinds, list) or set(kinds) != have or len(kinds) != len(have):
        raise ValueError(f"enemy_kinds is {kinds!r}: it names each of {sorted(have)} once")
    return dataclasses.replace(made, enemy_kinds=tuple(kinds))
