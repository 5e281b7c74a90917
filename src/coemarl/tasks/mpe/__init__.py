"""Multi-agent particle environments, with the original's physics, signs and observations.

`world.py` has the physics, and one module each the games: `spread.py`, `tag.py`, `adversary.py`.
Their docstrings are their specifications. A team plays against a frozen opponent in tag and
adversary: `frozen.py`. The original's ids stand as they are: `mpe:SimpleSpread-v0`.
"""

import re

from coemarl.tasks.mpe import spread, world
from coemarl.tasks.task import Task

Options = spread.SpreadOptions | spread.SparseSpreadOptions

EXAMPLES: dict[str, str] = {
    "mpe:spread": "three agents share out three landmarks",
    "mpe:spread-5": "five agents share out five landmarks",
    "mpe:sparse-spread": "the same with three, paid only while all landmarks are covered (paper)",
}

_GAMES = {"spread": spread.SpreadOptions, "sparse-spread": spread.SparseSpreadOptions}
_IDS = {"SimpleSpread-v0": "spread", "SparseSpread-v0": "sparse-spread"}


def parse(words: str) -> Options:
    """The options that a name says; words are the name after `mpe:`."""
    words = _IDS.get(words, words)
    game, agents = words, None
    if found := re.fullmatch(r"((?:sparse-)?spread)-(\d+)", words):
        game, agents = found[1], int(found[2])
    if game not in _GAMES:
        raise ValueError(f"no particle game '{words}': there are {', '.join(EXAMPLES)}")
    return _GAMES[game]() if agents is None else _GAMES[game](agents=agents)


def make(options: Options) -> Task:
    """The task with these options."""
    return world.make_task(spread.name_of(options), spread.scenario(options), options)
