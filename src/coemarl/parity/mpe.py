"""Parity of the particle games: recorded transitions replayed from their injected states, and
frozen nets on recorded inputs.

A recording holds, for T transitions of N world agents and L landmarks: `pos` and `vel` (T, N, 2),
`landmarks` (T, L, 2), `actions` (T, N), `t` (steps before this one), `obs_i` (T, ...) for each
agent i; `goal` (T,) in adversary; then `next_pos`, `next_vel`, `next_obs_i`, `done` (T,), and
`rewards`, of all agents or of the team's alone; `sum_reward` (T,), the team's, if it is there. All
agents, also those that are not of the team, act as recorded.

What the arrays leave open is found so.
* The game and its numbers of agents, from the sizes of observations: each agent of spread sees as
  much as the others, prey sees two numbers less than predators, and adversary has a `goal`.
* Conventions: the original's, or mpe2's if more states come out as recorded by those.
* Sparse or dense: what the file's name says, or another rule if more rewards come out by it.
* The episode limit: the one step count at which episodes ended; 25 or more if there is none.

A reward that jumps where two bodies touch cannot be judged within the rounding of a touch: rows
within 1e-5 of such a threshold are not counted as mismatches of reward.

A file of a frozen net holds its arrays (see `coemarl.tasks.mpe.frozen`) and `golden_in` (T,
inputs), `golden_logits` (T, 5), `golden_action` (T,).
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from coemarl.parity import required
from coemarl.parity.report import ParityRow, differs
from coemarl.tasks import mpe
from coemarl.tasks.mpe import adversary, frozen, spread, tag, world

BEFORE = ("pos", "vel", "landmarks", "actions", "t")
AFTER = ("next_pos", "next_vel", "rewards", "done")

TOLERANCE = 1e-5
"""Of everything after one step in single precision, relative where numbers are above 1."""
MARGIN = 1e-5
"""Rewards are not judged where a distance is so near to a threshold."""
NET_TOLERANCE = 1e-4
"""Of a net's logits; two actions are not told apart where the best two are so near."""

CHUNK = 512
"""Transitions replayed at once."""


def recognises(arrays: dict[str, np.ndarray]) -> bool:
    """Whether these are transitions of bodies with velocities, or a frozen net."""
    return {"pos", "vel", "landmarks"} <= arrays.keys() or _is_net(arrays)


def _is_net(arrays: dict[str, np.ndarray]) -> bool:
    return {"bn_weight", "fc1_weight"} <= arrays.keys()


def replay(file: Path, arrays: dict[str, np.ndarray]) -> ParityRow:
    """All transitions of a recording, each from its own injected state; or all inputs of a net."""
    if _is_net(arrays):
        return _replay_net(file, arrays)
    options = _options_of(file, arrays, _check_shapes(file, arrays))
    row = compare(file.name, arrays, options)
    if row.state:
        other = dataclasses.replace(options, conventions="mpe2")
        tried = compare(file.name, arrays, other, "by mpe2's conventions")
        if tried.state < row.state:
            options, row = other, tried
    if row.reward:
        tried = [compare(file.name, arrays, other, row.note) for other in _other_rules(options)]
        row = min((row, *tried), key=lambda row: row.reward)
    return row


# Frozen nets


def _replay_net(file: Path, arrays: dict[str, np.ndarray]) -> ParityRow:
    """Actions are counted under state, logits under observation."""
    length = required(file, arrays, ("golden_in", "golden_logits", "golden_action"))
    try:
        net = frozen.net_of(arrays)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None
    inputs = net.first.weight.shape[1]
    wanted = {"golden_in": (length, inputs), "golden_logits": (length, 5)}
    for name, shape in (wanted | {"golden_action": (length,)}).items():
        _has_shape(file, name, arrays[name], shape)
    seen = jnp.asarray(arrays["golden_in"], jnp.float32)
    ours = jax.vmap(functools.partial(frozen.logits, net))(seen)
    theirs = arrays["golden_logits"]
    wrong, error = _differs(np.asarray(ours), theirs, NET_TOLERANCE)
    best = np.sort(theirs, axis=1)
    clear = best[:, -1] - best[:, -2] > NET_TOLERANCE
    actions = np.asarray(jax.vmap(frozen.best)(ours)) != arrays["golden_action"]
    return ParityRow(
        file.name,
        length,
        state=int(np.sum(actions & clear)),
        observation=int(np.sum(wrong)),
        largest_error=error,
        note="a frozen net: its actions are counted under state, its logits under obs",
    )


