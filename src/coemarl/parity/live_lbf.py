"""Parity of Level-Based Foraging with the installed `lbforaging`, transition by transition.

The original is made by its constructor with the task's options and acts for whole episodes; each
transition is recorded in the form of `coemarl.parity.lbf` and replayed from its own state.
lbforaging 2 draws foods by rules v3; transitions are the same by both rules, and the law of resets
is none of a transition's: tasks of rules v2 and v3 can both be compared.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from coemarl.parity import absent, lbf
from coemarl.parity.report import ParityRow
from coemarl.tasks.lbf import LOAD, Options

Policy = Callable[[Any, np.random.Generator], list[int]]
"""The joint action in the original's present state."""


def live(options: Options, episodes: int, seed: int) -> list[ParityRow]:
    """So many episodes of the original under each way of acting, compared: a row for each."""
    env = original(options)
    rows = []
    for name, policy in POLICIES.items():
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        arrays = record(env, policy, episodes, rng)
        rows.append(lbf.compare(name, arrays, options))
    return rows


def original(options: Options) -> Any:
    """lbforaging's own environment with these options; ValueError if it is not installed."""
    try:
        from lbforaging.foraging.environment import ForagingEnv
    except ImportError:
        raise absent("lbforaging", "2.0.0") from None
    if options.rows != options.cols and not options.grid:
        raise ValueError(
            f"a field of {options.rows}x{options.cols}: the original observes lists only on square "
            "fields (it takes rows for columns in its bounds)"
        )
    whole = max(options.rows, options.cols)
    with warnings.catch_warnings():  # of the precision of a space's bounds
        warnings.simplefilter("ignore")
        return ForagingEnv(
            players=options.players,
            min_player_level=1,
            max_player_level=options.max_player_level,
            min_food_level=1,
            max_food_level=options.max_food_level,
            field_size=(options.rows, options.cols),
            max_num_food=options.foods,
            sight=whole if options.sight is None else options.sight,
            max_episode_steps=options.episode_limit,
            force_coop=options.force_coop,
            grid_observation=options.grid,
            penalty=options.penalty,
        )


# Ways of acting


def _any_action(env: Any, rng: np.random.Generator) -> list[int]:
    return list(map(int, rng.integers(0, 6, len(env.players))))


def _legal_action(env: Any, rng: np.random.Generator) -> list[int]:
    legal = _legal(env)
    return [int(rng.choice(np.flatnonzero(row))) for row in legal]


def _gathering(env: Any, rng: np.random.Generator) -> list[int]:
    """Towards the first food and load, so that foods are taken and players clash; 20% at random."""
    rows, cols = np.nonzero(env.field)
    legal = _legal(env)
    actions = []
    for i, player in enumerate(env.players):
        down, right = rows[0] - player.position[0], cols[0] - player.position[1]
        vertical = (1 if down < 0 else 2) if down else 0
        action = vertical or (3 if right < 0 else 4)
        if legal[i, LOAD] and abs(down) + abs(right) == 1:
            action = LOAD
        at_random = rng.random() < 0.2 or not legal[i, action]
        actions.append(int(rng.integers(0, 6)) if at_random else action)
    return actions


POLICIES: dict[str, Policy] = {
    "random actions": _any_action,
    "random legal actions": _legal_action,
    "gathering, 20% random": _gathering,
}


# Recording


def _legal(env: Any) -> np.ndarray:
    """Which actions the original holds legal: bool (n, 6)."""
    legal = np.zeros((len(env.players), 6), bool)
    for i, player in enumerate(env.players):
        legal[i, [action.value for action in env._valid_actions[player]]] = True
    return legal


def _seen(env: Any, observations: Any) -> dict[str, np.ndarray]:
    """What a transition changes, copied."""
    return {
        "pos": np.array([player.position for player in env.players]),
        "field": env.field.copy(),
        "valid": _legal(env),
        "obs": np.stack(observations),
    }


def record(
    env: Any, policy: Policy, episodes: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The transitions of so many episodes, as arrays of a recording."""
    rows: list[dict[str, Any]] = []
    for _ in range(episodes):
        observations, _ = env.reset()
        done = False
        while not done:
            row: dict[str, Any] = dict(_seen(env, observations))
            row["t"] = env.current_step
            row["level"] = [player.level for player in env.players]
            row["food_spawned"] = env._food_spawned
            row["actions"] = policy(env, rng)
            observations, row["rewards"], done, _, _ = env.step(row["actions"])
            row |= {f"next_{name}": array for name, array in _seen(env, observations).items()}
            row["done"] = done
            rows.append(row)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
