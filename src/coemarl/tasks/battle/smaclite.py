"""The rules `smaclite`: one loop as SMAClite plays it, for comparison with it.

A loop, in order. 1. Units drop targets: allies keep the target of their attack order while it
lives; enemies while it lives and is in range or is itself set on them. 2. Enemies without a target
choose among the allies within their scan range (from centre to the target's edge) or set on them:
healers first, then the nearest. While the allies have a healer, enemies set on another choose again
in each loop. Enemy healers choose the friend of least health among those damaged or busy. 3. Who
has a target in range stands, who has one elsewhere goes straight there; else allies go where they
are ordered, enemies to the attack point. 4. `avoidance.py` turns the wished velocities into real
ones. 5. All move. 6. Weapons cool down, shields, energy and health grow. 7. In random order, units
alive with a ready weapon strike those that were in range in (3), at once and without a missile.
An attack on one that died earlier in the same step is wasted, and costs the cooldown.

Walls slow down who comes near, as the avoidance of SMAClite does it, defect included: nobody
moves so fast that it would reach a wall in its row or column within a second.

Different from SMAClite: corners of walls are not avoided before they are reached; nobody leaves the
map; and all regrow before any strikes, where there each does in its turn.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from coemarl.tasks.battle import combat, terrain
from coemarl.tasks.battle.avoidance import avoided
from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.loops import at, fold, index, least, row, table_at
from coemarl.tasks.battle.orders import Orders
from coemarl.tasks.battle.units import ENERGY_PER_SECOND, HEAL_PER_SECOND, LOOPS_PER_SECOND

HEALTH_PER_ENERGY = 3.0
LEAST_ENERGY = 5.0
"""Needed to begin healing another."""


def loop(
    fight: Fight, state: BattleState, orders: Orders, words: Float[Array, "N E"]
) -> tuple[BattleState, Float[Array, " E"]]:
    """One loop; words are uniform numbers. The state, and SMAClite's reward before scaling: all
    that was taken off enemies, and 10 for each that a strike killed."""
    alive = state.health > 0
    before = state.target
    target = _targets(fight, state, orders, alive)
    # An attack order goes on at a corpse, which no longer is the unit's target.
    aim = jnp.concatenate([orders.aim, target[fight.allies :]])
    aim_x, aim_y = at(aim, state.x, state.y)
    reach, works = table_at(aim, _reach(fight), fight.may_aim)
    dx, dy = aim_x - state.x, aim_y - state.y
    stands = (aim >= 0) & works & (dx * dx + dy * dy <= reach * reach)
    wish = _wish(fight, state, orders, (aim >= 0, aim_x, aim_y), stands, target)
    wish = (jnp.where(alive, wish[0], 0.0), jnp.where(alive, wish[1], 0.0))
    wish = _before_walls(fight, state, wish)
    vx, vy = _before_walls(fight, state, avoided(fight, state, wish, alive))
    vx, vy = vx / np.float32(LOOPS_PER_SECOND), vy / np.float32(LOOPS_PER_SECOND)
    x, y = terrain.held_inside(
        fight.cells, (state.x, state.y), (state.x + vx, state.y + vy), fight.clearance
    )
    state = state._replace(
        x=jnp.where(alive, x, state.x),
        y=jnp.where(alive, y, state.y),
        vx=jnp.where(alive, vx, 0.0),
        vy=jnp.where(alive, vy, 0.0),
        target=target,
        cooldown=jnp.maximum(state.cooldown - 1.0, 0.0),
        energy=jnp.minimum(
            state.energy + np.float32(ENERGY_PER_SECOND / LOOPS_PER_SECOND), fight.most_energy
        ),
    )
    state = combat.regrown(fight, state, alive)
    ready = stands & (state.cooldown <= 0)
    state, reward = _strikes(fight, state, aim, ready, words, target == before)
    state = state._replace(
        cooldown=jnp.where(ready & alive & ~fight.heals, fight.period, state.cooldown),
        shots=jnp.where(ready & alive, aim, state.shots),
    )
    return state, reward


def _reach(fight: Fight) -> np.ndarray:
    """From centre to centre (N, N): range and both radii."""
    return fight.range + fight.radius + fight.radius.T


# Targets


def _targets(
    fight: Fight, state: BattleState, orders: Orders, alive: Bool[Array, "N E"]
) -> Int[Array, "N E"]:
    """Whom each unit is set on, after dropping and choosing."""
    A, N = fight.allies, fight.units
    (lives,) = at(orders.aim, alive.astype(jnp.float32))
    ours = jnp.where(lives > 0, orders.aim, -1)
    old = state.target
    aims_at = jnp.concatenate([ours, old[A:]])
    tx, ty, there = at(old, state.x, state.y, alive.astype(jnp.float32))
    theirs = fold(
        N, lambda j, out: jnp.where(old == j, row(aims_at, j), out), jnp.full(old.shape, -1)
    )
    (reach,) = table_at(old, _reach(fight))
    near = (tx - state.x) ** 2 + (ty - state.y) ** 2 <= reach * reach
    keeps = (there > 0) & (near | (theirs == index(N)))
    kept = jnp.where(keeps, old, -1)[A:]
    chosen = _choice(fight, state, ours, alive)
    enemies = jnp.where(kept >= 0, kept, chosen)
    if fight.heals[:A].any():
        # Healers are preferred: whoever is set on another looks again.
        (on_healer,) = at(enemies, jnp.asarray(fight.heals[:A].astype(np.float32)))
        enemies = jnp.where((kept >= 0) & (on_healer == 0) & (chosen >= 0), chosen, enemies)
    if fight.heals[A:].any():
        busy = jnp.concatenate([ours, enemies])
        healed = _patient(fight, state, busy, alive)
        enemies = jnp.where(fight.heals[A:], jnp.where(kept >= 0, kept, healed), enemies)
    return jnp.where(alive, jnp.concatenate([ours, enemies]), -1)


def _choice(
    fight: Fight, state: BattleState, ours: Int[Array, "A E"], alive: Bool[Array, "N E"]
) -> Int[Array, "N-A E"]:
    """The ally that each enemy would choose now."""
    A, widest = fight.allies, float(fight.radius.max())
    x, y, me = state.x[A:], state.y[A:], index(fight.units)[A:]

    def score(j: Any) -> tuple[Array, Array]:
        dx, dy = row(state.x, j) - x, row(state.y, j) - y
        apart = jnp.sqrt(dx * dx + dy * dy)
        set_on_me = row(ours, j) == me
        scanned = apart < fight.scan[A:] + row(fight.radius, j)
        apart = jnp.where(apart <= fight.scan[A:] + widest, apart, np.float32(1e6))
        value = apart - jnp.where(row(fight.heals, j), np.float32(1e7), 0.0)
        may = row(fight.may_aim.T, j).T[A:]
        return value, row(alive, j) & may & (scanned | set_on_me)

    return least(A, score)


def _patient(
    fight: Fight, state: BattleState, busy: Int[Array, "N E"], alive: Bool[Array, "N E"]
) -> Int[Array, "N-A E"]:
    """The friend that each enemy healer would choose now."""
    A = fight.allies
    x, y = state.x[A:], state.y[A:]

    def score(k: Any) -> tuple[Array, Array]:
        j = A + k
        dx, dy = row(state.x, j) - x, row(state.y, j) - y
        near = jnp.sqrt(dx * dx + dy * dy) < fight.scan[A:] + row(fight.radius, j)
        needs = (row(state.health, j) < row(fight.health, j)) | (row(busy, j) >= 0)
        allowed = row(alive, j) & near & needs & row(fight.may_aim.T, j).T[A:]
        return jnp.broadcast_to(row(state.health, j), x.shape), allowed

    chosen = least(fight.enemies, score)
    return jnp.where(chosen >= 0, chosen + A, -1)


# Movement


def _wish(
    fight: Fight,
    state: BattleState,
    orders: Orders,
    aim: tuple[Array, Array, Array],
    stands: Bool[Array, "N E"],
    target: Int[Array, "N E"],
) -> tuple[Array, Array]:
    """The velocities wished for, in cells per second."""
    enemies = fight.enemies
    has, aim_x, aim_y = aim
    order_x, order_y = (
        jnp.broadcast_to(part, (enemies, part.shape[-1])) for part in _attack_point(fight, state)
    )
    goal_x = jnp.where(has, aim_x, jnp.concatenate([orders.goal_x, order_x]))
    goal_y = jnp.where(has, aim_y, jnp.concatenate([orders.goal_y, order_y]))
    marches = jnp.full(order_x.shape, fight.order != "none")
    goes = has | jnp.concatenate([orders.moves, marches])
    dx, dy = goal_x - state.x, goal_y - state.y
    apart = jnp.sqrt(dx * dx + dy * dy)
    speed = np.float32(LOOPS_PER_SECOND) * _speed(fight, state, target)
    factor = jnp.where(goes & ~stands & (apart > 0), speed / jnp.maximum(apart, 1e-9), 0.0)
    return dx * factor, dy * factor


def _before_walls(
    fight: Fight, state: BattleState, velocity: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Velocities (cells per second) so reduced that no wall ahead is reached within a second.

    As SMAClite has it, the radius counts towards walls in the west and the east; towards walls in
    the south and the north it does not, but who is nearer than it comes no nearer.
    """
    column, row = (
        jnp.clip(jnp.floor(part), 0, terrain.SIZE - 1).astype(jnp.int32)
        for part in (state.x, state.y)
    )
    face = jnp.asarray(terrain.faces(fight.cells))[column * terrain.SIZE + row]
    ground = ~jnp.asarray(fight.air)

    def between(part: Array, low: Array, high: Array) -> Array:
        part = jnp.where(ground, jnp.maximum(part, jnp.minimum(low, 0.0)), part)
        return jnp.where(ground, jnp.minimum(part, jnp.maximum(high, 0.0)), part)

    west, east = face[..., 0] + fight.radius - state.x, face[..., 1] - fight.radius - state.x
    south, north = face[..., 2] - state.y, face[..., 3] - state.y
    south = jnp.where(south >= -fight.radius, 0.0, south)
    north = jnp.where(north <= fight.radius, 0.0, north)
    return between(velocity[0], west, east), between(velocity[1], south, north)


