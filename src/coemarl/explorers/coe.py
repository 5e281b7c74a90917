"""Conditionally optimistic exploration (paper, section 4): agents choose one after another, each
with a bonus for actions that are rare AFTER what the agents before it do now.

Acting (equation 6), agent by agent along one path of the count tree:
    a_i = argmax over legal a of  Q_i(a) + c_act sqrt(2 ln N(s, a_<i) / N(s, a_<i, a))
Learning (equation 7), with counts as they stand when learning:
    reward bonus     c_rew / sqrt(N(s, a))                   for the whole joint action
    bootstrap bonus  c_boot / sqrt(N(s', a'_<i, a'_i))       for each agent's target utility,
                     a' chosen agent by agent, greedy in utility plus bonus

The paper says nothing of nodes that were never visited. Here an unvisited child counts as
`unvisited` (0.1) visits, and the logarithm of a parent's count below 1 is 0, so every bonus is
finite; from the first visit on the equations hold exactly. At a state visited at most once ln N is
0, and agents act greedily. Ties go to the lowest action.

Form `reference` is what the published code computes instead:
    acting           c_act (2 ln(N_parent + 1.1) / (N_child + 0.1)) ** e
                     e = (H + t) / (2H + t) with H the episode limit and t the step in the episode;
                     1/2 if `decay` is off
    reward bonus     c_rew / sqrt(N(s, a) + 0.1), clipped to [0, 5], with the counts before the
                     visit, stored with the transition
    bootstrap bonus  the acting term with c_boot in place of c_act

Each agent's reward bonus is that of its own prefix, c_rew / sqrt(N(s, a_<=i)) (equation 14); the
last agent's is the joint action's.

Every joint action of training is counted, whatever the constants are. No epsilon is used.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.counts import CountsOptions, NodeKey, Table, make_counts, make_hash
from coemarl.counts.simhash import Projection
from coemarl.counts.walk import path_of, walk
from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Advice, Choice, Explorer, Moment, Values
from coemarl.tasks.task import TaskSpec

BONUS_MEMORY = 1000.0
"""Joint actions over which the metric of the mean bonus remembers."""


@dataclass(frozen=True)
class CoeOptions:
    """Scales and forms of the optimism."""

    c_act: float = 0.01
    """Scale of the bonus when acting."""
    c_rew: float = 0.0
    """Scale of the bonus on rewards."""
    c_boot: float = 0.0
    """Scale of the bonus on bootstrapped utilities."""
    form: Literal["paper", "reference"] = "paper"
    """The paper's equations, or the published code's."""
    decay: bool = True
    """In form `reference`: the exponent grows from 1/2 to 2/3 along an episode."""
    unvisited: float = 0.1
    """In form `paper`: how many visits a node counts as that has none."""
    counts: CountsOptions = field(default_factory=CountsOptions)
    """How states are told apart and visits counted."""

    def __post_init__(self) -> None:
        scales = {"c_act": self.c_act, "c_rew": self.c_rew, "c_boot": self.c_boot}
        for name, value in scales.items():
            if not 0 <= value < float("inf"):
                raise ValueError(f"coe {name} is {value}: a scale of optimism is at least 0")
        if self.form not in ("paper", "reference"):
            raise ValueError(f"no coe form '{self.form}': choose paper or reference")
        if not 0 < self.unvisited <= 1:
            raise ValueError(f"coe unvisited is {self.unvisited}: it must lie in (0, 1]")


class CoeState(NamedTuple):
    """What COE carries through training."""

    projection: Projection
    table: Table
    visits: Float[Array, ""]
    """Joint actions counted."""
    cells: Float[Array, ""]
    """Codes of states seen."""
    bonus: Float[Array, ""]
    """Mean bonus of the actions taken, over about the last thousand joint actions."""


class CoeTrace(NamedTuple):
    """What one decision leaves to be counted."""

    path: NodeKey
    bonus: Float[Array, ""]
    """Mean over agents of the bonus of the actions taken."""


def visits_or(unvisited: float, counts: Float[Array, " ..."]) -> Float[Array, " ..."]:
    """Counts, with `unvisited` in place of counts below 1."""
    return jnp.where(counts >= 1, counts, unvisited)


def ucb_bonus(
    parent: Float[Array, ""], children: Float[Array, " U"], unvisited: float
) -> Float[Array, " U"]:
    """sqrt(2 ln N_parent / N_child), with ln N = 0 below one visit (paper, equation 6)."""
    return jnp.sqrt(2.0 * jnp.log(jnp.maximum(parent, 1.0)) / visits_or(unvisited, children))


def reference_confidence(
    parent: Float[Array, ""], children: Float[Array, " U"], exponent: Float[Array, ""]
) -> Float[Array, " U"]:
    """(2 ln(N_parent + 1.1) / (N_child + 0.1)) ** e, the published code's confidence."""
    return (2.0 * jnp.log(parent + 1.1) / (children + 0.1)) ** exponent


