"""The tables as LaTeX, in the paper's layout: to be \\input, with the packages of its first lines.

Below each of our numbers stands the paper's, smaller and grey.
"""

import itertools
import re

from coemarl.report import names
from coemarl.report.document import Document, summary
from coemarl.report.made import Made, one_or_range, short_commit
from coemarl.report.paper_tables import PAPER_STEPS
from coemarl.report.table import Cell, Line, Table, legend, quantity, text

PACKAGES = r"\usepackage{booktabs,multirow,graphicx,xcolor,amsmath,bm}"
FEW = 5
"""Columns that fit a page in the larger print."""
CORNER = r"\multicolumn{1}{l}{\textbf{Tasks \textbackslash{} Algs.}}"
SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "√n": r"$\sqrt{n}$",
    "–": "--",
    "†": r"$\dagger$",
}


def escaped(said: str) -> str:
    """Text in which no sign has a meaning for LaTeX."""
    return re.sub("|".join(map(re.escape, SIGNS)), lambda found: SIGNS[found[0]], said)


def latex(document: Document) -> str:
    """All tables, each with how it was made in comments before and in its caption."""
    head = [
        f"% {document.title}. {summary(document)}",
        f"% Needs {PACKAGES}",
        *(f"% {line}" for each in document.made for line in made_lines(each)),
        *(f"% Note: {note}" for note in document.notes),
    ]
    if document.command:
        head.append(f"% Made by: {document.command}")
    return "\n".join([*head, *(table_part(document, table) for table in document.tables)]) + "\n"


def made_lines(each: Made) -> list[str]:
    seeds = ", ".join(map(str, each.seeds))
    commits = ", ".join(map(short_commit, each.commits))
    first = f"{each.algo} on {each.task}: seeds {seeds}; {one_or_range(each.steps)} steps"
    return [f"{first}; commit {commits}", *(f"    {command}" for command in each.commands)]


def table_part(document: Document, table: Table) -> str:
    """One floating table."""
    algos = table.algos
    columns = "".join(["lll", "c" * len(algos)])
    titles = " & ".join(
        rf"\multicolumn{{1}}{{c}}{{{escaped(names.algorithm_title(a))}}}" for a in algos
    )
    caption = escaped(f"{table.title}. {summary(document)} {' '.join(legend(table))}")
    body = []
    families = itertools.groupby(table.lines, lambda line: names.family_title(line.task))
    for family, lines in families:
        body += [r"      \midrule", *family_rows(family, list(lines), table)]
    return "\n".join(
        [
            r"\begin{table*}[!htb]",
            r"    \scriptsize" if len(algos) <= FEW else r"    \tiny\setlength{\tabcolsep}{3pt}",
            r"    \centering",
            f"    \\caption{{{caption}}}\\label{{tab:{table.summary}-returns}}",
            f"    \\begin{{tabular}}{{{columns}}}",
            r"      \toprule",
            rf"      && {CORNER} & {titles} \\",
            *body,
            r"      \bottomrule",
            r"    \end{tabular}",
            r"\end{table*}",
        ]
    )


def family_rows(family: str, lines: list[Line], table: Table) -> list[str]:
    """A benchmark's rows, its name upright beside them, returns and wins apart."""
    drawn = [drawn_line(line, table) for line in lines]
    kinds = {line.kind for line in lines}
    height = sum(len(rows) for rows in drawn)
    rows = []
    for line, its_rows in zip(lines, drawn, strict=True):
        for position, row in enumerate(its_rows):
            first = "" if rows else upright(family, height)
            kind = line.kind[:3] if len(kinds) > 1 and position == 0 else ""
            rows.append(f"      {first} & {kind} & {row} \\\\")
    return rows


def upright(word: str, height: int) -> str:
    return rf"\multirow{{{height}}}{{*}}{{\rotatebox[origin=c]{{90}}{{{escaped(word)}}}}}"


def drawn_line(line: Line, table: Table) -> list[str]:
    """Our row of a line and, if the paper has any number of it, the paper's."""
    title = escaped(names.task_title(line.task))
    title = rf"\textbf{{{title}}}" if names.is_sparse(line.task) else title
    ours = " & ".join(our_cell(line.cells.get(algo), table) for algo in table.algos)
    rows = [f"{title} ({quantity(line.steps)}) & {ours}"]
    if any(cell.paper for cell in line.cells.values()):
        theirs = " & ".join(paper_part(line.cells.get(algo)) for algo in table.algos)
        rows.append(rf"\quad\textcolor{{gray}}{{\tiny paper ({quantity(PAPER_STEPS)})}} & {theirs}")
    return rows


def our_cell(cell: Cell | None, table: Table) -> str:
    if cell is None:
        return "--"
    said = text(cell.estimate, table.settings).replace("±", r"\pm").replace("–", r"\text{--}")
    mark = {"*": "{*}", "†": r"$^\dagger$"}.get(cell.mark, cell.mark)
    return (rf"$\bm{{{said}}}$" if cell.best else f"${said}$") + mark


def paper_part(cell: Cell | None) -> str:
    if cell is None or cell.paper is None:
        return ""
    said = rf"{cell.paper.mean} \pm {cell.paper.half}"
    said = rf"$\bm{{{said}}}$" if cell.paper.best else f"${said}$"
    return rf"\textcolor{{gray}}{{\tiny {said}{'{*}' if cell.paper.indistinct else ''}}}"
