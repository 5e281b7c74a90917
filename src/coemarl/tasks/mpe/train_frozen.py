"""Train the frozen opponents that the package ships: `python -m coemarl.tasks.mpe.train_frozen`.

Each opponent learns alone, by double Q-learning on its own reward, against teams that follow rules
(`scripted.py`): in every episode a team drawn from the game's list, whose members also push at
random with a chance drawn for that episode. The net is the one of `frozen.py`; its normalisation is
the mean and variance of what the opponent observes under random play.

    python -m coemarl.tasks.mpe.train_frozen prey --out prey.npz
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.networks import linear_init
from coemarl.tasks.mpe import adversary, frozen, scripted, tag, world
from coemarl.tasks.mpe.frozen import FrozenNet
from coemarl.tasks.mpe.world import ACTIONS, ParticleState, Scalar, Scenario, total


@dataclass(frozen=True)
class Lesson:
    """What an opponent learns from."""

    scenario: Scenario
    learner: int
    """The world agent that learns."""
    reward: Callable[[ParticleState], Scalar]
    """What it is taught to want: the reward of a step that leads to this state."""
    teams: tuple[scripted.Team, ...]
    """Whom it meets, each as often."""
    iterations: int
    discount: float
    width: int = 64
    """Units of a hidden layer."""
    environments: int = 256
    episode_limit: int = 25
    updates: int = 40
    """Gradient steps of an iteration, which plays one episode in each environment."""
    batch: int = 1024
    kept: int = 48
    """Iterations whose transitions are remembered."""
    learning_rate: float = 1e-3
    target_tau: float = 0.01
    explore: float = 0.1
    """The learner's share of random actions, after it has come down from 1."""
    explore_until: float = 0.2
    """The share of the iterations over which it comes down."""
    reward_scale: float = 0.1
    most_noise: float = 0.5
    """A team's share of random actions is uniform from 0 to this in each episode."""


class Transition(NamedTuple):
    """One step of the learner."""

    before: Float[Array, " D"]
    action: Int[Array, ""]
    reward: Float[Array, ""]
    after: Float[Array, " D"]


class Student(NamedTuple):
    """All that changes in training."""

    net: FrozenNet
    target: FrozenNet
    optimiser: Any
    memory: Transition
    iterations: Int[Array, ""]


FEAR = 5.0
"""What prey is taught to lose for each predator that catches it together with another."""


def prey_reward(state: ParticleState) -> Scalar:
    """Dense tag's own reward, less what sparse tag pays the team, times `FEAR`.

    By the first alone prey learns to slip past single predators by a hair and is often within
    reach of two; the published prey keeps clear of pairs.
    """
    dense, sparse = tag.scenario(tag.TagOptions()), tag.scenario(tag.SparseTagOptions())
    return dense.outcome(state).rewards[3] - FEAR * total(sparse.outcome(state).rewards[:3])


def adversary_reward(state: ParticleState) -> Scalar:
    """Its own, as the original pays it."""
    return adversary.scenario(adversary.AdversaryOptions()).outcome(state).rewards[0]


def lessons() -> dict[str, Lesson]:
    """What the shipped opponents learned from."""
    chases = tuple(scripted.chase(3, lead) for lead in scripted.LEADS)
    return {
        "prey": Lesson(
            scenario=tag.scenario(tag.TagOptions()),
            learner=3,
            reward=prey_reward,
            teams=(*chases, scripted.at_random(3)),
            iterations=200,
            discount=0.95,
        ),
        "adversary": Lesson(
            scenario=adversary.scenario(adversary.AdversaryOptions()),
            learner=0,
            reward=adversary_reward,
            teams=(scripted.share_out(2, before=1), scripted.rush(2), scripted.rush(2)),
            iterations=120,
            discount=0.95,
        ),
    }


# Playing


class Norm(NamedTuple):
    """Statistics by which observations are normalised."""

    mean: Float[Array, " D"]
    variance: Float[Array, " D"]


def _observe(lesson: Lesson, norm: Norm, state: ParticleState) -> Float[Array, " D"]:
    seen = jnp.stack(lesson.scenario.observe(state, lesson.learner))
    return (seen - norm.mean) / jnp.sqrt(norm.variance + frozen.EPSILON)


