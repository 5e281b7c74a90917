"""Rows of studies that never ran, with numbers to calculate by hand: for the tests of reports."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LBF, SPREAD, BATTLE = "lbf:10x10-3p-3f", "mpe:sparse-spread", "battle:3s_vs_5z"
COMMIT = "0123456789" * 4
POINTS = (0, 100, 200)


def rows(
    task: str,
    algo: str,
    curves: Mapping[int, Sequence[float | None]],
    points: Sequence[int] = POINTS,
    options: Mapping[str, Any] | None = None,
    won: bool = False,
    **more: Any,
) -> list[dict[str, Any]]:
    """As `coe export` writes them: of each seed the return at each point."""
    return [
        {
            **{"task": task, "algo": algo, "seed": seed, "boundary": point},
            **{"steps": point + 7 if point else 0, "episodes": point // 10, "updates": 0},
            **{"eval/return": value, "eval/length": 50.0},
            **({"eval/battle_won": None if value is None else value / 20} if won else {}),
            **{"options": dict(options or {}), "commit": COMMIT, "version": "0.1.0"},
            "command": f"coe train {task} --algo {algo} --seed {seed}",
            **more,
        }
        for seed, values in curves.items()
        for point, value in zip(points, values, strict=True)
    ]


def write(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    """A file of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def study() -> list[dict[str, Any]]:
    """Three tasks; COE has three complete seeds on each, and every oddity is somewhere else."""
    return [
        *rows(LBF, "coe", {0: (0, 0.4, 0.8), 1: (0, 0.5, 1.0), 2: (0, 0.3, 0.9)}),
        *rows(LBF, "qmix", {0: (0, 0.1, 0.3), 1: (0, 0.2, 0.1), 2: (0, 0.0, 0.2)}),
        *rows(LBF, "emc", {0: (0, 0.5, 0.7), 1: (0, 0.3, 0.9), 2: (0, 0.4, 0.8)}),
        # One value only, and one seed cut short.
        *rows(SPREAD, "coe", {0: (0, 1, 2), 1: (0, 1, 2), 2: (0, 1, 2)}),
        *rows(SPREAD, "qmix", {0: (0, 0.5, 1), 1: (0, None, 1.5), 2: (0, 0.25, 0.5)}),
        *rows(SPREAD, "emc", {0: (0, 0.5)}, points=(0, 100)),
        *rows(BATTLE, "coe", {0: (1, 9, 18), 1: (2, 11, 19), 2: (1, 10, 20)}, won=True),
        *rows(BATTLE, "qmix", {0: (1, 2, 3), 1: (2, 1, 2), 2: (1, 3, 4)}, won=True),
        *rows(BATTLE, "emc", {0: (1, 5, 9)}, won=True),
    ]
