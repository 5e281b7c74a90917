"""Mixers: how the agents' utilities become what is learned from the team's reward.

A row is (options record, maker); `make(options, spec, features)` gives a `Mixer`: the spec's states
have the episode's latent behind them, and `features` is the size of what an agent remembers.
"""

from collections.abc import Callable
from typing import Any

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.mixers.none import NoneOptions, make_none
from coemarl.mixers.qmix import QmixOptions, make_qmix
from coemarl.mixers.qplex import QplexOptions, make_qplex
from coemarl.mixers.qtran import QtranOptions, make_qtran
from coemarl.mixers.vdn import VdnOptions, make_vdn

__all__ = ["TABLE", "Joint", "Mixer"]


def told_of_spec(make: Callable[[Any, Any], Mixer]) -> Callable[..., Mixer]:
    """The maker of a mixer that looks at no features."""
    return lambda options, spec, features=0: make(options, spec)


TABLE: dict[str, tuple[type, Callable[..., Any]]] = {
    "none": (NoneOptions, told_of_spec(make_none)),
    "vdn": (VdnOptions, told_of_spec(make_vdn)),
    "qmix": (QmixOptions, told_of_spec(make_qmix)),
    "qplex": (QplexOptions, told_of_spec(make_qplex)),
    "qtran": (QtranOptions, make_qtran),
}
