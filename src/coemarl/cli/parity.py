"""`coe parity DIR`, `coe parity live TASK`: are the tasks what the original environments are?"""

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from coemarl.cli.words import parse, refusing
from coemarl.refusal import Refusal


@dataclass(frozen=True)
class FolderOptions:
    """Replay every recording (*.npz) of a folder: each recorded state is set, its actions are
    applied, and what follows is compared with what the original environment did.

    Prints a row a file; the exit status is 1 if anything differs. To compare with an original that
    is installed, step by step: coe parity live TASK."""

    folder: Annotated[Path, tyro.conf.Positional]
    """The folder of recordings."""
    json: bool = False
    """Print the rows as JSON, for machines."""


@dataclass(frozen=True)
class LiveOptions:
    """Step the installed original (lbforaging or mpe2) with random and with scripted actions, and
    compare the task with it, transition by transition.

    Prints a row for each way of acting; the exit status is 1 if anything differs."""

    task: Annotated[str, tyro.conf.Positional]
    """The task, such as lbf:8x8-2p-2f-coop or mpe:tag."""
    episodes: int = 20
    """Episodes of each way of acting."""
    seed: int = 0
    """Seed of the original and of the actions."""
    json: bool = False
    """Print the rows as JSON, for machines."""


def _plain(row: Any) -> dict[str, Any]:
    """A row for machines; an error that is no finite number is null."""
    error = row.largest_error if math.isfinite(row.largest_error) else None
    return dataclasses.asdict(row) | {"largest_error": error, "ok": row.ok}


def run(words: list[str]) -> int:
    """Compare as the words say; 1 if anything differs."""
    if words[:1] == ["live"]:
        options = parse(LiveOptions, words[1:], "parity live TASK")
        if not 0 <= options.seed < 2**32:
            raise Refusal(f"seed is {options.seed}: it must be from 0 to {2**32 - 1}")
    elif not words:
        raise Refusal("nothing to compare: say 'coe parity DIR' or 'coe parity live TASK'")
    else:
        options = parse(FolderOptions, words, "parity DIR")
    from coemarl import parity

    with refusing():
        if isinstance(options, LiveOptions):
            rows = parity.live(options.task, options.episodes, options.seed)
        else:
            rows = parity.replay_folder(options.folder)
    ok = all(row.ok for row in rows)
    if options.json:
        found = [_plain(row) for row in rows]
        print(json.dumps({"ok": ok, "rows": found}, indent=2))
    else:
        print(parity.render(rows))
    return 0 if ok else 1
