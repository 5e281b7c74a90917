"""The learner: one gradient update from a batch of whole episodes (paper, appendix F).

For each step t of an episode, with a'_i the best legal action at t + 1 by the online net (double Q)
and everything of the target primed,

    y_t     = r_t + bonus_t + discount_t * mix'(Q'_i(o_t+1, a'_i) + bonus'_i, s_t+1)
    delta_t = mix(Q_i(o_t, a_i), s_t) - y_t
    loss    = sum of delta_t^2 over steps that happened / number of such steps

where discount_t is 0 at a terminal step. Without a mixer each agent has its own delta, and the loss
is their mean. Functions of one step are batched by vmap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.config import LearnerOptions
from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Explorer, ExplorerState
from coemarl.mixers import Mixer
from coemarl.replay import Episodes
from coemarl.utilities import Utility

STANDARD_DEVIATION_FLOOR = 1e-5
"""Added to the standard deviation that rewards are divided by."""


class Params(NamedTuple):
    """What is learned."""

    utility: Any
    mixer: Any


class LearnerState(NamedTuple):
    """Online nets, target nets, and the optimiser's memory."""

    online: Params
    target: Params
    optimiser: Any
    updates: Int[Array, ""]


class Losses(NamedTuple):
    """What one update looked like, for the metric rows."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    """Before clipping."""
    td_error: Float[Array, ""]
    """Mean absolute delta."""
    value: Float[Array, ""]
    """Mean of the mixed value of the actions taken."""
    target: Float[Array, ""]
    """Mean of y."""
    reward_bonus: Float[Array, ""]
    """Mean of the bonus added to the reward."""


@dataclass(frozen=True)
class Learner:
    """How the nets learn."""

    init: Callable[[PRNGKeyArray], LearnerState]
    """`init(key)`: fresh nets; the targets are copies."""
    update: Callable[[LearnerState, ExplorerState, Episodes], tuple[LearnerState, Losses]]
    """`update(state, explorer_state, batch)`: one step of the optimiser, then of the targets."""


def step_mask(lengths: Int[Array, " B"], limit: int) -> Float[Array, "B T"]:
    """1 at steps that happened, up to and including the last."""
    return (jnp.arange(limit)[None, :] < lengths[:, None]).astype(jnp.float32)


def step_discounts(batch: Episodes, options: LearnerOptions) -> Float[Array, "B T"]:
    """`discount`, but 0 at a terminal step: the last one if the game was over, and, where the time
    limit counts as terminal, the last one whatever ended the episode."""
    ends = batch.terminated | jnp.bool_(options.time_limit_is_terminal)
    last = jnp.arange(batch.reward.shape[1])[None, :] == batch.length[:, None] - 1
    return jnp.where(last & ends[:, None], 0.0, options.discount)


def standardised(rewards: Float[Array, "B T"], longest: Int[Array, ""]) -> Float[Array, "B T"]:
    """(r - mean) / (standard deviation + 1e-5), both over the batch's rewards cut at its longest
    episode, with the zeros that pad shorter ones, as in the reference; the deviation divides by
    n - 1."""
    inside = (jnp.arange(rewards.shape[1]) < longest)[None, :]
    number = (longest * rewards.shape[0]).astype(jnp.float32)
    mean = jnp.sum(jnp.where(inside, rewards, 0.0)) / number
    squares = jnp.sum(jnp.where(inside, (rewards - mean) ** 2, 0.0))
    deviation = jnp.sqrt(squares / jnp.maximum(number - 1.0, 1.0))
    return (rewards - mean) / (deviation + STANDARD_DEVIATION_FLOOR)


def taken(values: Float[Array, "A U"], actions: Int[Array, " A"]) -> Float[Array, " A"]:
    """Each agent's value of its action."""
    return jnp.take_along_axis(values, actions[:, None], axis=1)[:, 0]


def td_loss(deltas: Float[Array, "B T M"], mask: Float[Array, "B T"]) -> Float[Array, ""]:
    """Sum of squared deltas of steps that happened / number of such steps, the mean over M."""
    return jnp.sum(jnp.square(deltas).mean(axis=2) * mask) / mask.sum()


def follow(options: LearnerOptions, updates: Int[Array, ""], online: Any, target: Any) -> Any:
    """The target nets after an update: `target_tau` of the way to the online nets at each (soft),
    or a copy at every `target_period`-th (hard)."""
    if options.target_update == "soft":
        share = jnp.float32(options.target_tau)
        return jax.tree.map(lambda new, old: old + share * (new - old), online, target)
    copies = updates % options.target_period == 0
    return jax.tree.map(lambda new, old: jnp.where(copies, new, old), online, target)


