"""The contract of an explorer: everything that differs between acting in training and acting
greedily, and everything that it adds to what the learner learns from.

An explorer's state is a pytree inside the training state. Only `observe` and `learn` change it,
and both run in training only: evaluation cannot touch it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

ExplorerState = Any
EpisodeContext = Any
"""What an explorer fixes for one episode of one environment (an epsilon, a latent)."""
Advice = Any
"""What the utility computed for one step: for an independent utility its values (A, U)."""
Trace = Any
"""What `choose` hands to `observe`, for one environment and step."""

Values = Callable[[Advice, Int[Array, ""], Int[Array, " A"]], Float[Array, " U"]]
"""`values(advice, i, actions)`: agent i's utility of each action, given the actions of the agents
before it (entries from i on are to be ignored)."""


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
    reward_bonus: Float[Array, " A"]
    """Bonus as known when acting, per agent; stored with the transition if
    `Explorer.stores_bonus`."""
    trace: Trace


@dataclass(frozen=True)
class Explorer:
    """Functions for ONE environment or ONE step are batched by vmap, the state unbatched."""

    init: Callable[[PRNGKeyArray], ExplorerState]
    """`init(key)`."""
    begin: Callable[[ExplorerState, PRNGKeyArray, Int[Array, ""]], EpisodeContext]
    """`begin(state, key, steps)`: the context of one new episode."""
    choose: Callable[[ExplorerState, EpisodeContext, PRNGKeyArray, Moment, Advice, Values], Choice]
    """`choose(state, context, key, moment, advice, values)`: one joint legal action."""
    observe: Callable[[ExplorerState, Trace, Bool[Array, " E"]], ExplorerState]
    """`observe(state, traces, active)`: what E environments did in one step, those that are
    over (`active` False) left out."""
    reward: Callable[..., Float[Array, " A"]] | None = None
    """`reward(explorer_state, state, actions)`: the reward bonus of one step for each agent, as
    counted now. None: no bonus. Where agents share one reward, the last agent's entry is the
    bonus of the whole joint action."""
    bootstrap: Callable[..., tuple[Int[Array, " A"], Float[Array, " A"]]] | None = None
    """`bootstrap(explorer_state, state, t, values (A, U), avail (A, U))`: the joint action that
    a target takes as greedy, and the bonus added to each agent's target utility of it. None:
    each agent's best action and no bonus."""
    stores_bonus: bool = False
    """Whether the reward bonus is the one of the moment of acting, kept in replay."""
    calibration_states: int = 0
    """How many states of random play `calibrate` wants to see before training."""
    calibrate: Callable[[ExplorerState, Float[Array, "N S"]], ExplorerState] | None = None
    """`calibrate(state, states)`: fix what depends on the scale of states."""
    metrics: Callable[[ExplorerState], dict[str, Float[Array, ""]]] = lambda state: {}
    """Named scalars for the metric rows."""
    summary: str = "keeps nothing"
    """What its state is, in a line."""
