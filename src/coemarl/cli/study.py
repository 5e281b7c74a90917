"""`coe study run|status|dry-run|list ...`: many runs from one file, by `coemarl.studies`."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from coemarl.cli.words import parse
from coemarl.refusal import Refusal

if TYPE_CHECKING:
    from coemarl.studies.places import Place
    from coemarl.studies.runs import Run
    from coemarl.studies.study import Study

HELP = """usage: coe study COMMAND STUDY [OPTIONS]

A study is a file: tasks, algorithms, seeds, steps, evaluation. STUDY is the name of one that comes
with coemarl ('coe study list'), the path of your own .toml, or a folder where one was run.

commands:
  list      the studies that come with coemarl
  dry-run   print the runs, their memory, and how long they will take by a short measurement
  run       do them all; stop it at will, the same command goes on
  status    what is done, what runs, what failed; in a terminal a live table

'coe study COMMAND --help' shows the options of a command."""


@dataclass(frozen=True)
class PartOptions:
    """Which part of a study, and where it lies."""

    study: Annotated[str, tyro.conf.Positional]
    """A study's name, its .toml file, or the folder where it was run."""
    tasks: tuple[str, ...] = ()
    """Only these of its tasks."""
    algos: tuple[str, ...] = ()
    """Only these of its entries, by label."""
    out: Path | None = None
    """The study's folder. None: studies/NAME, or the folder that was given as the study."""


@dataclass(frozen=True)
class RunOptions:
    """Do the runs of a study: longest first, several at once; a run that dies goes on from its
    checkpoint. Stop at will (Ctrl-C saves); the same command goes on."""

    part: Annotated[PartOptions, tyro.conf.arg(name="")]
    on: Literal["local", "ray", "slurm"] = "local"
    """Where: processes on this machine, a Ray cluster, or Slurm."""
    workers: int | None = None
    """Runs at once. None: one a core; on a cluster what it has."""
    address: str | None = None
    """Of the Ray cluster to join ("auto": the one here). None: one is started on this machine."""
    slurm: tuple[str, ...] = ()
    """Options of Slurm's jobs as submitit names them, such as timeout_min=600 mem_gb=4
    slurm_partition=cpu. cluster=local tries it without Slurm."""
    retries: int = 3
    """How often a run that died without getting any further is tried again."""
    progress: Literal["auto", "json", "none"] = "auto"
    """On standard error: for people, as one JSON event a line, or nothing."""


@dataclass(frozen=True)
class DryRunOptions:
    """Print what a study would do: its runs, their memory and time. Nothing is trained but for the
    short measurement."""

    part: Annotated[PartOptions, tyro.conf.arg(name="")]
    workers: int | None = None
    """Runs at once. None: one a core."""
    measure: bool = True
    """Measure what is not known yet on this machine (some seconds for each task and algorithm)."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print as JSON."""


@dataclass(frozen=True)
class StatusOptions:
    """Show how far a study is."""

    part: Annotated[PartOptions, tyro.conf.arg(name="")]
    once: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print once, also in a terminal."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print once, as JSON."""


def run(words: list[str]) -> int:
    """Do what the words say."""
    if not words or words[0] in ("-h", "--help"):
        print(HELP)
        return 0 if words else 2
    commands = {"run": run_study, "status": status, "dry-run": dry_run, "list": list_studies}
    if words[0] not in commands:
        raise Refusal(f"no command 'study {words[0]}': there are {', '.join(commands)}")
    return commands[words[0]](words[1:])


def list_studies(words: list[str]) -> int:
    """Print the studies there are."""
    from coemarl.studies import study

    if words:
        raise Refusal(f"'coe study list' takes no words, and '{words[0]}' is one")
    for name in study.shipped():
        print(f"{name:<14} {study.load(name).summary}")
    return 0


def loaded(part: PartOptions) -> "tuple[Study, str, Path]":
    """The study, its text, and where it lies or will lie."""
    from coemarl.studies import study

    path = study.find(part.study)
    found = study.load(part.study)
    here = path.parent if path.name == "study.toml" and Path(part.study).is_dir() else None
    return found, path.read_text(encoding="utf-8"), part.out or here or Path("studies") / found.name


