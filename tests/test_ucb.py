"""UCB-Ind and UCB-Cen: choices and bonuses against plain Python."""

import math
from collections import Counter
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.counts import CountsOptions
from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.explorer import Advice, Explorer, Moment
from coemarl.explorers.ucb_central import UcbCentralOptions, make_ucb_central
from coemarl.explorers.ucb_independent import UcbIndependentOptions, make_ucb_independent
from coemarl.tasks import TaskSpec
from coemarl.utilities.utility import own_values
from plain import plain_code

SPEC = TaskSpec("ucb", 3, 4, 2, 5, 10, "one for all")
A, U, CASES = SPEC.num_agents, SPEC.num_actions, 150
COUNTS = CountsOptions(k=2, kind="dense")
FORMS = {
    "paper": UcbIndependentOptions(c_act=0.7, c_rew=0.5, c_boot=0.3, counts=COUNTS),
    "reference": UcbIndependentOptions(
        c_act=0.7, c_rew=3.0, c_boot=0.3, form="reference", counts=COUNTS
    ),
}


class Seen:
    """What was counted, in dictionaries."""

    def __init__(self, projection: Any) -> None:
        self.projection = projection
        self.states: Counter = Counter()
        self.own: Counter = Counter()
        self.joint: Counter = Counter()

    def code(self, state: np.ndarray) -> int:
        return plain_code(self.projection, state)

    def visit(self, state: np.ndarray, actions: np.ndarray) -> None:
        code = self.code(state)
        self.states[code] += 1
        self.joint[(code, *map(int, actions))] += 1
        for i, action in enumerate(actions):
            self.own[(code, i, int(action))] += 1


def choosing(explorer: Explorer) -> Any:
    choose = jax.vmap(partial(explorer.choose, values=own_values), (None, None, None, 0, 0))
    return jax.jit(choose)


def advice(utilities: np.ndarray) -> Advice:
    return Advice(jnp.array(utilities), jnp.zeros((*utilities.shape[:2], 0)))


@cache
def counted(form: str) -> tuple[Explorer, Any, Seen]:
    """An explorer that has counted random joint actions, and the same in dictionaries."""
    explorer, rng = make_ucb_independent(FORMS[form], SPEC), np.random.default_rng(1)
    state = explorer.init(jax.random.key(3))
    seen, choose, observe = Seen(state.projection), choosing(explorer), jax.jit(explorer.observe)
    for _ in range(30):
        states = rng.normal(size=(3, SPEC.state_size)).astype(np.float32)
        actions = np.minimum(rng.geometric(0.4, (3, A)) - 1, U - 1)
        only = actions[:, :, None] == np.arange(U)  # all else is illegal
        zero = jnp.zeros(3, jnp.int32)
        moment = Moment(jnp.array(states), jnp.array(only), zero, zero)
        choice = choose(state, (), None, moment, advice(np.zeros((3, A, U), np.float32)))
        np.testing.assert_array_equal(choice.actions, actions)
        active = rng.random(3) < 0.9
        state = observe(state, choice.trace, jnp.array(active))
        for s, joint, happened in zip(states, actions, active, strict=True):
            if happened:
                seen.visit(s, joint)
    return explorer, state, seen


class Cases:
    """Random decisions."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.states = rng.normal(size=(CASES, SPEC.state_size)).astype(np.float32)
        self.avail = rng.random((CASES, A, U)) < 0.6
        self.avail[..., 2] |= ~self.avail.any(-1)
        self.utilities = rng.normal(0, 0.5, (CASES, A, U)).astype(np.float32)
        self.steps = rng.integers(0, 5000, CASES)
        self.moments = Moment(
            jnp.array(self.states),
            jnp.array(self.avail),
            jnp.zeros(CASES, jnp.int32),
            jnp.int32(self.steps),
        )


CASE = Cases()


def plain_bonus(form: str, seen: Seen, k: int, i: int, action: int, parent: float) -> float:
    """The acting bonus before its scale."""
    code = seen.code(CASE.states[k])
    visits = seen.own[(code, i, action)]
    if form == "reference":
        return (2 * math.log(parent + 1.1) / (visits + 0.1)) ** 0.5
    return math.sqrt(2 * math.log(max(parent, 1)) / (visits or 0.1))


def plain_best(k: int, i: int, bonus: list[float]) -> int:
    scores = [
        CASE.utilities[k, i, a] + bonus[a] if CASE.avail[k, i, a] else -math.inf for a in range(U)
    ]
    return scores.index(max(scores))


@pytest.mark.parametrize("form", FORMS)
def test_choices_equal_plain_ones(form: str) -> None:
    explorer, state, seen = counted(form)
    choice = choosing(explorer)(state, (), None, CASE.moments, advice(CASE.utilities))
    optimistic = 0
    for k in range(CASES):
        code = seen.code(CASE.states[k])
        parent = CASE.steps[k] if form == "reference" else seen.states[code]
        for i in range(A):
            bonus = [0.7 * plain_bonus(form, seen, k, i, a, parent) for a in range(U)]
            expected = plain_best(k, i, bonus)
            assert choice.actions[k, i] == expected
            optimistic += expected != plain_best(k, i, [0.0] * U)
    assert optimistic > CASES // 4


def test_reward_bonus_by_the_paper() -> None:
    """Each agent's own action, and last the joint one."""
    explorer, state, seen = counted("paper")
    assert explorer.reward is not None
    actions = np.random.default_rng(3).integers(0, U, (CASES, A))
    bonus = jax.jit(jax.vmap(explorer.reward, (None, 0, 0)))(
        state, jnp.array(CASE.states), jnp.int32(actions)
    )
    for k, joint in enumerate(actions.tolist()):
        code = seen.code(CASE.states[k])
        visits = [seen.own[(code, i, a)] for i, a in enumerate(joint)]
        visits.append(seen.joint[(code, *joint)])
        expected = [0.5 / math.sqrt(n or 0.1) for n in visits]
        np.testing.assert_allclose(bonus[k], expected, rtol=1e-5)


