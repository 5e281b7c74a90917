"""Rows of metrics, from wherever they lie: run folders, studies, and files of exported rows.

A row is what `coe export` writes: task, algo, seed, boundary, steps, episodes, updates, metrics
(`eval/...`; null where there is none), options, commit, version, command. A study's rows have its
own label in `algo` and the algorithm in `algorithm`; their options are JSON as text.
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
    """The rows of several places together, options as tables."""

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
    kept, said = without_repeats([with_options(row) for row in rows])
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


def with_options(row: Row) -> Row:
    """The row with its options as a table."""
    options = row.get("options") or {}
    return {**row, "options": json.loads(options) if isinstance(options, str) else options}


def checked(row: Row) -> None:
    """TypeError or ValueError if a value is of a kind that no export writes."""
    if not all(isinstance(row[name], int) for name in ("seed", "boundary")):
        raise TypeError
    if not all(isinstance(row[name], str) for name in ("task", "algo")):
        raise TypeError
    dict(with_options(row)["options"])
    for name, value in row.items():
        if name.startswith(METRIC) and value is not None:
            float(value)


def from_folder(path: Path, notes: list[str]) -> dict[str, list[Row]]:
    """The rows of all studies, runs and files of rows in a folder. What lies in a study's folder
    is in its store already."""
    if not path.is_dir():
        raise Refusal(f"no file or folder {path}: say where the rows lie")
    from coemarl.runs import export

    found: dict[str, list[Row]] = {}
    inside: set[Path] = set()
    for study in sorted(file.parent for file in path.rglob("study.toml")):
        found[str(study)] = of_study(study, notes)
        inside.add(study)
    for run in folder.runs_below(path):
        if not inside & {run.path, *run.path.parents}:
            found[str(run.path)] = list(export.table(run))
            inside.add(run.path)
    for file in sorted(path.rglob("*.jsonl")):
        if inside & set(file.parents):
            continue
        if not looks_like_rows(file):
            notes.append(f"{file} is not read: its lines are not rows of runs")
            continue
        found |= from_file(file)
    return found


def of_study(path: Path, notes: list[str]) -> list[Row]:
    """The rows of a study, and in the notes those of its runs that have none, or not all."""
    from coemarl.studies import store, study

    rows = store.rows(path)
    for row in rows:
        checked(row)
    ends: dict[tuple[str, str, int], int] = {}
    for row in rows:
        run = (row["task"], row["algo"], row["seed"])
        ends[run] = max(row["boundary"], ends.get(run, 0))
    said = study.load(str(path))
    for entry in said.entries:
        if entry.space is not None:  # its runs are candidates: which there are, a search decides
            continue
        for task in said.tasks_of(entry):
            lacking = [seed for seed in said.seeds if (task, entry.label, seed) not in ends]
            if lacking:
                listed = ", ".join(map(str, lacking))
                notes.append(f"{entry.label} on {task}: no rows (yet) of seed {listed}")
            wanted = said.task(task).steps or said.steps
            going = [s for t, label, s in ends if (t, label) == (task, entry.label)]
            short = [s for s in going if wanted and ends[task, entry.label, s] < wanted]
            if short:
                at = ", ".join(f"{s} at step {ends[task, entry.label, s]:,}" for s in short)
                notes.append(f"{entry.label} on {task}: not done, seed {at} of {wanted:,}")
    return rows


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
        key = json.dumps([*(row[name] for name in NEEDED), row["options"]], sort_keys=True)
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
