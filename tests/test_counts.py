"""Counts: exact ones against a dictionary, the sketch against its bound, and codes by hand."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coemarl.counts import Counts, CountsOptions, make_counts, make_simhash
from coemarl.counts.dense import forest_bytes, forest_nodes, make_dense
from coemarl.counts.simhash import Projection
from coemarl.counts.sketch import make_sketch
from coemarl.counts.walk import path_of
from plain import Node, PlainTree, plain_code
from small import assert_same_bytes, small_trainer

BITS, AGENTS, ACTIONS, TOGETHER = 2, 3, 3, 5


class Counted:
    """Counts under test, and the same visits in a dictionary. Visits come E at a time."""

    def __init__(self, counts: Counts, agents: int = AGENTS) -> None:
        self.counts, self.tree, self.visits = counts, PlainTree(), 0
        self.table = counts.init()
        self.add, self.read = adding(counts), reading(counts)
        self.agents = agents

    def visit(self, codes: np.ndarray, actions: np.ndarray, active: np.ndarray) -> None:
        codes = jnp.asarray(codes, jnp.uint32)
        self.table = self.add(self.table, codes, jnp.asarray(actions, jnp.int32), active)
        for code, path, counted in zip(codes.tolist(), actions.tolist(), active, strict=True):
            if counted:
                self.tree.add(code, path)
                self.visits += 1

    def of(self, nodes: list[Node]) -> tuple[np.ndarray, np.ndarray]:
        """Counts of nodes of one depth, and of their children."""
        codes = jnp.array([node[0] for node in nodes], jnp.uint32)
        actions = jnp.array([node[1:] for node in nodes], jnp.int32).reshape(len(nodes), -1)
        count, children = self.read(self.table, codes, actions)
        return np.asarray(count), np.asarray(children)

    def nodes(self, depth: int) -> list[Node]:
        """Every node ever visited at a depth."""
        return sorted(node for node in self.tree.visits if len(node) == depth + 1)


@functools.cache
def adding(counts: Counts) -> Callable[..., Any]:
    def add(table: Any, codes: jax.Array, actions: jax.Array, active: jax.Array) -> Any:
        roots = jax.vmap(counts.root)(codes)
        paths = jax.vmap(functools.partial(path_of, counts))(roots, actions)
        return counts.add(table, paths, active)

    return jax.jit(add)


@functools.cache
def reading(counts: Counts) -> Callable[..., Any]:
    def read(table: Any, code: jax.Array, actions: jax.Array) -> tuple[jax.Array, jax.Array]:
        key = counts.root(code)
        for action in actions:
            key = counts.child(key, action)
        return counts.count(table, key), counts.children(table, key)

    return jax.jit(jax.vmap(read, (None, 0, 0)))


DENSE = make_dense(BITS, AGENTS, ACTIONS)
TIGHT = make_sketch(64, 3, AGENTS, ACTIONS)
"""A sketch with far fewer cells than nodes."""
WIDE = make_sketch(2**16, 4, AGENTS, ACTIONS)
"""A sketch in which so few nodes hardly meet."""


def all_nodes(depth: int) -> list[Node]:
    """Every node of the forest at a depth."""
    shape = (2**BITS, *[ACTIONS] * depth)
    return [tuple(map(int, node)) for node in np.ndindex(*shape)]


def random_walks(counted: Counted, seed: int, batches: int) -> None:
    """Visits that favour low actions, several at once, some of them inactive."""
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        codes = rng.integers(0, 2**BITS, TOGETHER)
        actions = np.minimum(rng.geometric(0.5, (TOGETHER, AGENTS)) - 1, ACTIONS - 1)
        counted.visit(codes, actions, rng.random(TOGETHER) < 0.8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_dense_equals_a_dictionary(seed: int, batches: int) -> None:
    counted = Counted(DENSE)
    random_walks(counted, seed, batches)
    for depth in range(AGENTS):
        nodes = all_nodes(depth)
        count, children = counted.of(nodes)
        assert count.tolist() == [counted.tree.count(node) for node in nodes]
        assert children.tolist() == [
            [counted.tree.count((*node, a)) for a in range(ACTIONS)] for node in nodes
        ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_a_node_counts_what_its_children_do(seed: int, batches: int) -> None:
    """Of the tables themselves, no dictionary asked: also at the leaves' parents."""
    counted = Counted(DENSE)
    random_walks(counted, seed, batches)
    for depth in range(AGENTS):
        count, children = counted.of(all_nodes(depth))
        np.testing.assert_array_equal(children.sum(axis=1), count)
    roots, _ = counted.of(all_nodes(0))
    assert roots.sum() == counted.visits


