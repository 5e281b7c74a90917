"""Parity of Level-Based Foraging: recorded transitions replayed from their injected states.

A recording holds, for T transitions of n players on a field of R × C cells: `pos` (T, n, 2),
`level` (T, n), `field` (T, R, C) of food levels, `food_spawned`, `t` (steps before this one),
`valid` (T, n, 6), `actions` (T, n), `obs` (T, n, ...), then `next_pos`, `next_field`, `next_valid`,
`next_obs`, `rewards` (T, n) and `done` (T,).

What the arrays leave open is found so.
* Lists or windows, and the number of foods, from the size of an observation: 3F + 3n numbers, or
  3 (2k + 1)^2 for windows of sight k.
* Sight under lists: the `Ks` in the file's name; without it the whole field, or else the one sight
  under which the observations of the first rows come out as recorded.
* The penalty: the largest loss of any player. (One that never was paid cannot be seen.)
* The episode limit: the one step count at which episodes ended with food left; 50 if there is none.
"""

import dataclasses
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coemarl.parity import required
from coemarl.parity.report import ParityRow, differs
from coemarl.tasks import lbf

BEFORE = ("pos", "level", "field", "food_spawned", "t", "valid", "actions", "obs")
AFTER = ("next_pos", "next_field", "next_valid", "next_obs", "rewards", "done")

TOLERANCE = 1e-6
"""Of rewards; all else is whole numbers, and equal."""

CHUNK = 1024
"""Transitions replayed at once: recordings of one task, long or short, share one program."""


def recognises(arrays: dict[str, np.ndarray]) -> bool:
    """Whether these are transitions on a field of food levels."""
    return {"pos", "level", "field"} <= arrays.keys()


def replay(file: Path, arrays: dict[str, np.ndarray]) -> ParityRow:
    """All transitions of a recording, each from its own injected state."""
    required(file, arrays, (*BEFORE, *AFTER))
    _check_shapes(file, arrays)
    return compare(file.name, arrays, options_of(file, arrays))


def compare(
    name: str, arrays: dict[str, np.ndarray], options: lbf.Options, note: str = ""
) -> ParityRow:
    """Transitions compared with what the task with these options makes of them."""
    ours = run(options, arrays)
    wrong: dict[str, Any] = {"state": False, "observation": False, "reward": False, "end": False}
    largest = 0.0
    for array, kind in _KINDS.items():
        theirs = arrays[array].reshape(ours[array].shape)
        rows, error = differs(ours[array], theirs, TOLERANCE if kind == "reward" else 0.0)
        wrong[kind] = wrong[kind] | rows
        largest = max(largest, error)
    team = arrays["rewards"].sum(1) if options.reward == "sum" else arrays["rewards"].mean(1)
    rows, error = differs(ours["team_reward"], team, TOLERANCE)
    wrong["reward"] = wrong["reward"] | rows
    counts = {kind: int(np.sum(rows)) for kind, rows in wrong.items()}
    return ParityRow(name, len(arrays["t"]), **counts, largest_error=max(largest, error), note=note)


_KINDS = {
    # array: what of a transition it belongs to
    "valid": "state",
    "next_pos": "state",
    "next_field": "state",
    "next_valid": "state",
    "obs": "observation",
    "next_obs": "observation",
    "rewards": "reward",
    "done": "end",
}


@functools.lru_cache(maxsize=8)
def _program(options: lbf.Options) -> Callable[[dict[str, Any]], dict[str, jax.Array]]:
    """The compiled transitions of a chunk: what the task says before and after each action."""
    task = lbf.make(options)

    def transition(row: dict[str, jax.Array]) -> dict[str, jax.Array]:
        state = lbf.state_of(
            options, row["pos"], row["level"], row["field"], row["food_spawned"], row["t"]
        )
        _, rewards = lbf.advance(options, state, row["actions"])
        after, shown = task.step(jax.random.key(0), state, row["actions"])
        return {
            "valid": lbf.legal_actions(options, state),
            "obs": lbf.observe(options, state),
            "next_pos": after.positions,
            "next_field": _field_of(options, after.foods),
            "next_valid": lbf.legal_actions(options, after),
            "next_obs": shown.observation,
            "rewards": rewards,
            "team_reward": shown.reward,
            "done": shown.terminated | shown.truncated,
        }

    return jax.jit(jax.vmap(transition))


def _field_of(options: lbf.Options, foods: jax.Array) -> jax.Array:
    """The field of food levels (R, C) of a list of foods (F, 3)."""
    row, col = jnp.arange(options.rows)[None, :, None], jnp.arange(options.cols)[None, None, :]
    at = (row == foods[:, :1, None]) & (col == foods[:, 1:2, None])
    return jnp.sum(jnp.where(at, foods[:, 2:, None], 0), axis=0)


