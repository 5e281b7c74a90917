"""`coe bench learner`: the whole training iteration beside the core's bound, and its parts.

The bound is the time that the matrix products of an update would take at the core's peak, which is
measured in the same run: no iteration of one rollout and one update can be quicker. Everything else
that an iteration does is overhead, and the split says where it lies.

    acting        utilities and choices of a rollout
    environment   its resets and steps
    counting      what the explorer observes
    sampling      a batch out of the replay
    update        losses, gradient, optimiser, targets

Parts are measured each by itself in compiled loops, acting and counting as differences between
rollouts with and without them, so they need not add up: `other` is what is left, storage among it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import tyro
from jax import lax
from jaxtyping import Array

from coemarl import config as configs
from coemarl.bench import measure as measuring
from coemarl.bench import peak
from coemarl.bench.flops import product_flops
from coemarl.bench.measure import Case, Timing
from coemarl.bench.options import BenchOptions
from coemarl.bench.report import milliseconds, table, times, where
from coemarl.explorers.epsilon import random_legal
from coemarl.explorers.explorer import Choice
from coemarl.rollout import Policy, exploring, greedy, make_rollout
from coemarl.training import Trainer, TrainState, learn, make_trainer
from coemarl.utilities import Utility

PARTS = ("acting", "environment", "counting", "sampling", "update", "other")
FILLED = 64
"""Episodes of each environment by which the replay is filled at once."""


@dataclass(frozen=True)
class Options(BenchOptions):
    """The training iteration on one core, as a ratio to what the core's peak allows."""

    task: Annotated[str, tyro.conf.Positional] = "lbf:10x10-3p-3f"
    """The task."""
    algo: tuple[str, ...] = ("coe", "qmix")
    """Algorithms, at their defaults; ratios are to the last one."""
    products: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16")
    """Precisions of the products."""
    iterations: int = 5
    """Iterations (or updates, or rollouts) of one call."""
    compiling: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Measure too how long a process takes to its first iteration, without and with programs kept
    from before."""


# Cases


class Going:
    """A function that takes its argument's memory over, called on its own result ever again."""

    def __init__(self, function: Callable[[Any], Any], state: Any) -> None:
        self.function, self.state = function, jax.tree.map(jnp.copy, state)

    def __call__(self) -> Any:
        self.state = self.function(self.state)
        return self.state


def looped(body: Callable[[Array, Any], Any], number: int) -> Callable[[Any], Any]:
    """`number` runs of body(i, carry) as one compiled program."""
    return jax.jit(lambda carry: lax.fori_loop(0, number, body, carry), donate_argnums=0)


