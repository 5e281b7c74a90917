"""UCB-Ind (paper, section 5.3 and appendix E): each agent is optimistic by itself, about actions
that are rare for IT in the state, whatever the others do.

It is COE with marginal counts N_i(s, a_i), how often agent i did a_i in s, in place of those that
depend on the agents before:
    acting           a_i = argmax over legal a of  Q_i(a) + c_act sqrt(2 ln N(s) / N_i(s, a))
    reward bonus     c_rew / sqrt(N(s, a)) for the team, of the joint action as in COE (that count
                     is conditional on nobody); c_rew / sqrt(N_i(s, a_i)) for each agent alone
    bootstrap bonus  c_boot / sqrt(N_i(s', a'_i))
with zero counts and ties as in COE. Form `reference`, what the published code computes:
    acting           c_act sqrt(2 ln(n + 1.1) / (N_i(s, a) + 0.1)), n the steps of training so far
    reward bonus     c_rew / sqrt(N + 0.1), clipped to [0, 5], as known when acting
    bootstrap bonus  the acting term with c_boot in place of c_act, n the visits counted so far
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.counts import Counts, NodeKey, SimHash, Table, make_counts, make_hash
from coemarl.counts.simhash import Projection
from coemarl.counts.walk import path_of
from coemarl.explorers.coe import (
    Optimism,
    novelty,
    recent_mean,
    reference_confidence,
    reference_novelty,
    ucb_bonus,
)
from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Advice, Choice, Explorer, Judgement, Moment, Values
from coemarl.explorers.turns import in_turns
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class UcbIndependentOptions(Optimism):
    """Scales and forms of the optimism."""


class UcbIndependentState(NamedTuple):
    """What UCB-Ind carries through training."""

    projection: Projection
    marginal: Table
    """Counts of each agent's own actions: a forest with a tree of one level for each agent and
    state."""
    joint: Table | None
    """Counts of joint actions; None where nothing wants them."""
    visits: Float[Array, ""]
    """Joint actions counted."""
    bonus: Float[Array, ""]
    """Mean bonus of the actions taken, over about the last thousand joint actions."""


class UcbIndependentTrace(NamedTuple):
    """What one decision leaves to be counted."""

    own: NodeKey
    """Keys with leading axes (A, 2): for each agent its root and its action below."""
    path: NodeKey | None
    bonus: Float[Array, ""]


@dataclass(frozen=True)
class UcbIndependent:
    """What the functions of one UCB-Ind explorer close over."""

    options: UcbIndependentOptions
    num_agents: int
    marginal: Counts
    joint: Counts | None
    simhash: SimHash

    def code(self, state: UcbIndependentState, global_state: Float[Array, " S"]) -> Array:
        return self.simhash.code(state.projection, global_state)

    def root(self, code: Array, i: Int[Array, ""]) -> NodeKey:
        """Where agent i's actions are counted at the state of that code."""
        return self.marginal.root(code + (i.astype(jnp.uint32) << self.options.counts.k))

    def confidence(
        self, state: UcbIndependentState, code: Array, i: Int[Array, ""], steps: Array
    ) -> Float[Array, " U"]:
        """The acting bonus of each of agent i's actions, before its scale."""
        root = self.root(code, i)
        children = self.marginal.children(state.marginal, root)
        if self.options.form == "reference":
            return reference_confidence(steps, children, jnp.float32(0.5))
        parent = self.marginal.count(state.marginal, root)
        return ucb_bonus(parent, children, self.options.unvisited)

    def turns(
        self,
        values: Judgement,
        avail: Bool[Array, "A U"],
        scale: float,
        confidence: Callable[[Int[Array, ""]], Float[Array, " U"]],
    ) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
        """Each agent's best legal action by value plus bonus, and its bonus."""

        def decide(i: Array, actions: Array) -> tuple[Array, Array]:
            bonus = scale * confidence(i) if scale > 0 else jnp.zeros(avail.shape[1])
            action = best_legal(values(i, actions) + bonus, avail[i])
            return action, bonus[action]

        return in_turns(self.num_agents, decide)

    def own_keys(self, code: Array, actions: Int[Array, " A"]) -> NodeKey:
        """For each agent its root and its action below: leading axes (A, 2)."""
        agents = jnp.arange(self.num_agents, dtype=jnp.int32)
        keys = lambda i, action: path_of(self.marginal, self.root(code, i), action[None])  # noqa: E731
        return jax.vmap(keys)(agents, actions)

    def visits(
        self, state: UcbIndependentState, own: NodeKey, path: NodeKey | None
    ) -> Float[Array, " A+1"]:
        """How often each agent did its action here, and last the team its joint one."""
        actions = jax.tree.map(lambda leaf: leaf[:, 1], own)
        counts = jax.vmap(self.marginal.count, (None, 0))(state.marginal, actions)
        if self.joint is None:
            return jnp.concatenate([counts, counts[-1:]])
        leaf = jax.tree.map(lambda leaf: leaf[-1:], path)
        team = jax.vmap(self.joint.count, (None, 0))(state.joint, leaf)
        return jnp.concatenate([counts, team])

    def joint_path(self, code: Array, actions: Int[Array, " A"]) -> NodeKey | None:
        return None if self.joint is None else path_of(self.joint, self.joint.root(code), actions)


