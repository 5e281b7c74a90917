"""The world of the multi-agent particle environments: round bodies on a plane, pushed and pushing.

Agents move, landmarks do not. A step of 0.1 seconds, in order.
1. Each agent pushes itself along an axis: actions 0 none, 1 right (+x), 2 left (-x), 3 up (+y),
   4 down (-y), with a force of its acceleration (all masses are 1).
2. Every pair of bodies that collide pushes itself apart, at positions before the step. With
   delta = p_a - p_b, d = |delta| and the summed sizes r, body a gets the force
       100 * delta / d * k log(1 + exp((r - d) / k)),   k = 0.001
   and body b its opposite. Two bodies at the very same place exert no force here; the original
   divides by zero.
3. v <- 0.75 v + 0.1 force; an agent with a top speed is slowed down to it; p <- p + 0.1 v with
   the NEW velocity. There are no walls.

Those are the original's conventions. With conventions "mpe2" (the package mpe2, PettingZoo's MPE
and JaxMARL) actions 1 and 2, 3 and 4 change places, and the position moves first, with the OLD
velocity.

At the start all velocities are 0, agents are uniform on [-1, 1]² and landmarks uniform on
[-reach, reach]²; bodies may overlap.

Inside a step a vector is a pair of scalars, so that a batch of environments computes on whole
vectors of x and of y: five times as fast on a CPU as on arrays that end in two.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.tasks.task import Task, TaskSpec, TimeStep

ACTIONS = ("none", "right", "left", "up", "down")
Conventions = Literal["original", "mpe2"]
Scalar = Float[Array, ""]
Vector = tuple[Scalar, Scalar]

STEP_SECONDS = 0.1
DAMPING = 0.25
CONTACT_FORCE = 100.0
CONTACT_MARGIN = 1e-3


@dataclass(frozen=True)
class WorldOptions:
    """What all tasks of the particle world let the user choose."""

    conventions: Conventions = "original"
    """Signs of actions, order of integration and rewards: of the original, or of mpe2."""
    episode_limit: int = 25
    """Steps after which an episode is cut."""
    reward: Literal["sum", "mean"] = "sum"
    """How the team's reward is made of the controlled agents' rewards."""


@dataclass(frozen=True)
class Body:
    """What is fixed about an agent."""

    size: float
    """Its radius."""
    acceleration: float = 5.0
    top_speed: float | None = None


@dataclass(frozen=True)
class World:
    """What is fixed about a world. Agents come first in the order of bodies, then landmarks."""

    agents: tuple[Body, ...]
    landmarks: int
    landmark_size: float
    agents_collide: bool
    landmarks_collide: bool = False
    landmark_reach: float = 1.0
    """Landmarks start in the square of plus and minus this."""
    conventions: Conventions = "original"


class ParticleState(NamedTuple):
    """Everything that the next step depends on; N agents and L landmarks in world order."""

    position: Float[Array, "N 2"]
    velocity: Float[Array, "N 2"]
    landmarks: Float[Array, "L 2"]
    goal: Int[Array, ""]
    """The landmark that matters, where one does."""
    successes: Int[Array, ""]
    """Steps so far in which the team did what the task is about."""
    steps: Int[Array, ""]


class Outcome(NamedTuple):
    """What the state that a step leads to is worth."""

    rewards: list[Scalar]
    """Each world agent's own reward."""
    success: Bool[Array, ""]
    """Whether the team does in this state what the task is about."""
    infos: dict[str, Scalar]


@dataclass(frozen=True)
class Scenario:
    """A game in a world: what its agents see and earn. Functions are of one state."""

    world: World
    controlled: tuple[int, ...]
    """World agents that the team consists of; all others are opponents."""
    observe: Callable[[ParticleState, int], list[Scalar]]
    """`observe(state, i)`: what world agent i sees."""
    outcome: Callable[[ParticleState], Outcome]
    infos: tuple[tuple[str, str], ...]
    """(name, meaning) of the outcome's infos; the count of successes is added to them."""
    success: str
    """What a success is, in words."""
    reward: str
    """A controlled agent's reward in words."""
    terminate: bool = False
    """Whether the game is over with the first success."""


Opponent = Callable[[PRNGKeyArray, Float[Array, " D"]], Int[Array, ""]]
"""`opponent(key, observation)`: the action of a frozen agent, in the original's numbers."""


# Vectors


def split(points: Float[Array, "N 2"]) -> list[Vector]:
    """The rows as pairs of scalars."""
    return [(points[i, 0], points[i, 1]) for i in range(points.shape[0])]


