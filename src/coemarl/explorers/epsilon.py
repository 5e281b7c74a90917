"""Epsilon-greedy: with probability epsilon an agent takes a random legal action, else its best.

Epsilon falls linearly with the environment steps of training. Its value holds within an episode;
whether an agent explores is drawn for each agent and step. Ties go to the lowest action.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from coemarl.explorers.explorer import Advice, Choice, Explorer, Moment, Values
from coemarl.explorers.turns import in_turns
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class EpsilonOptions:
    """The schedule of epsilon."""

    start: float = 1.0
    """Epsilon at the first step."""
    end: float = 0.0
    """Epsilon from `anneal_steps` on."""
    anneal_steps: int = 50_000
    """Environment steps over which epsilon falls linearly."""

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("end", self.end)):
            if not 0 <= value <= 1:
                raise ValueError(f"epsilon {name} is {value}: a probability lies in 0 to 1")
        if self.anneal_steps < 1:
            raise ValueError(f"epsilon anneal_steps is {self.anneal_steps}: it must be at least 1")


def epsilon_at(options: EpsilonOptions, steps: Int[Array, ""]) -> Float[Array, ""]:
    """Epsilon after so many environment steps: linear from `start` to `end`, then constant."""
    done = jnp.minimum(steps.astype(jnp.float32) / options.anneal_steps, 1.0)
    return options.start + (options.end - options.start) * done


def best_legal(scores: Float[Array, " U"], avail: Bool[Array, " U"]) -> Int[Array, ""]:
    """The legal action of the highest score, the lowest of equals."""
    return jnp.argmax(jnp.where(avail, scores, -jnp.inf)).astype(jnp.int32)


def random_legal(draw: Float[Array, ""], avail: Bool[Array, " U"]) -> Int[Array, ""]:
    """The legal action that a uniform draw in [0, 1) falls on, all equally likely."""
    legal = jnp.cumsum(avail, dtype=jnp.int32)
    wanted = jnp.floor(draw * legal[-1].astype(jnp.float32)).astype(jnp.int32)
    wanted = jnp.minimum(wanted, legal[-1] - 1)  # the product may round up
    return jnp.argmax(legal > wanted).astype(jnp.int32)


def make_epsilon(options: EpsilonOptions, spec: TaskSpec) -> Explorer:
    """The epsilon-greedy explorer of a task. It has no state."""

    def init(key: PRNGKeyArray) -> tuple[()]:
        return ()

    def begin(
        state: tuple[()], key: PRNGKeyArray, first: Float[Array, " S"], steps: Int[Array, ""]
    ) -> Float[Array, ""]:
        return epsilon_at(options, steps)

    def choose(
        state: tuple[()],
        epsilon: Float[Array, ""],
        key: PRNGKeyArray,
        moment: Moment,
        advice: Advice,
        values: Values,
    ) -> Choice:
        draws = jax.random.uniform(key, (2, spec.num_agents))
        explores = draws[0] < epsilon

        def decide(i: Array, actions: Array) -> tuple[Array, Array]:
            greedy = best_legal(values(advice, i, actions), moment.avail[i])
            other = random_legal(draws[1, i], moment.avail[i])
            return jnp.where(explores[i], other, greedy), epsilon

        actions, _ = in_turns(spec.num_agents, decide)
        return Choice(actions, jnp.zeros(spec.num_agents + 1), ())

    def observe(state: tuple[()], traces: tuple[()], active: Bool[Array, " E"]) -> tuple[()]:
        return state

    return Explorer(init=init, begin=begin, choose=choose, observe=observe)
