"""This machine: a process for each run, one core and one thread each."""

import os
import queue
import threading
from collections import deque

from coemarl.runs import machine
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event
from coemarl.studies import child
from coemarl.studies.child import Child
from coemarl.studies.places.place import Heard, Place


def make_local(workers: int | None = None) -> Place:
    """So many runs at once (one a core if not said) as children of this process."""
    slots = workers or machine.cores()
    free: deque[int | None] = deque(cores_for(slots))
    told: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()
    going: dict[str, tuple[Child, int | None]] = {}

    def start(name: str, run: RunFolder) -> None:
        core = free.popleft()
        begun = child.start(run.path, core)
        going[name] = begun, core

        def listen() -> None:
            for event in begun.events():
                told.put((name, event))

        threading.Thread(target=listen, daemon=True).start()

    def hear(seconds: float) -> Heard:
        heard: Heard = []
        try:
            heard.append(told.get(timeout=seconds))
            while True:
                heard.append(told.get_nowait())
        except queue.Empty:
            pass
        for name, event in heard:
            if event["event"] == "gone":
                free.append(going.pop(name)[1])
        return heard

    def close() -> None:
        for each, _ in going.values():
            each.kill()
        going.clear()

    return Place(
        summary=f"{slots} process{'es' if slots > 1 else ''} of one core on this machine",
        slots=slots,
        start=start,
        hear=hear,
        stop=lambda name: going[name][0].stop() if name in going else None,
        close=close,
    )


def cores_for(slots: int) -> list[int | None]:
    """A core for each slot where there are as many; else the system shall choose."""
    if slots != machine.cores() or not hasattr(os, "sched_setaffinity"):
        return [None] * slots
    return [*sorted(os.sched_getaffinity(0))]