def make_learner(
    options: LearnerOptions, utility: Utility, mixer: Mixer, explorer: Explorer
) -> Learner:
    """The learner of an algorithm."""
    optimiser = optax.chain(
        optax.clip_by_global_norm(options.max_gradient_norm),
        optax.adam(options.learning_rate, eps=1e-8),
    )
    mix = jax.vmap(jax.vmap(mixer.apply, (None, 0, 0)), (None, 0, 0))

    def init(key: PRNGKeyArray) -> LearnerState:
        utility_key, mixer_key = jax.random.split(key)
        online = Params(utility.init(utility_key), mixer.init(mixer_key))
        target = jax.tree.map(jnp.copy, online)
        return LearnerState(online, target, optimiser.init(online), jnp.int32(0))

    def best_next(
        explorer_state: ExplorerState,
        state: Float[Array, " S"],
        t: Int[Array, ""],
        values: Float[Array, "A U"],
        avail: Bool[Array, "A U"],
    ) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
        """The joint action that the target takes at one step, and its bonus for each agent."""
        if explorer.bootstrap is None:
            return jax.vmap(best_legal)(values, avail), jnp.zeros(values.shape[0])
        return explorer.bootstrap(explorer_state, state, t, values, avail)

    def bootstraps(
        explorer_state: ExplorerState, target: Params, online: Array, batch: Episodes, last: Array
    ) -> Float[Array, "B T M"]:
        """mix'(Q'_i(o_t+1, a'_i) + bonus'_i, s_t+1) for each step t."""
        B, T = batch.reward.shape
        values = utility.unroll(target.utility, batch.observation, last)[:, 1:]
        judges = online[:, 1:] if options.double_q else values
        times = jnp.broadcast_to(jnp.arange(1, T + 1, dtype=jnp.int32), (B, T))
        over_steps = jax.vmap(jax.vmap(best_next, (None, 0, 0, 0, 0)), (None, 0, 0, 0, 0))
        actions, bonus = over_steps(
            explorer_state, batch.state[:, 1:], times, judges, batch.avail[:, 1:]
        )
        chosen = jax.vmap(jax.vmap(taken))(values, actions) + bonus
        return mix(target.mixer, chosen, batch.state[:, 1:])

    def reward_bonuses(explorer_state: ExplorerState, batch: Episodes) -> Float[Array, "B T M"]:
        """What is added to the rewards: each agent's own bonus, or the joint action's."""
        bonus = batch.bonus
        if explorer.reward is not None and not explorer.stores_bonus:
            over_steps = jax.vmap(jax.vmap(explorer.reward, (None, 0, 0)), (None, 0, 0))
            bonus = over_steps(explorer_state, batch.state[:, :-1], batch.actions)
        return bonus if mixer.per_agent else bonus[:, :, -1:]

    def loss(
        online: Params, target: Params, explorer_state: ExplorerState, batch: Episodes
    ) -> tuple[Float[Array, ""], Losses]:
        longest = batch.length.max()
        mask = step_mask(batch.length, batch.reward.shape[1])
        rewards = (
            standardised(batch.reward, longest) if options.standardise_rewards else batch.reward
        )
        bonus = reward_bonuses(explorer_state, batch)
        values = utility.unroll(online.utility, batch.observation, longest + 1)
        chosen = jax.vmap(jax.vmap(taken))(values[:, :-1], batch.actions)
        mixed = mix(online.mixer, chosen, batch.state[:, :-1])
        judges = jax.lax.stop_gradient(values)
        later = bootstraps(explorer_state, target, judges, batch, longest + 1)
        discounts = step_discounts(batch, options)
        y = jax.lax.stop_gradient(rewards[:, :, None] + bonus + discounts[:, :, None] * later)
        deltas = mixed - y
        mean = lambda x: jnp.sum(x.mean(axis=2) * mask) / mask.sum()  # noqa: E731
        result = td_loss(deltas, mask)
        none = jnp.float32(0)
        return result, Losses(
            result, none, mean(jnp.abs(deltas)), mean(mixed), mean(y), mean(bonus)
        )

    def update(
        state: LearnerState, explorer_state: ExplorerState, batch: Episodes
    ) -> tuple[LearnerState, Losses]:
        gradient, losses = jax.grad(loss, has_aux=True)(
            state.online, state.target, explorer_state, batch
        )
        with jax.numpy_dtype_promotion("standard"):  # which optax relies on, wherever it runs
            changes, memory = optimiser.update(gradient, state.optimiser, state.online)
        online: Any = optax.apply_updates(state.online, changes)
        updates = state.updates + 1
        target = follow(options, updates, online, state.target)
        losses = losses._replace(gradient_norm=optax.tree.norm(gradient))
        return LearnerState(online, target, memory, updates), losses

    return Learner(init, update)
