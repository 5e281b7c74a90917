"""The conditional utility: its correction by hand, acting in turns on it, and its two losses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.config import LearnerOptions
from coemarl.counts import CountsOptions
from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Advice, Moment
from coemarl.learner import Params, make_learner
from coemarl.mixers import TABLE as MIXERS
from coemarl.mixers.qmix import QmixOptions
from coemarl.replay import Episodes
from coemarl.tasks import TaskSpec
from coemarl.utilities.conditional import ConditionalOptions, make_conditional
from coemarl.utilities.independent import IndependentOptions, make_independent

SPEC = TaskSpec("conditional", 3, 4, 3, 5, 4, "one for all")
A, U, H = SPEC.num_agents, SPEC.num_actions, 4
OPTIONS = ConditionalOptions(hidden=H, embedding=3)
UTILITY = make_conditional(OPTIONS, SPEC, "float32")
DEPENDENT, OWN = UTILITY.views


def plain_values(params: Any, advice: Any, i: int, actions: list[int]) -> np.ndarray:
    """Agent i's values given what the agents before it do, one number at a time."""
    seen = np.zeros((A - 1) * U)
    for j in range(i):
        seen[j * U + actions[j]] = 1
    embed, head = params.correction
    before = np.maximum(np.asarray(embed.weight) @ seen + embed.bias, 0)
    inputs = np.concatenate([advice.features[i], before])
    return np.asarray(advice.values[i]) + np.asarray(head.weight) @ inputs + head.bias


def random_advice(rng: np.random.Generator) -> Advice:
    return Advice(
        jnp.array(rng.normal(size=(A, U)), jnp.float32),
        jnp.array(rng.normal(size=(A, H)), jnp.float32),
    )


def test_correction_reads_the_agents_before_and_nobody_else() -> None:
    params, rng = UTILITY.init(jax.random.key(0)), np.random.default_rng(0)
    values = jax.jit(DEPENDENT.values(params))
    for _ in range(20):
        advice, actions = random_advice(rng), rng.integers(0, U, A)
        for i in range(A):
            ours = values(advice, jnp.int32(i), jnp.int32(actions))
            expected = plain_values(params, advice, i, actions.tolist())
            np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
            after = actions.copy()
            after[i:] = rng.integers(0, U, A - i)
            np.testing.assert_array_equal(ours, values(advice, jnp.int32(i), jnp.int32(after)))


def test_agents_act_in_turns_on_conditional_values() -> None:
    params, rng = UTILITY.init(jax.random.key(1)), np.random.default_rng(1)
    explorer = make_epsilon(EpsilonOptions(start=0, end=0), SPEC)

    @jax.jit
    def choose(moment: Moment, advice: Advice) -> Any:
        still, key = jnp.float32(0), jax.random.key(0)
        return explorer.choose((), still, key, moment, advice, DEPENDENT.values(params)).actions

    differs = 0
    for _ in range(40):
        advice, avail = random_advice(rng), rng.random((A, U)) < 0.7
        avail[:, 1] |= ~avail.any(1)
        zero = jnp.int32(0)
        moment = Moment(jnp.zeros(SPEC.state_size), jnp.array(avail), zero, zero)
        chosen = choose(moment, advice)
        actions: list[int] = []
        for i in range(A):
            scores = np.where(avail[i], plain_values(params, advice, i, actions), -np.inf)
            actions.append(int(scores.argmax()))
        assert chosen.tolist() == actions
        alone = np.where(avail, advice.values, -np.inf).argmax(axis=1)
        differs += actions != alone.tolist()
    assert differs > 5


