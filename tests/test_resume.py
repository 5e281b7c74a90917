"""Training processes that are killed, stopped and taken up again: the same bytes in the end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coemarl.runs import folder
from coemarl.runs.folder import RunFolder
from small import words

COE = (sys.executable, "-m", "coemarl")
CHANGES = {"steps": 1500, "evaluation.every": 60}
KILLS = 3


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache of compiled programs for all processes of this module."""
    cache = tmp_path_factory.mktemp("cache")
    return {"JAX_COMPILATION_CACHE_DIR": str(cache), "COEMARL_CACHE": str(cache), **os.environ}


def start(environment: dict[str, str], *options: str) -> "subprocess.Popen[str]":
    """A training process that says what happens as lines of JSON."""
    return subprocess.Popen(
        [*COE, "train", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


def finished(environment: dict[str, str], *options: str, status: int = 0) -> tuple[str, str]:
    """Output and errors of a training process that ends by itself."""
    process = start(environment, *options)
    out, said = process.communicate()
    assert process.returncode == status, said
    return out, said


def outcome(place: Path) -> tuple[bytes, str, bytes]:
    """All that a finished run is: its rows, and its last checkpoint by name and bytes, in which
    are parameters, replay, counts and random keys."""
    run = RunFolder(place)
    last = folder.checkpoint_paths(run)[-1]
    return run.rows.read_bytes(), last.name, last.read_bytes()


@pytest.fixture(scope="module")
def undisturbed(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happens to."""
    place = tmp_path_factory.mktemp("undisturbed") / "run"
    finished(environment, *words(CHANGES), "--out", str(place), "--progress", "none")
    return place


def killed_at(process: "subprocess.Popen[str]", events: int, seconds: float) -> bool:
    """Kill a process so long after its n-th event; whether it was killed before its end."""
    assert process.stderr is not None
    for _ in range(events):
        if not process.stderr.readline():
            break
    # Read on meanwhile, or the process would wait for its reader.
    with process:
        listener = threading.Thread(target=process.stderr.read)
        listener.start()
        time.sleep(seconds)
        process.kill()
        listener.join()
    return process.returncode == -signal.SIGKILL


def test_killed_again_and_again(
    environment: dict[str, str], undisturbed: Path, tmp_path: Path
) -> None:
    """SIGKILL at random moments, resumed each time."""
    place, rng = tmp_path / "run", np.random.default_rng(2026)
    options = [*words(CHANGES), "--out", str(place)]
    progress = []
    for _ in range(KILLS):
        process = start(environment, *options, "--progress", "json")
        assert killed_at(process, int(rng.integers(2, 16)), float(rng.uniform(0, 0.03)))
        progress.append(len(folder.checkpoint_paths(RunFolder(place))))
        options = ["--resume", str(place)]
    out, _ = finished(environment, *options, "--json", "--progress", "none")
    assert json.loads(out)["complete"]
    assert max(progress) > 0  # it was resumed from a checkpoint, not begun again
    records = json.loads((place / "origin.json").read_text())
    assert any(record["steps"] > 0 for record in records)
    assert outcome(place) == outcome(undisturbed)


def test_interrupted_and_told_how_to_go_on(
    environment: dict[str, str], undisturbed: Path, tmp_path: Path
) -> None:
    """Ctrl-C: status 130, saved, and the very words to go on with."""
    place = tmp_path / "a run"
    process = start(environment, *words(CHANGES), "--out", str(place))
    assert process.stderr is not None
    said = ""
    while "evaluation return" not in said:
        said = process.stderr.readline()
        assert said
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate()
    assert process.returncode == 130
    last = rest.strip().splitlines()[-1]
    command = f"go on with: coe train --resume '{place}'"
    assert last == command
    assert "saved" in rest.strip().splitlines()[-2]
    finished(environment, "--resume", str(place), "--progress", "none")
    assert outcome(place) == outcome(undisturbed)


def test_seeds_as_processes(environment: dict[str, str], undisturbed: Path, tmp_path: Path) -> None:
    """Each seed is a run of its own, the one that it would be alone."""
    base = tmp_path / "runs"
    seeds = ["--seeds", "0", "1", "--out", str(base), "--progress", "none", "--json"]
    out, _ = finished(environment, *words(CHANGES), *seeds)
    summaries = json.loads(out)["runs"]
    assert [(s["seed"], s["complete"]) for s in summaries] == [(0, True), (1, True)]
    first, second = outcome(base / "seed-0"), outcome(base / "seed-1")
    assert first == outcome(undisturbed)
    assert second[0] != first[0]
    rows = [[json.loads(line) for line in rows.splitlines()] for rows, _, _ in (first, second)]
    boundaries: list[list[Any]] = [[row["boundary"] for row in seed] for seed in rows]
    assert boundaries[0] == boundaries[1] == list(range(0, 1501, 60))
