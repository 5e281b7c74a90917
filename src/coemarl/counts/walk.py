"""Walks down the tree of joint actions, one agent at a time: the loop that all of COE shares."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from coemarl.counts.counts import Counts, NodeKey, Table

UNROLLED_AGENTS = 8
"""Up to so many agents a walk is compiled as straight code: quicker to run than a loop, and as
quick to compile."""

Decide = Callable[
    [Int[Array, ""], Int[Array, " A"], NodeKey, Float[Array, ""], Float[Array, " U"]],
    tuple[Int[Array, ""], Float[Array, ""]],
]
"""`decide(i, actions, key, parent, children)`: agent i's action and its bonus, at the node `key`
that the agents before it led to; `parent` is that node's count, `children` its children's."""


class Walk(NamedTuple):
    """One path from the root to a leaf."""

    actions: Int[Array, " A"]
    path: NodeKey
    """Keys with a leading axis (A + 1): root first."""
    visits: Float[Array, " A+1"]
    """Counts of the path's nodes, root first."""
    bonus: Float[Array, " A"]
    """What `decide` gave with each action."""


def prepend(first: Any, rest: Any) -> Any:
    """`first` in front of `rest`, which has one leading axis more, leaf by leaf."""
    return jax.tree.map(lambda x, xs: jnp.concatenate([x[None], xs]), first, rest)


def walk(counts: Counts, table: Table, root: NodeKey, num_agents: int, decide: Decide) -> Walk:
    """The path on which each agent does what `decide` says, given the agents before it."""

    def step(carry: tuple, i: Int[Array, ""]) -> tuple[tuple, tuple]:
        key, parent, actions = carry
        children = counts.children(table, key)
        action, bonus = decide(i, actions, key, parent, children)
        key, visits = counts.child(key, action), children[action]
        return (key, visits, actions.at[i].set(action)), (key, visits, bonus)

    parent = counts.count(table, root)
    start = (root, parent, jnp.zeros(num_agents, jnp.int32))
    agents = jnp.arange(num_agents, dtype=jnp.int32)
    (_, _, actions), (keys, visits, bonus) = lax.scan(
        step, start, agents, unroll=num_agents <= UNROLLED_AGENTS
    )
    return Walk(actions, prepend(root, keys), prepend(parent, visits), bonus)


def path_of(counts: Counts, root: NodeKey, actions: Int[Array, " A"]) -> NodeKey:
    """Keys of the nodes on the path of given actions, with a leading axis (A + 1): root first."""

    def step(key: NodeKey, action: Int[Array, ""]) -> tuple[NodeKey, NodeKey]:
        below = counts.child(key, action)
        return below, below

    _, keys = lax.scan(step, root, actions, unroll=actions.shape[0] <= UNROLLED_AGENTS)
    return prepend(root, keys)


class Turns(NamedTuple):
    """One path on which agents chose in an order of its own."""

    actions: Int[Array, " A"]
    path: NodeKey
    """Keys with a leading axis (A + 1): root first."""
    bonus: Float[Array, " A"]
    """What `decide` gave, in the order of choosing."""


def walk_in_order(
    counts: Counts,
    table: Table,
    root: NodeKey,
    order: Int[Array, " A"],
    actions: int,
    decide: Decide,
) -> Turns:
    """As `walk`, but agents choose in the given order. `counts` has an action for each agent and
    action, agent first: a node is who did what so far, in that order. A node's count is taken as
    that of the children which the next agent's actions lead to."""

    def step(carry: tuple, i: Int[Array, ""]) -> tuple[tuple, tuple]:
        key, taken = carry
        first = i * actions
        children = lax.dynamic_slice(counts.children(table, key), (first,), (actions,))
        action, bonus = decide(i, taken, key, children.sum(), children)
        key = counts.child(key, first + action)
        return (key, taken.at[i].set(action)), (key, bonus)

    start = (root, jnp.zeros(order.shape[0], jnp.int32))
    unroll = order.shape[0] <= UNROLLED_AGENTS
    (_, taken), (keys, bonus) = lax.scan(step, start, order, unroll=unroll)
    return Turns(taken, prepend(root, keys), bonus)