def test_without_correction_it_acts_as_coe() -> None:
    """Zeros in the correction's last layer: the same choices as COE on the independent utility."""
    params, rng = UTILITY.init(jax.random.key(2)), np.random.default_rng(2)
    silent = params.correction._replace(head=jax.tree.map(jnp.zeros_like, params.correction.head))
    params = params._replace(correction=silent)
    counts = CountsOptions(k=2, kind="dense")
    explorer = make_coe(CoeOptions(c_act=0.5, counts=counts), SPEC)
    state, chosen = explorer.init(jax.random.key(0)), set()

    @jax.jit
    def choose(state: Any, moment: Moment, advice: Advice) -> Any:
        key = jax.random.key(0)
        views = [view.values(params) for view in (DEPENDENT, OWN)]
        return [explorer.choose(state, (), key, moment, advice, values) for values in views]

    observe = jax.jit(explorer.observe)
    for _ in range(30):
        advice, zero = random_advice(rng), jnp.int32(0)
        seen = jnp.array(rng.normal(size=SPEC.state_size), jnp.float32)
        moment = Moment(seen, jnp.ones((A, U), bool), zero, zero)
        choices = choose(state, moment, advice)
        assert choices[0].actions.tolist() == choices[1].actions.tolist()
        chosen.add(tuple(choices[0].actions.tolist()))
        trace = jax.tree.map(lambda leaf: leaf[None], choices[0].trace)
        state = observe(state, trace, jnp.ones(1, bool))
    assert len(chosen) > 5


# Learning


def random_batch(rng: np.random.Generator, spec: TaskSpec = SPEC) -> Episodes:
    """Three episodes, of which one ends early."""
    B, T = 3, spec.episode_limit
    avail = rng.random((B, T + 1, A, U)) < 0.7
    avail[..., 1] |= ~avail.any(-1)
    length = np.array([4, 4, 2])
    inside = np.arange(T) < length[:, None]
    real = lambda *shape: jnp.array(rng.normal(size=shape), jnp.float32)  # noqa: E731
    return Episodes(
        observation=real(B, T + 1, A, spec.observation_size),
        state=real(B, T + 1, spec.state_size),
        avail=jnp.array(avail),
        actions=jnp.int32(rng.integers(0, U, (B, T, A))),
        reward=real(B, T) * jnp.array(inside, jnp.float32),
        bonus=jnp.zeros((B, T, A + 1)),
        latent=jnp.zeros((B, 0)),
        length=jnp.array(length),
        terminated=jnp.array([False, True, True]),
    )


LEARNING = LearnerOptions(learning_rate=1e-2, standardise_rewards=False)
GREEDY = make_epsilon(EpsilonOptions(), SPEC)


def learner_of(utility: Any, mixer: str) -> Any:
    options = QmixOptions(embedding=3, hypernet=4) if mixer == "qmix" else None
    return make_learner(LEARNING, utility, MIXERS[mixer][1](options, SPEC), GREEDY)


