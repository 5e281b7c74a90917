"""A report as one Markdown document, with the curves as pictures beside it."""

from collections.abc import Iterable, Sequence

from coemarl.report import names
from coemarl.report.aggregate import Aggregates
from coemarl.report.document import Document, summary
from coemarl.report.made import Made, one_or_range, short_commit
from coemarl.report.paper_tables import PAPER_STEPS
from coemarl.report.table import TEST_NAMES, Cell, Line, Table, legend, number, quantity, text
from coemarl.statistics.aggregates import Aggregate


def markdown(document: Document, curves: str | None = None, over_tasks: str | None = None) -> str:
    """The whole report; `curves` and `over_tasks` are the pictures beside it, if there are any."""
    parts = [f"# {document.title}", summary(document)]
    for table in document.tables:
        parts += [f"## {table.title}", *table_part(table)]
    parts += ["## Notes", bullets(document.notes) or "Nothing is missing or odd."]
    if curves:
        parts += ["## Learning curves", f"![learning curves]({curves})"]
    parts += ["## Tests against the best", tests_part(document.tables)]
    parts += ["## Over all tasks", *aggregates_part(document.aggregates)]
    if over_tasks:
        parts.append(f"![interquartile means and performance profiles]({over_tasks})")
    parts += ["## Steps to a return", arrivals_part(document)]
    parts += ["## How it was made", *made_part(document)]
    return "\n\n".join(parts) + "\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; all but the first `left` columns stand to the right."""
    rule = [":--" if column < left else "--:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def escaped(text: str) -> str:
    """Text in which no sign has a meaning for Markdown's tables."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def table_part(table: Table) -> list[str]:
    """A table in the paper's layout, the paper's numbers in a line below ours, and its legend."""
    rows = []
    for line in table.lines:
        family = names.family_title(line.task) + (" won" if line.kind == "win" else "")
        title = names.task_title(line.task)
        title = f"**{escaped(title)}**" if names.is_sparse(line.task) else escaped(title)
        cells = [ours(line.cells.get(algo), table) for algo in table.algos]
        rows.append([family, title, quantity(line.steps), *cells])
        if any(cell.paper for cell in line.cells.values()):
            papers = [theirs(line.cells.get(algo)) for algo in table.algos]
            rows.append(["", "*paper*", f"*{quantity(PAPER_STEPS)}*", *papers])
    head = ["", "task", "steps", *(escaped(names.algorithm_title(a)) for a in table.algos)]
    return [grid(head, rows, left=2), bullets(legend(table))]


def ours(cell: Cell | None, table: Table) -> str:
    if cell is None:
        return "–"
    said = text(cell.estimate, table.settings)
    return (f"**{said}**" if cell.best else said) + cell.mark.replace("*", "\\*")


def theirs(cell: Cell | None) -> str:
    """The paper's number, in italics to tell it from ours."""
    if cell is None or cell.paper is None:
        return ""
    said = f"***{cell.paper.text}***" if cell.paper.best else f"*{cell.paper.text}*"
    return said + ("\\*" if cell.paper.indistinct else "")


def tests_part(tables: Sequence[Table]) -> str:
    """Every test of every table: the best of the line, the other, and the p values."""
    rows = []
    for table in tables:
        for line in table.lines:
            for algo, cell in line.cells.items():
                if cell.outcomes:
                    rows.append([table.summary, *test_row(line, algo, cell)])
    if not rows:
        return "Nothing to test: no line has two algorithms of the same length."
    decides = tables[0].settings
    deciding = f"p by Holm ({TEST_NAMES[decides.test]})" if decides.holm else None
    head = ["", "task", "best", "against", "difference", "p Student", "p Welch", "p ranks"]
    if deciding is None:
        rows = [row[:-1] for row in rows]
    return grid(head + ([deciding] if deciding else []), rows, left=4)


def test_row(line: Line, algo: str, cell: Cell) -> list[str]:
    best = line.champion or ""
    difference = line.cells[best].estimate.mean - cell.estimate.mean
    task = names.task_title(line.task) + (" (won)" if line.kind == "win" else "")
    who = [escaped(task), *(escaped(names.algorithm_title(each)) for each in (best, algo))]
    p_values = [number(outcome.p, 4) for outcome in cell.outcomes.values()]
    deciding = cell.comparison.p if cell.comparison else float("nan")
    return [*who, f"{difference:.3g}", *p_values, number(deciding, 4)]


def aggregate_text(aggregate: Aggregate) -> str:
    """A value with its interval's ends."""
    said = number(aggregate.value, 3)
    if aggregate.low == aggregate.low:  # no NaN
        said += f" [{number(aggregate.low, 3)}, {number(aggregate.high, 3)}]"
    return said


def normalisation(aggregates: Aggregates) -> str:
    """How scores came about, in words."""
    bounds = "; ".join(
        f"{names.task_title(task)} {low:.3g} to {high:.3g}"
        + (" (the lowest and highest of those compared)" if task in aggregates.fitted else "")
        for task, (low, high) in aggregates.bounds.items()
    )
    return (
        "Scores are average returns per seed, normalised per task to 0 at the lower and 1 at the"
        f" upper bound: {bounds}. Intervals: 95%, stratified bootstrap over seeds."
    )


def aggregates_part(aggregates: Aggregates) -> list[str]:
    if len(aggregates.algos) < 2 or not aggregates.tasks:
        left_out = bullets(aggregates.notes)
        return ["Fewer than two algorithms can be put together.", *([left_out] if left_out else [])]
    rows = [
        [
            escaped(names.algorithm_title(algo)),
            aggregate_text(aggregates.means[algo]),
            *(
                aggregate_text(aggregates.improvement[algo, other]) if other != algo else ""
                for other in aggregates.algos
            ),
        ]
        for algo in aggregates.algos
    ]
    over = [f"P(better than {escaped(names.algorithm_title(algo))})" for algo in aggregates.algos]
    said = [*aggregates.notes, *notes_of(aggregates)]
    return [
        normalisation(aggregates),
        grid(["", "interquartile mean", *over], rows),
        *([bullets(said)] if said else []),
    ]


def notes_of(aggregates: Aggregates) -> list[str]:
    """What the aggregates themselves have to say."""
    notes = [
        f"{names.algorithm_title(algo)}: {each.note}"
        for algo, each in aggregates.means.items()
        if each.note
    ]
    if len(aggregates.tasks) == 1:
        notes.append("there is but one task: this says no more than its line of the table")
    return notes


def arrivals_part(document: Document) -> str:
    """How many steps until half of the seeds have a return, runs without it counted as censored."""
    if not document.arrivals:
        return "No algorithm reached a return above 0."
    rows = [
        [
            escaped(names.task_title(arrival.task)),
            f"{arrival.target:g}",
            *(
                arrival.times[algo].text() if algo in arrival.times else "–"
                for algo in document.results.algos
            ),
        ]
        for arrival in document.arrivals
    ]
    head = ["task", "return", *map(names.algorithm_title, document.results.algos)]
    words = (
        "Median steps until an evaluation first has the return (Kaplan and Meier: a run that has"
        " not is censored, not left out), and how many seeds have."
    )
    return words + "\n\n" + grid([escaped(each) for each in head], rows)


def made_part(document: Document) -> list[str]:
    rows = [made_row(each) for each in document.made]
    head = ["task", "algorithm", "seeds", "steps", "evaluations", "commit", "version"]
    commands = dict.fromkeys(command for each in document.made for command in each.commands)
    said = [grid(head, rows, left=2), "Commands:", fenced(commands)]
    if document.command:
        said += ["This report:", fenced([document.command])]
    return said


def made_row(each: Made) -> list[str]:
    return [
        f"`{each.task}`",
        escaped(names.algorithm_title(each.algo)),
        ", ".join(map(str, each.seeds)),
        one_or_range(each.steps),
        one_or_range(each.points),
        ", ".join(f"`{short_commit(commit)}`" for commit in each.commits),
        ", ".join(each.versions),
    ]


def fenced(lines: Iterable[str]) -> str:
    return "\n".join(["```", *lines, "```"])
