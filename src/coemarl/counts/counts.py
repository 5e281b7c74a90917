"""The contract of counts: how often each path of the tree of joint actions was taken.

A joint action at a state is a path in a tree. Its root stands for the state's code; agent i's
action leads from a node at depth i to its child at depth i + 1. N(s, a_<i) is the count of a node,
N(s, a_<i, a) for all actions a are the counts of its children. A node is named by a key, folded
agent by agent along the path, so a walk costs agents + actions, never actions ** agents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

Table = Any
"""The pytree of arrays that holds the counts."""
NodeKey = Any
"""The pytree of scalars that names one node of the tree."""


@dataclass(frozen=True)
class Counts:
    """Visits of tree nodes. All functions are pure; keys are for ONE node: batch by vmap."""

    init: Callable[[], Table]
    """`init()`: a table in which nothing was visited."""
    root: Callable[[UInt32[Array, ""]], NodeKey]
    """`root(code)`: the node of a state's code, where no agent has chosen yet."""
    child: Callable[[NodeKey, Int[Array, ""]], NodeKey]
    """`child(key, action)`: the node that the next agent's action leads to."""
    count: Callable[[Table, NodeKey], Float[Array, ""]]
    """`count(table, key)`: visits of one node."""
    children: Callable[[Table, NodeKey], Float[Array, " U"]]
    """`children(table, key)`: visits of each of a node's children, by action."""
    add: Callable[[Table, NodeKey, Bool[Array, " E"]], Table]
    """`add(table, paths, active)`: one visit more for every node on each of E paths. `paths` is
    a NodeKey whose leaves have shape (E, A + 1): root first, one entry per depth. Paths with
    `active` False are not counted. Two paths in one call that share nodes both count."""
    bytes: int
    """Memory of the table."""
    summary: str
    """What this is, in a line: kind, size, and the error bound where there is one."""
    seeded: Callable[[PRNGKeyArray], Table] | None = None
    """`seeded(key)`: as `init`, of a table that begins at random. None: there is nothing random."""
    calibrate: Callable[[Table, Float[Array, "N S"]], Table] | None = None
    """`calibrate(table, states)`: fix what depends on the scale of states, from random play."""
    learn: Callable[[Table, PRNGKeyArray], Table] | None = None
    """`learn(table, key)`: what is to be learned from visits after an episode. None: nothing."""
    by_state: bool = False
    """Whether `root` takes the state itself (scaled) instead of a code; then whether a state was
    seen before cannot be told."""
