"""The rules `liberty`: one loop of the game, as far as it is known.

Units, weapons and clock are those of StarCraft II: Wings of Liberty, which the original's maps use
(units.py). What the engine does is closed; what follows is from its data where that says it, and
else the simplest rule with the known effects.

A loop, in order.
1. Targets. An ally has the target of its order while that lives; then it idles, its weapon ready.
   An enemy keeps its target while it lives and while it itself is within 21 of where it found it;
   but one that cannot reach its target where it stands takes another that it can. Without a target
   it takes an ally within its scan range or weapon range, edge to edge, or one that is attacking
   it: attackers first, then the nearest; else the attacker of a friend within 4 of it. Enemy
   medivacs take the friend of least health among the damaged within scan range.
2. Who has a target in range stands and attacks. An attack begins when the weapon is ready, has its
   effect after the damage point, and is called off without cost by anything else in between, or by
   the target's leaving the range by more than the slop. The weapon's cooldown runs from the start
   of the attack, so that the period is the weapon's; -1 to +2 loops are added at random each time.
3. The others move: to their target, their goal, or, enemies, to the attack point until they are
   there. Around walls they take the shortest way (pathing.py).
4. Bodies push each other apart (collision.py), and walls stop them.
5. Hits under way land: a stalker's or a marauder's missile, a zealot's second hit. New attacks
   strike, or send a missile off. All strike at once, so that both sides can die in one loop. A
   baneling bursts when it attacks and when it is killed.
6. Medivacs heal; shields, energy and health grow.

Not modelled: acceleration, turning, backswing, the colossus's legs above units, transport.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from coemarl.tasks.battle import collision, combat, pathing, terrain
from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.loops import at, fold, index, least, row, table_at
from coemarl.tasks.battle.orders import Orders
from coemarl.tasks.battle.units import (
    ENERGY_PER_SECOND,
    HEAL_PER_SECOND,
    LOOPS_PER_SECOND,
)

LEASH = 21.0
HELP_RADIUS = 4.0
JITTER = (-1.0, 2.0)
"""Loops added to a cooldown."""
ENERGY_PER_HEALTH = 0.33
HEAL_PER_LOOP = HEAL_PER_SECOND / LOOPS_PER_SECOND


def loop(
    fight: Fight, state: BattleState, orders: Orders, words: Float[Array, "N E"]
) -> tuple[BattleState, Float[Array, " E"]]:
    """One loop; words are uniform numbers, one for each unit. The state, and 0: SMAClite's reward
    is not kept."""
    alive = state.health > 0
    target = _targets(fight, state, orders, alive)
    aim_x, aim_y = at(target, state.x, state.y)
    reach, works = table_at(target, _reach(fight), fight.may_aim)
    dx, dy = aim_x - state.x, aim_y - state.y
    distance = jnp.sqrt(dx * dx + dy * dy)
    same = target == state.target
    begun = jnp.where(same, state.windup, 0.0)
    near = (distance <= reach) | ((begun > 0) & (distance <= reach + fight.slop))
    attacks = (target >= 0) & works & near & alive
    state = state._replace(
        target=target,
        home_x=jnp.where(same, state.home_x, state.x),
        home_y=jnp.where(same, state.home_y, state.y),
        windup=begun,
    )
    state = _moved(fight, state, orders, (aim_x, aim_y), attacks, works, alive)
    state, fires = _attacked(fight, state, attacks, words)
    state = _struck(fight, state, fires, distance, alive)
    return _grown(fight, state, attacks & (state.health > 0)), jnp.zeros(state.x.shape[1])


def _reach(fight: Fight) -> np.ndarray:
    """From centre to centre (N, N): range and both radii."""
    return fight.range + fight.radius + fight.radius.T


# Targets


def _targets(
    fight: Fight, state: BattleState, orders: Orders, alive: Bool[Array, "N E"]
) -> Int[Array, "N E"]:
    """Whom each unit is set on."""
    A = fight.allies
    (lives,) = at(orders.aim, alive.astype(jnp.float32))
    ours = jnp.where((lives > 0) & alive[:A], orders.aim, -1)
    old = state.target[A:]
    tx, ty, there = at(old, state.x, state.y, alive.astype(jnp.float32))
    (reach,) = table_at(state.target, _reach(fight))
    x, y = state.x[A:], state.y[A:]
    near = (tx - x) ** 2 + (ty - y) ** 2 <= reach[A:] ** 2
    strays = (state.home_x[A:] - x) ** 2 + (state.home_y[A:] - y) ** 2 > LEASH**2
    kept = jnp.where((there > 0) & ~strays, old, -1)
    in_reach, chosen = _choices(fight, state, ours, alive)
    theirs = jnp.where(kept >= 0, kept, jnp.where(chosen >= 0, chosen, _helped(fight, state, ours)))
    theirs = jnp.where((in_reach >= 0) & ~((kept >= 0) & near), in_reach, theirs)
    if fight.heals[A:].any():
        theirs = jnp.where(fight.heals[A:], _patient(fight, state, alive), theirs)
    return jnp.concatenate([ours, jnp.where(alive[A:], theirs, -1)])


def _choices(
    fight: Fight, state: BattleState, ours: Int[Array, "A E"], alive: Bool[Array, "N E"]
) -> tuple[Int[Array, "N-A E"], Int[Array, "N-A E"]]:
    """The ally that each enemy would choose among those in its weapon's reach, and among all."""
    A = fight.allies
    x, y, me = state.x[A:], state.y[A:], index(fight.units)[A:]
    reach = _reach(fight)

    def score(j: Any) -> tuple[Array, Array, Array]:
        dx, dy = row(state.x, j) - x, row(state.y, j) - y
        apart = jnp.sqrt(dx * dx + dy * dy)
        edges = fight.radius[A:] + row(fight.radius, j)
        attacker = (row(ours, j) == me) & (apart <= row(reach, j).T[A:])
        value = apart - edges - jnp.where(attacker, np.float32(1e3), 0.0)
        may = row(alive, j) & row(fight.may_aim.T, j).T[A:]
        scanned = apart - edges <= np.maximum(fight.scan, fight.range)[A:]
        return value, may & (apart <= row(reach.T, j).T[A:]), may & (scanned | attacker)

    def pick(which: int) -> Array:
        return least(A, lambda j: (score(j)[0], score(j)[which]))

    return pick(1), pick(2)


