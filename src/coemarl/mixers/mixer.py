"""The contract of a mixer: how the agents' utilities become what is learned from the team's
reward."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Float, PRNGKeyArray

Params = Any


@dataclass(frozen=True)
class Mixer:
    """Functions for ONE step: batch by vmap, the parameters unbatched."""

    init: Callable[[PRNGKeyArray], Params]
    """`init(key)`."""
    apply: Callable[[Params, Float[Array, " A"], Float[Array, " S"]], Float[Array, " M"]]
    """`apply(params, utilities, state)`: of the actions taken, the M values that each have a
    temporal difference of their own: one team value, or one for every agent."""
    per_agent: bool
    """Whether M is the number of agents; else it is 1."""
