"""Avoidance of the rules `smaclite`: optimal reciprocal collision avoidance (ORCA).

Each unit that wants to move takes the velocity nearest to its wish among those that no close unit
forbids. A unit forbids a half-plane of velocities: those with which the two would touch within a
second, or, if they overlap, that do not part them within a loop. It takes half of the change upon
itself if the other moves too, and all of it if the other stands. If nothing is allowed, the least
forbidden is taken. (van den Berg, Guy, Lin, Manocha: Reciprocal n-body collision avoidance, 2011.)

Velocities here are cells per second, as is the horizon of one second.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.loops import FAR, index, row
from coemarl.tasks.battle.units import LOOPS_PER_SECOND

CLOSE = 10
"""At most so many units are avoided, the closest: more do not fit around one."""
PARALLEL = 1e-5


class Lines(NamedTuple):
    """Half-planes of velocities (K, N, E): allowed is what lies left of the line. A direction of
    zero is no line."""

    x: Float[Array, "K N E"]
    y: Float[Array, "K N E"]
    dx: Float[Array, "K N E"]
    dy: Float[Array, "K N E"]


def avoided(
    fight: Fight, state: BattleState, wish: tuple[Array, Array], alive: Bool[Array, "N E"]
) -> tuple[Array, Array]:
    """The velocities (cells per second) in place of those wished for; who wishes 0 gets 0."""
    lines = _lines(fight, state, wish, alive)
    speed = np.float32(LOOPS_PER_SECOND) * jnp.asarray(fight.speed)
    count = lines.x.shape[0]
    x, y, failed = _nearest(lines, speed, wish, count, along=False)
    wanted = (wish[0] != 0) | (wish[1] != 0)
    failed = jnp.where(wanted, failed, count)
    x, y = lax.cond(
        jnp.any(failed < count),
        lambda: _least_forbidden(lines, speed, failed, (x, y)),
        lambda: (x, y),
    )
    return jnp.where(wanted, x, 0.0), jnp.where(wanted, y, 0.0)


def _det(ax: Array, ay: Array, bx: Array, by: Array) -> Array:
    return ax * by - ay * bx


def _lines(
    fight: Fight, state: BattleState, wish: tuple[Array, Array], alive: Bool[Array, "N E"]
) -> Lines:
    """The half-planes of each unit's closest neighbours."""
    N, rate = fight.units, np.float32(LOOPS_PER_SECOND)
    air, radius = fight.air[:, 0], jnp.asarray(fight.radius[:, 0])
    apart = jnp.sqrt(
        (state.x[:, None] - state.x[None]) ** 2 + (state.y[:, None] - state.y[None]) ** 2
    )
    reach = jnp.max(radius) + radius
    near = (apart <= reach[None, :, None]) & alive[:, None] & alive[None]
    near = near & ((air[:, None] == air[None]) & ~np.eye(N, dtype=bool))[:, :, None]
    distance = jnp.where(near, apart, FAR)
    moving = ((wish[0] != 0) | (wish[1] != 0)) & alive
    lines = []
    for _ in range(min(CLOSE, max(N - 1, 1))):
        chosen = jnp.min(distance, axis=0)
        which = jnp.argmax(distance == chosen[None], axis=0)
        there = chosen < FAR
        distance = jnp.where(index(N)[:, :, None] == which[None], FAR, distance)

        def pick(field: Array, which: Array = which) -> Array:
            return jnp.take_along_axis(field, which, axis=0)

        away = (pick(state.x) - state.x, pick(state.y) - state.y)
        relative = (rate * (state.vx - pick(state.vx)), rate * (state.vy - pick(state.vy)))
        both = radius[which] + radius[:, None]
        share = jnp.where(pick(moving), 0.5, 1.0)
        line = _line(away, relative, both, share, (rate * state.vx, rate * state.vy))
        lines.append(Lines(*(jnp.where(there, part, 0.0) for part in line)))
    return Lines(*(jnp.stack(parts) for parts in zip(*lines, strict=True)))


def _line(
    away: tuple[Array, Array],
    relative: tuple[Array, Array],
    both: Array,
    share: Array,
    velocity: tuple[Array, Array],
) -> Lines:
    """The half-plane that one neighbour leaves, given where it is (`away`), the relative velocity,
    the sum of radii, and the share of the change that the unit takes upon itself."""
    (px, py), (vx, vy) = away, relative
    distance_sq = px * px + py * py
    overlap = distance_sq <= both * both
    inverse = jnp.where(overlap, np.float32(LOOPS_PER_SECOND), 1.0)
    # From the centre of the circle that cuts the cone of forbidden velocities off.
    wx, wy = vx - inverse * px, vy - inverse * py
    w_sq = wx * wx + wy * wy
    inward = wx * px + wy * py
    on_circle = overlap | ((inward < 0) & (inward * inward > both * both * w_sq))
    w = jnp.sqrt(jnp.maximum(w_sq, 1e-12))
    ux, uy = wx / w, wy / w
    step = both * inverse - w
    leg = jnp.sqrt(jnp.maximum(distance_sq - both * both, 0.0))
    side = jnp.where(_det(px, py, wx, wy) > 0, 1.0, -1.0)
    square = jnp.maximum(distance_sq, 1e-12)
    leg_x, leg_y = (side * px * leg - py * both) / square, (px * both + side * py * leg) / square
    along = vx * leg_x + vy * leg_y
    dx, dy = jnp.where(on_circle, uy, leg_x), jnp.where(on_circle, -ux, leg_y)
    change_x = jnp.where(on_circle, step * ux, along * leg_x - vx)
    change_y = jnp.where(on_circle, step * uy, along * leg_y - vy)
    return Lines(velocity[0] + share * change_x, velocity[1] + share * change_y, dx, dy)