def _attack_point(fight: Fight, state: BattleState) -> tuple[Array, Array]:
    """Where each enemy is ordered to, (1, E) or (N - A, E)."""
    if fight.order != "allies":
        return state.order[:1], state.order[1:]
    A = fight.allies
    nearest = least(
        A,
        lambda j: (
            (row(state.x, j) - state.x[A:]) ** 2 + (row(state.y, j) - state.y[A:]) ** 2,
            jnp.broadcast_to(row(state.health, j) > 0, state.x[A:].shape),
        ),
    )
    x, y = at(nearest, state.x[:A], state.y[:A])
    return x, y


def _speed(fight: Fight, state: BattleState, target: Int[Array, "N E"]) -> Array:
    """Enemy healers without a patient go no faster than the friends around them."""
    speed = jnp.broadcast_to(jnp.asarray(fight.speed), state.x.shape)
    A = fight.allies
    if not fight.heals[A:].any():
        return speed
    widest = float(fight.radius.max())

    def body(k: Any, slowest: Array) -> Array:
        j = A + k
        dx, dy = row(state.x, j) - state.x, row(state.y, j) - state.y
        near = jnp.sqrt(dx * dx + dy * dy) <= fight.scan + widest
        counts = near & (row(state.health, j) > 0) & row(fight.may_aim.T, j).T
        return jnp.where(counts, jnp.minimum(slowest, row(fight.speed, j)), slowest)

    slowest = fold(fight.enemies, body, speed)
    return jnp.where(fight.heals & ~fight.ally & (target < 0), slowest, speed)


