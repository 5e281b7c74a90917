"""Mixers: by hand, against NumPy, and the promise that greedy agents are greedy together."""

import itertools
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coemarl.mixers import TABLE, Joint, Mixer
from coemarl.mixers.qmix import QmixOptions, QmixParams
from coemarl.mixers.qplex import QplexOptions
from coemarl.mixers.qtran import QtranOptions
from coemarl.networks import Linear, TwoLayers
from coemarl.tasks import TaskSpec

A, U, S, H = 3, 3, 4, 5
SPEC = TaskSpec("mixers", A, U, 2, S, 6, "one for all")
OPTIONS: dict[str, Any] = {
    "none": None,
    "vdn": None,
    "qmix": QmixOptions(embedding=4, hypernet=6),
    "qplex": QplexOptions(hypernet=6, heads=2),
    "qtran": QtranOptions(embedding=6, optimal=1.0, others=0.5),
}
JOINT_ACTIONS = np.array(list(itertools.product(range(U), repeat=A)))


@cache
def mixer(name: str) -> tuple[Mixer, Any]:
    """A mixer, and its value of many joint actions in one state, compiled."""
    made = TABLE[name][1](OPTIONS[name], SPEC, H)

    @jax.jit
    def values(params: Any, utilities: Any, state: Any, features: Any) -> Any:
        def one(actions: Any) -> Any:
            taken = utilities[jnp.arange(A), actions]
            return made.apply(params, Joint(taken, utilities.max(1), actions, features, state))

        return jax.vmap(one)(jnp.int32(JOINT_ACTIONS))

    return made, values


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Utilities without ties, a state, and what agents remember."""
    rng = np.random.default_rng(seed)
    utilities = rng.permutation(A * U).reshape(A, U) * 0.37 + rng.normal()
    return utilities.astype(np.float32), *(
        rng.normal(size=shape).astype(np.float32) for shape in (S, (A, H))
    )


@pytest.mark.parametrize("name", ["vdn", "qmix", "qplex"])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_greedy_agents_are_greedy_together(name: str, seed: int) -> None:
    """No joint action is worth more than that of everybody's best ones (IGM)."""
    made, values = mixer(name)
    utilities, state, features = drawn(seed)
    worth = np.asarray(values(made.init(jax.random.key(seed)), utilities, state, features))[:, 0]
    greedy = np.ravel_multi_index(utilities.argmax(axis=1), (U,) * A)
    assert worth[greedy] >= worth.max() - 1e-5 * np.abs(worth).max()


def test_without_the_promise_the_test_above_would_fail() -> None:
    """QTRAN's joint value is free: for random nets its best joint action is mostly another."""
    made, values = mixer("qtran")
    broken = 0
    for seed in range(20):
        utilities, state, features = drawn(seed)
        worth = values(made.init(jax.random.key(seed)), utilities, state, features)[:, 0]
        best = np.ravel_multi_index(utilities.argmax(axis=1), (U,) * A)
        broken += int(worth.argmax()) != best
    assert broken > 10


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), agent=st.integers(0, A - 1), rise=st.floats(0.01, 10))
def test_qmix_never_falls_where_a_utility_rises(seed: int, agent: int, rise: float) -> None:
    made, values = mixer("qmix")
    utilities, state, features = drawn(seed)
    params = made.init(jax.random.key(seed))
    before = np.asarray(values(params, utilities, state, features))
    higher = utilities.copy()
    higher[agent] += np.float32(rise)
    after = np.asarray(values(params, higher, state, features))
    assert (after >= before - 1e-5 * np.abs(before)).all()


def test_qmix_with_unit_weights_is_vdn() -> None:
    """Weights 1 into every hidden unit and 1 / M out of it, in elu's linear part."""
    made, values = mixer("qmix")
    M, lift = 4, 64.0
    constant = lambda outputs, inputs, value: Linear(  # noqa: E731
        jnp.zeros((outputs, inputs)), jnp.full(outputs, value)
    )
    params = QmixParams(
        weight_1=TwoLayers(constant(6, S, 0.0), constant(A * M, 6, 1.0)),
        bias_1=constant(M, S, lift),
        weight_2=TwoLayers(constant(6, S, 0.0), constant(M, 6, 1 / M)),
        value=TwoLayers(constant(M, S, 0.0), constant(1, M, -lift)),
    )
    _, sums = mixer("vdn")
    for seed in range(10):
        utilities, state, features = drawn(seed)
        ours = values(params, utilities, state, features)
        np.testing.assert_allclose(ours, sums((), utilities, state, features), atol=1e-4)
    assert made.init(jax.random.key(0)).bias_1.weight.shape == (M, S)