def run_study(words: list[str]) -> int:
    """`coe study run`."""
    options = parse(RunOptions, words, "study run")
    check_options(options)
    study, text, out = loaded(options.part)
    from coemarl.refusal import refusing
    from coemarl.runs import loop
    from coemarl.studies import driver as drivers
    from coemarl.studies import folder, measure, overview, runs, todo
    from coemarl.studies.store import Store

    chosen = runs.select(study, options.part.tasks, options.part.algos)
    with refusing():
        planned = todo.planned(study, chosen)
    place = folder.opened(out, study, text)
    with folder.locked(place), loop.listening() as stop, overview.shown(options.progress) as tell:
        where = place_of(options, planned, out)
        driver = drivers.Driver(
            place=place,
            work=todo.work_of(study, chosen, place, where.slots),
            where=where,
            store=Store(place.rows),
            tell=tell,
            cost=measure.costs(planned),
            retries=options.retries,
        )
        outcomes = drivers.drive(driver, stop)
    return finish(out, outcomes, stop.signal is not None)


def check_options(options: RunOptions) -> None:
    """Refuse numbers that cannot be."""
    if options.workers is not None and options.workers < 1:
        raise Refusal(f"--workers is {options.workers}: it must be above 0")
    if options.retries < 0:
        raise Refusal(f"--retries is {options.retries}: it must not be negative")
    if options.address is not None and options.on != "ray":
        raise Refusal("--address is of a Ray cluster: say --on ray, or leave it out")
    if options.slurm and options.on != "slurm":
        raise Refusal("--slurm has options of Slurm's jobs: say --on slurm, or leave it out")


def pair_of(word: str) -> tuple[str, str]:
    """NAME=VALUE as name and value."""
    name, equals, value = word.partition("=")
    if not (name and equals):
        raise Refusal(f"--slurm {word} says nothing: write NAME=VALUE, such as timeout_min=600")
    return name, value


def place_of(options: RunOptions, runs: "list[Run]", out: Path) -> "Place":
    """The place that the options say."""
    if options.on == "ray":
        from coemarl.studies.places.ray import make_ray

        return make_ray(options.address, options.workers)
    if options.on == "slurm":
        from coemarl.studies.places.slurm import make_slurm

        return make_slurm(out, dict(pair_of(word) for word in options.slurm), options.workers)
    from coemarl.studies.places import local

    return local.make_local(fitting_workers(options.workers, runs))


def fitting_workers(wanted: int | None, runs: "list[Run]") -> int:
    """Runs at once on this machine: as wanted or one a core, if memory suffices."""
    from coemarl.runs import machine
    from coemarl.runs.progress import bytes_of
    from coemarl.studies import measure

    slots, free = wanted or machine.cores(), machine.memory()
    if not runs or free is None:
        return slots
    largest = measure.largest(runs)
    fitting = free // largest
    if fitting < 1:
        raise Refusal(
            f"a run of this study needs {bytes_of(largest)} and {bytes_of(free)} are free: lower"
            " replay.capacity in its overrides"
        )
    if fitting < slots:
        print(f"memory suffices for {fitting} runs at once, not {slots}", file=sys.stderr)
    return min(slots, fitting)


def finish(out: Path, outcomes: dict[str, str], stopped: bool) -> int:
    """Say how it ended; the exit status: 130 if it was stopped, 1 if a run failed."""
    failed = [name for name, how in outcomes.items() if how == "failed"]
    done = sum(how == "done" for how in outcomes.values())
    print(f"{done} runs done, {len(failed)} failed; rows in {out / 'rows.jsonl'}", file=sys.stderr)
    if stopped:
        print(f"stopped and saved; go on with: coe study run {out}", file=sys.stderr)
        return 130
    for name in failed:
        print(f"coe: {name} failed; {out / 'events.jsonl'} says why", file=sys.stderr)
    return 1 if failed else 0


# Dry run


