"""Spread: agents share landmarks out among themselves, without a word, and without collisions.

`mpe:spread` has three agents and three landmarks, `mpe:spread-5` five of each. Agents have size
0.15, push with 5, have no top speed and collide; landmarks have size 0.05 and do not. All start
uniformly on [-1, 1]².

Observation of an agent: own velocity, own position, each landmark's position relative to its own,
the other agents' relative positions in index order, and two zeros for each other agent (the
original's silent messages).

Reward of an agent, with d(l) the distance from landmark l to the agent nearest to it:
    -sum over landmarks of d(l) - (number of agents within 0.3 of it)
The agent counts as within 0.3 of itself: a quirk of the original, kept. Then every agent is paid
the sum of all agents' rewards, so the team's sum is N times it. With conventions "mpe2" each agent
is paid half of -sum of d(l), and half of minus the OTHER agents within 0.3 of it, nothing shared.

`mpe:sparse-spread` pays only a task done together: each agent gets `cover_reward` in every step
after which at least `min_landmarks` landmarks (all of them unless said otherwise) are covered. A
landmark is covered if an agent is nearer to it than `cover_radius`. Nothing is shaped, collisions
cost nothing by default (they still push), and an episode goes on after a success.

The original of sparse spread is unpublished. What is certain is that the paper pays positive
rewards only when agents complete the task jointly. That it pays per step, without an end, follows
from the published returns (some seed's mean is above what one success could pay); the radius 0.2,
an agent's size plus a landmark's, is where learning from random play is possible at all and yet as
slow as reported; the scale is a guess by analogy with sparse tag. Results compare in their order,
not in absolute numbers.
"""

import itertools
from dataclasses import dataclass

import jax.numpy as jnp

from coemarl.tasks.mpe.world import (
    Body,
    Outcome,
    ParticleState,
    Scalar,
    Scenario,
    World,
    WorldOptions,
    check,
    distance,
    flat,
    minus,
    split,
)

AGENT_SIZE, LANDMARK_SIZE = 0.15, 0.05
OCCUPIED = 0.1
"""The dense task counts a landmark as covered within this distance."""


@dataclass(frozen=True)
class SpreadOptions(WorldOptions):
    """Spread with its dense reward."""

    agents: int = 3
    """Agents, and as many landmarks."""


@dataclass(frozen=True)
class SparseSpreadOptions(SpreadOptions):
    """Spread that pays only when landmarks are covered together."""

    cover_radius: float = 0.2
    """A landmark is covered if an agent is nearer than this."""
    min_landmarks: int | None = None
    """Landmarks that must be covered at once. None: all."""
    distinct_agents: bool = False
    """Whether an agent can cover only one landmark at a time."""
    cover_reward: float = 1.0
    """What each agent earns in a step that ends with enough landmarks covered."""
    collision_penalty: float = 0.0
    """What an agent loses per step for each other agent that it overlaps."""
    terminate: bool = False
    """Whether an episode ends with the first success."""


def name_of(options: SpreadOptions) -> str:
    """The name that says as much of the options as a name can."""
    sparse = "sparse-" if isinstance(options, SparseSpreadOptions) else ""
    return f"mpe:{sparse}spread{'' if options.agents == 3 else f'-{options.agents}'}"


def _check(options: SpreadOptions) -> None:
    check(options)
    if not 2 <= options.agents <= 20:
        raise ValueError(f"spread with {options.agents} agents: it takes 2 to 20")
    if not isinstance(options, SparseSpreadOptions):
        return
    if not options.cover_radius > 0:
        raise ValueError(f"cover_radius is {options.cover_radius}: it is above 0")
    if options.min_landmarks is not None and not 1 <= options.min_landmarks <= options.agents:
        raise ValueError(
            f"min_landmarks is {options.min_landmarks}: there are 1 to {options.agents}"
        )
    if options.distinct_agents and options.agents > 6:
        raise ValueError(f"distinct_agents with {options.agents} agents: it takes at most 6")
    if not options.collision_penalty >= 0:
        raise ValueError(f"collision_penalty is {options.collision_penalty}: it is at least 0")


