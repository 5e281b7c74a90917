"""Run folders as one table: the rows of many runs, each row with all that says where it is from."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coemarl import config as configs
from coemarl.refusal import writing
from coemarl.runs import checkpoint, folder, origin
from coemarl.runs.folder import RunFolder

PLACED = ("task", "algo", "seed", "steps")
"""Choices that a row has in columns of its own."""


def table(run: RunFolder, metrics: Iterable[str] = ()) -> Iterator[dict[str, Any]]:
    """The run's rows with task, algorithm and seed before the numbers, and after them the
    choices that are not the defaults, the commit and the command.

    `metrics` are names or their beginnings (`eval/`); none means all.
    """
    config = folder.read_config(run)
    wanted = tuple(metrics)
    said = {"options": choices(config), **provenance(run)}
    names = {"task": config.task, "algo": config.algo, "seed": config.seed}
    for row in folder.metric_rows(run):
        counts = {name: row[name] for name in ("boundary", "steps", "episodes", "updates")}
        values = {
            name: value
            for name, value in row.items()
            if name not in counts and (not wanted or name.startswith(wanted))
        }
        yield {**names, **counts, **values, **said}


def choices(config: Any) -> dict[str, Any]:
    """Dotted paths and values of what differs from the defaults of this task and algorithm."""
    usual = flat(configs.default_config(config.task, config.algo))
    return {
        path: value
        for path, value in flat(config).items()
        if path not in PLACED and usual[path] != value
    }


def flat(record: Any, prefix: str = "") -> dict[str, Any]:
    """The fields of nested records by dotted path."""
    values: dict[str, Any] = {}
    for each in dataclasses.fields(record):
        value = getattr(record, each.name)
        path = prefix + each.name
        values |= flat(value, path + ".") if dataclasses.is_dataclass(value) else {path: value}
    return values


def provenance(run: RunFolder) -> dict[str, Any]:
    """Commit, version and command of a run; several, if others went on with it, joined by ` + `."""
    records = origin.read(run.origin)

    def joined(name: str) -> str | None:
        said = dict.fromkeys(each[name] for each in records if each.get(name))
        return " + ".join(said) or None

    command = origin.essential(records[0]["command"]) if records else None
    return {"commit": joined("commit"), "version": joined("version"), "command": command}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows, one JSON object a line, all or nothing; how many there were."""
    lines = [json.dumps(row) + "\n" for row in rows]
    with writing(path):
        checkpoint.write_text(path, "".join(lines))
    return len(lines)
