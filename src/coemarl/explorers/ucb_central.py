"""UCB-Cen (paper, section 5.3 and appendix E): optimism for the team as a whole, in its rewards
only.

Agents act greedily; the reward of a joint action has the bonus c_rew / sqrt(N(s, a)), with counts
as they stand when learning. This is COE without the bonuses of acting and bootstrapping, and is
made of it.
"""

from dataclasses import dataclass, field
from typing import Literal

from coemarl.counts import CountsOptions
from coemarl.explorers.coe import CoeOptions, make_coe
from coemarl.explorers.explorer import Explorer
from coemarl.tasks.task import TaskSpec


@dataclass(frozen=True)
class UcbCentralOptions:
    """Scale and form of the optimism."""

    c_rew: float = 0.01
    """Scale of the bonus on rewards."""
    form: Literal["paper", "reference"] = "paper"
    """The paper's equation, or the published code's."""
    unvisited: float = 0.1
    """In form `paper`: how many visits a joint action counts as that has none."""
    counts: CountsOptions = field(default_factory=CountsOptions)
    """How states are told apart and visits counted."""


def make_ucb_central(options: UcbCentralOptions, spec: TaskSpec) -> Explorer:
    """The UCB-Cen explorer of a task."""
    coe = CoeOptions(
        c_act=0.0,
        c_rew=options.c_rew,
        c_boot=0.0,
        form=options.form,
        unvisited=options.unvisited,
        counts=options.counts,
    )
    return make_coe(coe, spec)
