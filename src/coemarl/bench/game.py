"""`coe bench game`: joint actions a second in the didactic game, compiled and in plain Python.

Both sides play the same game with the same learners and go on where their last call stopped. The
compiled one plays all seeds at once on one core, its draws included; the plain loop plays one seed
with draws that were made before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coemarl.bench import measure as measuring
from coemarl.bench.options import BenchOptions
from coemarl.bench.report import table, times, where
from coemarl.game import plain, run
from coemarl.game.options import GameOptions
from coemarl.runs.progress import quantity

PLAIN_STEPS = 20
"""Joint actions of one call of the plain loop."""


@dataclass(frozen=True)
class Options(BenchOptions):
    """Joint actions a second on one core, of each learner, beside a plain Python loop."""

    game: GameOptions = field(default_factory=GameOptions)
    """The game; the first p0 is played, and its length is that of the estimate at the end."""


class Compiled:
    """All seeds of one learner; each call plays one chunk more."""

    def __init__(self, name: str, game: GameOptions) -> None:
        kind = run.kind_of(game.rules)
        start, self.advance = run.compiled(name, kind, game.agents, game.actions)
        self.tuning = run.tuning_of(game.rules)
        seeds = jnp.arange(game.seeds, dtype=jnp.int32)
        self.plays = start(self.tuning, jnp.float32(game.p0[0]), seeds)
        self.block = 0
        self.work = run.CHUNK * run.BLOCK * game.seeds

    def __call__(self) -> Any:
        at = jnp.int32(self.block), jnp.int32(0)
        self.plays, hits = self.advance(self.tuning, self.plays, *at)
        self.block += run.CHUNK
        return hits


class Plain:
    """One seed of one learner in plain Python; each call plays some steps more."""

    def __init__(self, name: str, game: GameOptions) -> None:
        self.team = plain.PLAIN[name](game.rules, game.agents, game.actions)
        self.optimal, self.p0 = [0] * game.agents, game.p0[0]
        self.draws = draws(game.agents)
        self.work = PLAIN_STEPS

    def __call__(self) -> Any:
        plain.play(self.team, self.optimal, self.p0, next(self.draws))


def draws(agents: int) -> Iterator[list[list[float]]]:
    """Draws for one call after another; a few, again and again."""
    key, made = jax.random.key(0), []
    for block in range(50):
        made.append(np.asarray(run.draws_of(key, jnp.int32(block), agents))[:PLAIN_STEPS].tolist())
    while True:
        yield from made


def measure(options: Options) -> dict[str, Any]:
    """Steps a second of each learner, both ways, and what the whole set of games would take."""
    game = options.game
    cases: dict[str, Any] = {}
    for name in game.learners:
        cases[name] = Compiled(name, game)
        cases[f"plain {name}"] = Plain(name, game)
    taken = measuring.interleaved(cases, options.repetitions, options.seconds)
    rows = [
        {
            "learner": name,
            "seconds_per_step": taken[name].record(cases[name].work),
            "plain_seconds_per_step": taken[f"plain {name}"].record(PLAIN_STEPS),
            "ratio": measuring.ratio(taken[f"plain {name}"], taken[name])
            * (cases[name].work / PLAIN_STEPS),
        }
        for name in game.learners
    ]
    games = game.seeds * len(game.p0) * game.steps
    whole = {
        kind: games * sum(row[kind]["cpu_median"] for row in rows)
        for kind in ("seconds_per_step", "plain_seconds_per_step")
    }
    return {
        "game": {name: getattr(game, name) for name in ("agents", "actions", "seeds", "steps")},
        "p0": list(game.p0),
        "learners": rows,
        "whole": {
            "core_seconds": whole["seconds_per_step"],
            "plain_core_seconds": whole["plain_seconds_per_step"],
        },
    }


def render(record: dict[str, Any]) -> str:
    """A line for each learner, and one for all games."""
    heads = ("learner", "steps/s", "us/step", "plain steps/s", "us/step", "ratio")
    lines = [
        (
            row["learner"],
            *speed(row["seconds_per_step"]),
            *speed(row["plain_seconds_per_step"]),
            times(row["ratio"]),
        )
        for row in record["learners"]
    ]
    game, whole = record["game"], record["whole"]
    ours, theirs = whole["core_seconds"], whole["plain_core_seconds"]
    return "\n".join(
        [
            table(heads, lines),
            "",
            f"{game['agents']} agents, {game['actions']} actions, {game['seeds']} seeds at once."
            f" All of it, for {len(record['p0'])} p0 and {game['steps']:,} steps:",
            f"{ours:.0f} s of one core, {theirs:,.0f} s in plain Python ({times(theirs / ours)}).",
            where(record["machine"]),
        ]
    )


def speed(seconds: dict[str, float]) -> tuple[str, str]:
    """Steps a second, and microseconds a step."""
    return quantity(1 / seconds["cpu_median"]), f"{1e6 * seconds['cpu_median']:.3g}"
