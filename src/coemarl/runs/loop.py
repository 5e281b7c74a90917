"""The host loop around a compiled trainer: advance, evaluate, write a row, save, again.

Rows are written at step 0, at every `evaluation.every` steps, and at the end. How far one call of
`advance` goes depends on the clock (about a second, so that progress shows and signals are heard),
but the state at a boundary does not: a boundary is reached at the first iteration that has done
its steps, however the way there was cut.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coemarl.runs import folder
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
        state, done = (trainer.init(), None) if found is None else (found[0], found[1]["boundary"])
        report(start_event(trainer, run, int(state.steps)))
        pace = Pace()
        config = trainer.config
        for boundary in boundaries(config.evaluation.every, config.steps, done):
            state = reach(trainer, state, boundary, pace, report, stop)
            if stop.signal is None:
                state, done = observe(trainer, run, state, boundary, pace, report), boundary
            folder.save(run, state, -1 if done is None else done, keep)
            if stop.signal is not None:
                break
        complete = done == config.steps
        result = summary(run, complete, pace)
        report({"event": "end", "summary": result})
        return result
