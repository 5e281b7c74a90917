"""Combat: what a hit takes off, whom a line or a blast reaches, and what grows back."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.units import BEAM_HALF, BLAST_RADIUS, SHIELD_PER_LOOP, SHIELD_WAIT


def hit(
    fight: Fight, state: BattleState, damage: Float[Array, "N E"], struck: Bool[Array, "N E"]
) -> BattleState:
    """The state after one hit on each unit struck.

    Shields take what they can, armour is taken off the rest, health takes that. Rules `liberty`
    let no hit on health be less than a half.
    """
    struck = struck & (state.health > 0)
    damage = jnp.where(struck, damage, 0.0)
    absorbed = jnp.minimum(damage, state.shield)
    rest = damage - absorbed
    wound = jnp.maximum(rest - fight.armour, np.float32(0.5 if fight.rules == "liberty" else 0.0))
    wound = jnp.where(rest > 0, wound, 0.0)
    return state._replace(
        shield=state.shield - absorbed,
        health=jnp.maximum(state.health - wound, 0.0),
        shield_wait=jnp.where(struck & (fight.shield > 0), SHIELD_WAIT, state.shield_wait),
    )


def in_beam(
    fight: Fight,
    x: Float[Array, "N E"],
    y: Float[Array, "N E"],
    source: tuple[Array, Array],
    target: tuple[Array, Array],
) -> Bool[Array, "N E"]:
    """Who touches the line through the target across the aim from the source, each (1, E)."""
    aim_x, aim_y = target[0] - source[0], target[1] - source[1]
    length = jnp.maximum(jnp.sqrt(aim_x * aim_x + aim_y * aim_y), 1e-6)
    aim_x, aim_y = aim_x / length, aim_y / length
    dx, dy = x - target[0], y - target[1]
    across = jnp.maximum(jnp.abs(dx * aim_y - dy * aim_x) - BEAM_HALF[0], 0.0)
    along = jnp.maximum(jnp.abs(dx * aim_x + dy * aim_y) - BEAM_HALF[1], 0.0)
    return across * across + along * along <= fight.radius**2


def in_blast(
    fight: Fight,
    x: Float[Array, "N E"],
    y: Float[Array, "N E"],
    source: tuple[Array, Array],
) -> Bool[Array, "N E"]:
    """Who touches the circle of a blast at the source (1, E)."""
    dx, dy = x - source[0], y - source[1]
    return dx * dx + dy * dy <= (BLAST_RADIUS + fight.radius) ** 2


def regrown(fight: Fight, state: BattleState, alive: Bool[Array, "N E"]) -> BattleState:
    """Shields after their wait, and health, grow back by one loop's worth."""
    wait = jnp.maximum(state.shield_wait - 1.0, 0.0)
    more = jnp.where(alive & (wait <= 0), np.float32(SHIELD_PER_LOOP), 0.0)
    health = jnp.minimum(state.health + fight.regeneration, fight.health)
    return state._replace(
        shield_wait=wait,
        shield=jnp.minimum(state.shield + more, fight.shield),
        health=jnp.where(alive, health, state.health),
    )
