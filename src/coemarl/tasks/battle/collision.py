"""Collision of the rules `liberty`: bodies push each other apart.

Units first go where they want, then overlapping pairs are parted along the line between them. Who
attacks stands firm; who moves gives way to it; friends that idle are pushed aside by friends that
move, enemies that idle are not. Two that both stand firm share the parting. Flyers collide with
flyers alone. A crowd pressed together is parted within seconds, to overlaps below 0.1 of a cell.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from coemarl.tasks.battle.fight import Fight
from coemarl.tasks.battle.loops import fold, index, row

PASSES = 2
RELAXATION = 0.7
"""The share of an overlap that one pass takes away: less than one, for crowds to come to rest."""
MOST_PUSH = 0.2
"""Cells that a unit is pushed in a loop at most."""


def parted(
    fight: Fight,
    place: tuple[Float[Array, "N E"], Float[Array, "N E"]],
    going: tuple[Float[Array, "N E"], Float[Array, "N E"]],
    attacks: Bool[Array, "N E"],
    alive: Bool[Array, "N E"],
) -> tuple[Array, Array]:
    """Places with overlaps reduced. `going` is how units moved in this loop."""
    free = jnp.asarray((fight.speed > 0).astype(np.float32))
    moves = ((going[0] != 0) | (going[1] != 0)) & alive
    yields = jnp.where(attacks, 0.0, free)  # towards friends
    moving = jnp.where(moves, yields, 0.0)  # towards enemies
    body = jnp.where(alive, jnp.asarray(fight.body), np.float32(-1e6))
    x, y = place
    for _ in range(PASSES):
        px, py = _push(fight, (x, y), body, yields, moving, free)
        x, y = x + px, y + py
    limit = np.float32(MOST_PUSH)
    return (
        place[0] + jnp.clip(x - place[0], -limit, limit),
        place[1] + jnp.clip(y - place[1], -limit, limit),
    )


def _push(
    fight: Fight,
    place: tuple[Array, Array],
    body: Float[Array, "N E"],
    yields: Float[Array, "N E"],
    moving: Float[Array, "N E"],
    free: Float[Array, "N 1"],
) -> tuple[Array, Array]:
    """What all others push each unit by. Dead units have bodies of negative size."""
    x, y = place
    me = index(fight.units)
    mixed = bool(fight.air.any() and not fight.air.all())

    def push(j: Any, total: tuple[Array, Array]) -> tuple[Array, Array]:
        # Two on one spot are parted along a line that differs from pair to pair.
        nudge = 1e-3 * (me - j).astype(jnp.float32)
        dx, dy = x - row(x, j) + nudge, y - row(y, j) + nudge * nudge
        square = jnp.maximum(dx * dx + dy * dy, 1e-8)
        inverse = 1.0 / jnp.sqrt(square)
        overlap = jnp.maximum(body + row(body, j) - square * inverse, 0.0)
        friends = fight.ally == row(fight.ally, j)
        mine = jnp.where(friends, yields, moving)
        other = jnp.where(friends, row(yields, j), row(moving, j))
        both = mine + other
        firm = both <= 0
        mine, other = jnp.where(firm, free, mine), jnp.where(firm, row(free, j), other)
        share = mine / jnp.maximum(mine + other, 1.0)
        meets = me != j
        if mixed:
            meets = meets & (fight.air == row(fight.air, j))
        size = jnp.where(meets, np.float32(RELAXATION) * share * overlap * inverse, 0.0)
        return total[0] + size * dx, total[1] + size * dy

    zeros = jnp.zeros(x.shape, x.dtype)
    return fold(fight.units, push, (zeros, zeros))
