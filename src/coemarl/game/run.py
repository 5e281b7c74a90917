"""Many games played at once: seeds in one compiled program, learners and payoffs p0 in threads.

A seed fixes the optimal joint action and every uniform draw: those that decide ties and those that
decide payoffs. All learners and all p0 of a seed share them, so that they differ by what they do
and not by luck.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.game import payoff
from coemarl.game.learner import Learner, LearnerState
from coemarl.game.learners import LEARNERS
from coemarl.game.options import GameOptions, Rules
from coemarl.game.payoff import Game

BLOCK = 100
"""Steps whose draws are made at once, and after which a point of the curves is taken."""
CHUNK = 50
"""Blocks in one call of the compiled program."""


class Play(NamedTuple):
    """One game under way."""

    game: Game
    key: PRNGKeyArray
    learner: LearnerState
    hits: Int[Array, ""]
    """Steps in which the optimal joint action was played."""
    late: Int[Array, ""]
    """The same in the last tenth of the game."""


class Step(NamedTuple):
    """What happened in one step."""

    actions: Int[Array, " A"]
    paid: Bool[Array, ""]


def begin(learner: Learner, agents: int, actions: int, p0: Array, seed: Array) -> Play:
    """The game of a seed before its first step."""
    game_key, key = jax.random.split(jax.random.key(seed))
    game = payoff.make_game(game_key, agents, actions, p0)
    return Play(game, key, learner.init(), jnp.int32(0), jnp.int32(0))


def draws_of(key: PRNGKeyArray, block: Int[Array, ""], agents: int) -> Float[Array, "T A+1"]:
    """The uniform draws of a block of steps: one for each agent's ties, and the payoff's."""
    return jax.random.uniform(jax.random.fold_in(key, block), (BLOCK, agents + 1))


def step(
    learner: Learner, game: Game, state: LearnerState, draws: Float[Array, " A+1"]
) -> tuple[LearnerState, Step]:
    """One joint action, its payoff, and what the learner makes of it."""
    actions, trace = learner.choose(state, draws[:-1])
    paid = payoff.pays(game, actions, draws[-1])
    return learner.observe(state, trace, paid), Step(actions, paid)


def play_block(
    learner: Learner, agents: int, steps: Array, play: Play, block: Array
) -> tuple[Play, Int[Array, ""]]:
    """A block of steps; those from `steps` on are played but not counted."""

    def one(play: Play, at: tuple[Array, Array]) -> tuple[Play, None]:
        t, draws = at
        state, done = step(learner, play.game, play.learner, draws)
        hit = (payoff.is_optimal(play.game, done.actions) & (t < steps)).astype(jnp.int32)
        late = jnp.where(t >= steps - tenth(steps), hit, 0)
        return play._replace(learner=state, hits=play.hits + hit, late=play.late + late), None

    times = block * BLOCK + jnp.arange(BLOCK, dtype=jnp.int32)
    play, _ = lax.scan(one, play, (times, draws_of(play.key, block, agents)))
    return play, play.hits


def tenth(steps: Any) -> Any:
    """Steps in the last tenth of a game: at least one."""
    return (steps + 9) // 10


class Tuning(NamedTuple):
    """Numbers among the rules: one program serves all of them."""

    c: Float[Array, ""]
    step_size: Float[Array, ""]


def tuning_of(rules: Rules) -> Tuning:
    """The numbers that the rules say; a step size that nobody asks for is 1."""
    size = 1.0 if isinstance(rules.estimate, str) else rules.estimate
    return Tuning(jnp.float32(rules.c), jnp.float32(size))


def kind_of(rules: Rules) -> Rules:
    """The rules without their numbers."""
    return replace(rules, c=0.0, estimate="mean" if rules.estimate == "mean" else 1.0)


def learner_of(name: str, kind: Rules, tuning: Tuning, agents: int, actions: int) -> Learner:
    """The learner with these numbers, which may be traced."""
    estimate: Any = kind.estimate if kind.estimate == "mean" else tuning.step_size
    c: Any = tuning.c
    return LEARNERS[name](replace(kind, c=c, estimate=estimate), agents, actions)


@lru_cache(maxsize=32)
def compiled(
    name: str, kind: Rules, agents: int, actions: int
) -> tuple[Callable[..., Play], Callable[..., tuple[Play, Int[Array, "K S"]]]]:
    """`start(tuning, p0, seeds)` and `advance(tuning, plays, first_block, steps)`, which plays one
    chunk."""

    def start(tuning: Tuning, p0: Array, seeds: Array) -> Play:
        learner = learner_of(name, kind, tuning, agents, actions)
        return jax.vmap(partial(begin, learner, agents, actions), (None, 0))(p0, seeds)

    def advance(
        tuning: Tuning, plays: Play, first: Array, steps: Array
    ) -> tuple[Play, Int[Array, "K S"]]:
        learner = learner_of(name, kind, tuning, agents, actions)
        block = jax.vmap(partial(play_block, learner, agents, steps), (0, None))
        return lax.scan(block, plays, first + jnp.arange(CHUNK, dtype=jnp.int32))

    return jax.jit(start), jax.jit(advance, donate_argnums=1)


@partial(jax.jit, static_argnums=(2, 3, 4))
def dealt(
    p0: Array, seed: Array, agents: int, actions: int, blocks: int
) -> tuple[Game, Float[Array, "K T A+1"]]:
    """The game of a seed, and all its draws."""
    game_key, key = jax.random.split(jax.random.key(seed))
    draws = jax.vmap(partial(draws_of, key, agents=agents))(jnp.arange(blocks, dtype=jnp.int32))
    return payoff.make_game(game_key, agents, actions, p0), draws


@lru_cache(maxsize=32)
def recorder(name: str, kind: Rules, agents: int, actions: int) -> Callable[..., Step]:
    """`steps(tuning, game, draws)`: all steps of one game, in blocks as the draws are."""

    def steps(tuning: Tuning, game: Game, draws: Float[Array, "K T A+1"]) -> Step:
        learner = learner_of(name, kind, tuning, agents, actions)
        one = partial(step, learner, game)
        return lax.scan(partial(lax.scan, one), learner.init(), draws)[1]

    return jax.jit(steps)


def record(name: str, options: GameOptions, p0: float, seed: int) -> tuple[Game, Step]:
    """The game of one seed and all that happened in it; leaves of `Step` have shape (T, ...)."""
    sizes = (options.agents, options.actions)
    blocks = -(-options.steps // BLOCK)
    game, draws = dealt(jnp.float32(p0), jnp.int32(seed), *sizes, blocks)
    done = recorder(name, kind_of(options.rules), *sizes)(tuning_of(options.rules), game, draws)
    return game, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: options.steps], done)


@dataclass(frozen=True)
class Outcome:
    """What one learner did at one p0."""

    learner: str
    p0: float
    steps: np.ndarray
    """Steps after which the hits were counted (K,): the last entry is the whole game."""
    hits: np.ndarray
    """Optimal joint actions so far (S, K)."""
    late_share: np.ndarray
    """Share of optimal joint actions in the last tenth (S,)."""

    @property
    def regret(self) -> np.ndarray:
        """Expected cumulative regret (S, K)."""
        return payoff.regret(self.p0, self.steps, self.hits)

    @property
    def final_regret(self) -> np.ndarray:
        """Expected cumulative regret of the whole game (S,)."""
        return self.regret[:, -1]


def check_memory(options: GameOptions, free: int | None, threads: int = 1) -> None:
    """ValueError if so many games at once do not fit into the bytes that are free."""
    sizes = [
        LEARNERS[name](options.rules, options.agents, options.actions).bytes
        for name in options.learners
    ]
    needed = 2 * threads * options.seeds * max(sizes)  # a state, and the one that comes after it
    if free is not None and needed > free:
        raise ValueError(
            f"{options.seeds} games at once need {needed / 2**30:.1f} GB and {free / 2**30:.1f} GB"
            " are free: take fewer seeds, agents or actions"
        )


Report = Callable[[str, float, int], None]
"""`report(learner, p0, steps)`: so many steps of each seed's game are over."""


