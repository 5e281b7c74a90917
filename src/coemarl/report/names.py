"""What tasks and algorithms are called in a report, in which order they stand, and in what colour.

Runs of one algorithm with different options on one task are different algorithms to a reader:
QMIX at its own learning rate, and at COE's. Their labels say in what they differ; the one with the
paper's values has the plain name. Options of the task (`env.`) make different tasks, and those of
the evaluation make neither.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coemarl.algorithms import ALGORITHMS as IMPLEMENTED
from coemarl.presets import paper
from coemarl.report.paper_tables import ALGORITHMS, TASKS, paper_task

TASK_PREFIX = "env."
PROTOCOL_PREFIX = "evaluation."
SHORT = {"learning_rate": "lr"}
"""Options with a name that everybody knows."""
FAMILIES = {"mpe": "MPE", "lbf": "LBF", "smac": "SMAC", "battle": "Battle", "matrix": "Matrix"}

Options = Mapping[str, Any]


def split(options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that make another task, and those that make another algorithm."""
    of_task = {path: v for path, v in options.items() if path.startswith(TASK_PREFIX)}
    of_algo = {
        path: value
        for path, value in options.items()
        if path not in of_task and not path.startswith(PROTOCOL_PREFIX)
    }
    return of_task, of_algo


def identity(options: Options) -> str:
    """Options as a key: equal options, equal text."""
    return json.dumps(options, sort_keys=True)


def labels(name: str, variants: Sequence[Options], usual: Options) -> dict[str, str]:
    """For each of the options' identities a label that no other has: the plain name if there is
    but one, or for the one with the usual values."""
    distinct = {identity(options): dict(options) for options in variants}
    differing = [
        path
        for path in sorted({path for options in distinct.values() for path in options})
        if len({identity({"": options.get(path)}) for options in distinct.values()}) > 1
    ]
    named = {
        key: suffixed(name, {path: options[path] for path in differing if path in options}, usual)
        for key, options in distinct.items()
    }
    if len(set(named.values())) < len(named):
        named = {
            key: suffixed(name, {path: options.get(path, "default") for path in differing}, {})
            for key, options in distinct.items()
        }
    return named


def suffixed(name: str, options: Options, usual: Options) -> str:
    """The name with the options that are not usual behind it."""
    parts = [
        f"{short(path)}={text_of(value)}"
        for path, value in options.items()
        if path not in usual or usual[path] != value
    ]
    return f"{name} {' '.join(parts)}" if parts else name


def short(path: str) -> str:
    """The last word of an option's path."""
    leaf = path.rpartition(".")[2]
    return SHORT.get(leaf, leaf)


def text_of(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def paper_values(algo: str, task: str) -> Options:
    """The paper's settings of an algorithm on a task; nothing if it has none."""
    try:
        rows = paper.rows(algo, task.partition(":")[0])
    except ValueError:
        return {}
    return {path: value for row in rows for path, value in row.values.items()}


def algorithm_title(label: str) -> str:
    """An algorithm's label as a heading: `coe-cond-iq` is COE-Cond-IQ, as in the paper."""
    name, _, rest = label.partition(" ")
    known = {each: each.upper() for each in IMPLEMENTED} | ALGORITHMS
    base = max((each for each in known if begins(name, each)), key=len, default="")
    title = known[base] + name[len(base) :] if base else name
    return f"{title} ({rest.replace(' ', ', ')})" if rest else title


def begins(name: str, known: str) -> bool:
    """Whether a name is a known one, or a study's label made from it, such as qmix-3e-4."""
    return name == known or (name.startswith(known) and not name[len(known)].isalnum())


def task_title(task: str) -> str:
    """A task's label as the paper prints it, without the benchmark."""
    name, _, rest = task.partition(" ")
    known = TASKS.get(paper_task(name))
    title = known.name if known else name.partition(":")[2] or name
    return f"{title} ({rest.replace(' ', ', ')})" if rest else title


def family_title(task: str) -> str:
    """The benchmark of a task."""
    family = task.partition(":")[0]
    return FAMILIES.get(family, family.upper())


def is_sparse(task: str) -> bool:
    """Whether the paper counts it among the hard exploration tasks."""
    known = TASKS.get(paper_task(task.partition(" ")[0]))
    return known is not None and known.sparse


def ordered(labels: Iterable[str], known: Sequence[str]) -> tuple[str, ...]:
    """Labels in the order of the known names, variants behind the plain name, then the rest."""

    def place(label: str) -> tuple[int, str]:
        name = paper_task(label.partition(" ")[0])
        of = max((each for each in known if begins(name, each)), key=len, default="")
        return (known.index(of) if of else len(known), label)

    return tuple(sorted(set(labels), key=place))


def ordered_algorithms(labels: Iterable[str]) -> tuple[str, ...]:
    return ordered(labels, list(ALGORITHMS))


def ordered_tasks(labels: Iterable[str]) -> tuple[str, ...]:
    """The paper's order; other tasks behind them, each family together."""
    labels = list(labels)
    in_paper = ordered(labels, list(TASKS))
    families = list(dict.fromkeys(family_title(task) for task in in_paper))
    return tuple(sorted(in_paper, key=lambda task: families.index(family_title(task))))


# Okabe and Ito's colours, which eyes of every kind tell apart, and darker ones beyond the eight.
# With each goes a dash and a marker: the lines differ in print without colour too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B4B8A", "#7A7A7A")
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.2, 1.4), (5, 1.4, 1.2, 1.4))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
FIXED = {"coe": 0, "emc": 2, "maven": 3, "qmix": 1, "coe-cond-iq": 4, "coe-cond-cq": 5}
FIXED |= {"ucb-ind": 6, "ucb-cen": 7}
"""The paper's algorithms have the same look in every report."""


def looks(algos: Sequence[str]) -> dict[str, int]:
    """For each label the number of its look, all different as long as there are looks."""
    taken = {algo: FIXED[algo] for algo in algos if algo in FIXED}
    free = [i for i in range(len(COLOURS)) if i not in taken.values()]
    rest = [algo for algo in algos if algo not in taken]
    for position, algo in enumerate(rest):
        taken[algo] = free[position] if position < len(free) else len(COLOURS) + position
    return {algo: taken[algo] for algo in algos}


def colour(look: int) -> str:
    return COLOURS[look % len(COLOURS)]


def dash(look: int) -> tuple[float, ...]:
    return DASHES[(look + look // len(COLOURS)) % len(DASHES)]


def marker(look: int) -> str:
    return MARKERS[look % len(MARKERS)]
