"""Several seeds of one run as one compiled program: a `vmap` axis over whole training states.

Each lane of the stack is a run like any other, with its own replay, counts and keys; lanes do not
touch each other. All advance by the same number of iterations, so they reach a number of steps at
different times, since episodes differ in length; the host looks after that
(`coemarl.runs.lanes`).

On an accelerator S lanes cost little more than one. On a processor they cost more than S runs one
after another, for a loop that stops early in one lane goes on for all and keeps what it had by
copies.

A lane's numbers are not bit for bit those of the run alone: batched products may sum in another
order. They do not depend on the other lanes, nor on where a run was interrupted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from coemarl import config as configuration
from coemarl.training import (
    Trainer,
    TrainState,
    make_evaluation,
    make_init,
    make_iteration,
)


@dataclass(frozen=True)
class Stack:
    """Runs that differ by their seed alone, ready to go."""

    trainers: tuple[Trainer, ...]
    """Each lane's run; their `advance` is not used."""
    join: Callable[[Sequence[TrainState]], TrainState]
    """`join(states)`: one state with a leading axis of lanes."""
    advance: Callable[[TrainState, int], TrainState]
    """`advance(stacked, n)`: n iterations of every lane. Takes its argument's memory over."""
    lane: Callable[[TrainState, int], TrainState]
    """`lane(stacked, i)`: the state of one run, copied out."""
    forget: Callable[[TrainState, int], TrainState]
    """`forget(stacked, i)`: the same with the sums of a lane, which were read, at zero. Takes its
    argument's memory over."""


def make_stack(first: Trainer, seeds: Sequence[int]) -> Stack:
    """The runs with these seeds that are else like the one given."""
    config = first.config
    init, evaluation = make_init(first.parts), make_evaluation(first.parts, config)

    def with_seed(seed: int) -> Trainer:
        return replace(
            first,
            config=configuration.replace(config, {"seed": seed}),
            init=lambda: init(seed),
            evaluate=lambda state: evaluation(state, seed),
        )

    iteration = jax.vmap(make_iteration(first.parts, config))

    @partial(jax.jit, donate_argnums=0)
    def loop(stacked: TrainState, iterations: Int[Array, ""]) -> TrainState:
        return lax.fori_loop(0, iterations, lambda _, stacked: iteration(stacked), stacked)

    @jax.jit
    def lane(stacked: TrainState, i: Int[Array, ""]) -> TrainState:
        return jax.tree.map(lambda leaf: leaf[i], stacked)

    @partial(jax.jit, donate_argnums=0)
    def forget(stacked: TrainState, i: Int[Array, ""]) -> TrainState:
        return stacked._replace(sums=jax.tree.map(lambda leaf: leaf.at[i].set(0), stacked.sums))

    return Stack(
        trainers=tuple(with_seed(seed) for seed in seeds),
        join=lambda states: jax.tree.map(lambda *leaves: jnp.stack(leaves), *states),
        advance=lambda stacked, n: loop(stacked, jnp.int32(n)),
        lane=lambda stacked, i: lane(stacked, jnp.int32(i)),
        forget=lambda stacked, i: forget(stacked, jnp.int32(i)),
    )
