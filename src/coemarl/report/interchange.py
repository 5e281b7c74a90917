"""Results as JSON in the layout of marl-eval, for its tools and those that read it:

    {environment: {task: {algorithm: {run: {
        "step_1": {"step_count": 25000, "return": [0.05], ...}, ...,
        "absolute_metrics": {"return": [0.71], ...}}}}}}

Each list holds one number: the mean over the evaluation's episodes. Only seeds that have all points
are written, since that layout's readers want complete ones. `absolute_metrics` are, by that
protocol, of a separate longer evaluation of the best team; we have none, and write the evaluation
of the point with the run's best return, which is biased upwards.
"""

from typing import Any

import numpy as np

from coemarl.report.results import METRIC, RETURN, Results

Json = dict[str, Any]


def interchange(results: Results) -> tuple[Json, list[str]]:
    """The layout's tree, and what its readers will not accept about it."""
    tree: Json = {}
    sizes = set()
    for task in results.tasks:
        family, _, name = task.partition(":")
        for algo in results.algos:
            if not results.has(task, algo):
                continue
            runs = complete_runs(results, task, algo)
            tree.setdefault(family, {}).setdefault(name or family, {})[algo] = runs
            sizes.add((family, len(runs), len(results.grids[task, algo])))
    notes = []
    if len(sizes) > len({family for family, _, _ in sizes}):
        notes.append(
            "marl-eval wants as many complete seeds and points of every algorithm and task of an"
            " environment, and these differ"
        )
    return tree, notes


def complete_runs(results: Results, task: str, algo: str) -> Json:
    """The runs of an algorithm that have a return at every point."""
    metrics = [name for name in results.metrics if results.measures(task, name)]
    curves = {name: results.curves(task, algo, name) for name in metrics}
    returns = curves[RETURN]
    runs: Json = {}
    for row in np.flatnonzero(returns.complete):
        best = int(np.argmax(returns.values[row]))

        def at(column: int, row: int = int(row)) -> Json:
            values = {name: float(each.values[row, column]) for name, each in curves.items()}
            return {n.removeprefix(METRIC): [v] for n, v in values.items() if np.isfinite(v)}

        run: Json = {
            f"step_{column + 1}": {"step_count": int(step), **at(column)}
            for column, step in enumerate(returns.steps)
        }
        runs[f"seed_{returns.seeds[row]}"] = run | {"absolute_metrics": at(best)}
    return runs
