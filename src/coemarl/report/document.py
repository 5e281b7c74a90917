"""A report before it has a form: all that its outputs say, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coemarl.report import names
from coemarl.report.aggregate import Aggregates, Arrival, Bounds, make_aggregates, make_arrivals
from coemarl.report.made import Made, made, one_or_range
from coemarl.report.results import Results, of_rows
from coemarl.report.rows import Gathered
from coemarl.report.table import SUMMARIES, Settings, Table, cell_notes, make_table


@dataclass(frozen=True)
class Document:
    """One report."""

    title: str
    results: Results
    settings: Settings
    tables: tuple[Table, ...]
    aggregates: Aggregates
    arrivals: tuple[Arrival, ...]
    made: tuple[Made, ...]
    looks: Mapping[str, int]
    notes: tuple[str, ...]
    """What a reader must know before believing a number."""
    command: str
    """What made this report."""


def make_document(
    title: str,
    gathered: Gathered,
    settings: Settings,
    bounds: Bounds | None = None,
    targets: Sequence[float] = (),
    until: int | None = None,
    command: str = "",
) -> Document:
    """The report of rows."""
    results = of_rows(gathered.rows, until, gathered.notes)
    tables = tuple(make_table(results, summary, settings) for summary in SUMMARIES)
    notes = list(results.notes)
    if until is not None:
        notes.append(f"rows behind step {until:,} are left out, as asked")
    for table in tables:
        notes += cell_notes(table)
    return Document(
        title,
        results,
        settings,
        tables,
        make_aggregates(results, tables[0], bounds or {}),
        tuple(make_arrivals(results, targets)),
        tuple(made(results)),
        names.looks(results.algos),
        tuple(dict.fromkeys(notes)),
        command,
    )


def summary(document: Document) -> str:
    """What was compared, in a sentence."""
    results = document.results
    ends = [run.end for run in results.runs]
    counts = [len(each.seeds) for each in document.made]
    seeds = f"{one_or_range(counts)} seed{'' if max(counts) == 1 else 's'} each"
    return (
        f"{plural(len(results.algos), 'algorithm')} on {plural(len(results.tasks), 'task')},"
        f" {plural(len(results.runs), 'run')}: {seeds},"
        f" {one_or_range(ends)} environment steps."
    )


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
