"""The independent utility: each agent's values from its own observations alone.

    Linear([o, one-hot agent] -> H) -> ReLU -> GRUCell(H) -> Linear(H -> U)

with parameters shared by all agents (paper, appendix F). The hidden state starts at zero.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.explorers.explorer import Advice
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


def read(head: Linear, hidden: Float[Array, "... H N"]) -> Float[Array, "... U N"]:
    """Utilities of what is remembered, features first."""
    bias = head.bias.reshape(*[1] * (hidden.ndim - 2), -1, 1)
    # A product for each time: one product for all would transpose what is remembered, twice.
    weight = jnp.broadcast_to(head.weight, (*hidden.shape[:-2], *head.weight.shape))
    return weight @ hidden + bias


def columns_of(observations: Float[Array, "B T A D"]) -> Float[Array, "T D N"]:
    """Episodes' observations features first, agents fastest: N = B A columns."""
    B, T, A, D = observations.shape
    return observations.transpose(1, 3, 0, 2).reshape(T, D, B * A)


def agents_last(rows: Float[Array, "T F N"], batch: int) -> Float[Array, "B T A F"]:
    """What features-first rows hold, for each episode, step and agent."""
    T, F, N = rows.shape
    return rows.reshape(T, F, batch, N // batch).transpose(2, 0, 3, 1)


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
        params: IndependentParams,
        hidden: Float[Array, "H N"],
        observation: Float[Array, "E A D"],
        latent: Float[Array, "E Z"],
    ) -> tuple[Float[Array, "H N"], Advice]:
        hidden = gru.step(params.trunk, hidden, features_first(observation))
        by_agent = lambda rows: rows.T.reshape(*observation.shape[:2], -1)  # noqa: E731
        return hidden, Advice(by_agent(read(params.head, hidden)), by_agent(hidden))

    def unroll(
        params: IndependentParams,
        observations: Float[Array, "B T A D"],
        latent: Float[Array, "B Z"],
        length: Int[Array, ""],
    ) -> Advice:
        B = observations.shape[0]
        hidden: Any = gru.unroll(params.trunk, columns_of(observations), length, products)
        return Advice(agents_last(read(params.head, hidden), B), agents_last(hidden, B))

    return Utility(init=init, start=start, advise=advise, unroll=unroll, features=options.hidden)
