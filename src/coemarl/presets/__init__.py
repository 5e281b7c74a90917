"""Presets: named values for a run to start from. Later words of the user win over them."""

from collections.abc import Callable
from dataclasses import dataclass

from coemarl import config as configs
from coemarl import tasks
from coemarl.config import RunConfig
from coemarl.presets import paper
from coemarl.presets.paper import Row

__all__ = ["TABLE", "Preset", "apply", "paper"]


@dataclass(frozen=True)
class Preset:
    """Settings of many runs, each value with the table that it is from."""

    summary: str
    rows: Callable[[str, str], tuple[Row, ...]]
    """`rows(algo, family)`: dotted paths and values by table, later ones win; ValueError if the
    preset has none for such a run."""


TABLE = {"paper": Preset("the settings of the paper's runs, from its appendix", paper.rows)}


def apply(config: RunConfig, name: str) -> RunConfig:
    """The configuration with a preset's values; ValueError if it has none for this run."""
    if name not in TABLE:
        raise ValueError(f"no preset '{name}': there are {', '.join(TABLE)}")
    for row in TABLE[name].rows(config.algo, tasks.family_name(config.task)):
        config = configs.replace(config, row.values)
    return config
