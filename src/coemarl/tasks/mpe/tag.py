"""Tag: predators hunt a faster prey among obstacles.

`mpe:tag` has three predators, the team, and one prey. Predators have size 0.075, push with 3 and
reach a speed of 1; prey has size 0.05, pushes with 4 and reaches 1.3. All collide, also with the
two obstacles of size 0.2. Agents start uniformly on [-1, 1]², obstacles on [-0.9, 0.9]². There are
no walls, but prey pays for leaving the field, see below.

Observation of an agent, in the world's order (predators, then prey): own velocity, own position,
each obstacle's position relative to its own, the other agents' relative positions, and the
velocities of the other agents that are prey. A predator sees 16 numbers, the prey 14.

Reward. A predator and a prey touch when they are nearer than the sum of their sizes. Each predator
earns 10 for every touching pair, its own or not, so the team's sum is 30 a pair. A prey earns -10
for each predator that touches it, minus bound(|x|) + bound(|y|) of its position, with
    bound(u) = 0 below 0.9;  10 (u - 0.9) below 1;  min(exp(2u - 2), 10) beyond.

Prey is not of the team. It acts by a frozen net on its own observation (`frozen.py`), or stays
still, or pushes at random. The net knows three predators, one prey and two obstacles; other numbers
need another prey, or a file of a net that fits (`weights`).

`mpe:sparse-tag` pays only a catch made together. A predator is at a prey when they are nearer than
`contact_scale` times the sum of their sizes (0.225; forces keep the true sizes). A prey with at
least `min_predators` predators at it is caught, and each of those earns `catch_reward`
(`pay="contacting"`), or each predator of the team does (`pay="all"`). Nothing else is paid. The
episode goes on after a catch unless `terminate`.

The original of sparse tag is unpublished; this is the rule of `sparse_predator_prey` in the
package that its name points to, whose random play pays what the paper's weakest method earned.
That it pays in every step, without an end, follows from the published returns. Whether it paid
those in contact or all cannot be known. Results compare in their order, not in absolute numbers.
"""

import functools
from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool

from coemarl.tasks.mpe import frozen
from coemarl.tasks.mpe.world import (
    Body,
    Opponent,
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
    total,
)

PREDATOR = Body(0.075, acceleration=3.0, top_speed=1.0)
PREY = Body(0.05, acceleration=4.0, top_speed=1.3)
OBSTACLE_SIZE = 0.2
TOUCH = PREDATOR.size + PREY.size


@dataclass(frozen=True)
class TagOptions(WorldOptions):
    """Tag with its dense reward."""

    predators: int = 3
    """Predators; all of them are the team's."""
    prey: int = 1
    """Prey; none of it is the team's."""
    obstacles: int = 2
    """Obstacles."""
    opponent: Literal["net", "still", "random"] = "net"
    """How the prey acts: by a frozen net, not at all, or at random."""
    weights: str | None = None
    """A file of the prey's net, in place of the one that is shipped."""


@dataclass(frozen=True)
class SparseTagOptions(TagOptions):
    """Tag that pays only a catch by several predators."""

    contact_scale: float = 1.8
    """A predator is at a prey within this many times the sum of their sizes."""
    min_predators: int = 2
    """Predators that must be at a prey at once to catch it."""
    pay: Literal["contacting", "all"] = "contacting"
    """Whom a catch pays: the predators at the prey, or all."""
    catch_reward: float = 1.0
    """What each of them earns in a step that ends with a prey caught."""
    terminate: bool = False
    """Whether an episode ends with the first catch."""


def name_of(options: TagOptions) -> str:
    """The name; numbers of agents are options that it cannot say."""
    return "mpe:sparse-tag" if isinstance(options, SparseTagOptions) else "mpe:tag"


def _check(options: TagOptions) -> None:
    check(options)
    for name, least, most in (("predators", 1, 20), ("prey", 1, 20), ("obstacles", 0, 20)):
        if not least <= getattr(options, name) <= most:
            raise ValueError(f"{name} is {getattr(options, name)}: tag takes {least} to {most}")
    frozen.check(options.opponent, options.weights)
    if not isinstance(options, SparseTagOptions):
        return
    if not options.contact_scale > 0:
        raise ValueError(f"contact_scale is {options.contact_scale}: it is above 0")
    if not 1 <= options.min_predators <= options.predators:
        raise ValueError(
            f"min_predators is {options.min_predators}: there are 1 to {options.predators}"
        )
    if options.pay not in ("contacting", "all"):
        raise ValueError(f"pay is '{options.pay}': it is contacting or all")


