"""Teams that follow a rule, to train frozen opponents against and to measure what they are worth.

Each gives the joint action of the controlled agents in one state, in the original's numbers:
    team(key, state) -> actions
"""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from coemarl.tasks.mpe.world import (
    ACTIONS,
    STEP_SECONDS,
    ParticleState,
    Vector,
    distance,
    minus,
    split,
    total,
)

Team = Callable[[PRNGKeyArray, ParticleState], Int[Array, " A"]]


def towards(way: Vector) -> Int[Array, ""]:
    """The push along the axis on which there is further to go."""
    x, y = way
    along_x, along_y = jnp.where(x > 0, 1, 2), jnp.where(y > 0, 3, 4)
    return jnp.where(jnp.abs(x) > jnp.abs(y), along_x, along_y)


def ahead(place: Vector, velocity: Vector, seconds: float) -> Vector:
    """Where a body will be if its velocity stays."""
    return place[0] + seconds * velocity[0], place[1] + seconds * velocity[1]


def at_random(num: int) -> Team:
    """Each agent pushes anywhere, or not at all, with equal chance."""
    return lambda key, state: jax.random.randint(key, (num,), 0, len(ACTIONS), jnp.int32)


def chase(predators: int, lead: float) -> Team:
    """Tag: every predator pushes to where the first prey will be in `lead` seconds, seen from
    where its own velocity takes it with this step."""

    def team(key: PRNGKeyArray, state: ParticleState) -> Int[Array, " A"]:
        del key
        places, velocities = split(state.position), split(state.velocity)
        aim = ahead(places[predators], velocities[predators], lead)
        own = [ahead(places[i], velocities[i], STEP_SECONDS) for i in range(predators)]
        return jnp.stack([towards(minus(aim, place)) for place in own])

    return team


def share_out(agents: int) -> Team:
    """Adversary: each good agent goes to a landmark of its own, together by the shortest way.

    A landmark is approached so as to stop on it: agents push against the way that their velocity
    will still carry them.
    """

    def team(key: PRNGKeyArray, state: ParticleState) -> Int[Array, " A"]:
        del key
        places, velocities = split(state.position)[1:], split(state.velocity)[1:]
        marks = split(state.landmarks)
        orders = list(itertools.permutations(range(agents)))
        lengths = [
            total([distance(place, marks[k]) for place, k in zip(places, order, strict=True)])
            for order in orders
        ]
        best = jnp.argmin(jnp.stack(lengths))
        chosen = jnp.asarray(orders)[best]
        actions = []
        for i, ((x, y), (vx, vy)) in enumerate(zip(places, velocities, strict=True)):
            mark = state.landmarks[chosen[i]]
            x, y = ahead((x, y), (vx, vy), COAST)
            way = (mark[0] - x, mark[1] - y)
            near = (jnp.abs(way[0]) < REST) & (jnp.abs(way[1]) < REST)
            actions.append(jnp.where(near, 0, towards(way)))
        return jnp.stack(actions)

    return team


COAST = 0.3
"""Seconds for which a velocity carries on: 0.1 (0.75 + 0.75² + ...)."""
REST = 0.05
"""Nearer than this an agent lets go."""
