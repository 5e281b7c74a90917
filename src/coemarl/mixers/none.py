"""No mixer: each agent learns its own value from the team's reward (independent Q-learning)."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class NoneOptions:
    """Nothing to choose."""


def make_none(options: NoneOptions, spec: TaskSpec) -> Mixer:
    """Utilities as they are."""

    def apply(params: tuple[()], joint: Joint) -> Float[Array, " A"]:
        return joint.taken

    return Mixer(init=lambda key: (), apply=apply, per_agent=True)