def dry_run(words: list[str]) -> int:
    """`coe study dry-run`."""
    options = parse(DryRunOptions, words, "study dry-run")
    study, _, _ = loaded(options.part)
    from coemarl.refusal import refusing
    from coemarl.studies import measure, todo
    from coemarl.studies.runs import select

    with refusing():
        runs = todo.planned(study, select(study, options.part.tasks, options.part.algos))

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    speeds = measure.survey(runs, tell) if options.measure else measure.known_speeds(runs)
    rows = dry_rows(runs, speeds)
    slots = fitting_workers(options.workers, runs)
    seconds = [row["seconds_each"] for row in rows for _ in range(row["runs"])]
    total = None if None in seconds else measure.elapsed(seconds, slots)
    if options.json:
        print(json.dumps({"runs": len(runs), "at_once": slots, "seconds": total, "rows": rows}))
    else:
        print("\n".join(dry_lines(study.name, rows, len(runs), slots, total)))
    return 0


def dry_rows(runs: "list[Run]", speeds: dict) -> list[dict]:
    """What each task and entry will take."""
    from coemarl.studies import measure

    pairs = measure.pairs_of(runs)
    rows = []
    for pair, first in pairs.items():
        speed = speeds.get(pair)
        rows.append(
            {
                "task": pair[0],
                "algo": pair[1],
                "runs": sum(measure.pair_of(run) == pair for run in runs),
                "steps": first.config.steps,
                "memory_bytes": measure.memory_of(first.config),
                "steps_per_second": speed and round(1 / speed.seconds_per_step, 1),
                "seconds_each": speed and round(speed.seconds(first.config), 1),
            }
        )
    return rows


def dry_lines(name: str, rows: list[dict], runs: int, slots: int, total: float | None) -> list[str]:
    """The rows as a table for people."""
    from coemarl.runs.progress import bytes_of, duration, quantity

    tasks = max(len(row["task"]) for row in rows)
    labels = max(len(row["algo"]) for row in rows)
    head = f"{'task':<{tasks}}  {'algo':<{labels}}  runs   steps   memory  steps/s    each"
    lines = [head]
    for row in rows:
        speed = row["steps_per_second"]
        lines.append(
            f"{row['task']:<{tasks}}  {row['algo']:<{labels}}  {row['runs']:>4}"
            f" {quantity(row['steps']):>7} {bytes_of(row['memory_bytes']):>8}"
            f" {quantity(speed) if speed else '?':>8} {duration(row['seconds_each']):>7}"
        )
    took = f"about {duration(total)}" if total is not None else "unknown, for lack of a measurement"
    many = "run" if runs == 1 else "runs"
    return [*lines, f"{name}: {runs} {many}, {slots} at once on this machine: {took}"]


# Status


def status(words: list[str]) -> int:
    """`coe study status`."""
    options = parse(StatusOptions, words, "study status")
    study, _, out = loaded(options.part)
    if not out.is_dir():
        raise Refusal(f"no folder {out}: 'coe study run {options.part.study}' makes it")
    from coemarl.studies import overview, todo
    from coemarl.studies.folder import StudyFolder
    from coemarl.studies.runs import select

    place = StudyFolder(out)
    runs = todo.shown_runs(study, select(study, options.part.tasks, options.part.algos), place)
    if options.json:
        print(json.dumps(overview.of_folder(place, runs).as_words()))
    elif options.once or not sys.stdout.isatty():
        from coemarl.cli.tables import width

        print("\n".join(overview.of_folder(place, runs).lines(width())))
    else:
        watch(place, runs)
    return 0


WATCH_SECONDS = 2.0


def watch(place, runs: "list[Run]") -> None:
    """A table that renews itself until all runs are over, or until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from coemarl.studies import overview

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False) as view:
        while True:
            seen = overview.of_folder(place, runs)
            lines = overview.fitted(seen.lines(min(console.width, 120)), console.height - 1)
            view.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)
            if set(seen.counts()) <= {"done", "failed", "given-up"}:
                return
            try:
                time.sleep(WATCH_SECONDS)
            except KeyboardInterrupt:
                return
