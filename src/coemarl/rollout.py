"""Rollout: E environments of one task, each playing one whole episode.

The same code acts in training and in evaluation; what differs is the `Policy`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Choice, Explorer, ExplorerState, Moment
from coemarl.replay import Episodes
from coemarl.tasks.task import Task, TaskSpec, TimeStep
from coemarl.utilities import Utility


class Played(NamedTuple):
    """What E episodes were like."""

    episodes: Episodes
    returns: Float[Array, " E"]
    """Undiscounted team returns."""
    info: dict[str, Float[Array, " E"]]
    """The task's named scalars at each episode's last step."""


class _Carry(NamedTuple):
    """One rollout between two steps."""

    t: Int[Array, ""]
    env: Any
    seen: TimeStep
    active: Bool[Array, " E"]
    hidden: Any
    explorer: ExplorerState
    episodes: Episodes
    info: dict[str, Float[Array, " E"]]


@dataclass(frozen=True)
class Policy:
    """How a team acts."""

    begin: Callable[[ExplorerState, PRNGKeyArray, Float[Array, " S"], Int[Array, ""]], Any]
    """The context of one episode, as `Explorer.begin`."""
    latent: Callable[[Any], Float[Array, " Z"]]
    """As `Explorer.latent`."""
    choose: Callable[[Any, ExplorerState, Any, PRNGKeyArray, Moment, Any], Choice]
    """`choose(params, explorer_state, context, key, moment, advice)` in one environment."""
    observe: Callable[[ExplorerState, Any, Bool[Array, " E"]], ExplorerState]
    """As `Explorer.observe`."""


def exploring(explorer: Explorer, utility: Utility) -> Policy:
    """As in training: agents choose one after another as the explorer says."""

    def choose(
        params: Any, state: Any, context: Any, key: PRNGKeyArray, moment: Moment, advice: Any
    ) -> Choice:
        values = utility.views[0].values(params)
        return explorer.choose(state, context, key, moment, advice, values)

    return Policy(explorer.begin, explorer.latent, choose, explorer.observe)


def greedy(utility: Utility) -> Policy:
    """As in execution: each agent alone takes its best legal action, the lowest of equals. An
    episode's latent, where the utility has one, is any with equal chances."""
    Z = utility.latents

    def begin(state: Any, key: PRNGKeyArray, first: Any, steps: Any) -> Float[Array, " Z"]:
        return jax.nn.one_hot(jax.random.randint(key, (), 0, Z), Z) if Z else jnp.zeros(0)

    def choose(
        params: Any, state: Any, context: Any, key: PRNGKeyArray, moment: Moment, advice: Any
    ) -> Choice:
        actions = jax.vmap(best_legal)(advice.values, moment.avail)
        return Choice(actions, jnp.zeros(actions.shape[0] + 1), ())

    return Policy(begin, lambda context: context, choose, lambda state, traces, active: state)


def blank_episodes(spec: TaskSpec, environments: int) -> Episodes:
    """Zeros to write episodes into."""
    E, T, A, U = environments, spec.episode_limit, spec.num_agents, spec.num_actions
    return Episodes(
        observation=jnp.zeros((E, T + 1, A, spec.observation_size)),
        state=jnp.zeros((E, T + 1, spec.state_size)),
        avail=jnp.zeros((E, T + 1, A, U), bool),
        actions=jnp.zeros((E, T, A), jnp.int32),
        reward=jnp.zeros((E, T)),
        bonus=jnp.zeros((E, T, A + 1)),
        latent=jnp.zeros((E, 0)),
        length=jnp.zeros(E, jnp.int32),
        terminated=jnp.zeros(E, bool),
    )


def masked(active: Bool[Array, " E"], new: Array, old: Array | float = 0) -> Array:
    """`new` in environments that are active, `old` in the others."""
    flags = active.reshape(-1, *[1] * (new.ndim - 1))
    return jnp.where(flags, new, jnp.asarray(old, new.dtype))


