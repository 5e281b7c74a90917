"""The memory of a whole training process, replay full: `python -m coemarl.bench.memory TASK`.

Memory that was allocated and never written does not count as used, so the replay is filled first.
Then the process does all that a training process does: evaluate, train, save, read back. Programs
come from the cache of compiled programs, as they do from a task's second run on; `--compile` makes
them anew.
"""

import argparse
import contextlib
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from coemarl import config as configs
from coemarl import presets
from coemarl.config import RunConfig
from coemarl.runs import machine

ITERATIONS = 20


class Part(NamedTuple):
    """The memory of the process, in bytes."""

    what: str
    most: int
    """So far."""
    now: int | None


def part(what: str) -> Part:
    """The memory now, after what compiling took was given back as a run does."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    machine.give_back()
    return Part(what, most if sys.platform == "darwin" else most * 1024, machine.resident())


def configured(words: Sequence[str]) -> RunConfig[Any, Any, Any, Any]:
    """The run that is measured: the paper's settings if it has such, changed as the words say."""
    parser = argparse.ArgumentParser("python -m coemarl.bench.memory", description=__doc__)
    parser.add_argument("task", nargs="?", default="lbf:10x10-3p-3f")
    parser.add_argument("--algo", default="coe")
    parser.add_argument("--dtype", default="float32", help="storage of observations in replay")
    parser.add_argument("--compile", action="store_true", help="use no cache of compiled programs")
    parser.add_argument("--products", default="float32", help="precision of matrix products")
    said = parser.parse_args(words)
    if said.compile:
        os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    config = configs.default_config(said.task, said.algo)
    with contextlib.suppress(ValueError):  # the paper may have no such run
        config = presets.apply(config, "paper")
    changes = {"replay.dtype": said.dtype, "learner.products": said.products}
    return configs.replace(config, changes)


def measure(config: RunConfig[Any, Any, Any, Any]) -> list[Part]:
    """The memory after each part of a training process."""
    import jax
    import jax.numpy as jnp

    from coemarl.runs import checkpoint
    from coemarl.training import make_trainer

    parts = [part("jax, coemarl imported")]
    trainer = make_trainer(config)
    state = trainer.init()
    # Counters of the ring say that it is full; lengths of 1 make every episode one that could be.
    fill = jax.jit(lambda ring: jax.tree.map(jnp.ones_like, ring), donate_argnums=0)
    ring = state.replay._replace(
        episodes=fill(state.replay.episodes), added=jnp.int32(config.replay.capacity)
    )
    state = state._replace(replay=ring)
    parts.append(part("state at its start, replay full"))
    trainer.evaluate(state)
    parts.append(part(f"evaluation of {config.evaluation.episodes} episodes"))
    state = trainer.advance(state, ITERATIONS)
    parts.append(part(f"{ITERATIONS} updates and rollouts"))
    trainer.evaluate(state)
    _, state = trainer.read_metrics(state)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.npz"
        checkpoint.save(path, state, {})
        parts.append(part("evaluated, checkpoint written"))
        shapes = jax.eval_shape(trainer.init)
        del state, ring
        checkpoint.load(path, shapes)
        parts.append(part("checkpoint read"))
    return [*parts, *(Part(f"of it {what}", size, None) for what, size, _ in trainer.plan.rows)]


def main(words: Sequence[str] | None = None) -> None:
    """Measure as the words say."""
    machine.prepare()
    config = configured(sys.argv[1:] if words is None else words)
    print(f"{config.algo} on {config.task}: memory of the process in MB, after")
    print(f"{'':<36} {'most':>8} {'then':>8}")
    for what, most, now in measure(config):
        print(f"{what:<36} {most / 1e6:8.1f} {'' if now is None else f'{now / 1e6:8.1f}'}".rstrip())


if __name__ == "__main__":
    main()
