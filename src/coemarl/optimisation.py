"""Adam behind clipping of the gradient's norm, for one or several losses over the same nets.

With several losses, each has steps of its own and may change only some of the arrays. An array
that a loss does not train keeps its value and Adam's memory of it in that loss's steps, as in
PyTorch, where an array without a gradient is passed over. Arrays trained by the same losses form
one group with one Adam.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import optax
from jaxtyping import Array, Float

from coemarl.config import LearnerOptions

Trains = Callable[[Any], Any]
"""`trains(params)`: which arrays a loss changes: a tree of plain bools with the same leaves."""


@dataclass(frozen=True)
class Optimiser:
    """How nets follow gradients."""

    init: Callable[[Any], Any]
    """`init(params)`: the memory at the start."""
    step: Callable[[int, Any, Any, Any], tuple[Any, Any, Float[Array, ""]]]
    """`step(k, gradient, memory, params)`: one step of the k-th loss: new params and memory, and
    the gradient's norm before clipping."""


def make_optimiser(options: LearnerOptions, losses: tuple[Trains | None, ...]) -> Optimiser:
    """An optimiser for these losses; None trains every array."""
    clip = optax.clip_by_global_norm(options.max_gradient_norm)
    adam = optax.adam(options.learning_rate, eps=1e-8)

    def groups(params: Any) -> dict[tuple[bool, ...], list[int]]:
        """Which losses train the arrays, and the places of those arrays among the leaves."""
        everything = jax.tree.map(lambda _: True, params)
        masks = [everything if trains is None else trains(params) for trains in losses]
        found: dict[tuple[bool, ...], list[int]] = {}
        for place, group in enumerate(zip(*map(jax.tree.leaves, masks), strict=True)):
            found.setdefault(group, []).append(place)
        return found

    def init(params: Any) -> list[Any]:
        leaves = jax.tree.leaves(params)
        return [
            adam.init([leaves[place] for place in places]) for places in groups(params).values()
        ]

    def step(k: int, gradient: Any, memory: Any, params: Any) -> tuple[Any, Any, Array]:
        leaves, structure = jax.tree.flatten(params)
        slopes = jax.tree.leaves(gradient)
        parts = [places if group[k] else [] for group, places in groups(params).items()]
        trained = [slopes[place] for places in parts for place in places]
        norm, new = optax.tree.norm(trained), list(memory)
        with jax.numpy_dtype_promotion("standard"):  # which optax relies on, wherever it runs
            clipped: Any = clip.update(trained, clip.init(trained))[0]
            rest = iter(clipped)
            for number, places in enumerate(parts):
                if places:
                    mine = [next(rest) for _ in places]
                    old = [leaves[place] for place in places]
                    changes, new[number] = adam.update(mine, memory[number], old)
                    moved: Any = optax.apply_updates(old, changes)
                    for place, leaf in zip(places, moved, strict=True):
                        leaves[place] = leaf
        return jax.tree.unflatten(structure, leaves), new, norm

    return Optimiser(init, step)
