"""`coe game`: play the didactic game with its learners, or show its tree."""

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from coemarl.cli.words import parse, refusing
from coemarl.game.options import GameOptions
from coemarl.refusal import Refusal

SHOWN = GameOptions(agents=3, actions=3, p0=(0.4,), learners=("dep-dep",), steps=400, seeds=1)
"""What `--show` shows if nothing else is said: a tree that fits into a picture."""


@dataclass(frozen=True)
class GameCommand:
    """The didactic game of the paper (section 5.4): a team repeats one joint action game in which
    one joint action of actions ** agents is good. Prints the final expected regret and the share
    of optimal joint actions in the last tenth, over seeds."""

    game: Annotated[GameOptions, tyro.conf.arg(name="")] = field(default_factory=GameOptions)
    """The game."""
    out: Path | None = None
    """A folder for table, rows, summary and curves. With --show: for the pictures; None: here."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the summary, with every seed's values, as JSON."""
    show: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Draw the tree of one learner's game instead, and how it grows: small games only."""
    threads: int | None = None
    """Games played at once. None: as many as there are cores."""


def run(words: list[str]) -> int:
    """Play or show as the words say."""
    with refusing():
        options = parse(
            tyro.conf.OmitArgPrefixes[GameCommand],
            words,
            "game",
            GameCommand(SHOWN) if "--show" in words else GameCommand(),
        )
    if options.threads is not None and options.threads < 1:
        raise Refusal(f"--threads is {options.threads}: it must be at least 1")
    return show(options) if options.show else play(options)


def play(options: GameCommand) -> int:
    """Play the games; print and write what came of them."""
    from coemarl.game import results, run
    from coemarl.runs import machine

    with refusing():
        run.check_memory(options.game, machine.memory())
    if options.out is not None:
        need_matplotlib()
        check_folder(options.out)
    began = time.perf_counter()
    outcomes = run.play_all(
        options.game, options.threads or machine.cores(), progress(options.game)
    )
    seconds = time.perf_counter() - began
    if options.json:
        print(json.dumps({**results.summary(outcomes, options.game), "seconds": seconds}))
    else:
        print(results.table(outcomes))
    note(f"{games(options.game):,} games of {options.game.steps:,} steps in {seconds:.1f} s")
    if options.out is not None:
        files = results.write(options.out, outcomes, options.game)
        note(f"wrote {', '.join(file.name for file in files)} in {options.out}")
    return 0
