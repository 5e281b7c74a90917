"""The latent utility: values that depend on a latent of the episode (MAVEN, Mahajan et al., 2019).

    q_i = W(z, i) h_i,    W(z, i) = Linear([z, one-hot i] -> U x H)

z is the episode's latent as one-hot, the same for all agents and steps; h_i is what the recurrent
trunk of the independent utility remembers. Since [z, one-hot i] picks two columns of the linear
hypernetwork, W(z, i) is the sum of a matrix for z, one for i, and a bias.
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
from coemarl.utilities.independent import (
    IndependentOptions,
    agents_last,
    columns_of,
    features_first,
)
from coemarl.utilities.utility import Utility


@dataclass(frozen=True)
class LatentOptions(IndependentOptions):
    """The shape of the agents' network."""


class LatentParams(NamedTuple):
    """A recurrent trunk and the hypernetwork of the head."""

    trunk: gru.GruParams
    hyper: Linear


def make_latent(options: LatentOptions, spec: TaskSpec, products: str, latents: int) -> Utility:
    """The latent utility of a task, for one of so many latents."""
    A, D, U, H, Z = (
        spec.num_agents,
        spec.observation_size,
        spec.num_actions,
        options.hidden,
        latents,
    )
    if Z < 1:
        raise ValueError("the latent utility needs an explorer that draws latents, such as maven")

    def init(key: PRNGKeyArray) -> LatentParams:
        trunk_key, hyper_key = jax.random.split(key)
        return LatentParams(gru.init(trunk_key, D, A, H), linear_init(hyper_key, Z + A, U * H))

    def heads(hyper: Linear, latent: Float[Array, "N Z"]) -> Float[Array, "N A U H"]:
        """W(z, i) for each of N latents and each agent."""
        of_latent = (latent @ hyper.weight[:, :Z].T).reshape(-1, 1, U, H)
        of_agent = (hyper.weight[:, Z:].T + hyper.bias[None]).reshape(1, A, U, H)
        return of_latent + of_agent

    def advise(
        params: LatentParams,
        hidden: Float[Array, "H N"],
        observation: Float[Array, "E A D"],
        latent: Float[Array, "E Z"],
    ) -> tuple[Float[Array, "H N"], Advice]:
        hidden = gru.step(params.trunk, hidden, features_first(observation))
        features = hidden.T.reshape(*observation.shape[:2], H)
        return hidden, Advice(
            jnp.einsum("eauh,eah->eau", heads(params.hyper, latent), features), features
        )

    def unroll(
        params: LatentParams,
        observations: Float[Array, "B T A D"],
        latent: Float[Array, "B Z"],
        length: Int[Array, ""],
    ) -> Advice:
        hidden: Any = gru.unroll(params.trunk, columns_of(observations), length, products)
        features = agents_last(hidden, observations.shape[0])
        return Advice(
            jnp.einsum("bauh,btah->btau", heads(params.hyper, latent), features), features
        )

    return Utility(
        init=init,
        start=lambda environments: jnp.zeros((H, environments * A)),
        advise=advise,
        unroll=unroll,
        features=H,
        latents=Z,
    )
