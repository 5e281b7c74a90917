"""`coe bench NAME`: measure the speed of a part on one core."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from coemarl.bench import BENCHMARKS
from coemarl.cli.words import parse, refusing
from coemarl.refusal import Refusal


def help_text() -> str:
    """What `coe bench --help` prints."""
    width = max(map(len, BENCHMARKS))
    return "\n".join(
        [
            "usage: coe bench NAME [OPTIONS]",
            "",
            "Measure the speed of a part on one core.",
            "",
            "benchmarks:",
            *(f"  {name:<{width}}  {summary}" for name, (_, summary) in BENCHMARKS.items()),
            "",
            "'coe bench NAME --help' shows the options of one.",
        ]
    )


def run(words: list[str]) -> int:
    """Measure as the words say."""
    if not words or words[0] in ("-h", "--help"):
        print(help_text())
        return 0 if words else 2
    name = words[0]
    if name not in BENCHMARKS:
        raise Refusal(f"no benchmark '{name}': there are {', '.join(BENCHMARKS)}")
    from coemarl.bench import measure, options
    from coemarl.runs import origin

    module = importlib.import_module(BENCHMARKS[name][0])
    chosen = parse(module.Options, words[1:], f"bench {name}")
    with refusing():
        options.check(chosen)
        reserve(chosen.out)
        core = measure.stay_on(chosen.core)
        about = {"benchmark": name, "command": origin.command(["coe", "bench", *words])}
        record = {**about, "machine": measure.machine(core), **module.measure(chosen)}
    show(module, record, chosen)
    return 0


def reserve(out: Path | None) -> None:
    """Refuse a file that cannot be written, before minutes are spent on what it would hold."""
    if out is None:
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.open("a").close()
    except OSError as error:
        raise Refusal(f"cannot write {out}: {error.strerror}") from None


def show(module: Any, record: dict[str, Any], chosen: Any) -> None:
    """Print the record for people or machines, and write it to its file."""
    text = json.dumps(record, indent=1)
    if chosen.out is not None:
        chosen.out.write_text(text + "\n", encoding="utf-8")
    print(text if chosen.json else module.render(record))
    sys.stdout.flush()