def write_row(rows: Array, row: Array, t: Int[Array, ""], active: Bool[Array, " E"]) -> Array:
    """Row t of every environment's rows (E, T, ...), zeros for those that are over."""
    return lax.dynamic_update_index_in_dim(rows, masked(active, row), t, 1)


def make_rollout(
    task: Task, utility: Utility, policy: Policy, environments: int
) -> Callable[..., tuple[ExplorerState, Played]]:
    """`rollout(params, explorer_state, key, steps) -> (explorer_state, Played)`.

    `steps`, the environment steps of training so far, counts on during the rollout: E a step, also
    where some environments are over.
    """
    E, spec = environments, task.spec

    def begin(params: Any, explorer: Any, key: PRNGKeyArray, steps: Array) -> tuple[Any, _Carry]:
        reset_key, context_key = jax.random.split(key)
        env, seen = jax.vmap(task.reset)(jax.random.split(reset_key, E))
        context = jax.vmap(policy.begin, (None, 0, 0, None))(
            explorer, jax.random.split(context_key, E), seen.state, steps
        )
        active = jnp.ones(E, bool)
        blank = blank_episodes(spec, E)._replace(
            latent=jax.vmap(policy.latent, axis_size=E)(context)
        )
        episodes = write_sight(blank, seen, jnp.int32(0), active)
        hidden = utility.start(E)
        info = jax.tree.map(jnp.zeros_like, seen.info)
        return context, _Carry(jnp.int32(0), env, seen, active, hidden, explorer, episodes, info)

    def write_sight(episodes: Episodes, seen: TimeStep, t: Array, active: Array) -> Episodes:
        return episodes._replace(
            observation=write_row(episodes.observation, seen.observation, t, active),
            state=write_row(episodes.state, seen.state, t, active),
            avail=write_row(episodes.avail, seen.avail, t, active),
        )

    def step(params: Any, context: Any, key: PRNGKeyArray, steps: Array, carry: _Carry) -> _Carry:
        t, seen, active = carry.t, carry.seen, carry.active
        choose_key, step_key = jax.random.split(jax.random.fold_in(key, t))
        latent = carry.episodes.latent
        hidden, advice = utility.advise(params, carry.hidden, seen.observation, latent)
        moment = Moment(seen.state, seen.avail, jnp.full(E, t), jnp.full(E, steps + E * t))
        choice = jax.vmap(policy.choose, (None, None, 0, 0, 0, 0))(
            params, carry.explorer, context, jax.random.split(choose_key, E), moment, advice
        )
        explorer = policy.observe(carry.explorer, choice.trace, active)
        env, now = jax.vmap(task.step)(jax.random.split(step_key, E), carry.env, choice.actions)
        over = now.terminated | now.truncated
        old = carry.episodes
        episodes = write_sight(old, now, t + 1, active)._replace(
            actions=write_row(old.actions, choice.actions, t, active),
            reward=write_row(old.reward, now.reward, t, active),
            bonus=write_row(old.bonus, choice.reward_bonus, t, active),
            length=old.length + active.astype(jnp.int32),
            terminated=jnp.where(active, now.terminated, old.terminated),
        )
        info = jax.tree.map(lambda new, old: jnp.where(active, new, old), now.info, carry.info)
        return _Carry(t + 1, env, now, active & ~over, hidden, explorer, episodes, info)

    def rollout(
        params: Any, explorer: ExplorerState, key: PRNGKeyArray, steps: Int[Array, ""]
    ) -> tuple[ExplorerState, Played]:
        begin_key, steps_key = jax.random.split(key)
        context, carry = begin(params, explorer, begin_key, steps)
        carry = lax.while_loop(
            lambda carry: jnp.any(carry.active) & (carry.t < spec.episode_limit),
            lambda carry: step(params, context, steps_key, steps, carry),
            carry,
        )
        episodes = carry.episodes
        return carry.explorer, Played(episodes, episodes.reward.sum(axis=1), carry.info)

    return rollout
