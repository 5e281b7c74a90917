"""EMC and MAVEN nearer to how their authors had them than the paper's runs are.

Both were built on PyMARL: nets of 64 units, RMSprop at 0.0005 (Adam here), targets copied every 200
episodes, epsilon from 1 to 0.05 over 50,000 steps, rewards as they come. What is theirs alone is
EMC's episodic memory and MAVEN's 16 latents with the log-likelihood as intrinsic reward. Where an
author's scale depends on the map, the option's default stands.
"""

from coemarl.presets.paper import Row, Values

PYMARL: Values = {
    "utility.hidden": 64,
    "learner.learning_rate": 0.0005,
    "learner.target_update": "hard",
    "learner.target_period": 200,
    "learner.standardise_rewards": False,
    "explorer.start": 1.0,
    "explorer.end": 0.05,
    "explorer.anneal_steps": 50_000,
}


def emc(algo: str, family: str) -> tuple[Row, ...]:
    """EMC with its episodic memory."""
    if algo != "emc":
        raise ValueError(f"preset emc-original is for algorithm emc, not {algo}")
    own: Values = {"explorer.hidden": 64, "explorer.memory": True, "explorer.memory_weight": 0.1}
    return (Row("", PYMARL | own),)


def maven(algo: str, family: str) -> tuple[Row, ...]:
    """MAVEN with 16 latents, drawn by its bandit."""
    if algo != "maven":
        raise ValueError(f"preset maven-original is for algorithm maven, not {algo}")
    own: Values = {
        "explorer.latents": 16,
        "explorer.bandit": True,
        "explorer.mi_intrinsic": True,
        "explorer.sign": "likelihood",
    }
    return (Row("", PYMARL | own),)
