"""Training as one pure function: an algorithm's parts put together, and compiled.

The run is its `TrainState`. An iteration updates the nets, then plays one rollout and stores it; a
chunk of iterations is one compiled loop that takes its argument's memory over, so that replay and
counts are changed in place. The host (`coemarl.runs.loop`) calls chunks, and between them
evaluates, writes and saves.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl import config as configuration
from coemarl.config import RunConfig
from coemarl.explorers.explorer import Explorer, ExplorerState
from coemarl.learner import Learner, LearnerState, Losses, make_learner
from coemarl.mixers import Mixer
from coemarl.replay import Episodes, Replay, ReplayState, make_replay
from coemarl.rollout import Played, Policy, exploring, greedy, make_rollout
from coemarl.tasks import Task, TaskSpec, family_of
from coemarl.utilities import Utility

LATENT_STREAM = 2**31 - 1
"""The latent of an episode to look at."""
FINISH_STREAM = 2
"""What an explorer draws when episodes are over, apart from what was drawn in them."""
EVALUATION_STREAM = 1
"""Evaluations draw from a stream of their own, keyed by the steps done: a run's training does not
depend on how often it was evaluated."""


class Sums(NamedTuple):
    """Sums since they were last read."""

    episodes: Float[Array, ""]
    returns: Float[Array, ""]
    lengths: Float[Array, ""]
    info: dict[str, Float[Array, ""]]
    updates: Float[Array, ""]
    losses: Losses


class TrainState(NamedTuple):
    """Everything that a run is."""

    learner: LearnerState
    replay: ReplayState
    explorer: ExplorerState
    steps: Int[Array, ""]
    """Environment steps of training."""
    episodes: Int[Array, ""]
    key: PRNGKeyArray
    sums: Sums

    @property
    def updates(self) -> Int[Array, ""]:
        return self.learner.updates


@dataclass(frozen=True)
class Parts:
    """What an algorithm on a task is made of."""

    task: Task
    utility: Utility
    mixer: Mixer
    explorer: Explorer
    replay: Replay
    learner: Learner


@dataclass(frozen=True)
class Plan:
    """Memory that a run will take, known before any is taken."""

    rows: tuple[tuple[str, int, str], ...]
    """(what, bytes, remark)."""

    @property
    def total_bytes(self) -> int:
        return sum(size for _, size, _ in self.rows)

    def lines(self) -> list[str]:
        """One line for each part."""
        return [
            f"{what:<10} {size / 2**20:8.1f} MB  {remark}".rstrip()
            for what, size, remark in self.rows
        ]


class Watched(NamedTuple):
    """One episode of T steps to look at."""

    states: list[Any]
    """T + 1 environment states."""
    actions: list[Int[Array, " A"]]
    rewards: list[float]


@dataclass(frozen=True)
class Trainer:
    """One run, ready to go. Functions that take a state are pure but for `advance`, which takes
    its argument's memory over: use only what it returns."""

    config: RunConfig
    spec: TaskSpec
    plan: Plan
    parts: Parts
    init: Callable[[], TrainState]
    """The state at step 0."""
    advance: Callable[[TrainState, int], TrainState]
    """`advance(state, n)`: n iterations, each one rollout and its updates."""
    evaluate: Callable[[TrainState], dict[str, float]]
    """Greedy episodes, each agent alone: the `eval/` metrics. The same state gives the same."""
    read_metrics: Callable[[TrainState], tuple[dict[str, float], TrainState]]
    """The `train/` metrics since they were last read, and the state with the sums at zero."""
    episode: Callable[[TrainState, int], Watched]
    """`episode(state, seed)`: one greedy episode to look at."""

    def iterations_within(self, state: TrainState, limit: int) -> int:
        """How many iterations surely start before `limit` steps are done; at least 1."""
        longest = self.config.environments * self.spec.episode_limit
        return max(1, (limit - int(state.steps)) // longest)


def make_parts(config: RunConfig) -> Parts:
    """The parts that a configuration names; ValueError in one sentence where one cannot be."""
    configuration.check(config)
    module, _ = family_of(config.task)
    task = module.make(config.env)
    row = configuration.algorithm(config.algo)
    explorer = configuration.part("explorer", row.explorer)[1](
        config.explorer, task.spec, config.learner
    )
    utility = configuration.part("utility", row.utility)[1](
        config.utility, task.spec, config.learner.products, explorer.latents
    )
    if utility.views[0].conditional and not explorer.fixed_order:
        raise ValueError(
            f"utility {row.utility} knows the actions of agents of lower index: take explorer.order"
            " fixed"
        )
    if explorer.latents and not utility.latents:
        raise ValueError(
            f"explorer {row.explorer} draws latents, which utility {row.utility} cannot hear:"
            " take utility latent"
        )
    seen = replace(task.spec, state_size=task.spec.state_size + utility.latents)
    mixer = configuration.part("mixer", row.mixer)[1](config.mixer, seen, utility.features)
    keeps_bonus: Any = "nothing"
    if explorer.stores_bonus:
        keeps_bonus = "agents" if mixer.per_agent else "team"
    replay = make_replay(
        config.replay, task.spec, config.learner.batch_size, keeps_bonus, utility.latents
    )
    learner = make_learner(config.learner, utility, mixer, explorer)
    return Parts(task, utility, mixer, explorer, replay, learner)


def make_iteration(parts: Parts, config: RunConfig) -> Callable[[TrainState], TrainState]:
    """One iteration: updates as soon as a batch is there, then a rollout, then its storage.

    Updates come first because a replay that is read before it is written is changed in place; the
    sequence of updates and rollouts is the same as with updates last.
    """
    policy = exploring(parts.explorer, parts.utility)
    rollout = make_rollout(parts.task, parts.utility, policy, config.environments)

    def updated(state: TrainState, key: PRNGKeyArray) -> tuple[TrainState, None]:
        batch = parts.replay.sample(state.replay, key)
        ready = parts.replay.ready(state.replay)
        learner, explorer, losses = learn(parts, state.learner, state.explorer, batch, ready)
        sums = state.sums._replace(
            updates=state.sums.updates + ready.astype(jnp.float32),
            losses=jax.tree.map(jnp.add, state.sums.losses, losses),
        )
        return state._replace(learner=learner, explorer=explorer, sums=sums), None

    def iteration(state: TrainState) -> TrainState:
        key, update_key, rollout_key = jax.random.split(state.key, 3)
        state = state._replace(key=key)
        if config.updates_per_rollout == 1:
            state, _ = updated(state, update_key)
        else:
            keys = jax.random.split(update_key, config.updates_per_rollout)
            state, _ = lax.scan(updated, state, keys)
        explorer, played = rollout(
            state.learner.online.utility, state.explorer, rollout_key, state.steps
        )
        if parts.explorer.finish is not None:
            finish_key = jax.random.fold_in(rollout_key, FINISH_STREAM)
            explorer = parts.explorer.finish(explorer, finish_key, played.episodes)
        return state._replace(
            explorer=explorer,
            replay=parts.replay.add(state.replay, played.episodes),
            steps=state.steps + played.episodes.length.sum(),
            episodes=state.episodes + config.environments,
            sums=with_played(state.sums, played),
        )

    return iteration


def learn(
    parts: Parts,
    learner: LearnerState,
    explorer: ExplorerState,
    batch: Episodes,
    ready: Bool[Array, ""],
) -> tuple[LearnerState, ExplorerState, Losses]:
    """One update from a batch; nothing, and losses of 0, if not `ready`: then the batch has no
    meaning."""
    lesson, learned = parts.learner.lesson(batch), None
    if parts.explorer.learn is not None:
        explorer, learned = parts.explorer.learn(explorer, lesson, ready)
    step = lambda learner: parts.learner.update(learner, explorer, lesson, learned)  # noqa: E731
    losses = jax.eval_shape(step, learner)[1]
    wait = lambda learner: (learner, zeros_of(losses))  # noqa: E731
    learner, losses = lax.cond(ready, step, wait, learner)
    return learner, explorer, losses


def zeros_of(shapes: Any) -> Any:
    """Arrays of zeros of the given shapes, each of its own."""
    return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)


