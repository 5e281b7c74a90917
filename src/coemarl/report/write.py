"""A report's files.

report.md        everything but the hover values
report.html      one page with everything, for a browser, without a network
tables.tex       the tables, to be \\input
curves/*.png     learning curves of each task, and of all; *.pdf likewise
over-tasks.png   interquartile means and performance profiles; .pdf likewise
marl-eval.json   the numbers, in marl-eval's layout
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from coemarl.refusal import Refusal
from coemarl.report.aggregate_figure import picture
from coemarl.report.document import Document
from coemarl.report.figures import pictures
from coemarl.report.interchange import interchange
from coemarl.report.latex import latex
from coemarl.report.markdown import markdown
from coemarl.report.page import page
from coemarl.runs.checkpoint import write_text


def write(document: Document, folder: Path) -> list[Path]:
    """Write every output into a folder; their paths."""
    tree, said = interchange(document.results)
    document = dataclasses.replace(document, notes=(*document.notes, *said))
    texts: dict[str, Callable[[], str]] = {
        "report.md": lambda: markdown(
            document, "curves/all.png", over_tasks[0].name if over_tasks else None
        ),
        "tables.tex": lambda: latex(document),
        "marl-eval.json": lambda: json.dumps(tree, allow_nan=False) + "\n",
        "report.html": lambda: page(document),
    }
    try:
        written = pictures(document, folder / "curves")
        over_tasks = picture(document, folder / "over-tasks")
        written += over_tasks
        for name, text in texts.items():
            write_text(folder / name, text())
            written.append(folder / name)
    except OSError as error:
        raise Refusal(
            f"cannot write to {folder} ({error.strerror}): choose another --out"
        ) from None
    return written
