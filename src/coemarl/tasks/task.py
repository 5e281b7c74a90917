"""The contract of a task: a cooperative game as a frozen record of two pure functions.

A task is stepped inside compiled programs, so it knows nothing of learning, of storage or of
drawing. `reset` starts an episode, `step` advances it by one joint action; both return the new
environment state and what the team is shown (`TimeStep`). A task never resets itself: whoever
steps it decides what follows an end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

EnvState = Any
"""A task's own pytree of arrays: everything that its next step depends on."""


class TimeStep(NamedTuple):
    """What a task shows after a reset or a step.

    `reward`, `terminated` and `truncated` describe the step that led here; after a reset they
    are 0, False and False. An episode is over when either flag is set.
    """

    observation: Float[Array, "A D"]
    """Each agent's own view, agents in index order, padded with zeros to the longest."""
    state: Float[Array, " S"]
    """The global state, for training only."""
    avail: Bool[Array, "A U"]
    """Which actions each agent may take now. At least one in every row."""
    reward: Float[Array, ""]
    """The team's reward; `TaskSpec.reward` says how it is made of the agents' rewards."""
    terminated: Bool[Array, ""]
    """The game itself is over: nothing can be earned from here."""
    truncated: Bool[Array, ""]
    """The episode limit was reached while the game could have gone on."""
    info: dict[str, Float[Array, ""]]
    """Named scalars of this step; `TaskSpec.infos` says what each means."""


@dataclass(frozen=True)
class TaskSpec:
    """What is fixed about a task: known before anything is compiled."""

    name: str
    """The full name by which `make_task` makes this very task again."""
    num_agents: int
    num_actions: int
    """Actions per agent. Agents with fewer are padded and never may take the padding."""
    observation_size: int
    state_size: int
    episode_limit: int
    """The longest episode, in steps."""
    reward: str
    """The team reward in words: whose rewards, summed or averaged or one for all."""
    state_is_observations: bool = False
    """Whether `state` is the concatenation of `observation` in agent order: then it is never
    stored, but derived."""
    always_available: bool = False
    """Whether `avail` is all True in every step: then it is never stored."""
    actions: tuple[str, ...] = ()
    """A name for each action, for pictures and logs. Empty: their numbers."""
    infos: tuple[tuple[str, str], ...] = ()
    """(name, meaning) of each entry of `TimeStep.info`. An episode's value is the entry at its
    last step."""


@dataclass(frozen=True)
class Task:
    """A compiled task. Both functions are pure and written for ONE environment: batch by vmap."""

    spec: TaskSpec
    reset: Callable[[PRNGKeyArray], tuple[EnvState, TimeStep]]
    """`reset(key)`: the start of a fresh episode. Consumes the key."""
    step: Callable[[PRNGKeyArray, EnvState, Int[Array, " A"]], tuple[EnvState, TimeStep]]
    """`step(key, state, actions)`: one joint action, all agents at once. Consumes the key."""