def test_reference_fixes_the_reward_bonus_when_acting() -> None:
    explorer, state, seen = counted("reference")
    assert explorer.stores_bonus
    assert explorer.reward is None
    choice = choosing(explorer)(state, (), None, CASE.moments, advice(CASE.utilities))
    for k in range(CASES):
        code, joint = seen.code(CASE.states[k]), choice.actions[k].tolist()
        team = min(3.0 / math.sqrt(seen.joint[(code, *joint)] + 0.1), 5.0)
        np.testing.assert_allclose(choice.reward_bonus[k, -1], team, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_bootstrap_bonus(form: str) -> None:
    explorer, state, seen = counted(form)

    def bootstrap(s: Any, values: Any, avail: Any) -> Any:
        assert explorer.bootstrap is not None
        read = lambda i, actions: values[i]  # noqa: E731
        return explorer.bootstrap(state, s, jnp.int32(0), read, avail)

    actions, bonus = jax.jit(jax.vmap(bootstrap))(
        jnp.array(CASE.states), jnp.array(CASE.utilities), jnp.array(CASE.avail)
    )
    total = sum(seen.states.values())
    for k in range(CASES):
        code = seen.code(CASE.states[k])
        for i in range(A):
            visits = [seen.own[(code, i, a)] for a in range(U)]
            if form == "paper":
                expected = [0.3 / math.sqrt(n or 0.1) for n in visits]
            else:
                expected = [0.3 * plain_bonus(form, seen, k, i, a, total) for a in range(U)]
            assert actions[k, i] == plain_best(k, i, expected)
            np.testing.assert_allclose(bonus[k, i], expected[int(actions[k, i])], rtol=1e-5)


def test_for_a_single_agent_conditional_and_independent_counts_are_one() -> None:
    """UCB-Ind and COE act and reward alike where nobody comes before."""
    spec = TaskSpec("one", 1, U, 2, 5, 10, "one for all")
    scales = {"c_act": 0.7, "c_rew": 0.5, "c_boot": 0.3}
    pair = [
        make_coe(CoeOptions(**scales, counts=COUNTS), spec),
        make_ucb_independent(UcbIndependentOptions(**scales, counts=COUNTS), spec),
    ]
    states = [explorer.init(jax.random.key(5)) for explorer in pair]
    chooses, observes = zip(*[(choosing(e), jax.jit(e.observe)) for e in pair], strict=True)
    rewards = [jax.jit(e.reward) for e in pair if e.reward is not None]
    rng, different = np.random.default_rng(2), set()
    for _ in range(60):
        seen = jnp.array(rng.normal(size=(1, 5)), jnp.float32)
        zero = jnp.zeros(1, jnp.int32)
        moment = Moment(seen, jnp.ones((1, 1, U), bool), zero, zero)
        told = advice(rng.normal(0, 0.3, (1, 1, U)).astype(np.float32))
        choices = [c(s, (), None, moment, told) for c, s in zip(chooses, states, strict=True)]
        assert choices[0].actions.tolist() == choices[1].actions.tolist()
        different.add(choices[0].actions.item())
        taken = choices[0].actions[0]
        bonuses = [r(s, seen[0], taken) for r, s in zip(rewards, states, strict=True)]
        np.testing.assert_allclose(*bonuses, rtol=1e-6)
        active = jnp.ones(1, bool)
        states = [o(s, c.trace, active) for o, s, c in zip(observes, states, choices, strict=True)]
    assert len(different) == U


def test_central_is_optimistic_in_rewards_only() -> None:
    explorer = make_ucb_central(UcbCentralOptions(c_rew=0.5, counts=COUNTS), SPEC)
    assert explorer.bootstrap is None
    state = explorer.init(jax.random.key(3))
    seen = Seen(state.projection)
    choose, observe = choosing(explorer), jax.jit(explorer.observe)
    for _ in range(3):
        choice = choose(state, (), None, CASE.moments, advice(CASE.utilities))
        for k in range(CASES):
            greedy = [plain_best(k, i, [0.0] * U) for i in range(A)]
            assert choice.actions[k].tolist() == greedy
            seen.visit(CASE.states[k], choice.actions[k])
        state = observe(state, choice.trace, jnp.ones(CASES, bool))
    assert explorer.reward is not None
    bonus = jax.jit(jax.vmap(explorer.reward, (None, 0, 0)))(
        state, jnp.array(CASE.states), choice.actions
    )
    visits = [
        seen.joint[(seen.code(s), *joint)]
        for s, joint in zip(CASE.states, choice.actions.tolist(), strict=True)
    ]
    np.testing.assert_allclose(bonus[:, -1], 0.5 / np.sqrt(visits), rtol=1e-5)


def test_options_are_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="at most 30"):
        make_ucb_independent(UcbIndependentOptions(counts=CountsOptions(k=32)), SPEC)
    with pytest.raises(ValueError, match="c_act is -1"):
        UcbIndependentOptions(c_act=-1)
    with pytest.raises(ValueError, match="c_rew is -1"):
        make_ucb_central(UcbCentralOptions(c_rew=-1), SPEC)
