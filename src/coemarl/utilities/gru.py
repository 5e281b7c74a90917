"""A linear encoder with ReLU and a GRU, unrolled over whole episodes with its gradient by hand.

For every agent and step,

    x  = relu(W_o o + W_id[agent] + b)
    r  = sigmoid(W_xr x + b_xr + W_hr h + b_hr)
    z  = sigmoid(W_xz x + b_xz + W_hz h + b_hz)
    n  = tanh(W_xn x + b_xn + r * (W_hn h + b_hn))
    h' = n + z * (h - n)

which is PyTorch's Linear on [o, one-hot agent], ReLU and GRUCell.

Features come first and columns (agents x batch) last, so that every large product is a plain
row-major one, and elementwise work runs along contiguous columns. The loop over time stops at the
longest episode given, which a differentiated `lax.scan` cannot do: hence the gradient by hand,
which also keeps exactly the activations that it needs. Tests hold it equal to autodiff of the same
scan.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.networks import product, uniform


class GruParams(NamedTuple):
    """H hidden units, D features of an observation, A agents. Rows of 3H: reset, update, new."""

    encode: Float[Array, "H D"]
    encode_agent: Float[Array, "H A"]
    encode_bias: Float[Array, " H"]
    input: Float[Array, "3H H"]
    hidden: Float[Array, "3H H"]
    input_bias: Float[Array, " 3H"]
    hidden_bias: Float[Array, " 3H"]


def init(key: PRNGKeyArray, observation_size: int, num_agents: int, size: int) -> GruParams:
    """PyTorch's default law: uniform in ±1/sqrt(fan in), for a GRU ±1/sqrt(hidden size)."""
    keys = jax.random.split(key, 7)
    fan_in = observation_size + num_agents
    return GruParams(
        encode=uniform(keys[0], (size, observation_size), fan_in),
        encode_agent=uniform(keys[1], (size, num_agents), fan_in),
        encode_bias=uniform(keys[2], (size,), fan_in),
        input=uniform(keys[3], (3 * size, size), size),
        hidden=uniform(keys[4], (3 * size, size), size),
        input_bias=uniform(keys[5], (3 * size,), size),
        hidden_bias=uniform(keys[6], (3 * size,), size),
    )


class _Activations(NamedTuple):
    """What one step computed on its way, each (H, N)."""

    x: Array
    r: Array
    z: Array
    n: Array
    hidden_n: Array


def _columns(vector: Float[Array, " H"]) -> Float[Array, "H 1"]:
    return vector[:, None]


def _row(rows: Float[Array, "T M N"], t: Int[Array, ""]) -> Float[Array, "M N"]:
    return lax.dynamic_index_in_dim(rows, t, keepdims=False)


def _put(
    rows: Float[Array, "T M N"], row: Float[Array, "M N"], t: Int[Array, ""]
) -> Float[Array, "T M N"]:
    """`rows` with row t replaced, in place: `.at[t].set` would read the old row for its check of
    bounds."""
    return lax.dynamic_update_index_in_dim(rows, row, t, 0)


