"""`coe train TASK`: train a team, several seeds of one, or go on with a run.

The task, the algorithm and the preset decide which options there are. They are looked up first;
then all words are read against the options of that very run, so that `--help` shows its defaults
and that later words win over the preset.
"""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import tyro

from coemarl import config as configs
from coemarl.cli.words import parse, value_of
from coemarl.config import RunConfig
from coemarl.refusal import Refusal, refusing

Config = TypeVar("Config")
EXAMPLE = "lbf:8x8-2p-2f-coop"
NAMED = re.compile(r"[\w.]+:|Foraging-|\S+\.py(:|$)")
"""How a task's name begins."""


@dataclass(frozen=True)
class ShowOptions:
    """How a run shows itself."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the final summary as JSON on standard output."""
    progress: Literal["auto", "json", "none"] = "auto"
    """On standard error: for people, as one JSON event a line, or nothing."""
    keep: int = 2
    """Checkpoints kept; the newest ones."""

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"--keep is {self.keep}: at least 1 checkpoint is kept")


@dataclass(frozen=True)
class TrainOptions(Generic[Config]):
    """What `coe train` reads: where and how often, and the run itself."""

    config: Annotated[Config, tyro.conf.arg(name="")]
    """The run."""
    show: Annotated[ShowOptions, tyro.conf.arg(name="")] = field(default_factory=ShowOptions)
    preset: str | None = None
    """Values to start from, by name; `coe list presets` shows them. Later words win."""
    seeds: tuple[int, ...] = ()
    """Several seeds, each a run of its own in OUT/seed-S."""
    seeds_as: Literal["processes", "vmap"] = "processes"
    """Several seeds as processes of one core each, or as one program over all of them, which is
    for accelerators: on a processor it is slower than one after another."""
    out: Path | None = None
    """The folder to make. None: runs/TASK/ALGO, and in it seed-S."""
    resume: Path | None = None
    """Go on, exactly, with the run (or the several seeds) in this folder, as it is configured."""


@dataclass(frozen=True)
class ResumeOptions:
    """What `coe train --resume RUN` reads. The run brings its own configuration."""

    resume: Path
    """The folder of the run, or of several."""
    show: Annotated[ShowOptions, tyro.conf.arg(name="")] = field(default_factory=ShowOptions)


def run(words: list[str]) -> int:
    """Train as the words say."""
    if resumes(words):
        rest, task = split_task(words)
        if task is not None:
            raise Refusal(f"--resume goes on with a run as it is configured: leave out {task}")
        return resume(parse(ResumeOptions, rest, "train --resume RUN"))
    options = read(words)
    config = options.config
    base = options.out or default_folder(config)
    if not options.seeds and "--seeds" not in words:
        return start(config, options.out or base / f"seed-{config.seed}", options.show)
    if value_of(words, "--seed") is not None:
        raise Refusal("--seed and --seeds are both given: choose one of them")
    made = make_runs(config, options.seeds, base)
    if options.seeds_as == "vmap":
        from coemarl.runs import lanes

        lanes.mark(made, options.seeds)
    return train_all(made, base, options.show)


def make_runs(config: RunConfig[Any, Any, Any, Any], seeds: Sequence[int], base: Path) -> list[Any]:
    """Fresh run folders in `base`, one for each seed; nothing is made if one of them cannot be."""
    if not seeds:
        raise Refusal("--seeds names no seed: say which, as in '--seeds 0 1'")
    if len(set(seeds)) < len(seeds):
        raise Refusal(f"--seeds {' '.join(map(str, seeds))} names a seed twice")
    from coemarl.runs import folder

    runs = {base / f"seed-{seed}": configs.replace(config, {"seed": seed}) for seed in seeds}
    for each in runs.values():
        checked_trainer(each)
    for path in runs:
        folder.check_free(path)
    return [folder.create(path, configs.to_json(each)) for path, each in runs.items()]


def resumes(words: list[str]) -> bool:
    """Whether the words ask to go on with a run."""
    named = any(word == "--resume" or word.startswith("--resume=") for word in words)
    return named and not {"-h", "--help"} & set(words)


def read(words: list[str], command: str = "train") -> TrainOptions[RunConfig[Any, Any, Any, Any]]:
    """The options that the words say, with the config that their task, algo and preset imply."""
    rest, task = split_task(words)
    algo = value_of(rest, "--algo") or "coe"
    preset = value_of(rest, "--preset")
    helping = bool({"-h", "--help"} & set(words))
    if task is None and not helping:
        raise Refusal(
            f"no task given: say which, as in 'coe {command} {EXAMPLE}'; see 'coe list tasks'"
        )
    with refusing():
        config = configs.default_config(task or EXAMPLE, algo)
        if preset is not None:
            from coemarl import presets

            config = presets.apply(config, preset)
    about = (
        f"Train a team; the options of {config.algo} on {config.task}. Other tasks and algorithms"
        " ('coe list tasks', 'coe list algorithms') have others: name them to see those."
    )
    kind = TrainOptions[configs.config_type(config)]
    rest = rest if task is None or "--task" in rest else [*rest, "--task", task]
    return parse(kind, rest, f"{command} TASK", TrainOptions(config, preset=preset), about)