def join(points: Sequence[Vector]) -> Float[Array, "N 2"]:
    """The inverse of `split`."""
    return jnp.stack([jnp.stack(point) for point in points])


def minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1]


def length(a: Vector) -> Scalar:
    return jnp.sqrt(a[0] * a[0] + a[1] * a[1])


def distance(a: Vector, b: Vector) -> Scalar:
    return length(minus(a, b))


def flat(vectors: Sequence[Vector]) -> list[Scalar]:
    """All components, vector after vector."""
    return [component for vector in vectors for component in vector]


def total(values: Sequence[Scalar]) -> Scalar:
    """Their sum, term by term: what `jnp.sum` of a stack costs far more for in a batch."""
    return functools.reduce(operator.add, values)


def least(values: Sequence[Scalar]) -> Scalar:
    """The smallest of them."""
    return functools.reduce(jnp.minimum, values)


# The step


def push(
    action: Int[Array, ""], acceleration: float, conventions: Conventions = "original"
) -> Vector:
    """The force with which an agent pushes itself."""
    sign = acceleration if conventions == "original" else -acceleration

    def along(forth: int, back: int) -> Scalar:
        return jnp.where(action == forth, sign, jnp.where(action == back, -sign, 0.0))

    return along(1, 2), along(3, 4)


def contact_force(a: Vector, b: Vector, reach: float) -> Vector:
    """The force on body a from body b, whose sizes sum to `reach`."""
    delta = minus(a, b)
    apart = length(delta)
    depth = CONTACT_MARGIN * jnp.logaddexp(0.0, (reach - apart) / CONTACT_MARGIN)
    strength = CONTACT_FORCE * depth / jnp.where(apart > 0, apart, 1.0)
    return strength * delta[0], strength * delta[1]


def _forces(
    world: World, places: list[Vector], landmarks: list[Vector], actions: Sequence[Int[Array, ""]]
) -> list[Vector]:
    """The force on each agent."""
    forces = [
        push(action, body.acceleration, world.conventions)
        for body, action in zip(world.agents, actions, strict=True)
    ]

    def add(i: int, force: Vector, sign: float) -> None:
        forces[i] = (forces[i][0] + sign * force[0], forces[i][1] + sign * force[1])

    if not world.agents_collide:
        return forces
    for i, body in enumerate(world.agents):
        for j in range(i + 1, len(world.agents)):
            force = contact_force(places[i], places[j], body.size + world.agents[j].size)
            add(i, force, 1.0)
            add(j, force, -1.0)
        if world.landmarks_collide:
            for landmark in landmarks:
                reach = body.size + world.landmark_size
                add(i, contact_force(places[i], landmark, reach), 1.0)
    return forces


def _accelerated(velocity: Vector, force: Vector, top_speed: float | None) -> Vector:
    """The velocity after a step under this force."""
    kept = 1.0 - DAMPING
    x = kept * velocity[0] + STEP_SECONDS * force[0]
    y = kept * velocity[1] + STEP_SECONDS * force[1]
    if top_speed is None:
        return x, y
    speed = length((x, y))
    scale = jnp.where(speed > top_speed, top_speed / jnp.where(speed > 0, speed, 1.0), 1.0)
    return x * scale, y * scale


def advance(
    world: World, state: ParticleState, actions: Sequence[Int[Array, ""]]
) -> tuple[Float[Array, "N 2"], Float[Array, "N 2"]]:
    """Positions and velocities after a step in which world agent i does actions[i]."""
    places, velocities = split(state.position), split(state.velocity)
    forces = _forces(world, places, split(state.landmarks), actions)
    faster = [
        _accelerated(velocity, force, body.top_speed)
        for velocity, force, body in zip(velocities, forces, world.agents, strict=True)
    ]
    carrying = faster if world.conventions == "original" else velocities
    moved = [
        (place[0] + STEP_SECONDS * velocity[0], place[1] + STEP_SECONDS * velocity[1])
        for place, velocity in zip(places, carrying, strict=True)
    ]
    return join(moved), join(faster)


def start(world: World, key: PRNGKeyArray) -> ParticleState:
    """A fresh state."""
    num, landmarks = len(world.agents), world.landmarks
    goal_key, key = jax.random.split(key)
    points = jax.random.uniform(key, (num + landmarks, 2), jnp.float32, -1.0, 1.0)
    return ParticleState(
        position=points[:num],
        velocity=jnp.zeros((num, 2), jnp.float32),
        landmarks=points[num:] * world.landmark_reach,
        goal=jax.random.randint(goal_key, (), 0, max(landmarks, 1), jnp.int32),
        successes=jnp.int32(0),
        steps=jnp.int32(0),
    )


