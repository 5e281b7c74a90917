"""The contract of a utility: the agents' value function, used step by step when acting and over
whole episodes when learning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.explorers.explorer import Advice, Values

Params = Any
Hidden = Any
"""What a utility remembers of the episode so far."""


@dataclass(frozen=True)
class Utility:
    """Q_i of every agent. All functions are pure; E environments or B episodes at once."""

    init: Callable[[PRNGKeyArray], Params]
    """`init(key)`."""
    start: Callable[[int], Hidden]
    """`start(E)`: the memory of E environments at the start of an episode."""
    advise: Callable[[Params, Hidden, Float[Array, "E A D"]], tuple[Hidden, Advice]]
    """`advise(params, hidden, observation)`: the memory after one observation, and what choosing
    needs to know; every leaf of the advice has the leading axis E."""
    values: Callable[[Params], Values]
    """`values(params)`: how to read utilities off one environment's advice, agent by agent, given
    what the agents before did."""
    alone: Callable[[Advice], Float[Array, "A U"]]
    """`alone(advice)`: utilities that each agent computes by itself, as in execution; for one
    environment."""
    unroll: Callable[[Params, Float[Array, "B T A D"], Int[Array, ""]], Float[Array, "B T A U"]]
    """`unroll(params, observations, length)`: utilities at the first `length` steps of B episodes.
    What stands after them has no meaning."""
