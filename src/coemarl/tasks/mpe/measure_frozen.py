"""What scripted teams earn against frozen opponents: `python -m coemarl.tasks.mpe.measure_frozen`.

Each game in which a frozen net plays is played by random and by scripted teams against the shipped
net, or against the nets in files, and the mean returns are printed with their standard errors.

    python -m coemarl.tasks.mpe.measure_frozen
    python -m coemarl.tasks.mpe.measure_frozen --prey FILE.npz --adversary FILE.npz
"""

import argparse

from coemarl import scripted
from coemarl.tasks import make_task, task_options
from coemarl.tasks.mpe.scripted import LEADS

CHASES = tuple(f"chase-{lead:g}" for lead in LEADS)
GAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    # task: (the opponent, the teams)
    "mpe:tag": ("prey", ("random", *CHASES)),
    "mpe:sparse-tag": ("prey", ("random", *CHASES)),
    "mpe:adversary": ("adversary", ("random", "share-out")),
}


def measure(
    name: str, policy: str, weights: str | None, episodes: int, seed: int
) -> tuple[float, float]:
    """Mean return of a team and its standard error."""
    task = make_task(name, weights=weights)
    act = scripted.make_act(name, task_options(name, weights=weights), policy)
    metrics = scripted.evaluate(task, act, episodes, seed)
    return metrics["eval/return"], metrics["eval/return_std"] / episodes**0.5


def main() -> None:
    parser = argparse.ArgumentParser(description="Returns of scripted teams in the games.")
    parser.add_argument("--prey", help="a file of the prey's net, in place of the shipped one")
    parser.add_argument("--adversary", help="likewise of the adversary's")
    parser.add_argument("--episodes", type=int, default=8000, help="episodes of each team")
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    files = {"prey": words.prey, "adversary": words.adversary}
    for name, (opponent, teams) in GAMES.items():
        for policy in teams:
            mean, error = measure(name, policy, files[opponent], words.episodes, words.seed)
            print(f"{name:<16} {policy:<10} {mean:8.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
