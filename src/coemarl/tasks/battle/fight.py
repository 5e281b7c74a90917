"""A fight: a map under a rule set as arrays, and the state of its units.

Units are numbered allies first, then enemies. Every array has the units first; what follows is the
batch of environments, last, where the machine's vectors run along it. Constants are (N, 1), the
state within a step (N, E).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from coemarl.tasks.battle import terrain
from coemarl.tasks.battle.maps import BattleMap, Group, Order
from coemarl.tasks.battle.units import KINDS, LOOPS_PER_SECOND, Kind


class BattleState(NamedTuple):
    """Everything that the next step depends on: (N,) in one environment, (N, E) in E."""

    x: Float[Array, "N *E"]
    y: Float[Array, "N *E"]
    vx: Float[Array, "N *E"]
    """How the unit moved in the last loop, in cells per loop."""
    vy: Float[Array, "N *E"]
    health: Float[Array, "N *E"]
    """0 if and only if the unit is dead."""
    shield: Float[Array, "N *E"]
    energy: Float[Array, "N *E"]
    """Of medivacs."""
    healing: Float[Array, "N *E"]
    """Health that energy already spent still pays for (rules `smaclite`)."""
    cooldown: Float[Array, "N *E"]
    """Loops until the weapon is ready; of rules `liberty` down to -1, a fraction carried over."""
    shield_wait: Float[Array, "N *E"]
    """Loops until shields grow."""
    target: Int[Array, "N *E"]
    """The unit that this one is set to attack or heal; -1 is none."""
    windup: Float[Array, "N *E"]
    """Loops since an attack began that has not yet had its effect."""
    flight: Float[Array, "N *E"]
    """Loops until a hit under way lands (rules `liberty`)."""
    flight_target: Int[Array, "N *E"]
    """Whom the hit under way will land on; -1 is none."""
    home_x: Float[Array, "N *E"]
    """Where the unit found its target: it is not followed too far from there."""
    home_y: Float[Array, "N *E"]
    shots: Int[Array, "N *E"]
    """Whom the unit last attacked or healed in this step; -1 is none. For pictures."""
    order: Float[Array, "2 *E"]
    """Where the enemies attack."""
    last_actions: Int[Array, "A *E"]
    """The joint action of the last step; -1 after a reset."""
    steps: Int[Array, "*E"]


@dataclass(frozen=True, eq=False)
class Fight:
    """What never changes in a fight. Times in loops, speeds in cells per loop."""

    map: BattleMap
    rules: str
    kinds: tuple[str, ...]
    """Of each unit."""
    allies: int
    """A: units 0 to A - 1 are allies."""
    units: int
    """N."""
    order: Order
    """Where the enemies attack."""
    cells: np.ndarray
    start_x: np.ndarray
    start_y: np.ndarray
    health: np.ndarray
    shield: np.ndarray
    energy: np.ndarray
    most_energy: np.ndarray
    armour: np.ndarray
    radius: np.ndarray
    body: np.ndarray
    clearance: np.ndarray
    """How far the centre keeps from walls."""
    speed: np.ndarray
    range: np.ndarray
    period: np.ndarray
    scan: np.ndarray
    regeneration: np.ndarray
    """Health per loop."""
    damage_point: np.ndarray
    second_hit: np.ndarray
    missile: np.ndarray
    slop: np.ndarray
    hits: np.ndarray
    cooldown_scale: np.ndarray
    air: np.ndarray
    climbs: np.ndarray
    heals: np.ndarray
    beams: np.ndarray
    blasts: np.ndarray
    damage: np.ndarray
    """(N, N): of one hit of the first on the second, with its bonus."""
    may_aim: np.ndarray
    """(N, N): whether the first's weapon (or healing) works on the second at all."""
    enemy_kinds: tuple[str, ...]
    """The enemy's kinds in the order of their numbers."""
    ally_kinds: tuple[str, ...]

    @property
    def enemies(self) -> int:
        return self.units - self.allies

    @property
    def ally(self) -> np.ndarray:
        """bool (N, 1)."""
        return (np.arange(self.units) < self.allies)[:, None]