def test_paths_that_share_nodes_all_count() -> None:
    """By hand, for both kinds: three paths at once, two alike, one inactive besides."""
    for counts in (DENSE, WIDE):
        counted = Counted(counts)
        actions = np.array([[0, 1, 2], [0, 1, 2], [0, 2, 0], [0, 1, 2], [1, 1, 1]])
        active = np.array([True, True, True, False, False])
        counted.visit(np.array([3, 3, 3, 3, 3]), actions, active)
        count, children = counted.of([(3,), (1,)])
        assert count.tolist() == [3, 0]
        assert children.tolist() == [[3, 0, 0], [0, 0, 0]]
        _, children = counted.of([(3, 0), (3, 1)])
        assert children.tolist() == [[0, 2, 1], [0, 0, 0]]
        _, children = counted.of([(3, 0, 1), (3, 0, 2)])
        assert children.tolist() == [[0, 0, 2], [1, 0, 0]]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_sketch_never_undercounts(seed: int, batches: int) -> None:
    counted = Counted(TIGHT)
    random_walks(counted, seed, batches)
    for depth in range(AGENTS + 1):
        nodes = all_nodes(depth)
        count, _ = counted.of(nodes)
        assert (count >= [counted.tree.count(node) for node in nodes]).all()


def test_sketch_is_exact_where_it_is_wide() -> None:
    counted = Counted(WIDE)
    random_walks(counted, 7, 60)
    for depth in range(AGENTS):
        nodes = all_nodes(depth)
        count, children = counted.of(nodes)
        assert count.tolist() == [counted.tree.count(node) for node in nodes]
        assert children.sum() == counted.visits


def test_sketch_stays_within_its_bound() -> None:
    """After m node visits a count exceeds the truth by more than e m / width for at most a share
    exp(-depth) of nodes, although there are more nodes than cells in a row; and some are off."""
    width, depth, agents, actions = 256, 2, 3, 10
    counted = Counted(make_sketch(width, depth, agents, actions), agents)
    rng = np.random.default_rng(0)
    for _ in range(400):
        paths = np.minimum(rng.geometric(0.2, (TOGETHER, agents)) - 1, actions - 1)
        counted.visit(rng.integers(0, 8, TOGETHER), paths, np.ones(TOGETHER, bool))
    m = counted.visits * (agents + 1)
    excess = np.concatenate([
        counted.of(counted.nodes(level))[0]
        - [counted.tree.count(node) for node in counted.nodes(level)]
        for level in range(agents + 1)
    ])  # fmt: skip
    assert excess.size > width
    assert excess.min() >= 0
    assert excess.max() > 0
    assert (excess > math.e * m / width).mean() <= math.exp(-depth)
    # The plain sketch adds each visit to one cell of every row: this one adds to fewer.
    for row in np.asarray(counted.table).reshape(depth, width):
        assert row.sum() < m


def test_names_of_nodes_differ() -> None:
    """Paths of different lengths, orders and codes have different cells: no two of the 156 nodes
    of this forest were taken for each other."""
    counted = Counted(WIDE)
    for code in range(2**BITS):
        for leaf in np.ndindex(*[ACTIONS] * AGENTS):
            codes, path = np.full(TOGETHER, code), np.tile(leaf, (TOGETHER, 1))
            counted.visit(codes, path, np.arange(TOGETHER) == 0)
    for depth in range(AGENTS + 1):
        count, _ = counted.of(all_nodes(depth))
        assert set(count.tolist()) == {ACTIONS ** (AGENTS - depth)}


def test_twenty_agents_of_ten_actions_within_64_mb() -> None:
    """10^20 joint actions: counted and read, all in a table of at most 64 MB."""
    counts = make_counts(CountsOptions(memory_mb=64), 20, 10)
    assert counts.bytes <= 64 * 2**20
    counted = Counted(counts, 20)
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(counted.table)) == counts.bytes
    rng = np.random.default_rng(1)
    stem = rng.integers(0, 10, 20)
    for k in range(200):  # new paths, and paths that leave a stem at different depths
        paths = rng.integers(0, 10, (TOGETHER, 20))
        paths[:3, : k % 20] = stem[: k % 20]
        paths[0] = stem
        counted.visit(rng.integers(0, 4, TOGETHER), paths, np.ones(TOGETHER, bool))
    assert counted.visits == 1000
    nodes = [node for depth in (0, 1, 10, 19) for node in counted.nodes(depth)]
    assert len(nodes) > 1400
    for depth in (0, 1, 10, 19):
        nodes = counted.nodes(depth)
        count, children = counted.of(nodes)
        assert count.tolist() == [counted.tree.count(node) for node in nodes]
        assert children.sum() == counted.visits


# Which kind


def test_nodes_of_the_forest_by_hand() -> None:
    assert forest_nodes(2, 3, 3) == 4 * (1 + 3 + 9 + 27)
    assert forest_bytes(2, 3, 3) == 4 * 160
    assert DENSE.bytes == 640 == DENSE.init().nbytes


