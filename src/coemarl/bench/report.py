"""Records of benchmarks as plain tables."""

from collections.abc import Sequence

WIDTH = 80


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need, two spaces apart: the first to the left, the others to the
    right. The first one is cut if a line would be longer than 80 columns."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    widths[0] = max(8, min(widths[0], WIDTH - sum(widths[1:]) - 2 * (len(heads) - 1)))
    return "\n".join(
        "  ".join(
            [
                cut(line[0], widths[0]),
                *(f"{word:>{w}}" for word, w in zip(line[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for line in lines
    )


def cut(word: str, width: int) -> str:
    """The word, padded to the width, with its end left out if it is longer."""
    return f"{word:<{width}}" if len(word) <= width else word[: width - 3] + "..."


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds to three digits or more."""
    return f"{1e3 * seconds:.3g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def times(ratio: float) -> str:
    """A ratio: 0.79x, 1.16x, 320x."""
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def where(machine: dict) -> str:
    """The line under a table: what it was measured on."""
    load = machine["load"]
    busy = "" if load is None else f", load {load[0]:.1f}"
    words = f"one core of {machine['cores']} ({machine['processor']}), jax {machine['jax']}{busy}"
    return f"CPU time, median of the repetitions, on {words}"
