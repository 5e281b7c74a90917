"""Conditionally optimistic exploration (paper, section 4): agents choose one after another, each
with a bonus for actions that are rare AFTER what the agents before it do now.

Acting (equation 4), agent by agent along one path of the count tree:
    a_i = argmax over legal a of  Q_i(a) + c_act sqrt(2 ln N(s, a_<i) / N(s, a_<i, a))
Learning (equation 5), with counts as they stand when learning:
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

Each agent's reward bonus is that of its own prefix, c_rew / sqrt(N(s, a_<=i)) (equation 8); the
last agent's is the joint action's.

Every joint action of training is counted, whatever the constants are. No epsilon is used.

The paper fixes the order in which agents choose. With `order` random it is drawn anew at each step,
with `surest` the agent goes first whose two best legal utilities lie furthest apart. Acting then
counts who did what in which order, in a sketch of its own; the other bonuses keep the fixed order.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.counts import Counts, CountsOptions, NodeKey, SimHash, Table, make_counts, make_hash
from coemarl.counts.simhash import Projection
from coemarl.counts.walk import Walk, path_of, walk, walk_in_order
from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Advice, Choice, Explorer, Judgement, Moment, Values
from coemarl.replay import Episodes
from coemarl.tasks.task import TaskSpec

BONUS_MEMORY = 1000.0
"""Joint actions over which the metric of the mean bonus remembers."""


@dataclass(frozen=True)
class Optimism:
    """Scales and form of an optimism of counts."""

    c_act: float = 0.01
    """Scale of the bonus when acting."""
    c_rew: float = 0.0
    """Scale of the bonus on rewards."""
    c_boot: float = 0.0
    """Scale of the bonus on bootstrapped utilities."""
    form: Literal["paper", "reference"] = "paper"
    """The paper's equations, or the published code's."""
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


@dataclass(frozen=True)
class CoeOptions(Optimism):
    """Scales and forms of the optimism."""

    decay: bool = True
    """In form `reference`: the exponent grows from 1/2 to 2/3 along an episode."""
    order: Literal["fixed", "random", "surest"] = "fixed"
    """Who chooses before whom: by index as in the paper, drawn anew at each step, or the surest
    first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order not in ("fixed", "random", "surest"):
            raise ValueError(f"no coe order '{self.order}': choose fixed, random or surest")
        if self.order != "fixed" and self.counts.kind == "coin-flip":
            raise ValueError(f"coe order {self.order} counts in a sketch, not by coin-flip")


class CoeState(NamedTuple):
    """What COE carries through training."""

    projection: Projection
    table: Table
    turns: Table | None
    """Counts of who did what in which order; None where the order is fixed."""
    visits: Float[Array, ""]
    """Joint actions counted."""
    cells: Float[Array, ""]
    """Codes of states seen."""
    bonus: Float[Array, ""]
    """Mean bonus of the actions taken, over about the last thousand joint actions."""


class CoeTrace(NamedTuple):
    """What one decision leaves to be counted."""

    path: NodeKey
    turns: NodeKey | None
    """The path in the order of choosing; None where that is fixed."""
    bonus: Float[Array, ""]
    """Mean over agents of the bonus of the actions taken."""


def visits_or(unvisited: float, counts: Float[Array, " ..."]) -> Float[Array, " ..."]:
    """Counts, with `unvisited` in place of counts below 1."""
    return jnp.where(counts >= 1, counts, unvisited)


def ucb_bonus(
    parent: Float[Array, ""], children: Float[Array, " U"], unvisited: float
) -> Float[Array, " U"]:
    """sqrt(2 ln N_parent / N_child), with ln N = 0 below one visit (paper, equation 4)."""
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
    """1 / sqrt(N), with `unvisited` in place of counts below 1 (paper, equation 5)."""
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


@dataclass(frozen=True)
class Coe:
    """What the functions of one COE explorer close over."""

    options: CoeOptions
    num_agents: int
    num_actions: int
    counts: Counts
    turns: Counts | None
    simhash: SimHash
    acting: Confidence
    booting: Confidence

    def root(self, state: CoeState, global_state: Float[Array, " S"]) -> NodeKey:
        """The node of a state's code."""
        return self.counts.root(self.simhash.code(state.projection, global_state))

    def optimistic_walk(
        self,
        state: CoeState,
        moment: Moment,
        values: Judgement,
        scale: float,
        confidence: Confidence,
    ) -> Walk:
        """The path on which each agent is greedy in `values(i, actions)` + scale * confidence."""

        def decide(
            i: Array, actions: Array, key: NodeKey, parent: Array, children: Array
        ) -> tuple[Array, Array]:
            bonus = jnp.zeros(self.num_actions)
            if scale > 0:  # without it the walk reads no count
                bonus = scale * confidence(parent, children, moment.t)
            action = best_legal(values(i, actions) + bonus, moment.avail[i])
            return action, bonus[action]

        return walk(
            self.counts, state.table, self.root(state, moment.state), self.num_agents, decide
        )