def _joint(
    lesson: Lesson, key: PRNGKeyArray, which: Any, noise: Any, state: ParticleState, own: Any
) -> list[Int[Array, ""]]:
    """The actions of all world agents in order: the team's, with noise, and the learner's own."""
    act, where, anywhere = jax.random.split(key, 3)
    meant = lax.switch(which, lesson.teams, act, state)
    random = jax.random.randint(anywhere, meant.shape, 0, len(ACTIONS), jnp.int32)
    actions = jnp.where(jax.random.uniform(where, meant.shape) < noise, random, meant)
    joint = {i: actions[k] for k, i in enumerate(lesson.scenario.controlled)}
    joint[lesson.learner] = own
    return [joint[i] for i in range(len(joint))]


def play(
    lesson: Lesson, norm: Norm, key: PRNGKeyArray, net: FrozenNet, explore: Float[Array, ""]
) -> Transition:
    """One episode: the learner's steps, stacked in time."""
    start_key, team_key, noise_key, steps_key = jax.random.split(key, 4)
    which = jax.random.randint(team_key, (), 0, len(lesson.teams))
    noise = lesson.most_noise * jax.random.uniform(noise_key)

    def step(state: ParticleState, key: PRNGKeyArray) -> tuple[ParticleState, Transition]:
        explore_key, any_key, joint_key = jax.random.split(key, 3)
        before = _observe(lesson, norm, state)
        action = jnp.where(
            jax.random.uniform(explore_key) < explore,
            jax.random.randint(any_key, (), 0, len(ACTIONS), jnp.int32),
            frozen.best(frozen.logits(net, before)),
        )
        joint = _joint(lesson, joint_key, which, noise, state, action)
        position, velocity = world.advance(lesson.scenario.world, state, joint)
        state = state._replace(position=position, velocity=velocity)
        reward = lesson.reward(state)
        return state, Transition(before, action, reward, _observe(lesson, norm, state))

    state = world.start(lesson.scenario.world, start_key)
    return lax.scan(step, state, jax.random.split(steps_key, lesson.episode_limit))[1]


# Learning


def _loss(lesson: Lesson, net: FrozenNet, target: FrozenNet, batch: Transition) -> Float[Array, ""]:
    """Huber's loss of the double Q-learning error; episodes have no end, only a cut."""

    def error(step: Transition) -> Float[Array, ""]:
        best = frozen.best(frozen.logits(net, step.after))
        value = frozen.logits(target, step.after)[best]
        wanted = lesson.reward_scale * step.reward + lesson.discount * value
        return frozen.logits(net, step.before)[step.action] - lax.stop_gradient(wanted)

    return jnp.mean(optax.huber_loss(jax.vmap(error)(batch)))


def blank_student(lesson: Lesson, key: PRNGKeyArray) -> Student:
    """Random layers and an empty memory."""
    scenario = lesson.scenario
    size = len(scenario.observe(world.start(scenario.world, key), lesson.learner))
    sizes = (size, lesson.width, lesson.width, len(ACTIONS))
    keys = jax.random.split(key, 3)
    net = FrozenNet(*(linear_init(keys[k], sizes[k], sizes[k + 1]) for k in range(3)))
    rows = lesson.kept * lesson.environments * lesson.episode_limit
    sight = jnp.zeros((rows, size))
    return Student(
        net=net,
        target=jax.tree.map(jnp.copy, net),
        optimiser=optax.adam(lesson.learning_rate).init(net),
        memory=Transition(sight, jnp.zeros(rows, jnp.int32), jnp.zeros(rows), sight + 0),
        iterations=jnp.int32(0),
    )


def _remembered(lesson: Lesson, student: Student, steps: Transition) -> Student:
    """With an iteration's steps in place of the oldest."""
    new = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), steps)
    at = student.iterations % lesson.kept * new.reward.shape[0]
    memory = jax.tree.map(
        lambda old, part: lax.dynamic_update_slice_in_dim(old, part, at, 0), student.memory, new
    )
    return student._replace(memory=memory, iterations=student.iterations + 1)