def zero_sums(parts: Parts) -> Sums:
    """Nothing summed yet. Every entry is an array of its own, for a buffer cannot be handed over
    twice."""
    return Sums(
        episodes=jnp.zeros(()),
        returns=jnp.zeros(()),
        lengths=jnp.zeros(()),
        info={name: jnp.zeros(()) for name, _ in parts.task.spec.infos},
        updates=jnp.zeros(()),
        losses=zeros_of(loss_shapes(parts)),
    )


@functools.lru_cache(maxsize=8)
def loss_shapes(parts: Parts) -> Losses:
    """Which losses an update of these parts tells of, as shapes."""

    def update(key: PRNGKeyArray) -> Losses:
        batch = parts.replay.sample(parts.replay.init(), key)
        learner, explorer = parts.learner.init(key), parts.explorer.init(key)
        return learn(parts, learner, explorer, batch, jnp.bool_(True))[2]

    return jax.eval_shape(update, jax.random.key(0))


def with_played(sums: Sums, played: Played) -> Sums:
    """The sums with E episodes more."""
    return sums._replace(
        episodes=sums.episodes + played.returns.shape[0],
        returns=sums.returns + played.returns.sum(),
        lengths=sums.lengths + played.episodes.length.sum().astype(jnp.float32),
        info={name: sums.info[name] + played.info[name].sum() for name in sums.info},
    )


