"""Which games the study plays, and its rows: `python -m coemarl.game.study --out results/game`.

The paper says neither c, nor how long its games are, nor how agents that learn for themselves
estimate values, nor what they do first. So every learner plays under all of these, and `claims.py`
says which of the paper's claims hold where.

A row is one learner with one set of rules at one p0, seen after so many steps: for each seed the
regret until there, and the share of optimal joint actions in the last tenth of these steps. Rows
are added to `study.jsonl` as games end, and what is there is not played again.
"""

import dataclasses
import itertools
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from coemarl.game.options import GameOptions, LearnerName, Rules
from coemarl.game.payoff import regret
from coemarl.game.run import Outcome, play
from coemarl.runs import origin

P0S = (0.0, 0.4, 0.8)
SCALES = (1.0, 0.3, 0.1, 0.03)
HORIZONS = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
"""After how many steps a game is seen; games are 200,000 or 1,000,000 long."""


@dataclass(frozen=True)
class StudyOptions:
    """Play the games of the study that are not in its rows yet, and write what they say."""

    out: Path
    """The folder of rows and tables."""
    seeds: int = 50
    """Games for each learner, rules and p0."""
    threads: int = 1
    """Games at once."""


@dataclass(frozen=True)
class Setting:
    """One learner under one set of rules."""

    learner: LearnerName
    rules: Rules
    steps: int


def settings() -> Iterator[Setting]:
    """The settings in the order in which they are played: what is most likely meant first."""
    yield from over_scales("first")
    for learner in ("dep-dep", "ind-dep"):  # is it only a matter of time?
        yield Setting(learner, Rules(), 1_000_000)
    yield from over_scales("offset")
    for c in SCALES:
        yield from independent(c, 0.1, "first")


def over_scales(unvisited: Literal["first", "offset"]) -> Iterator[Setting]:
    """All scales of optimism, with means and with a small step size."""
    for c in SCALES:
        yield Setting("dep-dep", Rules(c=c, unvisited=unvisited), 200_000)
        yield from independent(c, "mean", unvisited)
        yield from independent(c, 0.01, unvisited)


def independent(
    c: float, estimate: Literal["mean"] | float, unvisited: Literal["first", "offset"]
) -> Iterator[Setting]:
    """The learners whose agents estimate for themselves."""
    yield Setting("ind-dep", Rules(c, estimate, unvisited), 200_000)
    yield Setting("ind-ind", Rules(c, estimate, unvisited), 200_000)


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells the rows apart that are not seen after the same games."""
    names = ("learner", "p0", "c", "estimate", "unvisited", "played", "seeds")
    return tuple(row[name] for name in names)


def rows_of(setting: Setting, outcome: Outcome) -> Iterator[dict[str, Any]]:
    """One row for each horizon of the game."""
    for horizon in (steps for steps in HORIZONS if steps <= setting.steps):
        hits = hits_at(outcome, horizon)
        late = hits - hits_at(outcome, horizon - horizon // 10)
        yield {
            "learner": setting.learner,
            "p0": outcome.p0,
            **dataclasses.asdict(setting.rules),
            "steps": horizon,
            "played": setting.steps,
            "seeds": len(hits),
            "regret": [round(value, 3) for value in regret(outcome.p0, horizon, hits).tolist()],
            "late_share": [round(value, 5) for value in (late / (horizon // 10)).tolist()],
        }


def hits_at(outcome: Outcome, step: int) -> np.ndarray:
    """Optimal joint actions of each seed until a step where the curves have a point."""
    (point,) = np.flatnonzero(outcome.steps == step)
    return outcome.hits[:, point]


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that are there."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run(options: StudyOptions) -> None:
    """Play what is not there yet."""
    path = options.out / "study.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    done = {key_of(row) for row in read(path)}
    lock, commit = Lock(), origin.commit()

    def one(task: tuple[Setting, float]) -> None:
        setting, p0 = task
        said = {**dataclasses.asdict(setting.rules), "played": setting.steps}
        wanted = {"learner": setting.learner, "p0": p0, "seeds": options.seeds, **said}
        if key_of(wanted) in done:
            return
        games = GameOptions(steps=setting.steps, seeds=options.seeds, rules=setting.rules)
        rows = list(rows_of(setting, play(setting.learner, games, p0)))
        with lock, path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps({**row, "commit": commit}) + "\n" for row in rows))
        print(*(f"{name}={value}" for name, value in wanted.items()), file=sys.stderr, flush=True)

    with ThreadPoolExecutor(options.threads) as pool:
        list(pool.map(one, itertools.product(settings(), P0S)))


if __name__ == "__main__":
    import tyro

    run(tyro.cli(StudyOptions))
