"""Which of the paper's claims hold under which reading of it.

`python -m coemarl.game.claims results/game` reads the study's rows and writes `claims.md` there.

A reading is a set of rules and a number of steps. A seed has converged if at least 90% of the joint
actions in the last tenth of the steps are optimal; a learner converges if at least 90% of its seeds
do. The claims (paper, section 5.4), each at one p0:

    dep-dep converges
    ind-dep converges
    they overlap      both converge, and their mean regrets differ by at most a quarter
    ind-ind fails     it does not converge, or its mean regret is twice that of ind-dep or more
    ind-ind varies    the standard deviation of its regret over seeds is twice that of dep-dep or
                      more
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coemarl.game.results import markdown
from coemarl.game.study import read

OPTIMAL = 0.9
"""The share of optimal joint actions of a seed that has converged."""
MOST = 0.9
"""The share of seeds in a learner that converges."""
NEAR = 1.25
"""The largest quotient of mean regrets that overlap."""
FAR = 2.0
"""The least quotient of regrets, or of deviations, that tells learners apart."""

LEARNERS = ("dep-dep", "ind-dep", "ind-ind")


class Reading(NamedTuple):
    """What the paper leaves open."""

    unvisited: str
    c: float
    estimate: str | float
    steps: int


class Found(NamedTuple):
    """One learner's seeds under one reading at one p0."""

    regret: np.ndarray
    late_share: np.ndarray

    @property
    def seeds(self) -> int:
        """Seeds that have converged."""
        return int((self.late_share >= OPTIMAL).sum())

    @property
    def converges(self) -> bool:
        """Whether nearly all of them have."""
        return self.seeds >= MOST * len(self.regret)

    @property
    def mean(self) -> float:
        """Mean regret."""
        return float(self.regret.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the regret over seeds."""
        return float(self.regret.std(ddof=1))


Trio = dict[str, Found]
"""The three learners under one reading at one p0, by name."""


def overlap(trio: Trio) -> bool:
    """Whether the two conditional learners are as good as each other, and good."""
    a, b = trio["dep-dep"], trio["ind-dep"]
    near = max(a.mean, b.mean) <= NEAR * min(a.mean, b.mean)
    return a.converges and b.converges and near


def fails(trio: Trio) -> bool:
    """Whether the independent learner does not find the optimal joint action, or late."""
    ours, theirs = trio["ind-ind"], trio["ind-dep"]
    return not ours.converges or ours.mean >= FAR * theirs.mean


def varies(trio: Trio) -> bool:
    """Whether the independent learner's seeds differ much more than those of the tree."""
    deviation = trio["ind-ind"].deviation
    return deviation > 0 and deviation >= FAR * trio["dep-dep"].deviation


CLAIMS: dict[str, Callable[[Trio], bool]] = {
    "dep-dep converges": lambda trio: trio["dep-dep"].converges,
    "ind-dep converges": lambda trio: trio["ind-dep"].converges,
    "they overlap": overlap,
    "ind-ind fails": fails,
    "ind-ind varies": varies,
}


def readings(rows: Iterable[dict[str, Any]]) -> dict[Reading, dict[float, dict[str, Found]]]:
    """What was found, by reading and p0. A learner whose values are no estimates of its own enters
    every reading that has its other rules."""
    rows = list(rows)
    found: dict[Reading, dict[float, dict[str, Found]]] = {}
    estimates = dict.fromkeys(row["estimate"] for row in rows)
    for row in rows:
        own = row["learner"] in ("ind-dep", "ind-ind")
        for estimate in (row["estimate"],) if own else estimates:
            reading = Reading(row["unvisited"], row["c"], estimate, row["steps"])
            at = found.setdefault(reading, {}).setdefault(row["p0"], {})
            at[row["learner"]] = Found(np.array(row["regret"]), np.array(row["late_share"]))
    return {reading: found[reading] for reading in sorted(found, key=order)}


def order(reading: Reading) -> tuple[Any, ...]:
    """Means before step sizes, large scales before small ones."""
    size = 0.0 if reading.estimate == "mean" else float(reading.estimate)
    return reading.steps, reading.unvisited, -reading.c, size


def complete(at: dict[float, dict[str, Found]]) -> dict[float, Trio]:
    """The p0 at which all three learners were played."""
    return {p0: trio for p0, trio in sorted(at.items()) if set(LEARNERS) <= set(trio)}


def verdicts(at: dict[float, Trio]) -> list[str]:
    """For each claim the p0 at which it holds."""
    return [
        ", ".join(f"{p0:g}" for p0, trio in at.items() if holds(trio)) or "-"
        for holds in CLAIMS.values()
    ]


def words(reading: Reading) -> list[str]:
    """The reading's cells in a table."""
    estimate = "mean" if reading.estimate == "mean" else f"step {reading.estimate:g}"
    return [f"c = {reading.c:g}", estimate, reading.unvisited]


def claims_table(found: dict[Reading, dict[float, Trio]]) -> str:
    """A line for each reading: where each claim holds."""
    head = ["c", "own values", "unvisited", *CLAIMS]
    return markdown([head, *(words(reading) + verdicts(at) for reading, at in found.items())])


def numbers_table(found: dict[Reading, dict[float, Trio]]) -> str:
    """A line for each reading and p0: seeds converged, and regret with its deviation."""
    head = ["c", "own values", "unvisited", "p0"]
    head += [f"{name} {what}" for name in LEARNERS for what in ("seeds", "regret")]
    lines = [
        [*words(reading), f"{p0:g}", *(cell for name in LEARNERS for cell in cells(trio[name]))]
        for reading, at in found.items()
        for p0, trio in at.items()
    ]
    return markdown([head, *lines])


def cells(found: Found) -> tuple[str, str]:
    """How many seeds have converged, and mean regret with the seeds' standard deviation."""
    return f"{found.seeds}/{len(found.regret)}", f"{found.mean:,.0f} (sd {found.deviation:,.0f})"


def horizon_table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each learner, its rules and p0: seeds converged after so many steps."""
    horizons = sorted({row["steps"] for row in rows})
    seen: dict[tuple[str, ...], dict[int, str]] = {}
    for row in rows:
        found = Found(np.array(row["regret"]), np.array(row["late_share"]))
        reading = Reading(row["unvisited"], row["c"], row["estimate"], row["steps"])
        rules = words(reading)
        if row["learner"] not in ("ind-dep", "ind-ind"):
            rules[1] = "-"
        name = (row["learner"], *rules, f"{row['p0']:g}")
        seen.setdefault(name, {})[row["steps"]] = f"{found.seeds}"
    head = ["learner", "c", "own values", "unvisited", "p0", *(f"{h:,}" for h in horizons)]
    lines = [[*name, *(at.get(h, "") for h in horizons)] for name, at in seen.items()]
    return markdown([head, *lines])


def page(rows: Sequence[dict[str, Any]]) -> str:
    """All tables in Markdown."""
    found = {reading: complete(at) for reading, at in readings(rows).items()}
    parts = ["# The claims of section 5.4, reading by reading", explanation()]
    for steps in sorted({reading.steps for reading in found}, reverse=True):
        here = {reading: at for reading, at in found.items() if reading.steps == steps and at}
        if here:
            parts += [f"## After {steps:,} steps: p0 at which each claim holds", claims_table(here)]
    longest = max(reading.steps for reading, at in found.items() if at)
    here = {reading: at for reading, at in found.items() if reading.steps == longest and at}
    parts += [f"## After {longest:,} steps: seeds converged, and regret", numbers_table(here)]
    parts += ["## Seeds converged, by steps", horizon_table(rows)]
    return "\n\n".join(parts) + "\n"


def explanation() -> str:
    """What the words of the tables mean, from this module's own description."""
    about = (__doc__ or "").split("\n\n")
    return f"{about[2]}\n\n```\n{about[3].rstrip()}\n```"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "claims.md").write_text(page(read(folder / "study.jsonl")), encoding="utf-8")
