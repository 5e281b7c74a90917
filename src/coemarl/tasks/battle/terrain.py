"""Terrain: which cells of the 32 × 32 are open to units on the ground, and keeping them there.

Cell (x, y) covers [x, x+1) × [y, y+1), y up. Terrains are written as ranges of open cells: rows of
y, each with its first and last open x.
"""

import re
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

SIZE = 32

Spans = Sequence[tuple[tuple[int, int], tuple[int, int]]]
"""((first y, last y), (first x, last x)), all inclusive; rows may be named more than once."""


def _rows(first_y: int, *ranges: tuple[int, int]) -> Spans:
    return [((first_y + k, first_y + k), span) for k, span in enumerate(ranges)]


_RAVINE: Spans = [
    *_rows(6, (3, 28), (2, 29), (1, 30)),
    ((9, 11), (0, 31)),
    ((12, 12), (0, 3)),
    ((12, 12), (28, 31)),
    ((13, 16), (0, 31)),
    *_rows(17, (1, 30), (2, 29), (3, 28)),
]

TERRAINS: dict[str, Spans] = {
    "open": [((0, 31), (0, 31))],
    "ring": [((3, 28), (3, 28))],
    "field": [((8, 23), (0, 31))],
    "pentagon": [
        *_rows(7, (8, 19)),
        ((8, 19), (7, 20)),
        *_rows(20, (8, 19), (9, 18), (10, 17), (11, 16), (12, 15)),
    ],
    "corridor": [
        *_rows(1, (2, 13), (1, 13)),
        ((3, 10), (1, 12)),
        *_rows(11, (1, 13), (2, 14), (11, 25), (12, 26), (13, 27), (13, 28), (12, 29)),
        ((18, 21), (11, 30)),
        *_rows(22, (12, 30), (13, 30), (14, 30), (15, 30), (16, 30), (17, 30), (18, 30), (19, 30)),
        *_rows(30, (20, 29)),
    ],
    "ravine": _RAVINE,
    # The original's wall is two cells thick.
    "cliff": [row for row in _RAVINE if row[0] != (13, 16)]
    + [((13, 13), (0, 3)), ((13, 13), (28, 31)), ((14, 16), (0, 31))],
    "octagon": [
        *_rows(5, (10, 21), (9, 22), (8, 23), (7, 24), (6, 25)),
        ((10, 21), (5, 26)),
        *_rows(22, (6, 25), (7, 24), (8, 23), (9, 22), (10, 21)),
    ],
    "hexagon": [
        *_rows(7, (10, 19), (9, 20), (8, 21)),
        ((10, 17), (7, 22)),
        *_rows(18, (8, 21), (9, 20), (10, 19)),
    ],
    "strip": [
        *_rows(1, (2, 7), (1, 8), (1, 11), (1, 12), (1, 12), (1, 12), (1, 15), (2, 16)),
        *_rows(9, (3, 16), (3, 16), (3, 19), (4, 20), (7, 20), (7, 20), (7, 20), (8, 20)),
        *_rows(17, (9, 25), (10, 26), (13, 26), (13, 26), (13, 29), (14, 30), (15, 30), (16, 30)),
        *_rows(25, (19, 30), (19, 30), (19, 30), (20, 30), (21, 30), (22, 29)),
    ],
}


def open_cells(terrain: str | Sequence[str]) -> np.ndarray:
    """Which cells are open: bool (x 32, y 32). A name, or 32 lines of '.' (open) and '#', the
    northernmost first."""
    cells = np.zeros((SIZE, SIZE), bool)
    if not isinstance(terrain, str):
        _check_lines(terrain)
        for row, line in enumerate(terrain):
            cells[:, SIZE - 1 - row] = [sign == "." for sign in line]
        if not cells.any():
            raise ValueError("its terrain has no open cell: '.' is one")
        return cells
    if terrain not in TERRAINS:
        raise ValueError(
            f"no terrain '{terrain}': there are {', '.join(TERRAINS)}, or 32 lines of 32 '.', '#'"
        )
    for (first_y, last_y), (first_x, last_x) in TERRAINS[terrain]:
        cells[first_x : last_x + 1, first_y : last_y + 1] = True
    return cells


def _check_lines(lines: Sequence[str]) -> None:
    right = len(lines) == SIZE and all(
        isinstance(line, str) and re.fullmatch(r"[.#]{32}", line) for line in lines
    )
    if not right:
        raise ValueError("a terrain is a name, or 32 lines of 32 signs '.' (open) and '#' (wall)")


