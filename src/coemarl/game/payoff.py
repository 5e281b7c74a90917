"""The didactic game (paper, section 5.4): one good joint action among actions ** agents.

In every step all agents act at once and are paid 1 or 0 together: 1 with probability 0.9 if they
play the one optimal joint action, drawn uniformly for each game, else with probability p0. The
game has no state and never ends.

The expected regret of a step is 0.9 - p0 if the joint action is not the optimal one, else 0. So
after t steps of which h were optimal it is (0.9 - p0) (t - h): exact, whatever was paid.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.game.options import BEST_PAYOFF


class Game(NamedTuple):
    """One instance of the game."""

    optimal: Int[Array, " A"]
    p0: Float[Array, ""]
    """The probability with which every other joint action is paid."""


def make_game(key: PRNGKeyArray, agents: int, actions: int, p0: Float[Array, ""]) -> Game:
    """A game whose optimal joint action is drawn with the key."""
    return Game(jax.random.randint(key, (agents,), 0, actions, jnp.int32), p0)


def is_optimal(game: Game, actions: Int[Array, " A"]) -> Bool[Array, ""]:
    """Whether a joint action is the optimal one."""
    return (actions == game.optimal).all()


def pays(game: Game, actions: Int[Array, " A"], draw: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether a joint action is paid, decided by a uniform draw in [0, 1)."""
    return draw < jnp.where(is_optimal(game, actions), BEST_PAYOFF, game.p0)


def regret(p0: float, steps: np.ndarray | int, hits: np.ndarray) -> np.ndarray:
    """The expected regret of `steps` joint actions of which `hits` were optimal."""
    return (BEST_PAYOFF - p0) * (steps - hits)


def uniform_regret(agents: int, actions: int, p0: float, steps: int) -> float:
    """The expected regret of a team that plays each joint action with the same probability."""
    return (BEST_PAYOFF - p0) * steps * (1 - float(actions) ** -agents)
