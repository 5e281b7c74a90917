"""Rows of metrics, from wherever they lie: run folders, studies, and files of exported rows.

A row is what `coe export` writes: task, algo, seed, boundary, steps, episodes, updates, metrics
(`eval/...`; null where there is none), options, commit, version, command.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coemarl.refusal import Refusal
from coemarl.runs import folder

Row = dict[str, Any]
NEEDED = ("task", "algo", "seed", "boundary")
"""Without these a row says of nothing what it measures."""
METRIC = "eval/"
"""How the names of the evaluation's metrics begin."""


@dataclass(frozen=True)
class Gathered:
    """The rows of several places together."""

    rows: tuple[Row, ...]
    sources: tuple[str, ...]
    """Where they lay."""
    notes: tuple[str, ...] = ()


def gather(paths: Iterable[Path]) -> Gathered:
    """All rows of files, run folders, and folders with either at any depth; Refusal if a place
    has none."""
    rows: list[Row] = []
    sources: list[str] = []
    notes: list[str] = []
    for path in paths:
        found = from_file(path) if path.is_file() else from_folder(path, notes)
        if not any(found.values()):
            raise Refusal(f"{path} holds no rows: train first, or name a file that coe export made")
        for source, its_rows in found.items():
            sources.append(source)
            rows += its_rows
    kept, said = without_repeats(rows)
    return Gathered(tuple(kept), tuple(dict.fromkeys(sources)), (*notes, *said))


def from_file(path: Path) -> dict[str, list[Row]]:
    """The rows of one file; Refusal if a line is none."""
    rows = folder.read_rows(path)
    for number, row in enumerate(rows, 1):
        if lacking := [name for name in NEEDED if name not in row]:
            raise Refusal(
                f"{path} has no {lacking[0]} in line {number}: a file of rows is what coe export"
                " writes"
            )
        try:
            checked(row)
        except (TypeError, ValueError):
            raise Refusal(
                f"{path} has a row without sense in line {number}: seed and boundary are whole"
                " numbers, options a table, eval/ metrics numbers or null"
            ) from None
    return {str(path): rows}


def checked(row: Row) -> None:
    """TypeError or ValueError if a value is of a kind that no export writes."""
    if not all(isinstance(row[name], int) for name in ("seed", "boundary")):
        raise TypeError
    if not all(isinstance(row[name], str) for name in ("task", "algo")):
        raise TypeError
    dict(row.get("options") or {})
    for name, value in row.items():
        if name.startswith(METRIC) and value is not None:
            float(value)


def from_folder(path: Path, notes: list[str]) -> dict[str, list[Row]]:
    """The rows of a run, or of all runs and files of rows below a folder."""
    if not path.is_dir():
        raise Refusal(f"no file or folder {path}: say where the rows lie")
    from coemarl.runs import export

    runs = folder.runs_below(path)
    found = {str(run.path): list(export.table(run)) for run in runs}
    inside = {run.path for run in runs}
    for file in sorted(path.rglob("*.jsonl")):
        if inside & set(file.parents):
            continue
        if not looks_like_rows(file):
            notes.append(f"{file} is not read: its lines are not rows of runs")
            continue
        found |= from_file(file)
    return found


def looks_like_rows(file: Path) -> bool:
    """Whether the first line of a file is a row."""
    with open(file, encoding="utf-8") as lines:
        try:
            first = json.loads(lines.readline())
        except ValueError:
            return False
    return isinstance(first, dict) and all(name in first for name in NEEDED)


def without_repeats(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Each row once. Rows that speak of the same moment of the same run and differ in what was
    measured are refused: only their maker knows which is right."""
    kept: dict[str, Row] = {}
    repeats = 0
    for row in rows:
        key = json.dumps(
            [row[name] for name in NEEDED] + [row.get("options") or {}], sort_keys=True
        )
        if key not in kept:
            kept[key] = row
        elif measured(kept[key]) == measured(row):
            repeats += 1
        else:
            raise Refusal(
                f"two rows of {row['algo']} on {row['task']}, seed {row['seed']}, at step"
                f" {row['boundary']} differ: leave out one of the places they come from"
            )
    return list(kept.values()), [f"{repeats} rows stood twice and count once"] if repeats else []


def measured(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name.startswith(METRIC)}