# The task


def reversed_action(action: Int[Array, ""]) -> Int[Array, ""]:
    """The action whose push is opposite: what an original action is called in mpe2."""
    return jnp.where(action == 0, 0, jnp.where(action % 2 == 1, action + 1, action - 1))


def check(options: WorldOptions) -> None:
    """Refuse what no task of the world can have, in one sentence each."""
    if options.conventions not in ("original", "mpe2"):
        raise ValueError(f"conventions are '{options.conventions}': they are original or mpe2")
    if options.reward not in ("sum", "mean"):
        raise ValueError(f"reward is '{options.reward}': it is sum or mean")
    if options.episode_limit < 1:
        raise ValueError(f"episode_limit is {options.episode_limit}: it is at least 1 step")


def settle(
    scenario: Scenario, state: ParticleState, actions: Sequence[Int[Array, ""]]
) -> tuple[ParticleState, Outcome]:
    """What follows when world agent i does actions[i], and what it is worth."""
    position, velocity = advance(scenario.world, state, actions)
    state = state._replace(position=position, velocity=velocity, steps=state.steps + 1)
    outcome = scenario.outcome(state)
    return state._replace(successes=state.successes + outcome.success.astype(jnp.int32)), outcome


def shown(
    scenario: Scenario,
    options: WorldOptions,
    state: ParticleState,
    outcome: Outcome,
    reward: Scalar,
) -> TimeStep:
    """What the team is shown in a state, after the step that earned this reward."""
    team = scenario.controlled
    observation = jnp.stack([jnp.stack(scenario.observe(state, i)) for i in team])
    over = (state.successes > 0) & scenario.terminate
    return TimeStep(
        observation=observation,
        state=observation.reshape(-1),
        avail=jnp.ones((len(team), len(ACTIONS)), bool),
        reward=reward,
        terminated=over,
        truncated=~over & (state.steps >= options.episode_limit),
        info=outcome.infos | {"successes": state.successes.astype(jnp.float32)},
    )


def team_reward(scenario: Scenario, options: WorldOptions, outcome: Outcome) -> Scalar:
    """The controlled agents' rewards as one."""
    summed = total([outcome.rewards[i] for i in scenario.controlled])
    return summed if options.reward == "sum" else summed / len(scenario.controlled)


def make_task(
    name: str, scenario: Scenario, options: WorldOptions, opponent: Opponent | None = None
) -> Task:
    """The scenario as a task: the team acts, and an opponent acts for each agent not of it."""
    team, num = scenario.controlled, len(scenario.world.agents)
    others = [i for i in range(num) if i not in team]

    def reset(key: PRNGKeyArray) -> tuple[ParticleState, TimeStep]:
        state = start(scenario.world, key)
        return state, shown(scenario, options, state, scenario.outcome(state), jnp.float32(0.0))

    def joint(key: PRNGKeyArray, state: ParticleState, actions: Int[Array, " A"]) -> list:
        everyone = {i: actions[place] for place, i in enumerate(team)}
        for i in others:
            assert opponent is not None
            action = opponent(jax.random.fold_in(key, i), jnp.stack(scenario.observe(state, i)))
            mpe2 = scenario.world.conventions == "mpe2"
            everyone[i] = reversed_action(action) if mpe2 else action
        return [everyone[i] for i in range(num)]

    def step(
        key: PRNGKeyArray, state: ParticleState, actions: Int[Array, " A"]
    ) -> tuple[ParticleState, TimeStep]:
        state, outcome = settle(scenario, state, joint(key, state, actions))
        reward = team_reward(scenario, options, outcome)
        return state, shown(scenario, options, state, outcome, reward)

    example = jax.eval_shape(reset, jax.random.key(0))[1]
    spec = TaskSpec(
        name=name,
        num_agents=len(team),
        num_actions=len(ACTIONS),
        observation_size=example.observation.shape[1],
        state_size=example.state.size,
        episode_limit=options.episode_limit,
        reward=f"{options.reward} over agents: {scenario.reward}",
        state_is_observations=True,
        always_available=True,
        actions=ACTIONS,
        infos=(*scenario.infos, ("successes", f"steps so far that ended with {scenario.success}")),
    )
    return Task(spec, reset, step)