def make_fight(battle: BattleMap, rules: str) -> Fight:
    """The fight on a map under a rule set."""
    table = KINDS[rules]
    ground = battle.terrain_smaclite if rules == "smaclite" else battle.terrain
    cells = terrain.open_cells(ground)
    allies = _side(battle, table, rules, cells, ally=True)
    enemies = _side(battle, table, rules, cells, ally=False)
    everyone = [*allies, *enemies]
    kinds = [table[name] for name, _, _ in everyone]
    ally_kinds = tuple(sorted({name for name, _, _ in allies}))
    enemy_kinds = tuple(sorted({name for name, _, _ in enemies}))
    swapped = battle.enemy_kinds if rules == "liberty" else None

    def column(field: str, scale: float = 1.0) -> np.ndarray:
        return np.array([[getattr(kind, field) * scale] for kind in kinds], np.float32)

    radius = column("radius")
    body = np.array([[kind.radius if kind.body is None else kind.body] for kind in kinds])
    heals = np.array([[kind.attack == "heal"] for kind in kinds])
    air = np.array([[kind.air] for kind in kinds])
    loops = float(LOOPS_PER_SECOND)
    return Fight(
        map=battle,
        rules=rules,
        kinds=tuple(name for name, _, _ in everyone),
        allies=len(allies),
        units=len(everyone),
        order=battle.order_smaclite if rules == "smaclite" else battle.order,
        cells=cells,
        start_x=np.array([x for _, x, _ in everyone], np.float32),
        start_y=np.array([y for _, _, y in everyone], np.float32),
        health=column("health"),
        shield=column("shield"),
        energy=np.array([[kind.energy[0]] for kind in kinds], np.float32),
        most_energy=np.array([[kind.energy[1]] for kind in kinds], np.float32),
        armour=column("armour"),
        radius=radius,
        body=body.astype(np.float32),
        # SMAClite's centres come up to the walls themselves.
        clearance=np.minimum(body, 0.375 if rules == "liberty" else 1e-3).astype(np.float32),
        speed=column("speed", 1 / loops),
        range=column("range"),
        period=column("period", loops),
        scan=column("scan"),
        regeneration=column("regeneration", 1 / loops),
        damage_point=column("damage_point", loops),
        second_hit=column("second_hit", loops),
        missile=column("missile", 1 / loops),
        slop=column("slop"),
        hits=column("hits"),
        cooldown_scale=column("cooldown_scale"),
        air=air,
        climbs=np.array([[kind.climbs] for kind in kinds]),
        heals=heals,
        beams=np.array([[kind.attack == "beam"] for kind in kinds]),
        blasts=np.array([[kind.attack == "blast"] for kind in kinds]),
        damage=_damage(kinds),
        may_aim=_may_aim(kinds, len(allies)),
        enemy_kinds=swapped or enemy_kinds,
        ally_kinds=ally_kinds,
    )


def _damage(kinds: list[Kind]) -> np.ndarray:
    def of(one: Kind, other: Kind) -> float:
        more = sum(extra for trait, extra in (one.bonus or {}).items() if trait in other.traits)
        return one.damage + more

    return np.array([[of(one, other) for other in kinds] for one in kinds], np.float32)


def _may_aim(kinds: list[Kind], allies: int) -> np.ndarray:
    def of(i: int, j: int) -> bool:
        friends, heals = (i < allies) == (j < allies), kinds[i].attack == "heal"
        reaches = not kinds[j].air or kinds[i].hits_air
        return i != j and friends == heals and reaches

    return np.array([[of(i, j) for j in range(len(kinds))] for i in range(len(kinds))])


# Where the units start

Placed = tuple[str, float, float]
"""A kind, and the place of a unit of it."""


def _side(
    battle: BattleMap, table: dict[str, Kind], rules: str, cells: np.ndarray, ally: bool
) -> list[Placed]:
    """A side's units in the order of their numbers."""
    groups = [group for group in battle.groups if group.ally == ally]
    if rules == "smaclite":
        return [unit for group in groups for unit in _block(group, table)]
    placed: list[Placed] = []
    for group in groups:
        _gather(group, table, cells, placed)
    # The original sorts the allies, and has the enemies as the engine lists them.
    return sorted(placed) if ally else placed


