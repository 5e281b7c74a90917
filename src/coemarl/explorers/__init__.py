"""Explorers: how a team acts in training, one row each.

A row is the explorer's options and its maker: `make(options, spec, learner) -> Explorer`, where
`learner` is how the team's nets learn, for explorers with nets of their own.
"""

from collections.abc import Callable
from typing import Any

from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.emc import EmcOptions, make_emc
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Choice, Explorer, Moment
from coemarl.explorers.maven import MavenOptions, make_maven
from coemarl.explorers.ucb_central import UcbCentralOptions, make_ucb_central
from coemarl.explorers.ucb_independent import UcbIndependentOptions, make_ucb_independent

__all__ = ["TABLE", "Choice", "Explorer", "Moment"]


def without_nets(make: Callable[[Any, Any], Explorer]) -> Callable[..., Explorer]:
    """The maker of an explorer that learns nothing by gradients."""
    return lambda options, spec, learner=None: make(options, spec)


TABLE: dict[str, tuple[type, Callable[..., Explorer]]] = {
    "epsilon": (EpsilonOptions, without_nets(make_epsilon)),
    "coe": (CoeOptions, without_nets(make_coe)),
    "ucb-independent": (UcbIndependentOptions, without_nets(make_ucb_independent)),
    "ucb-central": (UcbCentralOptions, without_nets(make_ucb_central)),
    "emc": (EmcOptions, make_emc),
    "maven": (MavenOptions, make_maven),
}
