"""Teams that follow a rule, to train frozen opponents against and to measure what they are worth.

Each gives the joint action of the controlled agents in one state, in the original's numbers:
    team(key, state) -> actions
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

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
    reversed_action,
    split,
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


def share_out(agents: int, before: int = 0) -> Team:
    """Spread, adversary: agents share out the landmarks so that the longest way is the shortest.

    The team's members are the world agents `before` and on. A landmark is approached so as to stop
    on it: agents aim from where their velocity would carry them.
    """
    if agents > 6:
        raise ValueError(f"sharing out {agents} landmarks tries all orders: at most 6")
    orders = list(itertools.permutations(range(agents)))

    def team(key: PRNGKeyArray, state: ParticleState) -> Int[Array, " A"]:
        del key
        places, velocities = split(state.position)[before:], split(state.velocity)[before:]
        marks = split(state.landmarks)
        ways = [[distance(place, mark) for mark in marks] for place in places]
        longest = [
            functools.reduce(jnp.maximum, [ways[i][k] for i, k in enumerate(order)])
            for order in orders
        ]
        chosen = jnp.asarray(orders)[jnp.argmin(jnp.stack(longest))]
        actions = []
        for i in range(agents):
            mark = state.landmarks[chosen[i]]
            x, y = minus((mark[0], mark[1]), ahead(places[i], velocities[i], COAST))
            near = (jnp.abs(x) < REST) & (jnp.abs(y) < REST)
            actions.append(jnp.where(near, 0, towards((x, y))))
        return jnp.stack(actions)

    return team


def rush(agents: int) -> Team:
    """Adversary: every good agent goes straight to the goal, and so gives it away."""

    def team(key: PRNGKeyArray, state: ParticleState) -> Int[Array, " A"]:
        del key
        goal = state.landmarks[state.goal]
        places, velocities = split(state.position)[1:], split(state.velocity)[1:]
        own = [ahead(places[i], velocities[i], COAST) for i in range(agents)]
        return jnp.stack([towards(minus((goal[0], goal[1]), place)) for place in own])

    return team


COAST = 0.3
"""Seconds for which a velocity carries on: 0.1 (0.75 + 0.75² + ...)."""
REST = 0.05
"""Nearer than this an agent lets go."""

LEADS = (0.0, 0.2, 0.5, 0.8)
"""Seconds by which chases aim ahead."""


# For `coe eval TASK --policy NAME`


def _policy(options: Any, team: Team) -> Any:
    """A team as a policy, in the numbers of the options' conventions."""

    def act(key: PRNGKeyArray, state: ParticleState, seen: Any) -> Int[Array, " A"]:
        del seen
        actions = team(key, state)
        return reversed_action(actions) if options.conventions == "mpe2" else actions

    return act


def _chasing(lead: float) -> Callable[[Any], Any]:
    def made(options: Any) -> Any:
        if not hasattr(options, "predators"):
            raise ValueError("chases are for mpe:tag and mpe:sparse-tag")
        return _policy(options, chase(options.predators, lead))

    return made


def _sharing(options: Any) -> Any:
    if not hasattr(options, "agents"):
        raise ValueError("share-out is for mpe:spread, mpe:sparse-spread and mpe:adversary")
    return _policy(options, share_out(options.agents, before=int(hasattr(options, "opponent"))))


POLICIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "share-out": ("spread, adversary: an agent to each landmark", _sharing),
    **{
        f"chase-{lead:g}": (f"tag: all push to where the prey is in {lead:g} s", _chasing(lead))
        for lead in LEADS
    },
}