# Strikes


def _strikes(
    fight: Fight,
    state: BattleState,
    aim: Int[Array, "N E"],
    ready: Bool[Array, "N E"],
    words: Float[Array, "N E"],
    same: Bool[Array, "N E"],
) -> tuple[BattleState, Float[Array, " E"]]:
    """Units strike one after another, in the order of their random words."""
    who = jnp.argsort(words, axis=0).astype(jnp.int32)
    N, enemy = fight.units, ~fight.ally
    damage = jnp.asarray(fight.damage.T)
    hits = jnp.asarray(fight.hits[:, 0])

    def body(rank: Any, carry: tuple[BattleState, Array]) -> tuple[BattleState, Array]:
        state, reward = carry
        actor = lax.dynamic_slice_in_dim(who, rank, 1, axis=0)

        def pick(field: Array) -> Array:
            return jnp.take_along_axis(field, actor, axis=0)

        strikes = pick(ready) & (pick(state.health) > 0)
        victim = pick(aim)
        struck = strikes & (index(N) == victim)
        foes = pick(jnp.broadcast_to(jnp.asarray(fight.ally), state.x.shape)) != fight.ally
        source = (pick(state.x), pick(state.y))
        was = state
        if fight.beams.any():
            goal = tuple(
                jnp.take_along_axis(field, jnp.maximum(victim, 0), axis=0)
                for field in (state.x, state.y)
            )
            line = combat.in_beam(fight, state.x, state.y, source, (goal[0], goal[1]))
            struck = jnp.where(jnp.asarray(fight.beams[:, 0])[actor], strikes & foes & line, struck)
        if fight.blasts.any():
            bursts = strikes & jnp.asarray(fight.blasts[:, 0])[actor]
            circle = combat.in_blast(fight, state.x, state.y, source)
            struck = jnp.where(bursts, foes & circle, struck)
            state = state._replace(
                health=jnp.where(bursts & (index(N) == actor), 0.0, state.health)
            )
        raw = damage[:, actor[0]]
        heals = jnp.asarray(fight.heals[:, 0])[actor]
        alive = state.health > 0
        for number in range(int(fight.hits.max())):
            more = struck & ~heals & (hits[actor] > number)
            state = combat.hit(fight, state, raw, more)
        # A burst enemy's own health counts as damage, its death does not as a kill.
        taken = (was.health + was.shield) - (state.health + state.shield)
        kills = alive & (state.health <= 0)
        gain = taken + np.float32(10.0) * kills.astype(jnp.float32)
        reward = reward + jnp.sum(jnp.where(enemy, gain, 0.0), axis=0)
        if fight.heals.any():
            state = _heal(fight, state, actor, victim, strikes & heals, pick(same))
        return state, reward

    start = (state, jnp.zeros(state.x.shape[1], jnp.float32))
    return lax.fori_loop(0, N, body, start)


