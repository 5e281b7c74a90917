"""A report as one HTML page with everything in it: opened from a disk, without a network.

`assets/` has the page's frame, its style and its program, written by hand; here they are put into
one file together with the report's numbers as JSON. The page's own policy forbids it to load
anything from anywhere.
"""

import html
import json
import math
from importlib import resources
from typing import Any

import numpy as np

from coemarl.report import names
from coemarl.report.aggregate import THRESHOLDS, Aggregates
from coemarl.report.document import Document, summary
from coemarl.report.figures import INTERVAL_NAMES
from coemarl.report.made import one_or_range, short_commit
from coemarl.report.markdown import normalisation, notes_of
from coemarl.report.paper_tables import PAPER_STEPS, TABLES, paper_task
from coemarl.report.results import METRIC, Results
from coemarl.report.table import TEST_NAMES, Cell, Line, Table, legend, quantity, text
from coemarl.statistics.aggregates import Aggregate
from coemarl.statistics.curves import pointwise

DIGITS = 6
"""Significant digits of the numbers in the page."""
Json = dict[str, Any]


def page(document: Document) -> str:
    """The page's text."""
    assets = resources.files("coemarl.report") / "assets"
    parts = {
        "TITLE": html.escape(document.title),
        "SUMMARY": html.escape(summary(document)),
        "STYLE": (assets / "page.css").read_text(encoding="utf-8"),
        "PROGRAM": (assets / "page.js").read_text(encoding="utf-8"),
        # A "<" could end the element that the numbers stand in.
        "DATA": json.dumps(data(document), allow_nan=False).replace("<", "\\u003c"),
    }
    frame = (assets / "page.html").read_text(encoding="utf-8")
    pieces = frame.split("%%")  # text and names of parts, by turns
    return "".join(parts[piece] if odd % 2 else piece for odd, piece in enumerate(pieces))


def data(document: Document) -> Json:
    """All that the page shows."""
    results = document.results
    return {
        "interval": INTERVAL_NAMES[document.settings.interval],
        "test": TEST_NAMES[document.settings.test],
        "holm": document.settings.holm,
        "paperSteps": quantity(PAPER_STEPS),
        "algos": [
            {
                "id": algo,
                "title": names.algorithm_title(algo),
                "look": document.looks[algo] % len(names.COLOURS),
                "dash": " ".join(
                    f"{length * 1.6:g}" for length in names.dash(document.looks[algo])
                ),
            }
            for algo in results.algos
        ],
        "tasks": [
            {
                "id": task,
                "title": names.task_title(task),
                "family": names.family_title(task),
                "sparse": names.is_sparse(task),
            }
            for task in results.tasks
        ],
        "metrics": [{"id": m, "title": metric_title(m)} for m in shown_metrics(results)],
        "curves": {metric: curves(document, metric) for metric in shown_metrics(results)},
        "tables": [table_data(table) for table in document.tables],
        "aggregates": aggregates_data(document.aggregates),
        "arrivals": arrivals_data(document),
        "made": made_data(document),
        "notes": list(document.notes),
        "command": document.command,
    }


def shown_metrics(results: Results) -> list[str]:
    """Metrics with any number at all."""
    return [
        metric
        for metric in results.metrics
        if any(row.get(metric) is not None for run in results.runs for row in run.rows.values())
    ]


def metric_title(metric: str) -> str:
    return metric.removeprefix(METRIC).replace("_", " ")


def rounded(values: Any) -> list[float | None]:
    """Numbers with few digits; what is none as null."""
    return [one(value) for value in np.asarray(values, float).ravel()]


