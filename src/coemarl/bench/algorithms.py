"""`coe bench algorithms`: what a training iteration of each algorithm costs beside QMIX's.

All algorithms play the same task by the paper's settings where it has some, each from a full replay
of random play, so that episodes are as long as the limit lets them be.
"""

from dataclasses import dataclass
from typing import Any

from coemarl import config as configs
from coemarl import presets
from coemarl.bench import measure as measuring
from coemarl.bench.learner import Going, filled
from coemarl.bench.options import BenchOptions
from coemarl.bench.report import milliseconds, table, times, where
from coemarl.training import make_trainer

BASE = "qmix"
"""What the others are compared with."""
ALGORITHMS = (
    *("coe", "ucb-ind", "ucb-cen", "coe-cond-iq", "coe-cond-cq", "emc", "maven"),
    *("vdn", "iql", "qplex", "qtran"),
)


@dataclass(frozen=True)
class Options(BenchOptions):
    """CPU time of an iteration (one episode, then one update) of each algorithm, and how many times
    that of QMIX it is."""

    task: str = "lbf:10x10-3p-3f"
    """The task that all play."""
    algorithms: tuple[str, ...] = ALGORITHMS
    """The algorithms beside QMIX."""
    iterations: int = 10
    """Iterations of one call."""


def config_of(task: str, algo: str) -> Any:
    """By the paper's settings, or the defaults where it has none."""
    config = configs.default_config(task, algo)
    try:
        return presets.apply(config, "paper")
    except ValueError:
        return configs.replace(config, {"utility.hidden": 128})


def measure(options: Options) -> dict[str, Any]:
    """Seconds of an iteration of each, and their ratio to QMIX's."""
    if options.iterations < 1:
        raise ValueError(f"iterations is {options.iterations}: it must be at least 1")
    cases, summaries = {}, {}
    for algo in dict.fromkeys((BASE, *options.algorithms)):
        trainer = make_trainer(config_of(options.task, algo))
        cases[algo] = Going(
            lambda state, trainer=trainer: trainer.advance(state, options.iterations),
            filled(trainer),
        )
        summaries[algo] = trainer.parts.explorer.summary
    taken = measuring.interleaved(cases, options.repetitions, options.seconds)
    return {
        "task": options.task,
        "algorithms": [
            {
                "algorithm": algo,
                "seconds": timing.record(options.iterations),
                "ratio": measuring.ratio(timing, taken[BASE]),
                "explorer": summaries[algo],
            }
            for algo, timing in taken.items()
        ],
    }


def render(record: dict[str, Any]) -> str:
    """A line for each algorithm."""
    lines = [
        (row["algorithm"], milliseconds(row["seconds"]["cpu_median"]), times(row["ratio"]))
        for row in record["algorithms"]
    ]
    return "\n".join(
        [
            f"{record['task']}: an iteration is one episode and one update",
            "",
            table(("algorithm", "ms", "of qmix"), lines),
            "",
            where(record["machine"]),
        ]
    )
