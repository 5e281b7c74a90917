"""Mixers: how the agents' utilities become what is learned from the team's reward.

A row is (options record, maker); `make(options, spec)` gives a `Mixer`.
"""

from collections.abc import Callable
from typing import Any

from coemarl.mixers.mixer import Mixer
from coemarl.mixers.none import NoneOptions, make_none
from coemarl.mixers.qmix import QmixOptions, make_qmix
from coemarl.mixers.vdn import VdnOptions, make_vdn

__all__ = ["TABLE", "Mixer"]

TABLE: dict[str, tuple[type, Callable[..., Any]]] = {
    "none": (NoneOptions, make_none),
    "vdn": (VdnOptions, make_vdn),
    "qmix": (QmixOptions, make_qmix),
}
