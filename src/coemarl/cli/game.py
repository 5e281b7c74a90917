"""`coe game`: play the didactic game with its learners, or show its tree."""

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from coemarl.cli.words import parse, refusing, value_of
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
    """A folder for table, rows, summary and curves, or for pictures. None: only pictures are
    written, here."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the summary, with every seed's values, as JSON."""
    show: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Draw the tree of the first learner's game at the first p0 instead, and the film of its
    growth: tree.png and tree.gif. Small games only; without other options 3 agents, 3 actions."""
    threads: int | None = None
    """Games played at once. None: as many as there are cores."""


def run(words: list[str]) -> int:
    """Play or show as the words say."""
    check_estimate(value_of(words, "--estimate"))
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


def check_estimate(word: str | None) -> None:
    """Refusal if the word is neither of the two kinds of estimates."""
    try:
        float(0 if word is None or word == "mean" else word)
    except ValueError:
        raise Refusal(
            f"--estimate is {word}: choose mean, or a step size above 0 and at most 1"
        ) from None


def play(options: GameCommand) -> int:
    """Play the games; print and write what came of them."""
    from coemarl.game import results, run
    from coemarl.runs import machine, origin

    threads = options.threads or machine.cores()
    with refusing():
        run.check_memory(options.game, machine.memory(), threads)
    if options.out is not None:
        need("matplotlib")
        check_folder(options.out)
    origin.commit()  # the code as it is now: it may be changed while the games go on
    began = time.perf_counter()
    outcomes = run.play_all(options.game, threads, progress(options.game))
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


def show(options: GameCommand) -> int:
    """Draw the tree at the end of a game, and the film of its growth."""
    from coemarl.game import view

    need("matplotlib", "imageio", "PIL")
    with refusing():
        view.check(options.game)
    out = options.out or Path()
    check_folder(out)
    files = view.save(options.game, out)
    print("\n".join(map(str, files)))
    return 0


def games(options: GameOptions) -> int:
    """How many games the options ask for."""
    return options.seeds * len(options.learners) * len(options.p0)


def progress(options: GameOptions) -> Callable[[str, float, int], None]:
    """What tells a person in a terminal how far the games are; nothing elsewhere."""
    done: dict[tuple[str, float], int] = {}
    lock = threading.Lock()
    whole = len(options.learners) * len(options.p0) * options.steps

    def report(learner: str, p0: float, steps: int) -> None:
        if not sys.stderr.isatty():
            return
        with lock:
            done[learner, p0] = steps
            share = sum(done.values()) / whole
            ending = "\n" if share == 1 else ""
            print(f"\r{share:4.0%}  {learner}, p0 = {p0:g}    ", end=ending, file=sys.stderr)

    return report


def note(text: str) -> None:
    """A line beside the results."""
    print(text, file=sys.stderr)


def need(*modules: str) -> None:
    """Refusal if what draws is not installed: before the games, not after."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Refusal(f"pictures need {missing[0]}: pip install 'coemarl[plots]' brings it")


def check_folder(path: Path) -> None:
    """Make the folder; Refusal if that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"cannot write to {path} ({error.strerror}): choose another --out") from None
