"""Frozen opponents: nets that act for the agents that are not of the team, and never learn.

A net normalises its observation by fixed statistics and has three linear layers,
    x^ = (x - running_mean) / sqrt(running_var + 1e-5) * weight + bias
    logits = W3 relu(W2 relu(W1 x^ + b1) + b2) + b3,
and its action is the one of the highest logit, the lowest of equals, in the original's numbers
(1 right, 2 left, 3 up, 4 down).

The package ships one for each game, `prey.npz` and `adversary.npz`, trained by `train_frozen.py`.
A file of arrays under these names can be given instead; the layers are as wide as it says, and
other arrays in it are left alone:
    bn_weight, bn_bias, bn_running_mean, bn_running_var   (inputs,)
    fc1_weight (h, inputs), fc1_bias (h,), fc2_weight (h, h), fc2_bias, fc3_weight (5, h), fc3_bias
"""

import functools
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.arrays import read_arrays
from coemarl.networks import Linear, linear
from coemarl.tasks.mpe.world import ACTIONS, Opponent

KINDS = ("net", "still", "random")
SHIPPED = Path(__file__).parent
EPSILON = 1e-5


class FrozenNet(NamedTuple):
    """Three layers; the normalisation of the input is folded into the first."""

    first: Linear
    second: Linear
    third: Linear


def logits(net: FrozenNet, observation: Float[Array, " D"]) -> Float[Array, " U"]:
    """How the net rates each action."""
    hidden = jax.nn.relu(linear(net.first, observation))
    return linear(net.third, jax.nn.relu(linear(net.second, hidden)))


def best(values: Float[Array, " U"]) -> Int[Array, ""]:
    """The index of the highest value, the lowest of equals; faster in a batch than `argmax`."""
    index, highest = jnp.int32(0), values[0]
    for i in range(1, values.shape[0]):
        higher = values[i] > highest
        index, highest = jnp.where(higher, i, index), jnp.where(higher, values[i], highest)
    return index


# Files


def array_shapes(inputs: int, width: int) -> dict[str, tuple[int, ...]]:
    """The arrays of a net's file, by name."""
    norms = ("bn_weight", "bn_bias", "bn_running_mean", "bn_running_var")
    sizes = (inputs, width, width, len(ACTIONS))
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(norms, (inputs,))
    for k in (1, 2, 3):
        shapes[f"fc{k}_weight"] = (sizes[k], sizes[k - 1])
        shapes[f"fc{k}_bias"] = (sizes[k],)
    return shapes


def net_of(arrays: dict[str, np.ndarray]) -> FrozenNet:
    """The net with these arrays; ValueError if they make none."""
    first = arrays.get("fc1_weight", np.zeros(0))
    if first.ndim != 2:
        raise ValueError("no net: fc1_weight is no matrix")
    for name, shape in array_shapes(first.shape[1], first.shape[0]).items():
        if name not in arrays:
            raise ValueError(f"no net: it has no {name}")
        if arrays[name].shape != shape:
            raise ValueError(f"no net: {name} has shape {arrays[name].shape}, not {shape}")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"no net: {name} holds what is no finite number")
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    if (wide["bn_running_var"] < 0).any():
        raise ValueError("no net: bn_running_var is below 0")
    scale = wide["bn_weight"] / np.sqrt(wide["bn_running_var"] + EPSILON)
    shift = wide["bn_bias"] - wide["bn_running_mean"] * scale
    first = wide["fc1_weight"]
    wide["fc1_bias"] = wide["fc1_bias"] + first @ shift
    wide["fc1_weight"] = first * scale

    def layer(k: int) -> Linear:
        # Kept by NumPy: a task may be made while something else is traced.
        weight, bias = wide[f"fc{k}_weight"], wide[f"fc{k}_bias"]
        return Linear(weight.astype(np.float32), bias.astype(np.float32))  # type: ignore[arg-type]

    return FrozenNet(layer(1), layer(2), layer(3))


def read(file: Path) -> FrozenNet:
    """The net in a file; ValueError in one sentence if there is none."""
    if not file.is_file():
        raise ValueError(f"no file {file}: weights names a file (.npz) of a frozen net")
    arrays = read_arrays(file, str(file))
    try:
        return net_of(arrays)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


@functools.lru_cache(maxsize=8)
def shipped(name: str) -> FrozenNet:
    """The net that comes with the package: prey or adversary."""
    return read(SHIPPED / f"{name}.npz")


# Opponents


def check(kind: str, weights: str | None) -> None:
    """Refuse a way of acting that there is not, in one sentence."""
    if kind not in KINDS:
        raise ValueError(f"opponent is '{kind}': it is {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if weights is not None and kind != "net":
        raise ValueError(f"weights are given, but opponent is '{kind}': they are for a net")


def opponent(kind: str, name: str, weights: str | None, inputs: int) -> Opponent:
    """Who acts for an agent that observes so many numbers: by the shipped net of that name or the
    one in the file `weights`, or still, or at random. ValueError if the net does not fit."""
    if kind == "still":
        return lambda key, observation: jnp.int32(0)
    if kind == "random":
        return lambda key, observation: jax.random.randint(key, (), 0, len(ACTIONS), jnp.int32)
    net = shipped(name) if weights is None else read(Path(weights))
    knows = net.first.weight.shape[1]
    if knows != inputs:
        raise ValueError(
            f"the net of the {name} observes {knows} numbers, and here there are {inputs}: give "
            "weights that fit these numbers of agents and landmarks, or opponent still or random"
        )

    def act(key: PRNGKeyArray, observation: Float[Array, " D"]) -> Int[Array, ""]:
        del key  # it always does the same
        return best(logits(net, observation))

    return act
