"""Agents decide in turns, each knowing what the agents before it do."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from coemarl.counts.walk import UNROLLED_AGENTS

Decide = Callable[[Int[Array, ""], Int[Array, " A"]], tuple[Int[Array, ""], Float[Array, ""]]]
"""`decide(i, actions)`: agent i's action and a number to go with it; entries of `actions` from i
on mean nothing yet."""


def in_turns(num_agents: int, decide: Decide) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
    """The joint action, agent by agent, and the numbers that `decide` gave."""

    def step(
        actions: Int[Array, " A"], i: Int[Array, ""]
    ) -> tuple[Int[Array, " A"], Float[Array, ""]]:
        action, number = decide(i, actions)
        return actions.at[i].set(action), number

    agents = jnp.arange(num_agents, dtype=jnp.int32)
    start = jnp.zeros(num_agents, jnp.int32)
    return lax.scan(step, start, agents, unroll=num_agents <= UNROLLED_AGENTS)