def decayed_exponent(limit: int, t: Int[Array, ""]) -> Float[Array, ""]:
    """(H + t) / (2H + t): 1/2 at an episode's start, 2/3 at its limit."""
    time = t.astype(jnp.float32)
    return (limit + time) / (2.0 * limit + time)


def novelty(visits: Float[Array, " A"], unvisited: float) -> Float[Array, " A"]:
    """1 / sqrt(N), with `unvisited` in place of counts below 1 (paper, equation 7)."""
    return 1.0 / jnp.sqrt(visits_or(unvisited, visits))


def reference_novelty(visits: Float[Array, " A"], scale: float) -> Float[Array, " A"]:
    """scale / sqrt(N + 0.1), clipped to [0, 5], the published code's reward bonus."""
    return jnp.clip(scale / jnp.sqrt(visits + 0.1), 0.0, 5.0)


Confidence = Callable[[Float[Array, ""], Float[Array, " U"], Int[Array, ""]], Float[Array, " U"]]
"""`confidence(parent, children, t)`: the bonus of each child, before its scale."""


def acting_confidence(options: CoeOptions, episode_limit: int) -> Confidence:
    """The acting bonus of the chosen form."""

    def paper(parent: Array, children: Array, t: Array) -> Array:
        return ucb_bonus(parent, children, options.unvisited)

    def reference(parent: Array, children: Array, t: Array) -> Array:
        exponent = decayed_exponent(episode_limit, t) if options.decay else jnp.float32(0.5)
        return reference_confidence(parent, children, exponent)

    return paper if options.form == "paper" else reference


def bootstrap_confidence(options: CoeOptions, acting: Confidence) -> Confidence:
    """The bootstrap bonus of the chosen form."""

    def paper(parent: Array, children: Array, t: Array) -> Array:
        return novelty(children, options.unvisited)

    return paper if options.form == "paper" else acting


def make_coe(options: CoeOptions, spec: TaskSpec) -> Explorer:
    """The COE explorer of a task."""
    counts = make_counts(options.counts, spec.num_agents, spec.num_actions)
    simhash = make_hash(options.counts, spec.state_size)
    acting = acting_confidence(options, spec.episode_limit)
    booting = bootstrap_confidence(options, acting)
    stores = options.form == "reference" and options.c_rew > 0

    def init(key: PRNGKeyArray) -> CoeState:
        zero = jnp.float32(0)
        return CoeState(simhash.init(key), counts.init(), zero, zero, zero)

    def calibrate(state: CoeState, states: Float[Array, "N S"]) -> CoeState:
        return state._replace(projection=simhash.calibrate(state.projection, states))

    def root_of(state: CoeState, global_state: Float[Array, " S"]) -> NodeKey:
        return counts.root(simhash.code(state.projection, global_state))

    def begin(state: CoeState, key: PRNGKeyArray, steps: Int[Array, ""]) -> tuple[()]:
        return ()

    def choose(
        state: CoeState,
        context: tuple[()],
        key: PRNGKeyArray,
        moment: Moment,
        advice: Advice,
        values: Values,
    ) -> Choice:
        def decide(
            i: Array, actions: Array, key: NodeKey, parent: Array, children: Array
        ) -> tuple[Array, Array]:
            bonus = jnp.zeros(spec.num_actions)
            if options.c_act > 0:  # without it the walk reads no count
                bonus = options.c_act * acting(parent, children, moment.t)
            action = best_legal(values(advice, i, actions) + bonus, moment.avail[i])
            return action, bonus[action]

        path = walk(counts, state.table, root_of(state, moment.state), spec.num_agents, decide)
        reward_bonus = jnp.zeros(spec.num_agents)
        if stores:
            reward_bonus = reference_novelty(path.visits[1:], options.c_rew)
        return Choice(path.actions, reward_bonus, CoeTrace(path.path, path.bonus.mean()))

    def observe(state: CoeState, traces: CoeTrace, active: Bool[Array, " E"]) -> CoeState:
        # What was read from the table decides what is written (a bonus is never NaN): if it did
        # not, the compiler would copy the whole table to keep the old values for the readers.
        counted = active & ~jnp.isnan(traces.bonus)
        roots = jax.tree.map(lambda leaf: leaf[:, 0], traces.path)
        root_counts = jax.vmap(counts.count, (None, 0))
        unseen = counted & (root_counts(state.table, roots) == 0)
        table = counts.add(state.table, traces.path, counted & (unseen | ~unseen))
        # A code that n environments reach for the first time together is n shares of one.
        shares = 1.0 / jnp.maximum(root_counts(table, roots), 1.0)
        arrived = counted.sum().astype(jnp.float32)
        visits = state.visits + arrived
        pace = jnp.minimum(arrived * jnp.maximum(1.0 / jnp.maximum(visits, 1.0), 1 / 1000), 1.0)
        mean = jnp.where(counted, traces.bonus, 0.0).sum() / jnp.maximum(arrived, 1.0)
        return CoeState(
            projection=state.projection,
            table=table,
            visits=visits,
            cells=state.cells + jnp.where(unseen, shares, 0.0).sum(),
            bonus=state.bonus + pace * (mean - state.bonus),
        )
    return None
