"""Epsilon-greedy: its schedule, what is legal, and how often each action is taken."""

from collections import Counter
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from coemarl.explorers.epsilon import (
    EpsilonOptions,
    best_legal,
    epsilon_at,
    make_epsilon,
    random_legal,
)
from coemarl.explorers.explorer import Moment
from coemarl.tasks import TaskSpec

SPEC = TaskSpec("epsilon", 2, 4, 2, 3, 10, "one for all")
REFUSED_BELOW = 1e-4


@pytest.mark.parametrize(
    ("steps", "epsilon"), [(0, 0.9), (25, 0.7), (50, 0.5), (100, 0.1), (101, 0.1), (10**9, 0.1)]
)
def test_schedule_by_hand(steps: int, epsilon: float) -> None:
    options = EpsilonOptions(start=0.9, end=0.1, anneal_steps=100)
    np.testing.assert_allclose(epsilon_at(options, jnp.int32(steps)), epsilon, rtol=1e-6)


def test_default_is_the_papers() -> None:
    options = EpsilonOptions()
    values = [float(epsilon_at(options, jnp.int32(s))) for s in (0, 25_000, 50_000, 4_000_000)]
    assert values == [1.0, 0.5, 0.0, 0.0]


def test_best_is_legal_and_the_lowest_of_equals() -> None:
    scores = jnp.array([1.0, 3.0, 3.0, 9.0])
    assert int(best_legal(scores, jnp.array([True, True, True, False]))) == 1
    assert int(best_legal(-scores, jnp.array([False, False, False, True]))) == 3


def test_random_draw_falls_on_each_legal_action_equally() -> None:
    avail = jnp.array([False, True, False, True, True])
    draws = [0.0, 0.33, 0.34, 0.66, 0.67, float(np.nextafter(np.float32(1), np.float32(0)))]
    taken = [int(random_legal(jnp.float32(draw), avail)) for draw in draws]
    assert taken == [1, 1, 3, 3, 4, 4]
    assert int(random_legal(jnp.float32(0.999), jnp.arange(5) == 0)) == 0


def chosen(epsilon: float, avail: np.ndarray, number: int) -> np.ndarray:
    """Joint actions of many draws at one moment; agents prefer actions 3 and 0."""
    explorer = make_epsilon(EpsilonOptions(start=epsilon, end=epsilon), SPEC)
    utilities = jnp.array([[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]])
    moment = Moment(jnp.zeros(3), jnp.array(avail), jnp.int32(0), jnp.int32(0))
    context = explorer.begin((), jax.random.key(0), jnp.zeros(1), jnp.int32(0))
    choose: Any = partial(explorer.choose, values=lambda advice, i, actions: advice[i])
    keys = jax.random.split(jax.random.key(9), number)
    choice = jax.jit(jax.vmap(choose, (None, None, 0, None, None)))(
        (), context, keys, moment, utilities
    )
    assert not np.asarray(choice.reward_bonus).any()
    return np.asarray(choice.actions)


def test_frequencies_of_joint_actions() -> None:
    """Agents explore independently, each with probability 0.3, and then among its legal ones."""
    number, epsilon = 20_000, 0.3
    avail = np.array([[True, True, False, True], [True, True, True, True]])
    laws = [
        {a: epsilon / 3 + (1 - epsilon) * (a == 3) for a in (0, 1, 3)},
        {a: epsilon / 4 + (1 - epsilon) * (a == 0) for a in range(4)},
    ]
    found = Counter(map(tuple, chosen(epsilon, avail, number).tolist()))
    law = {(a, b): laws[0][a] * laws[1][b] for a, b in product(*laws)}
    assert set(found) == set(law)
    expected = [number * law[pair] for pair in sorted(law)]
    observed = [found[pair] for pair in sorted(law)]
    assert chisquare(observed, expected).pvalue > REFUSED_BELOW


def test_without_epsilon_all_are_greedy() -> None:
    avail = np.array([[True, True, True, False], [False, True, True, True]])
    assert set(map(tuple, chosen(0.0, avail, 500).tolist())) == {(2, 1)}


def test_with_epsilon_one_only_legal_actions_are_taken() -> None:
    avail = np.array([[False, True, False, True], [False, False, True, False]])
    assert set(map(tuple, chosen(1.0, avail, 500).tolist())) == {(1, 2), (3, 2)}


def test_epsilon_holds_within_an_episode() -> None:
    """It is fixed by `begin`; the steps that the moment tells change nothing."""
    explorer = make_epsilon(EpsilonOptions(start=1.0, end=0.0, anneal_steps=10), SPEC)
    assert float(explorer.begin((), jax.random.key(0), jnp.zeros(1), jnp.int32(5))) == 0.5
    late = Moment(jnp.zeros(3), jnp.ones((2, 4), bool), jnp.int32(3), jnp.int32(10**6))
    values = lambda advice, i, actions: -jnp.arange(4.0)  # noqa: E731
    taken = {
        tuple(explorer.choose((), jnp.float32(1.0), jax.random.key(k), late, None, values)
              .actions.tolist())
        for k in range(20)
    }  # fmt: skip
    assert len(taken) > 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": 1.5}, "start is 1.5"),
        ({"end": -0.1}, "end is -0.1"),
        ({"anneal_steps": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        EpsilonOptions(**options)
