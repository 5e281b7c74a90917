"""MAVEN (Mahajan et al., 2019): the team commits to a latent for a whole episode, and is made to
behave so that the latent can be told from what it does.

A latent z, one of `latents`, is drawn before an episode: uniformly, or by a bandit that learns
which latent promises the best return from the first state (`bandit.py`). Utility and mixer are told
it. A discriminator guesses z from the state and the softmax of all agents' utilities over legal
actions, step by step (`mlp`) or from the whole episode (`rnn`). Its cross-entropy H(z | behaviour)

    loss     + mi_loss * mean H       trains it, and through the utilities the team
    bonus    + mi_scale * H_t         on the reward, if `mi_intrinsic`

With `mi_intrinsic` the discriminator's input carries no gradient to the team. The bonus's sign is
the published code's for the paper (`sign` cross-entropy: what is hard to tell is rewarded); the
original adds the log-likelihood, -H_t (`sign` likelihood).

Acting is epsilon-greedy. Evaluation draws z uniformly.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.config import LearnerOptions
from coemarl.explorers import bandit
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Advice, Auxiliary, Choice, Explorer, Moment, Values
from coemarl.networks import (
    GruCell,
    TwoLayers,
    gru_cell,
    gru_cell_init,
    two_layers,
    two_layers_init,
)
from coemarl.replay import Episodes
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class MavenOptions(EpsilonOptions):
    """Latents, the discriminator, and the schedule of epsilon."""

    latents: int = 2
    """Latents to draw from."""
    discriminator: Literal["mlp", "rnn"] = "mlp"
    """Guess the latent at every step, or once from a GRU over the episode."""
    units: int = 32
    """Hidden units of the discriminator, and of its GRU."""
    mi_loss: float = 1.0
    """Weight of the discriminator's loss."""
    mi_intrinsic: bool = False
    """Whether its cross-entropy enters the reward instead of the utilities' gradient."""
    mi_scale: float = 0.01
    """With `mi_intrinsic`: scale of the bonus on rewards."""
    sign: Literal["cross-entropy", "likelihood"] = "cross-entropy"
    """With `mi_intrinsic`: which of the two is the bonus; one is minus the other."""
    bandit: bool = False
    """Draw latents by a bandit on returns instead of uniformly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.latents < 2:
            raise ValueError(f"maven latents is {self.latents}: there are at least 2 to tell apart")
        if self.units < 1:
            raise ValueError(f"maven units is {self.units}: it must be at least 1")
        for name in ("mi_loss", "mi_scale"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"maven {name} is {getattr(self, name)}: it must be at least 0")
        for name, known in (
            ("discriminator", ("mlp", "rnn")),
            ("sign", ("cross-entropy", "likelihood")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"no maven {name} '{getattr(self, name)}': {' or '.join(known)}")
        if self.mi_intrinsic and self.discriminator == "rnn":
            raise ValueError(
                "maven mi_intrinsic rewards steps, and discriminator rnn has none: mlp"
            )


class MavenContext(NamedTuple):
    """What is fixed for an episode."""

    epsilon: Float[Array, ""]
    latent: Float[Array, " Z"]


class Discriminator(NamedTuple):
    """Guesses the latent; `cell` is None where it looks at single steps."""

    cell: GruCell | None
    guess: TwoLayers


def behaviour(
    advice: Advice, avail: Bool[Array, "B T A U"], state: Float[Array, "B T S"]
) -> Float[Array, "B T N"]:
    """[softmax over legal actions of every agent's utilities, state]: N = A U + S."""
    B, T = state.shape[:2]
    low = jnp.where(avail, 0.0, -1e7)  # finite: after an episode's end nothing is legal
    acts = jax.nn.softmax(advice.values + low, axis=-1)
    return jnp.concatenate([acts.reshape(B, T, -1), state], axis=2)


def cross_entropy(logits: Float[Array, "... Z"], latent: Float[Array, "... Z"]) -> Array:
    """-log of the probability that the guess gives to the one-hot latent."""
    return -jnp.sum(latent * jax.nn.log_softmax(logits, axis=-1), axis=-1)


def last_memory(
    cell: GruCell, seen: Float[Array, "T N"], length: Int[Array, ""], units: int
) -> Float[Array, " H"]:
    """What a GRU remembers of one episode at its end; it starts with ones, as in the original."""

    def step(h: Float[Array, " H"], row: tuple[Array, Array]) -> tuple[Float[Array, " H"], None]:
        x, t = row
        return jnp.where(t < length, gru_cell(cell, x, h), h), None

    times = jnp.arange(seen.shape[0], dtype=jnp.int32)
    return lax.scan(step, jnp.ones(units), (seen, times))[0]


def make_maven(options: MavenOptions, spec: TaskSpec, learner: LearnerOptions) -> Explorer:
    """The MAVEN explorer of a task; its bandit learns at the learner's rate."""
    Z, A = options.latents, spec.num_agents
    inputs = A * spec.num_actions + spec.state_size
    greedy = make_epsilon(options, spec)

    def init(key: PRNGKeyArray) -> bandit.Bandit | tuple[()]:
        if not options.bandit:
            return ()
        return bandit.init(key, spec.state_size, Z, learner.learning_rate)

    def begin(
        state: Any, key: PRNGKeyArray, first: Float[Array, " S"], steps: Int[Array, ""]
    ) -> MavenContext:
        if options.bandit:
            drawn = jax.random.categorical(key, jnp.log(bandit.chances(state.net, first)))
        else:
            drawn = jax.random.randint(key, (), 0, Z)
        return MavenContext(greedy.begin((), key, first, steps), jax.nn.one_hot(drawn, Z))

    def choose(
        state: Any,
        context: MavenContext,
        key: PRNGKeyArray,
        moment: Moment,
        advice: Advice,
        values: Values,
    ) -> Choice:
        return greedy.choose((), context.epsilon, key, moment, advice, values)

    def finish(state: bandit.Bandit, key: PRNGKeyArray, episodes: Episodes) -> bandit.Bandit:
        return bandit.learn(state, key, episodes, learner.learning_rate)

    def nets(key: PRNGKeyArray) -> Discriminator:
        cell_key, guess_key = jax.random.split(key)
        if options.discriminator == "mlp":
            return Discriminator(None, two_layers_init(guess_key, inputs, options.units, Z))
        cell = gru_cell_init(cell_key, inputs, options.units)
        return Discriminator(cell, two_layers_init(guess_key, options.units, options.units, Z))

    def loss(
        params: Discriminator, state: Any, lesson: Any, advice: Advice, mixed: Array
    ) -> tuple[Float[Array, ""], Float[Array, "B T A+1"]]:
        batch, now = lesson.episodes, jax.tree.map(lambda leaf: leaf[:, :-1], advice)
        seen = behaviour(now, batch.avail[:, :-1], batch.state[:, :-1])
        if options.mi_intrinsic:
            seen = lax.stop_gradient(seen)
        bonus = jnp.zeros((*lesson.mask.shape, A + 1))
        if params.cell is not None:
            memory = jax.vmap(last_memory, (None, 0, 0, None))(
                params.cell, seen, batch.length, options.units
            )
            logits = jax.vmap(two_layers, (None, 0))(params.guess, memory)
            return options.mi_loss * cross_entropy(logits, batch.latent).mean(), bonus
        logits = jax.vmap(jax.vmap(two_layers, (None, 0)), (None, 0))(params.guess, seen)
        latents = jnp.broadcast_to(batch.latent[:, None], logits.shape)
        entropy = cross_entropy(logits, latents)
        if options.mi_intrinsic:
            sign = 1.0 if options.sign == "cross-entropy" else -1.0
            bonus = bonus + sign * options.mi_scale * entropy[:, :, None]
        return options.mi_loss * lesson.mean(entropy), lax.stop_gradient(bonus)

    where = "by a bandit on returns" if options.bandit else "uniformly"
    return replace(
        greedy,
        init=init,
        begin=begin,
        choose=choose,
        observe=lambda state, traces, active: state,
        latent=lambda context: context.latent,
        latents=Z,
        finish=finish if options.bandit else None,
        auxiliary=Auxiliary(nets, loss),
        summary=f"one of {Z} latents, drawn {where}",
    )