def stores_bonus(options: CoeOptions) -> bool:
    """Whether the reward bonus is fixed when acting, as the published code does."""
    return options.form == "reference" and options.c_rew > 0


def choose(
    coe: Coe,
    state: CoeState,
    context: tuple[()],
    key: PRNGKeyArray,
    moment: Moment,
    advice: Advice,
    values: Values,
) -> Choice:
    """The team's optimistic joint action; agent i knows what agents before i do (equation 4)."""
    options = coe.options
    read = lambda i, actions: values(advice, i, actions)  # noqa: E731
    if coe.turns is not None:
        return choose_in_turns(coe, state, key, moment, advice, read)
    path = coe.optimistic_walk(state, moment, read, options.c_act, coe.acting)
    reward_bonus = jnp.zeros(coe.num_agents + 1)
    if stores_bonus(options):
        reward_bonus = with_team(reference_novelty(path.visits[1:], options.c_rew))
    return Choice(path.actions, reward_bonus, CoeTrace(path.path, None, path.bonus.mean()))


def order_of(
    coe: Coe, key: PRNGKeyArray, values: Float[Array, "A U"], avail: Bool[Array, "A U"]
) -> Int[Array, " A"]:
    """Who chooses first, second and so on: drawn, or by how far the two best legal utilities lie
    apart, the furthest first (an agent with one legal action before all)."""
    if coe.options.order == "random":
        return jax.random.permutation(key, coe.num_agents)
    best = -jnp.sort(-jnp.where(avail, values, -jnp.inf), axis=1)
    gap = best[:, 0] - best[:, 1] if coe.num_actions > 1 else best[:, 0]
    return jnp.argsort(-gap).astype(jnp.int32)


def choose_in_turns(
    coe: Coe,
    state: CoeState,
    key: PRNGKeyArray,
    moment: Moment,
    advice: Advice,
    values: Judgement,
) -> Choice:
    """As `choose`, in an order of this step's own."""
    assert coe.turns is not None
    options, code = coe.options, coe.simhash.code(state.projection, moment.state)

    def decide(
        i: Array, actions: Array, key: NodeKey, parent: Array, children: Array
    ) -> tuple[Array, Array]:
        bonus = options.c_act * coe.acting(parent, children, moment.t)
        action = best_legal(values(i, actions) + bonus, moment.avail[i])
        return action, bonus[action]

    order = order_of(coe, key, advice.values, moment.avail)
    turns = walk_in_order(
        coe.turns, state.turns, coe.turns.root(code), order, coe.num_actions, decide
    )
    path = path_of(coe.counts, coe.root(state, moment.state), turns.actions)
    reward_bonus = jnp.zeros(coe.num_agents + 1)
    if stores_bonus(options):
        below = jax.tree.map(lambda leaf: leaf[1:], path)
        visits = jax.vmap(coe.counts.count, (None, 0))(state.table, below)
        reward_bonus = with_team(reference_novelty(visits, options.c_rew))
    return Choice(turns.actions, reward_bonus, CoeTrace(path, turns.path, turns.bonus.mean()))


def observe(coe: Coe, state: CoeState, traces: CoeTrace, active: Bool[Array, " E"]) -> CoeState:
    """Counts every node of each active path once more, and what the metrics tell of it."""
    # What was read from the table decides what is written (a bonus is never NaN): if it did not,
    # the compiler would copy the whole table to keep the old values for the readers.
    counted = active & ~jnp.isnan(traces.bonus)
    table = coe.counts.add(state.table, traces.path, counted)
    visits, bonus = recent_mean(state.visits, state.bonus, traces.bonus, counted)
    state = state._replace(table=table, visits=visits, bonus=bonus)
    if coe.turns is not None:
        state = state._replace(turns=coe.turns.add(state.turns, traces.turns, counted))
    if coe.counts.by_state:
        return state
    roots = jax.tree.map(lambda leaf: leaf[:, 0], traces.path)
    # A root's count may have been 0 before only if it is now the number of paths through it here.
    through = jax.vmap(lambda root: paths_through(root, roots, counted))(roots)
    arrivals = jax.vmap(coe.counts.count, (None, 0))(table, roots)
    fresh = jnp.where(counted & (arrivals == through), 1.0 / jnp.maximum(through, 1.0), 0.0)
    return state._replace(cells=state.cells + fresh.sum())


