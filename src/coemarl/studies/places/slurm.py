"""A Slurm cluster, through submitit: runs that begin together are one array job.

The study's folder lies on a disk that all nodes share. A job trains its run by the same child
process as everywhere, and writes the run's rows into the study's store itself; to the driver it
speaks through a small file in the run's folder. A job that meets its time limit or is preempted
saves and is queued again by submitit. Jobs of a driver that is gone are found again by their ids.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, folder
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Event
from coemarl.studies import child, store
from coemarl.studies.places.place import Heard, Place

TOLD = "told.json"
"""In a run's folder: the latest progress of its job, or that it is gone."""
STOP = "stop"
"""In a run's folder: a wish that its job saves and ends."""
TELL_SECONDS = 2.0
POLL_SECONDS = 1.0
MANY = 10_000
DEFAULTS = {"cluster": "slurm", "timeout_min": 24 * 60, "cpus_per_task": 1, "mem_gb": 4}


def make_slurm(
    path: Path, options: Mapping[str, str] | None = None, workers: int | None = None
) -> Place:
    """Array jobs for the study in a folder, at most so many runs at once. Options are submitit's:
    timeout_min, mem_gb, slurm_partition, ...; cluster=local is its own stand-in for Slurm."""
    executor = make_executor(path / "slurm", dict(options or {}), workers)
    record = path / "slurm.jsonl"
    before = {row["run"]: row["job"] for row in folder.read_rows(record)}
    pending: dict[str, RunFolder] = {}
    going: dict[str, Followed] = {}

    def start(name: str, run: RunFolder) -> None:
        (run.path / STOP).unlink(missing_ok=True)
        if name in before:
            job = executor._executor.job_class(executor.folder, before.pop(name))
            if not job.done():
                going[name] = Followed(run, job, rows=count_rows(run))
                return
        (run.path / TOLD).unlink(missing_ok=True)
        pending[name] = run

    def submit() -> None:
        with executor.batch():
            jobs = [
                executor.submit(Work(str(run.path), str(path / store.FILE)))
                for run in pending.values()
            ]
        for (name, run), job in zip(pending.items(), jobs, strict=True):
            going[name] = Followed(run, job, rows=count_rows(run))
            folder.append(record, {"run": name, "job": job.job_id})
        pending.clear()

    def hear(seconds: float) -> Heard:
        if pending:
            submit()
        until = time.monotonic() + max(seconds, POLL_SECONDS)
        while not (heard := [(name, e) for name, each in going.items() for e in each.news()]):
            if time.monotonic() > until:
                break
            time.sleep(0.2)
        for name, event in heard:
            if event["event"] == "gone":
                del going[name]
        return heard

    def stop(name: str) -> None:
        if name in pending:  # it is submitted first: its job ends at its first event
            submit()
        if name in going:
            (going[name].run.path / STOP).touch()
            if going[name].job.state == "PENDING":
                going[name].job.cancel()

    def close() -> None:
        for each in going.values():
            each.job.cancel(check=False)

    return Place(
        summary=f"jobs of {'Slurm' if executor.cluster == 'slurm' else 'a stand-in for Slurm'}",
        slots=workers or MANY,
        start=start,
        hear=hear,
        stop=stop,
        close=close,
    )


def make_executor(path: Path, options: dict[str, Any], workers: int | None) -> Any:
    """submitit's executor with the options; Refusal if there is no such option or no Slurm."""
    try:
        import submitit
    except ImportError:
        raise Refusal("submitit is not installed: pip install 'coemarl[slurm]'") from None
    words = {**DEFAULTS, **options}
    if workers is not None:
        words["slurm_array_parallelism"] = workers
    try:
        executor = submitit.AutoExecutor(folder=path, cluster=str(words.pop("cluster")))
        executor.update_parameters(**{name: plain(value) for name, value in words.items()})
    except (RuntimeError, NameError, TypeError, ValueError) as error:
        raise Refusal(f"cannot use Slurm: {' '.join(str(error).split())}") from None
    return executor


def plain(word: Any) -> Any:
    """A word of the command line as a number where it is one."""
    return int(word) if isinstance(word, str) and word.isdecimal() else word


def count_rows(run: RunFolder) -> int:
    """Whole rows in a run's folder."""
    return run.rows.read_bytes().count(b"\n") if run.rows.exists() else 0


# The job's side


@dataclass(frozen=True)
class Work:
    """What a job does; submitit sends it to the node."""

    run: str
    store: str

    def __call__(self) -> None:
        """Train the run to its end, or until somebody wishes it to stop."""
        from coemarl.studies import folder as folders
        from coemarl.studies.folder import StudyFolder

        there, told, asked = Path(self.run), 0.0, False
        place, into = StudyFolder(Path(self.store).parent), store.Store(Path(self.store))
        run = folders.run_in(place, RunFolder(there))
        begun = child.start(there)
        try:
            for event in begun.events():
                if event["event"] == "row":
                    folders.publish(place, into, run)
                if event["event"] == "gone" or (
                    event["event"] == "progress" and time.monotonic() > told + TELL_SECONDS
                ):
                    told = time.monotonic()
                    checkpoint.write_text(there / TOLD, json.dumps(event) + "\n")
                if not asked and (there / STOP).exists():
                    asked = True
                    begun.stop()
        finally:
            begun.kill()

    def checkpoint(self) -> Any:
        """submitit calls this when the job's time is nearly over: the child ends with the call
        that is interrupted, and the job is queued again."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(Work(self.run, self.store))


# The driver's side


@dataclass
class Followed:
    """A job that was submitted, and what of it was told already."""

    run: RunFolder
    job: Any
    rows: int = 0
    told: Event = field(default_factory=dict)

    def news(self) -> list[Event]:
        """What happened since."""
        over = self.job.done()  # asked first: what it wrote before it ended is then there
        lines = self.run.rows.read_bytes().split(b"\n")[:-1] if self.run.rows.exists() else []
        # A run that was taken up again has cut its rows back first; those come again as they were.
        events = [{"event": "row", "row": json.loads(line)} for line in lines[self.rows :]]
        self.rows = max(self.rows, len(lines))
        latest = self.read()
        if latest and latest != self.told:
            self.told = latest
            events.append(latest)
        elif over and self.told.get("event") != "gone":
            events.append(child.gone(False, f"its job ended ({self.job.state})"))
        return events

    def read(self) -> Event:
        """What the job last told."""
        try:
            return json.loads((self.run.path / TOLD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
