"""Scripted teams: policies that follow rules instead of learned utilities, as measures for others.

A family's module may have some, in a table `POLICIES`; every task has `random`. A policy is
`act(key, env_state, seen) -> actions`, for one environment; it may look at everything in the
environment's state. One that also depends on what was before is a `Remembering`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl import tasks
from coemarl.explorers.epsilon import random_legal
from coemarl.tasks import Task, TimeStep
from coemarl.training import Watched

Act = Callable[[PRNGKeyArray, Any, TimeStep], Int[Array, " A"]]


class Remembering(NamedTuple):
    """A policy with a memory, for one environment."""

    start: Any
    """The memory at the start of an episode."""
    act: Callable[[PRNGKeyArray, Any, Any, TimeStep], tuple[Any, Int[Array, " A"]]]
    """`act(key, memory, env_state, seen)`: the new memory and the actions."""


def remembering(policy: "Act | Remembering") -> Remembering:
    """Any policy as one with a memory, which may be empty."""
    if isinstance(policy, Remembering):
        return policy
    return Remembering((), lambda key, memory, env, seen: (memory, policy(key, env, seen)))


def random_team(options: Any) -> Act:
    """Every agent takes any of its legal actions, all equally likely."""
    del options

    def act(key: PRNGKeyArray, env: Any, seen: TimeStep) -> Int[Array, " A"]:
        draws = jax.random.uniform(key, (seen.avail.shape[0],))
        return jax.vmap(random_legal)(draws, seen.avail)

    return act


def policies(task: str) -> Mapping[str, tuple[str, Callable[[Any], Act | Remembering]]]:
    """The scripted teams of a task's family: {name: (one line on it, make)}."""
    module, _ = tasks.family_of(task)
    everywhere = {"random": ("any legal action, all equally likely", random_team)}
    return everywhere | getattr(module, "POLICIES", {})


def make_act(task: str, options: Any, policy: str) -> Act | Remembering:
    """A policy by name; ValueError if the task's family has none of that name."""
    known = policies(task)
    if policy not in known:
        family = tasks.family_name(task)
        raise ValueError(f"no policy '{policy}' of {family} tasks: there are {', '.join(known)}")
    return known[policy][1](options)


class Outcome(NamedTuple):
    """What an episode came to."""

    returns: Float[Array, ""]
    length: Float[Array, ""]
    info: dict[str, Float[Array, ""]]


def make_play(task: Task, act: Act | Remembering) -> Callable[[PRNGKeyArray], Outcome]:
    """`play(key)`: one whole episode, compiled."""
    policy = remembering(act)

    def play(key: PRNGKeyArray) -> Outcome:
        reset_key, key = jax.random.split(key)
        env, seen = task.reset(reset_key)

        def goes_on(carry: tuple[Any, TimeStep, Outcome, Any]) -> Array:
            return ~(carry[1].terminated | carry[1].truncated)

        def step(carry: tuple[Any, TimeStep, Outcome, Any]) -> tuple[Any, TimeStep, Outcome, Any]:
            env, seen, so_far, memory = carry
            act_key, step_key = jax.random.split(
                jax.random.fold_in(key, so_far.length.astype(jnp.int32))
            )
            memory, actions = policy.act(act_key, memory, env, seen)
            env, seen = task.step(step_key, env, actions)
            outcome = Outcome(so_far.returns + seen.reward, so_far.length + 1, seen.info)
            return env, seen, outcome, memory

        nothing = Outcome(jnp.float32(0), jnp.float32(0), seen.info)
        return jax.lax.while_loop(goes_on, step, (env, seen, nothing, policy.start))[2]

    return play


def evaluate(task: Task, act: Act | Remembering, episodes: int, seed: int) -> dict[str, float]:
    """The `eval/` metrics of so many episodes, named as those of a run."""
    play = make_play(task, act)
    keys = jax.random.split(jax.random.key(seed), episodes)
    done: Outcome = jax.jit(jax.vmap(play))(keys)
    return {
        "eval/return": float(done.returns.mean()),
        "eval/return_std": float(done.returns.std()),
        "eval/length": float(done.length.mean()),
        **{f"eval/{name}": float(values.mean()) for name, values in done.info.items()},
    }


def episode(task: Task, act: Act | Remembering, seed: int) -> Watched:
    """One episode to look at."""
    policy = remembering(act)
    reset, step, choose = jax.jit(task.reset), jax.jit(task.step), jax.jit(policy.act)
    memory = policy.start
    key = jax.random.key(seed)
    env, seen = reset(jax.random.fold_in(key, 0))
    watched = Watched([env], [], [])
    while not (bool(seen.terminated) or bool(seen.truncated)):
        act_key, step_key = jax.random.split(jax.random.fold_in(key, len(watched.states)))
        memory, actions = choose(act_key, memory, env, seen)
        env, seen = step(step_key, env, actions)
        watched.states.append(env)
        watched.actions.append(actions)
        watched.rewards.append(float(seen.reward))
    return watched