# Transitions


def compare(
    name: str, arrays: dict[str, np.ndarray], options: mpe.Options, note: str = ""
) -> ParityRow:
    """Transitions compared with what the task with these options makes of them."""
    ours = run(options, arrays)
    clear = ~near_threshold(options, arrays)
    wrong = {kind: np.zeros(len(clear), bool) for kind in ("state", "observation", "reward", "end")}
    largest = 0.0
    for kind, mine, theirs in _compared(options, ours, arrays):
        judged = clear if kind == "reward" else np.ones_like(clear)
        rows, error = _differs(mine[judged], theirs[judged])
        wrong[kind][judged] |= rows
        largest = max(largest, error)
    counts = {kind: int(np.sum(rows)) for kind, rows in wrong.items()}
    if not clear.all():
        said = f"reward not judged in {np.sum(~clear)} rows within {MARGIN:g} of a threshold"
        note = f"{note}; {said}" if note else said
    return ParityRow(name, len(clear), **counts, largest_error=largest, note=note)


def _compared(
    options: mpe.Options, ours: dict[str, np.ndarray], arrays: dict[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(what of a transition it belongs to, what we say, what the original says) of each array."""
    agents = range(arrays["pos"].shape[1])
    sights = [f"{when}obs_{i}" for when in _WHEN for i in agents]
    for name in ("next_pos", "next_vel", *sights):
        kind = "observation" if "obs" in name else "state"
        yield kind, ours[name], arrays[name]
    team = list(mpe.module_of(options).scenario(options).controlled)
    rewards, theirs = ours["rewards"], arrays["rewards"]
    if theirs.shape[1] == len(team):
        rewards = rewards[:, team]
    else:
        yield "reward", ours["team_reward"], theirs[:, team].sum(1)
    yield "reward", rewards, theirs
    summed = arrays["sum_reward"] if "sum_reward" in arrays else theirs.sum(1)
    yield "reward", rewards.sum(1), summed
    yield "end", ours["done"], arrays["done"]


_WHEN = ("", "next_")


def _differs(
    ours: np.ndarray, theirs: np.ndarray, tolerance: float = TOLERANCE
) -> tuple[np.ndarray, float]:
    """As `differs`, errors relative to numbers above 1."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    with np.errstate(invalid="ignore"):
        scale = np.maximum(1.0, np.abs(np.nan_to_num(theirs)))
        return differs(ours / scale, theirs / scale, tolerance)


def run(options: mpe.Options, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the task makes of every recorded state and action, chunk by chunk."""
    inputs = {name: arrays[name].astype(np.float32) for name in ("pos", "vel", "landmarks")}
    goal = arrays.get("goal", np.zeros(len(arrays["t"])))
    inputs |= {"goal": goal.astype(np.int32), "t": arrays["t"].astype(np.int32)}
    inputs["actions"] = arrays["actions"].astype(np.int32)
    program, length, parts = _program(options), len(arrays["t"]), []
    for begin in range(0, length, CHUNK):
        part = {name: array[begin : begin + CHUNK] for name, array in inputs.items()}
        short = CHUNK - len(part["t"])
        part = {name: np.concatenate([a, a[:1].repeat(short, 0)]) for name, a in part.items()}
        parts.append(jax.device_get(program(part)))
    return {name: np.concatenate([p[name] for p in parts])[:length] for name in parts[0]}


@functools.lru_cache(maxsize=16)
def _program(options: mpe.Options) -> Callable[[dict[str, Any]], dict[str, jax.Array]]:
    """The compiled transitions of a chunk: what the game says before and after each action."""
    scenario = mpe.module_of(options).scenario(options)
    agents = range(len(scenario.world.agents))

    def seen(state: world.ParticleState, when: str) -> dict[str, jax.Array]:
        return {f"{when}obs_{i}": jnp.stack(scenario.observe(state, i)) for i in agents}

    def transition(row: dict[str, jax.Array]) -> dict[str, jax.Array]:
        state = world.ParticleState(
            position=row["pos"],
            velocity=row["vel"],
            landmarks=row["landmarks"],
            goal=row["goal"],
            successes=jnp.int32(0),
            steps=row["t"],
        )
        after, outcome = world.settle(scenario, state, [row["actions"][i] for i in agents])
        reward = world.team_reward(scenario, options, outcome)
        show = world.shown(scenario, options, after, outcome, reward)
        return {
            **seen(state, ""),
            **seen(after, "next_"),
            "next_pos": after.position,
            "next_vel": after.velocity,
            "rewards": jnp.stack(outcome.rewards),
            "team_reward": show.reward,
            "done": show.terminated | show.truncated,
        }

    return jax.jit(jax.vmap(transition))


def near_threshold(options: mpe.Options, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Rows after which some distance is so near to a threshold that the reward may jump."""
    near = np.zeros(len(arrays["t"]), bool)
    after, marks = arrays["next_pos"], arrays["landmarks"]

    def look(a: np.ndarray, b: np.ndarray, threshold: float) -> None:
        nonlocal near
        apart = np.linalg.norm(a - b, axis=-1)
        near = near | (np.abs(apart - threshold) < MARGIN)

    if isinstance(options, tag.TagOptions):
        scale = options.contact_scale if isinstance(options, tag.SparseTagOptions) else 1.0
        prey = range(options.predators, after.shape[1])
        for i, j in itertools.product(range(options.predators), prey):
            look(after[:, i], after[:, j], scale * tag.TOUCH)
    elif isinstance(options, spread.SpreadOptions):
        for i, j in itertools.combinations(range(after.shape[1]), 2):
            look(after[:, i], after[:, j], 2 * spread.AGENT_SIZE)
        if isinstance(options, spread.SparseSpreadOptions):
            for i, k in itertools.product(range(after.shape[1]), range(marks.shape[1])):
                look(after[:, i], marks[:, k], options.cover_radius)
    return near


# What a recording leaves open


def _has_shape(file: Path, name: str, array: np.ndarray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{file.name}: {name} has shape {array.shape}, not {shape}")


def _check_shapes(file: Path, arrays: dict[str, np.ndarray]) -> int:
    """The number of agents; ValueError, naming the array, if they cannot be one recording."""
    agents = arrays["pos"].shape[1] if arrays["pos"].ndim == 3 else 0
    sights = [f"{when}obs_{i}" for when in _WHEN for i in range(agents)]
    names = [*BEFORE, *AFTER, *sights, *({"goal", "sum_reward"} & arrays.keys())]
    length = required(file, arrays, names)
    shapes = dict.fromkeys(("pos", "vel", "next_pos", "next_vel"), (length, agents, 2))
    shapes |= {"actions": (length, agents), "t": (length,), "done": (length,)}
    shapes |= {name: (length,) for name in ("goal", "sum_reward") if name in arrays}
    for name, shape in shapes.items():
        _has_shape(file, name, arrays[name], shape if agents else (length, 1, 2))
    marks = arrays["landmarks"].shape
    if len(marks) != 3 or marks[2] != 2:
        raise ValueError(f"{file.name}: landmarks has shape {marks}, not ({length}, L, 2)")
    for i in range(agents):
        before, after = arrays[f"obs_{i}"].shape, arrays[f"next_obs_{i}"].shape
        if len(before) != 2 or before != after:
            raise ValueError(f"{file.name}: obs_{i} and next_obs_{i} have shapes {before}, {after}")
    if any(arrays[name].dtype.kind not in "biuf" for name in names):
        raise ValueError(f"{file.name}: an array that does not hold numbers")
    if arrays["actions"].min() < 0 or arrays["actions"].max() > 4:
        raise ValueError(f"{file.name}: an action that is not 0 to 4")
    return agents


def _options_of(file: Path, arrays: dict[str, np.ndarray], agents: int) -> mpe.Options:
    """The task of a recording, from its arrays and its name."""
    marks = arrays["landmarks"].shape[1]
    sizes = [arrays[f"obs_{i}"].shape[1] for i in range(agents)]
    known: dict[str, Any] = {"episode_limit": _limit(arrays)}
    sparse = re.search("sparse", file.stem, re.IGNORECASE) is not None
    hunters = sum(size == max(sizes) for size in sizes)
    options: mpe.Options
    if "goal" in arrays:
        options = adversary.AdversaryOptions(agents=agents - 1, opponent="still", **known)
    elif hunters < agents:
        numbers: dict[str, Any] = {
            "predators": hunters,
            "prey": agents - hunters,
            "obstacles": marks,
        }
        options = tag.TagOptions(opponent="still", **numbers, **known)
        options = _sparse(options) if sparse else options
    else:
        options = spread.SpreadOptions(agents=agents, **known)
        options = _sparse(options) if sparse else options
    if _fits(options, arrays, sizes, marks):
        return options
    raise ValueError(
        f"{file.name}: observations of {', '.join(map(str, sizes))} numbers, {agents} agents and "
        f"{marks} landmarks are none of adversary, tag or spread"
    )


def _fits(
    options: mpe.Options, arrays: dict[str, np.ndarray], sizes: list[int], marks: int
) -> bool:
    """Whether the game with these options has such arrays."""
    try:
        scenario = mpe.module_of(options).scenario(options)
    except ValueError:
        return False
    agents = len(scenario.world.agents)
    blank = jax.eval_shape(lambda: world.start(scenario.world, jax.random.key(0)))
    seen = [jax.eval_shape(lambda s, i=i: scenario.observe(s, i), blank) for i in range(agents)]
    widths = {agents, len(scenario.controlled)}
    return (
        [len(row) for row in seen] == sizes
        and scenario.world.landmarks == marks
        and arrays["rewards"].ndim == 2
        and arrays["rewards"].shape[1] in widths
    )


def _limit(arrays: dict[str, np.ndarray]) -> int:
    """Steps after which episodes were cut: those of the earliest end."""
    ends = arrays["t"][arrays["done"].astype(bool)]
    return int(ends.min()) + 1 if ends.size else max(25, int(arrays["t"].max()) + 2)


def _sparse(options: Any, **rule: Any) -> Any:
    """The same world of tag or spread, paid sparsely."""
    if isinstance(options, tag.TagOptions):
        few = min(2, options.predators)
        return tag.SparseTagOptions(**_dense(options), min_predators=few, **rule)
    return spread.SparseSpreadOptions(**_dense(options), **rule)


def _dense(options: Any) -> dict[str, Any]:
    """The fields that sparse and dense rewards share."""
    kind = tag.TagOptions if isinstance(options, tag.TagOptions) else spread.SpreadOptions
    return {f.name: getattr(options, f.name) for f in dataclasses.fields(kind)}


def _other_rules(options: Any) -> list[Any]:
    """The same world with other rewards."""
    if isinstance(options, adversary.AdversaryOptions):
        return []
    is_tag = isinstance(options, tag.TagOptions)
    dense = (tag.TagOptions if is_tag else spread.SpreadOptions)(**_dense(options))
    rules = [dense, _sparse(options), *([_sparse(options, pay="all")] if is_tag else [])]
    return [rule for rule in rules if rule != options]
