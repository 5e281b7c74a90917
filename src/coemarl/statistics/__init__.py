"""Statistics of studies: what the paper reports, and what a reviewer may ask for beyond it.

    curves.py       average and maximum return by the paper's definitions
    intervals.py    95% intervals over seeds: the paper's, Student's t, the bootstrap
    comparisons.py  tests of two algorithms, Holm's correction, the paper's asterisk
    aggregates.py   over tasks: interquartile mean, performance profiles, probability of
                    improvement, with stratified bootstrap intervals
    efficiency.py   steps to reach a return, runs that never did counted as censored

Everything is NumPy on arrays of one value per seed. Input that a method cannot judge (one seed,
equal values, missing values) is not an error and not hidden: the answer is NaN or degenerate, and
its notes say why in words.
"""

from coemarl.statistics.aggregates import (
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)
from coemarl.statistics.comparisons import (
    Comparison,
    compare_with_best,
    holm,
    mann_whitney,
    student,
    welch,
)
from coemarl.statistics.curves import Curves, average, maximum
from coemarl.statistics.efficiency import steps_to, survival
from coemarl.statistics.intervals import Estimate, estimate

__all__ = [
    "Comparison",
    "Curves",
    "Estimate",
    "average",
    "compare_with_best",
    "estimate",
    "holm",
    "interquartile_mean",
    "mann_whitney",
    "maximum",
    "performance_profile",
    "probability_of_improvement",
    "steps_to",
    "stratified_interval",
    "student",
    "survival",
    "welch",
]
