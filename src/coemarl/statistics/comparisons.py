"""Is the best algorithm really better? Two-sample tests over seeds.

    student       Student's t-test with pooled variance: the paper's test
    welch         Welch's, without the assumption of equal variances
    mann_whitney  the rank test of Mann and Whitney: exact for small samples without ties,
                  else by the normal approximation with corrections for ties and continuity

All are two-sided. The paper tests the best algorithm of a task against each other one at 0.05 and
marks with an asterisk those NOT significantly different from the best. Which one is the best is
itself chosen by looking at the values, and there are many tests: `holm` corrects for the number,
nothing here corrects for the choice.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from coemarl.statistics.intervals import normal_two_sided, t_two_sided

TestKind = Literal["student", "welch", "mann-whitney"]
ALPHA = 0.05
EXACT_UP_TO = 8
"""Values per sample up to which the rank test enumerates its distribution, as scipy does."""


@dataclass(frozen=True)
class Outcome:
    """A test's statistic and two-sided p-value; NaN, with the reason, where it says nothing."""

    statistic: float
    p: float
    degrees: float = math.nan
    """Degrees of freedom of a t-test."""
    note: str = ""


def samples(first: Sequence[float], second: Sequence[float]) -> tuple[np.ndarray, np.ndarray, str]:
    """Both samples without what is no number, and why they cannot be compared (empty if they
    can)."""
    a, b = (np.asarray(values, float) for values in (first, second))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if min(a.size, b.size) < 2:
        return a, b, f"{a.size} against {b.size} seeds: a test needs two of each"
    return a, b, ""


