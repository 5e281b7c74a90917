"""VDN (Sunehag et al., 2018): the team's value is the sum of utilities."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from coemarl.mixers.mixer import Joint, Mixer
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class VdnOptions:
    """Nothing to choose."""


def make_vdn(options: VdnOptions, spec: TaskSpec) -> Mixer:
    """Q_tot = sum of Q_i."""

    def apply(params: tuple[()], joint: Joint) -> Float[Array, " 1"]:
        return joint.taken.sum(keepdims=True)

    return Mixer(init=lambda key: (), apply=apply, per_agent=False)
