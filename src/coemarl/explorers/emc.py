"""EMC (Zheng et al., 2021) as the paper ran it: curiosity about the utilities to come.

Beside the team's nets there are two more of the utility's shape: a critic, whose utilities, summed,
learn the standardised reward by temporal difference with target nets of their own (VDN), and a
predictor of the critic's next target utilities. Where these are hard to predict is something new:

    d_i(t)   = || predictor_i(o_<=t+1) - 10 critic'_i(o_<=t+1) ||   over legal actions
    bonus    = scale * mean over agents of d_i(t)                   on the reward of step t
    loss     = sum of d / number of such steps and agents           trains the predictor only

as known before the predictor's step. Each of the two nets has its own Adam at the learner's rate
and its own clipping. Masks: the published code leaves illegal actions at -10^7 in the distance;
here they are left out.

Episodic memory (`memory`, off in the paper's runs) holds the best discounted return seen from a
state, and pulls the team's value towards r + discount * memory(s') where s' is remembered:

    loss     + memory_weight * mean of (Q_tot - (r + discount * memory(s')))^2

A state is known by the signs and cells of a random projection to 4 numbers (`memory.py`).

Acting is epsilon-greedy, with epsilon 0 throughout as in the paper's runs.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from coemarl.config import LearnerOptions
from coemarl.explorers import memory as memories
from coemarl.explorers.epsilon import EpsilonOptions, make_epsilon
from coemarl.explorers.explorer import Advice, Auxiliary, Explorer
from coemarl.optimisation import make_optimiser
from coemarl.replay import Episodes
from coemarl.tasks.task import TaskSpec

TARGET_SCALE = 10.0
"""What the predictor predicts is so many times the critic's utilities."""
SMALL = 1e-12
"""Under the root of a distance, so that it has a gradient at 0."""


@dataclass(frozen=True)
class EmcOptions(EpsilonOptions):
    """Curiosity, memory, and the schedule of epsilon."""

    start: float = 0.0
    """Epsilon at the first step."""
    scale: float = 0.01
    """Scale of the curiosity in the reward."""
    hidden: int = 128
    """Units of the critic's and the predictor's trunks."""
    memory: bool = False
    """Whether there is an episodic memory."""
    memory_weight: float = 0.1
    """Weight of the memory's loss."""
    memory_capacity: int = 2**20
    """States that the memory can hold, a power of two of at least 64."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("scale", "memory_weight"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"emc {name} is {getattr(self, name)}: it must be at least 0")
        if self.hidden < 1:
            raise ValueError(f"emc hidden is {self.hidden}: it must be at least 1")
        size = self.memory_capacity
        if size < 64 or size & (size - 1):
            raise ValueError(f"emc memory_capacity is {size}: it is a power of two, at least 64")


class EmcNets(NamedTuple):
    """What curiosity learns."""

    critic: Any
    """A learner's state: utilities summed, their targets, Adam's memory."""
    predictor: Any
    optimiser: Any
    error: Float[Array, ""]
    """The predictor's loss at the last update."""


class EmcState(NamedTuple):
    """What EMC carries through training."""

    nets: EmcNets
    memory: Any
    """A `Memory`; None where there is none."""


def distances(
    predicted: Float[Array, "B T A U"],
    target: Float[Array, "B T A U"],
    avail: Bool[Array, "B T A U"],
) -> Float[Array, "B T A"]:
    """|| predicted - 10 target || over legal actions, for each agent."""
    gap = jnp.where(avail, predicted - TARGET_SCALE * target, 0.0)
    return jnp.sqrt(jnp.sum(jnp.square(gap), axis=-1) + SMALL)


