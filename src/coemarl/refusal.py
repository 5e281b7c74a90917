"""The one error that a person is told in a sentence."""

import contextlib
from collections.abc import Iterator


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
