"""QPLEX (Wang et al., 2021): duplex dueling, which holds every joint value whose greedy joint
action is made of greedy actions.

With V_i = max over legal a of Q_i(a) and A_i = Q_i(a_i) - V_i <= 0,

    Q_tot  = sum of w_i(s) V_i + b_i(s)  +  sum of lambda_i(s, a) w_i(s) A_i
    lambda = sum over heads k of  |key_k(s)| sigmoid(agent_ki(s)) sigmoid(action_ki(s, a))

w_i > 0 and lambda_i > 0, so Q_tot is largest where every A_i is 0. The heads' attention over agents
depends on the joint action; the weights w and b come from two-layer networks with ReLU. As in the
authors' code the advantages under lambda carry no gradient to the utilities (`stop_gradient`):

    Q_tot  = sum of w_i Q_i + b_i  +  sum of (lambda_i - 1) stop_gradient(w_i A_i)
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.networks import Linear, TwoLayers, linear, linear_init, two_layers, two_layers_init
from coemarl.tasks.task import TaskSpec

POSITIVE = 1e-10
"""What is added to magnitudes that must be above 0."""


@dataclass(frozen=True)
class QplexOptions:
    """The shape of the mixing network."""

    hypernet: int = 64
    """Hidden units of the networks that make weights and biases."""
    heads: int = 4
    """Heads of the attention over agents."""
    stop_gradient: bool = True
    """Whether advantages that the attention weighs carry no gradient, as in the authors' code."""

    def __post_init__(self) -> None:
        for name, value in (("hypernet", self.hypernet), ("heads", self.heads)):
            if value < 1:
                raise ValueError(f"mixer.{name} is {value}: it must be at least 1")


class QplexParams(NamedTuple):
    """The networks of state and joint action, each named by what it makes."""

    weight: TwoLayers
    bias: TwoLayers
    key: Linear
    agent: Linear
    action: Linear


def make_qplex(options: QplexOptions, spec: TaskSpec) -> Mixer:
    """The QPLEX mixer of a task."""
    A, U, S, K = spec.num_agents, spec.num_actions, spec.state_size, options.heads

    def init(key: PRNGKeyArray) -> QplexParams:
        keys = jax.random.split(key, 5)
        return QplexParams(
            weight=two_layers_init(keys[0], S, options.hypernet, A),
            bias=two_layers_init(keys[1], S, options.hypernet, A),
            key=linear_init(keys[2], S, K),
            agent=linear_init(keys[3], S, K * A),
            action=linear_init(keys[4], S + A * U, K * A),
        )

    def attention(params: QplexParams, joint: Joint) -> Float[Array, " A"]:
        """lambda of every agent."""
        acts = jax.nn.one_hot(joint.actions, U).reshape(-1)
        key = jnp.abs(linear(params.key, joint.state)) + POSITIVE
        agent = jax.nn.sigmoid(linear(params.agent, joint.state)).reshape(K, A)
        seen = jnp.concatenate([joint.state, acts])
        action = jax.nn.sigmoid(linear(params.action, seen)).reshape(K, A)
        return jnp.sum(key[:, None] * agent * action, axis=0)

    def apply(params: QplexParams, joint: Joint) -> Float[Array, " 1"]:
        weight = jnp.abs(two_layers(params.weight, joint.state)) + POSITIVE
        bias = two_layers(params.bias, joint.state)
        advantage = weight * (joint.taken - joint.best)
        weighed = jax.lax.stop_gradient(advantage) if options.stop_gradient else advantage
        utilities = weight * joint.taken + bias
        return jnp.sum(utilities + (attention(params, joint) - 1.0) * weighed, keepdims=True)

    return Mixer(init=init, apply=apply, per_agent=False)
