"""Exact counts: one int32 for every node of every tree, in one flat array.

The trees of all 2^k codes form one forest, laid out breadth first: the roots are 0 .. 2^k - 1, and
child a of node n is at 2^k + n U + a. A node's key is its index, its children lie side by side,
and a key needs no memory of the root it came from. Going below the last agent is not defined.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt32

from coemarl.counts.counts import Counts

LARGEST_KEY = 2**31 - 1


def forest_nodes(code_bits: int, num_agents: int, num_actions: int) -> int:
    """Nodes of 2^code_bits trees of depth `num_agents`: 2^k (1 + U + ... + U^A)."""
    return 2**code_bits * sum(num_actions**depth for depth in range(num_agents + 1))


def forest_bytes(code_bits: int, num_agents: int, num_actions: int) -> int:
    """Memory of the forest's counts."""
    return 4 * forest_nodes(code_bits, num_agents, num_actions)


def make_dense(code_bits: int, num_agents: int, num_actions: int) -> Counts:
    """Exact counts of joint actions at states with codes of `code_bits` bits."""
    nodes = forest_nodes(code_bits, num_agents, num_actions)
    if nodes > LARGEST_KEY:
        raise ValueError(
            f"dense counts of {num_agents} agents with {num_actions} actions at 2^{code_bits} codes"
            f" need {nodes:.3g} nodes, more than {LARGEST_KEY:.3g}: use kind 'sketch'"
        )
    roots = 2**code_bits

    def init() -> Int[Array, " nodes"]:
        return jnp.zeros(nodes, jnp.int32)

    def root(code: UInt32[Array, ""]) -> Int[Array, ""]:
        return code.astype(jnp.int32)

    def child(key: Int[Array, ""], action: Int[Array, ""]) -> Int[Array, ""]:
        return roots + key * num_actions + action.astype(jnp.int32)

    def count(table: Int[Array, " nodes"], key: Int[Array, ""]) -> Float[Array, ""]:
        node = table.at[key].get(mode="promise_in_bounds", wrap_negative_indices=False)
        return node.astype(jnp.float32)

    def children(table: Int[Array, " nodes"], key: Int[Array, ""]) -> Float[Array, " U"]:
        first = child(key, jnp.int32(0))
        return lax.dynamic_slice(table, (first,), (num_actions,)).astype(jnp.float32)

    def add(
        table: Int[Array, " nodes"], paths: Int[Array, "E A+1"], active: Bool[Array, " E"]
    ) -> Int[Array, " nodes"]:
        visits = jnp.broadcast_to(active[:, None], paths.shape).astype(jnp.int32)
        return table.at[paths].add(
            visits, mode="promise_in_bounds", wrap_negative_indices=False
        )  # nodes named twice are added twice

    size = 4 * nodes
    return Counts(
        init=init,
        root=root,
        child=child,
        count=count,
        children=children,
        add=add,
        bytes=size,
        summary=f"dense: exact counts of {nodes:,} nodes, {size / 2**20:.1f} MB",
    )
