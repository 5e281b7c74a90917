"""Several runs at once, as processes: one core and one thread each, as many as there are cores.

Each child is `coe train --resume RUN`, so a child that dies loses minutes and can be taken up
again like any run. Its events come as lines of JSON over its standard error.
"""

from collections.abc import Sequence
from typing import Any

from coemarl.refusal import Refusal
from coemarl.runs.folder import RunFolder


def train_all(runs: Sequence[RunFolder], show: Any) -> list[dict[str, Any]]:
    """Train the runs, as many at once as there are cores; their summaries."""
    raise Refusal("several seeds at once: not in this version; run them one by one with --seed")
