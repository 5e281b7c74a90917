"""What all tasks say together, as a picture: interquartile means and performance profiles."""

from pathlib import Path
from typing import Any

from coemarl.report import names
from coemarl.report.aggregate import THRESHOLDS
from coemarl.report.document import Document
from coemarl.report.figures import PAGE, figure_of, line_style, save, styled


def picture(document: Document, path: Path) -> list[Path]:
    """Write the picture as PNG and PDF; nothing where fewer than two algorithms have all tasks."""
    if len(document.aggregates.algos) < 2 or not document.aggregates.tasks:
        return []
    with styled():
        return save(drawn(document), path, document)


def drawn(document: Document) -> Any:
    """The means on the left, the profiles on the right, with one order and one set of looks."""
    group = document.aggregates
    figure = figure_of(PAGE, 1.0 + 0.22 * max(5, len(group.algos)))
    means, profiles = figure.subplots(1, 2)
    for row, algo in enumerate(group.algos):
        mean, look = group.means[algo], document.looks[algo]
        colour = names.colour(look)
        means.plot([mean.low, mean.high], [row, row], color=colour, linewidth=5, alpha=0.35)
        means.plot([mean.value], [row], marker=names.marker(look), color=colour, zorder=3)
        profile = group.profiles[algo]
        style = line_style(look, row, len(THRESHOLDS))
        profiles.plot(THRESHOLDS, profile.share, label=names.algorithm_title(algo), **style)
        profiles.fill_between(
            THRESHOLDS, profile.low, profile.high, color=colour, alpha=0.16, linewidth=0
        )
    means.set_yticks(range(len(group.algos)), [names.algorithm_title(algo) for algo in group.algos])
    means.invert_yaxis()
    means.margins(y=0.12)
    means.set_xlabel("interquartile mean of normalised scores")
    profiles.set_xlabel("normalised score")
    profiles.set_ylabel("share of runs above")
    count = len(group.tasks)
    over = f"average returns over {count} task{'' if count == 1 else 's'}, 95% stratified bootstrap"
    means.set_title(over, loc="left", fontsize=7)
    return figure
