"""What can be chosen of the didactic game, its learners, and what the paper leaves open of them."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

BEST_PAYOFF = 0.9
"""The probability with which the optimal joint action is paid."""

OFFSET_VISITS = 0.1
"""How many visits an action counts as that was never tried, under the rule `offset`."""

MOST_JOINT_ACTIONS = 2**24
"""The largest game: one tree of its joint actions takes 100 MB or more."""

MOST_STEPS = 2**24
"""The longest game: counts up to here are exact in float32."""

LearnerName = Literal["dep-dep", "ind-dep", "ind-ind", "central", "uniform"]

TITLES: dict[str, str] = {
    "dep-dep": "DepRew-DepOpt",
    "ind-dep": "IndRew-DepOpt",
    "ind-ind": "IndRew-IndOpt",
    "central": "UCB-Cen",
    "uniform": "Uniform",
}
"""The learners' names in the paper, which has no uniform player."""


@dataclass(frozen=True)
class Rules:
    """What the paper leaves open of its learners."""

    c: float = 1.0
    """Scale of the optimism."""
    estimate: Literal["mean"] | float = "mean"
    """Values of agents that learn for themselves: the `mean` of the payoffs, or moved at each
    payoff by this share of the error, from 0 on, as a network's gradient steps would."""
    unvisited: Literal["first", "offset"] = "first"
    """Actions never tried: `first` before all others, or as if tried 0.1 times (`offset`)."""
    ties: Literal["random", "first"] = "random"
    """Among actions of the same score: any of them, or the `first`."""

    def check(self) -> None:
        """ValueError if these are no rules. Not when made: inside a compiled program c and the
        step size are not known yet."""
        if not 0 <= self.c < float("inf"):
            raise ValueError(f"c is {self.c}: a scale of optimism is a number of at least 0")
        if isinstance(self.estimate, str):
            if self.estimate != "mean":
                raise ValueError(f"no estimate '{self.estimate}': choose mean or a step size")
        elif not 0 < self.estimate <= 1:
            raise ValueError(f"estimate is {self.estimate}: a step size is above 0 and at most 1")
        if self.unvisited not in ("first", "offset"):
            raise ValueError(f"no rule '{self.unvisited}' for unvisited: choose first or offset")
        if self.ties not in ("random", "first"):
            raise ValueError(f"no rule '{self.ties}' for ties: choose random or first")


@dataclass(frozen=True)
class GameOptions:
    """Which games are played, by whom, and for how long."""

    agents: int = 8
    """Agents in the team."""
    actions: int = 3
    """Actions of each agent."""
    p0: tuple[float, ...] = (0.0, 0.4, 0.8)
    """Probabilities of a payoff for all joint actions but the optimal one, which has 0.9."""
    learners: tuple[LearnerName, ...] = ("dep-dep", "ind-dep", "ind-ind", "central")
    """Who plays: UCT, conditional optimism over own values, own values with own optimism, one
    UCB1 learner over all joint actions, or a uniform player."""
    steps: int = 100_000
    """Joint actions in a game."""
    seeds: int = 50
    """Games for each learner and p0: those of the seeds 0, 1, ... ."""
    rules: Rules = field(default_factory=Rules)
    """How the learners choose and learn."""

    def __post_init__(self) -> None:
        for name, least in (("agents", 1), ("actions", 2), ("steps", 1), ("seeds", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be at least {least}")
        if self.steps > MOST_STEPS:
            raise ValueError(f"steps is {self.steps}: a game has at most {MOST_STEPS}")
        if self.agents * math.log(self.actions) > math.log(MOST_JOINT_ACTIONS):
            raise ValueError(
                f"{self.agents} agents with {self.actions} actions have more than"
                f" {MOST_JOINT_ACTIONS} joint actions: take fewer of either"
            )
        for p0 in self.p0:
            if not 0 <= p0 < BEST_PAYOFF:
                raise ValueError(
                    f"p0 is {p0}: it must be at least 0 and below {BEST_PAYOFF}, the optimal joint"
                    " action's"
                )
        for name in self.learners:
            if name not in get_args(LearnerName):
                known = ", ".join(get_args(LearnerName))
                raise ValueError(f"no learner '{name}': there are {known}")
        for name in ("p0", "learners"):
            given = getattr(self, name)
            if not given:
                raise ValueError(f"{name} is empty: name at least one")
            if len(set(given)) < len(given):
                raise ValueError(f"{name} names the same twice: {' '.join(map(str, given))}")
        self.rules.check()
