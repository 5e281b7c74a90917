"""The contract of an explorer: everything that differs between acting in training and acting
greedily, and everything that it adds to what the learner learns from.

An explorer's state is a pytree inside the training state. Only `observe`, `finish` and `learn`
change it, and they run in training only: evaluation cannot touch it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

if TYPE_CHECKING:
    from coemarl.learner import Lesson
    from coemarl.replay import Episodes

ExplorerState = Any
EpisodeContext = Any
"""What an explorer fixes for one episode of one environment (an epsilon, a latent)."""
Trace = Any
"""What `choose` hands to `observe`, for one environment and step."""


class Advice(NamedTuple):
    """What a utility computed for one step, or with leading axes for many."""

    values: Float[Array, "A U"]
    """Utilities that each agent computes by itself, as in execution."""
    features: Float[Array, "A H"]
    """What each agent remembers of its episode, which the utilities were read from."""


Values = Callable[[Advice, Int[Array, ""], Int[Array, " A"]], Float[Array, " U"]]
"""`values(advice, i, actions)`: agent i's utility of each action, given the actions of the agents
before it (entries from i on are to be ignored)."""
Judgement = Callable[[Int[Array, ""], Int[Array, " A"]], Float[Array, " U"]]
"""`values(i, actions)`: the same at one step whose advice is known."""


class Moment(NamedTuple):
    """One decision of the team in one environment."""

    state: Float[Array, " S"]
    avail: Bool[Array, "A U"]
    t: Int[Array, ""]
    """Step inside the episode, from 0."""
    steps: Int[Array, ""]
    """Environment steps of training so far."""


class Choice(NamedTuple):
    """What an explorer decided in one environment."""

    actions: Int[Array, " A"]
    reward_bonus: Float[Array, " A+1"]
    """Bonus as known when acting: each agent's own, and last the team's; stored with the
    transition if `Explorer.stores_bonus`."""
    trace: Trace


@dataclass(frozen=True)
class Auxiliary:
    """A loss of the explorer's own, added to the learner's and minimised with it."""

    init: Callable[[PRNGKeyArray], Any]
    """`init(key)`: nets that this loss trains besides the utility and the mixer."""
    loss: Callable[
        [Any, ExplorerState, "Lesson", Advice, Float[Array, "B T M"]],
        tuple[Float[Array, ""], Float[Array, "B T A+1"]],
    ]
    """`loss(params, explorer_state, lesson, advice, mixed)`: the loss of a batch, and the bonus on
    its rewards (each agent's own, and last the team's). Advice has axes B and T + 1; `mixed` are
    the mixer's values of the actions taken."""


@dataclass(frozen=True)
class Explorer:
    """Functions for ONE environment or ONE step are batched by vmap, the state unbatched."""

    init: Callable[[PRNGKeyArray], ExplorerState]
    """`init(key)`."""
    begin: Callable[
        [ExplorerState, PRNGKeyArray, Float[Array, " S"], Int[Array, ""]], EpisodeContext
    ]
    """`begin(state, key, first, steps)`: the context of one new episode that starts in the global
    state `first`."""
    choose: Callable[[ExplorerState, EpisodeContext, PRNGKeyArray, Moment, Advice, Values], Choice]
    """`choose(state, context, key, moment, advice, values)`: one joint legal action."""
    observe: Callable[[ExplorerState, Trace, Bool[Array, " E"]], ExplorerState]
    """`observe(state, traces, active)`: what E environments did in one step, those that are
    over (`active` False) left out."""
    latent: Callable[[EpisodeContext], Float[Array, " Z"]] = lambda context: jnp.zeros(0)
    """`latent(context)`: what the utility and the mixer are told of the episode; nothing (Z = 0)
    but where the utility is made for it."""
    latents: int = 0
    """Z; the utility must have as many."""
    finish: Callable[[ExplorerState, PRNGKeyArray, "Episodes"], ExplorerState] | None = None
    """`finish(state, key, episodes)`: what E whole episodes of training teach."""
    learn: (
        Callable[
            [ExplorerState, "Lesson", Bool[Array, ""]],
            tuple[ExplorerState, Float[Array, "B T A+1"]],
        ]
        | None
    ) = None
    """`learn(state, lesson, ready)`: nets of its own after a batch, changed only if `ready`
    (before, the batch has no meaning), and the bonus on the batch's rewards: each agent's own, and
    last the team's."""
    reward: Callable[..., Float[Array, " A+1"]] | None = None
    """`reward(explorer_state, state, actions)`: the reward bonus of one step as counted now: each
    agent's own, and last the team's, for the whole joint action. None: no bonus."""
    bootstrap: Callable[..., tuple[Int[Array, " A"], Float[Array, " A"]]] | None = None
    """`bootstrap(explorer_state, state, t, values, avail (A, U))`, values a `Judgement`: the joint
    action that a target takes as greedy, and the bonus added to each agent's target utility of
    it. None: each agent's best action and no bonus."""
    auxiliary: Auxiliary | None = None
    """A loss of its own."""
    stores_bonus: bool = False
    """Whether the reward bonus is the one of the moment of acting, kept in replay."""
    fixed_order: bool = True
    """Whether agents always choose by their index, as conditional utilities take it."""
    calibration_states: int = 0
    """How many states of random play `calibrate` wants to see before training."""
    calibrate: Callable[[ExplorerState, Float[Array, "N S"]], ExplorerState] | None = None
    """`calibrate(state, states)`: fix what depends on the scale of states."""
    metrics: Callable[[ExplorerState], dict[str, Float[Array, ""]]] = lambda state: {}
    """Named scalars for the metric rows."""
    summary: str = "keeps nothing"
    """What its state is, in a line."""
