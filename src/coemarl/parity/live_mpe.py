"""Parity of the particle games with the installed `mpe2`, transition by transition.

The original is made with the task's numbers of agents and acts for whole episodes, its own team and
the others alike; each transition is recorded in the form of `coemarl.parity.mpe` and replayed from
its own state, by mpe2's conventions. The sparse games are not in mpe2.
"""

import dataclasses
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from coemarl.parity import absent, mpe
from coemarl.parity.report import ParityRow
from coemarl.tasks.mpe import Options, adversary, spread, tag

Policy = Callable[[Any, np.random.Generator], list[int]]
"""The joint action in the original world's present state, in mpe2's numbers."""

NOTE = "by mpe2's conventions"


def live(options: Options, episodes: int, seed: int) -> list[ParityRow]:
    """So many episodes of the original under each way of acting, compared: a row for each."""
    options = dataclasses.replace(options, conventions="mpe2", reward="sum")
    env = original(options)
    rows = []
    for name, policy in POLICIES.items():
        env.reset(seed=seed)
        arrays = record(env, policy, episodes, np.random.default_rng(seed))
        rows.append(mpe.compare(name, arrays, options, NOTE))
    env.close()
    return rows


def original(options: Options) -> Any:
    """mpe2's own environment with these options; ValueError if it has none or is absent."""
    if isinstance(options, tag.SparseTagOptions | spread.SparseSpreadOptions):
        raise ValueError("mpe2 has no sparse games: mpe:tag and mpe:spread share their worlds")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():  # of packages that mpe2 imports
            warnings.simplefilter("ignore")
            from mpe2 import simple_adversary_v3, simple_spread_v3, simple_tag_v3
    except ImportError:
        raise absent("mpe2", "1.1.1") from None
    limit: Any = {"max_cycles": options.episode_limit}
    if isinstance(options, tag.TagOptions):
        return simple_tag_v3.parallel_env(
            num_good=options.prey,
            num_adversaries=options.predators,
            num_obstacles=options.obstacles,
            **limit,
        )
    module = simple_adversary_v3
    if not isinstance(options, adversary.AdversaryOptions):
        module = simple_spread_v3
    return module.parallel_env(N=options.agents, **limit)


# Ways of acting


def _any_action(world: Any, rng: np.random.Generator) -> list[int]:
    return list(map(int, rng.integers(0, 5, len(world.agents))))


def _crowding(world: Any, rng: np.random.Generator) -> list[int]:
    """Everybody to the middle of all agents, so that they touch; 20% at random."""
    middle = np.mean([agent.state.p_pos for agent in world.agents], axis=0)
    actions = []
    for agent in world.agents:
        x, y = middle - agent.state.p_pos
        action = (2 if x > 0 else 1) if abs(x) > abs(y) else (4 if y > 0 else 3)
        actions.append(int(rng.integers(0, 5)) if rng.random() < 0.2 else action)
    return actions


POLICIES: dict[str, Policy] = {
    "random actions": _any_action,
    "crowding, 20% random": _crowding,
}


# Recording


def _seen(env: Any, observations: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a transition changes, copied."""
    agents = env.unwrapped.world.agents
    sights = {f"obs_{i}": observations[agent.name] for i, agent in enumerate(agents)}
    return sights | {
        "pos": np.array([agent.state.p_pos for agent in agents]),
        "vel": np.array([agent.state.p_vel for agent in agents]),
    }


def _fixed(world: Any) -> dict[str, np.ndarray]:
    """What an episode leaves as it is."""
    marks = [mark.state.p_pos for mark in world.landmarks]
    fixed = {"landmarks": np.array(marks).reshape(-1, 2)}
    goal = getattr(world.agents[0], "_goal_a", None)
    return fixed if goal is None else fixed | {"goal": np.array(world.landmarks.index(goal))}


def record(
    env: Any, policy: Policy, episodes: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The transitions of so many episodes, as arrays of a recording."""
    rows: list[dict[str, Any]] = []
    for _ in range(episodes):
        observations, _ = env.reset()
        world, done, t = env.unwrapped.world, False, 0
        names = [agent.name for agent in world.agents]
        while not done:
            row: dict[str, Any] = _seen(env, observations) | _fixed(world) | {"t": t}
            row["actions"] = policy(world, rng)
            moves = dict(zip(names, row["actions"], strict=True))
            observations, rewards, ends, cuts, _ = env.step(moves)
            row["rewards"] = [rewards[name] for name in names]
            row |= {f"next_{name}": array for name, array in _seen(env, observations).items()}
            done = any(ends.values()) or any(cuts.values())
            row["done"] = done
            rows.append(row)
            t += 1
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