def test_auto_is_dense_while_it_fits() -> None:
    fits = CountsOptions(k=16, memory_mb=128)  # the paper's k and 3 agents of 6 actions: 65 MB
    assert make_counts(fits, 3, 6).summary.startswith("dense")
    assert make_counts(replace(fits, memory_mb=64), 3, 6).summary.startswith("sketch")
    assert make_counts(fits, 20, 10).summary.startswith("sketch")
    # 2^31 nodes would fit into this memory, but not into 32-bit keys.
    huge = CountsOptions(k=31, memory_mb=2**20)
    assert make_counts(huge, 1, 1).summary.startswith("sketch")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "dense", "memory_mb": 10}, "lower k, or use kind 'sketch'"),
        ({"kind": "sketch", "memory_mb": 1}, "lower width or depth"),
        ({"kind": "dense", "k": 32}, "use kind 'sketch'"),
        ({"kind": "exact"}, "choose auto, dense, sketch"),
        ({"k": 0}, "1 to 32 bits"),
        ({"k": 33}, "1 to 32 bits"),
        ({"width": 1000}, "power of two"),
        ({"depth": 0}, "1 to 16"),
        ({"memory_mb": 0}, "at least 1"),
        ({"normalise": "whitened"}, "none, centred or scaled"),
    ],
)
def test_counts_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_counts(CountsOptions(**options), 3, 6)


# Codes of states


def test_codes_by_hand() -> None:
    simhash = make_simhash(2, 3)
    directions = jnp.array([[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]])
    projection = Projection(directions, jnp.zeros(2), jnp.ones(2))
    # Projections of (2, 3) are 2, 3, 1: all bits. Of (2, -1): 2, -1, -3. Nothing is above 0 at 0.
    for state, code in (([2.0, 3.0], 0b111), ([2.0, -1.0], 0b001), ([0.0, 0.0], 0), ([-1, 0], 4)):
        assert int(simhash.code(projection, jnp.array(state, jnp.float32))) == code


def test_normalisations_by_hand() -> None:
    states = jnp.array([[1.0, 5.0, 7.0], [3.0, 1.0, 7.0]])
    before = Projection(jnp.eye(3), jnp.zeros(3), jnp.ones(3))
    for kind, centre, scale in (
        ("none", [0, 0, 0], [1, 1, 1]),
        ("centred", [2, 3, 7], [1, 1, 1]),
        ("scaled", [2, 3, 7], [1, 2, 1]),  # what never varied is only centred
    ):
        after = make_simhash(3, 3, kind).calibrate(before, states)
        assert (after.centre.tolist(), after.scale.tolist()) == (centre, scale)
        np.testing.assert_array_equal(after.directions, before.directions)


@pytest.mark.parametrize("kind", ["none", "centred", "scaled"])
def test_codes_equal_plain_ones(kind: Any) -> None:
    simhash = make_simhash(6, 32, kind)
    states = np.random.default_rng(0).normal(2.0, 1.0, (100, 6)).astype(np.float32)
    projection = simhash.calibrate(simhash.init(jax.random.key(4)), jnp.array(states))
    codes = jax.jit(jax.vmap(simhash.code, (None, 0)))(projection, jnp.array(states))
    assert codes.tolist() == [plain_code(projection, state) for state in states]
    assert max(codes.tolist()) >= 2**31  # the highest bit counts too


def test_raw_states_have_fewer_codes_than_normalised_ones() -> None:
    """Why the normalisation is there: far from zero most signs never change."""
    states = jnp.array(np.random.default_rng(0).uniform(4.0, 6.0, (500, 10)), jnp.float32)
    used = {}
    for kind in ("none", "centred", "scaled"):
        simhash = make_simhash(10, 16, kind)
        projection = simhash.calibrate(simhash.init(jax.random.key(0)), states)
        codes = jax.jit(jax.vmap(simhash.code, (None, 0)))(projection, states)
        used[kind] = len(set(codes.tolist()))
    assert used["none"] < 50
    assert min(used["centred"], used["scaled"]) > 400


# Real training


def test_training_with_either_kind_is_the_same() -> None:
    """Where both are exact: evaluation, metrics and every array but the table, bit for bit."""
    outcomes = []
    for kind in ("dense", "sketch"):
        trainer = small_trainer(explorer__counts__kind=kind)
        state = trainer.advance(trainer.init(), 20)
        table = state.explorer.table
        assert int(state.updates) > 10
        assert int(jnp.count_nonzero(table)) > 50
        evaluation = trainer.evaluate(state)
        metrics, state = trainer.read_metrics(state)
        assert metrics["train/reward_bonus"] > 0  # the counts are used, in learning
        assert metrics["explorer/bonus"] > 0  # and in acting
        rest = state._replace(explorer=state.explorer._replace(table=()))
        outcomes.append((evaluation, metrics, rest))
    (first_evaluation, first_metrics, first), (evaluation, metrics, second) = outcomes
    assert first_evaluation == evaluation
    assert first_metrics == metrics
    assert_same_bytes(first, second)