def one(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def curves(document: Document, metric: str) -> Json:
    """Of every task and algorithm: the points, the mean, the interval's ends, and each seed."""
    results = document.results
    found: Json = {}
    for task, algo in results.grids:
        mine = results.curves(task, algo, metric)
        if not np.isfinite(mine.values).any():
            continue
        points = pointwise(mine, document.settings.interval)
        found.setdefault(task, {})[algo] = {
            "steps": [int(step) for step in mine.steps],
            "mean": rounded([point.mean for point in points]),
            "low": rounded([point.low for point in points]),
            "high": rounded([point.high for point in points]),
            "count": [len(point.values) for point in points],
            "seeds": {
                str(seed): rounded(values)
                for seed, values in zip(mine.seeds, mine.values, strict=True)
                if np.isfinite(values).any()
            },
        }
    return found


def table_data(table: Table) -> Json:
    return {
        "summary": table.summary,
        "title": table.title,
        "legend": legend(table),
        "lines": [
            {
                "task": line.task,
                "kind": line.kind,
                "steps": quantity(line.steps),
                "best": line.champion,
                "cells": {a: cell_data(table, line, a, cell) for a, cell in line.cells.items()},
            }
            for line in table.lines
        ],
    }


def cell_data(table: Table, line: Line, algo: str, cell: Cell) -> Json:
    """A number as shown, and all behind it for whoever points at it."""
    estimate = cell.estimate
    return {
        "text": text(estimate, table.settings),
        "mark": cell.mark,
        "best": cell.best,
        "mean": one(estimate.mean),
        "step": estimate.step,
        "intervals": {INTERVAL_NAMES[kind]: rounded(each) for kind, each in cell.intervals.items()},
        "seeds": [[seed, one(v)] for seed, v in zip(estimate.seeds, estimate.values, strict=True)],
        "tests": {TEST_NAMES[name]: one(each.p) for name, each in cell.outcomes.items()},
        "p": one(cell.comparison.p) if cell.comparison else None,
        "notes": list(cell.notes),
        "paper": paper_data(table, line, algo, cell),
    }


def paper_data(table: Table, line: Line, algo: str, cell: Cell) -> Json | None:
    """The paper's number, and which of its tables has it."""
    if cell.paper is None:
        return None
    key = (paper_task(line.task), line.kind, algo)
    found = [each for each in TABLES if each.summary == table.summary and key in each.cells]
    return {
        "text": cell.paper.text,
        "best": cell.paper.best,
        "indistinct": cell.paper.indistinct,
        "table": f"{found[0].number} ({found[0].label})",
    }


def aggregate_data(aggregate: Aggregate) -> list[float | None]:
    return rounded([aggregate.value, aggregate.low, aggregate.high])


def aggregates_data(aggregates: Aggregates) -> Json:
    """What the tasks say together; nothing if there are not two algorithms to put together."""
    if len(aggregates.algos) < 2 or not aggregates.tasks:
        return {"algos": [], "notes": list(aggregates.notes)}
    return {
        "algos": list(aggregates.algos),
        "words": normalisation(aggregates),
        "means": {algo: aggregate_data(each) for algo, each in aggregates.means.items()},
        "thresholds": rounded(THRESHOLDS),
        "profiles": {
            algo: {"share": rounded(p.share), "low": rounded(p.low), "high": rounded(p.high)}
            for algo, p in aggregates.profiles.items()
        },
        "improvement": {
            a: {b: aggregate_data(aggregates.improvement[a, b]) for b in aggregates.algos if a != b}
            for a in aggregates.algos
        },
        "notes": [*aggregates.notes, *notes_of(aggregates)],
    }


def arrivals_data(document: Document) -> list[Json]:
    return [
        {
            "task": arrival.task,
            "target": one(arrival.target),
            "times": {
                algo: {
                    "text": times.text(),
                    "steps": rounded(times.steps),
                    "reached": [bool(each) for each in times.reached],
                }
                for algo, times in arrival.times.items()
            },
        }
        for arrival in document.arrivals
    ]


def made_data(document: Document) -> list[Json]:
    return [
        {
            "task": each.task,
            "algo": each.algo,
            "seeds": ", ".join(map(str, each.seeds)),
            "steps": one_or_range(each.steps),
            "points": one_or_range(each.points),
            "commits": [short_commit(commit) for commit in each.commits],
            "versions": list(each.versions),
            "commands": list(each.commands),
            "options": {path: str(value) for path, value in each.options.items()},
        }
        for each in document.made
    ]
