"""The recurrent net: its values by the textbook, its gradient by hand against autodiff."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax

from coemarl.utilities import gru
from coemarl.utilities.gru import GruParams

T, D, A, B, H = 9, 5, 3, 4, 16
N = A * B


def textbook_step(params: GruParams, h: Array, o: Array) -> Array:
    """One column (H,): Linear on [o, one-hot agent], ReLU, GRUCell, as in PyTorch's manual."""
    x = jax.nn.relu(
        jnp.concatenate([params.encode, params.encode_agent], axis=1) @ o + params.encode_bias
    )
    x_r, x_z, x_n = jnp.split(params.input @ x + params.input_bias, 3)
    h_r, h_z, h_n = jnp.split(params.hidden @ h + params.hidden_bias, 3)
    r, z = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_z + h_z)
    return (1 - z) * jnp.tanh(x_n + r * h_n) + z * h


def textbook(params: GruParams, observations: Array) -> Array:
    """All columns over all steps, by a scan that autodiff can take apart: (T, H, N)."""
    agents = jnp.tile(jnp.eye(A), (B, 1))  # columns run over agents first

    def step(h: Array, o: Array) -> tuple[Array, Array]:
        seen = jnp.concatenate([o.T, agents], axis=1)
        h = jax.vmap(partial(textbook_step, params))(h, seen)
        return h, h.T

    return lax.scan(step, jnp.zeros((N, H)), observations)[1]


def materials(seed: int) -> tuple[GruParams, Array, Array]:
    """Parameters, observations, and a direction to pull the hidden states in."""
    keys = jax.random.split(jax.random.key(seed), 3)
    params = gru.init(keys[0], D, A, H)
    # Wider than at the start of training, so that gates and ReLU are on both sides.
    params = jax.tree.map(lambda leaf: 3.0 * leaf, params)
    return params, jax.random.normal(keys[1], (T, D, N)), jax.random.normal(keys[2], (T, H, N))


@partial(jax.jit, static_argnums=4)
def ours(
    params: GruParams, observations: Array, pull: Array, length: Array, precision: str
) -> tuple[Array, GruParams]:
    def loss(params: GruParams) -> tuple[Array, Array]:
        hidden = gru.unroll(params, observations, length, precision)
        return (pull * hidden).sum(), hidden

    (_, hidden), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    return hidden, gradient


@jax.jit
def theirs(params: GruParams, observations: Array, pull: Array) -> tuple[Array, GruParams]:
    def loss(params: GruParams) -> tuple[Array, Array]:
        hidden = textbook(params, observations)
        return (pull * hidden).sum(), hidden

    (_, hidden), gradient = jax.value_and_grad(loss, has_aux=True)(params)
    return hidden, gradient


def distance(a: Array, b: Array) -> float:
    """|a - b| / |b|."""
    return float(np.linalg.norm(np.asarray(a - b)) / np.linalg.norm(np.asarray(b)))


@pytest.mark.parametrize("length", [1, 2, 6, T])
def test_gradient_by_hand_equals_autodiff(length: int) -> None:
    """Up to a length; what is pulled after it reaches nothing."""
    params, observations, pull = materials(length)
    hidden, gradient = ours(params, observations, pull, jnp.int32(length), "float32")
    within = jnp.arange(T)[:, None, None] < length
    expected, by_autodiff = theirs(params, observations, jnp.where(within, pull, 0.0))
    assert distance(hidden[:length], expected[:length]) < 1e-6
    for name in GruParams._fields:
        if name == "hidden" and length == 1:
            assert not np.asarray(gradient.hidden).any()  # it only ever met a zero state
        else:
            assert distance(getattr(gradient, name), getattr(by_autodiff, name)) < 1e-5, name


def test_what_stands_after_the_length_does_not_matter() -> None:
    params, observations, pull = materials(0)
    length, late = jnp.int32(4), jnp.arange(T)[:, None, None] >= 4
    hidden, gradient = ours(params, observations, pull, length, "float32")
    noisy = jnp.where(late, jnp.nan, observations)
    again, same = ours(params, noisy, jnp.where(late, 1e9, pull), length, "float32")
    assert not np.asarray(hidden[4:]).any()
    np.testing.assert_array_equal(hidden, again)
    for name in GruParams._fields:
        np.testing.assert_array_equal(getattr(gradient, name), getattr(same, name))


def test_unroll_is_step_after_step() -> None:
    params, observations, pull = materials(1)
    hidden, _ = ours(params, observations, pull, jnp.int32(T), "float32")
    step, h = jax.jit(gru.step), jnp.zeros((H, N))
    for t in range(T):
        h = step(params, h, observations[t])
        np.testing.assert_allclose(hidden[t], h, rtol=1e-5, atol=1e-6)


def test_observations_get_no_gradient() -> None:
    params, observations, _ = materials(2)
    pulled = lambda o: gru.unroll(params, o, jnp.int32(T), "float32").sum()  # noqa: E731
    assert not np.asarray(jax.jit(jax.grad(pulled))(observations)).any()


def test_agents_are_told_apart_by_their_row() -> None:
    """The same observation for all: columns of one agent agree, those of two agents do not."""
    params, observations, pull = materials(3)
    alike = jnp.broadcast_to(observations[:, :, :1], observations.shape)
    hidden, _ = ours(params, alike, pull, jnp.int32(T), "float32")
    columns = np.asarray(hidden[-1]).T.reshape(B, A, H)
    np.testing.assert_allclose(columns[0], columns[1], rtol=1e-5, atol=1e-6)
    assert np.abs(columns[0, 0] - columns[0, 1]).max() > 0.1


def test_bfloat16_is_close() -> None:
    """Products of factors with 8 bits: values off by a hundredth, gradients (of random pulls, which
    cancel) by some hundredths, but not equal; sums and results in float32."""
    params, observations, pull = materials(4)
    params = jax.tree.map(lambda leaf: leaf / 3.0, params)  # as training begins
    exact = ours(params, observations, pull, jnp.int32(T), "float32")
    rough = ours(params, observations, pull, jnp.int32(T), "bfloat16")
    assert rough[0].dtype == jnp.float32
    assert 1e-4 < distance(rough[0], exact[0]) < 3e-2
    for name in GruParams._fields:
        off = distance(getattr(rough[1], name), getattr(exact[1], name))
        assert 1e-4 < off < 0.1, (name, off)


def test_start_is_pytorchs_law() -> None:
    """Uniform in ±1/sqrt(fan in): bounds, mean and variance of every array."""
    size, observation = 64, 27
    params = gru.init(jax.random.key(0), observation, 4, size)
    for name in GruParams._fields:
        array = np.asarray(getattr(params, name))
        bound = (observation + 4 if name.startswith("encode") else size) ** -0.5
        assert np.abs(array).max() <= bound
        error = bound / 3**0.5 / array.size**0.5  # of the mean
        assert abs(array.mean()) < 4 * error, name
        assert abs(array.std() / (bound / 3**0.5) - 1) < 3 / array.size**0.5, name
    assert params.input.shape == (3 * size, size)
