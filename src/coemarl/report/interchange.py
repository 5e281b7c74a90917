"""Results as JSON in the layout of marl-eval, for its tools and those that read it:

    {environment: {task: {algorithm: {run: {
        "step_1": {"step_count": 25000, "return": [0.05], ...}, ...,
        "absolute_metrics": {"return": [0.71], ...}}}}}}

Each list holds one number: the mean over the evaluation's episodes. That layout's readers want all
runs of an environment alike: only seeds that have a return at all points are written, and of the
metrics those that all of them have everywhere. `absolute_metrics` are, by that protocol, of a
separate longer evaluation of the best team; we have none, and write the evaluation of the point
with the run's best return, which is biased upwards.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from coemarl.report.results import METRIC, RETURN, Results
from coemarl.statistics.curves import Curves

Json = dict[str, Any]


def interchange(results: Results) -> tuple[Json, list[str]]:
    """The layout's tree, and what its readers will not accept about it."""
    families: dict[str, list[str]] = {}
    for task in results.tasks:
        families.setdefault(task.partition(":")[0], []).append(task)
    tree: Json = {}
    notes = []
    for family, tasks in families.items():
        metrics = common_metrics(results, tasks)
        shapes = set()
        for task in tasks:
            algos = tree.setdefault(family, {}).setdefault(task.partition(":")[2] or task, {})
            for algo in results.algos:
                curves = {name: results.curves(task, algo, name) for name in metrics}
                runs = complete_runs(curves)
                shapes.add((len(runs), len(curves[RETURN].steps)))
                if runs:
                    algos[algo] = runs
        if len(shapes) > 1:
            notes.append(
                f"marl-eval.json: its readers want every algorithm on every task of {family}, with"
                " as many seeds and points each, and it is not so"
            )
    return tree, notes


def common_metrics(results: Results, tasks: list[str]) -> list[str]:
    """The metrics that the complete runs on these tasks have at all points; the return always."""
    kept = []
    for metric in results.metrics:
        pairs = [(task, algo) for task, algo in results.grids if task in tasks]
        whole = [results.curves(*pair, RETURN).complete for pair in pairs]
        theirs = [results.curves(*pair, metric).complete for pair in pairs]
        if all((has | ~wanted).all() for has, wanted in zip(theirs, whole, strict=True)):
            kept.append(metric)
    return kept


def complete_runs(curves: Mapping[str, Curves]) -> Json:
    """The runs of an algorithm on a task that have a return at every point."""
    returns = curves[RETURN]
    if len(returns.steps) == 0:
        return {}

    def measured(row: int, column: int) -> Json:
        return {
            name.removeprefix(METRIC): [float(each.values[row, column])]
            for name, each in curves.items()
        }

    runs: Json = {}
    for row in map(int, np.flatnonzero(returns.complete)):
        steps = {
            f"step_{column + 1}": {"step_count": int(step), **measured(row, column)}
            for column, step in enumerate(returns.steps)
        }
        best = measured(row, int(np.argmax(returns.values[row])))
        runs[f"seed_{returns.seeds[row]}"] = steps | {"absolute_metrics": best}
    return runs
