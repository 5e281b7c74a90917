"""A report in the terminal: the tables, and what must be known of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from coemarl.report import names
from coemarl.report.document import Document, summary
from coemarl.report.paper_tables import PAPER_STEPS
from coemarl.report.table import Cell, Line, Settings, Table, legend, quantity, text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

PIPE_WIDTH = 200
"""Letters in a line where there is no terminal to say it."""
ENDLESS = 100_000


def show(document: Document, stream: TextIO, width: int | None = None) -> None:
    """Print the tables in colour where the stream is a terminal, plainly elsewhere."""
    from rich.console import Console
    from rich.text import Text

    width = width or (None if stream.isatty() else PIPE_WIDTH)
    console = Console(file=stream, highlight=False, width=width)
    console.print(Text(document.title, style="bold"), Text(summary(document)), sep="\n")
    for table in document.tables:
        console.print()
        for part in parts_that_fit(table, console):
            console.print(grid_of(table, part))
        for line in legend(table):
            console.print(Text(line, style="dim"), soft_wrap=True)
    if document.notes:
        console.print(Text("\nNotes", style="bold"))
        for note in document.notes:
            console.print(Text(f"- {note}"), soft_wrap=True)


def parts_that_fit(table: Table, console: "Console") -> list[Sequence[str]]:
    """The algorithms in as few parts as let each stand in the console's width: a number cut short
    is none."""
    from rich.measure import Measurement

    free = console.options.update(width=ENDLESS)
    parts: list[Sequence[str]] = []
    for size in range(len(table.algos), 0, -1):
        starts = range(0, len(table.algos), size)
        parts = [table.algos[start : start + size] for start in starts]
        widths = [Measurement.get(console, free, grid_of(table, part)).maximum for part in parts]
        if max(widths) <= console.width:
            break
    return parts


def grid_of(table: Table, algos: Sequence[str]) -> "Grid":
    """The columns of some algorithms, a row for each line and the paper's numbers below ours."""
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(title=table.title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    grid.add_column("task", no_wrap=True)
    for algo in algos:
        grid.add_column(names.algorithm_title(algo), justify="right")
    before = ""
    for line in table.lines:
        family = names.family_title(line.task)
        if before and family != before:
            grid.add_section()
        before = family
        grid.add_row(task_text(line), *(ours(line, algo, table.settings) for algo in algos))
        if any(cell.paper for cell in line.cells.values()):
            papers = [theirs(line.cells.get(algo)) for algo in algos]
            grid.add_row(f"  paper, {quantity(PAPER_STEPS)} steps", *papers, style="dim")
    return grid


def task_text(line: Line) -> "Text":
    from rich.text import Text

    title = f"{names.family_title(line.task)} {names.task_title(line.task)}"
    won = " (won)" if line.kind == "win" else ""
    steps = f", {quantity(line.steps)} steps"
    return Text(title + won + steps, style="bold" if names.is_sparse(line.task) else "")


def ours(line: Line, algo: str, settings: Settings) -> "Text":
    from rich.text import Text

    cell = line.cells.get(algo)
    if cell is None:
        return Text("–")
    # A mark or the room for one, so that the numbers stand below each other.
    said = text(cell.estimate, settings) + (cell.mark or " ")
    return Text(said, style="bold green" if cell.best else "")


def theirs(cell: Cell | None) -> "Text":
    from rich.text import Text

    if cell is None or cell.paper is None:
        return Text("")
    mark = "*" if cell.paper.indistinct else " "
    return Text(cell.paper.text + mark, style="bold" if cell.paper.best else "")
