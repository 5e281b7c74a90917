"""`coe export RUNS... --out FILE.jsonl`: the rows of many runs as one table, to be kept."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from coemarl.cli.words import parse
from coemarl.refusal import Refusal


@dataclass(frozen=True)
class ExportOptions:
    """Write the metric rows of runs as one table: a JSON object a line, each with task, algo,
    seed, steps, the metrics, the options that are not the defaults, commit and command."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, or folders with runs in them."""
    out: Path | None = None
    """The file to write. None: standard output."""
    metrics: tuple[str, ...] = ()
    """Names of metrics to keep, or their beginnings, such as eval/. None given: all."""


def run(words: list[str]) -> int:
    """Export as the words say."""
    options = parse(ExportOptions, words, "export RUN [RUN ...]")
    if not options.runs:
        raise Refusal("no run given: say which folders, as in 'coe export runs --out table.jsonl'")
    import json

    from coemarl.runs import export, folder

    found = [run for path in options.runs for run in folder.runs_in(path)]
    rows = [row for run in found for row in export.table(run, options.metrics)]
    if options.out is None:
        for row in rows:
            print(json.dumps(row))
    else:
        export.write(options.out, rows)
        print(f"{len(rows)} rows of {len(found)} runs in {options.out}", file=sys.stderr)
    return 0