def box_of(cells: np.ndarray) -> tuple[float, float, float, float]:
    """The least rectangle around all open cells: left, bottom, right, top."""
    xs, ys = np.nonzero(cells.any(1))[0], np.nonzero(cells.any(0))[0]
    return float(xs[0]), float(ys[0]), float(xs[-1] + 1), float(ys[-1] + 1)


def is_box(cells: np.ndarray) -> bool:
    """Whether the open cells are one rectangle: then a clamp keeps units inside."""
    left, bottom, right, top = (int(side) for side in box_of(cells))
    return bool(cells[left:right, bottom:top].all())


def is_open(cells: np.ndarray, x: Float[Array, "*N"], y: Float[Array, "*N"]) -> Bool[Array, "*N"]:
    """Whether points lie in open cells of the map."""
    column, row = jnp.floor(x).astype(jnp.int32), jnp.floor(y).astype(jnp.int32)
    inside = (column >= 0) & (column < SIZE) & (row >= 0) & (row < SIZE)
    flat = jnp.asarray(cells.reshape(-1))
    return inside & flat[jnp.where(inside, column * SIZE + row, 0)]


def faces(cells: np.ndarray) -> np.ndarray:
    """For each cell, where the nearest walls in its row and column begin: west, east, south and
    north, float (32 * 32, 4). The map's border is no wall: it is infinitely far."""
    found = np.full((SIZE, SIZE, 4), [-np.inf, np.inf, -np.inf, np.inf])
    for line in range(SIZE):
        for along, row in ((0, cells[:, line]), (2, cells[line])):
            walls = np.flatnonzero(~row)
            for k in range(SIZE):
                before, after = walls[walls < k], walls[walls > k]
                cell = found[k, line] if along == 0 else found[line, k]
                if before.size:
                    cell[along] = before[-1] + 1
                if after.size:
                    cell[along + 1] = after[0]
    return found.reshape(-1, 4).astype(np.float32)


# Around each cell, as bits of one number: which of its neighbours are walls.
_AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


def walls_around(cells: np.ndarray) -> np.ndarray:
    """For each cell, bit k set if its neighbour `_AROUND[k]` is a wall: int32 (32 * 32)."""
    padded = np.pad(cells, 1)
    bits = np.zeros((SIZE, SIZE), np.int32)
    for k, (right, up) in enumerate(_AROUND):
        beside = padded[1 + right : 1 + right + SIZE, 1 + up : 1 + up + SIZE]
        bits |= (~beside).astype(np.int32) << k
    return bits.reshape(-1)


def held_inside(
    cells: np.ndarray,
    old: tuple[Array, Array],
    new: tuple[Array, Array],
    clearance: np.ndarray,
) -> tuple[Array, Array]:
    """Where units that go from `old` to `new` come to be, so far as walls let them.

    (x, y) of shape (N, E), and clearances (N, 1) of at most half a cell: how far each unit's
    centre keeps from walls. A step is shorter than a cell, and `old` is in an open cell: walls next
    to its cell stop the unit, and corners push it aside.
    """
    (x, y) = new
    if is_box(cells):
        left, bottom, right, top = (np.float32(side) for side in box_of(cells))
        return (
            jnp.clip(x, left + clearance, right - clearance),
            jnp.clip(y, bottom + clearance, top - clearance),
        )
    column, row = (jnp.clip(jnp.floor(place), 0, SIZE - 1) for place in old)
    bits = jnp.asarray(walls_around(cells))[(column * SIZE + row).astype(jnp.int32)]

    def wall(k: int) -> Array:
        return (bits & (1 << k)) != 0

    for k, (right, up) in enumerate(_AROUND[4:], start=4):
        # A corner: out of the circle of clearance around it, and out of its cell.
        dx, dy = x - (column + float(right > 0)), y - (row + float(up > 0))
        apart = jnp.sqrt(dx * dx + dy * dy)
        scale = jnp.where(wall(k) & (apart < clearance), clearance / jnp.maximum(apart, 1e-4), 1.0)
        beyond = wall(k) & (dx * right > 0) & (dy * up > 0)
        # One that would go through the corner slides along the side it is less far beyond.
        along_y = dx * right < dy * up
        x = jnp.where(beyond & along_y, x - dx - right * clearance, x + dx * (scale - 1.0))
        y = jnp.where(beyond & ~along_y, y - dy - up * clearance, y + dy * (scale - 1.0))
    x = jnp.where(wall(0), jnp.minimum(x, column + 1.0 - clearance), x)
    x = jnp.where(wall(1), jnp.maximum(x, column + clearance), x)
    y = jnp.where(wall(2), jnp.minimum(y, row + 1.0 - clearance), y)
    y = jnp.where(wall(3), jnp.maximum(y, row + clearance), y)
    return x, y
