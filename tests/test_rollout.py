"""Rollouts: whole episodes as they happened, and nothing after their ends."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import toy
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Choice, Explorer, Moment
from coemarl.rollout import Played, exploring, greedy, make_rollout
from coemarl.utilities.independent import IndependentOptions, make_independent

TASK = toy.make(toy.Options(4))
SPEC = TASK.spec
UTILITY = make_independent(IndependentOptions(hidden=8), SPEC, "float32")
E, STEPS = 16, 1000


class Seen(NamedTuple):
    """What an explorer was shown, summed."""

    calls: Array
    active: Array
    times: Array
    steps: Array


def watching() -> Explorer:
    """An explorer that plays action `t` modulo what is legal, and sums what it is shown."""

    def choose(
        state: Seen, context: Any, key: Any, moment: Moment, advice: Any, values: Any
    ) -> Choice:
        actions = jnp.full(SPEC.num_agents, moment.t % 2, jnp.int32)
        bonus = jnp.arange(1.0, 2.0 + SPEC.num_agents) + moment.t.astype(jnp.float32)
        return Choice(actions, bonus, moment)

    def observe(state: Seen, moments: Moment, active: Array) -> Seen:
        count = lambda values: jnp.where(active, values, 0).sum()  # noqa: E731
        return Seen(
            state.calls + 1,
            state.active + active.sum(),
            state.times + count(moments.t),
            state.steps + count(moments.steps),
        )

    return Explorer(
        init=lambda key: Seen(*[jnp.int32(0)] * 4),
        begin=lambda state, key, first, steps: (),
        choose=choose,
        observe=observe,
    )


@pytest.fixture(scope="module")
def watched() -> tuple[Seen, Played]:
    """One rollout under the watching explorer."""
    explorer = watching()
    rollout = jax.jit(make_rollout(TASK, UTILITY, exploring(explorer, UTILITY), E))
    params, start = UTILITY.init(jax.random.key(0)), explorer.init(jax.random.key(1))
    return rollout(params, start, jax.random.key(2), jnp.int32(STEPS))


def test_episodes_are_what_happened(watched: tuple[Seen, Played]) -> None:
    episodes = jax.tree.map(np.asarray, watched[1].episodes)
    ends = set()
    for e in range(E):
        end = int(episodes.state[e, 0, 0])
        L = min(end, SPEC.episode_limit)
        ends.add(end)
        assert episodes.length[e] == L
        assert episodes.terminated[e] == (end <= SPEC.episode_limit)
        for t in range(SPEC.episode_limit + 1):  # a row more than steps: what the last one led to
            happened = t <= L
            expected = [[t, end, 0], [t, end, 1]] if happened else np.zeros((2, 3))
            np.testing.assert_array_equal(episodes.observation[e, t], expected)
            np.testing.assert_array_equal(episodes.state[e, t], [end, t] if happened else [0, 0])
            legal = [True, True, t % 2 == 0] if happened else [False] * 3
            np.testing.assert_array_equal(episodes.avail[e, t], [legal, legal])
        for t in range(SPEC.episode_limit):
            happened, action = t < L, t % 2
            np.testing.assert_array_equal(episodes.actions[e, t], [action * happened] * 2)
            assert episodes.reward[e, t] == (10 * t + 2 * action) * happened
            np.testing.assert_array_equal(
                episodes.bonus[e, t], [(1 + t) * happened, (2 + t) * happened, (3 + t) * happened]
            )
    assert ends == {1, 2, 3, 4, 5}  # every way to end was seen


def test_returns_and_infos_are_those_of_the_last_step(watched: tuple[Seen, Played]) -> None:
    _, played = watched
    lengths = np.asarray(played.episodes.length)
    returns = [sum(10 * t + 2 * (t % 2) for t in range(L)) for L in lengths]
    np.testing.assert_array_equal(played.returns, returns)
    np.testing.assert_array_equal(played.info["seen"], lengths)


def test_explorer_observes_active_environments_only(watched: tuple[Seen, Played]) -> None:
    seen, played = watched
    lengths = np.asarray(played.episodes.length)
    assert int(seen.calls) == lengths.max()
    assert int(seen.active) == lengths.sum()
    assert int(seen.times) == sum(sum(range(L)) for L in lengths)
    # The steps of training count on by all environments at each step.
    assert int(seen.steps) == sum(STEPS + E * t for L in lengths for t in range(L))


def test_nothing_runs_on_when_all_are_over() -> None:
    explorer = watching()
    rollout = jax.jit(make_rollout(TASK, UTILITY, exploring(explorer, UTILITY), 1))
    params, start = UTILITY.init(jax.random.key(0)), explorer.init(jax.random.key(1))
    for seed in range(8):
        seen, played = rollout(params, start, jax.random.key(seed), jnp.int32(0))
        assert int(seen.calls) == int(played.episodes.length[0])


def test_greedy_actions_are_those_of_the_unrolled_net() -> None:
    """Acting step by step and unrolling whole episodes are one function, from a zero start."""
    params = UTILITY.init(jax.random.key(3))
    rollout = jax.jit(make_rollout(TASK, UTILITY, greedy(UTILITY), E))
    _, played = rollout(params, (), jax.random.key(4), jnp.int32(0))
    episodes = played.episodes
    rows = jnp.int32(SPEC.episode_limit + 1)
    advice = UTILITY.unroll(params, episodes.observation, episodes.latent, rows)
    best = jnp.where(episodes.avail, advice.values, -jnp.inf).argmax(axis=-1)
    for e, length in enumerate(episodes.length.tolist()):
        np.testing.assert_array_equal(episodes.actions[e, :length], best[e, :length])
    assert len(set(map(tuple, np.asarray(best).reshape(-1, 2).tolist()))) > 1


def test_random_play_is_legal_and_follows_its_key() -> None:
    explorer = make_epsilon(EpsilonOptions(start=1.0, end=1.0), SPEC)
    rollout = jax.jit(make_rollout(TASK, UTILITY, exploring(explorer, UTILITY), E))
    params = UTILITY.init(jax.random.key(0))
    play = lambda seed: rollout(params, (), jax.random.key(seed), jnp.int32(0))[1].episodes  # noqa: E731
    first, again, other = play(5), play(5), play(6)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (np.asarray(first.actions) != np.asarray(other.actions)).any()
    last = np.asarray(first.actions) == SPEC.num_actions - 1
    assert last[:, 0::2].any()
    assert not last[:, 1::2].any()
    # Environments of one rollout do not play alike.
    alike = first.length == first.length[0]
    assert not bool(alike.all())
