"""What a place to run is: five functions, so that one driver serves all places."""

from collections.abc import Callable
from dataclasses import dataclass

from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event

Heard = list[tuple[str, Event]]
"""Names of runs, and what each told."""


@dataclass(frozen=True)
class Place:
    """Somewhere that runs are trained. A run that was started tells events as `coe train` does
    (start, progress, row, note, end), and as its last one `gone` (`coemarl.studies.child`). When a
    row or the last event is told, the run's folder, on the driver's disk, has that row."""

    summary: str
    """Where that is, in words."""
    slots: int
    """Runs at once."""
    start: Callable[[str, RunFolder], None]
    """`start(name, run)`: begin to train it, from its newest checkpoint; returns at once."""
    hear: Callable[[float], Heard]
    """`hear(seconds)`: what runs have told, waiting at most so long for a first event."""
    stop: Callable[[str], None]
    """`stop(name)`: ask a run to save and end."""
    close: Callable[[], None]
    """End whatever still goes on here, at once."""
