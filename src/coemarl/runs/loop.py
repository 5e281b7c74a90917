"""The host loop around a compiled trainer: advance, evaluate, write a row, save, again.

Rows are written at step 0, at every `evaluation.every` steps, and at the end. How far one call of
`advance` goes depends on the clock (about a second, so that progress shows and signals are heard),
but the state at a boundary does not: a boundary is reached at the first iteration that has done
its steps, however the way there was cut.
"""

import contextlib
import functools
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coemarl.runs import folder, machine
from coemarl.runs.folder import RunFolder

if TYPE_CHECKING:
    from coemarl.training import Trainer

Event = dict[str, Any]
"""What happened, for whoever shows it: `event` is start, progress, row, note or end."""
Report = Callable[[Event], None]

CHUNK_SECONDS = 1.0
"""How long one call of `advance` should take."""
GROWTH = 8
"""A chunk is at most so many times as long as the one before: the first has told little."""
SAVE_SECONDS = 600.0
"""A way between two rows that takes longer is saved on the way too."""


@dataclass
class Stop:
    """Whether somebody wants the run to stop, and by which signal."""

    signal: int | None = None


@contextlib.contextmanager
def listening() -> Iterator[Stop]:
    """Turn the first Ctrl-C or SIGTERM into a wish to stop; the second one ends at once."""
    stop = Stop()
    caught = (signal.SIGINT, signal.SIGTERM)

    def hear(number: int, _frame: Any) -> None:
        stop.signal = number
        for name, handler in before.items():
            signal.signal(name, handler)

    before = {name: signal.getsignal(name) for name in caught}
    for name in caught:
        signal.signal(name, hear)
    try:
        yield stop
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


@dataclass
class Pace:
    """Measures how fast a run goes, and says how many iterations make up one chunk."""

    began: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=time.process_time)
    iterations: int = 1
    compiled: bool = False
    training_seconds: float = 0.0
    training_steps: int = 0

    def chunk_done(self, iterations: int, steps: int, seconds: float) -> None:
        """Learn from one chunk. The first one is left out: it contains the compilation."""
        if not self.compiled:
            self.compiled = True
            machine.give_back()
            return
        self.training_seconds += seconds
        self.training_steps += steps
        wanted = int(iterations * CHUNK_SECONDS / max(seconds, 1e-9))
        self.iterations = max(1, min(wanted, iterations * GROWTH))

    @property
    def steps_per_second(self) -> float:
        """Environment steps per second of training, evaluation and compilation left out."""
        return self.training_steps / max(self.training_seconds, 1e-9)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def spent(self) -> dict[str, float]:
        """Time so far, for the summary."""
        speed = round(self.steps_per_second, 1)
        return {"seconds": round(self.seconds, 1), "steps_per_second": speed}


def boundaries(every: int, steps: int, done: int | None) -> list[int]:
    """The steps at which rows are due, those up to `done` left out."""
    due = [*range(0, steps, every), steps]
    return [boundary for boundary in due if done is None or boundary > done]


def train(
    trainer: "Trainer", run: RunFolder, report: Report, stop: Stop, keep: int = 2
) -> dict[str, Any]:
    """Train in `run` from its newest checkpoint, or from the start, to the end or until `stop`.

    Returns the summary. One that was stopped has `complete` False, is saved, and goes on exactly
    if trained again.
    """
    import jax

    with folder.locked(run):
        note = lambda text: report({"event": "note", "text": text})  # noqa: E731
        found = folder.take_up(run, jax.eval_shape(trainer.init), note)
        if found is not None:
            folder.note_resumption(run, int(found[0].steps))
        report(start_event(trainer, run, found))
        pace = Pace()
        state, done = (trainer.init(), None) if found is None else (found[0], found[1]["boundary"])
        config = trainer.config
        for boundary in boundaries(config.evaluation.every, config.steps, done):
            save = functools.partial(folder.save, run, boundary=done, keep=keep)
            state = reach(trainer, state, boundary, pace, report, stop, save)
            if stop.signal is None:
                state, done = observe(trainer, run, state, boundary, pace, report), boundary
            folder.save(run, state, done, keep)
            if stop.signal is not None:
                break
        rows, steps = folder.metric_rows(run), int(state.steps)
        result = summary_of(config, run, rows, steps, done == config.steps) | pace.spent()
        report({"event": "end", "summary": result})
        return result


