"""The driver of a study: gives runs to a place, longest first, hears them, keeps their rows, and
gives a run that died to the place again, from its checkpoint.

It holds nothing that matters: run folders and the store are the study. So it may be stopped or
killed at any moment, and a new one goes on.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coemarl.runs import checkpoint, folder
from coemarl.runs.loop import Event, Stop
from coemarl.studies import folder as folders
from coemarl.studies.folder import StudyFolder
from coemarl.studies.places.place import Place
from coemarl.studies.runs import Run
from coemarl.studies.store import Row, Store

RETRIES = 3
"""A run may die so often without having got any further."""
HEAR_SECONDS = 0.5
STATUS_SECONDS = 1.5

Tell = Callable[[str, Event], None]
"""`tell(name, event)`: what happened to a run, for whoever shows it. Beside the run's own events:
waits, begun, done, died (`why`, `again`), failed, stopped, given-up."""


@dataclass(frozen=True)
class Work:
    """Which runs there are to do; a search learns what to do next from those before."""

    runs: list[Run]
    """To begin with."""
    heard: Callable[[Run, list[Row]], bool] = lambda run, rows: False
    """`heard(run, rows)`: all rows of a run, when one is new; whether to give the run up."""
    ended: Callable[[Run, str], list[Run]] = lambda run, how: []
    """`ended(run, how)`: it is done, failed or given-up; the runs that follow from that."""


@dataclass
class Job:
    """One run on its way."""

    run: Run
    deaths: int = 0
    """Since it last got further."""
    mark: tuple[int, str] = (-1, "")
    """How far it was when it last began: its last row, its newest checkpoint."""
    given_up: bool = False


@dataclass
class Driver:
    """One driving of a study; `drive` does it."""

    place: StudyFolder
    work: Work
    where: Place
    store: Store
    tell: Tell
    cost: Callable[[Run], float]
    """What a run will take, in any unit: the longest first."""
    retries: int = RETRIES
    waiting: list[Job] = field(default_factory=list)
    going: dict[str, Job] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)
    """Name: done, failed, given-up."""
    told: dict[str, Event] = field(default_factory=dict)
    """Each run's latest progress."""
    noted: float = 0.0

    def admit(self, runs: list[Run]) -> None:
        """Take runs on: those that are complete are done, the others wait for their turn."""
        for run in runs:
            folders.check_same(self.place, run)
        for run in runs:
            rows = folders.publish(self.place, self.store, run)
            self.tell(run.name, {"event": "waits", "run": run, "rows": rows})
            if folders.is_complete(self.place, run):
                self.end(run, "done")
            else:
                self.waiting.append(Job(run))
        self.waiting.sort(key=lambda job: (-self.cost(job.run), job.run.name))

    def end(self, run: Run, how: str, **more: Any) -> None:
        """A run is over, whichever way; take on what follows."""
        self.outcomes[run.name] = how
        self.tell(run.name, {"event": how, **more})
        self.admit(self.work.ended(run, how))

    def begin(self) -> bool:
        """Start the first run that nobody trains yet; whether there was one."""
        for job in self.waiting:
            there = self.place.run(job.run)
            if folders.is_locked(there.path / "lock"):  # by a child of a driver that was killed
                continue
            self.waiting.remove(job)
            if folders.is_complete(self.place, job.run):  # somebody else has ended it meanwhile
                folders.publish(self.place, self.store, job.run)
                self.end(job.run, "done")
                return True
            folders.made(self.place, job.run)
            job.mark = self.mark_of(job.run)
            self.going[job.run.name] = job
            folders.note(self.place, "begun", job.run)
            self.tell(job.run.name, {"event": "begun"})
            self.where.start(job.run.name, there)
            return True
        return False

    def mark_of(self, run: Run) -> tuple[int, str]:
        """How far a run is."""
        paths = folder.checkpoint_paths(self.place.run(run))
        rows = folders.rows_of(self.place, run)
        return folders.last_boundary(rows), paths[-1].name if paths else ""

    def hear(self, name: str, event: Event) -> None:
        """Do what a run's event asks for."""
        job = self.going[name]
        if event["event"] == "row":
            rows = folders.publish(self.place, self.store, job.run)
            self.tell(name, event)
            if not job.given_up and self.work.heard(job.run, rows):
                job.given_up = True
                self.where.stop(name)
        elif event["event"] == "gone":
            del self.going[name]
            folders.publish(self.place, self.store, job.run)
            self.gone(job, event)
        else:
            self.tell(name, event)

    def gone(self, job: Job, event: Event) -> None:
        """A run's process is over: for good, or to be tried again."""
        run, why = job.run, event["why"]
        if event["complete"]:
            folders.note(self.place, "done", run)
            self.end(run, "done")
        elif job.given_up:
            folders.note(self.place, "given-up", run)
            self.end(run, "given-up")
        elif why is None:
            folders.note(self.place, "stopped", run)
            self.tell(run.name, {"event": "stopped"})
            self.waiting.insert(0, job)
        else:
            job.deaths = 0 if self.mark_of(run) > job.mark else job.deaths + 1
            again = job.deaths <= self.retries
            folders.note(self.place, "died", run, why=why, again=again)
            self.tell(run.name, {"event": "died", "why": why, "again": again})
            if again:
                self.waiting.insert(0, job)
            else:
                self.end(run, "failed", why=why)

    def note_status(self, at_once: bool = False) -> None:
        """Renew what `coe study status` reads, once in a while."""
        if at_once or time.monotonic() > self.noted + STATUS_SECONDS:
            self.noted = time.monotonic()
            status = {
                "where": self.where.summary,
                "running": {name: self.told.get(name, {}) for name in self.going},
                "failed": [name for name, how in self.outcomes.items() if how == "failed"],
            }
            checkpoint.write_text(self.place.status, json.dumps(status) + "\n")


def drive(driver: Driver, stop: Stop) -> dict[str, str]:
    """Do the work, to its end or until `stop`; how each run ended. A run that is in none of the
    outcomes was not finished."""
    asked = False
    try:
        driver.admit(driver.work.runs)
        while driver.going or (driver.waiting and stop.signal is None):
            while stop.signal is None and len(driver.going) < driver.where.slots:
                if not driver.begin():
                    break
            if stop.signal is not None and not asked:
                asked = True
                for name in driver.going:
                    driver.where.stop(name)
            for name, event in driver.where.hear(HEAR_SECONDS):
                if event["event"] == "progress":
                    driver.told[name] = event
                driver.hear(name, event)
            driver.note_status()
    finally:
        driver.where.close()
        driver.note_status(at_once=True)
    return driver.outcomes
