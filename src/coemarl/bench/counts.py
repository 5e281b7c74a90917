"""`coe bench counts`: the memory, the cost and the error of each kind of counts.

Memory and cost grow, or do not, with agents, actions and bits of the code: what one walk of all
agents down the tree and the counting of its path costs, on one core.

The error is that of the coin-flip network, whose counts nobody bounds: random teams play a task
whose states can be told apart exactly, every node is counted in a dictionary, and the network
learns
from the same visits after each episode. Where it was right, its estimates lie on the diagonal of
the figure.
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from coemarl.bench import measure as measuring
from coemarl.bench.options import BenchOptions
from coemarl.bench.report import table, where
from coemarl.counts import Counts, CountsOptions, make_counts, make_hash
from coemarl.counts.walk import path_of, walk
from coemarl.explorers.epsilon import best_legal
from coemarl.tasks import make_task
from coemarl.training import random_states

SIZES = ((3, 6, 8), (3, 6, 16), (5, 6, 16), (8, 6, 16), (8, 14, 16), (20, 10, 16))
"""(agents, actions, bits of the code) that memory and cost are told for."""
STATE = 54
"""Numbers of a state where the kind asks for it: those of lbf:10x10-3p-3f."""


@dataclass(frozen=True)
class Options(BenchOptions):
    """Memory, cost and error of the kinds of counts."""

    task: str = "lbf:3x3-2p-1f"
    """The task that the error is measured on; its states should come again."""
    episodes: int = 3000
    """Episodes of random play."""
    walks: int = 200
    """Walks of one call."""
    figure: Path | None = None
    """A PNG to draw true against estimated counts in."""


def made(kind: Any, agents: int, actions: int, bits: int) -> Counts | None:
    """Counts of that kind and size; None where they do not fit in 1 GB."""
    options = CountsOptions(k=bits, kind=kind, memory_mb=1024)
    try:
        return make_counts(options, agents, actions, state_size=STATE)
    except ValueError:
        return None


def walking(counts: Counts, agents: int, actions: int, bits: int, walks: int) -> Any:
    """A case: so many walks down the tree, each counted."""

    def one(table: Any, key: Any) -> tuple[Any, None]:
        draws = jax.random.bits(key, (1,), jnp.uint32)[0] & jnp.uint32(2**bits - 1)
        state = jax.random.normal(key, (STATE,))

        def decide(i: Any, taken: Any, node: Any, parent: Any, children: Any) -> Any:
            action = best_legal(1.0 / jnp.maximum(children, 0.1), jnp.ones(actions, bool))
            return action, parent

        root = counts.root(state if counts.by_state else draws)
        path = walk(counts, table, root, agents, decide)
        counted = ~jnp.isnan(path.bonus.sum())
        return counts.add(table, jax.tree.map(lambda x: x[None], path.path), counted[None]), None

    @jax.jit
    def call(table: Any, key: Any) -> Any:
        return lax.scan(one, table, jax.random.split(key, walks))[0]

    held = [counts.init()]

    def case() -> Any:
        held[0] = call(held[0], jax.random.key(0))
        return jax.tree.leaves(held[0])[0]

    return case


def measure(options: Options) -> dict[str, Any]:
    """Memory and seconds of a walk of each kind at each size, and the coin-flip network's error."""
    for name in ("episodes", "walks"):
        if getattr(options, name) < 1:
            raise ValueError(f"{name} is {getattr(options, name)}: it must be at least 1")
    cases, sizes = {}, {}
    for size in SIZES:
        for kind in ("dense", "sketch", "coin-flip"):
            counts = made(kind, *size)
            sizes[kind, size] = counts.bytes if counts else None
            if counts:
                cases[kind, size] = walking(counts, *size, options.walks)
    taken = measuring.interleaved(cases, options.repetitions, options.seconds)
    rows = [
        {
            "kind": kind,
            "agents": size[0],
            "actions": size[1],
            "bits": size[2],
            "bytes": held,
            "seconds_per_walk": taken[kind, size].record(options.walks) if held else None,
        }
        for (kind, size), held in sizes.items()
    ]
    true, estimated = compared(options.task, options.episodes)
    if options.figure is not None:
        draw(options.figure, options.task, true, estimated)
    return {"sizes": rows, "error": {"task": options.task, **agreement(true, estimated)}}


# The coin-flip network against exact counts