def _block(group: Group, table: dict[str, Kind]) -> list[Placed]:
    """SMAClite's: a square block of rows around the point, the enemies' turned by 180 degrees."""
    gap, names = 0.05, [name for name, count in group.units for _ in range(count)]
    side = math.ceil(math.sqrt(len(names)))
    rows = [names[k : k + side] for k in range(0, len(names), side)]
    sizes = [[2 * table[name].radius for name in row] for row in rows]
    spare = gap * (side - 1) / 2
    up = -sum(max(row) for row in sizes) / 2 - spare
    turn = 1.0 if group.ally else -1.0
    at_x, at_y = (round(part, 2) for part in group.at)
    widest, placed = max(sum(row) for row in sizes), []
    for row, row_sizes in zip(rows, sizes, strict=True):
        right = -widest / 2
        for name, size in zip(row, row_sizes, strict=True):
            x, y = right + size / 2, up + max(row_sizes) / 2
            placed.append((name, at_x + turn * x, at_y + turn * y))
            right += size + gap
        up += max(row_sizes) + gap
    return placed


def _gather(group: Group, table: dict[str, Kind], cells: np.ndarray, placed: list[Placed]) -> None:
    """The first unit on the point, each other on the nearest free spot, as the engine does it."""
    steps = np.arange(-64, 65) / 4
    dx, dy = (part.reshape(-1) for part in np.meshgrid(steps, steps, indexing="ij"))
    nearest = np.lexsort((np.arctan2(dy, dx), dx * dx + dy * dy))
    spots = np.stack([group.at[0] + dx, group.at[1] + dy], 1)[nearest]
    inside = np.all((spots >= 0) & (spots < terrain.SIZE), axis=1)
    whole = np.where(inside[:, None], spots, 0).astype(int)
    spots = spots[inside & cells[whole[:, 0], whole[:, 1]]]

    def body(name: str) -> float:
        kind = table[name]
        return kind.radius if kind.body is None else kind.body

    for name in (name for name, count in group.units for _ in range(count)):
        free = np.ones(len(spots), bool)
        for other, x, y in placed:
            if table[other].air == table[name].air:
                apart = np.hypot(spots[:, 0] - x, spots[:, 1] - y)
                free &= apart >= body(name) + body(other)
        if not free.any():
            raise ValueError(f"map {group.at}: no room for so many units")
        x, y = spots[np.argmax(free)]
        placed.append((name, float(x), float(y)))


def initial_state(fight: Fight, order: Float[Array, "2 E"]) -> BattleState:
    """All units at their places, whole: (N, E)."""
    environments = order.shape[1]

    def full(values: np.ndarray) -> Array:
        return jnp.broadcast_to(jnp.asarray(values), (fight.units, environments))

    zeros, none = full(np.zeros((1, 1), np.float32)), full(np.full((1, 1), -1, np.int32))
    x, y = full(fight.start_x[:, None]), full(fight.start_y[:, None])
    return BattleState(
        x=x,
        y=y,
        vx=zeros,
        vy=zeros,
        health=full(fight.health),
        shield=full(fight.shield),
        energy=full(fight.energy),
        healing=zeros,
        cooldown=zeros,
        shield_wait=zeros,
        target=none,
        windup=zeros,
        flight=zeros,
        flight_target=none,
        home_x=x,
        home_y=y,
        shots=none,
        order=order,
        last_actions=none[: fight.allies],
        steps=jnp.zeros(environments, jnp.int32),
    )


def order_of(fight: Fight, fraction: Float[Array, " E"]) -> Float[Array, "2 E"]:
    """Where the enemies attack, given a uniform number for maps that draw it.

    (For "allies" the point is not used: it is the nearest ally, wherever that is.)
    """
    order = fight.order
    if isinstance(order, tuple):
        return jnp.broadcast_to(jnp.asarray(order, jnp.float32)[:, None], (2, fraction.shape[0]))
    ends = np.stack([fight.start_x, fight.start_y])[:, : fight.allies]
    first, last = ends[:, :1], ends[:, -1:]
    return jnp.asarray(first) + jnp.asarray(last - first) * fraction[None, :]
