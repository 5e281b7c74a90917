"""Films of episodes: what the family's view draws, one picture a step, as a GIF."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from coemarl import tasks
from coemarl.refusal import Refusal, writing
from coemarl.runs.team import Team
from coemarl.training import Watched

HOLD_SECONDS = 1.0
"""How long the last picture of an episode stays."""


def frames(team: Team, seeds: list[int]) -> Iterator[tuple[np.ndarray, bool]]:
    """The pictures of one episode for each seed, and whether each is the last of its episode."""
    draw = view_of(team.facts["task"], team.env)
    for number, seed in enumerate(seeds, 1):
        watched = team.episode(seed)
        head = f"episode {number} of {len(seeds)} · " if len(seeds) > 1 else ""
        for t, state in enumerate(watched.states):
            last = t == len(watched.actions)
            actions = None if last else np.asarray(watched.actions[t])
            yield draw(state, t, head + caption(watched, t), actions), last


def caption(watched: Watched, t: int) -> str:
    """What was earned by the step that led to moment t, and until then."""
    so_far = sum(watched.rewards[:t])
    reward = watched.rewards[t - 1] if t else 0.0
    return f"step {t} · reward {reward:.2f} · return {so_far:.2f}"


def view_of(task: str, env: Any) -> Callable[[Any, int, str, Any], np.ndarray]:
    """`draw(state, step, caption, actions)` of a task's family; Refusal if it cannot draw here."""
    try:
        view = tasks.view_of(task)
    except ImportError as error:
        raise Refusal(str(error)) from None
    if view is None:
        raise Refusal(f"{task} has no view: nothing can draw it")
    shows_actions = "actions" in inspect.signature(view.frame).parameters

    def draw(state: Any, step: int, caption: str, actions: Any) -> np.ndarray:
        more = {"actions": actions} if shows_actions else {}
        return view.frame(env, state, step, caption, **more)

    return draw


def write(path: Path, team: Team, seeds: list[int], fps: float) -> int:
    """Write the film of the team's episodes; how many pictures it has."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise Refusal("a film needs imageio: pip install 'coemarl[plots]' brings it") from None
    pictures, durations = [], []
    for picture, last in frames(team, seeds):
        pictures.append(picture)
        durations.append(round(1000 * (HOLD_SECONDS if last else 1 / fps)))
    with writing(path):
        imageio.imwrite(path, pictures, extension=".gif", duration=durations, loop=0)
    return len(pictures)
