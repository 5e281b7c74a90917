"""Several runs at once, as processes: one core and one thread each, as many as there are cores.

Each child is `coe train --resume RUN`, so a child that dies loses minutes and can be taken up
again like any run. Its events come as lines of JSON over its standard error.
"""

import os
import subprocess
import threading
from dataclasses import dataclass, field

from coemarl.runs import machine
from coemarl.runs.folder import RunFolder


@dataclass
class Child:
    """One run in a process of its own."""

    run: RunFolder
    process: "subprocess.Popen[str]"
    reader: threading.Thread
    core: int | None
    notes: list[str] = field(default_factory=list)


def free_cores() -> list[int | None]:
    """The cores to give out; None stands for one that cannot be chosen on this system."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return [None] * machine.cores()