def run(options: lbf.Options, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the task makes of every recorded state and action, chunk by chunk."""
    names = ("pos", "level", "field", "food_spawned", "t", "actions")
    inputs = {name: np.asarray(arrays[name]).astype(np.int32) for name in names}
    program, length, parts = _program(options), len(arrays["t"]), []
    for start in range(0, length, CHUNK):
        part = {name: array[start : start + CHUNK] for name, array in inputs.items()}
        short = CHUNK - len(part["t"])
        part = {name: np.concatenate([a, a[:1].repeat(short, 0)]) for name, a in part.items()}
        parts.append(jax.device_get(program(part)))
    return {name: np.concatenate([p[name] for p in parts])[:length] for name in parts[0]}


# What a recording leaves open


def _check_shapes(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays that cannot be one recording: ValueError naming the array."""
    length, players = arrays["level"].shape[:2] if arrays["level"].ndim == 2 else (0, 0)
    field = arrays["field"].shape
    shapes = {
        "level": (length, players),
        "pos": (length, players, 2),
        "field": (length, *field[1:]) if len(field) == 3 else (length, 0, 0),
        "valid": (length, players, 6),
        "actions": (length, players),
        "rewards": (length, players),
        "food_spawned": (length,),
        "t": (length,),
        "done": (length,),
    }
    shapes |= {"next_" + name: shapes[name] for name in ("pos", "field", "valid")}
    for name, shape in shapes.items():
        if arrays[name].shape != shape or 0 in shape:
            raise ValueError(f"{file.name}: {name} has shape {arrays[name].shape}, not {shape}")
    for name in ("obs", "next_obs"):
        if arrays[name].shape[:2] != (length, players):
            start = f"({length}, {players}, ...)"
            raise ValueError(f"{file.name}: {name} has shape {arrays[name].shape}, not {start}")
    if arrays["obs"].shape != arrays["next_obs"].shape:
        raise ValueError(f"{file.name}: obs and next_obs have different shapes")
    if any(arrays[name].dtype.kind not in "biuf" for name in (*BEFORE, *AFTER)):
        raise ValueError(f"{file.name}: an array that does not hold numbers")
    if arrays["actions"].min() < 0 or arrays["actions"].max() > 5:
        raise ValueError(f"{file.name}: an action that is not 0 to 5")


def options_of(file: Path, arrays: dict[str, np.ndarray]) -> lbf.Options:
    """The task of a recording, from its arrays and its name."""
    _, rows, cols = arrays["field"].shape
    players = arrays["level"].shape[1]
    obs = arrays["obs"]
    size = int(np.prod(obs.shape[2:]))
    in_name = re.search(r"(?<![a-z0-9])(\d+)s(?![a-z0-9])", file.stem)
    known = {
        "rows": rows,
        "cols": cols,
        "players": players,
        "penalty": max(0.0, -float(np.min(arrays["rewards"]))),
        "episode_limit": _limit(arrays),
    }
    most = max(1, int(np.count_nonzero(arrays["field"], axis=(1, 2)).max()))
    sights = {3 * (2 * k + 1) ** 2: k for k in range(1, max(rows, cols) + 1)}
    foods, rest = divmod(size, 3)
    foods -= players
    # A recording of lists whose size is also one of windows has a name without "grid".
    if size in sights and (obs.ndim > 3 or "grid" in file.stem or foods < most):
        options = lbf.Options(foods=most, sight=sights[size], grid=True, **known)
    elif rest == 0 and foods >= most:
        sight = int(in_name[1]) if in_name else None
        options = lbf.Options(foods=foods, sight=sight, **known)
        if sight is None:
            options = _explaining_sight(options, arrays)
    else:
        raise ValueError(
            f"{file.name}: observations of {size} numbers fit neither lists of at least {most} "
            f"foods and {players} players nor windows"
        )
    try:
        lbf.check(options)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None
    return options


def _limit(arrays: dict[str, np.ndarray]) -> int:
    """Steps after which episodes were cut: those of the earliest end with food left."""
    cut = arrays["done"].astype(bool) & np.any(arrays["next_field"] > 0, axis=(1, 2))
    return int(arrays["t"][cut].astype(int).min()) + 1 if cut.any() else 50


def _explaining_sight(options: lbf.Options, arrays: dict[str, np.ndarray]) -> lbf.Options:
    """The options with the sight under which the first rows are observed as recorded.

    The whole field if that does, or if no sight does.
    """
    first = {name: array[:CHUNK] for name, array in arrays.items() if name in (*BEFORE, *AFTER)}
    for sight in (None, *range(1, max(options.rows, options.cols) - 1)):
        candidate = dataclasses.replace(options, sight=sight)
        if np.array_equal(run(candidate, first)["obs"], first["obs"]):
            return candidate
    return options