def student(first: Sequence[float], second: Sequence[float]) -> Outcome:
    """t = (mean a - mean b) / sqrt(s² (1/n + 1/m)), s² pooled; n + m - 2 degrees of freedom."""
    a, b, trouble = samples(first, second)
    if trouble:
        return Outcome(math.nan, math.nan, note=trouble)
    degrees = float(a.size + b.size - 2)
    pooled = ((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / degrees
    return t_outcome(a, b, float(pooled * (1 / a.size + 1 / b.size)), degrees)


def welch(first: Sequence[float], second: Sequence[float]) -> Outcome:
    """t = (mean a - mean b) / sqrt(va + vb), v = s² / n; degrees of freedom by Welch and
    Satterthwaite: (va + vb)² / (va² / (n - 1) + vb² / (m - 1))."""
    a, b, trouble = samples(first, second)
    if trouble:
        return Outcome(math.nan, math.nan, note=trouble)
    va, vb = float(a.var(ddof=1)) / a.size, float(b.var(ddof=1)) / b.size
    below = va**2 / (a.size - 1) + vb**2 / (b.size - 1)
    return t_outcome(a, b, va + vb, (va + vb) ** 2 / below if below > 0 else math.nan)


def t_outcome(a: np.ndarray, b: np.ndarray, variance: float, degrees: float) -> Outcome:
    """The outcome of a t statistic whose difference has that variance."""
    difference = float(a.mean() - b.mean())
    if np.ptp(a) == 0 and np.ptp(b) == 0:  # the variance itself may be a rounding error
        same = "the same" if difference == 0 else "another"
        note = f"no spread within either, and {same} mean: a t-test is not defined"
        return Outcome(math.nan, math.nan, note=note)
    statistic = difference / math.sqrt(variance)
    return Outcome(statistic, t_two_sided(statistic, degrees), float(degrees))


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> Outcome:
    """U = number of pairs in which a is larger, ties counted as halves."""
    a, b, trouble = samples(first, second)
    if trouble:
        return Outcome(math.nan, math.nan, note=trouble)
    larger = float((a[:, None] > b).sum() + 0.5 * (a[:, None] == b).sum())
    _, counts = np.unique(np.concatenate([a, b]), return_counts=True)
    if counts.size == 1:
        return Outcome(larger, math.nan, note="all values are equal: ranks say nothing")
    if counts.max() == 1 and min(a.size, b.size) <= EXACT_UP_TO:
        return exact_ranks(larger, a.size, b.size)
    total = a.size + b.size
    ties = float((counts**3 - counts).sum())
    spread = a.size * b.size / 12 * (total + 1 - ties / (total * (total - 1)))
    z = max(0.0, abs(larger - a.size * b.size / 2) - 0.5) / math.sqrt(spread)
    note = "ties: p by the normal approximation" if counts.max() > 1 else ""
    return Outcome(larger, min(1.0, normal_two_sided(z)), note=note)


def exact_ranks(larger: float, n: int, m: int) -> Outcome:
    """p from all orders of n + m different values; says so if no order would be significant."""
    ways = orders(n, m)
    total = sum(ways)
    extreme = int(min(larger, n * m - larger))
    p = min(1.0, 2 * sum(ways[: extreme + 1]) / total)
    least = 2 / total
    note = f"the least possible p is {least:.2g}" if least > ALPHA else ""
    return Outcome(larger, p, note=note)


def orders(n: int, m: int) -> list[int]:
    """In how many orders of n and m values U is 0, 1, ..., nm: the coefficients of the Gaussian
    binomial, by f(n, m, u) = f(n - 1, m, u - m) + f(n, m - 1, u)."""
    table: dict[tuple[int, int], np.ndarray] = {}
    for i in range(n + 1):
        for j in range(m + 1):
            ways = np.zeros(i * j + 1, object)
            if i == 0 or j == 0:
                ways[0] = 1
            else:
                ways[j:] += table[i - 1, j]
                ways[: i * (j - 1) + 1] += table[i, j - 1]
            table[i, j] = ways
    return [int(way) for way in table[n, m]]


TESTS: dict[str, Callable[[Sequence[float], Sequence[float]], Outcome]] = {
    "student": student,
    "welch": welch,
    "mann-whitney": mann_whitney,
}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: in rising order p(i) becomes max over j ≤ i of
    min(1, (m - j + 1) p(j)). Undefined values stay so and do not count among the m tests."""
    adjusted = [math.nan] * len(p_values)
    ranked = sorted((p, i) for i, p in enumerate(p_values) if math.isfinite(p))
    highest = 0.0
    for position, (p, index) in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - position) * p))
        adjusted[index] = highest
    return adjusted


@dataclass(frozen=True)
class Comparison:
    """How one algorithm stands against the best of its task."""

    best: bool
    outcome: Outcome | None
    """The test against the best; None for the best itself."""
    p: float = math.nan
    """The p-value that decides: the test's, or corrected."""

    @property
    def indistinct(self) -> bool | None:
        """The paper's asterisk: not significantly different from the best. None: undecidable."""
        if self.best:
            return False
        return self.p >= ALPHA if math.isfinite(self.p) else None


def compare_with_best(
    values: Mapping[str, Sequence[float]], kind: TestKind = "student"
) -> dict[str, Comparison]:
    """Every algorithm's per-seed values against those of the highest mean, uncorrected.

    Algorithms of exactly the highest mean are all the best, and the first of them is tested
    against; those without values are left out.
    """
    if kind not in TESTS:
        raise ValueError(f"no test '{kind}': there are {', '.join(TESTS)}")
    means = {name: float(np.mean(each)) for name, each in values.items() if len(each)}
    if not means:
        return {}
    top = max(means.values())
    champion = next(name for name, mean in means.items() if mean == top)
    compared = {}
    for name, mean in means.items():
        if mean == top:
            compared[name] = Comparison(True, None)
        else:
            outcome = TESTS[kind](values[champion], values[name])
            compared[name] = Comparison(False, outcome, outcome.p)
    return compared


def corrected(tables: Sequence[dict[str, Comparison]]) -> list[dict[str, Comparison]]:
    """All comparisons of several tasks with Holm's correction over all of them together."""
    family = [(i, name) for i, table in enumerate(tables) for name, c in table.items() if c.outcome]
    adjusted = holm([tables[i][name].p for i, name in family])
    result = [dict(table) for table in tables]
    for (i, name), p in zip(family, adjusted, strict=True):
        result[i][name] = replace(result[i][name], p=p)
    return result
