"""StarCraft micromanagement without StarCraft, compiled: `battle:3s_vs_5z`.

A team of units, one agent each, fights enemies that the game leads. The contract is that of the
original, SMAC, to the letter: `contract.py` specifies actions, observations, state, reward and
ends. The rules are those of the game that the original's maps use as far as they are known
(`liberty.py`, the default) or SMAClite's (`smaclite.py`). Maps are data: `maps/`, or a file of
one's own, `battle:./my_map.toml`; `maps.py` says what stands in it.
"""

from typing import Any

from coemarl.tasks.battle import maps
from coemarl.tasks.battle.options import Options, check, name_of, parse
from coemarl.tasks.task import Task

__all__ = ["EXAMPLES", "POLICIES", "Options", "check", "make", "name_of", "parse"]


def make(options: Options) -> Task:
    """The task with these options."""
    from coemarl.tasks.battle import task

    return task.make(options)


EXAMPLES: dict[str, str] = {f"battle:{name}": maps.load(name).about for name in maps.names()}


def _policy(name: str):
    def made(options: Options) -> Any:
        from coemarl.tasks.battle import policies, task

        return policies.make_policy(name, task.fight_of(options))

    return made


POLICIES: dict[str, tuple[str, Any]] = {
    name: (about, _policy(name))
    for name, about in {
        "nearest": "attack the nearest enemy",
        "focus": "attack the weakest enemy",
        "kite": "shoot when ready and safe, else go where the nearest enemy is farthest",
        "swap": "who is weak leaves the fight to the others",
        "kite2": "shoot when ready and safe, else away from all enemies and the walls",
        "patient": "rest twice until shields are full, then fight to the end",
    }.items()
}