def filled(trainer: Trainer) -> TrainState:
    """The state at step 0 with a replay full of random play."""
    parts, state = trainer.parts, trainer.init()
    E = min(FILLED, trainer.config.replay.capacity)
    policy = at_random(parts.utility, parts.task.spec.num_agents)
    rollout = make_rollout(parts.task, idle(parts.utility), policy, E)

    @jax.jit
    def fill(replay: Any) -> Any:
        def add(i: Array, replay: Any) -> Any:
            key = jax.random.fold_in(jax.random.key(1), i)
            return parts.replay.add(replay, rollout((), (), key, jnp.int32(0))[1].episodes)

        return lax.fori_loop(0, -(-trainer.config.replay.capacity // E), add, replay)

    return state._replace(replay=fill(state.replay))


def idle(utility: Utility) -> Utility:
    """A utility that computes nothing, for policies that ask for nothing."""
    return replace(utility, start=lambda environments: (), advise=lambda *_: ((), ()))


def at_random(utility: Utility, num_agents: int) -> Policy:
    """Random legal actions: what is left of a rollout is the environment and its record."""

    def choose(params: Any, state: Any, context: Any, key: Any, moment: Any, advice: Any) -> Choice:
        draws = jax.random.uniform(key, (num_agents,))
        actions = jax.vmap(random_legal)(draws, moment.avail)
        return Choice(actions, jnp.zeros(num_agents + 1), ())

    return replace(greedy(utility), choose=choose)


def rollouts(trainer: Trainer, state: TrainState, number: int) -> dict[str, Case]:
    """Rollouts whole, without counting, and with nothing but the environment."""
    parts, E = trainer.parts, trainer.config.environments
    whole = exploring(parts.explorer, parts.utility)
    uncounted = replace(whole, observe=lambda state, traces, active: state)
    policies = {
        "rollout": (parts.utility, whole),
        "uncounted": (parts.utility, uncounted),
        "environment": (idle(parts.utility), at_random(parts.utility, trainer.spec.num_agents)),
    }
    params = state.learner.online.utility

    def case(utility: Utility, policy: Policy) -> Case:
        rollout = make_rollout(parts.task, utility, policy, E)
        blank = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
            jax.eval_shape(rollout, params, state.explorer, state.key, state.steps)[1],
        )

        def body(i: Array, carry: tuple) -> tuple:
            params, explorer, key, _ = carry
            key, play_key = jax.random.split(key)
            explorer, played = rollout(params, explorer, play_key, jnp.int32(0))
            return params, explorer, key, played

        return Going(looped(body, number), (params, state.explorer, state.key, blank))

    return {name: case(*how) for name, how in policies.items()}


def learning(trainer: Trainer, state: TrainState, number: int) -> dict[str, Case]:
    """Samples alone, and updates alone on one batch."""
    parts = trainer.parts
    batch = jax.jit(parts.replay.sample)(state.replay, state.key)

    def sample(i: Array, carry: tuple) -> tuple:
        replay, key, _ = carry
        key, sample_key = jax.random.split(key)
        return replay, key, parts.replay.sample(replay, sample_key)

    def update(i: Array, carry: tuple) -> tuple:
        learner, explorer, batch = carry
        return *learn(parts, learner, explorer, batch, jnp.bool_(True))[:2], batch

    return {
        "sampling": Going(looped(sample, number), (state.replay, state.key, batch)),
        "update": Going(looped(update, number), (state.learner, state.explorer, batch)),
    }


def cases_of(trainer: Trainer, number: int) -> dict[str, Case]:
    """The whole iteration and its parts, each `number` times a call."""
    state = filled(trainer)
    whole = Going(lambda state: trainer.advance(state, number), state)
    parts = rollouts(trainer, state, number) | learning(trainer, state, number)
    return {"iteration": whole, **parts}


def update_flops(trainer: Trainer) -> int:
    """Matrix products of one update on episodes of full length."""
    parts, limit = trainer.parts, trainer.spec.episode_limit
    state = jax.eval_shape(trainer.init)
    batch = jax.eval_shape(parts.replay.sample, state.replay, state.key)
    lengths = jnp.full(batch.length.shape, limit, jnp.int32)

    def update(learner: Any, explorer: Any, batch: Any) -> Any:
        return learn(parts, learner, explorer, batch, jnp.bool_(True))

    return product_flops(update, state.learner, state.explorer, batch._replace(length=lengths))


# The benchmark


def measure(options: Options) -> dict[str, Any]:
    """Peak and iterations, all in turn."""
    if options.iterations < 1:
        raise ValueError(f"iterations is {options.iterations}: it must be at least 1")
    runs = {
        (algo, products): configs.replace(
            configs.default_config(options.task, algo), {"learner.products": products}
        )
        for products in options.products
        for algo in options.algo
    }
    trainers = {run: make_trainer(config) for run, config in runs.items()}
    peaks: dict[Any, tuple[Case, int]] = {
        (precision, shape): peak.make_case(shape, precision)
        for precision in dict.fromkeys(("float32", *options.products))
        for shape in peak.SHAPES
    }
    cases: dict[Any, Case] = {which: case for which, (case, _) in peaks.items()}
    for run, trainer in trainers.items():
        for part, case in cases_of(trainer, options.iterations).items():
            cases[*run, part] = case
    timings = measuring.interleaved(cases, options.repetitions, options.seconds)
    rates = [
        peak_row(shape, precision, number, timings[precision, shape])
        for (precision, shape), (_, number) in peaks.items()
    ]
    bound = fastest(peaks, timings)
    rows = [row_of(run, trainer, timings, bound, options) for run, trainer in trainers.items()]
    record = {"task": options.task, "peak": rates, "rows": rows}
    if options.compiling:
        record["compiling"] = [starts(options.task, algo) for algo in options.algo]
    return record


def fastest(peaks: Mapping[Any, Any], timings: Mapping[Any, Timing]) -> tuple[Timing, int]:
    """The product of the highest rate in float32: its timing, and its work."""
    rated = [
        (timings[precision, shape], shape.flops * number)
        for (precision, shape), (_, number) in peaks.items()
        if precision == "float32"
    ]
    return max(rated, key=lambda pair: pair[1] / pair[0].seconds)


def row_of(
    run: tuple[str, str],
    trainer: Trainer,
    timings: Mapping[Any, Timing],
    bound: tuple[Timing, int],
    options: Options,
) -> dict[str, Any]:
    """One algorithm in one precision. Ratios are those of neighbours in time."""
    algo, products = run
    iteration, number = timings[*run, "iteration"], options.iterations
    flops = update_flops(trainer)
    share = flops * trainer.config.updates_per_rollout / bound[1]
    other = options.algo[-1]
    return {
        "algo": algo,
        "products": products,
        "update_flops": flops,
        "bound_seconds": bound[0].seconds * share,
        "iteration_seconds": iteration.record(number),
        "ratio_to_bound": measuring.ratio(iteration, bound[0]) / share / number,
        "split_seconds": split(lambda part: timings[*run, part].seconds / number),
        "compared_with": other,
        "ratio_to_other": measuring.ratio(iteration, timings[other, products, "iteration"]),
    }


def split(seconds: Callable[[str], float]) -> dict[str, float]:
    """Seconds of each part of an iteration, out of those of its cases."""
    parts = {
        "acting": seconds("uncounted") - seconds("environment"),
        "environment": seconds("environment"),
        "counting": seconds("rollout") - seconds("uncounted"),
        "sampling": seconds("sampling"),
        "update": seconds("update"),
    }
    return parts | {"other": seconds("iteration") - sum(parts.values())}


def peak_row(shape: peak.Shape, precision: str, number: int, timing: Timing) -> dict[str, Any]:
    """How fast one product is."""
    return {
        "products": precision,
        "shape": shape.name,
        "what": shape.what,
        "flops_per_second": shape.flops * number / timing.seconds,
    }


# Starting


START = """
import json, sys, time
began, cpu = time.perf_counter(), time.process_time()
import jax
from coemarl import config
from coemarl.training import make_trainer
trainer = make_trainer(config.default_config(sys.argv[1], sys.argv[2]))
state = trainer.init()
ready, ready_cpu = time.perf_counter(), time.process_time()
jax.block_until_ready(trainer.advance(state, 1))
ended, ended_cpu = time.perf_counter(), time.process_time()
print(json.dumps({
    "to_first_iteration": ended_cpu - cpu,
    "training_program": ended_cpu - ready_cpu,
    "to_first_iteration_wall": ended - began,
    "training_program_wall": ended - ready,
}))
"""


def starts(task: str, algo: str) -> dict[str, Any]:
    """CPU and wall seconds of a fresh process to its first iteration, and of the training program
    in it: the first time, and again with the programs that the first has kept."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
        }
        first, second = (started(task, algo, kept) for _ in range(2))
    return {"task": task, "algo": algo, "first": first, "second": second}


def started(task: str, algo: str, kept: dict[str, str]) -> dict[str, float]:
    """One such process."""
    words = [sys.executable, "-P", "-c", START, task, algo]
    done = subprocess.run(words, env=os.environ | kept, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


# The tables


def render(record: dict[str, Any]) -> str:
    """The iteration against its bound, its parts, and the peak."""
    tables = [
        iteration_table(record["rows"]),
        split_table(record["rows"]),
        peak_table(record["peak"]),
        *compiling(record),
    ]
    return "\n\n".join(tables) + f"\n{where(record['machine'])}"


def iteration_table(rows: list[dict[str, Any]]) -> str:
    """Milliseconds of an iteration and its bound, and the ratios."""
    other = rows[-1]["compared_with"]
    heads = ("an iteration", "products", "ms", "bound", "of bound", f"of {other}", "acting*")
    return table(
        heads,
        [
            [
                row["algo"],
                row["products"],
                milliseconds(row["iteration_seconds"]["cpu_median"]),
                milliseconds(row["bound_seconds"]),
                times(row["ratio_to_bound"]),
                f"{row['ratio_to_other']:.3f}x",
                f"{100 * acting_share(row):.1f}%",
            ]
            for row in rows
        ],
    ) + ("\n* acting, environment and counting, as a share of the iteration")


def acting_share(row: dict[str, Any]) -> float:
    """How much of an iteration is spent on playing rather than learning."""
    parts = row["split_seconds"]
    played = parts["acting"] + parts["environment"] + parts["counting"]
    return played / row["iteration_seconds"]["cpu_median"]


def split_table(rows: list[dict[str, Any]]) -> str:
    """Milliseconds of each part."""
    return table(
        ("its parts, ms", "products", *PARTS),
        [
            [
                row["algo"],
                row["products"],
                *(f"{1e3 * row['split_seconds'][part]:.2f}" for part in PARTS),
            ]
            for row in rows
        ],
    )


def peak_table(peaks: list[dict[str, Any]]) -> str:
    """GFLOP/s of each product."""
    shown = list(dict.fromkeys(row["products"] for row in peaks))
    shapes = dict.fromkeys((row["shape"], row["what"]) for row in peaks)
    rate = {(row["products"], row["shape"]): row["flops_per_second"] for row in peaks}
    rows = [
        [what, shape, *(f"{rate[precision, shape] / 1e9:.0f}" for precision in shown)]
        for shape, what in shapes
    ]
    return table(("products, GFLOP/s", "shape", *shown), rows)


def compiling(record: dict[str, Any]) -> list[str]:
    """Seconds to the first iteration, if they were measured."""
    if "compiling" not in record:
        return []
    rows = [
        [
            row["algo"],
            *(
                f"{row[which][what]:.1f}"
                for which in ("first", "second")
                for what in ("training_program", "to_first_iteration")
            ),
        ]
        for row in record["compiling"]
    ]
    heads = ("CPU seconds", "program", "start", "again", "start again")
    return [table(heads, rows)]
