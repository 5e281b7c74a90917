"""The memory of a whole training process, replay full: `python -m coemarl.bench.memory TASK`.

Memory that was allocated and never written does not count as used, so the replay is filled first.
Then the process does all that a training process does: train, evaluate, save, read back.
"""

import argparse
import contextlib
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coemarl import config as configs
from coemarl import presets
from coemarl.config import RunConfig
from coemarl.runs import machine

ITERATIONS = 20


def peak() -> int:
    """The most memory that this process has held, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def configured(words: Sequence[str]) -> RunConfig[Any, Any, Any, Any]:
    """The run that is measured: the paper's settings if it has such, changed as the words say."""
    parser = argparse.ArgumentParser("python -m coemarl.bench.memory", description=__doc__)
    parser.add_argument("task", nargs="?", default="lbf:10x10-3p-3f")
    parser.add_argument("--algo", default="coe")
    parser.add_argument("--dtype", default="float32", help="storage of observations in replay")
    parser.add_argument("--products", default="float32", help="precision of matrix products")
    said = parser.parse_args(words)
    config = configs.default_config(said.task, said.algo)
    with contextlib.suppress(ValueError):  # the paper may have no such run
        config = presets.apply(config, "paper")
    changes = {"replay.dtype": said.dtype, "learner.products": said.products}
    return configs.replace(config, changes)


def measure(config: RunConfig[Any, Any, Any, Any]) -> list[tuple[str, int]]:
    """The peak so far after each part of a training process."""
    import jax
    import jax.numpy as jnp

    from coemarl.runs import checkpoint
    from coemarl.training import make_trainer

    peaks = [("jax, coemarl imported", peak())]
    trainer = make_trainer(config)
    state = trainer.init()
    # Counters of the ring say that it is full; lengths of 1 make every episode one that could be.
    fill = jax.jit(lambda ring: jax.tree.map(jnp.ones_like, ring), donate_argnums=0)
    ring = state.replay._replace(
        episodes=fill(state.replay.episodes), added=jnp.int32(config.replay.capacity)
    )
    state = state._replace(replay=ring)
    peaks.append(("state at its start, replay full", peak()))
    state = trainer.advance(state, ITERATIONS)
    peaks.append((f"{ITERATIONS} rollouts and updates", peak()))
    trainer.evaluate(state)
    _, state = trainer.read_metrics(state)
    peaks.append((f"evaluation of {config.evaluation.episodes} episodes", peak()))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.npz"
        checkpoint.save(path, state, {})
        peaks.append(("checkpoint written", peak()))
        shapes = jax.eval_shape(trainer.init)
        del state, ring
        checkpoint.load(path, shapes)
        peaks.append(("checkpoint read", peak()))
    return [*peaks, *((f"of it {what}", size) for what, size, _ in trainer.plan.rows)]


def main(words: Sequence[str] | None = None) -> None:
    """Measure as the words say."""
    machine.prepare()
    config = configured(sys.argv[1:] if words is None else words)
    print(f"{config.algo} on {config.task}, peak memory of the process after")
    for what, size in measure(config):
        print(f"{what:<36} {size / 1e6:8.1f} MB")


if __name__ == "__main__":
    main()