def compared(task_name: str, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """True and estimated counts of every node that random play visited."""
    task = make_task(task_name)
    spec = task.spec
    options = CountsOptions(kind="coin-flip")
    counts = make_counts(options, spec.num_agents, spec.num_actions, state_size=spec.state_size)
    scaling = make_hash(options, spec.state_size)
    assert counts.seeded is not None
    assert counts.calibrate is not None
    assert counts.learn is not None
    learn, add = counts.learn, counts.add
    states = random_states(task, jax.random.key(1), scaling.calibration_states)
    projection = scaling.calibrate(scaling.init(jax.random.key(2)), states)
    seen = jax.vmap(scaling.code, (None, 0))(projection, states)
    start = counts.calibrate(counts.seeded(jax.random.key(3)), seen)

    def root(state: Any) -> Any:
        return counts.root(scaling.code(projection, state))

    def episode(held: Any, key: Any) -> tuple[Any, Any]:
        reset_key, play_key, learn_key = jax.random.split(key, 3)
        env, shown = task.reset(reset_key)

        def step(carry: Any, t: Any) -> tuple[Any, Any]:
            held, env, shown = carry
            act_key, step_key = jax.random.split(jax.random.fold_in(play_key, t))
            actions = jax.random.randint(act_key, (spec.num_agents,), 0, spec.num_actions)
            active = ~(shown.terminated | shown.truncated)
            path = path_of(counts, root(shown.state), actions)
            held = add(held, jax.tree.map(lambda x: x[None], path), active[None])
            after = task.step(step_key, env, actions)
            env, now = jax.tree.map(lambda a, b: jnp.where(active, a, b), after, (env, shown))
            return (held, env, now), (shown.state, actions, active)

        (held, _, _), visits = lax.scan(step, (held, env, shown), jnp.arange(spec.episode_limit))
        return learn(held, learn_key), visits

    play = jax.jit(lambda held, keys: lax.scan(episode, held, keys))
    held, visits = play(start, jax.random.split(jax.random.key(4), episodes))
    true: Counter = Counter()
    for state, actions, active in zip(*map(flat, visits), strict=True):
        if active:
            for depth in range(spec.num_agents + 1):
                true[(state.tobytes(), *actions[:depth].tolist())] += 1
    return estimates(counts, root, held, true, spec)


def flat(rows: Any) -> np.ndarray:
    """Episodes and steps as one axis."""
    array = np.asarray(rows)
    return array.reshape(-1, *array.shape[2:])


def estimates(
    counts: Counts, root: Any, held: Any, true: Counter, spec: Any
) -> tuple[np.ndarray, np.ndarray]:
    """What the network says of the nodes that a dictionary counted, and what that says."""
    names = list(true)
    states = np.stack([np.frombuffer(name[0], np.float32) for name in names])
    depth = np.array([len(name) - 1 for name in names], np.int32)
    actions = np.full((len(names), spec.num_agents), -1, np.int32)
    for row, name in zip(actions, names, strict=True):
        row[: len(name) - 1] = name[1:]

    def one(state: Any, actions: Any, depth: Any) -> Any:
        return counts.count(held, root(state)._replace(actions=actions, depth=depth))

    told = jax.jit(jax.vmap(one))(jnp.array(states), jnp.array(actions), jnp.array(depth))
    return np.array(list(true.values()), np.float64), np.asarray(told, np.float64)


def agreement(true: np.ndarray, estimated: np.ndarray) -> dict[str, float]:
    """Correlations of logarithms and of ranks, and the median of max(n / m, m / n)."""
    from scipy.stats import pearsonr, spearmanr

    logs: Any = (np.log(true), np.log(estimated))
    pearson: Any = pearsonr(*logs)
    spearman: Any = spearmanr(*logs)
    return {
        "nodes": len(true),
        "visits": float(true.sum()),
        "correlation_of_logs": float(pearson.statistic),
        "correlation_of_ranks": float(spearman.statistic),
        "median_factor": float(np.exp(np.median(np.abs(logs[0] - logs[1])))),
    }


def draw(path: Path, task: str, true: np.ndarray, estimated: np.ndarray) -> None:
    """True against estimated counts, both as logarithms; the diagonal is the truth."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    told = agreement(true, estimated)
    figure, axes = plt.subplots(figsize=(5, 4.4), layout="constrained")
    shown = axes.hexbin(
        true, estimated, xscale="log", yscale="log", bins="log", gridsize=38, mincnt=1,
        cmap="viridis",
    )  # fmt: skip
    most = max(true.max(), estimated.max())
    axes.plot([1, most], [1, most], color="#d55e00", linewidth=1.5, label="exact")
    axes.set_xlabel("true count of the node")
    axes.set_ylabel("estimate by coin flips")
    axes.set_title(
        f"{task}: correlation of logs {told['correlation_of_logs']:.2f},"
        f" median factor {told['median_factor']:.2f}",
        fontsize=10,
    )
    axes.legend(loc="upper left", frameon=False)
    figure.colorbar(shown, label="nodes")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def render(record: dict[str, Any]) -> str:
    """A line for each size, kinds beside each other, and one on the error."""
    by_size: dict[tuple, dict[str, Any]] = {}
    for row in record["sizes"]:
        by_size.setdefault((row["agents"], row["actions"], row["bits"]), {})[row["kind"]] = row
    heads = ("agents, actions, bits", *(f"{kind} {unit}" for kind in next(iter(by_size.values()))
                                         for unit in ("MB", "us")))  # fmt: skip
    lines = [
        (", ".join(map(str, size)), *(word for row in kinds.values() for word in words(row)))
        for size, kinds in by_size.items()
    ]
    error = record["error"]
    return "\n".join(
        [
            "memory, and CPU time of one walk of all agents with its counting",
            "",
            table(heads, lines),
            "",
            f"coin flips on {error['task']}, {error['nodes']:,} nodes: correlation of logs"
            f" {error['correlation_of_logs']:.2f},",
            f"of ranks {error['correlation_of_ranks']:.2f}; half of the estimates are within a"
            f" factor {error['median_factor']:.2f} of the truth",
            where(record["machine"]),
        ]
    )


def words(row: dict[str, Any]) -> tuple[str, str]:
    """Megabytes and microseconds; dashes where it does not fit."""
    if row["bytes"] is None:
        return "-", "-"
    seconds = row["seconds_per_walk"]["cpu_median"]
    megabytes = row["bytes"] / 2**20
    digits = 0 if megabytes >= 10 else 1 - math.floor(math.log10(max(megabytes, 0.1)))
    return f"{megabytes:.{digits}f}", f"{1e6 * seconds:.3g}"
