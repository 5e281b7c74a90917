"""The didactic game (paper, section 5.4) as a task: one joint action of actions ** agents is good.

An episode is one joint action. The team is paid 1 or 0: 1 with probability 0.9 if it plays the one
optimal joint action, which `seed` draws once and for all, else with probability p0. There is
nothing to see: every agent observes the number 1, and so does the state.

Names: `game:8x3` is 8 agents with 3 actions and p0 = 0, `game:8x3-0.4` has p0 = 0.4.
`coe game` plays the same game with its own learners, which need no network.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from coemarl.game.options import BEST_PAYOFF, GameOptions
from coemarl.game.payoff import Game, make_game, pays
from coemarl.tasks.task import Task, TaskSpec, TimeStep

EXAMPLES = {
    "game:8x3": "8 agents with 3 actions, paid for one joint action alone (paper)",
    "game:8x3-0.4": "the same, all other joint actions paid with probability 0.4",
}


@dataclass(frozen=True)
class Options:
    """Size and payoffs of the game."""

    agents: int = 8
    """Agents in the team."""
    actions: int = 3
    """Actions of each agent."""
    p0: float = 0.0
    """Probability of a payoff for all joint actions but the optimal one, which has 0.9."""
    seed: int = 0
    """Draws the optimal joint action."""


class GameState(NamedTuple):
    """Whether the one joint action was played."""

    over: Bool[Array, ""]


def parse(words: str) -> Options:
    """The options that a name says; words are the name after `game:`."""
    found = re.fullmatch(r"(\d+)x(\d+)(?:-(\d*\.?\d+))?", words)
    if found is None:
        raise ValueError(
            f"no game '{words}': name agents x actions, as in game:8x3 or game:8x3-0.4"
        )
    return Options(int(found[1]), int(found[2]), float(found[3] or 0.0))


def game_of(options: Options) -> Game:
    """The game with its optimal joint action."""
    key = jax.random.key(options.seed)
    return make_game(key, options.agents, options.actions, jnp.float32(options.p0))


def make(options: Options) -> Task:
    """The task with these options."""
    A, U, p0 = options.agents, options.actions, options.p0
    GameOptions(agents=A, actions=U, p0=(p0,))  # refuses what is no game
    game = game_of(options)
    spec = TaskSpec(
        name=f"game:{A}x{U}" + (f"-{p0:g}" if p0 > 0 else ""),
        num_agents=A,
        num_actions=U,
        observation_size=1,
        state_size=1,
        episode_limit=1,
        reward=f"one payoff for all: 1 or 0, {BEST_PAYOFF} at best on average",
        always_available=True,
    )

    def shown(reward: Array, over: Array) -> TimeStep:
        return TimeStep(
            observation=jnp.ones((A, 1)),
            state=jnp.ones(1),
            avail=jnp.ones((A, U), bool),
            reward=reward,
            terminated=over,
            truncated=jnp.bool_(False),
            info={},
        )

    def reset(key: PRNGKeyArray) -> tuple[GameState, TimeStep]:
        state = GameState(jnp.bool_(False))
        return state, shown(jnp.float32(0), state.over)

    def step(
        key: PRNGKeyArray, state: GameState, actions: Int[Array, " A"]
    ) -> tuple[GameState, TimeStep]:
        paid = pays(game, actions, jax.random.uniform(key))
        over = GameState(jnp.bool_(True))
        return over, shown(paid.astype(jnp.float32), over.over)

    return Task(spec, reset, step)
