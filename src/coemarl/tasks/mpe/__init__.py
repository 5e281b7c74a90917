"""Multi-agent particle environments, with the original's physics, signs and observations.

`world.py` has the physics, and one module each the games: `spread.py`, `tag.py`, `adversary.py`.
Their docstrings are their specifications. A team plays against a frozen opponent in tag and
adversary: `frozen.py`. The original's ids stand as they are: `mpe:SimpleSpread-v0`.
"""

import re
from types import ModuleType

from coemarl.tasks.mpe import adversary, spread, tag, world
from coemarl.tasks.mpe.scripted import POLICIES
from coemarl.tasks.task import Task

__all__ = ["EXAMPLES", "POLICIES", "Options", "make", "module_of", "parse"]

Options = (
    spread.SpreadOptions
    | spread.SparseSpreadOptions
    | tag.TagOptions
    | tag.SparseTagOptions
    | adversary.AdversaryOptions
)

EXAMPLES: dict[str, str] = {
    "mpe:spread": "three agents share out three landmarks",
    "mpe:spread-5": "five agents share out five landmarks",
    "mpe:sparse-spread": "the same with three, paid only while all landmarks are covered (paper)",
    "mpe:tag": "three predators hunt a faster prey among obstacles",
    "mpe:sparse-tag": "the same, paid only while two of them or more are at the prey (paper)",
    "mpe:adversary": "two agents hold a landmark without giving it away to an adversary (paper)",
}

_GAMES = {
    "spread": spread.SpreadOptions,
    "sparse-spread": spread.SparseSpreadOptions,
    "tag": tag.TagOptions,
    "sparse-tag": tag.SparseTagOptions,
    "adversary": adversary.AdversaryOptions,
}
_IDS = {
    "SimpleSpread-v0": "spread",
    "SparseSpread-v0": "sparse-spread",
    "SimpleTag-v0": "tag",
    "SparseTag-v0": "sparse-tag",
    "SimpleAdversary-v0": "adversary",
}


def parse(words: str) -> Options:
    """The options that a name says; words are the name after `mpe:`."""
    words = _IDS.get(words, words)
    game, agents = words, None
    if found := re.fullmatch(r"((?:sparse-)?spread)-(\d+)", words):
        game, agents = found[1], int(found[2])
    if game not in _GAMES:
        raise ValueError(f"no particle game '{words}': there are {', '.join(EXAMPLES)}")
    return _GAMES[game]() if agents is None else _GAMES[game](agents=agents)


def module_of(options: Options) -> ModuleType:
    """The module of the game with these options: it has `name_of`, `scenario`, and `opponent` if
    somebody plays against the team."""
    if isinstance(options, tag.TagOptions):
        return tag
    return adversary if isinstance(options, adversary.AdversaryOptions) else spread


def make(options: Options) -> Task:
    """The task with these options."""
    game = module_of(options)
    scenario = game.scenario(options)  # refuses options first
    opponent = game.opponent(options) if hasattr(game, "opponent") else None
    return world.make_task(game.name_of(options), scenario, options, opponent)
