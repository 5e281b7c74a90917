"""One run in a process of its own, heard through its events. Every place to run ends in this.

The child is `coe train --resume RUN --progress json`: it goes on from the newest checkpoint, with
one thread. Its events are one JSON object a line; what else it says is kept for the case that it
dies. A child whose parent is gone ends at its next event.
"""

import os
import signal
import subprocess
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coemarl.runs import machine, seeds
from coemarl.runs.loop import Event

LAST_WORDS = 20
"""Lines kept of what a child says beside its events."""


@dataclass
class Child:
    """A process that trains one run."""

    process: "subprocess.Popen[str]"
    words: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_WORDS))

    def events(self) -> Iterator[Event]:
        """What the child tells, to its end. The last is `gone`: `complete` if the run is done,
        else `why` the process ended (None if it was asked to)."""
        assert self.process.stdout is not None
        complete = False
        with self.process.stdout as lines:
            for line in lines:
                event = seeds.event_of(line)
                if event is None:
                    self.words.append(line.rstrip())
                else:
                    complete = event["event"] == "end" and event["summary"]["complete"]
                    yield event
        status = self.process.wait()
        asked = status in (0, 130)
        yield gone(complete, None if asked else seeds.last_words(status, self.words))

    def stop(self) -> None:
        """Ask it to save and end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


def gone(complete: bool, why: str | None) -> Event:
    """The last event of a run's process."""
    return {"event": "gone", "complete": complete, "why": why}


def start(run: Path, keep: int = 2) -> Child:
    """A child that trains the run in a folder."""
    words: list[Any] = [*machine.THIS_PROGRAM, "train", "--resume", str(run)]
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
    return Child(process)
