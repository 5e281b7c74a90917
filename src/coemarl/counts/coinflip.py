"""Counts by a network of constant size: coin-flip counts (Lobel et al., 2023).

Each visit of a node is labelled with fair coin flips y in {-1, 1}^32, and a network f learns to
predict the label of a node by squared error. After N visits the best prediction is the mean of N
labels, whose squared length falls as 1 / N:

    f(node)  =  mean of its labels          E |f(node)|^2 / 32  =  1 / N
    N        ~  32 / |f(node)|^2            at least 1

A node is given as [state, one-hot actions of the agents that have chosen], so that like states
share what is learned: what is estimated is a pseudo-count, not a count. Added to f is a random
network that does not learn, scaled to outputs of mean 0 and variance 1, so that where nothing was
visited the estimate is about 1.

Visits are kept in a ring of constant size, from which batches are drawn after each episode: the
estimate is of visits among the last `visits` joint actions. A label needs no memory: it is the bits
of a scrambled number of the visit. There is no error bound; `coe bench counts` measures the error.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from coemarl.counts.counts import Counts
from coemarl.counts.sketch import scramble
from coemarl.networks import Linear, TwoLayers, linear, linear_init, two_layers, two_layers_init

FLIPS = 32
"""Coins of a visit: the bits of one word."""
STEPS, BATCH, LEARNING_RATE = 16, 256, 3e-3
"""Gradient steps after each episode, visits in a batch, and Adam's step size."""
LARGEST = 1e6
"""The largest count that is told."""


class CoinFlipKey(NamedTuple):
    """A node: the state, and the actions so far; -1 for agents that have not chosen."""

    state: Float[Array, " S"]
    actions: Int[Array, " A"]
    depth: Int[Array, ""]


class CoinFlipNet(NamedTuple):
    """Three layers."""

    first: Linear
    rest: TwoLayers


class CoinFlipTable(NamedTuple):
    """The networks, and the visits that they learn from."""

    net: CoinFlipNet
    optimiser: Any
    prior: CoinFlipNet
    shift: Float[Array, " 32"]
    """What makes the prior's outputs mean 0 ..."""
    scale: Float[Array, " 32"]
    """... and variance 1."""
    states: Float[Array, "V S"]
    actions: Int[Array, "V A"]
    added: Int[Array, ""]
    """Joint actions ever visited."""


def net_init(key: PRNGKeyArray, inputs: int, units: int) -> CoinFlipNet:
    first_key, rest_key = jax.random.split(key)
    return CoinFlipNet(
        linear_init(first_key, inputs, units), two_layers_init(rest_key, units, units, FLIPS)
    )


def output(net: CoinFlipNet, x: Float[Array, " N"]) -> Float[Array, " 32"]:
    return two_layers(net.rest, jax.nn.relu(linear(net.first, x)))


def flips_of(visit: UInt32[Array, ""], depth: Int[Array, ""]) -> Float[Array, " 32"]:
    """The label of a visit's node at a depth: the bits of a scrambled word as -1 and 1."""
    word = scramble(visit ^ scramble(depth.astype(jnp.uint32) + jnp.uint32(0x9E3779B9)))
    bits = (word >> jnp.arange(FLIPS, dtype=jnp.uint32)) & jnp.uint32(1)
    return 2.0 * bits.astype(jnp.float32) - 1.0


