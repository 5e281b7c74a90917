"""What each agent knows of its own actions alone: how often it took them, and their values.

An agent's own counts are a tree of one agent, so the counts of a team are a forest of such trees,
with the agent's number for a state's code.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from coemarl.counts import Counts, Table
from coemarl.counts.dense import make_dense
from coemarl.counts.walk import path_of
from coemarl.game.learner import mean_payoff
from coemarl.game.options import Rules


class OwnState(NamedTuple):
    """Visits of each agent's actions, and what their values are made of."""

    visits: Table
    learnt: Table | Float[Array, "A U"]
    """The payoffs, counted as visits are; or the values themselves, moved by the step size."""


@dataclass(frozen=True)
class Own:
    """The knowledge of a team's agents, each of its own actions."""

    counts: Counts
    agents: int
    actions: int
    estimate: Any
    """`mean`, or a step size."""

    @property
    def roots(self) -> Int[Array, " A"]:
        """The agents' nodes: above each lies nothing, below it the agent's actions."""
        return jax.vmap(self.counts.root)(jnp.arange(self.agents, dtype=jnp.uint32))

    def init(self) -> OwnState:
        """Nothing was tried."""
        if self.estimate == "mean":
            return OwnState(self.counts.init(), self.counts.init())
        return OwnState(self.counts.init(), jnp.zeros((self.agents, self.actions)))

    def visits(self, state: OwnState) -> tuple[Float[Array, " A"], Float[Array, "A U"]]:
        """How often each agent acted, and how often it took each action."""
        count = jax.vmap(self.counts.count, (None, 0))
        return count(state.visits, self.roots), self._children(state.visits)

    def values(self, state: OwnState) -> Float[Array, "A U"]:
        """What each agent believes of its actions."""
        if self.estimate == "mean":
            return mean_payoff(self._children(state.learnt), self._children(state.visits))
        return state.learnt

    def observe(self, state: OwnState, actions: Int[Array, " A"], paid: Array) -> OwnState:
        """One joint action and its payoff more."""
        paths = jax.vmap(partial(path_of, self.counts))(self.roots, actions[:, None])
        visits = self.counts.add(state.visits, paths, jnp.ones(self.agents, bool))
        if self.estimate == "mean":
            paid = jnp.broadcast_to(paid, (self.agents,))
            return OwnState(visits, self.counts.add(state.learnt, paths, paid))
        error = paid.astype(jnp.float32) - state.learnt
        taken = jax.nn.one_hot(actions, self.actions)
        return OwnState(visits, state.learnt + self.estimate * taken * error)

    def _children(self, table: Table) -> Float[Array, "A U"]:
        return jax.vmap(self.counts.children, (None, 0))(table, self.roots)


def make_own(rules: Rules, agents: int, actions: int) -> Own:
    """The knowledge of a team of so many agents."""
    bits = (agents - 1).bit_length()
    return Own(make_dense(bits, 1, actions), agents, actions, rules.estimate)
