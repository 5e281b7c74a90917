"""Pathing of the rules `liberty`: the shortest way around walls.

Ways bend at corners of walls only. For each pair of cells, start and goal, a table holds the first
corner of the shortest way, or says that the goal can be gone to straight. It is made once for a
map, and not at all for maps without anything to go around.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from coemarl.tasks.battle.fight import Fight
from coemarl.tasks.battle.terrain import SIZE, is_box

MARGIN = 0.4
"""How far ways keep from walls, in cells."""
SAMPLES = 80
"""Points of a line that are looked at: two to a cell, even of the longest."""
STRAIGHT = -1


def next_point(
    fight: Fight, place: tuple[Array, Array], goal: tuple[Array, Array]
) -> tuple[Array, Array]:
    """The point to head for, straight, on the way to a goal: (x, y) of shape (N, E)."""
    ways = ways_of(fight.cells.tobytes())
    if ways is None:
        return goal
    corners, table = ways

    def cell(point: tuple[Array, Array]) -> Array:
        column, row = (jnp.clip(jnp.floor(part), 0, SIZE - 1).astype(jnp.int32) for part in point)
        return column * SIZE + row

    corner = jnp.asarray(table)[cell(place), cell(goal)].astype(jnp.int32)
    free = (corner < 0) | fight.air | fight.climbs
    points = jnp.asarray(corners)
    which = jnp.maximum(corner, 0)
    return (
        jnp.where(free, goal[0], points[which, 0]),
        jnp.where(free, goal[1], points[which, 1]),
    )


@functools.lru_cache(maxsize=32)
def ways_of(cells_bytes: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """Corners (C, 2) and the table (1024, 1024) of the first corner from cell to cell; None if
    every open cell sees every other."""
    cells = np.frombuffer(cells_bytes, bool).reshape(SIZE, SIZE)
    if is_box(cells):
        return None
    places = np.argwhere(cells)
    centres = places + 0.5
    sees = _sees(cells, centres, centres, 0.0)
    if sees.all():
        return None
    corners = corners_of(cells)
    from_cell = _sees(cells, centres, corners, 0.3)
    between = _sees(cells, corners, corners, 0.3)
    apart = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    length = np.where(between, apart, np.inf)
    for k in range(len(corners)):
        length = np.minimum(length, length[:, k : k + 1] + length[k : k + 1])
    first = np.where(from_cell, np.linalg.norm(centres[:, None] - corners[None], axis=2), np.inf)
    # From each corner to each goal, by way of a last corner that sees it.
    last = np.min(length[:, None, :] + first[None], axis=2)
    table = np.full((SIZE * SIZE, SIZE * SIZE), STRAIGHT, np.int16)
    flat = places[:, 0] * SIZE + places[:, 1]
    # A straight way keeps clear of walls too, unless nothing else does.
    clear = _sees(cells, centres, centres, 0.3)
    for number, start in enumerate(flat):
        total = first[number][:, None] + last
        best = np.argmin(total, axis=0)
        bends = ~clear[number] & np.isfinite(total.min(axis=0))
        table[start, flat[bends]] = best[bends]
    return corners.astype(np.float32), table


def corners_of(cells: np.ndarray) -> np.ndarray:
    """Points just off the corners of walls that open cells surround."""
    padded = np.pad(cells, 1)
    found = []
    for x in range(SIZE + 1):
        for y in range(SIZE + 1):
            around = padded[x : x + 2, y : y + 2]  # the four cells that meet here
            if around.sum() != 3:
                continue
            wall = np.argwhere(~around)[0]
            found.append((x + MARGIN * (1 - 2 * wall[0]), y + MARGIN * (1 - 2 * wall[1])))
    return np.array(found, float)


def _sees(cells: np.ndarray, starts: np.ndarray, goals: np.ndarray, margin: float) -> np.ndarray:
    """Whether the line from each start to each goal stays in open cells: bool (starts, goals).

    With a margin, lines that far to the left and right do too.
    """
    out = np.ones((len(starts), len(goals)), bool)
    padded = np.pad(cells, 1)
    starts, goals = starts.astype(np.float32), goals.astype(np.float32)
    across = np.array([0.0]) if margin == 0 else np.array([-margin, margin])
    for i, start in enumerate(starts):
        way = goals - start
        length = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
        left = np.stack([-way[:, 1], way[:, 0]], axis=1) / length
        samples = np.linspace(0, 1, SAMPLES, dtype=np.float32)
        for shift in across:
            points = start + shift * left[:, None] + samples[:, None] * way[:, None] + 1
            column, row = (points[..., k].astype(np.int16) for k in (0, 1))
            out[i] &= padded[column, row].all(axis=1)
    return out