def _on_line(
    lines: Lines, i: Any, before: Array, speed: Array, wish: tuple[Array, Array], along: bool
) -> tuple[Array, Array, Array]:
    """The best point of line i within the speed and within the lines marked `before`: (x, y) and
    whether there is one. Best is nearest to the wish, or, with `along`, farthest towards it."""
    x, y, dx, dy = (row(part, i)[0] for part in lines)
    middle = x * dx + y * dy
    root = middle * middle + speed * speed - (x * x + y * y)
    half = jnp.sqrt(jnp.maximum(root, 0.0))
    turn = _det(dx[None], dy[None], lines.dx, lines.dy)
    beyond = _det(lines.dx, lines.dy, x[None] - lines.x, y[None] - lines.y)
    exists = before & ((lines.dx != 0) | (lines.dy != 0))
    parallel = jnp.abs(turn) < PARALLEL
    t = beyond / jnp.where(parallel, 1.0, turn)
    crosses = exists & ~parallel
    right = jnp.min(jnp.where(crosses & (turn >= 0), t, FAR), axis=0)
    left = jnp.max(jnp.where(crosses & (turn < 0), t, -FAR), axis=0)
    right, left = jnp.minimum(right, half - middle), jnp.maximum(left, -half - middle)
    fine = (root >= 0) & (left <= right) & ~jnp.any(exists & parallel & (beyond < 0), axis=0)
    if along:
        t = jnp.where(wish[0] * dx + wish[1] * dy > 0, right, left)
    else:
        t = jnp.clip(dx * (wish[0] - x) + dy * (wish[1] - y), left, jnp.maximum(left, right))
    return x + t * dx, y + t * dy, fine


def _nearest(
    lines: Lines, speed: Array, wish: tuple[Array, Array], count: Any, along: bool
) -> tuple[Array, Array, Array]:
    """The best velocity that lines 0 to count - 1 allow, one line after another: (x, y) and the
    first line that left none (the number of lines if all could be kept)."""
    most = lines.x.shape[0]
    order = jnp.arange(most)[:, None, None]

    def body(i: Any, best: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, y, failed = best
        lx, ly, dx, dy = (row(part, i)[0] for part in lines)
        broken = (_det(dx, dy, lx - x, ly - y) > 0) & (failed == most) & (i < count)
        on_x, on_y, fine = _on_line(lines, i, order < i, speed, wish, along)
        x, y = jnp.where(broken & fine, on_x, x), jnp.where(broken & fine, on_y, y)
        return x, y, jnp.where(broken & ~fine, jnp.int32(i), failed)

    scale = speed if along else jnp.float32(1.0)
    start = (wish[0] * scale, wish[1] * scale, jnp.full(wish[0].shape, most, jnp.int32))
    return lax.fori_loop(0, most, body, start)


def _least_forbidden(
    lines: Lines, speed: Array, failed: Array, start: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The velocity that goes least far beyond any line, for units whose lines leave none."""
    most = lines.x.shape[0]
    order = jnp.arange(most)[:, None, None]

    def body(i: Any, best: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, y, depth = best
        lx, ly, dx, dy = (row(part, i)[0] for part in lines)
        deeper = (_det(dx, dy, lx - x, ly - y) > depth) & (i >= failed)
        # Lines on which line i and an earlier one are broken equally far.
        turn = _det(dx[None], dy[None], lines.dx, lines.dy)
        parallel = jnp.abs(turn) <= PARALLEL
        same = parallel & (dx[None] * lines.dx + dy[None] * lines.dy > 0)
        t = _det(lines.dx, lines.dy, lx[None] - lines.x, ly[None] - lines.y)
        t = t / jnp.where(parallel, 1.0, turn)
        new_x = jnp.where(parallel, 0.5 * (lx[None] + lines.x), lx[None] + t * dx[None])
        new_y = jnp.where(parallel, 0.5 * (ly[None] + lines.y), ly[None] + t * dy[None])
        new_dx, new_dy = lines.dx - dx[None], lines.dy - dy[None]
        length = jnp.sqrt(jnp.maximum(new_dx * new_dx + new_dy * new_dy, 1e-12))
        exists = ((lines.dx != 0) | (lines.dy != 0)) & (order < i) & ~same
        equal = Lines(
            *(
                jnp.where(exists, part, 0.0)
                for part in (new_x, new_y, new_dx / length, new_dy / length)
            )
        )
        on_x, on_y, fell = _nearest(equal, speed, (-dy, dx), i, along=True)
        use = deeper & (fell == most)
        x, y = jnp.where(use, on_x, x), jnp.where(use, on_y, y)
        return x, y, jnp.where(deeper, _det(dx, dy, lx - x, ly - y), depth)

    x, y, _ = lax.fori_loop(0, most, body, (*start, jnp.zeros_like(start[0])))
    return x, y
