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


class TwoLayers(NamedTuple):
    """second(relu(first(x)))."""

    first: Linear
    second: Linear


def two_layers_init(key: PRNGKeyArray, inputs: int, hidden: int, outputs: int) -> TwoLayers:
    first_key, second_key = jax.random.split(key)
    return TwoLayers(
        linear_init(first_key, inputs, hidden), linear_init(second_key, hidden, outputs)
    )


def two_layers(layers: TwoLayers, x: Float[Array, " K"]) -> Float[Array, " M"]:
    return linear(layers.second, jax.nn.relu(linear(layers.first, x)))


class GruCell(NamedTuple):
    """PyTorch's GRUCell; rows of 3H: reset, update, new."""

    input: Linear
    hidden: Linear


def gru_cell_init(key: PRNGKeyArray, inputs: int, size: int) -> GruCell:
    """PyTorch's default law: uniform in ±1/sqrt(hidden size), whatever the inputs."""
    keys = jax.random.split(key, 4)
    return GruCell(
        Linear(uniform(keys[0], (3 * size, inputs), size), uniform(keys[1], (3 * size,), size)),
        Linear(uniform(keys[2], (3 * size, size), size), uniform(keys[3], (3 * size,), size)),
    )


def gru_cell(cell: GruCell, x: Float[Array, " K"], h: Float[Array, " H"]) -> Float[Array, " H"]:
    """The memory after one more input."""
    x_r, x_z, x_n = jnp.split(linear(cell.input, x), 3)
    h_r, h_z, h_n = jnp.split(linear(cell.hidden, h), 3)
    r, z = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_z + h_z)
    n = jnp.tanh(x_n + r * h_n)
    return n + z * (h - n)
