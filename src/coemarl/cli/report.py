"""`coe report PLACES...`: the tables, curves and statistics of runs, as documents."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from coemarl.cli.words import parse
from coemarl.refusal import Refusal
from coemarl.statistics.comparisons import TestKind
from coemarl.statistics.intervals import IntervalKind


@dataclass(frozen=True)
class ReportOptions:
    """Tell what runs have shown: the paper's tables with intervals and tests (Markdown, LaTeX and
    here), learning curves (PNG and PDF), one page with everything for a browser, and JSON in
    marl-eval's layout. Each output says how its numbers were made."""

    places: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """A study's folder (or the name of one in `studies`), run folders, or files of rows that
    coe export wrote."""
    out: Path | None = None
    """The folder to write. None: `report` in the first place (beside it, if it is a file)."""
    title: str | None = None
    """The report's title. None: the first place's name."""
    interval: IntervalKind = "normal"
    """95% intervals over seeds: the paper's 1.96 s / sqrt(n), Student's t, or the bootstrap."""
    test: TestKind = "student"
    """The test behind the asterisk; the others stand beside it."""
    holm: bool = False
    """Correct the p values for the number of tests in a table."""
    digits: int = 2
    """Digits behind the point, as many as the paper has."""
    until: int | None = None
    """Leave out what comes behind this step."""
    targets: tuple[float, ...] = ()
    """Returns whose arrival is timed. None given: half of the best maximum of each task."""
    bounds: tuple[str, ...] = ()
    """What returns are normalised by, as mpe:adversary=0,25 or mpe=0,25. None given: 0 and 1 for
    lbf, 0 and 20 for battles, elsewhere the lowest and highest value of those compared."""
    tables_only: bool = False
    """Print the tables and write nothing."""


def run(words: list[str]) -> int:
    """Report as the words say."""
    options = parse(ReportOptions, words, "report PLACE [PLACE ...]")
    if not options.places:
        raise Refusal("no place given: say where the rows lie, as in 'coe report results'")
    if not 0 <= options.digits <= 9:
        raise Refusal(f"--digits is {options.digits}: it must be from 0 to 9")
    from coemarl.report import rows, terminal
    from coemarl.report.document import make_document
    from coemarl.report.table import Settings

    bounds = dict(bounds_of(text) for text in options.bounds)
    places = [place_of(path) for path in options.places]
    first = places[0]
    document = make_document(
        options.title or first.resolve().stem,
        rows.gather(places),
        Settings(options.interval, options.test, options.holm, options.digits),
        bounds,
        options.targets,
        options.until,
        shlex.join(["coe", "report", *words]),
    )
    terminal.show(document, sys.stdout)
    if not options.tables_only:
        from coemarl.report.write import write

        out = options.out or (first if first.is_dir() else first.parent) / "report"
        for path in write(document, out):
            print(f"wrote {path}", file=sys.stderr)
    return 0


def place_of(path: Path) -> Path:
    """The path as it is, or the folder where `coe study run` puts a study of that name."""
    named = Path("studies") / path
    return named if not path.exists() and (named / "study.toml").is_file() else path


def bounds_of(text: str) -> tuple[str, tuple[float, float]]:
    """The task and the bounds that a word such as `lbf=0,1` says."""
    task, _, ends = text.partition("=")
    try:
        low, high = (float(end) for end in ends.split(","))
    except ValueError:
        raise Refusal(
            f"--bounds {text}: say a task or a family and two numbers, as mpe=0,25"
        ) from None
    if not low < high:
        raise Refusal(f"--bounds {text}: the first number must be below the second")
    return task, (low, high)
