"""The paper's settings: the best configuration of each algorithm on each benchmark, with its table,
and the values that its search swept.

Tables are those of the paper's appendix on hyperparameters, by their LaTeX labels. What the tables
leave open follows the runs behind the paper: replay of 5000 episodes, batches of 32, Adam, one
environment, one update after each episode, evaluation of 100 episodes every 100,000 steps, reaching
the time limit stored as terminal on MPE and LBF. Four million steps: 41 evaluations.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Values = dict[str, Any]
"""Dotted path of a run's configuration: value."""


@dataclass(frozen=True)
class Row:
    """The best configuration of one algorithm on one benchmark."""

    table: str
    """The table's label in the paper."""
    values: Values = field(default_factory=dict)


COMMON = Row(
    "tab:apx-hyperparam-common",
    {
        "utility.hidden": 128,
        "learner.standardise_rewards": True,
        "learner.target_update": "soft",
        "learner.target_tau": 0.01,
    },
)
"""What all algorithms share on all benchmarks."""

RUNS: Values = {
    "steps": 4_000_000,
    "environments": 1,
    "updates_per_rollout": 1,
    "learner.batch_size": 32,
    "learner.discount": 0.99,
    "learner.double_q": True,
    "learner.max_gradient_norm": 10.0,
    "replay.capacity": 5000,
    "evaluation.every": 100_000,
    "evaluation.episodes": 100,
}
"""What no table says, and all runs behind the paper had."""

TERMINAL_TIME_LIMIT = {"mpe": True, "lbf": True, "smac": False}
"""Whether a benchmark's runs stored the time limit as terminal."""

BENCHMARKS = {"mpe": "mpe", "lbf": "lbf", "smac": "smac", "battle": "smac"}
"""Family of tasks: the benchmark whose settings it takes."""


def optimism(learning_rate: float, k: int, c_act: float, c_boot: float, c_rew: float) -> Values:
    """The choices of a row of COE's table, and of the tables of its ablations."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.counts.k": k,
        "explorer.c_act": c_act,
        "explorer.c_boot": c_boot,
        "explorer.c_rew": c_rew,
    }


def central(learning_rate: float, k: int, c_rew: float) -> Values:
    """The choices of a row of UCB-Central's table."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.counts.k": k,
        "explorer.c_rew": c_rew,
    }


def curiosity(learning_rate: float, scale: float) -> Values:
    """The choices of a row of EMC's table; its nets as wide as the team's, no epsilon and no
    episodic memory, as the runs had."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.scale": scale,
        "explorer.hidden": 128,
        "explorer.memory": False,
        "explorer.start": 0.0,
        "explorer.end": 0.0,
    }


def commitment(
    learning_rate: float, rnn: bool, intrinsic: bool, scale: float, bandit: bool, start: float
) -> Values:
    """The choices of a row of MAVEN's table; epsilon falls over 50,000 steps, as the text says, and
    there are 2 latents, as the runs had."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.discriminator": "rnn" if rnn else "mlp",
        "explorer.mi_intrinsic": intrinsic,
        "explorer.mi_scale": scale,
        "explorer.bandit": bandit,
        "explorer.start": start,
        "explorer.end": 0.0,
        "explorer.anneal_steps": 50_000,
        "explorer.latents": 2,
    }


def epsilon(learning_rate: float, anneal_steps: int) -> Values:
    """The choices of a row of QMIX's table; epsilon falls from 1 to 0, as the text says."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.start": 1.0,
        "explorer.end": 0.0,
        "explorer.anneal_steps": anneal_steps,
    }


@dataclass(frozen=True)
class Table:
    """One table of the paper's appendix on hyperparameters."""

    label: str
    best: dict[str, Values]
    """Benchmark: its best configuration."""
    swept: dict[str, tuple[Any, ...]]
    """Dotted path: the values that the search tried."""
    allowed: Callable[[Values], bool] = lambda values: True
    """Which combinations of swept values the search left in."""


RATES = (0.0001, 0.0003, 0.0005)
SCALES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)
OPTIMISM: dict[str, tuple[Any, ...]] = {
    "learner.learning_rate": RATES,
    "explorer.counts.k": (8, 12, 16),
    "explorer.c_act": (0.0, 0.01, 0.05),
    "explorer.c_boot": (0.0, 0.01, 0.05),
    "explorer.c_rew": (0.0, 0.01, 0.05),
}


def is_optimistic(values: Values) -> bool:
    """Without any optimism COE is greedy QMIX, which the search left out."""
    return any(values.get(f"explorer.{name}") for name in ("c_act", "c_boot", "c_rew"))


def is_commitment(values: Values) -> bool:
    """A recurrent discriminator rewards no steps; and scales are swept only where they matter."""
    intrinsic = values["explorer.mi_intrinsic"]
    if intrinsic:
        return values["explorer.discriminator"] != "rnn"
    return values["explorer.mi_scale"] == SCALES[0]