def _helped(fight: Fight, state: BattleState, ours: Int[Array, "A E"]) -> Int[Array, "N-A E"]:
    """For each enemy the attacker of a friend nearby, if there is one."""
    A = fight.allies
    x, y = state.x[A:], state.y[A:]
    reach = _reach(fight)
    goal_x, goal_y = at(ours, state.x, state.y)
    (far,) = table_at(jnp.concatenate([ours, jnp.full_like(state.target[A:], -1)]), reach)
    hits = (goal_x - state.x[:A]) ** 2 + (goal_y - state.y[:A]) ** 2 <= far[:A] ** 2
    hits = hits & (ours >= A)

    def body(j: Any, caller: Array) -> Array:
        near = (row(goal_x, j) - x) ** 2 + (row(goal_y, j) - y) ** 2 <= HELP_RADIUS**2
        may = row(fight.may_aim.T, j).T[A:]
        return jnp.where(row(hits, j) & near & may & (caller < 0), jnp.int32(j), caller)

    return fold(A, body, jnp.full(x.shape, -1, jnp.int32))


def _patient(fight: Fight, state: BattleState, alive: Bool[Array, "N E"]) -> Int[Array, "N-A E"]:
    """The friend that each enemy medivac heals."""
    A = fight.allies
    x, y = state.x[A:], state.y[A:]

    def score(k: Any) -> tuple[Array, Array]:
        j = A + k
        dx, dy = row(state.x, j) - x, row(state.y, j) - y
        edges = fight.radius[A:] + row(fight.radius, j)
        near = jnp.sqrt(dx * dx + dy * dy) - edges <= fight.scan[A:]
        hurt = row(state.health, j) < row(fight.health, j)
        allowed = near & hurt & row(alive, j) & row(fight.may_aim.T, j).T[A:]
        return jnp.broadcast_to(row(state.health, j), x.shape), allowed

    chosen = least(fight.enemies, score)
    return jnp.where(chosen >= 0, chosen + A, -1)


# Movement