def make_init(parts: Parts) -> Callable[[int], TrainState]:
    """`init(seed)`: the state at step 0, the explorer calibrated where it wants to be."""

    def init(key: PRNGKeyArray) -> TrainState:
        learner_key, explorer_key, play_key, key = jax.random.split(key, 4)
        explorer = parts.explorer.init(explorer_key)
        if parts.explorer.calibrate is not None and parts.explorer.calibration_states > 0:
            states = random_states(parts.task, play_key, parts.explorer.calibration_states)
            explorer = parts.explorer.calibrate(explorer, states)
        return TrainState(
            learner=parts.learner.init(learner_key),
            replay=parts.replay.init(),
            explorer=explorer,
            steps=jnp.zeros((), jnp.int32),
            episodes=jnp.zeros((), jnp.int32),
            key=key,
            sums=zero_sums(parts),
        )

    compiled = jax.jit(init)
    return lambda seed: compiled(jax.random.key(seed))


def random_states(task: Task, key: PRNGKeyArray, wanted: int) -> Float[Array, "N S"]:
    """States of random legal play from many starts: `wanted` of them, from episodes of random
    length, so that all times of an episode are seen."""
    from coemarl.explorers.epsilon import random_legal

    spec = task.spec

    def one(key: PRNGKeyArray) -> Float[Array, " S"]:
        reset_key, time_key, play_key = jax.random.split(key, 3)
        moments = jax.random.randint(time_key, (), 0, spec.episode_limit)

        def step(t: Array, carry: tuple) -> tuple:
            env, seen = carry
            draw_key, step_key = jax.random.split(jax.random.fold_in(play_key, t))
            draws = jax.random.uniform(draw_key, (spec.num_agents,))
            actions = jax.vmap(random_legal)(draws, seen.avail)
            new = task.step(step_key, env, actions)
            over = seen.terminated | seen.truncated
            return jax.tree.map(lambda new, old: jnp.where(over, old, new), new, (env, seen))

        _, seen = lax.fori_loop(0, moments, step, task.reset(reset_key))
        return seen.state

    return jax.vmap(one)(jax.random.split(key, wanted))


def make_evaluation(
    parts: Parts, config: RunConfig
) -> Callable[[TrainState, int], dict[str, float]]:
    """`evaluation(state, seed)`: `Trainer.evaluate` of the run with that seed."""
    rollout = make_rollout(
        parts.task, parts.utility, greedy(parts.utility), config.evaluation.episodes
    )

    @jax.jit
    def play(utility: Any, key: PRNGKeyArray, steps: Int[Array, ""]) -> dict[str, Array]:
        stream = jax.random.fold_in(key, EVALUATION_STREAM)
        _, played = rollout(utility, (), jax.random.fold_in(stream, steps), steps)
        lengths = played.episodes.length.astype(jnp.float32)
        return {
            "eval/return": played.returns.mean(),
            "eval/return_std": played.returns.std(),
            "eval/length": lengths.mean(),
            **{f"eval/{name}": values.mean() for name, values in played.info.items()},
        }

    def evaluation(state: TrainState, seed: int) -> dict[str, float]:
        # The key is an argument: runs that differ in their seed alone share their programs.
        values = play(state.learner.online.utility, jax.random.key(seed), state.steps)
        return {name: float(value) for name, value in values.items()}

    return evaluation


