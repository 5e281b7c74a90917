"""A study's folder: the file it is from, its runs, and what they have shown.

study.toml     the study, as it was last run
rows.jsonl     all rows of all runs (`coemarl.studies.store`)
runs/TASK/LABEL/seed-S    run folders, each as of `coe train`
events.jsonl   what befell the runs: begun, done, died and why
status.json    what goes on now, renewed by the driver every second or two
lock           held by the process that drives the study
"""

import contextlib
import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coemarl import config as configs
from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, export, folder
from coemarl.runs.folder import RunFolder
from coemarl.studies import store
from coemarl.studies.runs import Run
from coemarl.studies.store import Row, Store
from coemarl.studies.study import Study


@dataclass(frozen=True)
class StudyFolder:
    """The places of one study."""

    path: Path

    @property
    def study(self) -> Path:
        return self.path / "study.toml"

    @property
    def rows(self) -> Path:
        return self.path / store.FILE

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    def run(self, run: Run) -> RunFolder:
        """Where a run of the study lies."""
        return RunFolder(self.path / "runs" / run.name)


def opened(path: Path, study: Study, text: str) -> StudyFolder:
    """The folder of a study, made if it is not there, with a copy of the study's file; Refusal if
    it holds another study."""
    place = StudyFolder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if place.study.exists():
            from coemarl.studies.study import parse

            held = parse(place.study.read_text(encoding="utf-8"), place.study).name
            if held != study.name:
                raise Refusal(f"{path} holds study {held}: choose another --out for {study.name}")
        elif any(path.iterdir()):
            raise Refusal(f"{path} is not empty and holds no study: choose another --out")
        named = text if has_name(text) else f"name = {json.dumps(study.name)}\n{text}"
        checkpoint.write_text(place.study, named)
    except OSError as error:
        raise Refusal(f"cannot write to {path} ({error.strerror}): choose another --out") from None
    return place


def has_name(text: str) -> bool:
    """Whether a study's file says the study's name itself."""
    import tomllib

    return "name" in tomllib.loads(text)


@contextlib.contextmanager
def locked(place: StudyFolder) -> Iterator[None]:
    """Be the only process that drives this study; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - no such locks on this system
        yield
        return
    with place.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refusal(
                f"another process runs the study in {place.path} right now:"
                f" 'coe study status {place.path}' shows it"
            ) from None
        yield


def is_locked(path: Path) -> bool:
    """Whether a living process holds this lock file."""
    try:
        import fcntl

        with path.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, FileNotFoundError):
        return False
    except OSError:
        return True
    return False


def note(place: StudyFolder, event: str, run: Run, **more: Any) -> None:
    """Write down what befell a run."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    folder.append(place.events, {"time": now, "event": event, "run": run.name, **more})


# Runs


def check_same(place: StudyFolder, run: Run) -> None:
    """Refuse if the run's folder holds another run; one that is only shorter can be extended."""
    there = place.run(run)
    if not there.config.exists():
        return
    held = folder.read_config(there)
    now, before = export.flat(run.config), export.flat(held)
    differing = {name for name in now | before if now.get(name) != before.get(name)}
    if differing == {"steps"} and extends(held, run):
        return
    for name in sorted(differing):
        raise Refusal(
            f"{there.path} was made with {name} {before.get(name)}, and the study says"
            f" {now.get(name)}: choose another --out, or another label"
        )


def extends(held: Any, run: Run) -> bool:
    """Whether a run is a longer form of one that is there: its rows are the first of the new."""
    return run.config.steps > held.steps and held.steps % held.evaluation.every == 0


def made(place: StudyFolder, run: Run) -> RunFolder:
    """The run's folder, made or (if it was shorter) extended."""
    there = place.run(run)
    text = configs.to_json(run.config)
    if not there.config.exists():
        clear_begun(there)
        return folder.create(there.path, text)
    if folder.read_config(there) != run.config:
        checkpoint.write_text(there.config, text)
    return there


def clear_begun(there: RunFolder) -> None:
    """Remove what a driver left that was killed while it made this folder: it has no config yet."""
    there.origin.unlink(missing_ok=True)
    for part in there.path.glob(".*.part"):
        part.unlink()
    with contextlib.suppress(OSError):  # not there, or not empty: `create` judges that
        there.checkpoints.rmdir()


def rows_of(place: StudyFolder, run: Run) -> list[Row]:
    """The run's whole rows as the study's store has them."""
    there = place.run(run)
    if not there.rows.exists():
        return []
    config = run.config
    names = {
        "task": config.task,
        "algo": run.label,
        "algorithm": config.algo,
        "seed": config.seed,
    }
    options = json.dumps(export.choices(config), sort_keys=True)
    said = {"options": options, **export.provenance(there)}
    lines = there.rows.read_bytes().split(b"\n")[:-1]
    return [{**names, **json.loads(line), **said} for line in lines]


def publish(place: StudyFolder, into: Store, run: Run) -> list[Row]:
    """Bring the store up to what the run has shown; all its rows."""
    rows = rows_of(place, run)
    into.publish(rows)
    return rows


def run_in(place: StudyFolder, there: RunFolder) -> Run:
    """The run that lies in a folder of the study."""
    label = there.path.relative_to(place.path / "runs").parts[1]
    return Run(label, folder.read_config(there))


def last_boundary(rows: list[Row]) -> int:
    """Of a run's newest row; -1 if it has none."""
    return rows[-1]["boundary"] if rows else -1


def is_complete(place: StudyFolder, run: Run) -> bool:
    """Whether the run is at its end: its last row is written, and so is its last checkpoint."""
    saved = [int(path.stem[5:]) for path in folder.checkpoint_paths(place.run(run))[-1:]]
    if not saved or saved[0] < run.config.steps:
        return False
    return last_boundary(rows_of(place, run)) == run.config.steps
