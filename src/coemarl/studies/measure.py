"""What runs will take: memory from their plans, time from a short measurement on this machine.

Not every algorithm is measured on every task. A few algorithms on one task, and one algorithm on
every task, tell the rest: a run's seconds per step are taken as a factor of its algorithm times a
factor of its task. What was measured is kept beside the compiled programs and asked for again only
if the run's configuration changes.
"""

import functools
import gc
import hashlib
import heapq
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from coemarl import config as configs
from coemarl.config import RunConfig
from coemarl.runs import machine
from coemarl.studies.runs import Config, Run

MEASURE_SECONDS = 1.0
"""Training measured for so long, once it is compiled."""
USUAL_SPEED = 1000.0
"""Steps per second of a run that nobody has measured."""
PROCESS_BYTES = 600 * 2**20
"""What a process takes beside its plan: the interpreter, the compiler, compiled programs."""


@dataclass(frozen=True)
class Speed:
    """How long the parts of a run take."""

    compile_seconds: float
    seconds_per_step: float
    """Of training."""
    evaluation_seconds: float
    """One evaluation."""

    def seconds(self, config: Config) -> float:
        """A whole run."""
        points = len(range(0, config.steps, config.evaluation.every)) + 1
        training = config.steps * self.seconds_per_step
        return self.compile_seconds + training + points * self.evaluation_seconds


