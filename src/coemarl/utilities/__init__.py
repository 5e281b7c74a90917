"""Utilities: what an agent thinks that each of its actions is worth.

A row is (options record, maker); `make(options, spec, products)` gives a `Utility`.
"""

from collections.abc import Callable
from typing import Any

from coemarl.utilities.independent import IndependentOptions, make_independent
from coemarl.utilities.utility import OWN, Utility, View

__all__ = ["OWN", "TABLE", "Utility", "View"]

TABLE: dict[str, tuple[type, Callable[..., Any]]] = {
    "independent": (IndependentOptions, make_independent),
}
