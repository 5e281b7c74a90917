"""Counts in constant memory: a count-min sketch with conservative update.

A node is named by 64 bits, folded agent by agent. Each of `depth` rows maps the name to one of its
`width` cells; a node's count is the least of its cells. A visit raises only the cells that lie
below the node's new count (the conservative update), so a count is never too small, and never
larger than the plain sketch's.

For one node, and m node visits in all (agents + 1 for each joint action), the excess is at most
e m / width with probability at least 1 - exp(-depth).
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from coemarl.counts.counts import Counts


class SketchKey(NamedTuple):
    """The two halves of a node's name."""

    high: UInt32[Array, ""]
    low: UInt32[Array, ""]


def scramble(word: UInt32[Array, ""]) -> UInt32[Array, ""]:
    """A bijection of 32-bit words in which each input bit moves every output bit (two rounds of
    xor-shift and multiplication by odd constants)."""
    word = (word ^ (word >> 16)) * jnp.uint32(0x7FEB352D)
    word = (word ^ (word >> 15)) * jnp.uint32(0x846CA68B)
    return word ^ (word >> 16)


def fold(key: SketchKey, word: UInt32[Array, ""]) -> SketchKey:
    """The key with one more word. A bijection of the 64 bits for any fixed word, so nothing of
    the path so far is lost."""
    low = key.low ^ scramble(key.high + (word + jnp.uint32(1)) * jnp.uint32(0x9E3779B9))
    high = key.high ^ scramble(low + jnp.uint32(0x85EBCA6B))
    return SketchKey(high, low)


def make_sketch(width: int, depth: int, num_agents: int, num_actions: int) -> Counts:
    """Counts of any number of joint actions in `depth` rows of `width` cells (a power of two)."""

    def cells(key: SketchKey) -> Int[Array, " depth"]:
        rows = jnp.arange(depth, dtype=jnp.uint32)
        mixed = scramble(key.low + scramble(key.high ^ (rows * jnp.uint32(0xC2B2AE35))))
        return (rows * jnp.uint32(width) + (mixed & jnp.uint32(width - 1))).astype(jnp.int32)

    def init() -> Int[Array, " cells"]:
        return jnp.zeros(depth * width, jnp.int32)

    def root(code: UInt32[Array, ""]) -> SketchKey:
        return fold(SketchKey(jnp.uint32(0x243F6A88), code), jnp.uint32(0))

    def child(key: SketchKey, action: Int[Array, ""]) -> SketchKey:
        return fold(key, action.astype(jnp.uint32))

    def read(table: Int[Array, " cells"], where: Int[Array, " ..."]) -> Int[Array, " ..."]:
        return table.at[where].get(mode="promise_in_bounds", wrap_negative_indices=False)

    def count(table: Int[Array, " cells"], key: SketchKey) -> Float[Array, ""]:
        return read(table, cells(key)).min().astype(jnp.float32)

    def children(table: Int[Array, " cells"], key: SketchKey) -> Float[Array, " U"]:
        below = jax.vmap(child, (None, 0))(key, jnp.arange(num_actions))
        return read(table, jax.vmap(cells)(below)).min(axis=1).astype(jnp.float32)

    def add_path(
        table: Int[Array, " cells"], path: tuple[SketchKey, Bool[Array, ""]]
    ) -> tuple[Int[Array, " cells"], None]:
        # All nodes of one path are counted from the same table: where two share a cell, the
        # larger of their new counts stands, and neither is counted twice.
        keys, active = path
        where = jax.vmap(cells)(keys)
        visited = read(table, where).min(axis=1) + active.astype(jnp.int32)
        raised = jnp.broadcast_to(visited[:, None], where.shape)
        return table.at[where].max(
            raised, mode="promise_in_bounds", wrap_negative_indices=False
        ), None

    def add(
        table: Int[Array, " cells"], paths: SketchKey, active: Bool[Array, " E"]
    ) -> Int[Array, " cells"]:
        # One path after another: two that share a node must both count.
        return lax.scan(add_path, table, (paths, active), unroll=active.shape[0] == 1)[0]

    size = 4 * depth * width
    share = math.e * (num_agents + 1) / width
    return Counts(
        init=init,
        root=root,
        child=child,
        count=count,
        children=children,
        add=add,
        bytes=size,
        summary=(
            f"sketch: {depth} rows of {width:,} cells, {size / 2**20:.1f} MB; a count is never too"
            f" small, and too large by at most {share:.2g} of all joint actions counted with"
            f" probability {1 - math.exp(-depth):.3f}"
        ),
    )