def choose(
    ucb: UcbIndependent,
    state: UcbIndependentState,
    context: tuple[()],
    key: PRNGKeyArray,
    moment: Moment,
    advice: Advice,
    values: Values,
) -> Choice:
    """Each agent's own optimistic action."""
    code, steps = ucb.code(state, moment.state), moment.steps.astype(jnp.float32)
    actions, bonus = ucb.turns(
        lambda i, actions: values(advice, i, actions),
        moment.avail,
        ucb.options.c_act,
        lambda i: ucb.confidence(state, code, i, steps),
    )
    own, path = ucb.own_keys(code, actions), ucb.joint_path(code, actions)
    reward_bonus = jnp.zeros(ucb.num_agents + 1)
    if stores_bonus(ucb.options):
        reward_bonus = reference_novelty(ucb.visits(state, own, path), ucb.options.c_rew)
    # The bonus stands for all that was read from the tables; see `observe`.
    return Choice(actions, reward_bonus, UcbIndependentTrace(own, path, bonus.mean()))


def stores_bonus(options: UcbIndependentOptions) -> bool:
    """Whether the reward bonus is fixed when acting, as the published code does."""
    return options.form == "reference" and options.c_rew > 0


def observe(
    ucb: UcbIndependent,
    state: UcbIndependentState,
    traces: UcbIndependentTrace,
    active: Bool[Array, " E"],
) -> UcbIndependentState:
    """Counts every agent's action, and the joint one where it is wanted, of each active path."""
    # As in COE: writing depends on what was read, so that tables are changed in place.
    counted = active & ~jnp.isnan(traces.bonus)
    own = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), traces.own)
    marginal = ucb.marginal.add(state.marginal, own, jnp.repeat(counted, ucb.num_agents))
    joint = state.joint
    if ucb.joint is not None:
        joint = ucb.joint.add(state.joint, traces.path, counted)
    visits, bonus = recent_mean(state.visits, state.bonus, traces.bonus, counted)
    return UcbIndependentState(state.projection, marginal, joint, visits, bonus)


def reward(
    ucb: UcbIndependent,
    state: UcbIndependentState,
    global_state: Float[Array, " S"],
    actions: Int[Array, " A"],
) -> Float[Array, " A+1"]:
    """c_rew / sqrt(N_i(s, a_i)) for each agent, and last c_rew / sqrt(N(s, a)), as counted now."""
    code = ucb.code(state, global_state)
    visits = ucb.visits(state, ucb.own_keys(code, actions), ucb.joint_path(code, actions))
    return ucb.options.c_rew * novelty(visits, ucb.options.unvisited)


def bootstrap(
    ucb: UcbIndependent,
    state: UcbIndependentState,
    global_state: Float[Array, " S"],
    t: Int[Array, ""],
    values: Judgement,
    avail: Bool[Array, "A U"],
) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
    """Each agent's action greedy in utility plus bonus, and its bonus."""
    code, options = ucb.code(state, global_state), ucb.options

    def confidence(i: Int[Array, ""]) -> Float[Array, " U"]:
        if options.form == "reference":
            return ucb.confidence(state, code, i, state.visits)
        children = ucb.marginal.children(state.marginal, ucb.root(code, i))
        return novelty(children, options.unvisited)

    return ucb.turns(values, avail, options.c_boot, confidence)


def make_ucb_independent(options: UcbIndependentOptions, spec: TaskSpec) -> Explorer:
    """The UCB-Ind explorer of a task."""
    agent_bits = (spec.num_agents - 1).bit_length()
    if options.counts.k + agent_bits > 32:
        raise ValueError(
            f"counts k is {options.counts.k}: with {spec.num_agents} agents it is at most"
            f" {32 - agent_bits}, for agent and state share a code of 32 bits"
        )
    bits = options.counts.k + agent_bits
    ucb = UcbIndependent(
        options=options,
        num_agents=spec.num_agents,
        marginal=make_counts(options.counts, 1, spec.num_actions, bits),
        joint=make_counts(options.counts, spec.num_agents, spec.num_actions)
        if options.c_rew > 0
        else None,
        simhash=make_hash(options.counts, spec.state_size),
    )

    def init(key: PRNGKeyArray) -> UcbIndependentState:
        joint = None if ucb.joint is None else ucb.joint.init()
        zeros = (jnp.zeros(()), jnp.zeros(()))
        return UcbIndependentState(ucb.simhash.init(key), ucb.marginal.init(), joint, *zeros)

    def calibrate(state: UcbIndependentState, states: Float[Array, "N S"]) -> UcbIndependentState:
        return state._replace(projection=ucb.simhash.calibrate(state.projection, states))

    learns = options.c_rew > 0 and not stores_bonus(options)
    joint = "" if ucb.joint is None else f"; joint actions: {ucb.joint.summary}"
    return Explorer(
        init=init,
        begin=lambda state, key, first, steps: (),
        choose=partial(choose, ucb),
        observe=partial(observe, ucb),
        reward=partial(reward, ucb) if learns else None,
        bootstrap=partial(bootstrap, ucb) if options.c_boot > 0 else None,
        stores_bonus=stores_bonus(options),
        calibration_states=ucb.simhash.calibration_states,
        calibrate=calibrate if ucb.simhash.calibration_states else None,
        metrics=lambda state: {"visits": state.visits, "bonus": state.bonus},
        summary=f"each agent's actions: {ucb.marginal.summary}{joint}",
    )
