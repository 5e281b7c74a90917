"""Teams to be judged and looked at: what a run has learned, or a scripted policy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from coemarl import config as configs
from coemarl import scripted, tasks
from coemarl.refusal import Refusal, refusing
from coemarl.runs import checkpoint, folder
from coemarl.runs.folder import RunFolder
from coemarl.tasks import TaskSpec
from coemarl.training import Watched, make_trainer

EPISODES = 100
"""Episodes by which a scripted team is judged if nobody says how many."""


@dataclass(frozen=True)
class Team:
    """One team on its task. It acts greedily, each agent alone, without any bonus."""

    name: str
    """Who it is, in a few words."""
    facts: dict[str, Any]
    """Who it is, for machines."""
    spec: TaskSpec
    env: Any
    """The task's options."""
    episodes: int
    """By how many episodes it is judged."""
    seed: int
    """The seed of these episodes."""
    evaluate: Callable[[], dict[str, float]]
    """The `eval/` metrics."""
    episode: Callable[[int], Watched]
    """`episode(seed)`: one episode to look at."""


def of_run(
    run: RunFolder,
    note: Callable[[str], None],
    step: int | None = None,
    episodes: int | None = None,
    seed: int | None = None,
) -> Team:
    """The team that a run has saved at a step, by default the last.

    Episodes and their seed are the run's own unless given: its evaluation at that step, again.
    """
    config = folder.read_config(run)
    with refusing():
        changes = {
            "evaluation.episodes": config.evaluation.episodes if episodes is None else episodes,
            "seed": config.seed if seed is None else seed,
        }
        trainer = make_trainer(configs.replace(config, changes))
    state, facts = saved(run, jax.eval_shape(trainer.init), note, step)
    steps = facts["steps"]
    return Team(
        name=f"{config.algo} on {config.task}, seed {config.seed}, step {steps:,}",
        facts={
            "folder": str(run.path),
            "task": config.task,
            "algo": config.algo,
            "seed": config.seed,
            "steps": steps,
        },
        spec=trainer.spec,
        env=config.env,
        episodes=changes["evaluation.episodes"],
        seed=changes["seed"],
        evaluate=lambda: trainer.evaluate(state),
        episode=lambda number: trainer.episode(state, number),
    )


def saved(
    run: RunFolder, like: Any, note: Callable[[str], None], step: int | None
) -> tuple[Any, dict[str, Any]]:
    """State and facts of a run's checkpoint of a step, by default of the newest that is whole."""
    if step is None:
        found = folder.newest(run, like, note)
        if found is None:
            raise Refusal(f"{run.path} has no checkpoint yet: train it first")
        return found
    paths = {int(path.stem.removeprefix("step-")): path for path in folder.checkpoint_paths(run)}
    if step not in paths:
        kept = " and ".join(str(each) for each in paths) or "none"
        raise Refusal(f"{run.path} keeps no checkpoint of step {step}: it keeps {kept}")
    return checkpoint.load(paths[step], like)


def of_policy(task: str, policy: str, episodes: int | None = None, seed: int | None = None) -> Team:
    """A scripted team of a task's family."""
    episodes, seed = EPISODES if episodes is None else episodes, seed or 0
    if episodes < 1:
        raise Refusal(f"--episodes is {episodes}: it must be above 0")
    if not 0 <= seed < 2**32:
        raise Refusal(f"--seed is {seed}: it must be from 0 to {2**32 - 1}")
    with refusing():
        made = tasks.make_task(task)
        act = scripted.make_act(task, tasks.task_options(task), policy)
    return Team(
        name=f"policy {policy} on {task}",
        facts={"task": task, "policy": policy},
        spec=made.spec,
        env=tasks.task_options(task),
        episodes=episodes,
        seed=seed,
        evaluate=lambda: scripted.evaluate(made, act, episodes, seed),
        episode=lambda number: scripted.episode(made, act, number),
    )
