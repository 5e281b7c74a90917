"""The contract with the team: available actions, observations, the state, reward and ends.

All as the original has them, constants and quirks included, whatever the rules of the fight.

Actions: 0 nothing (the dead's only one), 1 stop, 2 to 5 north, south, east, west, 6 + k attack
enemy k (a medivac heals ally k). A move is available if the point one cell ahead lies in an open
cell. An attack is available on the living within 6, centre to centre, whatever the weapon's range.

An observation is all zeros for the dead. Else, in this order:
    which of the four moves are available
    each enemy: whether it can be attacked, distance, dx, dy (each / 9), health, [shield], [kind]
    each other ally: 1, distance, dx, dy, health, [shield], [kind], [its last action]
    itself: health, [shield], [kind]
A row is zero unless the other is alive and closer than 9. Health and shield are shares of the
whole. Shield columns exist for a side that has any, kinds (one-hot) if any side has several. A
medivac's column "can be attacked" says of enemy k whether ally k can be healed.

The state: each ally's health, cooldown (medivacs: energy), x, y, [shield], [kind]; each enemy's the
same without cooldown; the allies' last actions, one-hot. Places are (x - 16) / 32. The dead are
zero.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from coemarl.tasks.battle import terrain
from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.orders import ATTACK, MOVE_AMOUNT

SIGHT, SHOT = 9.0, 6.0
REWARD_WIN, REWARD_DEATH, REWARD_SCALE = 200.0, 10.0, 20.0
NEGATIVE_SCALE = 0.5


# Sizes


def num_actions(fight: Fight) -> int:
    """Actions of an agent."""
    return ATTACK + fight.enemies


def kind_bits(fight: Fight) -> int:
    """Columns that say a unit's kind: none where each side has one kind only."""
    if len(fight.ally_kinds) == 1 and len(fight.enemy_kinds) == 1:
        return 0
    return len(set(fight.ally_kinds) | set(fight.enemy_kinds))


def max_reward(fight: Fight) -> float:
    """What a win without regeneration earns before scaling."""
    whole = float((fight.health + fight.shield)[fight.allies :].sum())
    return REWARD_DEATH * fight.enemies + REWARD_WIN + whole


def observation_size(fight: Fight, last_action: bool = False) -> int:
    """How many numbers an agent observes."""
    bits, (ally, enemy) = kind_bits(fight), _has_shields(fight)
    actions = num_actions(fight) if last_action else 0
    others = (fight.allies - 1) * (5 + ally + bits + actions)
    return 4 + fight.enemies * (5 + enemy + bits) + others + 1 + ally + bits


def state_size(fight: Fight, last_action: bool = True) -> int:
    """How many numbers the state has."""
    bits, (ally, enemy) = kind_bits(fight), _has_shields(fight)
    rows = fight.allies * (4 + ally + bits) + fight.enemies * (3 + enemy + bits)
    return rows + (fight.allies * num_actions(fight) if last_action else 0)


def _has_shields(fight: Fight) -> tuple[bool, bool]:
    """Whether allies and enemies have shields, and so a column for them."""
    A = fight.allies
    return bool(fight.shield[:A].any()), bool(fight.shield[A:].any())


def _kind_columns(fight: Fight) -> np.ndarray:
    """One-hot kinds (N, bits)."""
    bits, A = kind_bits(fight), fight.allies
    columns = np.zeros((fight.units, bits), np.float32)
    if bits:
        everyone = sorted(set(fight.ally_kinds) | set(fight.enemy_kinds))
        # Both sides are numbered alike, but for maps where the original numbers the enemy's anew.
        enemy = list(fight.enemy_kinds) if set(fight.enemy_kinds) == set(everyone) else everyone
        for i, kind in enumerate(fight.kinds):
            columns[i, (everyone if i < A else enemy).index(kind)] = 1.0
    return columns


# What is available


def available(fight: Fight, state: BattleState) -> Bool[Array, "A U E"]:
    """Which actions each agent may take."""
    A = fight.allies
    alive = state.health[:A] > 0
    x, y, ahead = state.x[:A], state.y[:A], MOVE_AMOUNT / 2
    steps = ((0.0, ahead), (0.0, -ahead), (ahead, 0.0), (-ahead, 0.0))
    # The original truncates, so that -0.9 lies in cell 0; SMAClite does not.
    whole = jnp.floor if fight.rules == "smaclite" else jnp.trunc
    moves = [alive & terrain.is_open(fight.cells, whole(x + dx), whole(y + dy)) for dx, dy in steps]
    first = jnp.stack([~alive, alive, *moves], axis=1)
    return jnp.concatenate([first, _aims(fight, state)], axis=1)


