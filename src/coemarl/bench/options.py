"""What all benchmarks let the user choose."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class BenchOptions:
    """How often and how long to measure, where, and what to make of it."""

    repetitions: int = 7
    """How often each case is measured, all cases in turn."""
    seconds: float = 0.3
    """How long one measurement of a case lasts, about."""
    core: int | None = None
    """The core to stay on. None: the first that this process may use."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the record as JSON in place of the table."""
    out: Path | None = None
    """A file to write the record to, as JSON."""


def check(options: BenchOptions) -> None:
    """Refuse what cannot be measured: ValueError, one sentence."""
    if options.repetitions < 1:
        raise ValueError(f"repetitions is {options.repetitions}: it must be at least 1")
    if not 0 < options.seconds <= 3600:
        raise ValueError(f"seconds is {options.seconds}: it must be above 0, at most 3600")