def _moved(
    fight: Fight,
    state: BattleState,
    orders: Orders,
    aim: tuple[Array, Array],
    attacks: Bool[Array, "N E"],
    works: Bool[Array, "N E"],
    alive: Bool[Array, "N E"],
) -> BattleState:
    """Everybody where it goes and is pushed to."""
    chases = (state.target >= 0) & works
    order_x, order_y, marches = _march(fight, state)
    goal_x = jnp.where(chases, aim[0], jnp.concatenate([orders.goal_x, order_x]))
    goal_y = jnp.where(chases, aim[1], jnp.concatenate([orders.goal_y, order_y]))
    goes = (chases | jnp.concatenate([orders.moves, marches])) & ~attacks & alive
    goes = goes & (fight.speed > 0)
    goal_x, goal_y = pathing.next_point(fight, (state.x, state.y), (goal_x, goal_y))
    dx, dy = goal_x - state.x, goal_y - state.y
    apart = jnp.sqrt(dx * dx + dy * dy)
    step = jnp.where(goes, jnp.minimum(fight.speed, apart) / jnp.maximum(apart, 1e-6), 0.0)
    x, y = collision.parted(
        fight, (state.x + dx * step, state.y + dy * step), (dx * step, dy * step), attacks, alive
    )
    x, y = _held(fight, (state.x, state.y), (x, y))
    x, y = jnp.where(alive, x, state.x), jnp.where(alive, y, state.y)
    return state._replace(x=x, y=y, vx=x - state.x, vy=y - state.y)


def _march(fight: Fight, state: BattleState) -> tuple[Array, Array, Array]:
    """Where each enemy without a target goes, and whether it does."""
    A, shape = fight.allies, state.x[fight.allies :].shape
    if fight.order == "none":
        return state.x[A:], state.y[A:], jnp.zeros(shape, bool)
    x, y = (jnp.broadcast_to(part, shape) for part in (state.order[:1], state.order[1:]))
    if fight.order == "allies":
        nearest = least(
            A,
            lambda j: (
                (row(state.x, j) - state.x[A:]) ** 2 + (row(state.y, j) - state.y[A:]) ** 2,
                jnp.broadcast_to(row(state.health, j) > 0, shape),
            ),
        )
        x, y = at(nearest, state.x[:A], state.y[:A])
        return x, y, nearest >= 0
    # A crowd is there when its circle is.
    there = 0.5 + 0.25 * float(np.sqrt(fight.enemies))
    away = (x - state.x[A:]) ** 2 + (y - state.y[A:]) ** 2 > there**2
    return x, y, away


def _held(fight: Fight, old: tuple[Array, Array], new: tuple[Array, Array]) -> tuple[Array, Array]:
    """Kept off walls; climbers in the open cells' rectangle, flyers on the map."""
    x, y = terrain.held_inside(fight.cells, old, new, fight.clearance)
    left, bottom, right, top = terrain.box_of(fight.cells)
    for free, box in (
        (fight.climbs, (left, bottom, right, top)),
        (fight.air, (0.0, 0.0, float(terrain.SIZE), float(terrain.SIZE))),
    ):
        if free.any():
            x = jnp.where(free, jnp.clip(new[0], box[0], box[2]), x)
            y = jnp.where(free, jnp.clip(new[1], box[1], box[3]), y)
    return x, y


# Combat


def _attacked(
    fight: Fight, state: BattleState, attacks: Bool[Array, "N E"], words: Float[Array, "N E"]
) -> tuple[BattleState, Bool[Array, "N E"]]:
    """Weapons one loop on, and which of them have their effect now."""
    armed = attacks & ~fight.heals
    winds = armed & (state.cooldown <= 0)
    fires = winds & (state.windup >= fight.damage_point)
    jitter = np.float32(JITTER[0]) + np.float32(JITTER[1] - JITTER[0]) * words
    cooldown = state.cooldown - 1.0
    # While nothing is begun a ready weapon keeps no more than the fraction of its last loop.
    cooldown = jnp.where(winds, cooldown, jnp.maximum(cooldown, -1.0))
    cooldown = jnp.where(fires, cooldown + fight.period + jitter, cooldown)
    windup = jnp.where(winds & ~fires, state.windup + 1.0, 0.0)
    shots = jnp.where(fires | (attacks & fight.heals), state.target, state.shots)
    return state._replace(cooldown=cooldown, windup=windup, shots=shots), fires


