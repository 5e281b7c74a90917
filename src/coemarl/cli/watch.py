"""`coe watch RUN`: a film of what a run has learned, as a GIF."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from coemarl.cli.evaluate import teams
from coemarl.cli.words import parse
from coemarl.refusal import Refusal


@dataclass(frozen=True)
class WatchOptions:
    """Make a GIF of episodes in which a team acts greedily, each agent alone, without bonus."""

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of a run; with --policy the name of a task."""
    episodes: int = 1
    """Episodes to show, one after the other."""
    seed: int = 0
    """Seed of the first episode; the others follow it."""
    out: Path | None = None
    """The file to write. None: episodes.gif in the run's folder; policies: in this folder."""
    fps: float = 4.0
    """Pictures, that is steps, in a second."""
    checkpoint: int | None = None
    """The step of the checkpoint to take. None: the newest."""
    policy: str | None = None
    """Show a scripted team of the task instead: random, or one that its family has."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print what was made as JSON."""


def run(words: list[str]) -> int:
    """Make a film as the words say."""
    options = parse(WatchOptions, words, "watch")
    if options.episodes < 1:
        raise Refusal(f"--episodes is {options.episodes}: it must be above 0")
    if not 0 < options.fps <= 50:
        raise Refusal(f"--fps is {options.fps:g}: it must be above 0 and at most 50")
    if options.out is not None and options.out.suffix != ".gif":
        raise Refusal(f"--out {options.out} is no GIF: its name must end in .gif")
    if not 0 <= options.seed < 2**32 - options.episodes:
        raise Refusal(f"--seed is {options.seed}: it must be from 0 to {2**32 - 1}")
    found = teams(options.run, options.policy, options.checkpoint)
    if len(found) > 1:
        raise Refusal(
            f"{options.run} holds {len(found)} runs: name one of them, such as"
            f" {found[0].facts['folder']}"
        )
    from coemarl.runs import film

    team = found[0]
    place = Path(team.facts.get("folder", "."))
    path = options.out or place / "episodes.gif"
    seeds = [options.seed + i for i in range(options.episodes)]
    pictures = film.write(path, team, seeds, options.fps)
    if options.json:
        made = {"file": str(path), "episodes": options.episodes, "pictures": pictures}
        print(json.dumps({**team.facts, **made}))
    else:
        print(f"{team.name}: {pictures} pictures", file=sys.stderr)
        print(path)
    return 0