def recent_mean(
    visits: Float[Array, ""],
    mean: Float[Array, ""],
    values: Float[Array, " E"],
    counted: Bool[Array, " E"],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Joint actions counted so far, and a mean over about the last `BONUS_MEMORY` of them, after E
    more of which some count."""
    arrived = counted.sum().astype(jnp.float32)
    visits = visits + arrived
    pace = jnp.minimum(arrived / jnp.clip(visits, 1.0, BONUS_MEMORY), 1.0)
    new = jnp.where(counted, values, 0.0).sum() / jnp.maximum(arrived, 1.0)
    return visits, mean + pace * (new - mean)


def paths_through(root: NodeKey, roots: NodeKey, counted: Bool[Array, " E"]) -> Float[Array, ""]:
    """How many of the counted paths start at this root."""
    same = [mine == all_ for mine, all_ in zip(*map(jax.tree.leaves, (root, roots)), strict=True)]
    return (jnp.stack(same).all(axis=0) & counted).sum().astype(jnp.float32)


def reward(
    coe: Coe, state: CoeState, global_state: Float[Array, " S"], actions: Int[Array, " A"]
) -> Float[Array, " A+1"]:
    """c_rew / sqrt(N(s, a_<=i)) for each agent i, and the team's, as counted now (equations 5 and
    8)."""
    path = path_of(coe.counts, coe.root(state, global_state), actions)
    below = jax.tree.map(lambda leaf: leaf[1:], path)
    visits = jax.vmap(coe.counts.count, (None, 0))(state.table, below)
    return with_team(coe.options.c_rew * novelty(visits, coe.options.unvisited))


def with_team(bonus: Float[Array, " A"]) -> Float[Array, " A+1"]:
    """Each agent's bonus and last the team's, which is the last agent's: its prefix is the whole
    joint action."""
    return jnp.concatenate([bonus, bonus[-1:]])


def bootstrap(
    coe: Coe,
    state: CoeState,
    global_state: Float[Array, " S"],
    t: Int[Array, ""],
    values: Judgement,
    avail: Bool[Array, "A U"],
) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
    """The joint action greedy in utility plus bonus, agent by agent, and its bonuses
    (equation 5)."""
    moment = Moment(global_state, avail, t, jnp.int32(0))
    path = coe.optimistic_walk(state, moment, values, coe.options.c_boot, coe.booting)
    return path.actions, path.bonus


def turns_of(options: CountsOptions, spec: TaskSpec) -> Counts:
    """Counts of who did what in which order: a sketch with an action for each agent and action."""
    return make_counts(
        replace(options, kind="sketch"), spec.num_agents, spec.num_agents * spec.num_actions
    )


def make_coe(options: CoeOptions, spec: TaskSpec) -> Explorer:
    """The COE explorer of a task."""
    acting = acting_confidence(options, spec.episode_limit)
    coe = Coe(
        options=options,
        num_agents=spec.num_agents,
        num_actions=spec.num_actions,
        counts=make_counts(
            options.counts, spec.num_agents, spec.num_actions, state_size=spec.state_size
        ),
        turns=None if options.order == "fixed" else turns_of(options.counts, spec),
        simhash=make_hash(options.counts, spec.state_size),
        acting=acting,
        booting=bootstrap_confidence(options, acting),
    )

    def init(key: PRNGKeyArray) -> CoeState:
        # Arrays of their own: one buffer cannot be donated thrice.
        visits, cells, bonus = (jnp.zeros(()) for _ in range(3))
        seeded = coe.counts.seeded
        table = coe.counts.init() if seeded is None else seeded(jax.random.fold_in(key, 1))
        turns = None if coe.turns is None else coe.turns.init()
        return CoeState(coe.simhash.init(key), table, turns, visits, cells, bonus)

    def calibrate(state: CoeState, states: Float[Array, "N S"]) -> CoeState:
        projection, table = coe.simhash.calibrate(state.projection, states), state.table
        if coe.counts.calibrate is not None:
            seen = jax.vmap(coe.simhash.code, (None, 0))(projection, states)
            table = coe.counts.calibrate(table, seen)
        return state._replace(projection=projection, table=table)

    def finish(state: CoeState, key: PRNGKeyArray, episodes: Episodes) -> CoeState:
        assert coe.counts.learn is not None
        return state._replace(table=coe.counts.learn(state.table, key))

    def metrics(state: CoeState) -> dict[str, Float[Array, ""]]:
        cells = {} if coe.counts.by_state else {"cells": state.cells}
        return {"visits": state.visits, **cells, "bonus": state.bonus}

    counts_when_learning = options.c_rew > 0 and not stores_bonus(options)
    return Explorer(
        init=init,
        begin=lambda state, key, first, steps: (),
        choose=partial(choose, coe),
        observe=partial(observe, coe),
        finish=None if coe.counts.learn is None else finish,
        reward=partial(reward, coe) if counts_when_learning else None,
        bootstrap=partial(bootstrap, coe) if options.c_boot > 0 else None,
        stores_bonus=stores_bonus(options),
        calibration_states=coe.simhash.calibration_states,
        calibrate=calibrate if coe.simhash.calibration_states else None,
        metrics=metrics,
        fixed_order=options.order == "fixed",
        summary=coe.counts.summary + ("" if coe.turns is None else f"; turns: {coe.turns.summary}"),
    )
