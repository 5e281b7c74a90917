"""Taking times on a machine that others use too.

Three habits. The process stays on one core. CPU time is taken beside wall time: it does not count
while another process runs. Cases are measured in turn, again and again, so that a slow moment of
the machine falls on all of them, and they are compared repetition by repetition: a ratio is the
median over repetitions of the quotient of two neighbours.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax

Name = TypeVar("Name", bound=Hashable)
Case = Callable[[], Any]
"""A fixed amount of work. What it returns is waited for."""


@dataclass(frozen=True)
class Timing:
    """Seconds of one call of a case, one entry a repetition."""

    calls: int
    """Calls that each entry is the mean of."""
    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """The median of CPU seconds: the number to quote."""
        return statistics.median(self.cpu)

    def record(self, units: float = 1.0) -> dict[str, float]:
        """Seconds for each of the units of work that a call does: CPU and wall, best and median."""
        return {
            "cpu_median": statistics.median(self.cpu) / units,
            "cpu_best": min(self.cpu) / units,
            "wall_median": statistics.median(self.wall) / units,
            "wall_best": min(self.wall) / units,
        }


def ratio(a: Timing, b: Timing) -> float:
    """How many times as long a took as b: the median over repetitions of their quotient."""
    return statistics.median(x / y for x, y in zip(a.cpu, b.cpu, strict=True))


def timed(case: Case, calls: int = 1) -> tuple[float, float]:
    """Wall and CPU seconds of one call, the mean of so many in a row."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        jax.block_until_ready(case())
    return (time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls


def calls_within(case: Case, seconds: float) -> int:
    """How many calls of a case last about so long; at least 1. Two calls are made, the first of
    which may compile."""
    timed(case)
    _, once = timed(case)
    return max(1, round(seconds / max(once, 1e-9)))


def interleaved(cases: Mapping[Name, Case], repetitions: int, seconds: float) -> dict[Name, Timing]:
    """Each case's timing: all are warmed up, then measured in turn, `repetitions` times, each for
    about `seconds`."""
    calls = {name: calls_within(case, seconds) for name, case in cases.items()}
    taken: dict[Name, list[tuple[float, float]]] = {name: [] for name in cases}
    for _ in range(repetitions):
        for name, case in cases.items():
            taken[name].append(timed(case, calls[name]))
    return {
        name: Timing(calls[name], tuple(wall for wall, _ in pairs), tuple(cpu for _, cpu in pairs))
        for name, pairs in taken.items()
    }


# The machine


def stay_on(core: int | None) -> int | None:
    """Keep this process, and the threads that it will start, on one core; which one it is, None
    where the system has no such thing. ValueError if the process may not use that core."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[0] if core is None else core
    if chosen not in allowed:
        raise ValueError(f"core is {core}: this process may use {', '.join(map(str, allowed))}")
    os.sched_setaffinity(0, {chosen})
    return chosen


VECTORS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16", "sve")
"""Instructions that matter to products of matrices, by the system's words."""


def machine(core: int | None) -> dict[str, Any]:
    """What the numbers were measured on."""
    from coemarl.runs import origin

    about = cpu_words()
    flags = about.get("flags", about.get("Features", "")).split()
    return {
        "processor": about.get("model name", platform.processor() or platform.machine()),
        "instructions": [word for word in VECTORS if word in flags],
        "cores": os.cpu_count(),
        "core": core,
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "jax": origin.version("jax"),
        "commit": origin.commit(),
    }


def cpu_words() -> dict[str, str]:
    """What the system says of its first processor, by its own names; nothing where it does not."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return {}
    first = info.read_text(errors="replace").split("\n\n")[0]
    pairs: Sequence[tuple[str, str, str]] = [
        line.partition(":") for line in first.splitlines() if ":" in line
    ]
    return {name.strip(): value.strip() for name, _, value in pairs}
