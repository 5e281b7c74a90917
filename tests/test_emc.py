"""EMC: curiosity by hand, its nets' learning, and its memory against a dictionary."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.config import LearnerOptions
from coemarl.explorers import memory as memories
from coemarl.explorers.emc import EmcOptions, distances, make_emc
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.learner import make_learner
from coemarl.mixers.vdn import VdnOptions, make_vdn
from coemarl.replay import Episodes
from coemarl.utilities.independent import IndependentOptions, make_independent
from test_conditional import SPEC, A, random_batch

LEARNING = LearnerOptions(learning_rate=1e-2)
OPTIONS = EmcOptions(scale=0.5, hidden=4)
NET = make_independent(IndependentOptions(4), SPEC, "float32")


def test_distance_by_hand() -> None:
    predicted = jnp.array([[[[3.0, 10.0, 7.0]]]])
    target = jnp.array([[[[0.0, 0.6, -50.0]]]])
    legal = jnp.array([[[[True, True, False]]]])
    # (3 - 0)^2 + (10 - 6)^2, the illegal action left out.
    np.testing.assert_allclose(distances(predicted, target, legal), [[[5.0]]], rtol=1e-6)


@pytest.fixture(scope="module")
def learned() -> dict[str, Any]:
    """One lesson learned, and what was there before."""
    explorer = make_emc(OPTIONS, SPEC, LEARNING)
    critic = make_learner(
        LEARNING, NET, make_vdn(VdnOptions(), SPEC), make_epsilon(EpsilonOptions(), SPEC)
    )
    state, batch = explorer.init(jax.random.key(0)), random_batch(np.random.default_rng(0))
    lesson = critic.lesson(batch)
    assert explorer.learn is not None
    learn = jax.jit(explorer.learn)
    after, bonus = learn(state, lesson, jnp.bool_(True))
    return {
        "explorer": explorer,
        "critic": critic,
        "before": state,
        "after": after,
        "bonus": bonus,
        "lesson": lesson,
        "learn": learn,
    }


def plain_gaps(nets: Any, batch: Episodes) -> np.ndarray:
    """d_i(t) of every step and agent, by the nets as they are."""
    rows = jnp.int32(SPEC.episode_limit + 1)
    unroll = lambda params: np.asarray(  # noqa: E731
        NET.unroll(params, batch.observation, batch.latent, rows).values
    )
    predicted, target = unroll(nets.predictor), unroll(nets.critic.target.utility)
    B, T = batch.reward.shape
    gaps = np.zeros((B, T, A))
    for b in range(B):
        for t in range(int(batch.length[b])):
            for i in range(A):
                legal = np.asarray(batch.avail[b, t + 1, i])
                gap = predicted[b, t + 1, i] - 10 * target[b, t + 1, i]
                gaps[b, t, i] = np.sqrt((gap[legal] ** 2).sum())
    return gaps


def test_bonus_is_the_mean_surprise_before_learning(learned: dict[str, Any]) -> None:
    gaps = plain_gaps(learned["before"].nets, learned["lesson"].episodes)
    expected = np.repeat(0.5 * gaps.mean(axis=2, keepdims=True), A + 1, axis=2)
    np.testing.assert_allclose(learned["bonus"], expected, rtol=1e-4, atol=1e-5)


def test_the_predictor_comes_nearer(learned: dict[str, Any]) -> None:
    state, batch = learned["before"], learned["lesson"].episodes
    first = plain_gaps(state.nets, batch).sum()
    # The critic moves too: the new predictor is judged by the critic that it learned from.
    nets = state.nets._replace(predictor=learned["after"].nets.predictor)
    assert plain_gaps(nets, batch).sum() < first
    steps = int(batch.length.sum())
    np.testing.assert_allclose(learned["after"].nets.error, first / (steps * A), rtol=1e-4)


def test_the_critic_learns_as_vdn_without_bonus(learned: dict[str, Any]) -> None:
    critic, before = learned["critic"], learned["before"].nets.critic
    expected, _ = jax.jit(critic.update)(before, (), learned["lesson"])
    pairs = zip(
        jax.tree.leaves(learned["after"].nets.critic), jax.tree.leaves(expected), strict=True
    )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


def test_before_a_batch_is_there_nothing_is_learned(learned: dict[str, Any]) -> None:
    after, _ = learned["learn"](learned["before"], learned["lesson"], jnp.bool_(False))
    pairs = zip(jax.tree.leaves(after), jax.tree.leaves(learned["before"]), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours, theirs)


def test_options_are_refused_in_a_sentence() -> None:
    for changes in ({"scale": -1.0}, {"memory_capacity": 100}, {"hidden": 0}):
        with pytest.raises(ValueError, match=f"emc {next(iter(changes))}"):
            EmcOptions(**changes)


# Memory


def few_states(rng: np.random.Generator, states: np.ndarray) -> Episodes:
    """An episode batch whose states are drawn from a few."""
    batch = random_batch(rng)
    drawn = rng.integers(0, len(states), batch.state.shape[:2])
    return batch._replace(state=jnp.array(states[drawn]))


def plain_returns(batch: Episodes, discount: float) -> list[tuple[tuple, float]]:
    """(state, what followed) of every step that happened, in order."""
    found = []
    for b, length in enumerate(batch.length.tolist()):
        rewards = np.asarray(batch.reward[b, :length], np.float64)
        for t in range(length):
            later = sum(r * discount**k for k, r in enumerate(rewards[t:]))
            found.append((tuple(np.asarray(batch.state[b, t]).tolist()), later))
    return found


def test_memory_holds_the_best_return_of_every_state() -> None:
    memory, rng = memories.make_memory(256, SPEC.state_size, 0.9), np.random.default_rng(0)
    states = rng.normal(size=(20, SPEC.state_size)).astype(np.float32)
    state, add, best, asked, met = memory.init(jax.random.key(0)), jax.jit(memory.add), {}, 0, 0
    for _ in range(12):
        batch = few_states(rng, states)
        state = add(state, batch)
        for name, later in plain_returns(batch, 0.9):
            asked, met = asked + 1, met + (name in best)
            best[name] = max(best.get(name, -np.inf), later)
    values, known = jax.jit(memory.recall)(state, jnp.array(states)[None])
    assert len(best) > 10
    for k, row in enumerate(states):
        name = tuple(row.tolist())
        assert bool(known[0, k]) == (name in best)
        if name in best:
            np.testing.assert_allclose(values[0, k], best[name], rtol=1e-5)
    strangers = jnp.array(rng.normal(size=(1, 50, SPEC.state_size)), jnp.float32)
    assert not bool(memory.recall(state, strangers)[1].any())
    metrics = memory.metrics(state)
    assert float(metrics["memory_states"]) == len(best)
    np.testing.assert_allclose(metrics["memory_hits"], met / asked, rtol=1e-6)


def test_a_full_memory_forgets_the_longest_unused() -> None:
    """One set of four: the state that was not met again gives way."""
    memory, rng = memories.make_memory(4, SPEC.state_size, 0.9), np.random.default_rng(1)
    states = rng.normal(size=(5, SPEC.state_size)).astype(np.float32)
    state = memory.init(jax.random.key(0))

    def visit(state: Any, number: int) -> Any:
        batch = random_batch(rng)
        batch = jax.tree.map(lambda leaf: leaf[:1], batch)._replace(
            state=jnp.broadcast_to(jnp.array(states[number]), (1, 5, SPEC.state_size)),
            length=jnp.array([1]),
        )
        return memory.add(state, batch)

    for number in (0, 1, 2, 3, 0, 4):
        state = visit(state, number)
    known = memory.recall(state, jnp.array(states)[None])[1][0].tolist()
    assert known == [True, False, True, True, True]


def test_the_memory_pulls_values_towards_what_it_remembers() -> None:
    explorer = make_emc(EmcOptions(hidden=4, memory=True, memory_weight=0.5), SPEC, LEARNING)
    assert explorer.auxiliary is not None
    assert explorer.finish is not None
    rng = np.random.default_rng(2)
    states = rng.normal(size=(6, SPEC.state_size)).astype(np.float32)
    batch = few_states(rng, states)
    state = explorer.finish(explorer.init(jax.random.key(0)), jax.random.key(1), batch)
    learner = make_learner(LEARNING, NET, make_vdn(VdnOptions(), SPEC), explorer)
    lesson, mixed = learner.lesson(batch), jnp.array(rng.normal(size=(3, 4, 1)), jnp.float32)
    loss, bonus = explorer.auxiliary.loss((), state, lesson, None, mixed)  # type: ignore[arg-type]
    best: dict[tuple, float] = {}
    for name, later in plain_returns(batch, 0.99):
        best[name] = max(best.get(name, -np.inf), later)
    total = 0.0
    for b, length in enumerate(batch.length.tolist()):
        for t in range(length):
            name = tuple(np.asarray(batch.state[b, t + 1]).tolist())
            if name in best:
                wanted = float(lesson.rewards[b, t]) + 0.99 * best[name]
                total += (float(mixed[b, t, 0]) - wanted) ** 2
    np.testing.assert_allclose(loss, 0.5 * total / int(batch.length.sum()), rtol=1e-4)
    assert total > 0
    assert not np.asarray(bonus).any()
