"""Sums over pairs of units, one unit after another.

A pairwise term of N units in E environments would be an array (N, N, E). Reducing it would break
the machine's vectors, which run along E; so one goes through the other units in order and carries
sums of shape (N, E).
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

FAR = 1e9
"""Farther than any unit, squared or not."""


def fold(units: int, body: Callable[[Any, Any], Any], start: Any) -> Any:
    """`body(j, carry)` for each unit j in order."""
    return lax.fori_loop(0, units, body, start)


def row(values: Array | np.ndarray, j: Any) -> Array:
    """Row j of an array (N, ...), as (1, ...)."""
    return lax.dynamic_slice_in_dim(jnp.asarray(values), j, 1, axis=0)


def index(units: int) -> Int[Array, "N 1"]:
    """The units' own numbers."""
    return jnp.arange(units, dtype=jnp.int32)[:, None]


def at(target: Int[Array, "M E"], *fields: Float[Array, "N E"]) -> list[Float[Array, "M E"]]:
    """The fields of each unit's target; 0 where it has none."""

    def body(j: Any, found: list[Array]) -> list[Array]:
        hit = target == j
        return [
            jnp.where(hit, row(field, j), old) for field, old in zip(fields, found, strict=True)
        ]

    zeros = [jnp.zeros(target.shape, field.dtype) for field in fields]
    return fold(fields[0].shape[0], body, zeros)


def table_at(target: Int[Array, "N E"], *tables: np.ndarray) -> list[Array]:
    """Entries [i, target of i] of constant tables (N, N); 0 where there is no target."""

    def body(j: Any, found: list[Array]) -> list[Array]:
        hit = target == j
        return [
            jnp.where(hit, row(table.T, j).T, old) for table, old in zip(tables, found, strict=True)
        ]

    zeros = [jnp.zeros(target.shape, table.dtype) for table in tables]
    return fold(tables[0].shape[1], body, zeros)


def least(
    units: int, score: Callable[[Any], tuple[Float[Array, "M E"], Bool[Array, "M E"]]]
) -> Int[Array, "M E"]:
    """The unit j of the least score among those allowed, the first of equals; -1 if there is none.

    `score(j)` is j's score and whether it is allowed, for each unit that chooses.
    """

    def body(j: Any, best: tuple[Array, Array]) -> tuple[Array, Array]:
        value, allowed = score(j)
        better = allowed & (value < best[0])
        return jnp.where(better, value, best[0]), jnp.where(better, jnp.int32(j), best[1])

    shape = jax.eval_shape(lambda: score(0)[0]).shape
    start = (jnp.full(shape, jnp.inf, jnp.float32), jnp.full(shape, -1, jnp.int32))
    return fold(units, body, start)[1]
