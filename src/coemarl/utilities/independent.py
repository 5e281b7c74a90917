"""The independent utility: each agent's values from its own observations alone.

    Linear([o, one-hot agent] -> H) -> ReLU -> GRUCell(H) -> Linear(H -> U)

with parameters shared by all agents (paper, appendix F). The hidden state starts at zero.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.networks import Linear, linear_init
from coemarl.tasks.task import TaskSpec
from coemarl.utilities import gru
from coemarl.utilities.utility import Utility


@dataclass(frozen=True)
class IndependentOptions:
    """The shape of the agents' network."""

    hidden: int = 128
    """Units of the encoder and of the GRU."""

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"utility.hidden is {self.hidden}: it must be at least 1")


class IndependentParams(NamedTuple):
    """A recurrent trunk and a linear head."""

    trunk: gru.GruParams
    head: Linear


def features_first(observation: Float[Array, "... A D"]) -> Float[Array, "D N"]:
    """Columns of features, agents fastest: (..., A, D) to (D, ... A)."""
    return observation.reshape(-1, observation.shape[-1]).T


def make_independent(options: IndependentOptions, spec: TaskSpec, products: str) -> Utility:
    """The independent utility of a task; `products` is the precision of learning's products."""
    A, D, U = spec.num_agents, spec.observation_size, spec.num_actions

    def init(key: PRNGKeyArray) -> IndependentParams:
        trunk_key, head_key = jax.random.split(key)
        trunk = gru.init(trunk_key, D, A, options.hidden)
        return IndependentParams(trunk, linear_init(head_key, options.hidden, U))

    def start(environments: int) -> Float[Array, "H N"]:
        return jnp.zeros((options.hidden, environments * A))

    def advise(
        params: IndependentParams, hidden: Float[Array, "H N"], observation: Float[Array, "E A D"]
    ) -> tuple[Float[Array, "H N"], Float[Array, "E A U"]]:
        hidden = gru.step(params.trunk, hidden, features_first(observation))
        utilities = params.head.weight @ hidden + params.head.bias[:, None]
        return hidden, utilities.T.reshape(*observation.shape[:2], U)

    def value(
        advice: Float[Array, "A U"], i: Int[Array, ""], actions: Int[Array, " A"]
    ) -> Float[Array, " U"]:
        del actions  # what the others do changes nothing
        return advice[i]

    def unroll(
        params: IndependentParams, observations: Float[Array, "B T A D"], length: Int[Array, ""]
    ) -> Float[Array, "B T A U"]:
        B, T = observations.shape[:2]
        columns = observations.transpose(1, 3, 0, 2).reshape(T, D, B * A)
        hidden = gru.unroll(params.trunk, columns, length, products)
        utilities = jnp.einsum("uh,thn->tun", params.head.weight, hidden)
        utilities = utilities + params.head.bias[None, :, None]
        return utilities.reshape(T, U, B, A).transpose(2, 0, 3, 1)

    return Utility(
        init=init,
        start=start,
        advise=advise,
        values=lambda params: value,
        alone=lambda advice: advice,
        unroll=unroll,
    )
