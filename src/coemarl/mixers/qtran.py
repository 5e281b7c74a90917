"""QTRAN-base (Son et al., 2019): a joint value of its own, to which the sum of utilities is tied by
two constraints.

    Q_jt(h, a, s)  learned by temporal difference, from what all agents remember and do
    V_jt(s)        what the sum of utilities cannot say
    L_opt  = (sum of Q_i(best_i) - Q_jt(h, best, s) + V_jt(s))^2
    L_nopt = min(0, sum of Q_i(a_i) - Q_jt(h, a, s) + V_jt(s))^2

with Q_jt held fixed in both. If L_opt is 0 and L_nopt is 0 everywhere, agents that are greedy alone
take the joint action of the greatest Q_jt. Q_jt is a network of the state and of the sum over
agents of an encoding of [h_i, one-hot a_i]."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.networks import Linear, TwoLayers, linear, linear_init, two_layers, two_layers_init
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class QtranOptions:
    """The shape of the joint network, and what its constraints weigh."""

    embedding: int = 64
    """Hidden units of the networks of Q_jt and V_jt."""
    optimal: float = 1.0
    """Weight of the constraint at the agents' best actions."""
    others: float = 0.1
    """Weight of the constraint at the actions taken."""

    def __post_init__(self) -> None:
        if self.embedding < 1:
            raise ValueError(f"mixer.embedding is {self.embedding}: it must be at least 1")
        for name, value in (("optimal", self.optimal), ("others", self.others)):
            if not value >= 0:
                raise ValueError(f"mixer.{name} is {value}: a weight is at least 0")


class ThreeLayers(NamedTuple):
    """third(relu(second(relu(first(x)))))."""

    first: Linear
    rest: TwoLayers


class QtranParams(NamedTuple):
    """The networks of Q_jt and V_jt."""

    encode: TwoLayers
    joint: ThreeLayers
    value: ThreeLayers


def three_layers(layers: ThreeLayers, x: Float[Array, " K"]) -> Float[Array, " M"]:
    return two_layers(layers.rest, jax.nn.relu(linear(layers.first, x)))


def three_layers_init(key: PRNGKeyArray, inputs: int, hidden: int) -> ThreeLayers:
    first_key, rest_key = jax.random.split(key)
    return ThreeLayers(
        linear_init(first_key, inputs, hidden), two_layers_init(rest_key, hidden, hidden, 1)
    )


def make_qtran(options: QtranOptions, spec: TaskSpec, features: int) -> Mixer:
    """The QTRAN-base mixer of a task whose agents remember `features` numbers each."""
    U, S, M = spec.num_actions, spec.state_size, options.embedding
    size = features + U

    def init(key: PRNGKeyArray) -> QtranParams:
        keys = jax.random.split(key, 3)
        return QtranParams(
            encode=two_layers_init(keys[0], size, size, size),
            joint=three_layers_init(keys[1], S + size, M),
            value=three_layers_init(keys[2], S, M),
        )

    def apply(params: QtranParams, joint: Joint) -> Float[Array, " 1"]:
        acts = jax.nn.one_hot(joint.actions, U)
        seen = jnp.concatenate([joint.features, acts], axis=1)
        encoded = jax.vmap(two_layers, (None, 0))(params.encode, seen).sum(axis=0)
        return three_layers(params.joint, jnp.concatenate([joint.state, encoded]))

    def constraint(params: QtranParams, taken: Joint, greedy: Joint) -> Float[Array, ""]:
        value = three_layers(params.value, taken.state)[0]

        def gap(joint: Joint) -> Float[Array, ""]:
            return joint.taken.sum() - jax.lax.stop_gradient(apply(params, joint)[0]) + value

        optimal = jnp.square(gap(greedy))
        others = jnp.square(jnp.minimum(gap(taken), 0.0))
        return options.optimal * optimal + options.others * others

    return Mixer(init=init, apply=apply, per_agent=False, constraint=constraint)
