"""A bandit over latents (MAVEN): which latent promises the best return from an episode's first
state.

A network estimates the return of each latent, Linear(S -> 256) -> relu -> Linear(256 -> 256) ->
relu -> Linear(256 -> Z), times 20. Latents are drawn by the softmax of these estimates, mixed with
a uniform floor. After each episode it takes 8 steps of RMSprop on the squared error to returns, on
batches of 64 drawn with replacement from the last 512 episodes."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from coemarl.networks import Linear, TwoLayers, linear, linear_init, two_layers, two_layers_init
from coemarl.replay import Episodes

HIDDEN = 256
SCALE = 20.0
FLOOR = 0.1
"""Share of the draws that is uniform."""
EPISODES = 512
ITERATIONS = 8
BATCH = 64


class BanditNet(NamedTuple):
    """Return estimates of a first state."""

    first: Linear
    rest: TwoLayers


class Bandit(NamedTuple):
    """What the bandit carries through training."""

    net: BanditNet
    optimiser: Any
    states: Float[Array, "N S"]
    """First states of the last episodes."""
    latents: Float[Array, "N Z"]
    returns: Float[Array, " N"]
    episodes: Int[Array, ""]
    """Episodes ever seen."""


def estimates(net: BanditNet, state: Float[Array, " S"]) -> Float[Array, " Z"]:
    """The return that each latent promises."""
    return SCALE * two_layers(net.rest, jax.nn.relu(linear(net.first, state)))


def chances(net: BanditNet, state: Float[Array, " S"]) -> Float[Array, " Z"]:
    """The probability of each latent."""
    promised = jax.nn.softmax(estimates(net, state))
    return (1.0 - FLOOR) * promised + FLOOR / promised.shape[0]


def optimiser_of(learning_rate: float) -> optax.GradientTransformation:
    """RMSprop as PyTorch has it."""
    return optax.rmsprop(learning_rate, decay=0.99, eps=1e-8, eps_in_sqrt=False)


def init(key: PRNGKeyArray, state_size: int, latents: int, learning_rate: float) -> Bandit:
    """Nothing seen yet."""
    first_key, rest_key = jax.random.split(key)
    net = BanditNet(
        linear_init(first_key, state_size, HIDDEN),
        two_layers_init(rest_key, HIDDEN, HIDDEN, latents),
    )
    return Bandit(
        net=net,
        optimiser=optimiser_of(learning_rate).init(net),
        states=jnp.zeros((EPISODES, state_size)),
        latents=jnp.zeros((EPISODES, latents)),
        returns=jnp.zeros(EPISODES),
        episodes=jnp.int32(0),
    )


def learn(bandit: Bandit, key: PRNGKeyArray, episodes: Episodes, learning_rate: float) -> Bandit:
    """The bandit after E more episodes."""
    E = episodes.length.shape[0]
    slots = (bandit.episodes + jnp.arange(E)) % EPISODES
    bandit = bandit._replace(
        states=bandit.states.at[slots].set(episodes.state[:, 0]),
        latents=bandit.latents.at[slots].set(episodes.latent),
        returns=bandit.returns.at[slots].set(episodes.reward.sum(axis=1)),
        episodes=bandit.episodes + E,
    )
    stored = jnp.minimum(bandit.episodes, EPISODES)
    draws = jax.random.randint(key, (ITERATIONS, BATCH), 0, stored)
    rule = optimiser_of(learning_rate)

    def error(net: BanditNet, drawn: Int[Array, " B"]) -> Float[Array, ""]:
        promised = jax.vmap(estimates, (None, 0))(net, bandit.states[drawn])
        mine = jnp.sum(promised * bandit.latents[drawn], axis=1)
        return jnp.square(bandit.returns[drawn] - mine).mean()

    def step(carry: tuple[BanditNet, Any], drawn: Int[Array, " B"]) -> tuple[Any, None]:
        net, memory = carry
        gradient: Any = jax.grad(error)(net, drawn)
        with jax.numpy_dtype_promotion("standard"):  # which optax relies on, wherever it runs
            changes, memory = rule.update(gradient, memory, net)
        return (optax.apply_updates(net, changes), memory), None

    (net, memory), _ = lax.scan(step, (bandit.net, bandit.optimiser), draws)
    return bandit._replace(net=net, optimiser=memory)
