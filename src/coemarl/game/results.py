"""Outcomes of games as a table, as rows, and as one summary for machines.

Final regret is the expected cumulative regret of the whole game; the share is that of optimal
joint actions in its last tenth. Means are over seeds, with their standard error and a 95% interval
by the bootstrap: neither regrets nor shares are normal, and both have an end.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coemarl.game.options import TITLES, GameOptions
from coemarl.game.run import Outcome
from coemarl.runs import export, origin
from coemarl.statistics import estimate

POINTS = 100
"""Points of a curve that are kept."""


def kept_points(count: int) -> np.ndarray:
    """Which of so many points of a curve are kept: evenly spaced, with the last."""
    return np.unique(np.linspace(0, count, min(POINTS, count) + 1).round().astype(int)[1:] - 1)


def rows(outcomes: Sequence[Outcome], options: GameOptions) -> Iterator[dict[str, Any]]:
    """A row for each learner, p0 and seed. `hits` are the optimal joint actions until each of
    `at`: the regret there is (0.9 - p0) (at - hits)."""
    rules = dataclasses.asdict(options.rules)
    game = {name: getattr(options, name) for name in ("agents", "actions", "steps")}
    for each in outcomes:
        kept = kept_points(len(each.steps))
        for seed in range(options.seeds):
            yield {
                "learner": each.learner,
                "p0": each.p0,
                "seed": seed,
                "regret": round(float(each.final_regret[seed]), 6),
                "late_share": round(float(each.late_share[seed]), 6),
                **game,
                **rules,
                "at": each.steps[kept].tolist(),
                "hits": each.hits[seed, kept].tolist(),
            }


def described(values: np.ndarray) -> dict[str, float | None]:
    """Mean, standard error and 95% interval; null where one seed tells none."""
    found = estimate(values, "bootstrap")
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan
    numbers = {"mean": found.mean, "standard_error": error, "low": found.low, "high": found.high}
    return {name: None if np.isnan(number) else number for name, number in numbers.items()}


def summary(outcomes: Sequence[Outcome], options: GameOptions) -> dict[str, Any]:
    """Everything of the table, and the values of every seed, as JSON will have it."""
    return {
        "game": {**dataclasses.asdict(options)},
        "results": [
            {
                "learner": each.learner,
                "p0": each.p0,
                "final_regret": described(each.final_regret),
                "late_share": described(each.late_share),
                "final_regret_of_seeds": each.final_regret.tolist(),
                "late_share_of_seeds": each.late_share.tolist(),
            }
            for each in outcomes
        ],
    }


HEADINGS: tuple[str, ...] = (
    *("learner", "p0"),
    *("final regret", "se", "95% interval"),
    *("optimal", "se", "95% interval"),
)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes in Markdown, one line for each learner and p0."""
    lines = [list(HEADINGS)]
    for each in outcomes:
        regret, share = described(each.final_regret), described(each.late_share)
        cells = [
            *(number(regret[name]) for name in ("mean", "standard_error")),
            between(regret, number),
            *(percent(share[name]) for name in ("mean", "standard_error")),
            between(share, percent),
        ]
        lines.append([TITLES[each.learner], f"{each.p0:g}", *cells])
    return markdown(lines)


def number(value: float | None) -> str:
    """A regret: whole numbers from 100 on."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def percent(value: float | None) -> str:
    """A share."""
    return "-" if value is None else f"{100 * value:.1f}%"


def between(described: dict[str, float | None], text: Any) -> str:
    """An interval."""
    if described["low"] is None:
        return "-"
    return f"{text(described['low'])} to {text(described['high'])}"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table with its first line as the head and its first column to the left, aligned."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]

    def line_of(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(map(line_of, (lines[0], rule, *lines[1:])))


def write(out: Path, outcomes: Sequence[Outcome], options: GameOptions) -> list[Path]:
    """Table, rows, summary and curves in a folder; the files."""
    from coemarl.game import curves

    files = [out / name for name in ("rows.jsonl", "summary.json", "table.md")]
    export.write(files[0], rows(outcomes, options))
    made = {"commit": origin.commit(), "version": origin.version("coemarl")}
    whole = {**summary(outcomes, options), **made}
    files[1].write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    files[2].write_text(table(outcomes) + "\n", encoding="utf-8")
    return [*files, *curves.save(curves.figure(outcomes), out / "curves")]
