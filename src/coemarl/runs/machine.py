"""How one run uses the machine: one thread, and compiled programs kept between runs.

Both are settings of the process, made through its environment before jax starts.

One thread, because the products of such nets are too small to share: a second thread costs more
than it brings, and one run per core is the way to use several. It also is a part of "same seed,
same bytes": the sum of a long product depends on how many threads share it.
"""

import contextlib
import ctypes
import hashlib
import os
import platform
import sys
from pathlib import Path

CACHE_VARIABLE = "COEMARL_CACHE"
"""The folder of compiled programs; set it to nothing to keep none."""


THIS_PROGRAM = (sys.executable, "-P", "-m", "coemarl")
"""How a process starts another `coe`; -P, so that the folder it works in imports nothing."""


def prepare() -> None:
    """One thread for this process, and compiled programs from and into the user's cache."""
    # The name under which XLA's CPU client looks up how many threads it may use. (Its flag
    # xla_cpu_multi_thread_eigen has no effect any more.)
    os.environ["NPROC"] = "1"
    if folder := cache_folder():
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


def cache_folder() -> Path | None:
    """Where compiled programs are kept; None if they are not."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen == "":
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # A program compiled for one processor must not run on another that shares the home folder.
    return Path(chosen or home / "coemarl") / f"compiled-{processor()}"


def processor() -> str:
    """A short word for this machine's kind of processor."""
    words = platform.machine() + platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(errors="replace").splitlines()
        words += "".join(sorted({line for line in lines if line.startswith(("flags", "model"))}))
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> int | None:
    """Bytes of memory that are free to use now, if the system says so."""
    info = Path("/proc/meminfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def give_back() -> None:
    """Return memory that is free within this process to the system, where the C library can:
    compiling takes hundreds of MB for a moment, which would else stay with the process."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> int | None:
    """Bytes of memory that this process holds now, if the system says so."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return None
