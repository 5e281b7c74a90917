"""Parity of battles: recorded episodes of SMAClite against the rules `smaclite`.

A recording of whole episodes holds, for T steps of all its episodes one after the other, `actions`
(T, A), `reward`, `terminated`, `truncated`, `battle_won`; for each episode's steps and one row more
`units` (rows, N, 8) and `avail` (rows, A, U); and likewise `obs` and `state`, of all episodes or of
those listed in `obs_episodes`; `ep_len`, `unit_names`, `unit_is_ally`, and `meta`, JSON with the
map's name. A recording of loops holds one episode: `units` (8 T + 1, N, 8), `actions`, and the map
in its name, `ticks_MAP_POLICY.npz`. A unit's eight numbers are x, y, health, shield, cooldown in
seconds (medivacs: energy), seconds until shields grow, target (-1: none), and whether it lives.

What is compared.
* Of every row: actions available, observations and state, made from the recorded units.
* Of every step: its end; and its reward, made from the units before and after. Where enemies could
  regain health or shield in between, SMAClite pays for what was hit and not for the change: there
  the reward has to lie between the change and the change plus what they could regain.
* Of steps (of loops) by injection: the units that our rules make of the recorded ones. Left out are
  those in which somebody dies (a random order decides who still strikes) or a medivac heals (what
  energy has paid for is not recorded), and those with a unit on the ground at a wall, where
  SMAClite's own avoidance is defective. Units so close that they may avoid one another are left out
  of steps, since their velocities are not recorded; of loops they are known. What a step does to
  health and cooldowns is compared where no unit is left out.
"""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coemarl.parity.report import ParityRow, differs
from coemarl.tasks.battle import contract, maps, pathing, smaclite
from coemarl.tasks.battle.fight import BattleState, Fight, initial_state, make_fight
from coemarl.tasks.battle.orders import Orders, orders_of
from coemarl.tasks.battle.task import LOOPS, played
from coemarl.tasks.battle.units import LOOPS_PER_SECOND

TOLERANCE = 1e-5
"""Of observations, state and rewards."""
PLACE_TOLERANCE, COOLDOWN_TOLERANCE, HEALTH_TOLERANCE = 2e-3, 2e-3, 0.15
"""Of injected steps: cells, loops, and points of health and shield, of which a loop's growth hangs
on the random order of units."""
WALL_MARGIN = 1.25
"""Cells from a wall, beside a unit's radius and its way, where steps are left out."""
CORNER = 3.5
"""Cells from the corner of a wall, which SMAClite's units avoid from afar, likewise."""

CHUNK = 512
"""Rows compared at once: all recordings of one map share their programs."""

X, Y, HEALTH, SHIELD, COOLDOWN, SHIELD_WAIT, TARGET, ALIVE = range(8)


def recognises(arrays: dict[str, np.ndarray]) -> bool:
    """Whether these are units of a battle."""
    return {"units", "unit_names", "actions"} <= arrays.keys()


def replay(file: Path, arrays: dict[str, np.ndarray]) -> ParityRow:
    """All that a recording holds, compared."""
    episodes = "ep_len" in arrays
    names = _EPISODES if episodes else ("units", "actions", "unit_names")
    lost = [name for name in names if name not in arrays]
    if lost:
        raise ValueError(f"{file.name}: a recording without {', '.join(lost)}")
    fight = _fight(map_of(file, arrays))
    arrays = _in_our_order(file, fight, arrays)
    return _episodes(file, fight, arrays) if episodes else _loops(file, fight, arrays)


_EPISODES = (
    "units",
    "actions",
    "unit_names",
    "unit_is_ally",
    "avail",
    "obs",
    "state",
    "reward",
    "terminated",
    "truncated",
    "battle_won",
    "ep_len",
    "meta",
)


def map_of(file: Path, arrays: dict[str, np.ndarray]) -> str:
    """The map of a recording; ValueError if it is not said or not known."""
    if "meta" in arrays:
        try:
            name = json.loads(str(arrays["meta"]))["map"]
        except (json.JSONDecodeError, KeyError, TypeError):
            raise ValueError(f"{file.name}: its meta is not JSON that names a map") from None
    else:
        found = re.fullmatch(r"ticks_(.+)_[^_]+", file.stem)
        name = found[1] if found else file.stem
    if name not in maps.names():
        raise ValueError(f"{file.name}: of the map '{name}', which is none of ours")
    return name