def measured(config: Config) -> Speed:
    """Train for a moment, once the first batch is there, and evaluate."""
    from coemarl.training import make_trainer

    began = time.perf_counter()
    trainer = make_trainer(config)
    state = trainer.init()
    first = -(-config.learner.batch_size // config.environments) + 1
    state = trainer.advance(state, first)
    trainer.evaluate(state)
    compiled = time.perf_counter() - began
    before, iterations, spent = int(state.steps), 1, 0.0
    start = time.perf_counter()
    while (spent := time.perf_counter() - start) < MEASURE_SECONDS:
        state = trainer.advance(state, iterations)
        int(state.steps)  # waits for it
        iterations = min(2 * iterations, 64)
    steps = int(state.steps) - before
    start = time.perf_counter()
    trainer.evaluate(state)
    evaluation = time.perf_counter() - start
    del state, trainer
    gc.collect()
    return Speed(compiled, spent / steps, evaluation)


# Keeping


def key_of(config: Config) -> str:
    """A name for all runs that are as fast as this one: all but its seed, length and protocol."""
    plain = configs.replace(config, {"seed": 0, "steps": 1, "evaluation.every": 1})
    return hashlib.sha256(configs.to_json(plain).encode()).hexdigest()[:16]


def kept_file() -> Path | None:
    """Where measurements of this machine are kept; None if nothing is."""
    folder = machine.cache_folder()
    return None if folder is None else folder / "speeds.json"


def kept() -> dict[str, Speed]:
    """What was measured before, by `key_of`."""
    path = kept_file()
    try:
        words = json.loads(path.read_text()) if path is not None else {}
        return {key: Speed(**value) for key, value in words.items()}
    except (OSError, ValueError, TypeError):
        return {}


def keep(speeds: dict[str, Speed]) -> None:
    """Remember these too; a cache, so it is no failure if it cannot be written."""
    from coemarl.runs import checkpoint

    path = kept_file()
    if path is None:
        return
    words = {key: asdict(speed) for key, speed in (kept() | speeds).items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write_text(path, json.dumps(words, indent=1) + "\n")
    except OSError:
        pass


# Estimating


Pair = tuple[str, str]
"""A task, and an entry's label (candidates of one entry are alike)."""


def pair_of(run: Run) -> Pair:
    return run.config.task, run.label.partition("#")[0]


def pairs_of(runs: Iterable[Run]) -> dict[Pair, Run]:
    """A run of each pair: of candidates the first."""
    found: dict[Pair, Run] = {}
    for run in runs:
        found.setdefault(pair_of(run), run)
    return found


def cross(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs to measure so that all can be told: for each task its first entry, and for each
    entry its first task."""
    by_task: dict[str, Pair] = {}
    by_label: dict[str, Pair] = {}
    for pair in pairs:
        by_task.setdefault(pair[0], pair)
        by_label.setdefault(pair[1], pair)
    return list(dict.fromkeys([*by_task.values(), *by_label.values()]))


def survey(
    runs: Sequence[Run], tell: Callable[[str], None], measure: Callable[[Config], Speed] = measured
) -> dict[Pair, Speed]:
    """Measure what is needed and not known yet; the speed of every pair."""
    pairs, before, new = pairs_of(runs), kept(), {}
    for pair in cross(pairs):
        key = key_of(pairs[pair].config)
        if key not in before and key not in new:
            tell(f"measuring {pair[1]} on {pair[0]}")
            new[key] = measure(pairs[pair].config)
            keep(new)
    known = before | new
    there = {pair: known.get(key_of(run.config)) for pair, run in pairs.items()}
    return completed({pair: speed for pair, speed in there.items() if speed}, pairs)


def known_speeds(runs: Sequence[Run]) -> dict[Pair, Speed]:
    """The speeds that are known without measuring, and those that follow from them."""
    pairs, before = pairs_of(runs), kept()
    there = {pair: before.get(key_of(run.config)) for pair, run in pairs.items()}
    return completed({pair: speed for pair, speed in there.items() if speed}, pairs)


def completed(there: dict[Pair, Speed], pairs: Iterable[Pair]) -> dict[Pair, Speed]:
    """The speeds that are there, and for other pairs algorithm times task: a pair that shares its
    task with a known one and its entry with another, both of which share something third."""
    speeds = dict(there)
    for task, label in pairs:
        if (task, label) in speeds:
            continue
        parts = [
            (same_task, same_label, corner)
            for (t, other), same_task in there.items()
            if t == task
            for (place, name), same_label in there.items()
            if name == label and (corner := there.get((place, other))) is not None
        ]
        if parts:
            speeds[task, label] = _product(parts)
    return speeds


def _product(parts: list[tuple[Speed, Speed, Speed]]) -> Speed:
    """Of each field a * b / c, over all triples their geometric mean."""

    def of(name: str) -> float:
        values = [getattr(a, name) * getattr(b, name) / getattr(c, name) for a, b, c in parts]
        return geometric_mean(values)

    return Speed(of("compile_seconds"), of("seconds_per_step"), of("evaluation_seconds"))


@functools.cache
def memory_of(config: RunConfig[Any, Any, Any, Any]) -> int:
    """Bytes that a run's process will take, nearly."""
    from coemarl.training import make_trainer

    return make_trainer(config).plan.total_bytes + PROCESS_BYTES


def largest(runs: Sequence[Run]) -> int:
    """Bytes of the largest run: of each entry's on the task whose episodes take most room, for
    nothing else differs as much, and a plan is not had for nothing."""
    from coemarl.training import make_parts

    pairs = pairs_of(runs)
    replays = {pair[0]: make_parts(run.config).replay.bytes for pair, run in pairs.items()}
    task = max(replays, key=lambda name: replays[name])
    return max(memory_of(run.config) for pair, run in pairs.items() if pair[0] == task)


def costs(runs: Sequence[Run]) -> Callable[[Run], float]:
    """What to order runs by: their seconds, by known speeds or else by a usual one."""
    speeds = known_speeds(runs)

    def cost(run: Run) -> float:
        speed = speeds.get(pair_of(run))
        return speed.seconds(run.config) if speed else run.config.steps / USUAL_SPEED

    return cost


def elapsed(seconds: Iterable[float], slots: int) -> float:
    """How long it takes to do all, longest first, so many at once."""
    ends = [0.0] * slots
    for each in sorted(seconds, reverse=True):
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)
