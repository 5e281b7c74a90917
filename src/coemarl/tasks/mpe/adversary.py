"""Adversary: a team knows which landmark is the goal and must not show it to an adversary.

`mpe:adversary` has an adversary, two good agents (the team) and two landmarks, one of which is the
goal; with `agents=4` there are four good agents and four landmarks. Agents have size 0.15, push
with 5, have no top speed and collide with nothing; landmarks have size 0.08. All start uniformly on
[-1, 1]², and the goal is any landmark with equal chance.

Observation. The adversary, agent 0 in the world's order, sees each landmark's position and then
each good agent's, relative to its own: it does not know the goal. A good agent sees the goal's
position, each landmark's, the adversary's and the other good agents', in this order, relative to
its own. Nobody sees velocities or where it is itself.

Reward. With d the distance to the goal, each good agent earns
    d(adversary) - min over good agents of d,
so the team's sum is N times it. The adversary, not of the team, earns -d(adversary)², and with
conventions "mpe2" -d(adversary). It acts by a frozen net (`frozen.py`), or stays still, or pushes
at random. The net knows two good agents and two landmarks.
"""

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp

from coemarl.tasks.mpe import frozen
from coemarl.tasks.mpe.world import (
    Body,
    Opponent,
    Outcome,
    ParticleState,
    Scalar,
    Scenario,
    Vector,
    World,
    WorldOptions,
    check,
    distance,
    flat,
    least,
    minus,
    split,
)

AGENT_SIZE, LANDMARK_SIZE = 0.15, 0.08


@dataclass(frozen=True)
class AdversaryOptions(WorldOptions):
    """Adversary."""

    agents: int = 2
    """Good agents, and as many landmarks; all of them are the team's."""
    opponent: Literal["net", "still", "random"] = "net"
    """How the adversary acts: by a frozen net, not at all, or at random."""
    weights: str | None = None
    """A file of the adversary's net, in place of the one that is shipped."""


def name_of(options: AdversaryOptions) -> str:
    """The name; the number of agents is an option that it cannot say."""
    return "mpe:adversary"


def _check(options: AdversaryOptions) -> None:
    check(options)
    if not 1 <= options.agents <= 20:
        raise ValueError(f"adversary with {options.agents} good agents: it takes 1 to 20")
    frozen.check(options.opponent, options.weights)


def goal_of(state: ParticleState) -> Vector:
    """Where the goal is."""
    marks = split(state.landmarks)
    x, y = marks[0]
    for i, mark in enumerate(marks[1:], start=1):
        x, y = (jnp.where(state.goal == i, new, old) for new, old in zip(mark, (x, y), strict=True))
    return x, y


def _observe(state: ParticleState, i: int) -> list[Scalar]:
    places = split(state.position)
    seen = split(state.landmarks) + [place for j, place in enumerate(places) if j != i]
    if i > 0:
        seen = [goal_of(state), *seen]
    return flat([minus(point, places[i]) for point in seen])


def _outcome(options: AdversaryOptions, state: ParticleState) -> Outcome:
    goal, (adversary, *good) = goal_of(state), split(state.position)
    far = distance(adversary, goal)
    near = least([distance(place, goal) for place in good])
    own = -far if options.conventions == "mpe2" else -far * far
    rewards = [own] + [far - near] * options.agents
    return Outcome(rewards, near < far, {"adversary_distance": far, "team_distance": near})


def scenario(options: AdversaryOptions) -> Scenario:
    """The game with these options; ValueError if they make none."""
    _check(options)
    return Scenario(
        world=World(
            agents=(Body(AGENT_SIZE),) * (1 + options.agents),
            landmarks=options.agents,
            landmark_size=LANDMARK_SIZE,
            agents_collide=False,
            conventions=options.conventions,
        ),
        controlled=tuple(range(1, 1 + options.agents)),
        observe=_observe,
        outcome=lambda state: _outcome(options, state),
        infos=(
            ("adversary_distance", "the adversary's distance to the goal now"),
            ("team_distance", "the distance of the good agent nearest to the goal now"),
        ),
        success="a good agent nearer to the goal than the adversary",
        reward="the adversary's distance to the goal minus that of the nearest good agent",
    )


def opponent(options: AdversaryOptions) -> Opponent:
    """The adversary; ValueError if its net does not fit the game."""
    inputs = 4 * options.agents
    return frozen.opponent(options.opponent, "adversary", options.weights, inputs)