def test_own_values_learn_as_independent_ones_do() -> None:
    """Without a mixer the two losses share nothing: own values learn as IQL's, bit for bit."""
    iql = learner_of(make_independent(IndependentOptions(H), SPEC, "float32"), "none")
    cond = learner_of(UTILITY, "none")
    state = cond.init(jax.random.key(0))
    own = state._replace(
        online=Params(state.online.utility.own, (), ()),
        target=Params(state.target.utility.own, (), ()),
    )
    own = own._replace(optimiser=iql.init(jax.random.key(0)).optimiser)
    rng, updates = np.random.default_rng(5), [jax.jit(cond.update), jax.jit(iql.update)]
    before = state.online.utility.correction
    for _ in range(3):
        batch = random_batch(rng)
        state, losses = updates[0](state, (), cond.lesson(batch))
        own, alone = updates[1](own, (), iql.lesson(batch))
        np.testing.assert_allclose(losses.loss, alone.loss, rtol=1e-6)
        assert losses.conditional_loss is not None
        assert alone.conditional_loss is None
    for ours, theirs in ((state.online, own.online), (state.target, own.target)):
        pairs = zip(jax.tree.leaves(ours.utility.own), jax.tree.leaves(theirs), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    moved = jax.tree.map(lambda a, b: (a != b).any(), before, state.online.utility.correction)
    assert all(map(bool, jax.tree.leaves(moved)))


def plain_dependent_targets(params: Any, target: Any, batch: Episodes) -> np.ndarray:
    """y (B, T, A) without a mixer: predecessors in the target are the greedy ones of the pass."""
    B, T = batch.reward.shape
    length = jnp.int32(T + 1)
    advise = lambda p: UTILITY.unroll(p, batch.observation, batch.latent, length)  # noqa: E731
    online, later = advise(params), advise(target)
    y = np.zeros((B, T, A))
    for b in range(B):
        for t in range(int(batch.length[b])):
            y[b, t] = batch.reward[b, t]
            if bool(batch.terminated[b]) and t == int(batch.length[b]) - 1:
                continue
            at = lambda advice, b=b, t=t: jax.tree.map(lambda x: x[b, t + 1], advice)  # noqa: E731
            actions: list[int] = []
            for i in range(A):
                judge = plain_values(params, at(online), i, actions)
                legal = np.asarray(batch.avail[b, t + 1, i])
                actions.append(int(np.where(legal, judge, -np.inf).argmax()))
            for i in range(A):
                y[b, t, i] += 0.99 * plain_values(target, at(later), i, actions)[actions[i]]
    return y


def test_conditional_targets_and_loss_equal_plain_ones() -> None:
    learner, rng = learner_of(UTILITY, "none"), np.random.default_rng(9)
    state, batch = learner.init(jax.random.key(3)), random_batch(rng)
    other = learner.init(jax.random.key(4)).online
    state = state._replace(target=other)  # a target of its own, so that both nets matter
    _, losses = jax.jit(learner.update)(state, (), learner.lesson(batch))
    params = state.online.utility
    y = plain_dependent_targets(params, other.utility, batch)
    advice = UTILITY.unroll(params, batch.observation, batch.latent, jnp.int32(5))
    total, steps = 0.0, 0
    for b in range(3):
        for t in range(int(batch.length[b])):
            actions = batch.actions[b, t].tolist()
            at = jax.tree.map(lambda x, b=b, t=t: x[b, t], advice)
            q = [plain_values(params, at, i, actions)[actions[i]] for i in range(A)]
            total += float(np.mean((np.array(q) - y[b, t]) ** 2))
            steps += 1
    np.testing.assert_allclose(losses.conditional_loss, total / steps, rtol=1e-5)


@pytest.mark.parametrize("trains_trunk", [False, True])
def test_what_the_conditional_loss_trains(trains_trunk: bool) -> None:
    """The correction, and the trunk only if asked; never the own head."""
    options = ConditionalOptions(hidden=H, embedding=3, trains_trunk=trains_trunk)
    utility = make_conditional(options, SPEC, "float32")
    params = utility.init(jax.random.key(0))
    dependent, own = (view.trains(params) for view in utility.views if view.trains)
    assert set(jax.tree.leaves(dependent.correction)) == {True}
    assert set(jax.tree.leaves(dependent.own.trunk)) == {trains_trunk}
    assert set(jax.tree.leaves(dependent.own.head)) == {False}
    assert set(jax.tree.leaves(own.own)) == {True}
    assert set(jax.tree.leaves(own.correction)) == {False}
    advice = random_advice(np.random.default_rng(0))
    read = lambda memory: utility.views[0].values(params)(  # noqa: E731
        advice._replace(features=memory), jnp.int32(1), jnp.zeros(A, jnp.int32)
    )[0]
    assert bool(jax.grad(read)(advice.features).any()) == trains_trunk


def test_a_single_agent_is_refused() -> None:
    with pytest.raises(ValueError, match="single agent"):
        make_conditional(OPTIONS, TaskSpec("one", 1, 3, 3, 3, 4, "its own"), "float32")