def _observe(state: ParticleState, i: int) -> list[Scalar]:
    places = split(state.position)
    others = [place for j, place in enumerate(places) if j != i]
    seen = [minus(point, places[i]) for point in split(state.landmarks) + others]
    zero = jnp.zeros((), state.position.dtype)
    return flat([split(state.velocity)[i], places[i], *seen]) + [zero] * (2 * len(others))


def _collisions(state: ParticleState) -> list[Scalar]:
    """How many OTHER agents each agent overlaps."""
    places = split(state.position)
    counts = [jnp.float32(0.0)] * len(places)
    for i, j in itertools.combinations(range(len(places)), 2):
        touch = (distance(places[i], places[j]) < 2 * AGENT_SIZE).astype(jnp.float32)
        counts[i], counts[j] = counts[i] + touch, counts[j] + touch
    return counts


def _distances(state: ParticleState) -> list[list[Scalar]]:
    """Distance from each landmark to each agent."""
    places = split(state.position)
    return [[distance(place, mark) for place in places] for mark in split(state.landmarks)]


def _least(values: list[Scalar]) -> Scalar:
    return jnp.min(jnp.stack(values))


def _covered(distances: list[list[Scalar]], radius: float, distinct: bool) -> Scalar:
    """How many landmarks are covered; if distinct, at most one by each agent."""
    if not distinct:
        return jnp.sum(jnp.stack([_least(row) < radius for row in distances]), dtype=jnp.float32)
    near = [[(d < radius).astype(jnp.float32) for d in row] for row in distances]
    return jnp.max(
        jnp.stack(
            [
                jnp.sum(jnp.stack([row[i] for row, i in zip(near, agents, strict=True)]))
                for agents in itertools.permutations(range(len(near)))
            ]
        )
    )


def _dense_rewards(options: SpreadOptions, state: ParticleState, far: Scalar) -> list[Scalar]:
    """Each agent's reward, `far` being the sum of d(l)."""
    collisions = _collisions(state)
    if options.conventions == "mpe2":
        return [-0.5 * far - 0.5 * count for count in collisions]
    own = [-far - (count + 1.0) for count in collisions]
    return [jnp.sum(jnp.stack(own))] * options.agents


def _outcome(options: SpreadOptions, state: ParticleState) -> Outcome:
    distances = _distances(state)
    if isinstance(options, SparseSpreadOptions):
        covered = _covered(distances, options.cover_radius, options.distinct_agents)
        success = covered >= (options.min_landmarks or options.agents)
        paid = options.cover_reward * success.astype(jnp.float32)
        rewards = [paid - options.collision_penalty * count for count in _collisions(state)]
    else:
        covered = _covered(distances, OCCUPIED, False)
        success = covered >= options.agents
        far = jnp.sum(jnp.stack([_least(row) for row in distances]))
        rewards = _dense_rewards(options, state, far)
    return Outcome(rewards, success, {"covered": covered})


def scenario(options: SpreadOptions) -> Scenario:
    """The game with these options; ValueError if they make none."""
    _check(options)
    sparse = isinstance(options, SparseSpreadOptions)
    return Scenario(
        world=World(
            agents=(Body(AGENT_SIZE),) * options.agents,
            landmarks=options.agents,
            landmark_size=LANDMARK_SIZE,
            agents_collide=True,
            conventions=options.conventions,
        ),
        controlled=tuple(range(options.agents)),
        observe=_observe,
        outcome=lambda state: _outcome(options, state),
        infos=(("covered", "landmarks covered now"),),
        success="enough landmarks covered",
        reward="a fixed amount while enough landmarks are covered"
        if sparse
        else "minus distances of landmarks to their nearest agents, minus collisions",
        terminate=isinstance(options, SparseSpreadOptions) and options.terminate,
    )