def test_none_leaves_utilities_as_they_are() -> None:
    made, values = mixer("none")
    assert made.per_agent
    utilities, state, features = drawn(0)
    expected = utilities[np.arange(A), JOINT_ACTIONS]
    np.testing.assert_array_equal(values((), utilities, state, features), expected)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def plain_linear(layer: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(layer.weight, np.float64) @ x + np.asarray(layer.bias, np.float64)


def plain_two(layers: Any, x: np.ndarray) -> np.ndarray:
    return plain_linear(layers.second, relu(plain_linear(layers.first, x)))


def plain_three(layers: Any, x: np.ndarray) -> np.ndarray:
    return plain_two(layers.rest, relu(plain_linear(layers.first, x)))


def one_hot(actions: np.ndarray) -> np.ndarray:
    return np.eye(U)[actions]


def test_qplex_is_the_duplex_dueling_of_the_paper() -> None:
    """sum of w V + b, plus sum of lambda w A: the form without the authors' detour."""
    made, values = mixer("qplex")
    params = made.init(jax.random.key(1))
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    utilities, state, features = drawn(3)
    ours = values(params, utilities, state, features)[:, 0]
    for actions, worth in zip(JOINT_ACTIONS, ours, strict=True):
        weight, bias = np.abs(plain_two(params.weight, state)), plain_two(params.bias, state)
        best = utilities.max(axis=1)
        advantage = utilities[np.arange(A), actions] - best
        seen = np.concatenate([state, one_hot(actions).ravel()])
        attention = sum(
            abs(plain_linear(params.key, state)[k])
            * sigmoid(plain_linear(params.agent, state)).reshape(2, A)[k]
            * sigmoid(plain_linear(params.action, seen)).reshape(2, A)[k]
            for k in range(2)
        )
        expected = (weight * best + bias).sum() + (attention * weight * advantage).sum()
        np.testing.assert_allclose(worth, expected, rtol=1e-5)


@pytest.mark.parametrize(("stop", "slope"), [(True, "weight"), (False, "attention")])
def test_qplex_passes_gradients_around_the_attention(stop: bool, slope: str) -> None:
    """d Q_tot / d Q_i of an action that is not the best: w_i, or lambda_i w_i without the stop."""
    made = TABLE["qplex"][1](QplexOptions(hypernet=6, heads=2, stop_gradient=stop), SPEC, H)
    params = made.init(jax.random.key(1))
    utilities, state, features = drawn(3)
    actions = jnp.int32(utilities.argmin(axis=1))

    def worth(taken: Any) -> Any:
        joint = Joint(taken, jnp.array(utilities.max(1)), actions, features, jnp.array(state))
        return made.apply(params, joint)[0]

    taken = jnp.array(utilities.min(axis=1))
    weight = np.abs(plain_two(params.weight, state))
    gradient = np.asarray(jax.grad(worth)(taken))
    if slope == "weight":
        np.testing.assert_allclose(gradient, weight, rtol=1e-5)
    else:
        rises = [float(worth(taken.at[i].add(0.5)) - worth(taken)) / 0.5 for i in range(A)]
        np.testing.assert_allclose(gradient, rises, rtol=1e-3)
        assert not np.allclose(gradient, weight, rtol=1e-2)


def plain_qtran(params: Any, actions: np.ndarray, state: Any, features: Any) -> float:
    seen = np.concatenate([features, one_hot(actions)], axis=1)
    encoded = sum(plain_two(params.encode, row) for row in seen)
    return float(plain_three(params.joint, np.concatenate([state, encoded]))[0])


def test_qtran_ties_the_sum_of_utilities_to_its_joint_value() -> None:
    made, values = mixer("qtran")
    params = made.init(jax.random.key(2))
    utilities, state, features = drawn(4)
    utilities -= utilities.mean()  # so that the constraint holds at some joint actions only
    ours = values(params, utilities, state, features)[:, 0]
    expected = [plain_qtran(params, actions, state, features) for actions in JOINT_ACTIONS]
    np.testing.assert_allclose(ours, expected, rtol=1e-5)

    assert made.constraint is not None
    greedy = utilities.argmax(axis=1)
    value = plain_three(params.value, state)[0]
    joint = lambda actions: Joint(  # noqa: E731
        jnp.array(utilities[np.arange(A), actions]),
        jnp.array(utilities.max(1)),
        jnp.int32(actions),
        jnp.array(features),
        jnp.array(state),
    )
    gap = lambda actions: (  # noqa: E731
        utilities[np.arange(A), actions].sum()
        - plain_qtran(params, actions, state, features)
        + value
    )
    signs = set()
    for actions in JOINT_ACTIONS[::4]:
        loss = made.constraint(params, joint(actions), joint(greedy))
        expected_loss = gap(greedy) ** 2 + 0.5 * min(gap(actions), 0) ** 2
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-4)
        signs.add(gap(actions) < 0)
    assert signs == {True, False}
    # The joint value is held fixed: the constraint trains utilities and V, not Q_jt.
    slopes = jax.grad(made.constraint)(params, joint(greedy), joint(greedy))
    assert all(
        not np.asarray(leaf).any() for leaf in jax.tree.leaves((slopes.encode, slopes.joint))
    )
    assert any(np.asarray(leaf).any() for leaf in jax.tree.leaves(slopes.value))
