"""`coe doctor`: this machine, what is installed and, given a run's words, what it would need."""

import json
import os
import platform
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import tyro

from coemarl.cli.tables import paragraph, table
from coemarl.cli.words import parse

Record = dict[str, Any]
MEGABYTE = 2**20


@dataclass(frozen=True)
class DoctorOptions:
    """Say what is installed, on which devices jax computes, and how many cores and how much
    memory there are. With the words of 'coe train' (TASK --algo NAME ...) say instead what that
    run would need in memory; it is neither made nor started."""

    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print what was found as JSON."""


def run(words: list[str]) -> int:
    """Look as the words say."""
    others = set(words) - {"--json"}
    if others <= {"-h", "--help"}:
        options = parse(DoctorOptions, words, "doctor [TASK ...]")
        found, lines, as_json = machine_found(), machine_lines, options.json
    else:
        from coemarl.cli import train

        wish = train.read(words, "doctor")
        found, lines, as_json = needs(wish), needs_lines, wish.show.json
    print(json.dumps(found, indent=1) if as_json else "\n".join(lines(found)))
    return 0


def machine_found() -> Record:
    """What this installation and this machine are."""
    import jax

    from coemarl.runs import machine, origin

    chosen = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    cache = Path(chosen) if chosen else None
    return {
        "coemarl": origin.version("coemarl"),
        "commit": origin.commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": packages(),
        "devices": [device_name(device) for device in jax.devices()],
        "cores": machine.cores(),
        "memory free": machine.memory(),
        "cache": None if cache is None else str(cache),
        "cache bytes": 0 if cache is None else bytes_below(cache),
    }


def device_name(device: Any) -> str:
    """A device's platform and, where it says more, its kind."""
    return " ".join(dict.fromkeys([device.platform, device.device_kind]))


def packages() -> list[Record]:
    """What the distribution asks for: name, version (None if absent), and the extras it is for."""
    try:
        wanted = metadata.requires("coemarl") or []
    except metadata.PackageNotFoundError:  # the code lies on the path, not installed
        wanted = ["jax", "numpy", "optax", "tyro", "rich", "jaxtyping"]
    extras: dict[str, list[str]] = {"jaxlib": []}
    for requirement in wanted:
        found = re.match(r"([\w.-]+)(\[)?", requirement)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        if found and found[2] is None:
            extras.setdefault(found[1], []).extend([extra[1]] if extra else [])
    versions = {name: version_of(name) for name in extras}
    return [{"name": n, "version": versions[n], "extras": extras[n]} for n in extras]


def version_of(package: str) -> str | None:
    """The installed version of a package; None if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def bytes_below(folder: Path) -> int:
    """What the files in a folder take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def machine_lines(found: Record) -> list[str]:
    from coemarl.runs.progress import bytes_of

    free = found["memory free"]
    commit = f" ({found['commit'][:12]})" if found["commit"] else ""
    kept = bytes_of(found["cache bytes"])
    cache = f"{kept} in {found['cache']}" if found["cache"] else "none are kept"
    facts = [
        ("coemarl", f"{found['coemarl'] or 'not installed, only on the path'}{commit}"),
        ("python", f"{found['python']} on {found['system']}"),
        ("devices", ", ".join(found["devices"])),
        ("cores", f"{found['cores']}; a run uses one, several seeds one each"),
        ("memory", "unknown" if free is None else f"{bytes_of(free)} free"),
        ("compiled programs", f"{cache} (COEMARL_CACHE chooses)"),
    ]
    rows = [
        (
            package["name"],
            package["version"] or "-",
            purpose(package),
        )
        for package in found["packages"]
    ]
    return [*table(("", ""), facts), "", *table(("package", "version", "for"), rows)]


def purpose(package: Record) -> str:
    """What a package is for and, if it is missing, what would bring it."""
    extras = package["extras"]
    if not extras:
        return "everything"
    asked = ", ".join(extra for extra in extras if extra != "test") or "test"
    return asked if package["version"] else f"{asked}: pip install 'coemarl[{extras[0]}]'"


def needs(wish: Any) -> Record:
    """What the run that was wished for would take in memory."""
    from coemarl.refusal import refusing
    from coemarl.runs import machine
    from coemarl.training import make_trainer

    with refusing():
        trainer = make_trainer(wish.config)
    runs = max(1, len(wish.seeds))
    at_once = min(runs, machine.cores())
    own = process_bytes()
    return {
        "task": wish.config.task,
        "algo": wish.config.algo,
        "runs": runs,
        "at once": at_once,
        "parts": [
            {"part": what, "bytes": size, "remark": remark}
            for what, size, remark in trainer.plan.rows
        ],
        "process bytes": own,
        "total bytes": at_once * (trainer.plan.total_bytes + own),
        "memory free": machine.memory(),
    }


def process_bytes() -> int:
    """The most that this process, with Python and jax in it, has taken so far."""
    try:
        import resource
    except ImportError:  # pragma: no cover - not on this system
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def needs_lines(found: Record) -> list[str]:
    from coemarl.runs.progress import bytes_of

    rows = [(each["part"], bytes_of(each["bytes"]), each["remark"]) for each in found["parts"]]
    rows.append(("program", bytes_of(found["process bytes"]), "Python and jax, as measured here"))
    total, free = found["total bytes"], found["memory free"]
    remark = "" if found["at once"] == 1 else f"{found['at once']} of {found['runs']} runs at once"
    rows.append(("in all", bytes_of(total), remark))
    enough = "unknown" if free is None else bytes_of(free)
    verdict = "" if free is None else ": enough" if total <= free else ": not enough"
    head = paragraph(f"{found['algo']} on {found['task']} would need in memory")
    rest = paragraph("Besides, the compiled step takes room to work in, of a few batches' size.")
    lines = table(("", "", ""), rows, right=(1,))
    return [head, "", *lines, "", rest, f"free now: {enough}{verdict}"]
