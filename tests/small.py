"""Real runs so small that tests can afford them, each compiled once per process."""

import functools
from typing import Any

import jax
import numpy as np

from coemarl import config as configs
from coemarl.config import RunConfig
from coemarl.training import Trainer, make_trainer

TASK = "lbf:5x5-2p-1f"
SIZES = {
    "env.episode_limit": 8,
    "utility.hidden": 8,
    "steps": 200,
    "learner.batch_size": 4,
    "learner.learning_rate": 3e-3,
    "replay.capacity": 16,
    "evaluation.every": 50,
    "evaluation.episodes": 5,
}
COE = {
    "mixer.embedding": 4,
    "mixer.hypernet": 8,
    "explorer.c_act": 0.3,
    "explorer.c_rew": 0.1,
    "explorer.c_boot": 0.1,
    "explorer.counts.k": 6,
}


def small_config(algo: str = "coe", **changes: Any) -> RunConfig:
    """A run of some 30 episodes; changes by dotted path, dots written as two underlines."""
    values = SIZES | (COE if algo == "coe" else {})
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return configs.replace(configs.default_config(TASK, algo), values)


@functools.cache
def small_trainer(algo: str = "coe", **changes: Any) -> Trainer:
    """The trainer of such a run."""
    return make_trainer(small_config(algo, **changes))


def raw(state: Any) -> dict[str, np.ndarray]:
    """Every array of a state by its path, keys as their data."""
    pairs, _ = jax.tree_util.tree_flatten_with_path(state)
    return {
        jax.tree_util.keystr(path): np.asarray(
            jax.random.key_data(leaf) if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            else leaf
        )
        for path, leaf in pairs
    }  # fmt: skip


def assert_same_bytes(ours: Any, theirs: Any) -> None:
    """Two states are equal bit for bit."""
    a, b = raw(ours), raw(theirs)
    assert a.keys() == b.keys()
    for name in a:
        assert (a[name].dtype, a[name].shape) == (b[name].dtype, b[name].shape), name
        assert a[name].tobytes() == b[name].tobytes(), name


def words(changes: dict[str, Any], algo: str = "coe") -> list[str]:
    """The command line of such a run: the task and its options, by dotted path."""
    values = SIZES | (COE if algo == "coe" else {}) | changes
    options = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    return [TASK, "--algo", algo, *options]
