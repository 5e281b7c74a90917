"""QMIX (Rashid et al., 2018): the team's value grows with every agent's utility, by weights that
networks make of the global state.

    Q_tot = |W_2(s)| . elu(|W_1(s)|^T q + b_1(s)) + V(s)

W_1 (A x M) and W_2 (M) come from two-layer networks with ReLU, b_1 (M) from a linear layer, V from
a two-layer network with M hidden units; M is `embedding`. Absolute values make Q_tot monotonic in
every Q_i, so that agents that are greedy alone are greedy together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.networks import Linear, TwoLayers, linear, linear_init, two_layers, two_layers_init
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class QmixOptions:
    """The shape of the mixing network."""

    embedding: int = 32
    """Hidden units between the utilities and the team's value."""
    hypernet: int = 64
    """Hidden units of the networks that make the weights."""

    def __post_init__(self) -> None:
        for name, value in (("embedding", self.embedding), ("hypernet", self.hypernet)):
            if value < 1:
                raise ValueError(f"mixer.{name} is {value}: it must be at least 1")


class QmixParams(NamedTuple):
    """The networks of the state, each named by what it makes."""

    weight_1: TwoLayers
    bias_1: Linear
    weight_2: TwoLayers
    value: TwoLayers


def make_qmix(options: QmixOptions, spec: TaskSpec) -> Mixer:
    """The QMIX mixer of a task."""
    A, S, M = spec.num_agents, spec.state_size, options.embedding

    def init(key: PRNGKeyArray) -> QmixParams:
        keys = jax.random.split(key, 4)
        return QmixParams(
            weight_1=two_layers_init(keys[0], S, options.hypernet, A * M),
            bias_1=linear_init(keys[1], S, M),
            weight_2=two_layers_init(keys[2], S, options.hypernet, M),
            value=two_layers_init(keys[3], S, M, 1),
        )

    def apply(params: QmixParams, joint: Joint) -> Float[Array, " 1"]:
        state = joint.state
        weight_1 = jnp.abs(two_layers(params.weight_1, state)).reshape(A, M)
        bias_1 = linear(params.bias_1, state)
        mixed = jax.nn.elu(jnp.sum(joint.taken[:, None] * weight_1, axis=0) + bias_1)
        weight_2 = jnp.abs(two_layers(params.weight_2, state))
        return jnp.sum(mixed * weight_2, keepdims=True) + two_layers(params.value, state)

    return Mixer(init=init, apply=apply, per_agent=False)