def make_emc(options: EmcOptions, spec: TaskSpec, learner: LearnerOptions) -> Explorer:
    """The EMC explorer of a task, its nets learning as the learner's options say."""
    # Learners look at explorers, so this one may look back only when both are there.
    from coemarl.learner import Lesson, make_learner
    from coemarl.mixers.vdn import VdnOptions, make_vdn
    from coemarl.utilities.independent import IndependentOptions, make_independent

    greedy = make_epsilon(options, spec)
    net = make_independent(IndependentOptions(options.hidden), spec, learner.products)
    critic = make_learner(learner, net, make_vdn(VdnOptions(), spec), greedy)
    optimiser = make_optimiser(learner, (None,))
    memory = (
        memories.make_memory(options.memory_capacity, spec.state_size, learner.discount)
        if options.memory
        else None
    )

    def init(key: PRNGKeyArray) -> EmcState:
        critic_key, predictor_key, memory_key = jax.random.split(key, 3)
        predictor = net.init(predictor_key)
        nets = EmcNets(critic.init(critic_key), predictor, optimiser.init(predictor), jnp.zeros(()))
        return EmcState(nets, None if memory is None else memory.init(memory_key))

    def later(params: Any, lesson: Lesson) -> Advice:
        batch = lesson.episodes
        return net.unroll(params, batch.observation, batch.latent, lesson.longest + 1)

    def learn(
        state: EmcState, lesson: Lesson, ready: Bool[Array, ""]
    ) -> tuple[EmcState, Float[Array, "B T A+1"]]:
        nets, avail = state.nets, lesson.episodes.avail[:, 1:]
        target = later(nets.critic.target.utility, lesson)

        def loss(predictor: Any) -> tuple[Float[Array, ""], Float[Array, "B T A"]]:
            predicted = later(predictor, lesson).values[:, 1:]
            gaps = distances(predicted, target.values[:, 1:], avail) * lesson.mask[:, :, None]
            return gaps.sum() / (lesson.mask.sum() * spec.num_agents), gaps

        (error, gaps), gradient = jax.value_and_grad(loss, has_aux=True)(nets.predictor)
        predictor, moments, _ = optimiser.step(0, gradient, nets.optimiser, nets.predictor)
        learned, _ = critic.update(nets.critic, (), lesson, None, target)
        new = EmcNets(learned, predictor, moments, error)
        nets = jax.tree.map(lambda a, b: jnp.where(ready, a, b), new, nets)
        curiosity = options.scale * gaps.mean(axis=2, keepdims=True)
        bonus = jnp.broadcast_to(curiosity, (*gaps.shape[:2], spec.num_agents + 1))
        return state._replace(nets=nets), jax.lax.stop_gradient(bonus)

    def finish(state: EmcState, key: PRNGKeyArray, episodes: Episodes) -> EmcState:
        assert memory is not None
        return state._replace(memory=memory.add(state.memory, episodes))

    def remembered(
        params: tuple[()],
        state: EmcState,
        lesson: Lesson,
        advice: Advice,
        mixed: Float[Array, "B T M"],
    ) -> tuple[Float[Array, ""], Float[Array, "B T A+1"]]:
        """The memory's loss; it adds no bonus."""
        assert memory is not None
        best, known = memory.recall(state.memory, lesson.episodes.state[:, 1:])
        value = lesson.rewards + learner.discount * best
        gap = jnp.where(known[:, :, None], mixed - jax.lax.stop_gradient(value)[:, :, None], 0.0)
        loss = options.memory_weight * lesson.mean(jnp.square(gap).mean(axis=2))
        return loss, jnp.zeros((*lesson.mask.shape, spec.num_agents + 1))

    def metrics(state: EmcState) -> dict[str, Float[Array, ""]]:
        seen = {} if memory is None else memory.metrics(state.memory)
        return {"curiosity": options.scale * state.nets.error, **seen}

    return replace(
        greedy,
        init=init,
        observe=lambda state, traces, active: state,
        begin=lambda state, *rest: greedy.begin((), *rest),
        choose=lambda state, *rest: greedy.choose((), *rest),
        learn=learn,
        finish=None if memory is None else finish,
        auxiliary=None if memory is None else Auxiliary(lambda key: (), remembered),
        metrics=metrics,
        summary="critic and predictor" + ("" if memory is None else f"; {memory.summary}"),
    )