def _heal(
    fight: Fight,
    state: BattleState,
    actor: Int[Array, "1 E"],
    victim: Int[Array, "1 E"],
    heals: Bool[Array, "1 E"],
    same: Bool[Array, "1 E"],
) -> BattleState:
    """One healer's loop: it pays an energy whenever what it paid for is used up."""
    is_actor, is_victim = index(fight.units) == actor, index(fight.units) == victim

    def of(mark: Array, field: Array) -> Array:
        return jnp.sum(jnp.where(mark, field, 0.0), axis=0, keepdims=True)

    energy, paid = of(is_actor, state.energy), of(is_actor, state.healing)
    health = of(is_victim, state.health)
    missing = of(is_victim, jnp.broadcast_to(jnp.asarray(fight.health), state.x.shape)) - health
    refuses = (~same & (energy < LEAST_ENERGY)) | (missing <= 0)
    heals, stops = heals & ~refuses & (health > 0), heals & refuses
    wanted = jnp.minimum(missing, np.float32(HEAL_PER_SECOND / LOOPS_PER_SECOND))
    spent = jnp.where(paid < wanted, jnp.minimum(energy, 1.0), 0.0)
    paid = paid + np.float32(HEALTH_PER_ENERGY) * spent
    amount = jnp.minimum(wanted, paid)
    return state._replace(
        energy=jnp.where(heals & is_actor, energy - spent, state.energy),
        healing=jnp.where(heals & is_actor, paid - amount, state.healing),
        health=jnp.where(heals & is_victim, health + amount, state.health),
        target=jnp.where(stops & is_actor, -1, state.target),
    )