@functools.lru_cache(maxsize=64)
def _fight(name: str) -> Fight:
    return make_fight(maps.load(name), "smaclite")


def _in_our_order(file: Path, fight: Fight, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The recording with allies before enemies, and targets numbered so."""
    units = np.asarray(arrays["units"], np.float32)
    names = [str(name) for name in arrays["unit_names"]]
    if "unit_is_ally" in arrays:
        ally = np.asarray(arrays["unit_is_ally"], bool)
    else:
        ally = _sides(fight, names)
    order = np.concatenate([np.flatnonzero(ally), np.flatnonzero(~ally)])
    if [names[i] for i in order] != list(fight.kinds) or units.shape[1:] != (fight.units, 8):
        raise ValueError(f"{file.name}: its units are not those of the map {fight.map.name}")
    units = units[:, order]
    new_number = np.full(fight.units + 1, -1)
    new_number[order] = np.arange(fight.units)
    units[..., TARGET] = new_number[units[..., TARGET].astype(int)]
    return {**arrays, "units": units, "actions": np.asarray(arrays["actions"]).astype(np.int32)}


def _sides(fight: Fight, names: list[str]) -> np.ndarray:
    """Which units are allies, if only the order of their kinds says so: sides stand together."""
    A, kinds = fight.allies, list(fight.kinds)
    first = np.arange(len(names)) < A
    return first if names[:A] == kinds[:A] else ~(np.arange(len(names)) < fight.enemies)


def state_of(
    fight: Fight,
    units: jax.Array,
    last_actions: jax.Array,
    velocity: tuple[jax.Array, jax.Array] | None = None,
) -> BattleState:
    """The state that recorded units (N, 8, E) are in."""
    rate = np.float32(LOOPS_PER_SECOND)
    blank = initial_state(fight, jnp.zeros((2, units.shape[-1])))
    alive = units[:, ALIVE] > 0
    cooldown = jnp.where(fight.heals, 0.0, units[:, COOLDOWN] * rate)
    return blank._replace(
        x=units[:, X],
        y=units[:, Y],
        vx=jnp.zeros_like(units[:, X]) if velocity is None else velocity[0],
        vy=jnp.zeros_like(units[:, Y]) if velocity is None else velocity[1],
        health=jnp.where(alive, units[:, HEALTH], 0.0),
        shield=units[:, SHIELD],
        energy=jnp.where(fight.heals, units[:, COOLDOWN], 0.0),
        cooldown=cooldown,
        shield_wait=units[:, SHIELD_WAIT] * rate,
        target=units[:, TARGET].astype(jnp.int32),
        last_actions=last_actions,
        order=_point(fight, units.shape[-1]),
    )


def _point(fight: Fight, rows: int) -> jax.Array:
    order = fight.order
    point = order if isinstance(order, tuple) else (0.0, 0.0)
    return jnp.broadcast_to(jnp.asarray(point, jnp.float32)[:, None], (2, rows))


# Programs: rows of a recording are the environments of a batch


@functools.lru_cache(maxsize=64)
def _contract(name: str) -> Callable[..., dict[str, jax.Array]]:
    fight = _fight(name)

    def made(units: jax.Array, last: jax.Array) -> dict[str, jax.Array]:
        state = state_of(fight, units, last)
        avail = contract.available(fight, state)
        won, over = contract.ends(fight, state)
        return {
            "avail": avail,
            "obs": contract.observe(fight, state, avail),
            "state": contract.global_state(fight, state),
            "won": won,
            "ended": won | over,
        }

    return jax.jit(made)


@functools.lru_cache(maxsize=64)
def _step(name: str) -> Callable[..., dict[str, jax.Array]]:
    fight = _fight(name)

    def made(units: jax.Array, actions: jax.Array) -> dict[str, jax.Array]:
        state = state_of(fight, units, jnp.full_like(actions, -1))
        words = _any_order(fight, actions.shape[-1])
        return _compared(fight, played(fight, words, state, actions)[0])

    return jax.jit(made)


@functools.lru_cache(maxsize=64)
def _loop(name: str) -> Callable[..., dict[str, jax.Array]]:
    fight = _fight(name)

    def made(
        start: jax.Array, before: jax.Array, units: jax.Array, actions: jax.Array
    ) -> dict[str, jax.Array]:
        """One loop of a step that began with the units `start`, after the loop from `before`."""
        none = jnp.full_like(actions, -1)
        velocity = (units[:, X] - before[:, X], units[:, Y] - before[:, Y])
        orders: Orders = orders_of(fight, state_of(fight, start, none), actions)
        state = state_of(fight, units, none, velocity)
        words = _any_order(fight, actions.shape[-1])[0]
        return _compared(fight, smaclite.loop(fight, state, orders, words)[0])

    return jax.jit(made)


def _any_order(fight: Fight, rows: int) -> jax.Array:
    """Words that put the units in the order of their numbers."""
    words = jnp.linspace(0.0, 1.0, fight.units)[None, :, None]
    return jnp.broadcast_to(words, (LOOPS, fight.units, rows))


def _compared(fight: Fight, state: BattleState) -> dict[str, jax.Array]:
    return {
        "place": jnp.stack([state.x, state.y], axis=1),
        "health": jnp.stack([state.health, state.shield], axis=1),
        "cooldown": jnp.where(fight.heals, 0.0, state.cooldown)[:, None],
    }


def _run(program: Callable[..., dict[str, jax.Array]], *inputs: np.ndarray) -> dict[str, Any]:
    """A program on all rows (rows first), chunk by chunk."""
    length, parts = len(inputs[0]), []
    for start in range(0, length, CHUNK):
        part = [array[start : start + CHUNK] for array in inputs]
        short = CHUNK - len(part[0])
        part = [np.concatenate([a, a[:1].repeat(short, 0)]) for a in part]
        out = jax.device_get(program(*(np.moveaxis(a, 0, -1) for a in part)))
        parts.append({name: np.moveaxis(a, -1, 0)[: CHUNK - short] for name, a in out.items()})
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


# Whole episodes


def _episodes(file: Path, fight: Fight, arrays: dict[str, np.ndarray]) -> ParityRow:
    lengths = arrays["ep_len"].astype(int)
    steps, rows = int(lengths.sum()), int((lengths + 1).sum())
    _check_lengths(file, arrays, steps, rows)
    first = np.concatenate([[0], np.cumsum(lengths + 1)[:-1]])
    before = np.concatenate([np.arange(n) + start for n, start in zip(lengths, first, strict=True)])
    after = before + 1
    units, actions = arrays["units"], arrays["actions"]
    last = np.full((rows, fight.allies), -1, np.int32)
    last[after] = actions
    ours = _run(_contract(fight.map.name), units, last)
    wrong_avail, _ = differs(ours["avail"], arrays["avail"])
    observed = _observed(arrays, lengths, first)
    wrong_obs, error_obs = differs(ours["obs"][observed], arrays["obs"], TOLERANCE)
    wrong_state, error_state = differs(ours["state"][observed], arrays["state"], TOLERANCE)
    wrong_reward, error_reward = _rewards(fight, units[before], units[after], arrays)
    limit = int(fight.map.episode_limit)
    step_number = np.concatenate([np.arange(1, n + 1) for n in lengths])
    late = ~ours["ended"][after] & (step_number >= limit)
    ends = np.stack([ours["ended"][after], late, ours["won"][after]], axis=1)
    theirs = np.stack([arrays[n] for n in ("terminated", "truncated", "battle_won")], axis=1)
    wrong_end, _ = differs(ends, theirs)
    calm = _calm(fight, units[before], units[after], LOOPS)
    close = _close(fight, units[before], units[after])
    calm &= np.any(~close & (units[after][..., ALIVE] > 0), axis=1)
    stepped = _run(_step(fight.map.name), units[before][calm], actions[calm]) if any(calm) else {}
    wrong_step, error_step = _injected(fight, stepped, units[after][calm], close[calm])
    return ParityRow(
        file.name,
        steps,
        state=int(wrong_avail.sum() + wrong_state.sum() + wrong_step.sum()),
        observation=int(wrong_obs.sum()),
        reward=int(wrong_reward.sum()),
        end=int(wrong_end.sum()),
        largest_error=max(error_obs, error_state, error_reward, error_step),
        note=f"{int(calm.sum())} of {steps} steps replayed by injection (the others: deaths, "
        "healing, walls, crowds)",
    )


def _check_lengths(file: Path, arrays: dict[str, np.ndarray], steps: int, rows: int) -> None:
    wanted = dict.fromkeys(("actions", "reward", "terminated", "truncated"), steps)
    wanted |= {"battle_won": steps, "units": rows, "avail": rows}
    for name, length in wanted.items():
        if len(arrays[name]) != length:
            raise ValueError(f"{file.name}: {name} has {len(arrays[name])} rows, not {length}")


def _observed(arrays: dict[str, np.ndarray], lengths: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The rows of which observations and state are recorded."""
    listed = [int(e) for e in arrays.get("obs_episodes", np.arange(len(lengths)))]
    rows = [np.arange(int(lengths[e]) + 1) + int(first[e]) for e in listed]
    return np.concatenate(rows)


def _rewards(
    fight: Fight, before: np.ndarray, after: np.ndarray, arrays: dict[str, np.ndarray]
) -> tuple[np.ndarray, float]:
    """Which rewards do not follow from the units before and after, and by how much at most."""
    A = fight.allies
    old, new = before[:, A:].astype(np.float64), after[:, A:].astype(np.float64)
    lived, lives = old[..., ALIVE] > 0, new[..., ALIVE] > 0
    whole = old[..., HEALTH] + old[..., SHIELD]
    left = np.where(lives, new[..., HEALTH] + new[..., SHIELD], 0.0)
    change = np.where(lived, whole - left, 0.0)
    died = lived & ~lives
    value = change.sum(1) + contract.REWARD_DEATH * died.sum(1)
    value = value + contract.REWARD_WIN * arrays["battle_won"]
    scale = contract.max_reward(fight) / contract.REWARD_SCALE
    theirs = arrays["reward"].astype(np.float64)
    regained, uncounted = _slack(fight, old, lived, died)
    below = value / scale - uncounted / scale - theirs
    above = theirs - (value + regained) / scale
    excess = np.maximum(np.maximum(below, above), 0.0)
    return excess > TOLERANCE, float(excess.max(initial=0.0))


def _slack(
    fight: Fight, old: np.ndarray, lived: np.ndarray, died: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What enemies could regain in a step; and kills that SMAClite does not pay (bursts)."""
    A, seconds = fight.allies, LOOPS / LOOPS_PER_SECOND
    grows = fight.regeneration[A:, 0] * LOOPS
    shields = np.where(old[..., SHIELD_WAIT] <= seconds + 1e-4, 2.0 * seconds, 0.0)
    shields = np.where(fight.shield[A:, 0] > 0, shields, 0.0)
    healed = 9.0 * seconds * int(fight.heals[A:].sum()) * ~fight.heals[A:, 0]
    regained = np.where(lived, grows + shields + healed, 0.0).sum(1)
    bursts = (died & fight.blasts[A:, 0]).sum(1) * contract.REWARD_DEATH
    return regained, bursts


# Injection


def _injected(
    fight: Fight, ours: dict[str, np.ndarray], after: np.ndarray, close: np.ndarray
) -> tuple[np.ndarray, float]:
    """Which rows' units differ, and by how much at most; `close` units (rows, N) are left out."""
    if not ours:
        return np.zeros(0, bool), 0.0
    alive = after[..., ALIVE] > 0
    theirs = {
        "place": after[..., [X, Y]],
        "health": after[..., [HEALTH, SHIELD]],
        "cooldown": np.where(fight.heals[:, 0], 0.0, after[..., COOLDOWN] * LOOPS_PER_SECOND)[
            ..., None
        ],
    }
    limits = {
        "place": PLACE_TOLERANCE,
        "health": HEALTH_TOLERANCE,
        "cooldown": COOLDOWN_TOLERANCE,
    }
    alone = ~close & alive
    whole = alive & ~np.any(close & alive, axis=1, keepdims=True)
    wrong, largest = np.zeros(len(after), bool), 0.0
    for name, limit in limits.items():
        judged = alone if name == "place" else whole
        kept = np.where(judged[..., None], ours[name] - theirs[name], 0.0)
        rows, error = differs(kept, np.zeros_like(kept), limit)
        wrong, largest = wrong | rows, max(largest, error)
    return wrong, largest


def _close(fight: Fight, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Units (steps, N) that might come so close to others that they avoid each other."""
    plane = fight.air == fight.air.T
    reach = fight.radius.max() + np.maximum(fight.radius, fight.radius.T)
    way = LOOPS * (fight.speed + fight.speed.T)
    close = np.zeros((len(before), fight.units), bool)
    for units, margin in ((before, 0.0), (after, 0.0), (before, way / 2)):
        dx, dy = (units[:, :, None, k] - units[:, None, :, k] for k in (X, Y))
        alive = units[..., ALIVE] > 0
        both = alive[:, :, None] & alive[:, None, :] & plane & ~np.eye(fight.units, dtype=bool)
        close |= np.any(both & (np.hypot(dx, dy) <= reach + margin + 0.05), axis=2)
    # Who follows one of them is led astray with it.
    followed = close.copy()
    for units in (before, after):
        target = units[..., TARGET].astype(int)
        followed |= (target >= 0) & np.take_along_axis(close, np.maximum(target, 0), axis=1)
    return followed


def _calm(
    fight: Fight, before: np.ndarray, after: np.ndarray, loops: int, healing: bool = False
) -> np.ndarray:
    """Steps without deaths, medivacs (but with `healing`), or anybody on the ground at a wall."""
    died = np.any((before[..., ALIVE] > 0) & ~(after[..., ALIVE] > 0), axis=1)
    walls = np.zeros(len(before), bool)
    for units in (before, after):
        for dx in np.linspace(-1, 1, 7):
            for dy in np.linspace(-1, 1, 7):
                reach = WALL_MARGIN + fight.radius[:, 0] + loops * fight.speed[:, 0] / 2
                x, y = units[..., X] + dx * reach, units[..., Y] + dy * reach
                column, row = np.floor(x).astype(int), np.floor(y).astype(int)
                inside = (column >= 0) & (column < 32) & (row >= 0) & (row < 32)
                wall = inside & ~fight.cells[np.clip(column, 0, 31), np.clip(row, 0, 31)]
                edge = (x < 0) | (x > 32) | (y < 0) | (y > 32)
                ground = (units[..., ALIVE] > 0) & ~fight.air[:, 0] & (fight.speed[:, 0] > 0)
                walls |= np.any(ground & (wall | edge), axis=1)
        for corner_x, corner_y in pathing.corners_of(fight.cells):
            apart = np.hypot(units[..., X] - corner_x, units[..., Y] - corner_y)
            walls |= np.any((units[..., ALIVE] > 0) & ~fight.air[:, 0] & (apart < CORNER), axis=1)
    heals = np.zeros(len(before), bool)
    if fight.heals.any() and not healing:
        heals = np.any((before[..., ALIVE] > 0) & fight.heals[:, 0], axis=1)
    return ~died & ~walls & ~heals


# Loops


def _loops(file: Path, fight: Fight, arrays: dict[str, np.ndarray]) -> ParityRow:
    units, actions = arrays["units"], arrays["actions"]
    steps = len(actions)
    if len(units) != LOOPS * steps + 1:
        raise ValueError(f"{file.name}: units has {len(units)} rows, not 8 * {steps} + 1")
    number = np.arange(LOOPS * steps)
    before, after = units[:-1], units[1:]
    start = units[number // LOOPS * LOOPS]
    earlier = units[np.maximum(number - 1, 0)]
    joint = actions[number // LOOPS]
    calm = _calm(fight, before, after, 1, healing=True) & _all_alive_at_start(start, before)
    inputs = [array[calm] for array in (start, earlier, before, joint)]
    ours = _run(_loop(fight.map.name), *inputs) if calm.any() else {}
    # Of medivacs only what they do not do is judged: who moves and strikes on the ground.
    near = np.repeat(fight.air.T, int(calm.sum()), axis=0)
    wrong, error = _injected(fight, ours, after[calm], near)
    return ParityRow(
        file.name,
        int(calm.sum()),
        state=int(wrong.sum()),
        largest_error=error,
        note=f"single loops, crowds included; {len(number) - int(calm.sum())} near walls, with "
        "deaths or healing left out",
    )


def _all_alive_at_start(start: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Loops of steps in which nobody has died yet: an order to attack a corpse goes on."""
    return ~np.any((start[..., ALIVE] > 0) & ~(before[..., ALIVE] > 0), axis=1)