def _aims(fight: Fight, state: BattleState) -> Bool[Array, "A enemies E"]:
    """Whether each agent may attack enemy k, or heal ally k."""
    A, enemies = fight.allies, fight.enemies
    near = _apart(state, A)[2] <= SHOT
    alive = state.health > 0
    near = near & alive[None] & alive[:A, None]
    attacks = near[:, A:]
    if not fight.heals[:A].any():
        return attacks
    healed = near[:, :A] & jnp.asarray(~fight.heals[:A].T & ~np.eye(A, dtype=bool))[:, :, None]
    healed = _resized(healed, enemies)
    return jnp.where(fight.heals[:A, :, None], healed, attacks)


def _resized(rows: Bool[Array, "A B E"], length: int) -> Bool[Array, "A length E"]:
    """The second axis cut, or filled with False."""
    short = max(length - rows.shape[1], 0)
    return jnp.pad(rows, ((0, 0), (0, short), (0, 0)))[:, :length]


def _apart(state: BattleState, agents: int) -> tuple[Array, Array, Array]:
    """From each agent to each unit: dx, dy and distance (A, N, E)."""
    dx = state.x[None] - state.x[:agents, None]
    dy = state.y[None] - state.y[:agents, None]
    return dx, dy, jnp.sqrt(dx * dx + dy * dy)


# What is seen


def observe(
    fight: Fight, state: BattleState, avail: Bool[Array, "A U E"], last_action: bool = False
) -> Float[Array, "A D E"]:
    """What each agent observes."""
    A, E = fight.allies, state.x.shape[1]
    ally_shields, enemy_shields = _has_shields(fight)
    dx, dy, distance = _apart(state, A)
    alive = state.health > 0
    seen = alive[None] & alive[:A, None] & (distance < SIGHT)
    health, shield = _shares(fight, state)
    kinds = _kind_columns(fight)

    def rows(first: Array, units: slice, shields: bool, more: list[Array]) -> Array:
        """Rows (A, units, F, E) of what is seen of these units."""
        shape = dx[:, units].shape
        place = [part[:, units] / np.float32(SIGHT) for part in (distance, dx, dy)]
        own = [jnp.broadcast_to(health[None, units], shape)]
        if shields:
            own.append(jnp.broadcast_to(shield[None, units], shape))
        own += [
            jnp.broadcast_to(jnp.asarray(kinds[None, units, k, None]), shape)
            for k in range(kinds.shape[1])
        ]
        columns = jnp.stack([jnp.broadcast_to(first, shape), *place, *own, *more], axis=2)
        return jnp.where(seen[:, units, None], columns, 0.0)

    moves = avail[:, 2:6].astype(jnp.float32)
    foes = rows(avail[:, ATTACK:].astype(jnp.float32), slice(A, None), enemy_shields, [])
    done = _last_actions(fight, state) if last_action else jnp.zeros((A, 0, E))
    shape = (A, A, E)
    more = [jnp.broadcast_to(done[None, :, u], shape) for u in range(done.shape[1])]
    friends = rows(jnp.ones((1, 1, 1), jnp.float32), slice(0, A), ally_shields, more)
    # Without themselves: of ally a, the first a rows are as they are, the rest one further.
    order = np.arange(A - 1)[None] + (np.arange(A - 1)[None] >= np.arange(A)[:, None])
    friends = friends[np.arange(A)[:, None], order]
    own = [health[:A, None]] + ([shield[:A, None]] if ally_shields else [])
    own += [jnp.broadcast_to(jnp.asarray(kinds[:A, :, None]), (A, kinds.shape[1], E))]
    parts = [moves, foes.reshape(A, -1, E), friends.reshape(A, -1, E), *own]
    return jnp.where(alive[:A, None], jnp.concatenate(parts, axis=1), 0.0)


def _shares(fight: Fight, state: BattleState) -> tuple[Array, Array]:
    """Health and shield as shares of the whole (N, E)."""
    return state.health / fight.health, state.shield / np.maximum(fight.shield, 1.0)


