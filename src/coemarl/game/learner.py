"""The contract of the game's learners, and the rule by which all of them choose.

Agents choose one after another the action of the highest score (paper, equation 1)
    value(a) + c sqrt(2 ln N_parent / N_child(a))
where what `value` and the counts are conditioned on tells the learners apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from coemarl.explorers.coe import ucb_bonus
from coemarl.explorers.epsilon import best_legal, random_legal
from coemarl.game.options import OFFSET_VISITS, Rules

LearnerState = Any
Trace = Any
"""What `choose` hands to `observe`."""


@dataclass(frozen=True)
class Learner:
    """A team that plays ONE game; batch by vmap. All functions are pure."""

    init: Callable[[], LearnerState]
    choose: Callable[[LearnerState, Float[Array, " A"]], tuple[Int[Array, " A"], Trace]]
    """`choose(state, draws)`: the joint action; uniform draws in [0, 1) decide among equals."""
    observe: Callable[[LearnerState, Trace, Bool[Array, ""]], LearnerState]
    """`observe(state, trace, paid)`: what is known after the payoff."""
    bytes: int
    """Memory of the state."""


def scores(
    rules: Rules,
    values: Float[Array, " U"],
    parent: Float[Array, ""],
    children: Float[Array, " U"],
) -> Float[Array, " U"]:
    """value + c sqrt(2 ln N_parent / N_child), infinite for the unvisited if they come first."""
    optimistic = values + rules.c * ucb_bonus(parent, children, OFFSET_VISITS)
    if rules.unvisited == "first":
        return jnp.where(children < 1, jnp.inf, optimistic)
    return optimistic


def best(rules: Rules, score: Float[Array, " U"], draw: Float[Array, ""]) -> Int[Array, ""]:
    """The action of the highest score; the draw decides among equals."""
    if rules.ties == "first":
        return best_legal(score, jnp.ones(score.shape, bool))
    return random_legal(draw, score == score.max())


def mean_payoff(paid: Float[Array, " U"], visits: Float[Array, " U"]) -> Float[Array, " U"]:
    """Payoffs per visit; 0 where there was none."""
    return paid / jnp.maximum(visits, 1.0)
