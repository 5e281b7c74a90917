"""What a learner's tree held at each moment of a game: counts, mean payoffs, and the bonus of every
action as it was when the agents chose.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from coemarl.counts.walk import path_of
from coemarl.explorers.coe import ucb_bonus
from coemarl.game import payoff, run
from coemarl.game.learner import mean_payoff
from coemarl.game.learners import make_tree, top
from coemarl.game.options import OFFSET_VISITS, GameOptions


class Moment(NamedTuple):
    """The tree before one step, and what was chosen in it. Nodes are numbered breadth first."""

    step: int
    """The number of the step, from 1."""
    visits: np.ndarray
    """Of each node (N,)."""
    mean: np.ndarray
    """Mean payoff of each node (N,), 0 where there was no visit."""
    bonus: np.ndarray
    """What was added to the value of the action that leads to each node (N,); infinite if it comes
    first because it was never tried. The root's is 0."""
    path: np.ndarray
    """The nodes on the way of this step's joint action (A + 1,), root first."""
    paid: bool
    regret: float
    """Expected regret with this step."""


@dataclass(frozen=True)
class Growth:
    """One whole game."""

    options: GameOptions
    learner: str
    p0: float
    optimal: np.ndarray
    """The nodes on the way of the optimal joint action (A + 1,)."""
    moment: Callable[[int], Moment]
    """`moment(step)`, from 1 to the number of steps."""


def grow(options: GameOptions, seed: int = 0) -> Growth:
    """The game of the first learner at the first p0."""
    name, p0 = options.learners[0], options.p0[0]
    counts = make_tree(options.agents, options.actions)
    game, steps = run.record(name, options, p0, seed)
    root = top(counts)
    paths = jax.vmap(partial(path_of, counts, root))(steps.actions)
    optimal = path_of(counts, root, game.optimal)
    inner = jnp.arange((counts.bytes // 4 - 1) // options.actions, dtype=jnp.int32)

    def bonuses(visits: Int[Array, " N"]) -> Float[Array, " N"]:
        """c sqrt(2 ln N_parent / N_child) into every node, from its parent's children."""
        parents = jax.vmap(counts.count, (None, 0))(visits, inner)
        children = jax.vmap(counts.children, (None, 0))(visits, inner)
        bonus = jax.vmap(partial(ucb_bonus, unvisited=OFFSET_VISITS))(parents, children)
        bonus = options.rules.c * bonus
        if options.rules.unvisited == "first":
            bonus = jnp.where(children < 1, jnp.inf, bonus)
        actions = jnp.arange(options.actions, dtype=jnp.int32)
        below = jax.vmap(lambda key: jax.vmap(partial(counts.child, key))(actions))(inner)
        return jnp.zeros(visits.shape).at[below].set(bonus)

    @jax.jit
    def tables(before: Array) -> tuple[Array, Array, Array]:
        seen = jnp.arange(options.steps, dtype=jnp.int32) < before
        visits = counts.add(counts.init(), paths, seen)
        paid = counts.add(counts.init(), paths, seen & steps.paid)
        mean = mean_payoff(paid.astype(jnp.float32), visits.astype(jnp.float32))
        return visits, mean, bonuses(visits)

    hits = np.cumsum((np.asarray(paths) == np.asarray(optimal)).all(axis=1))

    def moment(step: int) -> Moment:
        visits, mean, bonus = map(np.asarray, tables(jnp.int32(step - 1)))
        return Moment(
            step=step,
            visits=visits,
            mean=mean,
            bonus=bonus,
            path=np.asarray(paths[step - 1]),
            paid=bool(steps.paid[step - 1]),
            regret=float(payoff.regret(p0, step, hits[step - 1])),
        )

    return Growth(options, name, p0, np.asarray(optimal), moment)
