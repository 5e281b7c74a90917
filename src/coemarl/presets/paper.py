"""The paper's settings: the best configuration of each algorithm on each benchmark, with its table.

Tables are those of the paper's appendix on hyperparameters, by their LaTeX labels. What the tables
leave open follows the runs behind the paper: replay of 5000 episodes, batches of 32, Adam, one
environment, one update after each episode, evaluation of 100 episodes every 100,000 steps, reaching
the time limit stored as terminal on MPE and LBF. Four million steps: 41 evaluations.
"""

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


def coe_values(learning_rate: float, k: int, c_act: float, c_boot: float, c_rew: float) -> Values:
    """The choices of a row of COE's table."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.counts.k": k,
        "explorer.c_act": c_act,
        "explorer.c_boot": c_boot,
        "explorer.c_rew": c_rew,
    }


def epsilon_values(learning_rate: float, anneal_steps: int) -> Values:
    """The choices of a row of QMIX's table; epsilon falls from 1 to 0, as the text says."""
    return {
        "learner.learning_rate": learning_rate,
        "explorer.start": 1.0,
        "explorer.end": 0.0,
        "explorer.anneal_steps": anneal_steps,
    }


COE, QMIX = "tab:apx-hyperparam-coe", "tab:apx-hyperparam-qmix"

BEST: dict[str, dict[str, Row]] = {
    "coe": {
        "mpe": Row(COE, coe_values(1e-4, k=8, c_act=0.01, c_boot=0.0, c_rew=0.05)),
        "lbf": Row(COE, coe_values(3e-4, k=16, c_act=0.01, c_boot=0.0, c_rew=0.0)),
        "smac": Row(COE, coe_values(5e-4, k=8, c_act=0.0, c_boot=0.0, c_rew=0.05)),
    },
    "qmix": {
        "mpe": Row(QMIX, epsilon_values(1e-4, 50_000)),
        "lbf": Row(QMIX, epsilon_values(1e-4, 50_000)),
        "smac": Row(QMIX, epsilon_values(5e-4, 50_000)),
    },
}
"""Algorithm: benchmark: its row."""


def rows(algo: str, family: str) -> tuple[Row, ...]:
    """What the paper's runs of an algorithm on a family of tasks had, by table; later ones win."""
    if algo not in BEST:
        raise ValueError(f"the paper has no settings of {algo}: it has {', '.join(BEST)}")
    if family not in BENCHMARKS:
        raise ValueError(
            f"the paper has no settings for {family} tasks: it has {', '.join(BENCHMARKS)}"
        )
    benchmark = BENCHMARKS[family]
    limit = {"learner.time_limit_is_terminal": TERMINAL_TIME_LIMIT[benchmark]}
    return Row("", RUNS | limit), COMMON, BEST[algo][benchmark]
