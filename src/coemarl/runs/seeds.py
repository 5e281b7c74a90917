"""Several runs at once, as processes: one core and one thread each, as many as there are cores.

Each child is `coe train --resume RUN`, so a child that dies loses minutes and can be taken up
again like any run. Its events come as lines of JSON over its standard error; what else it says is
kept for the case that it dies. A child whose parent is gone ends at its next event.
"""

import json
import os
import queue
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coemarl.runs import folder, loop, machine, table
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event, Stop
from coemarl.runs.table import ReportOf

LAST_WORDS = 20
"""Lines kept of what a child says beside its events."""


@dataclass
class Child:
    """One run in a process of its own."""

    name: str
    run: RunFolder
    core: int | None
    process: "subprocess.Popen[str]"
    summary: dict[str, Any] | None = None
    words: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_WORDS))


Events = queue.SimpleQueue[tuple[Child, Event | None]]
"""What children tell; None once a child says no more."""


def train_all(
    runs: Sequence[RunFolder], progress: str = "auto", keep: int = 2
) -> list[dict[str, Any]]:
    """Train every run to its end, as many at once as there are cores; the summaries in order.

    Ctrl-C stops all of them, and each saves. A summary has `complete` False if its run was
    stopped, and `died` with its last words if its process failed; the others go on meanwhile.
    """
    names = short_names([run.path for run in runs])
    waiting = deque(zip(names, runs, strict=True))
    with loop.listening() as stop, table.several(progress, names) as report:
        done = _work(waiting, deque(places(len(runs))), keep, report, stop)
    return [done[name] for name in names]


def _work(
    waiting: deque[tuple[str, RunFolder]],
    cores: deque[int | None],
    keep: int,
    report: ReportOf,
    stop: Stop,
) -> dict[str, dict[str, Any]]:
    """Start children while cores are free and hear them until none is left; summaries by name."""
    done: dict[str, dict[str, Any]] = {}
    events: Events = queue.SimpleQueue()
    children: list[Child] = []
    asked = False
    try:
        while children or (waiting and stop.signal is None):
            while waiting and cores and stop.signal is None:
                children.append(_start(*waiting.popleft(), cores.popleft(), keep, events))
            if stop.signal is not None and not asked:
                asked = True
                for child in children:
                    child.process.send_signal(signal.SIGINT)
            try:
                child, event = events.get(timeout=0.2)
            except queue.Empty:
                continue
            if event is not None:
                _hear(child, event, report)
            else:
                children.remove(child)
                cores.append(child.core)
                done[child.name] = _ended(child, report)
    finally:
        for child in children:
            child.process.kill()
            child.process.wait()
    for name, run in waiting:
        done[name] = unfinished(run)
        report(name, {"event": "end", "summary": done[name]})
    return done


def _start(name: str, run: RunFolder, core: int | None, keep: int, events: Events) -> Child:
    """A child that trains one run, and a thread that reads what it says."""
    words = [*machine.THIS_PROGRAM, "train", "--resume", str(run.path)]
    process = subprocess.Popen(
        [*words, "--progress", "json", "--keep", str(keep)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # A Ctrl-C in the terminal is heard by the parent alone, which passes it on once.
        process_group=0 if os.name == "posix" else None,
        env={"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ},
    )
    if core is not None:
        os.sched_setaffinity(process.pid, {core})
    child = Child(name, run, core, process)

    def listen() -> None:
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                event = event_of(line)
                if event is None:
                    child.words.append(line.rstrip())
                else:
                    events.put((child, event))
        events.put((child, None))

    threading.Thread(target=listen, daemon=True).start()
    return child


def event_of(line: str) -> Event | None:
    """The event that a line of JSON says; None for any other line."""
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def _hear(child: Child, event: Event, report: ReportOf) -> None:
    if event["event"] == "end":
        child.summary = event["summary"]
    report(child.name, event)


def _ended(child: Child, report: ReportOf) -> dict[str, Any]:
    """The summary of a child that is over, whichever way."""
    status = child.process.wait()
    if child.summary is not None and status in (0, 130):
        return child.summary
    summary = unfinished(child.run)
    if status != 130:
        summary["died"] = last_words(status, child.words)
    report(child.name, {"event": "end", "summary": summary})
    return summary


def last_words(status: int, words: Sequence[str]) -> str:
    """Why a child died, in a line: the signal that ended it, or the last thing that it said."""
    if status < 0:
        name = signal.Signals(-status).name
        perhaps = " (perhaps memory ran out)" if name == "SIGKILL" else ""
        return f"ended by {name}{perhaps}"
    said = [line.strip() for line in words if line.strip()]
    return (said[-1] if said else f"status {status}").removeprefix("coe: ")


def unfinished(run: RunFolder) -> dict[str, Any]:
    """The summary of a run that nobody trains now, as far as its rows go."""
    rows = folder.metric_rows(run)
    return loop.summary_of(folder.read_config(run), run, rows, rows[-1]["steps"] if rows else 0)


def short_names(paths: Sequence[Path]) -> list[str]:
    """The paths as told apart: without the folders that all of them lie in."""
    if len(paths) == 1:
        return [paths[0].name]
    places = [path.absolute() for path in paths]
    shared = os.path.commonpath(places)
    return [str(place.relative_to(shared)) for place in places]


def places(runs: int) -> list[int | None]:
    """A place for each run that can go on at once: the number of its core, or None where the
    system shall choose, as it does if some cores stay free or it lets nobody choose."""
    cores = machine.cores()
    if runs < cores or not hasattr(os, "sched_setaffinity"):
        return [None] * min(runs, cores)
    return [*sorted(os.sched_getaffinity(0))]
