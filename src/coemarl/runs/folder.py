"""A run folder: everything that a run is and has shown, and how it is taken up again.

    config.json             every choice of the run
    origin.json             the code and the command that made it (`coemarl.runs.origin`)
    rows.jsonl              metric rows, one JSON object a line (docs/metrics.md); no clock in it,
                            so the same config gives the same bytes
    timing.jsonl            how long it took: one line per row written
    checkpoints/step-*.npz  the newest training states (`coemarl.runs.checkpoint`)
    lock                    held by the process that trains here

A checkpoint remembers how long rows.jsonl was when it was written; rows behind that are cut off on
resuming and come again, equal to the byte.
"""

import contextlib
import errno
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, origin

ALWAYS = ("boundary", "steps", "episodes", "updates", "eval/return")
"""What every row of metrics has."""


@dataclass(frozen=True)
class RunFolder:
    """The places of one run."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def origin(self) -> Path:
        return self.path / "origin.json"

    @property
    def rows(self) -> Path:
        return self.path / "rows.jsonl"

    @property
    def timing(self) -> Path:
        return self.path / "timing.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"


def check_free(path: Path) -> None:
    """Refuse a place where a run cannot be made."""
    if (path / "config.json").exists():
        raise Refusal(f"{path} holds a run already: --resume {path}, or choose another --out")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refusal(f"{path} exists and is not an empty folder: choose another --out")


def create(path: Path, config_text: str) -> RunFolder:
    """A fresh run folder; refused if something lies there already."""
    check_free(path)
    run = RunFolder(path)
    try:
        run.checkpoints.mkdir(parents=True, exist_ok=True)
        checkpoint.write_text(run.origin, origin.text([origin.record()]))
        checkpoint.write_text(run.config, config_text)
    except OSError as error:
        raise Refusal(f"cannot write to {path} ({error.strerror}): choose another --out") from None
    return run


def existing(path: Path) -> RunFolder:
    """The run in a folder; Refusal if there is none."""
    run = RunFolder(path)
    if not path.exists():
        raise Refusal(f"no folder {path}: 'coe list runs' shows the runs there are")
    if not run.config.is_file():
        raise Refusal(f"{path} holds no run: it has no config.json")
    return run


def note_resumption(run: RunFolder, steps: int) -> None:
    """Add to the run's origin that this process goes on with it."""
    records = [*origin.read(run.origin), origin.record(steps)]
    checkpoint.write_text(run.origin, origin.text(records))


def read_config(run: RunFolder) -> Any:
    """The run's configuration; refused if the file says none."""
    from coemarl import config

    try:
        return config.from_json(run.config.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise Refusal(f"{run.config} is damaged: {error}") from None


def runs_below(path: Path) -> list[RunFolder]:
    """The runs in a folder, at any depth (itself included), in order of name."""
    found = sorted(config.parent for config in path.rglob("config.json"))
    return [RunFolder(folder) for folder in found if (folder / "checkpoints").is_dir()]


def runs_in(path: Path) -> list[RunFolder]:
    """The run in a folder, or all the runs below it; Refusal if there is none."""
    if (path / "config.json").is_file() or not path.is_dir():
        return [existing(path)]
    found = runs_below(path)
    if not found:
        raise Refusal(f"{path} holds no run, nor does a folder in it")
    return found


@contextlib.contextmanager
def locked(run: RunFolder) -> Iterator[None]:
    """Be the only process that trains here; the lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - no such locks on this system
        yield
        return
    try:
        file = (run.path / "lock").open("w")
    except OSError as error:
        raise Refusal(f"cannot write to {run.path}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refusal(f"another process trains in {run.path} right now") from None
        yield


def is_locked(run: RunFolder) -> bool:
    """Whether a process trains here now, as far as this system can tell."""
    try:
        import fcntl

        with (run.path / "lock").open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, FileNotFoundError):
        return False
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    return False


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add one row to a file of rows; a number that is none (NaN, infinity) is written as null."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(finite) + "\n")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, none if it does not exist; Refusal names a line that is no row."""
    rows = []
    if path.exists():
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if not isinstance(row, dict):
                raise Refusal(f"{path} is damaged: line {number} is not a row of metrics")
            rows.append(row)
    return rows


def metric_rows(run: RunFolder) -> list[dict[str, Any]]:
    """The run's metric rows so far; Refusal if the file is damaged."""
    rows = read_rows(run.rows)
    for number, row in enumerate(rows, 1):
        if missing := [name for name in ALWAYS if name not in row]:
            raise Refusal(f"{run.rows} is damaged: line {number} has no '{missing[0]}'")
    return rows


def checkpoint_paths(run: RunFolder) -> list[Path]:
    """The run's checkpoints, oldest first."""
    return sorted(run.checkpoints.glob("step-*.npz"))


def save(run: RunFolder, state: Any, boundary: int | None, keep: int) -> Path:
    """Write a checkpoint that belongs to the rows so far, then drop all but the newest `keep`.

    `boundary` is the one of the last row; None if there is no row yet.
    """
    rows_bytes = 0
    if run.rows.exists():
        with open(run.rows, "rb+") as file:
            os.fsync(file.fileno())
            rows_bytes = os.fstat(file.fileno()).st_size
    steps = int(state.steps)
    path = run.checkpoints / f"step-{steps:012d}.npz"
    checkpoint.save(path, state, {"steps": steps, "boundary": boundary, "rows_bytes": rows_bytes})
    for old in checkpoint_paths(run)[:-keep]:
        old.unlink()
    return path


def newest(
    run: RunFolder, like: Any, note: Callable[[str], None]
) -> tuple[Any, dict[str, Any]] | None:
    """State and facts of the newest checkpoint that is whole; damaged ones are reported to `note`.

    None if the run has no checkpoint; CheckpointError if it has some and none is whole.
    """
    paths = checkpoint_paths(run)
    for path in reversed(paths):
        try:
            return checkpoint.load(path, like)
        except checkpoint.CheckpointError as error:
            note(f"{error}; the one before is used")
    if paths:
        raise checkpoint.CheckpointError(f"no checkpoint in {run.checkpoints} is whole")
    return None


def take_up(
    run: RunFolder, like: Any, note: Callable[[str], None]
) -> tuple[Any, dict[str, Any]] | None:
    """As `newest`, and the folder is brought to that moment: what was written later is removed."""
    for part in run.checkpoints.glob(".*.part"):
        part.unlink()
    found = newest(run, like, note)
    extra = {"rows_bytes": 0, "steps": -1} if found is None else found[1]
    size = run.rows.stat().st_size if run.rows.exists() else 0
    if size < extra["rows_bytes"]:
        raise Refusal(f"{run.rows} is damaged: it is shorter than when the checkpoint was made")
    if size > extra["rows_bytes"]:
        os.truncate(run.rows, extra["rows_bytes"])
    for path in checkpoint_paths(run):
        if path.name > f"step-{extra['steps']:012d}.npz":
            path.unlink()
    return found
