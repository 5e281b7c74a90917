"""The learners of the didactic game: who knows what of the others (paper, section 5.4).

    dep-dep  DepRew-DepOpt, UCT: values and counts of what follows the choices before one's own
    ind-dep  IndRew-DepOpt: values of one's own actions alone, counts as above
    ind-ind  IndRew-IndOpt: values and counts of one's own actions alone
    central  UCB-Cen: one UCB1 learner over all joint actions; its agents could not act apart
    uniform  each joint action with the same probability: what the others are measured by

The counts are the library's (`coemarl.counts`). A node's payoffs are counted in a second table as
its visits are in the first, so a mean payoff is one count over the other.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from coemarl.counts import Counts, NodeKey, Table
from coemarl.counts.dense import make_dense
from coemarl.counts.walk import Walk, walk
from coemarl.game.central import make_central
from coemarl.game.learner import Learner, best, mean_payoff, scores
from coemarl.game.options import Rules
from coemarl.game.own import OwnState, make_own


class Tree(NamedTuple):
    """Visits and payoffs of the same nodes."""

    visits: Table
    paid: Table


def make_tree(agents: int, actions: int) -> Counts:
    """The tree of joint actions. The game has one state, so there is one tree."""
    return make_dense(0, agents, actions)


def top(counts: Counts) -> NodeKey:
    """The root of the one tree."""
    return counts.root(jnp.uint32(0))


def visit(counts: Counts, table: Table, path: Int[Array, " A+1"], active: Array) -> Table:
    """One visit more for every node of a path, if it is active."""
    return counts.add(table, path[None], active[None])


def make_dep_dep(rules: Rules, agents: int, actions: int) -> Learner:
    """UCT (equation 1): the mean payoff and the count of each child of the path's node."""
    counts = make_tree(agents, actions)

    def choose(state: Tree, draws: Float[Array, " A"]) -> tuple[Int[Array, " A"], Walk]:
        def decide(i, actions, key, parent, children):
            values = mean_payoff(counts.children(state.paid, key), children)
            score = scores(rules, values, parent, children)
            return best(rules, score, draws[i]), jnp.float32(0)

        path = walk(counts, state.visits, top(counts), agents, decide)
        return path.actions, path

    def observe(state: Tree, path: Walk, paid: Bool[Array, ""]) -> Tree:
        return Tree(
            visit(counts, state.visits, path.path, jnp.bool_(True)),
            visit(counts, state.paid, path.path, paid),
        )

    return Learner(lambda: Tree(counts.init(), counts.init()), choose, observe, 2 * counts.bytes)


def make_ind_dep(rules: Rules, agents: int, actions: int) -> Learner:
    """Conditional optimism over values that each agent learns for itself, as COE has it."""
    counts, own = make_tree(agents, actions), make_own(rules, agents, actions)

    def choose(
        state: tuple[Table, OwnState], draws: Float[Array, " A"]
    ) -> tuple[Int[Array, " A"], Walk]:
        values = own.values(state[1])

        def decide(i, actions, key, parent, children):
            score = scores(rules, values[i], parent, children)
            return best(rules, score, draws[i]), jnp.float32(0)

        path = walk(counts, state[0], top(counts), agents, decide)
        return path.actions, path

    def observe(
        state: tuple[Table, OwnState], path: Walk, paid: Bool[Array, ""]
    ) -> tuple[Table, OwnState]:
        visits = visit(counts, state[0], path.path, jnp.bool_(True))
        return visits, own.observe(state[1], path.actions, paid)

    size = counts.bytes + 2 * own.counts.bytes
    return Learner(lambda: (counts.init(), own.init()), choose, observe, size)


def make_ind_ind(rules: Rules, agents: int, actions: int) -> Learner:
    """Every agent a UCB1 learner of its own, as if it were alone."""
    own = make_own(rules, agents, actions)

    def choose(
        state: OwnState, draws: Float[Array, " A"]
    ) -> tuple[Int[Array, " A"], Int[Array, " A"]]:
        values, (parents, children) = own.values(state), own.visits(state)
        chosen = [
            best(rules, scores(rules, values[i], parents[i], children[i]), draws[i])
            for i in range(agents)
        ]
        return jnp.stack(chosen), jnp.stack(chosen)

    def observe(state: OwnState, actions: Int[Array, " A"], paid: Bool[Array, ""]) -> OwnState:
        return own.observe(state, actions, paid)

    return Learner(own.init, choose, observe, 2 * own.counts.bytes)


def make_uniform(rules: Rules, agents: int, actions: int) -> Learner:
    """A team that learns nothing."""

    def choose(state: tuple[()], draws: Float[Array, " A"]) -> tuple[Int[Array, " A"], tuple[()]]:
        return jnp.minimum((draws * actions).astype(jnp.int32), actions - 1), ()

    def observe(state: tuple[()], trace: tuple[()], paid: Bool[Array, ""]) -> tuple[()]:
        return ()

    return Learner(tuple, choose, observe, 0)


LEARNERS: dict[str, Callable[[Rules, int, int], Learner]] = {
    "dep-dep": make_dep_dep,
    "ind-dep": make_ind_dep,
    "ind-ind": make_ind_ind,
    "central": make_central,
    "uniform": make_uniform,
}
