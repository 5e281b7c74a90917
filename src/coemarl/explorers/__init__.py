"""Explorers: how a team acts in training, one row each.

A row is the explorer's options and its maker: `make(options, spec) -> Explorer`.
"""

from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Choice, Explorer, Moment

__all__ = ["TABLE", "Choice", "Explorer", "Moment"]

TABLE = {
    "epsilon": (EpsilonOptions, make_epsilon),
    "coe": (CoeOptions, make_coe),
}
