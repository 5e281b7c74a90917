"""The contract of a mixer: how the agents' utilities become what is learned from the team's
reward."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int, PRNGKeyArray

Params = Any


class Joint(NamedTuple):
    """A joint action at one step, as a mixer is shown it."""

    taken: Float[Array, " A"]
    """Each agent's utility of its action."""
    best: Float[Array, " A"]
    """Each agent's utility of its best legal action."""
    actions: Int[Array, " A"]
    features: Float[Array, "A H"]
    """What each agent remembers."""
    state: Float[Array, " S"]
    """The global state, and behind it the episode's latent if there is one."""


@dataclass(frozen=True)
class Mixer:
    """Functions for ONE step: batch by vmap, the parameters unbatched."""

    init: Callable[[PRNGKeyArray], Params]
    """`init(key)`."""
    apply: Callable[[Params, Joint], Float[Array, " M"]]
    """`apply(params, joint)`: the M values of the joint action that each have a temporal
    difference of their own: one team value, or one for every agent."""
    per_agent: bool
    """Whether M is the number of agents; else it is 1."""
    constraint: Callable[[Params, Joint, Joint], Float[Array, ""]] | None = None
    """`constraint(params, taken, greedy)`: a loss of one step besides the temporal difference, of
    the action taken and of the agents' best legal ones. None: no such loss."""
