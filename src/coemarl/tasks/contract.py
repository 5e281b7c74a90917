"""The check of a task's contract: what `Task` promises and no type can say, by random play.

from coemarl.tasks.contract import check
check(make_task("./corridor.py:5"))
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from coemarl.explorers.epsilon import random_legal
from coemarl.tasks.task import Task, TaskSpec, TimeStep

EPISODES = 16


class Played(NamedTuple):
    """What random play saw, each with leading axes (episode, moment)."""

    seen: TimeStep
    active: Array
    """Whether the episode had not ended before this moment."""


def check(task: Task, seed: int = 0) -> None:
    """Play episodes of random legal actions; ValueError, in one sentence, at the first promise
    that is not kept."""
    spec = task.spec
    check_shapes(task)
    play = make_play(task)
    played: Any = jax.tree.map(np.asarray, play(jax.random.key(seed)))
    again: Any = jax.tree.map(np.asarray, play(jax.random.key(seed)))
    for a, b in zip(jax.tree.leaves(played), jax.tree.leaves(again), strict=True):
        require(spec, a.tobytes() == b.tobytes(), "the same key does not play the same episode")
    check_moments(spec, played.seen, played.active)
    check_ends(spec, played.seen, played.active)


def require(spec: TaskSpec, kept: Any, wrong: str) -> None:
    """ValueError unless a promise is kept."""
    if not kept:
        raise ValueError(f"task {spec.name}: {wrong}")


def expected(spec: TaskSpec) -> TimeStep:
    """Shape and dtype of everything that a task shows."""
    A, U, real, flag = spec.num_agents, spec.num_actions, jnp.float32, jnp.bool_
    of = jax.ShapeDtypeStruct
    return TimeStep(
        observation=of((A, spec.observation_size), real),  # type: ignore[arg-type]
        state=of((spec.state_size,), real),  # type: ignore[arg-type]
        avail=of((A, U), flag),  # type: ignore[arg-type]
        reward=of((), real),  # type: ignore[arg-type]
        terminated=of((), flag),  # type: ignore[arg-type]
        truncated=of((), flag),  # type: ignore[arg-type]
        info={name: of((), real) for name, _ in spec.infos},  # type: ignore[misc]
    )


def check_shapes(task: Task) -> None:
    """Whether reset and step show what the spec says, and a step keeps the state's own shapes."""
    spec, key = task.spec, jax.random.key(0)
    actions = jax.ShapeDtypeStruct((spec.num_agents,), jnp.int32)
    env, seen = jax.eval_shape(task.reset, key)
    after, later = jax.eval_shape(task.step, key, env, actions)
    for moment, name in ((seen, "reset"), (later, "step")):
        for field, wanted in expected(spec)._asdict().items():
            said = f"{name} shows {field} as {say(getattr(moment, field))}, not {say(wanted)}"
            require(spec, say(getattr(moment, field)) == say(wanted), said)
    same = say(env) == say(after)
    require(spec, same, f"a step turns the environment's state {say(env)} into {say(after)}")
    named = not spec.actions or len(spec.actions) == spec.num_actions
    require(
        spec, named, f"{len(spec.actions)} actions have names, and there are {spec.num_actions}"
    )


def say(tree: Any) -> str:
    """Names, dtypes and shapes of a tree's arrays."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(tree)
    leaves = [
        f"{jax.tree_util.keystr(path)} {leaf.dtype}{list(leaf.shape)}".strip()
        for path, leaf in pairs
    ]
    return ", ".join(leaves) or "nothing"


def make_play(task: Task) -> Callable[[PRNGKeyArray], Played]:
    """`play(key)`: episodes of random legal actions, stepped on to the limit and one step over."""
    spec = task.spec

    def one(key: PRNGKeyArray) -> Played:
        reset_key, play_key = jax.random.split(key)

        def step(carry: Any, t: Array) -> tuple[Any, Played]:
            env, seen, active = carry
            draw_key, step_key = jax.random.split(jax.random.fold_in(play_key, t))
            draws = jax.random.uniform(draw_key, (spec.num_agents,))
            actions = jax.vmap(random_legal)(draws, seen.avail)
            env, later = task.step(step_key, env, actions)
            goes_on = active & ~(seen.terminated | seen.truncated)
            return (env, later, goes_on), Played(seen, active)

        start = (*task.reset(reset_key), jnp.bool_(True))
        return jax.lax.scan(step, start, jnp.arange(spec.episode_limit + 2))[1]

    return jax.jit(lambda key: jax.vmap(one)(jax.random.split(key, EPISODES)))


def check_moments(spec: TaskSpec, seen: TimeStep, active: np.ndarray) -> None:
    """What holds at every moment of an episode."""
    over: np.ndarray = np.logical_or(seen.terminated, seen.truncated)
    for name, array in (*seen._asdict().items(), *seen.info.items()):
        if name != "info":
            finite = np.isfinite(np.asarray(array)[active]).all()
            require(spec, finite, f"{name} is not finite at some moment")
    choices = np.any(seen.avail, axis=-1)[active & ~over]
    require(spec, choices.all(), "an agent has no legal action at some moment")
    everything = np.asarray(seen.avail)[active & ~over].all()
    kept = everything or not spec.always_available
    require(spec, kept, "always_available is said, but some action is not available")
    if spec.state_is_observations:
        joined = np.asarray(seen.observation).reshape(seen.state.shape)
        same = np.array_equal(joined[active], np.asarray(seen.state)[active])
        require(spec, same, "state_is_observations is said, but the state is another")


def check_ends(spec: TaskSpec, seen: TimeStep, active: np.ndarray) -> None:
    """What holds at the two ends of an episode."""
    terminated, truncated = np.asarray(seen.terminated), np.asarray(seen.truncated)
    fresh = not (terminated[:, 0].any() or truncated[:, 0].any() or np.any(seen.reward[:, 0]))
    require(spec, fresh, "a reset shows a reward, or an episode that is over")
    both = (terminated & truncated)[active].any()
    require(spec, not both, "terminated and truncated are both set at some moment")
    early = truncated[:, : spec.episode_limit][active[:, : spec.episode_limit]].any()
    require(spec, not early, "truncated is set before the episode limit")
    late = active[:, spec.episode_limit + 1].any()
    require(spec, not late, f"an episode goes on after {spec.episode_limit} steps, its limit")
