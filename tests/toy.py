"""A task so plain that every number of an episode is known beforehand, as a family of tasks.

Each episode draws `end`, from 1 to one more than the limit. Agent i observes [t, end, i], the state
is [end, t], the reward of a step is 10 t + the sum of actions. The game is over after `end` steps.
The last action is legal at even times only.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from coemarl.tasks import Task, TaskSpec, TimeStep

EXAMPLES = {"toy:4": "up to four steps"}


@dataclass(frozen=True)
class Options:
    """The limit alone."""

    episode_limit: int = 4


class ToyState(NamedTuple):
    end: Int[Array, ""]
    t: Int[Array, ""]


def parse(words: str) -> Options:
    return Options(int(words))


def make(options: Options) -> Task:
    A, U, limit = 2, 3, options.episode_limit
    spec = TaskSpec(
        name=f"toy:{limit}",
        num_agents=A,
        num_actions=U,
        observation_size=3,
        state_size=2,
        episode_limit=limit,
        reward="one for all",
        infos=(("seen", "the time"),),
    )

    def shown(state: ToyState, reward: Array) -> TimeStep:
        t, end = state.t.astype(jnp.float32), state.end.astype(jnp.float32)
        over = state.t == state.end
        return TimeStep(
            observation=jnp.stack([jnp.stack([t, end, jnp.float32(i)]) for i in range(A)]),
            state=jnp.stack([end, t]),
            avail=jnp.ones((A, U), bool).at[:, U - 1].set(state.t % 2 == 0),
            reward=reward,
            terminated=over,
            truncated=~over & (state.t >= limit),
            info={"seen": t},
        )

    def reset(key: PRNGKeyArray) -> tuple[ToyState, TimeStep]:
        state = ToyState(jax.random.randint(key, (), 1, limit + 2), jnp.int32(0))
        return state, shown(state, jnp.float32(0))

    def step(
        key: PRNGKeyArray, state: ToyState, actions: Int[Array, " A"]
    ) -> tuple[ToyState, TimeStep]:
        new = state._replace(t=state.t + 1)
        return new, shown(new, (10 * state.t + actions.sum()).astype(jnp.float32))

    return Task(spec, reset, step)
