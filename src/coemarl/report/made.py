"""How the numbers were made: for every algorithm on every task its seeds, steps, commits, options
and commands. Each output of a report ends with it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from coemarl.report.results import Results, Run


@dataclass(frozen=True)
class Made:
    """The runs of one algorithm on one task."""

    task: str
    algo: str
    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    """Per seed the steps done; the last episode may go beyond the last point."""
    points: tuple[int, ...]
    """Per seed the number of evaluations."""
    commits: tuple[str, ...]
    versions: tuple[str, ...]
    commands: tuple[str, ...]
    """Commands that differ by their seed alone stand once, with SEED in its place."""
    options: dict[str, Any]
    """What all seeds have that is no default."""


def made(results: Results) -> list[Made]:
    """One record for each algorithm on each task, in the report's order."""
    records = []
    for task in results.tasks:
        for algo in results.algos:
            runs = [run for run in results.runs if (run.task, run.algo) == (task, algo)]
            if runs:
                records.append(of_runs(task, algo, runs))
    return records


def of_runs(task: str, algo: str, runs: Sequence[Run]) -> Made:
    options = [run.last.get("options") or {} for run in runs]
    return Made(
        task,
        algo,
        tuple(run.seed for run in runs),
        tuple(int(run.last.get("steps") or run.end) for run in runs),
        tuple(len(run.rows) for run in runs),
        told(run.last.get("commit") for run in runs),
        told(run.last.get("version") for run in runs),
        told(without_seed(run.last.get("command")) for run in runs),
        {p: v for p, v in options[0].items() if all(each.get(p) == v for each in options)},
    )


def told(values: Iterable[Any]) -> tuple[str, ...]:
    """The different values; `unknown` for what no row says."""
    return tuple(dict.fromkeys(str(value) if value else "unknown" for value in values))


def without_seed(command: str | None) -> str | None:
    """A command with SEED in place of the seed."""
    return re.sub(r"(--seeds?[ =])\d+(?=\s|$)", r"\1SEED", command) if command else None


def short_commit(commit: str) -> str:
    """The first letters of each commit in a text, as git shows them, and what follows them."""
    return re.sub(r"\b([0-9a-f]{10})[0-9a-f]{30}\b", r"\1", commit)


def one_or_range(values: Sequence[int]) -> str:
    """Equal numbers once, others as a range."""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
