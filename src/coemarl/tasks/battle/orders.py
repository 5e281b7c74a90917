"""Orders: what the allies' actions tell them to do, and how far things are from one another."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from coemarl.tasks.battle.fight import BattleState, Fight

STOP, NORTH, SOUTH, EAST, WEST, ATTACK = 1, 2, 3, 4, 5, 6
MOVE_AMOUNT = 2.0


class Orders(NamedTuple):
    """The allies' orders for one step (A, E)."""

    moves: Bool[Array, "A E"]
    goal_x: Float[Array, "A E"]
    """Where those that move go."""
    goal_y: Float[Array, "A E"]
    aim: Int[Array, "A E"]
    """Whom those that attack or heal do it to; -1 for the others."""


def orders_of(fight: Fight, state: BattleState, actions: Int[Array, "A E"]) -> Orders:
    """What a joint action orders: two cells far in a direction, or to attack enemy k with action
    6 + k (for medivacs: to heal ally k)."""
    A = fight.allies
    right = (actions == EAST).astype(jnp.float32) - (actions == WEST).astype(jnp.float32)
    up = (actions == NORTH).astype(jnp.float32) - (actions == SOUTH).astype(jnp.float32)
    number = actions - ATTACK
    aim = jnp.where(fight.heals[:A], number, number + A)
    return Orders(
        moves=(actions >= NORTH) & (actions <= WEST),
        goal_x=state.x[:A] + MOVE_AMOUNT * right,
        goal_y=state.y[:A] + MOVE_AMOUNT * up,
        aim=jnp.where(actions >= ATTACK, aim, -1),
    )
