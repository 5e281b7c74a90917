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
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

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


CHUNK = 3
"""Steps whose gradients of weights are one product, C below: sums are then touched less often, and
fit into the cache beside the rest. Larger chunks do not."""


class _Kept(NamedTuple):
    """What the gradient needs of every step, or of each of the K chunks of steps. Factors of
    products lie as the products want them: one that had to be transposed would be slow in
    bfloat16."""

    factors: Float[Array, "T 5H N"]
    """`_factors` of each step, below one another."""
    passed: Bool[Array, "K H C*N"]
    """Where the encoder's ReLU is not 0."""
    x: Float[Array, "K C*N H"]
    h: Float[Array, "K C*N H"]
    """The hidden state before each step."""


def _place(rows: Array, block: Array, *start: Int[Array, ""] | int) -> Array:
    """`rows` with a block replaced, in place; leading axes that the block has not are of size 1."""
    whole = block.reshape(*[1] * (rows.ndim - block.ndim), *block.shape)
    return lax.dynamic_update_slice(rows, whole, [jnp.int32(place) for place in start])


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
    times, size, columns = rows.shape

    def body(t: Array, carry: tuple[Array, Array, _Kept]) -> tuple[Array, Array, _Kept]:
        h, out, kept = carry
        new, act = _step(params, bias, h, _row(observations, t), precision)
        factors = kept.factors
        for part, factor in enumerate(_factors(h, act)):  # each in place; one array would be copied
            factors = _place(factors, factor, t, part * size, 0)
        k, first = t // CHUNK, t % CHUNK * columns
        kept = _Kept(
            factors=factors,
            passed=_place(kept.passed, act.x > 0, k, 0, first),
            x=_place(kept.x, act.x.T, k, first, 0),
            h=_place(kept.h, h.T, k, first, 0),
        )
        return new, _put(out, new, t), kept

    chunks, wide = -(-times // CHUNK), CHUNK * columns
    blank = _Kept(
        factors=jnp.zeros((times, 5 * size, columns)),
        passed=jnp.zeros((chunks, size, wide), bool),
        x=jnp.zeros((chunks, wide, size)),
        h=jnp.zeros((chunks, wide, size)),
    )
    _, out, kept = lax.fori_loop(0, length, body, (start, rows, blank))
    return out, (params, observations, length, kept)


class _Sums(NamedTuple):
    """Gradients summed over time; rows of `input` and `bias` are new, reset, update, and those of
    `bias` end with what multiplies (W_hn h)."""

    encode: Float[Array, "H D"]
    encode_columns: Float[Array, "H N"]
    input: Float[Array, "3H H"]
    hidden: Float[Array, "3H H"]
    bias: Float[Array, " 4H"]


def _backward(
    precision: str,
    residuals: tuple[GruParams, Array, Array, _Kept],
    out_bar: Float[Array, "T H N"],
) -> tuple[GruParams, Array, None]:
    """The chain rule through `_step`, from the last step to the first, chunk by chunk."""
    params, observations, length, kept = residuals
    size, columns = out_bar.shape[1:]
    # Transposed once, not in every step: a product with a transposed left factor is half as fast.
    new_first = jnp.roll(params.input, size, axis=0)
    input_t, hidden_t = lax.optimization_barrier((new_first.T, params.hidden.T))
    chunks = (length + CHUNK - 1) // CHUNK
    seen = _chunks(observations, length)

    def sums_of(bars: Float[Array, "4H C*N"], k: Array) -> _Sums:
        """A chunk's share of the gradients; in `bars` are those of the products."""
        input_bar, hidden_bar = bars[: 3 * size], bars[size:]
        through = product(input_t, input_bar, precision)
        encode_bar = jnp.where(_row(kept.passed, k), through, 0.0)
        return _Sums(
            encode=product(encode_bar, _row(seen, k), precision),
            encode_columns=encode_bar.reshape(size, CHUNK, columns).sum(1),
            input=product(input_bar, _row(kept.x, k), precision),
            hidden=product(hidden_bar, _row(kept.h, k), precision),
            bias=bars.sum(1),
        )

    def of_chunk(i: Array, carry: tuple[Array, Array, _Sums]) -> tuple[Array, Array, _Sums]:
        h_bar, bars, sums = carry
        k = chunks - 1 - i
        first, end = k * CHUNK, jnp.minimum(length, (k + 1) * CHUNK)

        def step(j: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            h_bar, bars = carry
            t = end - 1 - j
            bar = jnp.tile(h_bar + _row(out_bar, t), (5, 1)) * _row(kept.factors, t)
            bars = _place(bars, bar[: 4 * size], 0, (t - first) * columns)
            return bar[4 * size :] + product(hidden_t, bar[size : 4 * size], precision), bars

        h_bar, bars = lax.fori_loop(0, end - first, step, (h_bar, bars))
        return h_bar, bars, jax.tree.map(jnp.add, sums, sums_of(bars, k))

    # Steps that the last chunk lacks keep these zeros; the other chunks are full.
    bars = jnp.zeros((4 * size, CHUNK * columns))
    zeros = jax.tree.map(
        lambda shape: jnp.zeros(shape.shape), jax.eval_shape(sums_of, bars, jnp.int32(0))
    )
    start = jnp.zeros((size, columns))
    _, _, sums = lax.fori_loop(0, chunks, of_chunk, (start, bars, zeros))
    return _gradient(params, sums), jnp.zeros_like(observations), None


def _chunks(observations: Float[Array, "T D N"], length: Array) -> Float[Array, "K C*N D"]:
    """Observations by chunk, as a right factor; zeros from `length` on."""
    times, features, _ = observations.shape
    happened = jnp.arange(times)[:, None, None] < length
    rows = jnp.where(happened, observations, 0.0).transpose(0, 2, 1)
    padded = jnp.pad(rows, ((0, -times % CHUNK), (0, 0), (0, 0)))
    return padded.reshape(-(-times // CHUNK), -1, features)


def _gradient(params: GruParams, sums: _Sums) -> GruParams:
    """The parameters' gradient out of the sums over time."""
    size, num_agents = params.encode_agent.shape
    by_agent = sums.encode_columns.reshape(size, -1, num_agents).sum(1)
    return GruParams(
        encode=sums.encode,
        encode_agent=by_agent,
        encode_bias=by_agent.sum(1),
        input=jnp.roll(sums.input, -size, axis=0),
        hidden=sums.hidden,
        input_bias=jnp.roll(sums.bias[: 3 * size], -size),
        hidden_bias=sums.bias[size:],
    )


unroll.defvjp(_forward, _backward)