def reach(
    trainer: "Trainer",
    state: Any,
    boundary: int,
    pace: Pace,
    report: Report,
    stop: Stop,
    save: Callable[[Any], Any],
) -> Any:
    """The state after the first iteration that has done `boundary` steps; earlier if stopped.

    A long way is saved now and then, so that a crash costs minutes and not the whole way.
    """
    saved = time.perf_counter()
    steps = int(state.steps)
    while steps < boundary and stop.signal is None:
        iterations = min(pace.iterations, trainer.iterations_within(state, boundary))
        before = time.perf_counter()
        state = trainer.advance(state, iterations)
        after_steps = int(state.steps)  # waits for the chunk
        pace.chunk_done(iterations, after_steps - steps, time.perf_counter() - before)
        steps = after_steps
        report(progress_event(trainer, steps, pace))
        if time.perf_counter() - saved > SAVE_SECONDS and steps < boundary:
            save(state)
            saved = time.perf_counter()
    return state


def observe(
    trainer: "Trainer", run: RunFolder, state: Any, boundary: int, pace: Pace, report: Report
) -> Any:
    """Evaluate at a boundary and write its row; the state with its metrics read and zeroed."""
    before = time.perf_counter()
    evaluation = trainer.evaluate(state)
    seconds = time.perf_counter() - before
    metrics, state = trainer.read_metrics(state)
    progress = {
        "boundary": boundary,
        "steps": int(state.steps),
        "episodes": int(state.episodes),
        "updates": int(state.updates),
    }
    row = {**progress, **evaluation, **metrics}
    folder.append(run.rows, row)
    if boundary == 0:  # what was compiled until here
        machine.give_back()
    timing = {
        "boundary": boundary,
        "seconds": round(pace.seconds, 3),
        "cpu_seconds": round(time.process_time() - pace.cpu, 3),
        "evaluation_seconds": round(seconds, 3),
        "steps_per_second": round(pace.steps_per_second, 1),
    }
    folder.append(run.timing, timing)
    report({"event": "row", "row": row, "timing": timing})
    return state


def start_event(trainer: "Trainer", run: RunFolder, found: tuple[Any, Any] | None) -> Event:
    """What is known before anything is allocated: the plan, and the way already gone."""
    config = trainer.config
    return {
        "event": "start",
        "folder": str(run.path),
        "task": config.task,
        "algo": config.algo,
        "seed": config.seed,
        "steps": 0 if found is None else int(found[0].steps),
        "of": config.steps,
        "resumed": found is not None,
        "plan": trainer.plan.lines(),
        "rows": folder.metric_rows(run),
    }


def progress_event(trainer: "Trainer", steps: int, pace: Pace) -> Event:
    """How far the run is, how fast it goes, and how long it will take by that speed."""
    speed = pace.steps_per_second
    left = max(0, trainer.config.steps - steps)
    return {
        "event": "progress",
        "steps": steps,
        "of": trainer.config.steps,
        "steps_per_second": speed,
        "seconds_left": left / speed if speed else None,
    }


def summary_of(
    config: Any, run: RunFolder, rows: list[dict[str, Any]], steps: int, complete: bool = False
) -> dict[str, Any]:
    """A run in one record, for people and machines; evaluation as in the rows."""
    returns = [row["eval/return"] for row in rows]
    return {
        "folder": str(run.path),
        "task": config.task,
        "algo": config.algo,
        "seed": config.seed,
        "complete": complete,
        "steps": steps,
        "of": config.steps,
        "episodes": rows[-1]["episodes"] if rows else 0,
        "updates": rows[-1]["updates"] if rows else 0,
        "eval/return first": returns[0] if returns else None,
        "eval/return last": returns[-1] if returns else None,
        "eval/return best": max((r for r in returns if r is not None), default=None),
    }