def _observe(predators: int, state: ParticleState, i: int) -> list[Scalar]:
    places, velocities = split(state.position), split(state.velocity)
    others = [j for j in range(len(places)) if j != i]
    seen = [minus(point, places[i]) for point in split(state.landmarks)]
    seen += [minus(places[j], places[i]) for j in others]
    seen += [velocities[j] for j in others if j >= predators]
    return flat([velocities[i], places[i], *seen])


def _contacts(predators: int, state: ParticleState, reach: float) -> list[list[Scalar]]:
    """For each prey, 1 for each predator nearer than `reach`, else 0."""
    places = split(state.position)
    return [
        [(distance(hunter, prey) < reach).astype(jnp.float32) for hunter in places[:predators]]
        for prey in places[predators:]
    ]


def bound(u: Scalar) -> Scalar:
    """What a prey pays for a coordinate of absolute value u."""
    beyond = jnp.minimum(jnp.exp(2.0 * u - 2.0), 10.0)
    return jnp.where(u < 0.9, 0.0, jnp.where(u < 1.0, 10.0 * (u - 0.9), beyond))


def _prey_rewards(
    predators: int, state: ParticleState, contacts: list[list[Scalar]]
) -> list[Scalar]:
    return [
        -10.0 * total(row) - bound(jnp.abs(x)) - bound(jnp.abs(y))
        for row, (x, y) in zip(contacts, split(state.position)[predators:], strict=True)
    ]


def _sparse_rewards(
    options: SparseTagOptions, contacts: list[list[Scalar]]
) -> tuple[list[Scalar], Bool[Array, ""]]:
    """Each predator's reward, and whether any prey is caught."""
    caught = [(total(row) >= options.min_predators).astype(jnp.float32) for row in contacts]
    paid = [
        [catch * (at if options.pay == "contacting" else 1.0) for at in row]
        for catch, row in zip(caught, contacts, strict=True)
    ]
    each = [total([row[i] for row in paid]) for i in range(options.predators)]
    return [options.catch_reward * share for share in each], total(caught) > 0


def _outcome(options: TagOptions, state: ParticleState) -> Outcome:
    sparse = isinstance(options, SparseTagOptions)
    num = options.predators
    contacts = _contacts(num, state, TOUCH * (options.contact_scale if sparse else 1.0))
    count = total([total(row) for row in contacts])
    if sparse:
        rewards, success = _sparse_rewards(options, contacts)
    else:
        rewards, success = [10.0 * count] * num, count > 0
    rewards = rewards + _prey_rewards(num, state, contacts)
    return Outcome(rewards, success, {"contacts": count})


def scenario(options: TagOptions) -> Scenario:
    """The game with these options; ValueError if they make none."""
    _check(options)
    if isinstance(options, SparseTagOptions):
        who = "predators at the prey" if options.pay == "contacting" else "predators"
        reward = f"a fixed amount to all {who} while {options.min_predators} of them are at it"
        success = "a prey caught by enough predators"
    else:
        reward = "10 for each pair of a predator and a prey that touch"
        success = "a predator touching a prey"
    return Scenario(
        world=World(
            agents=(PREDATOR,) * options.predators + (PREY,) * options.prey,
            landmarks=options.obstacles,
            landmark_size=OBSTACLE_SIZE,
            agents_collide=True,
            landmarks_collide=True,
            landmark_reach=0.9,
            conventions=options.conventions,
        ),
        controlled=tuple(range(options.predators)),
        observe=functools.partial(_observe, options.predators),
        outcome=functools.partial(_outcome, options),
        infos=(("contacts", "pairs of a predator and a prey in contact now"),),
        success=success,
        reward=reward,
        terminate=isinstance(options, SparseTagOptions) and options.terminate,
    )


def prey_observation_size(options: TagOptions) -> int:
    """How many numbers a prey observes."""
    others = options.predators + options.prey - 1
    return 4 + 2 * (options.obstacles + others + options.prey - 1)


def opponent(options: TagOptions) -> Opponent:
    """The prey; ValueError if its net does not fit the game."""
    inputs = prey_observation_size(options)
    return frozen.opponent(options.opponent, "prey", options.weights, inputs)
