"""What a person sees of a run: a live line where there is a terminal, plain lines elsewhere.

Everything goes to standard error, so that standard output stays free for results.
"""

import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from coemarl.runs.loop import Event, Report

BARS = "▁▂▃▄▅▆▇█"
PLAIN_SECONDS = 30.0
"""Without a terminal, one line of progress in so many seconds."""


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The values as a row of bars from the lowest to the highest, at most `width` long.

    Longer histories are averaged in equal parts; equal values are drawn low; a missing one is ·.
    """
    parts = min(width, len(values))
    shown: list[float | None] = []
    for part in range(parts):
        piece = values[part * len(values) // parts : (part + 1) * len(values) // parts]
        finite = [value for value in piece if value is not None and math.isfinite(value)]
        shown.append(sum(finite) / len(finite) if finite else None)
    known = [value for value in shown if value is not None]
    low = min(known, default=0.0)
    span = max(known, default=0.0) - low
    scale = (len(BARS) - 1) / span if span > 0 else 0.0
    return "".join("·" if v is None else BARS[round((v - low) * scale)] for v in shown)


def duration(seconds: float | None) -> str:
    """A length of time in few letters: 42s, 3m05s, 2h07m, 3d04h."""
    if seconds is None or not math.isfinite(seconds):
        return "?"
    whole = round(seconds)
    for unit, size, lower, small in (("d", 86400, "h", 3600), ("h", 3600, "m", 60)):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // small:02d}{lower}"
    return f"{whole // 60}m{whole % 60:02d}s" if whole >= 60 else f"{whole}s"


def quantity(number: float) -> str:
    """A number in few letters: 950, 12.3k, 4.00M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.{max(0, 2 - int(math.log10(scaled)))}f}{letter}"
    return f"{number:.0f}"


def number(value: float | None) -> str:
    """A metric to three digits; a missing one as a dash."""
    return "-" if value is None else f"{value:.3g}"


def bytes_of(size: float) -> str:
    """A size of memory in the largest fitting unit: 812 B, 3.4 MB."""
    for unit, scale in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size:.0f} B"


def opening(event: Event) -> list[str]:
    """The lines before a run: what it is, where it lies, what it allocates."""
    gone = f", going on from step {event['steps']:,}" if event["resumed"] else ""
    head = f"{event['algo']} on {event['task']}, seed {event['seed']}: {event['of']:,} steps{gone}"
    return [head, f"folder: {event['folder']}", *event["plan"]]


def closing(summary: dict[str, Any]) -> list[str]:
    """The lines after a run: how it went and, if it was stopped, how to go on."""
    if "died" in summary:
        return [f"died: {summary['died']}", f"try again: {going_on(summary['folder'])}"]
    if not summary["complete"]:
        saved = f"stopped at step {summary['steps']:,} of {summary['of']:,} and saved"
        return [saved, f"go on with: {going_on(summary['folder'])}"]
    first, last = summary["eval/return first"], summary["eval/return last"]
    took = f"{duration(summary['seconds'])}, {quantity(summary['steps_per_second'])} steps/s"
    return [
        f"done: {summary['steps']:,} steps in {took}",
        f"evaluation return: {number(first)} before, {number(last)} after",
    ]


def going_on(folder: str) -> str:
    """The command that takes a run, or all in a folder, up again."""
    return shlex.join(["coe", "train", "--resume", folder])


def plain(
    stream: TextIO, prefix: str = "", ending: Callable[[dict[str, Any]], list[str]] = closing
) -> Report:
    """Progress as plain lines: every row, and now and then how far it is."""
    told = [time.monotonic()]

    def say(text: str) -> None:
        print(prefix + text, file=stream, flush=True)

    def report(event: Event) -> None:
        kind = event["event"]
        if kind == "start":
            for line in opening(event):
                say(line)
        elif kind == "note":
            say(f"note: {event['text']}")
        elif kind == "row":
            row = event["row"]
            say(f"step {row['steps']:,}: evaluation return {number(row['eval/return'])}")
        elif kind == "progress" and time.monotonic() - told[0] >= PLAIN_SECONDS:
            told[0] = time.monotonic()
            say(progress_line(event))
        elif kind == "end":
            for line in ending(event["summary"]):
                say(line)

    return report


def progress_line(event: Event) -> str:
    """How far a run is, in one line."""
    way = f"step {event['steps']:,} of {event['of']:,}"
    if not event["steps_per_second"]:
        return f"{way}, compiled"
    speed, left = quantity(event["steps_per_second"]), duration(event["seconds_left"])
    return f"{way}, {speed} steps/s, {left} left"


@contextmanager
def live(stream: TextIO) -> Iterator[Report]:
    """Progress as two lines that renew themselves, below the notes; fits the terminal's width."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=False)
    returns: list[float | None] = []
    latest: Event = {}

    def draw() -> Text:
        width = min(console.width, 100)
        return Text("\n".join(live_lines(latest, returns, width)), no_wrap=True, overflow="crop")

    with Live(console=console, auto_refresh=False, transient=True) as view:

        def report(event: Event) -> None:
            kind = event["event"]
            if kind == "start":
                returns.extend(row["eval/return"] for row in event["rows"])
                for line in opening(event):
                    console.print(Text(line))
            elif kind == "note":
                console.print(Text(f"note: {event['text']}", style="yellow"))
            elif kind == "row":
                returns.append(event["row"]["eval/return"])
            elif kind == "end":
                view.update(Text(""), refresh=True)
                view.stop()
                for line in closing(event["summary"]):
                    console.print(Text(line))
                return
            if kind in ("start", "progress"):
                latest.update(event)
            view.update(draw(), refresh=True)

        yield report


def live_lines(latest: Event, returns: Sequence[float | None], width: int) -> list[str]:
    """The two renewed lines: a bar with speed and time left, and the evaluation's curve."""
    steps, of = latest.get("steps", 0), latest.get("of", 1)
    share = min(1.0, steps / of)
    speed = latest.get("steps_per_second")
    if speed:
        ending = f"{quantity(speed)} steps/s, {duration(latest['seconds_left'])} left"
    else:
        ending = "compiling"
    numbers = f" {share:4.0%} {quantity(steps)}/{quantity(of)} steps  {ending}"
    room = max(5, width - len(numbers) - 1)
    full = round(room * share)
    best = max((value for value in returns if value is not None), default=None)
    last = returns[-1] if returns else None
    label = f"evaluation return {number(last)} (best {number(best)}) "
    bar = "━" * full + "─" * (room - full)
    return [bar + numbers, label + sparkline(returns, width - len(label) - 1)]


@contextmanager
def progress(kind: str = "auto") -> Iterator[Report]:
    """What `--progress` names: `auto` is live in a terminal and plain lines elsewhere, `json` one
    event a line, `none` nothing. All of it goes to standard error."""
    if kind == "none":
        yield lambda event: None
    elif kind == "json":
        yield lambda event: print(json.dumps(event), file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        with live(sys.stderr) as report:
            yield report
    else:
        yield plain(sys.stderr)