def split_task(words: list[str]) -> tuple[list[str], str | None]:
    """The words without the task's name, and that name: the first word, or one that looks so."""
    takers = ("--task", "--out", "--preset", "--resume")  # whose value may look like a task's name
    places = [
        position
        for position, word in enumerate(words)
        if (position == 0 and not word.startswith("-"))
        or (NAMED.match(word) and not (position > 0 and words[position - 1] in takers))
    ]
    given = value_of(words, "--task")
    names = [*(words[place] for place in places), *([] if given is None else [given])]
    if len(names) > 1:
        raise Refusal(f"two tasks are named, {names[0]} and {names[1]}: name one")
    if not places:
        return words, given
    return words[: places[0]] + words[places[0] + 1 :], names[0]


def default_folder(config: RunConfig[Any, Any, Any, Any]) -> Path:
    """Where a run goes if nobody says where: runs/TASK/ALGO."""
    return Path("runs") / re.sub(r"[^\w.-]+", "-", config.task).strip(".-") / config.algo


def checked_trainer(config: RunConfig[Any, Any, Any, Any], lanes: int = 1) -> Any:
    """The trainer of a config, refused if it makes no sense or does not fit into memory, so many
    times as it has lanes."""
    from coemarl.runs import machine
    from coemarl.runs.progress import bytes_of
    from coemarl.training import make_trainer

    with refusing():
        trainer = make_trainer(config)
    free, needed = machine.memory(), lanes * trainer.plan.total_bytes
    if free is not None and needed > free:
        raise Refusal(
            f"this run needs {bytes_of(needed)} and {bytes_of(free)} are free:"
            " lower --replay.capacity, or choose --replay.dtype float16"
        )
    return trainer


def start(config: RunConfig[Any, Any, Any, Any], path: Path, show: ShowOptions) -> int:
    """Train one fresh run."""
    from coemarl.runs import folder

    folder.check_free(path)
    trainer = checked_trainer(config)
    run = folder.create(path, configs.to_json(config))
    return finish([train_here(trainer, run, show)], show)


def resume(options: ResumeOptions) -> int:
    """Go on with the run in a folder, or with all the runs below it."""
    from coemarl.runs import folder

    path = options.resume
    below = folder.runs_below(path) if not (path / "config.json").is_file() else []
    if below:
        return train_all(below, path, options.show)
    run = folder.existing(path)
    from coemarl.runs import lanes

    if others := lanes.together(run):
        raise Refusal(
            f"{path} trains as one program with seeds {', '.join(map(str, others))}:"
            f" --resume {path.parent}"
        )
    return finish(
        [train_here(checked_trainer(folder.read_config(run)), run, options.show)], options.show
    )


def train_here(trainer: Any, run: Any, show: ShowOptions) -> dict[str, Any]:
    """Train one run in this process, heard by Ctrl-C; its summary."""
    from coemarl.runs import loop, progress

    with loop.listening() as stop, progress.progress(show.progress) as report:
        return loop.train(trainer, run, report, stop, show.keep)


def train_all(runs: list[Any], base: Path, show: ShowOptions) -> int:
    """Train several runs, and say once how to go on with those that are not complete."""
    from coemarl.runs import lanes, progress, seeds

    if any(lanes.together(run) for run in runs):
        summaries = train_stacked(runs, base, show)
    else:
        summaries = seeds.train_all(runs, show.progress, show.keep)
    status = finish(summaries, show)
    if status and show.progress == "auto":
        print(f"go on with all of them: {progress.going_on(str(base))}", file=sys.stderr)
    return status


def train_stacked(runs: list[Any], base: Path, show: ShowOptions) -> list[dict[str, Any]]:
    """Train the seeds in a folder as one program; their summaries in order."""
    from coemarl.runs import folder, lanes, loop, table
    from coemarl.stacked import make_stack

    found = {folder.read_config(run).seed: run for run in runs}
    wanted = lanes.together(runs[0])
    if set(found) != set(wanted) or any(lanes.together(run) != wanted for run in runs):
        raise Refusal(
            f"{base} holds seeds {', '.join(map(str, sorted(found)))}, and those that train as one"
            f" program are {', '.join(map(str, wanted))}: resume the folder of these alone"
        )
    ordered = [found[seed] for seed in wanted]
    config = folder.read_config(ordered[0])
    trainer = checked_trainer(config, len(wanted))
    with (
        loop.listening() as stop,
        table.several(show.progress, [r.path.name for r in ordered]) as (report),
    ):
        stack = make_stack(trainer, wanted)
        return lanes.train(stack, ordered, report, stop, show.keep)


def finish(summaries: list[dict[str, Any]], show: ShowOptions) -> int:
    """Print the summaries for machines if wished; the exit status: 130 if a run was stopped, 1 if
    the process of one died."""
    if show.json:
        one = summaries[0] if len(summaries) == 1 else {"runs": summaries}
        print(json.dumps(one))
        sys.stdout.flush()
    died = [summary for summary in summaries if "died" in summary]
    for summary in died if show.progress != "auto" else ():
        print(f"coe: {summary['folder']} died: {summary['died']}", file=sys.stderr)
    if died:
        return 1
    return 0 if all(summary["complete"] for summary in summaries) else 130
