"""The learner: one gradient update from a batch of whole episodes (paper, appendix F).

For each step t of an episode, with a'_i the best legal action at t + 1 by the online net (double Q)
and everything of the target primed,

    y_t     = r_t + bonus_t + discount_t * mix'(Q'_i(o_t+1, a'_i) + bonus'_i, s_t+1)
    delta_t = mix(Q_i(o_t, a_i), s_t) - y_t
    loss    = sum of delta_t^2 over steps that happened / number of such steps

where discount_t is 0 at a terminal step. Without a mixer each agent has its own delta, and the loss
is their mean. A utility with several views (`coemarl.utilities.utility`) has such a loss for each;
mixers and explorers may add terms of their own. Functions of one step are batched by vmap.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.config import LearnerOptions
from coemarl.explorers.epsilon import best_legal
from coemarl.explorers.explorer import Advice, Explorer, ExplorerState
from coemarl.explorers.turns import in_turns
from coemarl.mixers import Joint, Mixer
from coemarl.optimisation import Optimiser, Trains, make_optimiser
from coemarl.replay import Episodes
from coemarl.utilities import Utility, View

STANDARD_DEVIATION_FLOOR = 1e-5
"""Added to the standard deviation that rewards are divided by."""


class Params(NamedTuple):
    """What is learned."""

    utility: Any
    mixer: Any
    explorer: Any
    """The nets of the explorer's auxiliary loss."""


class LearnerState(NamedTuple):
    """Online nets, target nets, and the optimiser's memory."""

    online: Params
    target: Params
    optimiser: Any
    updates: Int[Array, ""]


class Lesson(NamedTuple):
    """A batch, and what is to be known of it before anything is learned."""

    episodes: Episodes
    rewards: Float[Array, "B T"]
    """Standardised where the options say so; without bonuses."""
    discounts: Float[Array, "B T"]
    """Discount of what follows each step: 0 where nothing does."""
    mask: Float[Array, "B T"]
    """1 at steps that happened."""
    longest: Int[Array, ""]
    """Steps of the longest episode."""

    def mean(self, values: Float[Array, "B T"]) -> Float[Array, ""]:
        """Over the steps that happened."""
        return jnp.sum(values * self.mask) / self.mask.sum()


class Losses(NamedTuple):
    """What one update looked like, for the metric rows."""

    loss: Float[Array, ""]
    """Of the temporal difference, by the last view."""
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
    auxiliary: Float[Array, ""] | None = None
    """What the mixer's constraints and the explorer's own loss add; None where there is neither."""
    conditional_loss: Float[Array, ""] | None = None
    """Of the temporal difference by the first view; None where there is one view only."""


@dataclass(frozen=True)
class Learner:
    """How the nets learn."""

    init: Callable[[PRNGKeyArray], LearnerState]
    """`init(key)`: fresh nets; the targets are copies."""
    lesson: Callable[[Episodes], Lesson]
    """`lesson(batch)`: what the batch says before anything is learned."""
    update: Callable[..., tuple[LearnerState, Losses]]
    """`update(state, explorer_state, lesson, learned=None, later=None)`: one step of the optimiser
    for each view, then one of the targets. `learned` is the bonus of `Explorer.learn`, None if
    there is none; `later` is what the target utility advises, None if it is not known yet."""


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


def over_steps(function: Callable[..., Any], *unbatched: int) -> Callable[..., Any]:
    """A function of one step for all steps (B, T); arguments at the places `unbatched` are the same
    for all."""

    def batched(*arguments: Any) -> Any:
        axes = tuple(None if place in unbatched else 0 for place in range(len(arguments)))
        return jax.vmap(jax.vmap(function, axes), axes)(*arguments)

    return batched


def make_lesson(options: LearnerOptions, batch: Episodes) -> Lesson:
    """What a batch says before anything is learned from it."""
    longest = batch.length.max()
    rewards = standardised(batch.reward, longest) if options.standardise_rewards else batch.reward
    mask = step_mask(batch.length, batch.reward.shape[1])
    return Lesson(batch, rewards, step_discounts(batch, options), mask, longest)


def states_of(batch: Episodes) -> Float[Array, "B T+1 S+Z"]:
    """Global states, each with its episode's latent behind it."""
    B, rows = batch.state.shape[:2]
    latents = jnp.broadcast_to(batch.latent[:, None], (B, rows, batch.latent.shape[1]))
    return jnp.concatenate([batch.state, latents], axis=2)


def values_given(
    view: View, params: Any, advice: Advice, actions: Int[Array, " A"]
) -> Float[Array, "A U"]:
    """Every agent's utilities at one step, given what the agents before it do."""
    if not view.conditional:
        return advice.values
    agents = jnp.arange(actions.shape[0], dtype=jnp.int32)
    return jax.vmap(view.values(params), (None, 0, None))(advice, agents, actions)


