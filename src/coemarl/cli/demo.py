"""`coe demo`: train COE on a small task for some minutes, and show what came of it."""

import importlib.util
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from coemarl import config as configs
from coemarl.cli.words import parse
from coemarl.refusal import Refusal

TASK, ALGO = "lbf:8x8-2p-2f-coop", "coe"

# Found by trial: what lets COE solve the task within minutes. Against the paper's settings there
# are more updates of a smaller net at a higher rate, and stronger optimism, as the task is small.
SETTINGS: dict[str, Any] = {
    "env.mask": "legal",
    "env.episode_limit": 30,
    "environments": 4,
    "updates_per_rollout": 4,
    "utility.hidden": 64,
    "learner.learning_rate": 1e-3,
    "learner.time_limit_is_terminal": True,
    "explorer.c_act": 0.3,
}
EVALUATIONS = 20
"""Points of the learning curve after the first."""
CURVE, FILM = "curve.png", "episode.gif"


@dataclass(frozen=True)
class DemoOptions:
    """Train COE on a small cooperative foraging task, where every food needs both players, and
    show the return before and after, the learning curve and an episode of the learned team."""

    out: Path | None = None
    """The folder to make. None: runs/demo, or the next number that is free; one that was stopped
    there is gone on with."""
    seeds: tuple[int, ...] = (0, 1)
    """Seeds, each a run of its own on a core of its own."""
    steps: int = 450_000
    """Environment steps of each run."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print what came of it as JSON."""


def run(words: list[str]) -> int:
    """Show as the words say."""
    options = parse(DemoOptions, words, "demo")
    for package in ("matplotlib", "imageio", "PIL"):
        if importlib.util.find_spec(package) is None:
            raise Refusal(f"the pictures need {package}: pip install 'coemarl[plots]' brings it")
    from coemarl.cli import train
    from coemarl.runs import seeds

    base = options.out or place()
    runs = made(base, options)
    print(f"COE on {TASK}: two players, and every food needs both", file=sys.stderr)
    summaries = seeds.train_all(runs)
    if status := train.finish(summaries, train.ShowOptions()):
        again = ["coe", "demo", "--out", str(base)]
        print(f"the same command goes on with it, or {shlex.join(again)}", file=sys.stderr)
        return status
    best = max(summaries, key=lambda each: each["eval/return last"])
    found = {
        "runs": summaries,
        "curve": str(base / CURVE),
        "episode": str(base / FILM),
        "folder": str(base),
    }
    draw_curve(base / CURVE, [Path(each["folder"]) for each in summaries])
    film_of(base / FILM, Path(best["folder"]))
    print(json.dumps(found) if options.json else "\n".join(shown(found)))
    return 0


def place() -> Path:
    """Where an unnamed demo goes: the one that was stopped, else the first free number."""
    number, path = 1, Path("runs/demo")
    while path.exists() and not unfinished(path):
        number += 1
        path = Path(f"runs/demo-{number}")
    return path


def unfinished(path: Path) -> bool:
    """Whether a demo that was stopped lies here."""
    return path.is_dir() and any(path.iterdir()) and not (path / FILM).exists()


def made(base: Path, options: DemoOptions) -> list[Any]:
    """The runs of the demo, fresh or as they were left."""
    from coemarl.cli import train
    from coemarl.runs import folder

    if unfinished(base):
        found = folder.runs_below(base)
        if not found:
            raise Refusal(f"{base} is not empty and holds no demo: choose another --out")
        return found
    if (base / FILM).exists():
        raise Refusal(f"{base} holds a complete demo: choose another --out")
    return train.make_runs(configured(options), options.seeds, base)


def configured(options: DemoOptions) -> Any:
    """The configuration of the demo's runs, but for their seed."""
    every = max(1, options.steps // EVALUATIONS)
    changes = {**SETTINGS, "steps": options.steps, "evaluation.every": every}
    return configs.replace(configs.default_config(TASK, ALGO), changes)


def draw_curve(path: Path, runs: list[Path]) -> None:
    """The runs' evaluation returns over their steps, as a picture."""
    from matplotlib.figure import Figure

    from coemarl.runs import folder

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    for run in runs:
        rows = folder.metric_rows(folder.RunFolder(run))
        steps = [row["steps"] / 1000 for row in rows]
        returns = [row["eval/return"] for row in rows]
        axes.plot(steps, returns, marker="o", markersize=3.5, linewidth=1.8, label=run.name)
    axes.set(
        xlabel="environment steps, in thousands",
        ylabel="evaluation return (1 is all food)",
        title=f"COE on {TASK}",
        ylim=(-0.03, 1.03),
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path)


def film_of(path: Path, run: Path) -> None:
    """An episode of the run's team."""
    from coemarl.runs import film, folder, team

    learned = team.of_run(folder.existing(run), lambda text: None)
    film.write(path, learned, [0], fps=3.0)


def shown(found: dict[str, Any]) -> list[str]:
    """What came of it, in lines."""
    lines = ["", "evaluation return, greedy, mean of 100 episodes (1 is all food)"]
    for each in found["runs"]:
        first, last = each["eval/return first"], each["eval/return last"]
        lines.append(f"  seed {each['seed']}: {first:.2f} before, {last:.2f} after")
    return [
        *lines,
        f"learning curve: {found['curve']}",
        f"an episode:     {found['episode']}",
        f"all of it:      {found['folder']}",
    ]
