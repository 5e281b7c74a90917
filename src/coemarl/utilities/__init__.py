"""Utilities: what an agent thinks that each of its actions is worth.

A row is (options record, maker); `make(options, spec, products, latents)` gives a `Utility`, where
`products` is the precision of learning's large products and `latents` how many latents the explorer
draws one of for each episode.
"""

from collections.abc import Callable
from typing import Any

from coemarl.utilities.conditional import ConditionalOptions, make_conditional
from coemarl.utilities.independent import IndependentOptions, make_independent
from coemarl.utilities.latent import LatentOptions, make_latent
from coemarl.utilities.utility import OWN, Utility, View

__all__ = ["OWN", "TABLE", "Utility", "View"]


def without_latents(make: Callable[[Any, Any, str], Utility]) -> Callable[..., Utility]:
    """The maker of a utility that is told of no latent."""
    return lambda options, spec, products, latents=0: make(options, spec, products)


TABLE: dict[str, tuple[type, Callable[..., Utility]]] = {
    "independent": (IndependentOptions, without_latents(make_independent)),
    "conditional": (ConditionalOptions, without_latents(make_conditional)),
    "latent": (LatentOptions, make_latent),
}