def joint_of(
    view: View,
    params: Any,
    advice: Advice,
    actions: Int[Array, " A"],
    avail: Bool[Array, "A U"],
    state: Float[Array, " S"],
) -> Joint:
    """A joint action at one step as the mixer is shown it."""
    values = values_given(view, params, advice, actions)
    best = jnp.where(avail, values, -jnp.inf).max(axis=1)
    best = jnp.where(avail.any(axis=1), best, 0.0)  # after an episode's end nothing is legal
    return Joint(taken(values, actions), best, actions, advice.features, state)


@dataclass(frozen=True)
class Team:
    """What the functions of one learner close over."""

    options: LearnerOptions
    utility: Utility
    mixer: Mixer
    explorer: Explorer
    optimiser: Optimiser

    def unroll(self, params: Any, lesson: Lesson) -> Advice:
        """What the utility advises along every episode, one row more than steps."""
        batch = lesson.episodes
        return self.utility.unroll(params, batch.observation, batch.latent, lesson.longest + 1)

    def mix(self, params: Any, joints: Joint) -> Float[Array, "B T M"]:
        """The mixer's values of every step's joint action."""
        return over_steps(self.mixer.apply, 0)(params, joints)

    def joints(
        self,
        view: View,
        params: Any,
        advice: Advice,
        actions: Int[Array, "B T A"],
        avail: Bool[Array, "B T A U"],
        states: Float[Array, "B T S"],
    ) -> Joint:
        """`joint_of` at every step."""
        step = lambda *step: joint_of(view, params, *step)  # noqa: E731
        return over_steps(step)(advice, actions, avail, states)


def best_next(
    team: Team,
    view: View,
    params: Any,
    explorer_state: ExplorerState,
    state: Float[Array, " S"],
    t: Int[Array, ""],
    judge: Advice,
    avail: Bool[Array, "A U"],
) -> tuple[Int[Array, " A"], Float[Array, " A"]]:
    """The joint action that the target takes at one step, and its bonus for each agent."""
    values = lambda i, actions: view.values(params)(judge, i, actions)  # noqa: E731
    if team.explorer.bootstrap is not None:
        return team.explorer.bootstrap(explorer_state, state, t, values, avail)
    if view.conditional:
        nothing = jnp.float32(0)
        return in_turns(
            avail.shape[0], lambda i, before: (best_legal(values(i, before), avail[i]), nothing)
        )
    return jax.vmap(best_legal)(judge.values, avail), jnp.zeros(avail.shape[0])


def bootstraps(
    team: Team,
    view: View,
    explorer_state: ExplorerState,
    online: Any,
    advice: Advice,
    target: Params,
    later: Advice,
    batch: Episodes,
) -> Float[Array, "B T M"]:
    """mix'(Q'_i(o_t+1, a'_i) + bonus'_i, s_t+1) for each step t; `advice` and `later` are what the
    online and the target utility advise."""
    B, T = batch.reward.shape
    params, judges = (online, advice) if team.options.double_q else (target.utility, later)
    choose = partial(best_next, team, view, params, explorer_state)
    times = jnp.broadcast_to(jnp.arange(1, T + 1, dtype=jnp.int32), (B, T))
    states, avail, judges = following((batch.state, batch.avail, judges))
    actions, bonus = over_steps(choose)(states, times, judges, avail)
    seen = following(states_of(batch))
    joint = team.joints(view, target.utility, following(later), actions, avail, seen)
    return team.mix(target.mixer, joint._replace(taken=joint.taken + bonus))


def following(rows: Any) -> Any:
    """Rows of what each step led to."""
    return jax.tree.map(lambda leaf: leaf[:, 1:], rows)


def preceding(rows: Any) -> Any:
    """Rows of what each step began with."""
    return jax.tree.map(lambda leaf: leaf[:, :-1], rows)


def reward_bonuses(
    explorer: Explorer, explorer_state: ExplorerState, batch: Episodes
) -> Float[Array, "B T A+1"]:
    """What counts add to the rewards: each agent's own bonus, and last the team's."""
    if explorer.reward is None or explorer.stores_bonus:
        return batch.bonus
    bonus = over_steps(explorer.reward, 0)
    return bonus(explorer_state, preceding(batch.state), batch.actions)


def constraints(
    team: Team, view: View, online: Params, advice: Advice, joint: Joint, batch: Episodes
) -> Float[Array, "B T"]:
    """The mixer's loss of each step besides the temporal difference."""
    assert team.mixer.constraint is not None
    avail = preceding(batch.avail)
    greedy = jax.vmap(jax.vmap(jax.vmap(best_legal)))(advice.values, avail)
    best = team.joints(view, online.utility, advice, greedy, avail, joint.state)
    return over_steps(team.mixer.constraint, 0)(online.mixer, joint, best)


