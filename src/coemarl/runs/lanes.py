"""The host loop of several seeds that train as one program (`coemarl.stacked`), each in a run
folder of its own with its own rows and checkpoints.

A lane's row is written at the first iteration that has done the boundary's steps, as for a run
alone. A lane that is complete is saved at that moment; what its place in the program computes
later, until all are complete, is thrown away.

`lanes.json` in each folder names the seeds that train together, so that they are taken up together
again: only then do they go on to the same bytes.
"""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, folder, loop
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event, Pace, Stop
from coemarl.runs.table import ReportOf

if TYPE_CHECKING:
    from coemarl.stacked import Stack

NAME = "lanes.json"


@dataclass
class Lane:
    """One seed's run."""

    number: int
    name: str
    trainer: Any
    run: RunFolder
    report: Callable[[Event], None]
    due: list[int]
    """Boundaries that are still to come."""
    done: int | None
    """The boundary of the last row."""
    steps: int


def mark(runs: Sequence[RunFolder], seeds: Sequence[int]) -> None:
    """Write down in every folder that these seeds train together."""
    for run in runs:
        checkpoint.write_text(run.path / NAME, json.dumps({"seeds": list(seeds)}) + "\n")


def together(run: RunFolder) -> list[int]:
    """The seeds that train as one program with this run; none if it trains alone."""
    path = run.path / NAME
    if not path.exists():
        return []
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["seeds"])
    except (ValueError, KeyError, TypeError):
        raise Refusal(f"{path} is damaged: it does not name seeds") from None


def train(
    stack: "Stack", runs: Sequence[RunFolder], report: ReportOf, stop: Stop, keep: int = 2
) -> list[dict[str, Any]]:
    """Train all lanes to their ends or until `stop`, each from its newest checkpoint; the
    summaries, as of `loop.train`."""
    pace = Pace()
    with contextlib.ExitStack() as locks:
        for run in runs:
            locks.enter_context(folder.locked(run))
        lanes, stacked = take_up(stack, runs, report)
        while True:
            for lane in lanes:
                if lane.due and lane.steps >= lane.due[0] and stop.signal is None:
                    stacked = observe(stack, stacked, lane, pace, keep)
            waiting = [lane for lane in lanes if lane.due]
            if stop.signal is not None or not waiting:
                break
            if all(lane.steps < lane.due[0] for lane in waiting):
                stacked = advance(stack, stacked, lanes, pace)
        if stop.signal is not None:
            for lane in waiting:
                folder.save(lane.run, stack.lane(stacked, lane.number), lane.done, keep)
        return [summary(lane, pace) for lane in lanes]


def take_up(stack: "Stack", runs: Sequence[RunFolder], report: ReportOf) -> tuple[list[Lane], Any]:
    """Every lane from its newest checkpoint or from the start, and their joint state."""
    import jax

    lanes, states = [], []
    for number, (trainer, run) in enumerate(zip(stack.trainers, runs, strict=True)):
        name = run.path.name
        tell = lambda event, name=name: report(name, event)  # noqa: E731
        note = lambda text, tell=tell: tell({"event": "note", "text": text})  # noqa: E731
        found = folder.take_up(run, jax.eval_shape(trainer.init), note)
        if found is not None:
            folder.note_resumption(run, int(found[0].steps))
        tell(loop.start_event(trainer, run, found))
        state, done = (trainer.init(), None) if found is None else (found[0], found[1]["boundary"])
        due = loop.boundaries(trainer.config.evaluation.every, trainer.config.steps, done)
        lanes.append(Lane(number, name, trainer, run, tell, due, done, int(state.steps)))
        states.append(state)
    return lanes, stack.join(states)


def advance(stack: "Stack", stacked: Any, lanes: Sequence[Lane], pace: Pace) -> Any:
    """As many iterations as surely start before any lane's next boundary; at least one."""
    import numpy as np

    waiting = [lane for lane in lanes if lane.due]
    config = waiting[0].trainer.config
    longest = config.environments * waiting[0].trainer.spec.episode_limit
    nearest = min((lane.due[0] - lane.steps) // longest for lane in waiting)
    iterations = max(1, min(pace.iterations, nearest))
    before = time.perf_counter()
    stacked = stack.advance(stacked, iterations)
    steps = np.asarray(stacked.steps).tolist()  # waits for the chunk
    gained = max(steps[lane.number] - lane.steps for lane in waiting)
    pace.chunk_done(iterations, gained, time.perf_counter() - before)
    for lane in waiting:
        lane.steps = steps[lane.number]
        lane.report(loop.progress_event(lane.trainer, lane.steps, pace))
    return stacked


def observe(stack: "Stack", stacked: Any, lane: Lane, pace: Pace, keep: int) -> Any:
    """A lane's row and checkpoint at its boundary; the joint state with its sums read."""
    boundary = lane.due.pop(0)
    state = stack.lane(stacked, lane.number)
    state = loop.observe(lane.trainer, lane.run, state, boundary, pace, lane.report)
    lane.done = boundary
    folder.save(lane.run, state, boundary, keep)
    return stack.forget(stacked, lane.number)


def summary(lane: Lane, pace: Pace) -> dict[str, Any]:
    """How a lane ended, reported and returned."""
    rows, config = folder.read_rows(lane.run.rows), lane.trainer.config
    complete = lane.done == config.steps
    steps = rows[-1]["steps"] if complete else lane.steps
    result = loop.summary_of(config, lane.run, rows, steps, complete) | pace.spent()
    lane.report({"event": "end", "summary": result})
    return result
