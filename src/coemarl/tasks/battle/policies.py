"""Scripted policies: how good is play without learning, and what is there to learn?

They see all units' places and their own cooldowns, which agents do not. Each is written for ONE
environment: batch by vmap.

    nearest   attack the nearest enemy in reach of an order; if there is none, approach the nearest
    focus     attack the weakest (health and shield) instead
    kite      shoot the weakest when ready and no enemy is close, else go where the nearest enemy is
              farthest
    swap      whoever has 40 less than another ally leaves the fight until it is over
    kite2     as kite, but from 2.6, and away from all enemies and the walls alike
    patient   leave when the shield is below 25 and wait until it is full: two such rests of all,
              then fight to the end

Medivacs heal whom it is worst with, and else keep within 3 of the others.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.scripted import Act, Remembering
from coemarl.tasks.battle import terrain
from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.orders import ATTACK, EAST, MOVE_AMOUNT, NORTH, SOUTH, STOP, WEST
from coemarl.tasks.task import TimeStep

SIGHT = 9.0
_STEPS = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]], np.float32) * MOVE_AMOUNT
"""What the four moves add to a place."""


class View(NamedTuple):
    """What the policies ask about, in one environment."""

    x: Float[Array, " N"]
    y: Float[Array, " N"]
    distance: Float[Array, "A M"]
    """From each agent to each enemy; the dead are infinitely far."""
    attacks: Bool[Array, "A M"]
    """Which enemies can be ordered to be attacked."""
    moves: Bool[Array, "A 4"]
    strength: Float[Array, " N"]
    """Health and shield."""
    shield: Float[Array, " N"]
    ready: Bool[Array, " A"]
    alive: Bool[Array, " N"]


def view_of(fight: Fight, state: BattleState, seen: TimeStep) -> View:
    """What the policies ask about a state."""
    A = fight.allies
    alive = state.health > 0
    dx, dy = (part[None, A:] - part[:A, None] for part in (state.x, state.y))
    distance = jnp.where(alive[None, A:], jnp.sqrt(dx * dx + dy * dy), jnp.inf)
    return View(
        x=state.x,
        y=state.y,
        distance=distance,
        attacks=seen.avail[:, ATTACK:],
        moves=seen.avail[:, NORTH : WEST + 1],
        strength=state.health + state.shield,
        shield=state.shield,
        ready=state.cooldown[:A] <= 0,
        alive=alive,
    )


# Ways of acting, each for all agents at once


def _first_least(score: Float[Array, "A M"], allowed: Bool[Array, "A M"]) -> Int[Array, " A"]:
    """The least allowed, the first of equals; some number where none is allowed."""
    return jnp.argmin(jnp.where(allowed, score, jnp.inf), axis=1).astype(jnp.int32)


def approach(fight: Fight, view: View) -> Int[Array, " A"]:
    """Towards the nearest enemy, along the longer way first, or along the other, or stop."""
    A, near = fight.allies, jnp.argmin(view.distance, axis=1)
    dx, dy = view.x[A:][near] - view.x[:A], view.y[A:][near] - view.y[:A]
    return _towards(dx, dy, view.moves)


def _towards(
    dx: Float[Array, " A"], dy: Float[Array, " A"], moves: Bool[Array, "A 4"]
) -> Int[Array, " A"]:
    """The move that goes there, if available."""
    across = jnp.where(dx > 0, EAST, WEST)
    along = jnp.where(dy > 0, NORTH, SOUTH)
    first = jnp.where(jnp.abs(dx) >= jnp.abs(dy), across, along)
    second = jnp.where(jnp.abs(dx) >= jnp.abs(dy), along, across)

    def can(action: Array) -> Array:
        return jnp.take_along_axis(moves, (action - NORTH)[:, None], axis=1)[:, 0]

    return jnp.where(can(first), first, jnp.where(can(second), second, STOP)).astype(jnp.int32)


def attack_nearest(fight: Fight, view: View) -> Int[Array, " A"]:
    """Attack the nearest, or approach."""
    target = _first_least(view.distance, view.attacks)
    return jnp.where(jnp.any(view.attacks, axis=1), ATTACK + target, approach(fight, view))


def _weakest(fight: Fight, view: View) -> Int[Array, " A"]:
    strength = jnp.broadcast_to(view.strength[None, fight.allies :], view.attacks.shape)
    return ATTACK + _first_least(strength, view.attacks)


def attack_weakest(fight: Fight, view: View) -> Int[Array, " A"]:
    """Attack the weakest, or approach."""
    can = jnp.any(view.attacks, axis=1)
    return jnp.where(can, _weakest(fight, view), approach(fight, view))


def _best_move(view: View, value: Float[Array, "A 4"]) -> Int[Array, " A"]:
    """The available move of the highest value, the first of equals; else stop."""
    best = jnp.argmax(jnp.where(view.moves, value, -jnp.inf), axis=1).astype(jnp.int32)
    return jnp.where(jnp.any(view.moves, axis=1), NORTH + best, STOP).astype(jnp.int32)


def _ahead(fight: Fight, view: View) -> tuple[Array, Array, Array]:
    """Where each move leads (A, 4), and its distances to the enemies (A, 4, M)."""
    A = fight.allies
    x = view.x[:A, None] + _STEPS[None, :, 0]
    y = view.y[:A, None] + _STEPS[None, :, 1]
    dx, dy = x[..., None] - view.x[None, None, A:], y[..., None] - view.y[None, None, A:]
    distance = jnp.sqrt(dx * dx + dy * dy)
    return x, y, jnp.where(view.alive[None, None, A:], distance, jnp.inf)


def flee(fight: Fight, view: View) -> Int[Array, " A"]:
    """Where the nearest enemy is farthest, while one is in sight; else stop."""
    _, _, distance = _ahead(fight, view)
    near = jnp.min(view.distance, axis=1) < SIGHT
    return jnp.where(near, _best_move(view, jnp.min(distance, axis=2)), STOP)


# The policies


def _nearest(fight: Fight, view: View) -> Int[Array, " A"]:
    return attack_nearest(fight, view)


def _focus(fight: Fight, view: View) -> Int[Array, " A"]:
    return attack_weakest(fight, view)


def _kite(fight: Fight, view: View) -> Int[Array, " A"]:
    A = fight.allies
    radius = jnp.asarray(fight.radius[:, 0])
    near = jnp.argmin(view.distance, axis=1)
    safe = jnp.min(view.distance, axis=1) > radius[:A] + radius[A:][near] + 1.1
    can = jnp.any(view.attacks, axis=1)
    action = jnp.where(
        view.ready & can & safe,
        _weakest(fight, view),
        jnp.where(view.ready & ~can, approach(fight, view), flee(fight, view)),
    )
    return action


def _swap(fight: Fight, view: View) -> Int[Array, " A"]:
    A = fight.allies
    strength = jnp.where(view.alive[:A], view.strength[:A], -jnp.inf)
    weak = jnp.max(strength) > strength + 40.0
    return jnp.where(weak, flee(fight, view), attack_nearest(fight, view))


def _kite2(fight: Fight, view: View) -> Int[Array, " A"]:
    near = jnp.min(view.distance, axis=1)
    can = jnp.any(view.attacks, axis=1)
    x, y, distance = _ahead(fight, view)
    left, bottom, right, top = terrain.box_of(fight.cells)
    walls = jnp.stack([x - left, right - x, y - bottom, top - y], axis=2)

    def repulsion(apart: Array) -> Array:
        return jnp.sum(1.0 / jnp.maximum(jnp.abs(apart), 0.3) ** 2, axis=2)

    away = _best_move(view, -(repulsion(distance) + 2.0 * repulsion(walls)))
    action = jnp.where(
        view.ready & can & (near > 2.6),
        _weakest(fight, view),
        jnp.where(
            view.ready & ~can,
            approach(fight, view),
            jnp.where(near > 5.0, STOP, away),
        ),
    )
    return action


class Rests(NamedTuple):
    """The memory of `patient`."""

    mode: Int[Array, " A"]
    """0 fights, 1 rests, 2 is ready."""
    restarts: Int[Array, ""]


def _patient(fight: Fight, memory: Rests, view: View) -> tuple[Rests, Int[Array, " A"]]:
    A = fight.allies
    alive, mode, shield = view.alive[:A], memory.mode, view.shield[:A]
    alone = jnp.sum(alive) <= 1
    tired = (mode == 0) & (shield < 25.0) & ~alone & (memory.restarts < 2)
    mode = jnp.where(tired, 1, jnp.where((mode == 1) & (shield >= 79.0), 2, mode))
    again = jnp.all((mode == 2) | ~alive) & jnp.any(alive)
    mode = jnp.where(again, 0, mode).astype(jnp.int32)
    restarts = memory.restarts + again.astype(jnp.int32)
    action = jnp.where(mode == 0, attack_nearest(fight, view), flee(fight, view))
    return Rests(mode, restarts), action


# Medivacs, and the dead


def _healing(fight: Fight, state: BattleState, view: View) -> Int[Array, " A"]:
    """What medivacs do under every scripted policy."""
    A, M = fight.allies, fight.enemies
    health = state.health[:A] / fight.health[:A, 0]
    patients = view.alive[:A] & ~fight.heals[:A, 0]
    can = view.attacks if M >= A else jnp.pad(view.attacks, ((0, 0), (0, A - M)))
    can = can[:, :A] & (patients & (health < 1.0))[None]
    worst = _first_least(jnp.broadcast_to(health[None], can.shape), can)
    dx, dy = (part[None, :A] - part[:A, None] for part in (view.x, view.y))
    apart = jnp.where(patients[None], jnp.sqrt(dx * dx + dy * dy), jnp.inf)
    near = jnp.argmin(apart, axis=1)[:, None]
    follow = _towards(
        jnp.take_along_axis(dx, near, 1)[:, 0], jnp.take_along_axis(dy, near, 1)[:, 0], view.moves
    )
    closest = jnp.min(apart, axis=1)
    idle = jnp.where((closest > 3.0) & jnp.isfinite(closest), follow, STOP)
    return jnp.where(jnp.any(can, axis=1), ATTACK + worst, idle)


_WAYS: dict[str, Callable[[Fight, View], Array]] = {
    "nearest": _nearest,
    "focus": _focus,
    "kite": _kite,
    "swap": _swap,
    "kite2": _kite2,
}


def make_policy(name: str, fight: Fight) -> Act | Remembering:
    """The policy of that name in a fight."""
    A = fight.allies

    def settled(action: Array, state: BattleState, view: View) -> Int[Array, " A"]:
        """With what medivacs do, and the dead."""
        if fight.heals[:A].any():
            action = jnp.where(fight.heals[:A, 0], _healing(fight, state, view), action)
        return jnp.where(view.alive[:A], action, 0).astype(jnp.int32)

    def act(key: PRNGKeyArray, state: BattleState, seen: TimeStep) -> Int[Array, " A"]:
        view = view_of(fight, state, seen)
        return settled(_WAYS[name](fight, view), state, view)

    def rest(
        key: PRNGKeyArray, memory: Rests, state: BattleState, seen: TimeStep
    ) -> tuple[Rests, Int[Array, " A"]]:
        view = view_of(fight, state, seen)
        memory, action = _patient(fight, memory, view)
        return memory, settled(action, state, view)

    if name == "patient":
        return Remembering(Rests(jnp.zeros(A, jnp.int32), jnp.int32(0)), rest)
    return act
