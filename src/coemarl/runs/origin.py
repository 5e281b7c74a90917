"""Where a run comes from: which code, by which command, on what. Kept beside the run's rows, not
in them, so that equal runs have equal rows.

`origin.json` is a list: the first record is of the moment the run was made, and one more is added
whenever the run is taken up again from a checkpoint.
"""

import datetime
import functools
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from coemarl.refusal import Refusal

PACKAGE = Path(__file__).resolve().parent.parent
GIT_SECONDS = 10.0
PLACES = ("--out", "--resume", "--progress", "--keep")
"""Options of `coe train`, each with a value, that change nothing in a run's rows."""


def record(steps: int = 0) -> dict[str, Any]:
    """The code and the command that take a run up at so many steps."""
    return {
        "steps": steps,
        "version": version("coemarl"),
        "commit": commit(),
        "command": command(sys.argv),
        "jax": version("jax"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def version(package: str) -> str | None:
    """The installed version of a package; None if it is not installed (only lies on the path)."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@functools.cache
def commit() -> str | None:
    """The commit of the checkout that this code lies in, with `-dirty` if the code was changed
    since; None if it lies in none."""
    tracked = git("ls-files", "--error-unmatch", "__init__.py")
    head = git("rev-parse", "HEAD")
    if tracked is None or not head:
        return None
    return head + ("-dirty" if git("status", "--porcelain", "--", ".") else "")


def git(*words: str) -> str | None:
    """What git says of the folder of this code; None if it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(PACKAGE), *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=GIT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def command(argv: Sequence[str]) -> str:
    """A command line as a person would type it."""
    program = Path(argv[0]).name if argv else ""
    if program in ("coe", "__main__.py"):
        program = "coe"
    return shlex.join([program, *argv[1:]])


def essential(command: str) -> str:
    """A command without what only says where a run lies and how it shows itself."""
    words = iter(shlex.split(command))
    kept = []
    for word in words:
        option, _, value = word.partition("=")
        if option not in PLACES:
            kept += [word] if word != "--json" else []
        elif not value:
            next(words, None)
    return shlex.join(kept)


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file; none if it does not exist. Refusal if it is damaged."""
    if not path.exists():
        return []
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        records = None
    if not isinstance(records, list) or not all(isinstance(each, dict) for each in records):
        raise Refusal(f"{path} is damaged: it is not a list of records")
    return records


def text(records: Sequence[dict[str, Any]]) -> str:
    """The records as a file's text, to be read back by `read`."""
    return json.dumps(records, indent=1) + "\n"
