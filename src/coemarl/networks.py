"""What all networks here are made of: PyTorch's default initialisation, linear layers, and matrix
products of a chosen precision."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray


def uniform(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array:
    """Uniform in ±1/sqrt(fan in): what PyTorch gives weights and biases of a linear layer."""
    bound = fan_in**-0.5
    return jax.random.uniform(key, shape, jnp.float32, -bound, bound)


def product(a: Float[Array, "M K"], b: Float[Array, "K N"], precision: str) -> Float[Array, "M N"]:
    """a @ b with the factors rounded to `precision`, summed in float32."""
    dtype = jnp.dtype(precision)
    return lax.dot(a.astype(dtype), b.astype(dtype), preferred_element_type=jnp.float32)


class Linear(NamedTuple):
    """y = weight x + bias."""

    weight: Float[Array, "M K"]
    bias: Float[Array, " M"]


def linear_init(key: PRNGKeyArray, inputs: int, outputs: int) -> Linear:
    """PyTorch's default law for both."""
    weight_key, bias_key = jax.random.split(key)
    return Linear(
        uniform(weight_key, (outputs, inputs), inputs), uniform(bias_key, (outputs,), inputs)
    )


def linear(layer: Linear, x: Float[Array, " K"]) -> Float[Array, " M"]:
    """The layer on one vector."""
    return layer.weight @ x + layer.bias
