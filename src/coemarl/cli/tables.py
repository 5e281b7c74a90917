"""Tables of plain text that fit a terminal, and pipe well."""

import shutil
import sys
import textwrap
from collections.abc import Sequence

PIPED_WIDTH = 80
"""Columns of output that goes to no terminal."""
WIDEST = 100
LEAST_ROOM = 24
"""A last column with less room than this goes to lines of its own."""


def width() -> int:
    """Columns to fill on standard output."""
    if not sys.stdout.isatty():
        return PIPED_WIDTH
    return max(40, min(WIDEST, shutil.get_terminal_size().columns))


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> list[str]:
    """Lines of a table whose last column is wrapped to fit; columns numbered in `right` are flush
    right, as numbers want to be. Heads that are all empty are left out."""
    texts = [heads, *rows] if any(heads) else list(rows)
    sizes = [max(len(row[i]) for row in texts) for i in range(len(heads) - 1)]
    indent = sum(sizes) + 2 * len(sizes)
    words = [len(word) for row in texts for word in row[-1].split()]
    beside = (
        width() - indent >= max([LEAST_ROOM, *words])
        or indent + max((len(row[-1]) for row in texts), default=0) <= width()
    )
    lines: list[str] = []
    for row in texts:
        cells = [
            text.rjust(size) if i in right else text.ljust(size)
            for i, (text, size) in enumerate(zip(row[:-1], sizes, strict=True))
        ]
        head = "".join(f"{cell}  " for cell in cells)
        last = row[-1] if beside or row is not heads else ""
        lines += [line.rstrip() for line in _with_last(head, last, indent if beside else None)]
    return lines


def _with_last(head: str, text: str, indent: int | None) -> list[str]:
    """A row's lines: its columns, then the text of the last one, wrapped beside or below them."""
    room = width() - (4 if indent is None else indent)
    wrapped = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    if indent is None:
        return [head, *(f"    {line}" for line in wrapped)]
    first, *others = wrapped or [""]
    return [head + first, *(" " * indent + line for line in others)]


def paragraph(text: str, indent: str = "") -> str:
    """A text in lines that fit, those after the first indented."""
    return textwrap.fill(
        text, width(), subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def shortened(name: str, size: int) -> str:
    """A name that is too long with its beginning left out: what tells runs apart is at the end."""
    return name if len(name) <= size else f"...{name[3 - size :]}"
