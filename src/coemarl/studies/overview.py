"""What a person sees of a study: a table of tasks and entries, from what its runs have told.

The driver keeps an `Overview` as it goes; `coe study status` makes one from the study's folder.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from coemarl.runs.loop import Event
from coemarl.runs.progress import duration, number, quantity, sparkline
from coemarl.runs.table import shortened
from coemarl.studies import folder as folders
from coemarl.studies.driver import Tell
from coemarl.studies.folder import StudyFolder
from coemarl.studies.runs import Run
from coemarl.studies.store import Row

RETURN = "eval/return"
TASK_WIDTH, LABEL_WIDTH, BAR_WIDTH = 20, 14, 10


@dataclass
class RunState:
    """What is known of one run."""

    run: Run
    phase: str = "waits"
    """waits, runs, done, failed, given-up, stopped."""
    curve: dict[int, float | None] = field(default_factory=dict)
    """Boundary: evaluation return."""
    steps: int = 0
    speed: float | None = None
    left: float | None = None
    deaths: int = 0
    why: str = ""

    @property
    def share(self) -> float:
        return 1.0 if self.phase == "done" else min(1.0, self.steps / self.run.config.steps)

    def add(self, row: Row) -> None:
        self.curve[row["boundary"]] = row.get(RETURN)
        self.steps = max(self.steps, row["steps"])


PHASES = {"begun": "runs", "died": "waits"}
"""What an event makes of a run, where that has another name."""


@dataclass
class Overview:
    """All runs of a study, by name, in the order of its table."""

    states: dict[str, RunState] = field(default_factory=dict)

    def hear(self, name: str, event: Event) -> None:
        """Take in an event of the driver."""
        kind = event["event"]
        if kind == "waits":
            state = self.states[name] = RunState(event["run"])
            for row in event["rows"]:
                state.add(row)
            return
        state = self.states[name]
        if kind == "row":
            state.add(event["row"])
        elif kind in ("start", "progress"):
            state.steps = event["steps"]
            state.speed = event.get("steps_per_second")
            state.left = event.get("seconds_left")
        elif kind in ("begun", "died", "done", "failed", "given-up", "stopped"):
            state.phase = PHASES.get(kind, kind)
            state.speed = state.left = None
            state.deaths += kind == "died"
            state.why = event.get("why") or state.why

    def groups(self) -> dict[tuple[str, str], list[RunState]]:
        """The runs by task and entry; a search's candidates are one group."""
        found: dict[tuple[str, str], list[RunState]] = {}
        for state in self.states.values():
            label, candidate, _ = state.run.label.partition("#")
            key = state.run.config.task, label + candidate
            found.setdefault(key, []).append(state)
        return found

    def counts(self) -> dict[str, int]:
        """How many runs are in which phase."""
        phases = [state.phase for state in self.states.values()]
        return {phase: phases.count(phase) for phase in dict.fromkeys(phases)}

    def lines(self, width: int) -> list[str]:
        """The table, every line at most `width` long."""
        if not self.states:
            return []
        groups = self.groups()
        tasks = min(TASK_WIDTH, max(len(task) for task, _ in groups))
        labels = min(LABEL_WIDTH, max(len(label) for _, label in groups) + 1)
        head = (
            f"{'task':<{tasks}}  {'algo':<{labels}}  {'runs':<7} {'done':<{BAR_WIDTH + 5}}"
            f" {'steps/s':>7} {'left':>6} {'return':>7}  curve"
        )
        rows = [head]
        before = None
        for (task, label), states in groups.items():
            shown = "" if task == before else shortened(task, tasks)
            before = task
            text = f"{shown:<{tasks}}  {shortened(label, labels):<{labels}}  {numbers(states)}  "
            curve = mean_curve(states)
            rows.append(text + sparkline(list(curve.values()), max(1, width - len(text))))
        return [row[:width] for row in [*rows, self.total()]]

    def total(self) -> str:
        """The last line: how many runs are where."""
        counts = self.counts()
        said = [f"{count} {phase}" for phase, count in counts.items()]
        return f"{len(self.states)} runs: {', '.join(said)}"

    def as_words(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "counts": self.counts(),
            "runs": {
                name: {
                    "task": state.run.config.task,
                    "algo": state.run.label,
                    "seed": state.run.config.seed,
                    "phase": state.phase,
                    "steps": state.steps,
                    "of": state.run.config.steps,
                    "steps_per_second": state.speed,
                    "return": list(state.curve.values())[-1] if state.curve else None,
                    **({"why": state.why} if state.why else {}),
                }
                for name, state in self.states.items()
            },
        }


