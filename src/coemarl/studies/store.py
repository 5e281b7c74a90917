"""The results of a study: one append-only file of rows that many processes may write.

`rows.jsonl` holds a JSON object a line, one for each evaluation of each run:

    task, algo (the study's label), algorithm, seed     which run
    boundary, steps, episodes, updates                  which evaluation of it
    eval/..., train/..., explorer/...                   the metrics (docs/metrics.md)
    options                                             what differs from the defaults, as JSON text
    commit, version, command                            where the run comes from

so that one line reads it: `polars.read_ndjson("rows.jsonl", infer_schema_length=None)`.

A row is known by task, label, seed and boundary, and is written once: whoever writes holds a lock
and leaves out what is there already. So a run that was killed between two writes may hand in all
its rows again. A line that a crash cut short is no row; the next writer removes it.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coemarl.refusal import Refusal

if TYPE_CHECKING:
    import polars

FILE = "rows.jsonl"
"""The store's name in a study's folder."""
KEY = ("task", "algo", "seed", "boundary")
FIRST = ("task", "algo", "algorithm", "seed", "boundary", "steps", "episodes", "updates")
LAST = ("options", "commit", "version", "command")

Row = dict[str, Any]


class Store:
    """A writer of one store; it remembers which rows are there, as far as it has read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._keys: set[tuple[Any, ...]] = set()
        self._read = 0

    def publish(self, rows: Iterable[Row]) -> int:
        """Add the rows that are not there yet; how many those were."""
        try:
            with locked(self.path) as file:
                self._catch_up(file)
                new = {key_of(row): row for row in rows if key_of(row) not in self._keys}
                text = "".join(json.dumps(row) + "\n" for row in new.values())
                written = os.write(file, text.encode()) if text else 0
                os.fsync(file)
        except OSError as error:
            raise Refusal(f"cannot write {self.path}: {error.strerror}") from None
        if written < len(text.encode()):  # the disk is full
            raise Refusal(f"cannot write {self.path}: the disk took only a part of the rows")
        self._keys |= new.keys()
        self._read += written
        return len(new)

    def _catch_up(self, file: int) -> None:
        """Read what others have added; remove a last line that was cut short."""
        data = os.pread(file, os.fstat(file).st_size - self._read, self._read)
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(file, self._read + whole)
        for line in data[:whole].splitlines():
            self._keys.add(key_of(row_of(line, self.path)))
        self._read += whole


@contextlib.contextmanager
def locked(path: Path) -> Iterator[int]:
    """The store's file, open to append, with nobody else writing."""
    import fcntl

    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)  # ends the lock too


def key_of(row: Row) -> tuple[Any, ...]:
    """What a row is known by."""
    return tuple(row[name] for name in KEY)


def row_of(line: bytes, path: Path) -> Row:
    """The row that a whole line says; Refusal if it says none."""
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not set(KEY) <= row.keys():
        raise Refusal(f"{path} is damaged: '{line[:60].decode(errors='replace')}' is not a row")
    return row


def file_of(path: Path) -> Path:
    """The store's file, given it or the study's folder."""
    return path / FILE if path.is_dir() else path


def rows(path: Path) -> list[Row]:
    """All whole rows of a store (or of a study's folder), in the order they came."""
    file = file_of(path)
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")[:-1]  # behind the last line end is no row
    return [row_of(line, file) for line in lines]


def table(path: Path) -> "polars.DataFrame":
    """The store (or that of a study's folder) as a table: sorted by task, label, seed and
    boundary, the columns named above first, then the metrics, then where the rows come from.
    What an algorithm does not measure is null."""
    import polars

    found = rows(path)
    if not found:
        return polars.DataFrame(schema=dict.fromkeys((*FIRST, *LAST), polars.String))
    frame = polars.DataFrame(found, infer_schema_length=None)
    metrics = [name for name in frame.columns if name not in FIRST + LAST]
    return frame.select(*FIRST, *metrics, *LAST).sort(KEY)
