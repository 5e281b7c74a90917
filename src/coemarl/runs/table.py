"""What a person sees of several runs at once: in a terminal a table that renews itself, one line
for each run that goes on now; elsewhere plain lines with the run's name before them.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from coemarl.runs.loop import Event
from coemarl.runs.progress import closing, duration, number, opening, plain, quantity, sparkline

ReportOf = Callable[[str, Event], None]
"""`report(name, event)`: what happened to the run of that name."""

NAME_WIDTH = 22
BAR_WIDTH = 12


@dataclass
class Line:
    """What the table knows of one run."""

    latest: Event = field(default_factory=dict)
    returns: list[float | None] = field(default_factory=list)


@contextmanager
def several(kind: str, names: Sequence[str]) -> Iterator[ReportOf]:
    """What `--progress` names, for runs of these names; kinds as of `progress.progress`. All of it
    goes to standard error."""
    if kind == "none":
        yield lambda name, event: None
    elif kind == "json":
        yield lambda name, event: print(
            json.dumps({"run": name, **event}), file=sys.stderr, flush=True
        )
    elif sys.stderr.isatty():
        with live(sys.stderr, names) as report:
            yield report
    else:
        yield plain_of_all(sys.stderr)


def ending(summary: dict[str, Any]) -> list[str]:
    """The lines after one of several runs; how to go on is said once, for all of them."""
    lines = closing(summary)
    return lines if summary["complete"] else lines[:1]


def plain_of_all(stream: TextIO) -> ReportOf:
    """Each run's plain lines, its name before them."""
    reports: dict[str, Callable[[Event], None]] = {}

    def report(name: str, event: Event) -> None:
        reports.setdefault(name, plain(stream, f"{name}: ", ending))(event)

    return report


@contextmanager
def live(stream: TextIO, names: Sequence[str]) -> Iterator[ReportOf]:
    """The table of the runs that go on; above it stays what is said once: the runs' plan, notes,
    and how each of them ended."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=False)
    lines: dict[str, Line] = {}
    plans: set[tuple[str, ...]] = set()
    ended: set[str] = set()

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style), soft_wrap=True)

    def draw() -> Text:
        going = {name: lines[name] for name in names if name in lines}
        waiting = len(names) - len(ended) - len(going)
        shown = table_lines(going, waiting, min(console.width, 100))
        return Text("\n".join(shown[: console.height - 1]), no_wrap=True, overflow="crop")

    with Live(console=console, auto_refresh=False, transient=True) as view:

        def report(name: str, event: Event) -> None:
            kind = event["event"]
            if kind == "start":
                lines[name] = Line(returns=[row["eval/return"] for row in event["rows"]])
                plan = tuple(event["plan"])
                if plan not in plans:  # runs that differ by their seed have one plan
                    plans.add(plan)
                    for text in plan:
                        say(text)
                say(f"{name}: {opening(event)[0]}")
            elif kind == "note":
                say(f"{name}: note: {event['text']}", "yellow")
            elif kind == "row" and name in lines:
                lines[name].returns.append(event["row"]["eval/return"])
            elif kind == "end":
                lines.pop(name, None)
                ended.add(name)
                for text in ending(event["summary"]):
                    say(f"{name}: {text}", "red" if "died" in event["summary"] else "")
            if kind in ("start", "progress") and name in lines:
                lines[name].latest.update(event)
            view.update(draw(), refresh=True)

        yield report


def table_lines(lines: dict[str, Line], waiting: int, width: int) -> list[str]:
    """The table as text, every line at most `width` long."""
    if not lines:
        return []
    longest = min(NAME_WIDTH, max(len(name) for name in lines))
    head = f"{'run':<{longest}}  {'done':<{BAR_WIDTH + 5}} {'steps/s':>8} {'left':>7} {'return':>8}"
    rows = [f"{head}  curve"]
    for name, line in lines.items():
        text = f"{shortened(name, longest):<{longest}}  {numbers_of(line)}  "
        rows.append(text + sparkline(line.returns, max(1, width - len(text))))
    if waiting > 0:
        rows.append(f"{waiting} more to come")
    return [row[:width] for row in rows]


def numbers_of(line: Line) -> str:
    """Bar, share, speed, time left and latest return of a run, in columns."""
    latest = line.latest
    share = min(1.0, latest.get("steps", 0) / latest.get("of", 1))
    full = round(BAR_WIDTH * share)
    speed = latest.get("steps_per_second")
    fast = quantity(speed) if speed else "begins"
    left = duration(latest.get("seconds_left")) if speed else ""
    last: Any = line.returns[-1] if line.returns else None
    bar = "━" * full + "─" * (BAR_WIDTH - full)
    return f"{bar} {share:4.0%} {fast:>8} {left:>7} {number(last):>8}"


def shortened(name: str, width: int) -> str:
    """A name with its middle left out if it is too long."""
    if len(name) <= width:
        return name
    return f"{name[: (width - 3) // 2]}...{name[len(name) - (width - 2) // 2 :]}"