def _last_actions(fight: Fight, state: BattleState) -> Float[Array, "A U E"]:
    """One-hot; zeros after a reset."""
    action = jnp.arange(num_actions(fight), dtype=jnp.int32)[None, :, None]
    return (state.last_actions[:, None] == action).astype(jnp.float32)


def global_state(fight: Fight, state: BattleState, last_action: bool = True) -> Float[Array, "S E"]:
    """The state that training may see."""
    A, E = fight.allies, state.x.shape[1]
    ally_shields, enemy_shields = _has_shields(fight)
    health, shield = _shares(fight, state)
    kinds = _kind_columns(fight)
    energy = state.energy / np.maximum(fight.most_energy, 1.0)
    cooldown = jnp.maximum(state.cooldown, 0.0) / fight.cooldown_scale
    cooldown = jnp.where(fight.heals, energy, cooldown)
    middle, size = np.float32(terrain.SIZE / 2), np.float32(terrain.SIZE)
    place = [(state.x - middle) / size, (state.y - middle) / size]

    def rows(units: slice, columns: list[Array]) -> Array:
        bits = jnp.broadcast_to(jnp.asarray(kinds[units, :, None]), (*kinds[units].shape, E))
        both = jnp.concatenate([jnp.stack([c[units] for c in columns], axis=1), bits], axis=1)
        return jnp.where(state.health[units, None] > 0, both, 0.0).reshape(-1, E)

    allies = rows(slice(0, A), [health, cooldown, *place, *([shield] if ally_shields else [])])
    foes = rows(slice(A, None), [health, *place, *([shield] if enemy_shields else [])])
    done = [_last_actions(fight, state).reshape(-1, E)] if last_action else []
    return jnp.concatenate([allies, foes, *done])


# How it ends


def ends(fight: Fight, state: BattleState) -> tuple[Bool[Array, " E"], Bool[Array, " E"]]:
    """Whether the battle is won, and whether it is over for another reason.

    Who has nobody left has lost; if nobody is left at all, nobody has won. Medivacs alone cannot go
    on: allies then have lost, and an enemy's last medivac is no enemy. SMAClite fights those out,
    and counts a battle without survivors as won.
    """
    A = fight.allies
    alive = state.health > 0
    ours, theirs = jnp.any(alive[:A], axis=0), jnp.any(alive[A:], axis=0)
    if fight.rules == "smaclite":
        return ~theirs, ~ours
    ours_fight = jnp.any(alive[:A] & ~fight.heals[:A], axis=0)
    fighters = jnp.any(alive[A:] & ~fight.heals[A:], axis=0)
    medivacs = jnp.sum(alive[A:] & fight.heals[A:], axis=0, dtype=jnp.int32)
    beaten = ~fighters & (medivacs <= 1)
    won = beaten & ours_fight
    return won, ~won & (~ours_fight | ~theirs)


def reward(
    fight: Fight,
    before: BattleState,
    after: BattleState,
    won: Bool[Array, " E"],
    only_positive: bool,
    death_value: float,
    win: float,
    defeat: float,
    lost: Bool[Array, " E"],
    negative_scale: float,
) -> Float[Array, " E"]:
    """A step's reward before scaling: what the enemies' health and shields changed by, 10 for each
    of their deaths, and the end's. With `only_positive` its absolute value, so that what they
    regain is paid too (as the original does); else less half of the allies' losses."""
    change = (before.health + before.shield) - jnp.where(
        after.health > 0, after.health + after.shield, 0.0
    )
    change = jnp.where(before.health > 0, change, 0.0)
    died = (before.health > 0) & (after.health <= 0)
    value = change + np.float32(death_value) * died.astype(jnp.float32)
    A = fight.allies
    gained, given = jnp.sum(value[A:], axis=0), jnp.sum(value[:A], axis=0)
    base = jnp.abs(gained) if only_positive else gained - np.float32(negative_scale) * given
    end = jnp.where(won, np.float32(win), jnp.where(lost, np.float32(defeat), 0.0))
    return base + end


def deaths(fight: Fight, state: BattleState) -> tuple[Int[Array, " E"], Int[Array, " E"]]:
    """How many allies and enemies are dead."""
    dead, A = state.health <= 0, fight.allies
    return jnp.sum(dead[:A], 0, dtype=jnp.int32), jnp.sum(dead[A:], 0, dtype=jnp.int32)