def _agent_bias(params: GruParams, columns: int) -> Float[Array, "H N"]:
    """The encoder's bias of each column; columns run over agents within each batch entry."""
    num_agents = params.encode_agent.shape[1]
    per_agent = params.encode_agent + _columns(params.encode_bias)
    return jnp.tile(per_agent, (1, columns // num_agents))


def _step(
    params: GruParams,
    bias: Float[Array, "H N"],
    h: Float[Array, "H N"],
    o: Float[Array, "D N"],
    precision: str,
) -> tuple[Float[Array, "H N"], _Activations]:
    size = h.shape[0]
    x = jax.nn.relu(product(params.encode, o, precision) + bias)
    from_x = product(params.input, x, precision) + _columns(params.input_bias)
    from_h = product(params.hidden, h, precision) + _columns(params.hidden_bias)
    gates = jax.nn.sigmoid(from_x[: 2 * size] + from_h[: 2 * size])
    r, z = gates[:size], gates[size:]
    hidden_n = from_h[2 * size :]
    n = jnp.tanh(from_x[2 * size :] + r * hidden_n)
    return n + z * (h - n), _Activations(x, r, z, n, hidden_n)


def step(
    params: GruParams, h: Float[Array, "H N"], o: Float[Array, "D N"], precision: str = "float32"
) -> Float[Array, "H N"]:
    """The hidden state after one observation, for N columns (all agents of each environment)."""
    return _step(params, _agent_bias(params, o.shape[1]), h, o, precision)[0]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def unroll(
    params: GruParams, observations: Float[Array, "T D N"], length: Int[Array, ""], precision: str
) -> Float[Array, "T H N"]:
    """Hidden states of the first `length` steps from a zero start; zeros after.

    Gradients reach the parameters only: observations are data, and get none.
    """
    bias = _agent_bias(params, observations.shape[2])
    start, rows = _blank(params, observations)

    def body(t: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        h, out = carry
        h, _ = _step(params, bias, h, _row(observations, t), precision)
        return h, _put(out, h, t)

    return lax.fori_loop(0, length, body, (start, rows))[1]


def _blank(params: GruParams, observations: Array) -> tuple[Array, Array]:
    """A zero hidden state (H, N), and one for each time (T, H, N)."""
    times, _, columns = observations.shape
    start = jnp.zeros((params.encode.shape[0], columns))
    return start, jnp.zeros((times, *start.shape))


class _Kept(NamedTuple):
    """What the gradient needs of every step."""

    out: Float[Array, "T H N"]
    x: Float[Array, "T H N"]
    factors: Float[Array, "T 5H N"]
    """`_factors` of each step, below one another."""


def _factors(h: Float[Array, "H N"], act: _Activations) -> list[Float[Array, "H N"]]:
    """What a gradient of h' is multiplied with on its way back, to become that of
        (W_xn x),  the argument of r,  the argument of z,  (W_hn h),  h itself
    the last one by the direct path h' = ... + z h.

    In this order the first three are the gradient of the input product and the second to fourth
    that of the hidden product, so both are plain slices of one product with the gradient of h':
    the backward loop has no elementwise work but that.
    """
    new = (1 - act.z) * (1 - act.n * act.n)
    update = (h - act.n) * act.z * (1 - act.z)
    reset = new * act.hidden_n * act.r * (1 - act.r)
    return [new, reset, update, new * act.r, act.z]


def _forward(
    params: GruParams, observations: Array, length: Array, precision: str
) -> tuple[Array, tuple[GruParams, Array, Array, _Kept]]:
    """`unroll`, and what its gradient needs."""
    bias = _agent_bias(params, observations.shape[2])
    start, rows = _blank(params, observations)
    size, columns = start.shape

    def body(t: Array, carry: tuple[Array, _Kept]) -> tuple[Array, _Kept]:
        h, kept = carry
        new, act = _step(params, bias, h, _row(observations, t), precision)
        factors = kept.factors
        for part, factor in enumerate(_factors(h, act)):  # each in place; one array would be copied
            place = (t, jnp.int32(part * size), jnp.int32(0))
            factors = lax.dynamic_update_slice(factors, factor[None], place)
        return new, _Kept(_put(kept.out, new, t), _put(kept.x, act.x, t), factors)

    blank = _Kept(rows, rows, jnp.zeros((rows.shape[0], 5 * size, columns)))
    kept = lax.fori_loop(0, length, body, (start, blank))[1]
    return kept.out, (params, observations, length, kept)


class _Sums(NamedTuple):
    """Gradients summed over time; rows of `input` are new, reset, update. Biases are summed over
    columns only after the loop."""

    encode: Float[Array, "H D"]
    encode_columns: Float[Array, "H N"]
    input: Float[Array, "3H H"]
    hidden: Float[Array, "3H H"]
    columns: Float[Array, "4H N"]


def _backward(
    precision: str,
    residuals: tuple[GruParams, Array, Array, _Kept],
    out_bar: Float[Array, "T H N"],
) -> tuple[GruParams, Array, None]:
    """The chain rule through `_step`, from the last step to the first."""
    params, observations, length, kept = residuals
    size, columns = kept.out.shape[1:]
    # Transposed once, not in every step: a product with a transposed left factor is half as fast.
    new_first = jnp.roll(params.input, size, axis=0)
    input_t, hidden_t = lax.optimization_barrier((new_first.T, params.hidden.T))
    start = jnp.zeros((size, columns))

    def body(k: Array, carry: tuple[Array, _Sums]) -> tuple[Array, _Sums]:
        h_bar, sums = carry
        t = length - 1 - k
        x = _row(kept.x, t)
        h = jnp.where(t > 0, _row(kept.out, jnp.maximum(t - 1, 0)), 0.0)
        bars = jnp.tile(h_bar + _row(out_bar, t), (5, 1)) * _row(kept.factors, t)
        input_bar, hidden_bar = bars[: 3 * size], bars[size : 4 * size]
        encode_bar = jnp.where(x > 0, product(input_t, input_bar, precision), 0.0)
        sums = _Sums(
            encode=sums.encode + product(encode_bar, _row(observations, t).T, precision),
            encode_columns=sums.encode_columns + encode_bar,
            input=sums.input + product(input_bar, x.T, precision),
            hidden=sums.hidden + product(hidden_bar, h.T, precision),
            columns=sums.columns + bars[: 4 * size],
        )
        return bars[4 * size :] + product(hidden_t, hidden_bar, precision), sums

    zeros = _Sums(
        encode=jnp.zeros_like(params.encode),
        encode_columns=start,
        input=jnp.zeros_like(params.input),
        hidden=jnp.zeros_like(params.hidden),
        columns=jnp.zeros((4 * size, columns)),
    )
    _, sums = lax.fori_loop(0, length, body, (start, zeros))
    return _gradient(params, sums), jnp.zeros_like(observations), None


def _gradient(params: GruParams, sums: _Sums) -> GruParams:
    """The parameters' gradient out of the sums over time."""
    size, num_agents = params.encode_agent.shape
    by_agent = sums.encode_columns.reshape(size, -1, num_agents).sum(1)
    bias = sums.columns.sum(1)
    return GruParams(
        encode=sums.encode,
        encode_agent=by_agent,
        encode_bias=by_agent.sum(1),
        input=jnp.roll(sums.input, -size, axis=0),
        hidden=sums.hidden,
        input_bias=jnp.roll(bias[: 3 * size], -size),
        hidden_bias=bias[size:],
    )


unroll.defvjp(_forward, _backward)
