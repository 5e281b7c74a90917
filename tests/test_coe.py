"""COE: its walks, bonuses and counting against plain Python, and what evaluation leaves alone."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.counts import CountsOptions
from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.explorer import Advice, Explorer, Moment
from coemarl.tasks import TaskSpec
from plain import PlainCoe, plain_walk
from small import assert_same_bytes, raw, small_trainer

SPEC = TaskSpec("coe", 3, 4, 2, 5, 10, "one for all")
A, U, CASES = SPEC.num_agents, SPEC.num_actions, 200
DENSE = CountsOptions(k=2, kind="dense")
FORMS = {
    "paper, dense": CoeOptions(c_act=0.7, c_rew=0.5, c_boot=0.3, counts=DENSE),
    "paper, sketch": CoeOptions(
        c_act=0.7, c_rew=0.5, c_boot=0.3, counts=CountsOptions(k=2, kind="sketch", width=2**14)
    ),
    "reference": CoeOptions(c_act=0.7, c_rew=3.0, c_boot=0.3, form="reference", counts=DENSE),
    "reference, no decay": CoeOptions(
        c_act=0.7, c_rew=3.0, c_boot=0.3, form="reference", decay=False, counts=DENSE
    ),
    "greedy": CoeOptions(c_act=0.0, counts=DENSE),
}


class Cases:
    """Random decisions: states, masks, utilities, times, and an advice on what others do."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.states = rng.normal(size=(CASES, SPEC.state_size)).astype(np.float32)
        self.avail = rng.random((CASES, A, U)) < 0.6
        self.avail[..., 2] |= ~self.avail.any(-1)
        self.utilities = rng.normal(size=(CASES, A, U)).astype(np.float32)
        self.utilities[: CASES // 4] = 0.0  # equal utilities: counts decide, then the lowest
        self.t = rng.integers(0, SPEC.episode_limit, CASES)

    def moments(self) -> Moment:
        return Moment(
            jnp.array(self.states), jnp.array(self.avail), jnp.int32(self.t), jnp.zeros(CASES, int)
        )


CASE = Cases()


@cache
def counted(form: str) -> tuple[Explorer, Any, PlainCoe]:
    """An explorer that has counted random joint actions, three at once, and its twin."""
    options = FORMS[form]
    explorer, rng = make_coe(options, SPEC), np.random.default_rng(1)
    state = explorer.init(jax.random.key(3))
    twin = PlainCoe(options, SPEC, state.projection)

    @jax.jit
    def forced(state: Any, states: Any, actions: Any, active: Any) -> Any:
        """Count these joint actions, chosen because all else is illegal."""
        number = actions.shape[0]
        only = actions[:, :, None] == jnp.arange(U)[None, None]
        zero = jnp.zeros(number, jnp.int32)
        choose = jax.vmap(partial(explorer.choose, values=read), (None, None, None, 0, 0))
        advice = (jnp.zeros((number, A, U)), jnp.zeros((number, A)))
        choice = choose(state, (), None, Moment(states, only, zero, zero), advice)
        return explorer.observe(state, choice.trace, active), choice.actions

    for _ in range(25):
        states = rng.normal(size=(3, SPEC.state_size)).astype(np.float32)
        actions = np.minimum(rng.geometric(0.4, (3, A)) - 1, U - 1)
        active = rng.random(3) < 0.9
        state, chosen = forced(state, jnp.array(states), jnp.int32(actions), jnp.array(active))
        np.testing.assert_array_equal(chosen, actions)
        for s, joint, happened in zip(states, actions, active, strict=True):
            if happened:
                twin.visit(s, joint)
    return explorer, state, twin


def read(advice: tuple[Any, Any], i: Any, actions: Any) -> Any:
    """A utility that depends on what the agents before i do, and on nothing after them."""
    utilities, pull = advice
    before = jnp.where(jnp.arange(A) < i, actions + 1, 0).astype(jnp.float32)
    return utilities[i] + (pull * before).sum() * jnp.arange(U, dtype=jnp.float32)


def plain_read(utilities: np.ndarray, pull: np.ndarray) -> Callable[..., np.ndarray]:
    """The same, one number at a time."""
    return lambda i, actions: (
        utilities[i] + sum(float(pull[j]) * (a + 1) for j, a in enumerate(actions)) * np.arange(U)
    )


def plain_bonus(form: str, twin: PlainCoe, t: int) -> Callable[..., float]:
    options = FORMS[form]
    if options.form == "reference":
        return lambda node, child: options.c_act * twin.reference_confidence(node, child, t)
    return lambda node, child: options.c_act * twin.confidence(node, child)


@pytest.mark.parametrize("form", FORMS)
def test_choose_equals_a_plain_walk(form: str) -> None:
    explorer, state, twin = counted(form)
    pull = np.random.default_rng(2).normal(0, 0.2, (CASES, A)).astype(np.float32)
    pull[: CASES // 2] = 0  # independent utilities among them
    choose = jax.vmap(partial(explorer.choose, values=read), (None, None, None, 0, 0))
    advice = (jnp.array(CASE.utilities), jnp.array(pull))
    choice = jax.jit(choose)(state, (), None, CASE.moments(), advice)
    differs = 0
    for k in range(CASES):
        utilities = plain_read(CASE.utilities[k], pull[k])
        bonus_of = plain_bonus(form, twin, int(CASE.t[k]))
        actions, bonus = plain_walk(twin, CASE.states[k], utilities, CASE.avail[k], bonus_of)
        assert choice.actions[k].tolist() == actions
        np.testing.assert_allclose(choice.trace.bonus[k], np.mean(bonus), rtol=1e-5, atol=1e-6)
        assert all(CASE.avail[k, i, a] for i, a in enumerate(actions))
        greedy = plain_walk(twin, CASE.states[k], utilities, CASE.avail[k], lambda *_: 0.0)[0]
        differs += greedy != actions
    # Optimism changes what is done, and without it agents are greedy.
    assert differs == 0 if form == "greedy" else differs > CASES // 4


@pytest.mark.parametrize("form", ["reference", "reference, no decay"])
def test_reference_fixes_the_reward_bonus_when_acting(form: str) -> None:
    """c_rew / sqrt(N + 0.1) of each agent's prefix, before the visit, at most 5."""
    explorer, state, twin = counted(form)
    assert explorer.stores_bonus
    assert explorer.reward is None
    advice = (jnp.array(CASE.utilities), jnp.zeros((CASES, A)))
    choose = jax.vmap(partial(explorer.choose, values=read), (None, None, None, 0, 0))
    choice = jax.jit(choose)(state, (), None, CASE.moments(), advice)
    clipped = 0
    for k in range(CASES):
        path = (*twin.root(CASE.states[k]), *choice.actions[k].tolist())
        visits = [twin.tree.count(path[: depth + 2]) for depth in range(A)]
        expected = [min(3.0 / (n + 0.1) ** 0.5, 5.0) for n in visits]
        np.testing.assert_allclose(choice.reward_bonus[k], [*expected, expected[-1]], rtol=1e-5)
        clipped += expected[-1] == 5.0
    assert 0 < clipped < CASES


@pytest.mark.parametrize("form", ["paper, dense", "paper, sketch"])
def test_reward_bonus_by_the_paper(form: str) -> None:
    """Of every prefix, with counts as they stand now; nothing is stored when acting."""
    explorer, state, twin = counted(form)
    assert explorer.reward is not None
    assert not explorer.stores_bonus
    actions = np.random.default_rng(3).integers(0, U, (CASES, A))
    bonus = jax.jit(jax.vmap(explorer.reward, (None, 0, 0)))(
        state, jnp.array(CASE.states), jnp.int32(actions)
    )
    expected = [twin.rewards(s, joint) for s, joint in zip(CASE.states, actions, strict=True)]
    np.testing.assert_allclose(bonus[:, :A], expected, rtol=1e-5)
    np.testing.assert_array_equal(bonus[:, A], bonus[:, A - 1])  # the team's: the whole path's
    assert len({round(float(b), 4) for b in bonus.ravel()}) > 5


@pytest.mark.parametrize("form", ["paper, dense", "paper, sketch", "reference"])
def test_bootstrap_equals_a_plain_walk(form: str) -> None:
    """By the paper c_boot / sqrt(N) of each prefix; by the published code the acting term."""
    explorer, state, twin = counted(form)
    options = FORMS[form]
    assert explorer.bootstrap is not None
    moments = CASE.moments()
    pull = np.random.default_rng(4).normal(0, 0.2, (CASES, A)).astype(np.float32)
    pull[: CASES // 2] = 0  # independent utilities among them

    def bootstrap(state: Any, s: Any, t: Any, advice: Any, avail: Any) -> Any:
        assert explorer.bootstrap is not None
        return explorer.bootstrap(state, s, t, partial(read, advice), avail)

    actions, bonus = jax.jit(jax.vmap(bootstrap, (None, 0, 0, 0, 0)))(
        state,
        moments.state,
        moments.t,
        (jnp.array(CASE.utilities), jnp.array(pull)),
        moments.avail,
    )
    for k in range(CASES):
        t = int(CASE.t[k])
        if options.form == "paper":
            of = lambda node, child: options.c_boot * twin.novelty(child)  # noqa: E731
        else:
            of = lambda node, child, t=t: options.c_boot * twin.reference_confidence(node, child, t)  # noqa: E731
        expected, bonuses = plain_walk(
            twin, CASE.states[k], plain_read(CASE.utilities[k], pull[k]), CASE.avail[k], of
        )
        assert actions[k].tolist() == expected
        np.testing.assert_allclose(bonus[k], bonuses, rtol=1e-5)


# The order of choosing

ORDERED = {
    order: CoeOptions(c_act=0.7, order=order, counts=CountsOptions(k=2, kind="dense", width=2**16))
    for order in ("random", "surest")
}


@pytest.mark.parametrize("order", ORDERED)
def test_choices_in_an_order_of_their_own_equal_plain_ones(order: str) -> None:
    """Counts of who did what before whom, in a dictionary; the order is told by the trace."""
    explorer = make_coe(ORDERED[order], SPEC)
    state, rng = explorer.init(jax.random.key(3)), np.random.default_rng(1)
    twin, seen = PlainCoe(ORDERED[order], SPEC, state.projection), Counter()
    choose, observe = jax.jit(partial(explorer.choose, values=own)), jax.jit(explorer.observe)
    orders = set()
    for step in range(150):
        s = rng.normal(size=SPEC.state_size).astype(np.float32)
        utilities = rng.normal(0, 0.3, (A, U)).astype(np.float32)
        avail = rng.random((A, U)) < 0.8
        avail[:, 1] |= ~avail.any(1)
        zero, key = jnp.int32(0), jax.random.key(step)
        advice = Advice(jnp.array(utilities), jnp.zeros((A, 0)))
        moment = Moment(jnp.array(s), jnp.array(avail), zero, zero)
        choice = choose(state, (), key, moment, advice)
        turns = plain_order(order, key, utilities, avail)
        node, actions = twin.root(s), {}
        for i in turns:
            visits = [seen[(*node, (i, a))] for a in range(U)]
            top = 2 * math.log(max(sum(visits), 1))
            score = [
                utilities[i, a] + 0.7 * math.sqrt(top / (n or 0.1)) if avail[i, a] else -math.inf
                for a, n in enumerate(visits)
            ]
            actions[i] = score.index(max(score))
            node = (*node, (i, actions[i]))
            seen[node] += 1
        assert choice.actions.tolist() == [actions[i] for i in range(A)]
        orders.add(tuple(turns))
        trace = jax.tree.map(lambda leaf: leaf[None], choice.trace)
        state = observe(state, trace, jnp.ones(1, bool))
    assert len(orders) > A
    assert float(state.visits) == 150


def own(advice: Advice, i: Any, actions: Any) -> Any:
    return advice.values[i]


def plain_order(order: str, key: Any, utilities: np.ndarray, avail: np.ndarray) -> list[int]:
    if order == "random":
        return jax.random.permutation(key, A).tolist()
    legal = [sorted(row[mask], reverse=True) for row, mask in zip(utilities, avail, strict=True)]
    gaps = [row[0] - row[1] if len(row) > 1 else math.inf for row in legal]
    return sorted(range(A), key=lambda i: -gaps[i])


def test_scales_of_zero_leave_learning_alone() -> None:
    explorer = make_coe(FORMS["greedy"], SPEC)
    assert explorer.reward is None
    assert explorer.bootstrap is None
    assert not explorer.stores_bonus


def test_metrics_are_those_of_what_was_counted() -> None:
    explorer, state, twin = counted("paper, dense")
    metrics = explorer.metrics(state)
    roots = [node for node in twin.tree.visits if len(node) == 1]
    assert float(metrics["visits"]) == sum(twin.tree.count(root) for root in roots)
    assert float(metrics["cells"]) == len(roots) == 4
    assert float(metrics["bonus"]) > 0


def test_mean_bonus_and_cells_by_hand() -> None:
    """Of 1 active and 1 inactive environment, then of 2 at one state not yet seen."""
    explorer = make_coe(CoeOptions(c_act=1.0, counts=DENSE), SPEC)
    state = explorer.init(jax.random.key(0))
    here = np.ones(SPEC.state_size, np.float32)
    states = np.stack([here, -here])  # opposite signs: different codes
    first, second = (PlainCoe(CoeOptions(counts=DENSE), SPEC, state.projection).root(s)
                     for s in states)  # fmt: skip
    assert first != second

    @jax.jit
    def act(state: Any, states: Any) -> Any:
        moment = Moment(states, jnp.ones((2, A, U), bool), *jnp.zeros((2, 2), int))
        values = lambda advice, i, actions: jnp.zeros(U)  # noqa: E731
        choose = jax.vmap(explorer.choose, (None, None, None, 0, None, None))
        return choose(state, (), None, moment, None, values).trace

    state = explorer.observe(state, act(state, states), jnp.array([True, False]))
    assert [float(v) for v in explorer.metrics(state).values()] == [1.0, 1.0, 0.0]
    state = explorer.observe(state, act(state, states[[1, 1]]), jnp.array([True, True]))
    assert float(state.visits) == 3
    assert float(state.cells) == 2
    state = explorer.observe(state, act(state, states[[1, 1]]), jnp.array([True, True]))
    # Each of both meets a root of 2 visits, whose one child has 2 and the others none: all agents
    # but the first then stand below a node without visits, where ln N is 0.
    bonus = (2 * np.log(2) / 0.1) ** 0.5 / A
    np.testing.assert_allclose(state.bonus, bonus * 2 / 5, rtol=1e-5)


def test_unvisited_state_is_played_greedily() -> None:
    explorer = make_coe(CoeOptions(c_act=100.0, counts=DENSE), SPEC)
    state = explorer.init(jax.random.key(0))
    advice = (jnp.array(CASE.utilities), jnp.zeros((CASES, A)))
    choose = jax.vmap(partial(explorer.choose, values=read), (None, None, None, 0, 0))
    choice = jax.jit(choose)(state, (), None, CASE.moments(), advice)
    best = np.where(CASE.avail, CASE.utilities, -np.inf).argmax(-1)
    np.testing.assert_array_equal(choice.actions, best)
    assert not np.asarray(choice.trace.bonus).any()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"c_act": -1.0}, "c_act is -1.0"),
        ({"c_rew": float("nan")}, "c_rew is nan"),
        ({"c_boot": float("inf")}, "c_boot is inf"),
        ({"form": "original"}, "paper or reference"),
        ({"unvisited": 0.0}, r"\(0, 1\]"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        CoeOptions(**options)


# Evaluation


def test_evaluation_changes_nothing_and_reads_no_bonus() -> None:
    """On a real trainer: no count, no key, no sum; and counts do not change what is evaluated."""
    trainer = small_trainer()
    state = trainer.advance(trainer.init(), 12)
    before = raw(state)
    assert before[".explorer.table"].any()
    evaluation = trainer.evaluate(state)
    after = raw(state)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert trainer.evaluate(state) == evaluation
    noise = jnp.arange(state.explorer.table.size, dtype=jnp.int32) % 7
    other = state._replace(explorer=state.explorer._replace(table=noise))
    assert trainer.evaluate(other) == evaluation


def test_training_goes_the_same_way_however_often_it_is_evaluated() -> None:
    trainer = small_trainer()
    straight = trainer.advance(trainer.init(), 12)
    state = trainer.init()
    for _ in range(3):
        state = trainer.advance(state, 4)
        trainer.evaluate(state)
    assert_same_bytes(straight, state)
