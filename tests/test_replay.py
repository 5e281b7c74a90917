"""Replay: a ring of whole episodes, drawn without replacement, nothing kept twice."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from coemarl.config import ReplayOptions
from coemarl.replay import (
    Episodes,
    KeepsBonus,
    choose_distinct,
    make_replay,
    pack_bits,
    storage,
    unpack_bits,
)
from coemarl.tasks import TaskSpec, make_task

SPEC = TaskSpec("replay", 2, 9, 3, 5, 4, "one for all")
DERIVED = replace(SPEC, state_size=6, state_is_observations=True, always_available=True)


def numbered(first: int, count: int, spec: TaskSpec = SPEC) -> Episodes:
    """Episodes that are known by their numbers."""
    T, A, U, D = spec.episode_limit, spec.num_agents, spec.num_actions, spec.observation_size
    numbers = np.arange(first, first + count)
    rng = [np.random.default_rng(n) for n in numbers]
    observation = np.stack([g.normal(size=(T + 1, A, D)) for g in rng])
    states = np.stack([g.normal(size=(T + 1, spec.state_size)) for g in rng])
    if spec.state_is_observations:
        states = observation.reshape(count, T + 1, -1)
    avail = np.stack([g.random((T + 1, A, U)) < 0.5 for g in rng])
    return Episodes(
        observation=jnp.asarray(observation, jnp.float32),
        state=jnp.asarray(states, jnp.float32),
        avail=jnp.asarray(avail | spec.always_available),
        actions=jnp.asarray(np.stack([g.integers(0, U, (T, A)) for g in rng]), jnp.int32),
        reward=jnp.asarray(np.repeat(numbers[:, None], T, 1), jnp.float32),
        bonus=jnp.asarray(np.stack([g.normal(size=(T, A + 1)) for g in rng]), jnp.float32),
        latent=jnp.asarray(np.stack([g.normal(size=3) for g in rng]), jnp.float32),
        length=jnp.asarray(1 + numbers % T, jnp.int32),
        terminated=jnp.asarray(numbers % 2 == 0),
    )


def numbers_of(episodes: Episodes) -> list[int]:
    return np.asarray(episodes.reward[:, 0]).astype(int).tolist()


def assert_same(ours: Episodes, theirs: Episodes) -> None:
    for name in Episodes._fields:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


@pytest.mark.parametrize("spec", [SPEC, DERIVED], ids=["kept", "derived"])
@pytest.mark.parametrize(("keeps_bonus", "kept"), [("agents", [0, 1]), ("team", [2])])
def test_what_is_drawn_is_what_was_added(
    spec: TaskSpec, keeps_bonus: KeepsBonus, kept: list[int]
) -> None:
    replay = make_replay(ReplayOptions(capacity=6), spec, 6, keeps_bonus, latents=3)
    added = numbered(0, 6, spec)
    batch = replay.sample(replay.add(replay.init(), added), jax.random.key(0))
    order = np.argsort(numbers_of(batch))
    forgotten = [n for n in range(spec.num_agents + 1) if n not in kept]
    expected = added._replace(bonus=added.bonus.at[..., jnp.array(forgotten)].set(0))
    assert_same(jax.tree.map(lambda leaf: leaf[order], batch), expected)


def test_without_bonus_none_is_kept() -> None:
    replay = make_replay(ReplayOptions(capacity=2), SPEC, 2, keeps_bonus="nothing")
    state = replay.add(replay.init(), numbered(0, 2))
    assert state.episodes.bonus is None
    assert not np.asarray(replay.sample(state, jax.random.key(0)).bonus).any()


@pytest.mark.parametrize("together", [1, 2, 5])
def test_oldest_gives_way(together: int) -> None:
    """The ring against a list cut to its newest, for several episodes added together."""
    capacity = 5
    replay = make_replay(ReplayOptions(capacity=capacity), SPEC, capacity, keeps_bonus="nothing")
    add, state, kept = jax.jit(replay.add), replay.init(), []
    for first in range(0, 16, together):
        state = add(state, numbered(first, together))
        kept = [*kept, *range(first, first + together)][-capacity:]
        assert bool(replay.ready(state)) == (len(kept) == capacity)
        if len(kept) == capacity:
            batch = replay.sample(state, jax.random.key(first))
            assert sorted(numbers_of(batch)) == kept
    assert int(state.added) == first + together


def test_before_the_ring_is_full_only_what_is_stored_is_drawn() -> None:
    replay = make_replay(ReplayOptions(capacity=50), SPEC, 3, keeps_bonus="nothing")
    state = replay.add(replay.init(), numbered(10, 4))
    drawn = {
        n for seed in range(40) for n in numbers_of(replay.sample(state, jax.random.key(seed)))
    }
    assert drawn == {10, 11, 12, 13}


def test_batches_are_uniform_over_sets() -> None:
    """All 20 sets of 3 of 6 equally likely (chi-square, refused at 0.1%), none with repeats."""
    draw = jax.jit(jax.vmap(lambda key: choose_distinct(key, jnp.int32(6), 3)))
    sets = np.sort(np.asarray(draw(jax.random.split(jax.random.key(1), 20_000))), axis=1)
    counts = Counter(map(tuple, sets.tolist()))
    assert set(counts) == set(combinations(range(6), 3))
    assert chisquare(list(counts.values())).pvalue > 0.001


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 2**32 - 1), st.data())
def test_drawn_numbers_differ(wanted: int, seed: int, data: st.DataObject) -> None:
    available = data.draw(st.integers(wanted, 40))
    drawn = choose_distinct(jax.random.key(seed), jnp.int32(available), wanted).tolist()
    assert len(set(drawn)) == wanted
    assert all(0 <= number < available for number in drawn)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 17])
def test_masks_survive_packing(size: int) -> None:
    flags = np.random.default_rng(size).random((5, 3, size)) < 0.5
    packed = pack_bits(jnp.asarray(flags))
    assert packed.shape == (5, 3, -(-size // 8))
    assert packed.dtype == jnp.uint8
    np.testing.assert_array_equal(unpack_bits(packed, size), flags)


def test_bits_by_hand() -> None:
    assert pack_bits(jnp.array([True, False, True] + [False] * 5 + [True])).tolist() == [5, 1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_rounds_observations_and_states_only(dtype: str) -> None:
    options = ReplayOptions(capacity=2, dtype=dtype)
    replay = make_replay(options, SPEC, 2, keeps_bonus="nothing", latents=3)
    added = numbered(0, 2)._replace(bonus=jnp.zeros((2, SPEC.episode_limit, 3)))
    batch = replay.sample(replay.add(replay.init(), added), jax.random.key(0))
    order = np.argsort(numbers_of(batch))
    batch = jax.tree.map(lambda leaf: leaf[order], batch)
    rounded = lambda leaf: leaf.astype(dtype).astype(jnp.float32)  # noqa: E731
    expected = added._replace(observation=rounded(added.observation), state=rounded(added.state))
    assert_same(batch, expected)
    assert (np.asarray(batch.state) != np.asarray(added.state)).any()


@pytest.mark.parametrize("spec", [SPEC, DERIVED], ids=["kept", "derived"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("keeps_bonus", get_args(KeepsBonus))
def test_bytes_are_those_of_the_arrays(spec: TaskSpec, dtype: str, keeps_bonus: KeepsBonus) -> None:
    replay = make_replay(ReplayOptions(capacity=3, dtype=dtype), spec, 2, keeps_bonus)
    assert replay.bytes == sum(leaf.nbytes for leaf in jax.tree.leaves(replay.init().episodes))


def test_nothing_is_kept_twice() -> None:
    """A derived state, a full mask and a next observation have no array: what is left is this."""
    places = storage(ReplayOptions(), DERIVED, 7, keeps_bonus="nothing")
    kept = {name: place[0] for name, place in places.items() if place}
    assert kept == {
        "observation": (7, 5, 2, 3),
        "actions": (7, 4, 2),
        "reward": (7, 4),
        "length": (7,),
        "terminated": (7,),
    }
    assert places["actions"] == ((7, 4, 2), jnp.dtype("uint8"))


def test_many_actions_keep_their_numbers() -> None:
    spec = replace(SPEC, num_actions=300)
    replay = make_replay(ReplayOptions(capacity=1), spec, 1, keeps_bonus="nothing")
    added = numbered(0, 1, spec)._replace(actions=jnp.full((1, 4, 2), 299))
    batch = replay.sample(replay.add(replay.init(), added), jax.random.key(0))
    assert (np.asarray(batch.actions) == 299).all()


def test_five_thousand_foraging_episodes_fit_in_60_mb() -> None:
    spec = make_task("lbf:10x10-3p-3f").spec
    for keeps_bonus in get_args(KeepsBonus):
        assert make_replay(ReplayOptions(), spec, 32, keeps_bonus).bytes <= 60e6
