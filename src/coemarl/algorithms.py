"""Algorithms: each a row of choices. Any explorer goes with any mixer and utility.

The tables of parts (`utilities`, `mixers`, `explorers`) say what each name is made by. This table
imports none of them, so that listing and checking algorithms costs nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Algorithm:
    """One row: which utility, mixer and explorer; one line on it; where the paper has it."""

    utility: str
    mixer: str
    explorer: str
    summary: str
    section: str


ALGORITHMS: dict[str, Algorithm] = {
    "coe": Algorithm(
        "independent",
        "qmix",
        "coe",
        "QMIX whose agents act with conditional optimism, one after another",
        "4.2, equations 4 and 5",
    ),
    "qmix": Algorithm(
        "independent", "qmix", "epsilon", "QMIX with epsilon-greedy agents", "3 and appendix F"
    ),
    "vdn": Algorithm(
        "independent", "vdn", "epsilon", "the sum of utilities, epsilon-greedy agents", "4.2"
    ),
    "iql": Algorithm(
        "independent",
        "none",
        "epsilon",
        "each agent learns alone from the team's reward, epsilon-greedy",
        "appendix D",
    ),
    "coe-vdn": Algorithm(
        "independent", "vdn", "coe", "conditional optimism on the sum of utilities", "4.2"
    ),
    "coe-iql": Algorithm(
        "independent", "none", "coe", "conditional optimism without a mixer", "4.2"
    ),
}