def make_read_metrics(
    parts: Parts,
) -> Callable[[TrainState], tuple[dict[str, float], TrainState]]:
    """`Trainer.read_metrics`."""

    @jax.jit
    def means(sums: Sums, explorer: ExplorerState) -> dict[str, Array]:
        over_episodes = {"return": sums.returns, "length": sums.lengths, **sums.info}
        over_updates = {n: v for n, v in sums.losses._asdict().items() if v is not None}
        return {
            **{f"train/{name}": value / sums.episodes for name, value in over_episodes.items()},
            **{f"train/{name}": value / sums.updates for name, value in over_updates.items()},
            **{f"explorer/{name}": v for name, v in parts.explorer.metrics(explorer).items()},
        }

    def read(state: TrainState) -> tuple[dict[str, float], TrainState]:
        values = {name: float(value) for name, value in means(state.sums, state.explorer).items()}
        return values, state._replace(sums=zero_sums(parts))

    return read


def make_episode(parts: Parts) -> Callable[[TrainState, int], Watched]:
    """`Trainer.episode`."""
    policy: Policy = greedy(parts.utility)
    reset, step = jax.jit(parts.task.reset), jax.jit(parts.task.step)

    @jax.jit
    def act(utility: Any, hidden: Any, seen: Any, latent: Array) -> tuple[Any, Array]:
        hidden, advice = parts.utility.advise(utility, hidden, seen.observation[None], latent[None])
        first = jax.tree.map(lambda leaf: leaf[0], advice)
        return hidden, policy.choose(utility, (), (), None, seen, first).actions  # type: ignore[arg-type]

    def episode(state: TrainState, seed: int) -> Watched:
        key = jax.random.key(seed)
        env, seen = reset(jax.random.fold_in(key, 0))
        hidden = parts.utility.start(1)
        latent = policy.begin((), jax.random.fold_in(key, LATENT_STREAM), seen.state, jnp.int32(0))
        envs, joint_actions, rewards = [env], [], []
        while not (bool(seen.terminated) or bool(seen.truncated)):
            hidden, actions = act(state.learner.online.utility, hidden, seen, latent)
            env, seen = step(jax.random.fold_in(key, len(envs)), env, actions)
            envs.append(env)
            joint_actions.append(actions)
            rewards.append(float(seen.reward))
        return Watched(envs, joint_actions, rewards)

    return episode


def make_plan(parts: Parts, config: RunConfig) -> Plan:
    """What `init` will allocate, by part."""
    shapes = jax.eval_shape(lambda: make_init(parts)(config.seed))
    size = lambda tree: sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))  # noqa: E731
    learner = size(shapes.learner)
    weights = sum(leaf.size for leaf in jax.tree.leaves(shapes.learner.online))
    return Plan(
        (
            ("replay", parts.replay.bytes, f"{config.replay.capacity} episodes"),
            ("learner", learner, f"{weights:,} weights, their targets and Adam's memory"),
            ("explorer", size(shapes.explorer), parts.explorer.summary),
        )
    )


def make_trainer(config: RunConfig) -> Trainer:
    """The run of a configuration, nothing allocated yet; ValueError in one sentence if it cannot
    be."""
    parts = make_parts(config)
    iteration = make_iteration(parts, config)
    init, evaluation = make_init(parts), make_evaluation(parts, config)

    @functools.partial(jax.jit, donate_argnums=0)
    def loop(state: TrainState, iterations: Int[Array, ""]) -> TrainState:
        return lax.fori_loop(0, iterations, lambda _, state: iteration(state), state)

    return Trainer(
        config=config,
        spec=parts.task.spec,
        plan=make_plan(parts, config),
        parts=parts,
        init=lambda: init(config.seed),
        advance=lambda state, n: loop(state, jnp.int32(n)),
        evaluate=lambda state: evaluation(state, config.seed),
        read_metrics=make_read_metrics(parts),
        episode=make_episode(parts),
    )