def _updated(lesson: Lesson, student: Student, key: PRNGKeyArray) -> tuple[Student, None]:
    """After one gradient step."""
    filled = jnp.minimum(student.iterations, lesson.kept)
    filled = filled * lesson.environments * lesson.episode_limit
    rows = jax.random.randint(key, (lesson.batch,), 0, filled)
    batch = jax.tree.map(lambda x: x[rows], student.memory)
    gradient = jax.grad(lambda net: _loss(lesson, net, student.target, batch))(student.net)
    change, state = optax.adam(lesson.learning_rate).update(gradient, student.optimiser)
    net = optax.apply_updates(student.net, change)
    target = optax.incremental_update(net, student.target, lesson.target_tau)
    return student._replace(net=net, target=target, optimiser=state), None


def statistics(lesson: Lesson, key: PRNGKeyArray) -> Norm:
    """Mean and variance of what the learner observes while it acts at random."""
    blank = blank_student(lesson, key)
    inputs = blank.memory.before.shape[1]
    plain = Norm(jnp.zeros(inputs), jnp.ones(inputs) - frozen.EPSILON)
    keys = jax.random.split(key, 2048)
    run = jax.jit(jax.vmap(lambda key: play(lesson, plain, key, blank.net, jnp.float32(1))))
    seen = run(keys).before.reshape(-1, inputs)
    return Norm(seen.mean(0), seen.var(0))


def train(lesson: Lesson, seed: int, report: Callable[[int, float], None]) -> dict[str, np.ndarray]:
    """The arrays of a trained net, as a file of frozen nets holds them.

    `report(iteration, reward)` hears what the learner earned in an episode.
    """
    norm_key, student_key, key = jax.random.split(jax.random.key(seed), 3)
    norm = statistics(lesson, norm_key)

    def iteration(student: Student, key: PRNGKeyArray, explore: Any) -> tuple[Student, Array]:
        play_key, update_key = jax.random.split(key)
        keys = jax.random.split(play_key, lesson.environments)
        steps = jax.vmap(lambda key: play(lesson, norm, key, student.net, explore))(keys)
        student = _remembered(lesson, student, steps)
        update_keys = jax.random.split(update_key, lesson.updates)
        student, _ = lax.scan(lambda s, k: _updated(lesson, s, k), student, update_keys)
        return student, steps.reward.sum() / lesson.environments

    run = jax.jit(iteration, donate_argnums=0)
    student = blank_student(lesson, student_key)
    for i, step_key in enumerate(jax.random.split(key, lesson.iterations)):
        done = i / (lesson.explore_until * lesson.iterations)
        student, reward = run(student, step_key, max(lesson.explore, 1 - done))
        report(i, float(reward))
    return arrays_of(student.net, norm)


def arrays_of(net: FrozenNet, norm: Norm) -> dict[str, np.ndarray]:
    """A net on normalised observations, as a file of frozen nets holds it."""
    inputs = norm.mean.size
    arrays = {
        "bn_weight": np.ones(inputs, np.float32),
        "bn_bias": np.zeros(inputs, np.float32),
        "bn_running_mean": np.asarray(norm.mean),
        "bn_running_var": np.asarray(norm.variance),
    }
    for k, layer in enumerate(net, start=1):
        arrays |= {f"fc{k}_weight": np.asarray(layer.weight), f"fc{k}_bias": np.asarray(layer.bias)}
    return arrays


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a frozen opponent of the particle games.")
    parser.add_argument("opponent", choices=sorted(lessons()))
    parser.add_argument("--out", type=Path, help="the file to write (default: OPPONENT.npz)")
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    lesson, begun = lessons()[words.opponent], time.time()

    def report(iteration: int, reward: float) -> None:
        if (iteration + 1) % 20 == 0:
            seconds = time.time() - begun
            print(f"{iteration + 1}/{lesson.iterations}  reward {reward:.2f}  {seconds:.0f} s")

    arrays: dict[str, Any] = train(lesson, words.seed, report)
    out = words.out or Path(f"{words.opponent}.npz")
    np.savez_compressed(out, **arrays)
    print(out)


if __name__ == "__main__":
    main()