def _struck(
    fight: Fight,
    state: BattleState,
    fires: Bool[Array, "N E"],
    distance: Float[Array, "N E"],
    alive: Bool[Array, "N E"],
) -> BattleState:
    """Hits that land in this loop, and attacks that send one off."""
    flying = state.flight_target >= 0
    flight = jnp.where(flying, state.flight - 1.0, 0.0)
    lands = flying & (flight <= 0)
    # A missile flies on without its sender; a blade does not.
    lands_well = lands & (alive | (fight.missile > 0))
    sends = fires & ((fight.missile > 0) | (fight.second_hit > 0))
    delay = jnp.where(
        fight.missile > 0, distance / np.maximum(fight.missile, 1e-6), fight.second_hit
    )
    strikes = lands_well | (fires & (fight.missile == 0))
    victim = jnp.where(lands_well, state.flight_target, state.target)
    done = lands | (flying & ~alive & (fight.missile == 0))
    state = state._replace(
        flight=jnp.where(sends, delay, flight),
        flight_target=jnp.where(sends, state.target, jnp.where(done, -1, state.flight_target)),
    )
    bursts = jnp.zeros_like(fires)
    if fight.blasts.any():
        bursts = fires & jnp.asarray(fight.blasts)
        state = state._replace(health=jnp.where(bursts, 0.0, state.health))
    hurt = _all_struck(fight, state, strikes, victim)
    if not fight.blasts.any():
        return hurt
    killed = jnp.asarray(fight.blasts) & alive & (hurt.health <= 0) & ~bursts
    return _all_struck(fight, hurt, killed, victim)


def _all_struck(
    fight: Fight, state: BattleState, strikes: Bool[Array, "N E"], victim: Int[Array, "N E"]
) -> BattleState:
    """Each unit's strike, one after another: the order matters only for what shields absorb."""
    N, me = fight.units, index(fight.units)
    at_once = np.where(fight.second_hit > 0, 1.0, fight.hits)
    area = bool(fight.beams.any() or fight.blasts.any())
    if fight.beams.any():
        goal = at(victim, state.x, state.y)

    def body(j: Any, state: BattleState) -> BattleState:
        now = row(strikes, j)
        struck = now & (me == row(victim, j))
        if area:
            source = (row(state.x, j), row(state.y, j))
            foes = row(fight.ally, j) != fight.ally
        if fight.beams.any():
            line = combat.in_beam(
                fight, state.x, state.y, source, (row(goal[0], j), row(goal[1], j))
            )
            struck = jnp.where(row(fight.beams, j), now & foes & line, struck)
        if fight.blasts.any():
            circle = combat.in_blast(fight, state.x, state.y, source)
            struck = jnp.where(row(fight.blasts, j), now & foes & circle, struck)
        damage = jnp.broadcast_to(row(fight.damage, j).T, state.x.shape)
        for number in range(int(at_once.max())):
            state = combat.hit(fight, state, damage, struck & (row(at_once, j) > number))
        return state

    carried = fold(
        N,
        lambda j, part: _parts(body(j, state._replace(**part))),
        _parts(state),
    )
    return state._replace(**carried)


def _parts(state: BattleState) -> dict[str, Array]:
    """What strikes change."""
    return {
        "health": state.health,
        "shield": state.shield,
        "shield_wait": state.shield_wait,
    }


def _grown(fight: Fight, state: BattleState, attacks: Bool[Array, "N E"]) -> BattleState:
    """Medivacs heal, and all grow by a loop's worth."""
    alive = state.health > 0
    if fight.heals.any():
        heals = attacks & fight.heals & (state.energy > 0)

        def body(j: Any, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            health, energy = carry
            patient = row(heals, j) & (index(fight.units) == row(state.target, j)) & alive
            affords = row(energy, j) / np.float32(ENERGY_PER_HEALTH)
            amount = jnp.minimum(fight.health - health, np.float32(HEAL_PER_LOOP))
            amount = jnp.where(patient, jnp.minimum(amount, affords), 0.0)
            spent = jnp.sum(amount, axis=0, keepdims=True) * np.float32(ENERGY_PER_HEALTH)
            mine = index(fight.units) == j
            return health + amount, jnp.where(mine, jnp.maximum(energy - spent, 0.0), energy)

        health, energy = fold(fight.units, body, (state.health, state.energy))
        grown = energy + np.float32(ENERGY_PER_SECOND / LOOPS_PER_SECOND)
        state = state._replace(health=health, energy=jnp.minimum(grown, fight.most_energy))
    return combat.regrown(fight, state, alive)
