"""Whole episodes of a scripted policy, many at once, and what they were like."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from coemarl.tasks.battle import task as battle_task
from coemarl.tasks.battle.fight import BattleState
from coemarl.tasks.battle.options import Options
from coemarl.tasks.battle.policies import make_policy
from coemarl.tasks.task import TimeStep


class Results(NamedTuple):
    """Of E episodes."""

    returns: Float[Array, " E"]
    lengths: Float[Array, " E"]
    won: Float[Array, " E"]
    allies_left: Float[Array, " E"]
    enemies_left: Float[Array, " E"]


class _Carry(NamedTuple):
    t: Array
    state: BattleState
    seen: TimeStep
    memory: Any
    active: Array
    results: Results


def play(options: Options, policy: str, episodes: int, seed: int = 0) -> Results:
    """So many episodes of a policy, as numpy arrays."""
    results = _program(options, policy, episodes)(jax.random.key(seed))
    return jax.tree.map(np.asarray, jax.device_get(results))


@functools.lru_cache(maxsize=32)
def _program(options: Options, policy: str, episodes: int):
    """The compiled episodes."""
    task, fight = battle_task.make(options), battle_task.fight_of(options)
    scripted = make_policy(policy, fight)
    A, M, E = fight.allies, fight.enemies, episodes

    def step(key: Array, carry: _Carry) -> _Carry:
        act_key, step_key = jax.random.split(jax.random.fold_in(key, carry.t))
        memory, actions = jax.vmap(scripted.act)(
            jax.random.split(act_key, E), carry.memory, carry.state, carry.seen
        )
        state, seen = jax.vmap(task.step)(jax.random.split(step_key, E), carry.state, actions)
        active, old = carry.active, carry.results
        new = Results(
            returns=old.returns + seen.reward,
            lengths=old.lengths + 1.0,
            won=seen.info["battle_won"],
            allies_left=A - seen.info["dead_allies"],
            enemies_left=M - seen.info["dead_enemies"],
        )
        results = jax.tree.map(lambda fresh, kept: jnp.where(active, fresh, kept), new, old)
        over = seen.terminated | seen.truncated
        return _Carry(carry.t + 1, state, seen, memory, active & ~over, results)

    def run(key: Array) -> Results:
        reset_key, key = jax.random.split(key)
        state, seen = jax.vmap(task.reset)(jax.random.split(reset_key, E))
        memory = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (E, *leaf.shape)), scripted.start()
        )
        zeros = jnp.zeros(E)
        start = _Carry(
            jnp.int32(0), state, seen, memory, jnp.ones(E, bool), Results(*([zeros] * 5))
        )
        end = lax.while_loop(lambda c: jnp.any(c.active), lambda c: step(key, c), start)
        return end.results

    return jax.jit(run)
