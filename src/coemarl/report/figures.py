"""Learning curves as pictures: each task's at the width of a column, and all of them together.

A line is the mean over the seeds there at each point, the band its 95% interval. Lines differ by
colour (told apart by eyes of every kind), dash and marker. Below stands what was drawn, and how it
was made goes into the file's own description.
"""

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coemarl.refusal import Refusal
from coemarl.report import names
from coemarl.report.document import Document, summary
from coemarl.report.latex import made_lines
from coemarl.report.made import one_or_range, short_commit
from coemarl.report.results import RETURN, WINS
from coemarl.report.table import quantity
from coemarl.statistics.curves import pointwise
from coemarl.statistics.intervals import Estimate

COLUMN = 3.25
"""Inches: the width of a column of a two-column paper."""
PAGE = 6.9
ACROSS = 3
DOTS = 300
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.6,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # text stays text
}
INTERVAL_NAMES = {"normal": "1.96 s/√n", "t": "Student's t", "bootstrap": "bootstrap"}


def pictures(document: Document, folder: Path) -> list[Path]:
    """Write the curves of every task and metric, and all returns together; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with styled():
        for task in document.results.tasks:
            for metric in drawn_metrics(document, task):
                figure = figure_of(COLUMN, 2.75)
                axes = figure.subplots()
                draw(axes, document, task, metric)
                axes.set_title(title(task, metric), loc="left", fontweight=weight(task))
                finish(figure, axes, document, [task], columns=2)
                name = file_name(task, metric)
                written += save(figure, folder / name, document)
        written += save(together(document), folder / "all", document)
    return written


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Draw in the report's style; Refusal if there is nothing to draw with."""
    try:
        import matplotlib
    except ImportError:
        raise Refusal("curves need matplotlib: pip install 'coemarl[plots]'") from None
    with matplotlib.rc_context(STYLE):
        yield


def figure_of(width: float, height: float) -> Any:
    """An empty figure; sizes in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def drawn_metrics(document: Document, task: str) -> list[str]:
    """The return, and the share of wins where a task has it."""
    return [m for m in (RETURN, *WINS) if document.results.measures(task, m)]


def file_name(task: str, metric: str) -> str:
    """A task's label as a file's name."""
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in task)
    return safe if metric == RETURN else f"{safe}-won"


def title(task: str, metric: str) -> str:
    won = "" if metric == RETURN else ", battles won"
    return f"{names.family_title(task)} {names.task_title(task)}{won}"


def weight(task: str) -> str:
    """Names of hard exploration tasks are bold, as in the paper."""
    return "bold" if names.is_sparse(task) else "normal"


def together(document: Document) -> Any:
    """All tasks' returns (and wins) side by side, with one legend."""
    panels = [(t, m) for t in document.results.tasks for m in drawn_metrics(document, t)]
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    width = PAGE if across > 1 else COLUMN
    figure = figure_of(width, 1.75 * down + 0.75)
    grid = np.atleast_1d(figure.subplots(down, across)).ravel()
    for axes, (task, metric) in zip(grid, panels, strict=False):
        draw(axes, document, task, metric)
        axes.set_title(title(task, metric), loc="left", fontweight=weight(task))
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    columns = min(len(document.results.algos), 4 if across > 1 else 2)
    finish(figure, grid[0], document, document.results.tasks, columns)
    return figure


def draw(axes: Any, document: Document, task: str, metric: str) -> None:
    """One task's lines and bands."""
    results = document.results
    for position, algo in enumerate(results.algos):
        if not results.has(task, algo):
            continue
        points = pointwise(results.curves(task, algo, metric), document.settings.interval)
        known = [point for point in points if math.isfinite(point.mean)]
        look = document.looks[algo]
        steps = np.asarray([point.step for point in known])
        style = line_style(look, position, len(known))
        axes.plot(
            steps, [point.mean for point in known], label=names.algorithm_title(algo), **style
        )
        band = [point for point in known if math.isfinite(point.low)]
        draw_band(axes, band, names.colour(look))
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return" if metric == RETURN else "share won")
    axes.xaxis.set_major_formatter(lambda value, _: quantity(round(value)))
    axes.locator_params(axis="x", nbins=6)
    axes.margins(x=0.02)


def line_style(look: int, position: int, points: int) -> dict[str, Any]:
    """How the line of a look is drawn, the one in that position among others."""
    return {
        "color": names.colour(look),
        "linestyle": (0, names.dash(look)) if names.dash(look) else "-",
        "marker": names.marker(look),
        # Some points only, others on each line, so that lines on top of each other show.
        "markevery": (position, max(1, points // 6)),
        "zorder": 3,
    }


def draw_band(axes: Any, points: Sequence[Estimate], colour: str) -> None:
    steps = [point.step for point in points]
    low, high = [point.low for point in points], [point.high for point in points]
    axes.fill_between(steps, low, high, color=colour, alpha=0.16, linewidth=0)


def finish(figure: Any, axes: Any, document: Document, tasks: Sequence[str], columns: int) -> None:
    """The legend below, and under it what was drawn."""
    lines = {}
    for each in figure.axes:
        for line, label in zip(*each.get_legend_handles_labels(), strict=True):
            lines.setdefault(label, line)
    order = [names.algorithm_title(algo) for algo in document.results.algos]
    shown = [label for label in order if label in lines]
    figure.legend(
        [lines[label] for label in shown],
        shown,
        loc="outside lower center",
        ncols=columns,
        handlelength=2.8,
        columnspacing=1.4,
        title=drawn(document, tasks),
        title_fontproperties={"size": 6.2},
    )


def drawn(document: Document, tasks: Sequence[str]) -> str:
    """What the lines are, in a line: seeds, interval, commit."""
    parts = [each for each in document.made if each.task in tasks]
    seeds = one_or_range([len(each.seeds) for each in parts])
    commits = list(dict.fromkeys(short_commit(c) for each in parts for c in each.commits))
    code = f"commit {commits[0]}" if len(commits) == 1 else f"{len(commits)} commits"
    kind = INTERVAL_NAMES[document.settings.interval]
    plural = "" if seeds == "1" else "s"
    return f"mean of {seeds} seed{plural}, band: 95% interval ({kind}); {code}"


def save(figure: Any, path: Path, document: Document) -> list[Path]:
    """The figure as PNG and PDF, with how it was made inside; no date, so equal input gives equal
    files."""
    made = "\n".join(line for each in document.made for line in made_lines(each))
    said = f"{summary(document)}\n{made}\n{document.command}"
    png, pdf = path.with_name(path.name + ".png"), path.with_name(path.name + ".pdf")
    figure.savefig(png, dpi=DOTS, metadata={"Title": document.title, "Description": said})
    dates = {"CreationDate": None, "ModDate": None}
    figure.savefig(pdf, metadata={"Title": document.title, "Subject": said, **dates})
    return [png, pdf]
