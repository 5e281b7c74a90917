"""Presets: named values for a run to start from. Later words of the user win over them."""

from collections.abc import Callable
from dataclasses import dataclass

from coemarl import config as configs
from coemarl import tasks
from coemarl.config import RunConfig
from coemarl.presets import originals, paper
from coemarl.presets.paper import Row

__all__ = ["TABLE", "Preset", "apply", "paper"]


@dataclass(frozen=True)
class Preset:
    """Settings of many runs, each value with the table that it is from."""

    summary: str
    rows: Callable[[str, str], tuple[Row, ...]]
    """`rows(algo, family)`: dotted paths and values by table, later ones win; ValueError if the
    preset has none for such a run."""


TABLE = {
    "paper": Preset("the settings of the paper's runs, from its appendix", paper.rows),
    "emc-original": Preset("EMC as its authors had it, with episodic memory", originals.emc),
    "maven-original": Preset("MAVEN as its authors had it, with 16 latents", originals.maven),
}


def apply(config: RunConfig, name: str) -> RunConfig:
    """The configuration with a preset's values; ValueError if it has none for this run."""
    if name not in TABLE:
        raise ValueError(f"no preset '{name}': there are {', '.join(TABLE)}")
    rows = TABLE[name].rows(config.algo, tasks.family_name(config.task))
    return configs.replace(config, {path: v for row in rows for path, v in row.values.items()})
