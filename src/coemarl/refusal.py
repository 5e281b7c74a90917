"""The one error that a person is told in a sentence."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


class Refusal(ValueError):
    """A wish that cannot be met. The message is one sentence: what is wrong and, where something
    else would be right, what."""


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """Say a ValueError of the preparations in a sentence. What raises one later is a defect."""
    try:
        yield
    except Refusal:
        raise
    except ValueError as error:
        raise Refusal(" ".join(str(error).split())) from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write the file `path`, its folder made if need be; say in a sentence if that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        blocked = isinstance(error, FileExistsError | NotADirectoryError)
        reason = f"{path.parent} is no folder" if blocked else error.strerror
        raise Refusal(f"cannot write {path} ({reason}): choose another --out") from None
