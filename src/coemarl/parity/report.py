"""What a comparison with an original environment found, as a record and as a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ParityRow:
    """How many transitions of one recording differ, and in what."""

    file: str
    """The recording's name."""
    transitions: int
    """Transitions compared; for a frozen net, inputs compared."""
    state: int = 0
    """Transitions after which the state, or which actions are legal, differs."""
    observation: int = 0
    """Transitions of which an observation, before or after, differs."""
    reward: int = 0
    """Transitions of which an agent's or the team's reward differs."""
    end: int = 0
    """Transitions that end the episode here and not there, or there and not here."""
    largest_error: float = 0.0
    """The largest absolute difference of any number compared."""
    note: str = ""
    """What the reader should know of how it was compared: under the table."""

    @property
    def ok(self) -> bool:
        """Whether nothing differs, of at least one transition."""
        return self.transitions > 0 and not (
            self.state or self.observation or self.reward or self.end
        )


def differs(
    ours: np.ndarray, theirs: np.ndarray, tolerance: float = 0.0
) -> tuple[np.ndarray, float]:
    """Which rows (first axis, T) differ by more than the tolerance anywhere, and by how much at
    most. Not-a-number differs from everything but itself.

    bool (T,) and a float.
    """
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape:
        raise ValueError(f"shapes {ours.shape} and {theirs.shape} cannot be compared")
    # Two infinities of one sign, or two not-a-numbers, are the same.
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(ours - theirs))
    error = np.where(np.isnan(error), np.inf, error).reshape(len(ours), -1)
    return np.any(error > tolerance, axis=1), float(error.max(initial=0.0))


_HEAD = ("file", "rows", "state", "obs", "reward", "end", "largest error", "")
_FORM = "{:<30.30} {:>7} {:>5} {:>5} {:>6} {:>5} {:>13} {}"


def render(rows: Sequence[ParityRow]) -> str:
    """The rows as a plain table of at most 80 columns, notes and a last line of sum below it."""
    lines = [_FORM.format(*_HEAD).rstrip()]
    for row in rows:
        counts = (row.transitions, row.state, row.observation, row.reward, row.end)
        name = row.file if len(row.file) <= 30 else row.file[:13] + "..." + row.file[-14:]
        error = f"{row.largest_error:.1e}" if row.largest_error else "0"
        lines.append(_FORM.format(name, *counts, error, "ok" if row.ok else "NO"))
    lines += [f"{row.file}: {row.note}" for row in rows if row.note]
    wrong = sum(not row.ok for row in rows)
    total = sum(row.transitions for row in rows)
    of = f"{total} transitions in {len(rows)} recording{'s' if len(rows) != 1 else ''}"
    lines.append(f"{of}: " + (f"{wrong} with mismatches" if wrong else "no mismatch"))
    return "\n".join(lines)