def numbers(states: Sequence[RunState]) -> str:
    """Runs done, bar, share, speed of those that run, time left for them, and the latest mean."""
    done = sum(state.phase == "done" for state in states)
    share = sum(state.share for state in states) / len(states)
    full = round(BAR_WIDTH * share)
    bar = "━" * full + "─" * (BAR_WIDTH - full)
    speeds = [state.speed for state in states if state.speed]
    lefts = [state.left for state in states if state.left]
    fast = quantity(sum(speeds)) if speeds else ""
    left = duration(max(lefts)) if lefts else ""
    latest = list(mean_curve(states).values())[-1:] or [None]
    runs = f"{done}/{len(states)}"
    if failed := sum(state.phase == "failed" for state in states):
        runs += f" {failed}!"
    return f"{runs:<7} {bar} {share:4.0%} {fast:>7} {left:>6} {number(latest[0]):>7}"


def mean_curve(states: Sequence[RunState]) -> dict[int, float | None]:
    """At each evaluation, the mean over the runs that have come so far."""
    points = sorted({boundary for state in states for boundary in state.curve})
    curve: dict[int, float | None] = {}
    for point in points:
        values = [state.curve[point] for state in states if state.curve.get(point) is not None]
        known = [value for value in values if value is not None]
        curve[point] = sum(known) / len(known) if known else None
    return curve


def of_folder(place: StudyFolder, runs: Sequence[Run]) -> Overview:
    """The overview of a study as its folder shows it now."""
    overview = Overview()
    driven = folders.is_locked(place.lock)
    status = read_status(place) if driven else {}
    running, failed = status.get("running", {}), status.get("failed", [])
    for run in runs:
        overview.hear(run.name, {"event": "waits", "run": run, "rows": folders.rows_of(place, run)})
        if run.name in running:
            overview.hear(run.name, {"event": "begun"})
            if progress := running[run.name]:
                overview.hear(run.name, progress)
        elif folders.is_complete(place, run):
            overview.hear(run.name, {"event": "done"})
        elif run.name in failed:
            overview.hear(run.name, {"event": "failed"})
        elif overview.states[run.name].curve and not driven:
            overview.hear(run.name, {"event": "stopped"})
    return overview


def read_status(place: StudyFolder) -> dict[str, Any]:
    """What the driver last noted; nothing if it has not."""
    try:
        return json.loads(place.status.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


# Showing


@contextmanager
def shown(kind: str) -> Iterator[Tell]:
    """What `--progress` names: `auto` is a live table in a terminal and plain lines elsewhere,
    `json` one event a line, `none` nothing. All of it goes to standard error."""
    if kind == "none":
        yield lambda name, event: None
    elif kind == "json":
        yield as_json
    elif sys.stderr.isatty():
        with live(sys.stderr) as tell:
            yield tell
    else:
        yield lambda name, event: plain(sys.stderr, name, event)


def as_json(name: str, event: Event) -> None:
    """One event as a line of JSON."""
    words = {key: value for key, value in event.items() if key not in ("run", "rows")}
    print(json.dumps({"run": name, **words}), file=sys.stderr, flush=True)


def sentence(event: Event) -> str | None:
    """An event that is worth a line of its own, in words."""
    kind = event["event"]
    if kind == "died":
        return f"died ({event['why']}){'; goes on from its checkpoint' if event['again'] else ''}"
    if kind == "failed":
        return f"failed: {event['why']}"
    if kind == "note":
        return f"note: {event['text']}"
    return {"stopped": "stopped and saved", "given-up": "given up"}.get(kind)


def plain(stream: TextIO, name: str, event: Event) -> None:
    """A line for each row and for each thing that befell a run."""
    said = sentence(event)
    if event["event"] == "row":
        row = event["row"]
        said = f"{quantity(row['steps'])} steps, evaluation return {number(row.get(RETURN))}"
    elif event["event"] == "done":
        said = "done"
    elif event["event"] == "begun":
        said = "begins"
    if said is not None:
        print(f"{name}: {said}", file=stream, flush=True)


@contextmanager
def live(stream: TextIO) -> Iterator[Tell]:
    """The table, renewed with every event; above it stays what befell runs."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    overview = Overview()

    def draw() -> Text:
        lines = overview.lines(min(console.width, 120))
        return Text("\n".join(fitted(lines, console.height - 1)), no_wrap=True, overflow="crop")

    with Live(console=console, auto_refresh=False) as view:

        def tell(name: str, event: Event) -> None:
            overview.hear(name, event)
            if said := sentence(event):
                style = "red" if event["event"] in ("died", "failed") else "yellow"
                console.print(Text(f"{name}: {said}", style=style), soft_wrap=True)
            if event["event"] != "waits":
                view.update(draw(), refresh=True)

        yield tell
        view.update(draw(), refresh=True)


def fitted(lines: list[str], height: int) -> list[str]:
    """The lines, those in the middle left out if there are too many; the last is the total."""
    if len(lines) <= height:
        return lines
    left = len(lines) - height + 1
    return [*lines[: height - 2], f"... and {left} rows more", lines[-1]]
