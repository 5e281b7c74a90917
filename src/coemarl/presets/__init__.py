"""Presets: named values for a run to start from. Later words of the user win over them."""

from coemarl import config as configs
from coemarl import tasks
from coemarl.config import RunConfig
from coemarl.presets import paper

__all__ = ["TABLE", "apply", "paper"]

TABLE = {"paper": ("the settings of the paper's runs, from its appendix", paper.values)}
"""Name: (what it is, `values(algo, family) -> dotted path: value`)."""


def apply(config: RunConfig, name: str) -> RunConfig:
    """The configuration with a preset's values; ValueError if it has none for this run."""
    if name not in TABLE:
        raise ValueError(f"no preset '{name}': there are {', '.join(TABLE)}")
    _, values = TABLE[name]
    return configs.replace(config, values(config.algo, tasks.family_name(config.task)))