def play(
    name: str, options: GameOptions, p0: float, report: Report = lambda name, p0, steps: None
) -> Outcome:
    """All seeds of one learner at one p0."""
    start, advance = compiled(name, kind_of(options.rules), options.agents, options.actions)
    tuning = tuning_of(options.rules)
    plays = start(tuning, jnp.float32(p0), jnp.arange(options.seeds, dtype=jnp.int32))
    blocks = -(-options.steps // BLOCK)
    hits = []
    for first in range(0, blocks, CHUNK):
        plays, chunk = advance(tuning, plays, jnp.int32(first), jnp.int32(options.steps))
        hits.append(np.asarray(chunk))
        report(name, p0, min((first + CHUNK) * BLOCK, options.steps))
    return Outcome(
        learner=name,
        p0=p0,
        steps=np.minimum(np.arange(1, blocks + 1) * BLOCK, options.steps),
        hits=np.concatenate(hits)[:blocks].T,
        late_share=np.asarray(plays.late) / tenth(options.steps),
    )


def play_all(
    options: GameOptions, threads: int = 1, report: Report = lambda name, p0, steps: None
) -> list[Outcome]:
    """Every learner at every p0, so many at once, in the order of the options."""
    tasks = [(name, p0) for name in options.learners for p0 in options.p0]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda task: play(task[0], options, task[1], report), tasks))