def make_coinflip(
    state_size: int, num_agents: int, num_actions: int, units: int, visits: int
) -> Counts:
    """Pseudo-counts of joint actions by a network of `units` hidden units, learned from the last
    `visits` joint actions."""
    A, U, S = num_agents, num_actions, state_size
    adam = optax.adam(LEARNING_RATE)
    inputs = S + A * U

    def seeded(key: PRNGKeyArray) -> CoinFlipTable:
        net_key, prior_key = jax.random.split(key)
        net = net_init(net_key, inputs, units)
        # It says nothing at first: the estimate where nothing was learned is the prior's.
        silent = jax.tree.map(jnp.zeros_like, net.rest.second)
        net = net._replace(rest=net.rest._replace(second=silent))
        return CoinFlipTable(
            net=net,
            optimiser=adam.init(net),
            prior=net_init(prior_key, inputs, units),
            shift=jnp.zeros(FLIPS),
            scale=jnp.ones(FLIPS),
            states=jnp.zeros((visits, S)),
            actions=jnp.zeros((visits, A), jnp.int32),
            added=jnp.int32(0),
        )

    def seen(key: CoinFlipKey) -> Float[Array, " N"]:
        return jnp.concatenate([key.state, jax.nn.one_hot(key.actions, U).reshape(-1)])

    def predicted(table: CoinFlipTable, net: CoinFlipNet, x: Float[Array, " N"]) -> Array:
        return output(net, x) + (output(table.prior, x) - table.shift) * table.scale

    def calibrate(table: CoinFlipTable, states: Float[Array, "N S"]) -> CoinFlipTable:
        """The prior's outputs at these states, after random prefixes, to mean 0 and variance 1."""
        number = states.shape[0]
        keys = jax.random.split(jax.random.key(0), 2)
        chosen = jax.random.randint(keys[0], (number, A), 0, U)
        depth = jax.random.randint(keys[1], (number,), 0, A + 1)
        nodes = jax.vmap(prefix)(states, chosen, depth)
        outputs = jax.vmap(lambda key: output(table.prior, seen(key)))(nodes)
        deviation = jnp.maximum(outputs.std(axis=0), 1e-6)
        return table._replace(shift=outputs.mean(axis=0), scale=1.0 / deviation)

    def prefix(
        state: Float[Array, " S"], actions: Int[Array, " A"], depth: Int[Array, ""]
    ) -> CoinFlipKey:
        chosen = jnp.arange(A) < depth
        return CoinFlipKey(state, jnp.where(chosen, actions, -1), depth)

    def child(key: CoinFlipKey, action: Int[Array, ""]) -> CoinFlipKey:
        return CoinFlipKey(key.state, key.actions.at[key.depth].set(action), key.depth + 1)

    def count(table: CoinFlipTable, key: CoinFlipKey) -> Float[Array, ""]:
        share = jnp.square(predicted(table, table.net, seen(key))).mean()
        return jnp.clip(1.0 / jnp.maximum(share, 1.0 / LARGEST), 1.0, LARGEST)

    def children(table: CoinFlipTable, key: CoinFlipKey) -> Float[Array, " U"]:
        below = jax.vmap(child, (None, 0))(key, jnp.arange(U, dtype=jnp.int32))
        return jax.vmap(count, (None, 0))(table, below)

    def add_one(
        table: CoinFlipTable, visit: tuple[CoinFlipKey, Bool[Array, ""]]
    ) -> tuple[CoinFlipTable, None]:
        leaf, active = visit
        place = table.added % visits
        write = lambda rows, row: rows.at[place].set(jnp.where(active, row, rows[place]))  # noqa: E731
        return table._replace(
            states=write(table.states, leaf.state),
            actions=write(table.actions, leaf.actions),
            added=table.added + active.astype(jnp.int32),
        ), None

    def add(table: CoinFlipTable, paths: CoinFlipKey, active: Bool[Array, " E"]) -> CoinFlipTable:
        leaves = jax.tree.map(lambda leaf: leaf[:, -1], paths)
        return lax.scan(add_one, table, (leaves, active))[0]

    def learn(table: CoinFlipTable, key: PRNGKeyArray) -> CoinFlipTable:
        """Some steps on visits drawn from the ring, each at a random depth."""
        stored = jnp.minimum(table.added, visits)
        place_key, depth_key = jax.random.split(key)
        places = jax.random.randint(place_key, (STEPS, BATCH), 0, jnp.maximum(stored, 1))
        depths = jax.random.randint(depth_key, (STEPS, BATCH), 0, A + 1)

        def error(net: CoinFlipNet, place: Int[Array, ""], depth: Int[Array, ""]) -> Array:
            node = prefix(table.states[place], table.actions[place], depth)
            # The newest visit in this place: one more round of the ring, one number more.
            rounds = (table.added - 1 - place) // visits
            number = (place + rounds * visits).astype(jnp.uint32)
            gap = predicted(table, net, seen(node)) - flips_of(number, depth)
            return jnp.square(gap).mean()

        def loss(net: CoinFlipNet, drawn: tuple[Array, Array]) -> Float[Array, ""]:
            return jax.vmap(error, (None, 0, 0))(net, *drawn).mean()

        def step(carry: tuple[CoinFlipNet, Any], drawn: tuple[Array, Array]) -> tuple[Any, None]:
            net, memory = carry
            gradient: Any = jax.grad(loss)(net, drawn)
            with jax.numpy_dtype_promotion("standard"):  # which optax relies on, wherever it runs
                changes, memory = adam.update(gradient, memory, net)
            return (optax.apply_updates(net, changes), memory), None

        (net, memory), _ = lax.scan(step, (table.net, table.optimiser), (places, depths))
        return table._replace(net=net, optimiser=memory)

    shapes = jax.eval_shape(seeded, jax.random.key(0))
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))
    return Counts(
        init=lambda: seeded(jax.random.key(0)),
        root=lambda state: CoinFlipKey(state, jnp.full(A, -1, jnp.int32), jnp.int32(0)),
        child=child,
        count=count,
        children=children,
        add=add,
        bytes=size,
        summary=(
            f"coin-flip: a network of {units} units on the last {visits:,} joint actions,"
            f" {size / 2**20:.1f} MB; pseudo-counts without an error bound"
        ),
        seeded=seeded,
        calibrate=calibrate,
        learn=learn,
        by_state=True,
    )