TABLES: dict[str, Table] = {
    "coe": Table(
        "tab:apx-hyperparam-coe",
        {
            "mpe": optimism(0.0001, k=8, c_act=0.01, c_boot=0.0, c_rew=0.05),
            "lbf": optimism(0.0003, k=16, c_act=0.01, c_boot=0.0, c_rew=0.0),
            "smac": optimism(0.0005, k=8, c_act=0.0, c_boot=0.0, c_rew=0.05),
        },
        OPTIMISM,
        is_optimistic,
    ),
    "coe-cond-iq": Table(
        "tab:apx-hyperparam-coe-cond-iq",
        {
            "mpe": optimism(0.0001, k=8, c_act=0.0, c_boot=0.0, c_rew=0.05),
            "lbf": optimism(0.0001, k=8, c_act=0.05, c_boot=0.0, c_rew=0.0),
            "smac": optimism(0.0005, k=16, c_act=0.01, c_boot=0.0, c_rew=0.0),
        },
        OPTIMISM,
        is_optimistic,
    ),
    "coe-cond-cq": Table(
        "tab:apx-hyperparam-coe-cond-cq",
        {
            "mpe": optimism(0.0001, k=12, c_act=0.05, c_boot=0.0, c_rew=0.05),
            "lbf": optimism(0.0003, k=16, c_act=0.01, c_boot=0.0, c_rew=0.01),
            "smac": optimism(0.0005, k=8, c_act=0.05, c_boot=0.01, c_rew=0.01),
        },
        OPTIMISM,
        is_optimistic,
    ),
    "ucb-ind": Table(
        "tab:apx-hyperparam-ucb-indep",
        {
            "mpe": optimism(0.0001, k=8, c_act=0.01, c_boot=0.0, c_rew=0.0),
            "lbf": optimism(0.0003, k=12, c_act=0.01, c_boot=0.01, c_rew=0.01),
            "smac": optimism(0.0005, k=12, c_act=0.0, c_boot=0.0, c_rew=0.01),
        },
        OPTIMISM,
        is_optimistic,
    ),
    "ucb-cen": Table(
        "tab:apx-hyperparam-ucb-central",
        {
            "mpe": central(0.0001, k=8, c_rew=0.05),
            "lbf": central(0.0003, k=8, c_rew=0.01),
            "smac": central(0.0005, k=16, c_rew=0.05),
        },
        {
            "learner.learning_rate": RATES,
            "explorer.counts.k": (8, 12, 16),
            "explorer.c_rew": (0.0, 0.01, 0.05),
        },
        is_optimistic,
    ),
    "emc": Table(
        "tab:apx-hyperparam-emc",
        {
            "mpe": curiosity(0.0001, scale=0.01),
            "lbf": curiosity(0.0003, scale=0.001),
            "smac": curiosity(0.0005, scale=0.001),
        },
        {"learner.learning_rate": RATES, "explorer.scale": SCALES},
    ),
    "maven": Table(
        "tab:apx-hyperparam-maven",
        {
            "mpe": commitment(0.0003, False, True, scale=0.01, bandit=True, start=1.0),
            "lbf": commitment(0.0001, False, True, scale=0.05, bandit=False, start=1.0),
            "smac": commitment(0.0005, False, True, scale=0.005, bandit=True, start=1.0),
        },
        {
            "learner.learning_rate": RATES,
            "explorer.discriminator": ("rnn", "mlp"),
            "explorer.mi_intrinsic": (True, False),
            "explorer.mi_scale": SCALES,
            "explorer.bandit": (True, False),
            "explorer.start": (0.0, 1.0),
        },
        is_commitment,
    ),
    "qmix": Table(
        "tab:apx-hyperparam-qmix",
        {
            "mpe": epsilon(0.0001, 50_000),
            "lbf": epsilon(0.0001, 50_000),
            "smac": epsilon(0.0005, 50_000),
        },
        {"learner.learning_rate": RATES, "explorer.anneal_steps": (50_000, 200_000)},
    ),
}
"""Algorithm: what the paper's search tried and found."""


def benchmark_of(family: str) -> str:
    """The benchmark whose settings a family of tasks takes; ValueError if it has none."""
    if family not in BENCHMARKS:
        raise ValueError(
            f"the paper has no settings for {family} tasks: it has {', '.join(BENCHMARKS)}"
        )
    return BENCHMARKS[family]


def table_of(algo: str) -> Table:
    """The table of an algorithm; ValueError if the paper has none."""
    if algo not in TABLES:
        raise ValueError(f"the paper has no settings of {algo}: it has {', '.join(TABLES)}")
    return TABLES[algo]


def rows(algo: str, family: str) -> tuple[Row, ...]:
    """What the paper's runs of an algorithm on a family of tasks had, by table; later ones win."""
    table, benchmark = table_of(algo), benchmark_of(family)
    best = table.best[benchmark]
    untold = {path: value for path, value in best.items() if path not in table.swept}
    limit = {"learner.time_limit_is_terminal": TERMINAL_TIME_LIMIT[benchmark]}
    return (
        Row("", RUNS | limit | untold),
        COMMON,
        Row(table.label, {path: best[path] for path in table.swept}),
    )


def search(algo: str, family: str) -> Iterator[Values]:
    """Every configuration of the paper's search for an algorithm, as changes to `values`."""
    benchmark_of(family)
    table = table_of(algo)
    for choice in itertools.product(*table.swept.values()):
        tried = dict(zip(table.swept, choice, strict=True))
        if table.allowed(tried):
            yield tried
