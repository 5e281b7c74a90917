"""The conditional utility: each agent's values given the actions of the agents before it (paper,
appendix E), for COE-Cond-IQ and COE-Cond-CQ.

    Q_i^dep(a | a_<i) = stop_gradient(Q_i(a)) + correction(h_i, a_<i)(a)
    correction        = Linear([h_i, relu(Linear(one-hot actions of the agents before i))] -> U)

Q_i and h_i are the independent utility's values and memory; agents not before i have zeros in place
of their one-hot actions. In training agents act by Q^dep, one after another; in execution by Q_i,
alone. Both have a temporal-difference loss on the same batch, first Q^dep's, then Q_i's.

By the paper the loss of Q^dep trains the correction only (and the mixer). With `trains_trunk` it
also reaches the memory h_i, as in the published code.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.explorers.explorer import Advice, Values
from coemarl.networks import Linear, linear, linear_init
from coemarl.tasks.task import TaskSpec
from coemarl.utilities.independent import IndependentOptions, IndependentParams, make_independent
from coemarl.utilities.utility import OWN, Utility, View


@dataclass(frozen=True)
class ConditionalOptions(IndependentOptions):
    """The shape of the agents' network."""

    embedding: int = 32
    """Units that the actions of the agents before are embedded in."""
    trains_trunk: bool = False
    """Whether the conditional loss also trains what agents remember."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding < 1:
            raise ValueError(f"utility.embedding is {self.embedding}: it must be at least 1")


class Correction(NamedTuple):
    """What the actions of the agents before change."""

    embed: Linear
    head: Linear


class ConditionalParams(NamedTuple):
    """The independent utility and its correction."""

    own: IndependentParams
    correction: Correction


def predecessors(
    i: Int[Array, ""], actions: Int[Array, " A"], num_actions: int
) -> Float[Array, " N"]:
    """One-hot actions of all agents but the last, zeros for those not before i: N = (A - 1) U."""
    agents = jnp.arange(actions.shape[0] - 1, dtype=jnp.int32)
    taken = jax.nn.one_hot(actions[:-1], num_actions)
    return jnp.where((agents < i)[:, None], taken, 0.0).reshape(-1)


def make_conditional(options: ConditionalOptions, spec: TaskSpec, products: str) -> Utility:
    """The conditional utility of a task; `products` is the precision of learning's products."""
    A, U = spec.num_agents, spec.num_actions
    if A < 2:
        raise ValueError(f"{spec.name} has a single agent: nobody's actions come before its own")
    own = make_independent(options, spec, products)

    def init(key: PRNGKeyArray) -> ConditionalParams:
        own_key, embed_key, head_key = jax.random.split(key, 3)
        correction = Correction(
            linear_init(embed_key, (A - 1) * U, options.embedding),
            linear_init(head_key, options.hidden + options.embedding, U),
        )
        return ConditionalParams(own.init(own_key), correction)

    def values(params: ConditionalParams) -> Values:
        def given(
            advice: Advice, i: Int[Array, ""], actions: Int[Array, " A"]
        ) -> Float[Array, " U"]:
            before = linear(params.correction.embed, predecessors(i, actions, U))
            memory = advice.features[i]
            if not options.trains_trunk:
                memory = jax.lax.stop_gradient(memory)
            seen = jnp.concatenate([memory, jax.nn.relu(before)])
            return jax.lax.stop_gradient(advice.values[i]) + linear(params.correction.head, seen)

        return given

    def dependent_trains(params: ConditionalParams) -> Any:
        everything, nothing = _flags(params, True), _flags(params, False)
        trunk = (everything if options.trains_trunk else nothing).own.trunk
        return ConditionalParams(nothing.own._replace(trunk=trunk), everything.correction)

    def own_trains(params: ConditionalParams) -> Any:
        return _flags(params, True)._replace(correction=_flags(params.correction, False))

    return Utility(
        init=init,
        start=own.start,
        advise=lambda params, *seen: own.advise(params.own, *seen),
        unroll=lambda params, *seen: own.unroll(params.own, *seen),
        views=(
            View("dependent", values, conditional=True, trains=dependent_trains),
            View(OWN.name, OWN.values, conditional=False, trains=own_trains),
        ),
        features=own.features,
    )


def _flags(tree: Any, flag: bool) -> Any:
    return jax.tree.map(lambda _: flag, tree)
