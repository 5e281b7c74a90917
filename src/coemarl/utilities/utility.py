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


def own_values(advice: Advice, i: Int[Array, ""], actions: Int[Array, " A"]) -> Float[Array, " U"]:
    """Utilities that agent i computes by itself: what the others do changes nothing."""
    del actions
    return advice.values[i]


@dataclass(frozen=True)
class View:
    """One way to read utilities off advice, with a temporal-difference loss of its own."""

    name: str
    values: Callable[[Params], Values]
    """`values(params)`: agent i's utilities given what the agents before it do."""
    conditional: bool
    """Whether what they do changes anything."""
    trains: Callable[[Params], Params] | None = None
    """`trains(params)`: which arrays the loss of this view changes, a bool for each. None: all."""


OWN = View("own", lambda params: own_values, conditional=False)


@dataclass(frozen=True)
class Utility:
    """Q_i of every agent. All functions are pure; E environments or B episodes at once."""

    init: Callable[[PRNGKeyArray], Params]
    """`init(key)`."""
    start: Callable[[int], Hidden]
    """`start(E)`: the memory of E environments at the start of an episode."""
    advise: Callable[
        [Params, Hidden, Float[Array, "E A D"], Float[Array, "E Z"]], tuple[Hidden, Advice]
    ]
    """`advise(params, hidden, observation, latent)`: the memory after one observation, and what
    choosing needs to know; every leaf of the advice has the leading axis E."""
    unroll: Callable[[Params, Float[Array, "B T A D"], Float[Array, "B Z"], Int[Array, ""]], Advice]
    """`unroll(params, observations, latent, length)`: the advice at the first `length` steps of B
    episodes, with leading axes B and T. What stands after them has no meaning."""
    views: tuple[View, ...] = (OWN,)
    """Agents act by the first in training. One optimiser step for each, in this order; the last
    one is what each agent can compute alone."""
    features: int = 0
    """H, the size of `Advice.features`."""
    latents: int = 0
    """Z, what an episode's latent has: one of so many, as one-hot. 0: there is none."""
