"""This machine: a process of one thread for each run, as many as there are cores.

Which core a process has is left to the system: bound to one, a run would starve beside somebody
else's work there while another core is idle.
"""

import queue
import threading

from coemarl.runs import machine
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event
from coemarl.studies import child
from coemarl.studies.child import Child
from coemarl.studies.places.place import Heard, Place


def make_local(workers: int | None = None) -> Place:
    """So many runs at once (one a core if not said) as children of this process."""
    slots = workers or machine.cores()
    told: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()
    going: dict[str, Child] = {}

    def start(name: str, run: RunFolder) -> None:
        begun = going[name] = child.start(run.path)

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
                del going[name]
        return heard

    def close() -> None:
        for each in going.values():
            each.kill()
        going.clear()

    return Place(
        summary=f"{slots} process{'es' if slots > 1 else ''} of one core on this machine",
        slots=slots,
        start=start,
        hear=hear,
        stop=lambda name: going[name].stop() if name in going else None,
        close=close,
    )
