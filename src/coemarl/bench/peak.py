"""The core's peak: how fast it multiplies matrices when it does nothing else."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from coemarl.bench.measure import Case
from coemarl.networks import product


@dataclass(frozen=True)
class Shape:
    """A product of (m, k) with (k, n)."""

    m: int
    k: int
    n: int
    what: str

    @property
    def flops(self) -> int:
        return 2 * self.m * self.k * self.n

    @property
    def name(self) -> str:
        return f"{self.m}x{self.k} @ {self.k}x{self.n}"


SHAPES = (
    Shape(1024, 1024, 1024, "a large product"),
    Shape(96, 128, 384, "gates of a step, columns last"),
    Shape(384, 128, 96, "gates of a step, features first"),
    Shape(384, 96, 128, "their gradient, step by step"),
    Shape(128, 4896, 384, "their gradient, all steps at once"),
)
"""A large one, and those of learning on lbf:10x10-3p-3f: 32 episodes of 51 steps and 3 agents."""

CALL_FLOPS = 4e9
"""Work of one call, about: so much that calling costs nothing."""


def make_case(shape: Shape, precision: str) -> tuple[Case, int]:
    """A product computed again and again in one program, and how often."""
    number = max(1, round(CALL_FLOPS / shape.flops))
    keys = jax.random.split(jax.random.key(0))
    # Several left factors, so that no product is the one before.
    left = jax.random.normal(keys[0], (4, shape.m, shape.k), jnp.dtype(precision))
    right = jax.random.normal(keys[1], (shape.k, shape.n), jnp.dtype(precision))

    @jax.jit
    def repeat(left: Any, right: Any) -> Any:
        blank = jnp.zeros((shape.m, shape.n))
        return lax.fori_loop(0, number, lambda i, _: product(left[i % 4], right, precision), blank)

    return lambda: repeat(left, right), number
