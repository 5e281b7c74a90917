"""Coin-flip counts: labels, the ring of visits, and estimates against true counts."""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.bench import counts as bench
from coemarl.counts import CountsOptions, make_counts
from coemarl.counts.coinflip import FLIPS, flips_of, make_coinflip
from coemarl.counts.walk import path_of

A, U, S = 2, 3, 2
STATES = np.array([[1.0, 0.0], [-1.0, 0.5]], np.float32)


def test_labels_are_fair_and_belong_to_a_visit_and_depth() -> None:
    labels = np.asarray(
        jax.vmap(lambda visit: flips_of(visit, jnp.int32(1)))(jnp.arange(4000, dtype=jnp.uint32))
    )
    assert set(np.unique(labels)) == {-1.0, 1.0}
    error = 1 / np.sqrt(4000)
    assert (np.abs(labels.mean(axis=0)) < 5 * error).all()
    # Coins of one visit do not depend on each other, nor do those of other depths.
    together = labels.T @ labels / 4000 - np.eye(FLIPS)
    assert np.abs(together).max() < 6 * error
    other = np.asarray(
        jax.vmap(lambda visit: flips_of(visit, jnp.int32(2)))(jnp.arange(4000, dtype=jnp.uint32))
    )
    assert abs((labels * other).mean()) < 5 * error / np.sqrt(FLIPS)
    again = flips_of(jnp.uint32(7), jnp.int32(1))
    np.testing.assert_array_equal(again, labels[7])


@pytest.fixture(scope="module")
def counted() -> tuple[Any, Any, Any, Counter]:
    """A network that has learned from 600 uneven visits, before, after, and true counts."""
    counts = make_coinflip(S, A, U, units=64, visits=1024)
    assert counts.seeded is not None
    assert counts.calibrate is not None
    assert counts.learn is not None
    rng = np.random.default_rng(0)
    table = counts.calibrate(
        counts.seeded(jax.random.key(0)), jnp.array(rng.normal(size=(500, S)), jnp.float32)
    )
    start, true = table, Counter()
    add, learn = jax.jit(counts.add), jax.jit(counts.learn)
    paths = jax.jit(jax.vmap(lambda s, a: path_of(counts, counts.root(s), a)))
    for step in range(150):
        which = (rng.random(4) < 0.2).astype(int)
        actions = np.minimum(rng.geometric(0.6, (4, A)) - 1, U - 1)
        active = np.array([True, True, True, False])
        table = add(table, paths(jnp.array(STATES[which]), jnp.int32(actions)), jnp.array(active))
        for w, joint in zip(which[:3], actions[:3], strict=True):
            for depth in range(A + 1):
                true[(int(w), *map(int, joint[:depth]))] += 1
        table = learn(table, jax.random.key(step))
    for step in range(300):
        table = learn(table, jax.random.key(1000 + step))
    return counts, start, table, true


def node_of(counts: Any, name: tuple[int, ...]) -> Any:
    key = counts.root(jnp.array(STATES[name[0]]))
    for action in name[1:]:
        key = counts.child(key, jnp.int32(action))
    return key


def test_estimates_follow_true_counts(counted: tuple[Any, Any, Any, Counter]) -> None:
    counts, _, table, true = counted
    often = {name: n for name, n in true.items() if n >= 3}
    estimates = [float(counts.count(table, node_of(counts, name))) for name in often]
    logs = np.log(list(often.values())), np.log(estimates)
    assert np.corrcoef(*logs)[0, 1] > 0.9
    assert np.median(np.abs(logs[0] - logs[1])) < np.log(1.6)


def test_nothing_is_counted_before_a_visit(counted: tuple[Any, Any, Any, Counter]) -> None:
    """The random prior says 1 to 3 visits at most states like those that it was scaled for."""
    counts, start, _, _ = counted
    states = np.random.default_rng(1).normal(size=(200, S)).astype(np.float32)
    told = jax.vmap(lambda s: counts.count(start, counts.root(s)))(jnp.array(states))
    assert 1.0 <= float(jnp.median(told)) < 3.0


def test_children_are_counts_of_children(counted: tuple[Any, Any, Any, Counter]) -> None:
    counts, _, table, _ = counted
    key = node_of(counts, (0, 1))
    below = [counts.count(table, counts.child(key, jnp.int32(a))) for a in range(U)]
    np.testing.assert_allclose(counts.children(table, key), below, rtol=1e-6)


def test_the_ring_keeps_the_last_visits_that_happened() -> None:
    counts = make_coinflip(S, A, U, units=4, visits=4)
    table = counts.init()
    for number in range(6):
        state = jnp.full(S, float(number))
        path = path_of(counts, counts.root(state), jnp.int32([number % U, 0]))
        happened = jnp.array([number != 3])
        table = counts.add(table, jax.tree.map(lambda leaf: leaf[None], path), happened)
    assert int(table.added) == 5
    assert sorted(table.states[:, 0].tolist()) == [1.0, 2.0, 4.0, 5.0]
    assert counts.bytes == sum(leaf.nbytes for leaf in jax.tree.leaves(table))


def test_memory_does_not_grow_with_joint_actions() -> None:
    """Twenty agents of ten actions, 10^20 joint actions."""
    counts = make_counts(CountsOptions(kind="coin-flip"), 20, 10, state_size=100)
    assert counts.bytes < 64 * 2**20
    with pytest.raises(ValueError, match="lower units or visits"):
        make_counts(CountsOptions(kind="coin-flip", memory_mb=1), 20, 10, state_size=100)
    with pytest.raises(ValueError, match="coin-flip counts are for coe"):
        make_counts(CountsOptions(kind="coin-flip"), 2, 3)


def test_bench_compares_with_a_dictionary() -> None:
    true, estimated = bench.compared("lbf:3x3-1p-1f", 30)
    assert true.sum() > 30
    told = bench.agreement(true, estimated)
    assert told["nodes"] == len(true) == len(estimated)
    assert -1 <= told["correlation_of_logs"] <= 1
    assert told["median_factor"] >= 1
