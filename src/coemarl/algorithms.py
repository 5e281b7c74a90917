"""Algorithms: each a row of choices. Any explorer goes with any mixer and utility that it makes
sense with, so there are more than this table names: EXPLORER+MIXER, or EXPLORER+MIXER+UTILITY, is
an algorithm too, such as coe+qplex.

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
    "coe-cond-iq": Algorithm(
        "conditional",
        "none",
        "coe",
        "conditional optimism and conditional values, each agent learning alone",
        "5.3 and appendix E",
    ),
    "coe-cond-cq": Algorithm(
        "conditional",
        "qmix",
        "coe",
        "conditional optimism and conditional values under one QMIX mixer",
        "5.3 and appendix E",
    ),
    "ucb-ind": Algorithm(
        "independent",
        "qmix",
        "ucb-independent",
        "QMIX whose agents are optimistic each by itself",
        "5.3 and appendix E",
    ),
    "ucb-cen": Algorithm(
        "independent",
        "qmix",
        "ucb-central",
        "greedy QMIX with optimism in the team's reward only",
        "5.3 and appendix E",
    ),
    "emc": Algorithm(
        "independent",
        "qmix",
        "emc",
        "QMIX with curiosity about the utilities to come (EMC)",
        "5 (Table 1)",
    ),
    "maven": Algorithm(
        "latent",
        "qmix",
        "maven",
        "QMIX with a latent of each episode that behaviour should tell (MAVEN)",
        "5 (Table 1)",
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
        "appendix E",
    ),
    "qplex": Algorithm(
        "independent", "qplex", "epsilon", "duplex dueling, epsilon-greedy agents", "2"
    ),
    "qtran": Algorithm("independent", "qtran", "epsilon", "QTRAN-base, epsilon-greedy agents", "2"),
    "coe-vdn": Algorithm(
        "independent", "vdn", "coe", "conditional optimism on the sum of utilities", "4.2"
    ),
    "coe-iql": Algorithm(
        "independent", "none", "coe", "conditional optimism without a mixer", "4.2"
    ),
    "coe-qplex": Algorithm(
        "independent", "qplex", "coe", "conditional optimism on duplex dueling", "4.2"
    ),
    "coe-qtran": Algorithm(
        "independent", "qtran", "coe", "conditional optimism on QTRAN-base", "4.2"
    ),
}


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name, from the table or made of parts; ValueError if there is none."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    parts = name.split("+")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(
            f"no algorithm '{name}': there are {', '.join(ALGORITHMS)}, and EXPLORER+MIXER such as"
            " coe+qplex"
        )
    explorer, mixer = parts[:2]
    utility = parts[2] if len(parts) == 3 else "latent" if explorer == "maven" else "independent"
    return Algorithm(utility, mixer, explorer, f"{explorer} on {mixer}", "")


def is_algorithm(name: str) -> bool:
    """Whether there is an algorithm of that name."""
    try:
        algorithm(name)
    except ValueError:
        return False
    return True
