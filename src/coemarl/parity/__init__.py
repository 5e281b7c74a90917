"""Parity: our tasks against recordings of the original environments, and against the originals.

A recording is a file of arrays, one row for each transition. It is replayed by injection: each
row's state is set, its actions are applied, and what follows is compared with what the original
did, so an error never spreads to the next row.

A family of tasks takes part by a row of `FAMILIES`: a module with

    recognises(arrays) -> bool
        whether these arrays (name -> numpy array) are a recording of this family's, by their names
        alone. No recording may be recognised by two families.
    replay(file, arrays) -> ParityRow
        all its transitions compared. ValueError in one sentence, beginning with `file.name`, if
        the arrays are not what such a recording holds: `required` checks names and lengths.

and a live module, which imports the original package inside its functions only, with

    live(options, episodes, seed) -> list[ParityRow]
        the original, made with the task's options, stepped for so many episodes with random
        actions and compared transition by transition: a row for each way of acting. ValueError
        if the package is absent (`absent` words it) or cannot play the task.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from coemarl.arrays import read_arrays
from coemarl.parity.report import ParityRow, render

__all__ = ["FAMILIES", "ParityRow", "absent", "live", "render", "replay_folder", "required"]

FAMILIES: dict[str, tuple[str, str]] = {
    # family: (module, live module)
    "battle": ("coemarl.parity.battle", "coemarl.parity.live_battle"),
    "lbf": ("coemarl.parity.lbf", "coemarl.parity.live_lbf"),
    "mpe": ("coemarl.parity.mpe", "coemarl.parity.live_mpe"),
}


def replay_folder(path: str | Path) -> list[ParityRow]:
    """Every recording (`*.npz`) of a folder replayed, in the order of their names.

    ValueError if there is none, or if one is damaged or of no known form.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}: parity replays the recordings (*.npz) of a folder")
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise ValueError(f"no recording in {folder}: one is a file *.npz of transitions")
    return [_replay(file) for file in files]


def _replay(file: Path) -> ParityRow:
    arrays = read_arrays(file, file.name)
    for module_name, _ in FAMILIES.values():
        module = importlib.import_module(module_name)
        if module.recognises(arrays):
            return module.replay(file, arrays)
    raise ValueError(
        f"{file.name}: not a recording of {' or '.join(FAMILIES)}: it holds {', '.join(arrays)}"
    )


def required(file: Path, arrays: dict[str, np.ndarray], names: Sequence[str]) -> int:
    """How many transitions a recording has; ValueError if one of its arrays is absent or shorter
    than the others."""
    lost = [name for name in names if name not in arrays]
    if lost:
        raise ValueError(f"{file.name}: a recording without {', '.join(lost)}")
    lengths = {name: len(arrays[name]) if arrays[name].ndim else 0 for name in names}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        said = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(
            f"{file.name}: its arrays should all have as many rows, at least 1: {said}"
        )
    return lengths[names[0]]


def absent(package: str, version: str) -> ValueError:
    """The error of a comparison whose original is not installed."""
    return ValueError(
        f"{package} is not installed: pip install 'coemarl[originals]' brings it"
        f" (compared with {version})"
    )


def live(task_name: str, episodes: int, seed: int = 0) -> list[ParityRow]:
    """A task stepped beside the installed original, for so many episodes of each way of acting."""
    from coemarl import tasks

    if episodes < 1:
        raise ValueError(f"{episodes} episodes: at least 1 is compared")
    options = tasks.task_options(task_name)
    family = tasks.family_name(task_name)
    if family not in FAMILIES:
        raise ValueError(f"{task_name} has no original to compare with: {', '.join(FAMILIES)} have")
    return importlib.import_module(FAMILIES[family][1]).live(options, episodes, seed)