def extras(
    team: Team,
    view: View,
    online: Params,
    explorer_state: ExplorerState,
    lesson: Lesson,
    advice: Advice,
    joint: Joint,
    mixed: Float[Array, "B T M"],
) -> tuple[Float[Array, ""] | None, Float[Array, "B T A+1"]]:
    """The loss that mixer and explorer add, None where there is none, and the bonus that comes
    with the explorer's."""
    auxiliary, batch = team.explorer.auxiliary, lesson.episodes
    loss, bonus = None, jnp.zeros(batch.bonus.shape)
    if auxiliary is not None:
        loss, bonus = auxiliary.loss(online.explorer, explorer_state, lesson, advice, mixed)
    if team.mixer.constraint is not None:
        parts = constraints(team, view, online, preceding(advice), joint, batch)
        loss = lesson.mean(parts) if loss is None else loss + lesson.mean(parts)
    return loss, bonus


def loss(
    online: Params,
    team: Team,
    view: View,
    target: Params,
    later: Advice,
    explorer_state: ExplorerState,
    lesson: Lesson,
    bonus: Float[Array, "B T A+1"],
) -> tuple[Float[Array, ""], Losses]:
    """The loss of one view, and what there is to tell of it."""
    batch, advice = lesson.episodes, team.unroll(online.utility, lesson)
    joint = team.joints(
        view,
        online.utility,
        preceding(advice),
        batch.actions,
        preceding(batch.avail),
        preceding(states_of(batch)),
    )
    mixed = team.mix(online.mixer, joint)
    extra, more = extras(team, view, online, explorer_state, lesson, advice, joint, mixed)
    mine = bonus + more
    mine = mine[:, :, :-1] if team.mixer.per_agent else mine[:, :, -1:]
    judge = jax.lax.stop_gradient((online.utility, advice))
    values = bootstraps(team, view, explorer_state, *judge, target, later, batch)
    y = lesson.rewards[:, :, None] + mine + lesson.discounts[:, :, None] * values
    y = jax.lax.stop_gradient(y)
    result = td_loss(mixed - y, lesson.mask)
    mean = lambda x: lesson.mean(x.mean(axis=2))  # noqa: E731
    losses = Losses(
        loss=result,
        gradient_norm=jnp.float32(0),
        td_error=mean(jnp.abs(mixed - y)),
        value=mean(mixed),
        target=mean(y),
        reward_bonus=mean(mine),
        auxiliary=extra,
    )
    return result if extra is None else result + extra, losses


def update(
    team: Team,
    state: LearnerState,
    explorer_state: ExplorerState,
    lesson: Lesson,
    learned: Float[Array, "B T A+1"] | None = None,
    later: Advice | None = None,
) -> tuple[LearnerState, Losses]:
    """`Learner.update`."""
    bonus = reward_bonuses(team.explorer, explorer_state, lesson.episodes)
    bonus = bonus if learned is None else bonus + learned
    if later is None:
        later = team.unroll(state.target.utility, lesson)
    online, memory, seen = state.online, state.optimiser, []
    for number, view in enumerate(team.utility.views):
        gradient, losses = jax.grad(loss, has_aux=True)(
            online, team, view, state.target, later, explorer_state, lesson, bonus
        )
        online, memory, norm = team.optimiser.step(number, gradient, memory, online)
        seen.append(losses._replace(gradient_norm=norm))
    updates = state.updates + 1
    target = follow(team.options, updates, online, state.target)
    losses = seen[-1]
    if len(seen) > 1:
        losses = losses._replace(conditional_loss=seen[0].loss)
    return LearnerState(online, target, memory, updates), losses


def make_learner(
    options: LearnerOptions, utility: Utility, mixer: Mixer, explorer: Explorer
) -> Learner:
    """The learner of an algorithm."""
    optimiser = make_optimiser(options, tuple(map(trained_by, utility.views)))
    team = Team(options, utility, mixer, explorer, optimiser)
    auxiliary = explorer.auxiliary

    def init(key: PRNGKeyArray) -> LearnerState:
        utility_key, mixer_key = jax.random.split(key)
        nets = () if auxiliary is None else auxiliary.init(jax.random.fold_in(key, 2))
        online = Params(utility.init(utility_key), mixer.init(mixer_key), nets)
        target = jax.tree.map(jnp.copy, online)
        return LearnerState(online, target, optimiser.init(online), jnp.int32(0))

    return Learner(init, partial(make_lesson, options), partial(update, team))


def trained_by(view: View) -> Trains | None:
    """Which of all nets the loss of a view trains: the mixer and the explorer's, whatever part of
    the utility."""
    trains = view.trains
    if trains is None:
        return None
    all_of = lambda tree: jax.tree.map(lambda _: True, tree)  # noqa: E731
    return lambda nets: Params(trains(nets.utility), all_of(nets.mixer), all_of(nets.explorer))
