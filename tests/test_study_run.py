"""Studies driven for real, by processes that are killed for real: no row is lost, none doubled."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from coemarl.cli import main
from coemarl.runs import machine
from coemarl.studies import store

TINY = """
name = "tiny"
seeds = [0, 1]
steps = 12000
tasks = ["lbf:5x5-2p-1f"]
[evaluation]
every = 600
episodes = 4
[overrides]
"utility.hidden" = 8
"mixer.embedding" = 4
"mixer.hypernet" = 4
"replay.capacity" = 32
"learner.batch_size" = 4
"env.episode_limit" = 10
[[entries]]
algo = "qmix"
"""
ROWS = 21
"""Of each run."""


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="finds the processes to kill in /proc"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny study's file."""
    path = tmp_path_factory.mktemp("study") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="module")
def undisturbed(tiny: Path) -> Path:
    """The folder of the tiny study, run by nobody's interference."""
    out = tiny.parent / "undisturbed"
    assert main(["study", "run", str(tiny), "--out", str(out), "--progress", "none"]) == 0
    return out


def results(out: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """A store's rows by their key, without the command, of which each way has its own; every row
    is there once."""
    rows = store.rows(out)
    found = {store.key_of(row): {**row, "command": None} for row in rows}
    assert len(found) == len(rows)
    return found


def last_checkpoints(out: Path) -> list[bytes]:
    """The bytes of each run's newest checkpoint: parameters, replay, counts, keys."""
    runs = sorted(path.parent for path in out.rglob("config.json"))
    return [max(run.glob("checkpoints/*.npz")).read_bytes() for run in runs]


def same(one: Path, other: Path) -> None:
    """Two studies have the same rows and ended with the same teams, to the bit."""
    assert results(one) == results(other)
    assert last_checkpoints(one) == last_checkpoints(other)


class Driving:
    """`coe study run` as a process, heard through its events."""

    def __init__(self, *words: str) -> None:
        command = [*machine.THIS_PROGRAM, "study", "run", *words, "--progress", "json"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []

    def events(self) -> Iterator[dict[str, Any]]:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("{"):
                yield json.loads(line)
            else:
                self.said.append(line)

    def workers(self, title: str = "coemarl") -> list[int]:
        """The processes of this driver, however far down, that have such a command line."""
        found = []
        for pid in descendants(self.process.pid):
            with contextlib.suppress(OSError):  # it is gone by now
                if title in Path(f"/proc/{pid}/cmdline").read_text():
                    found.append(pid)
        return found

    def a_worker(self, title: str) -> int:
        """One of them, as soon as there is one."""
        while self.process.poll() is None:
            if found := self.workers(title):
                return found[0]
            time.sleep(0.02)
        raise AssertionError(f"ended before there was a worker: {self.said}")

    def end(self) -> int:
        """Hear the rest; the exit status."""
        for _ in self.events():
            pass
        assert self.process.stderr is not None
        self.process.stderr.close()
        return self.process.wait()

    def until_row(self, number: int) -> None:
        """Hear events until so many rows have come."""
        for event in self.events():
            number -= event["event"] == "row"
            if number == 0:
                return
        raise AssertionError(f"ended before that row: {self.said}")


def descendants(pid: int) -> list[int]:
    """Children of a process, and theirs."""
    found = []
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                found += [child, *descendants(child)]
    return found


def test_rows_of_a_study(undisturbed: Path):
    found = results(undisturbed)
    assert len(found) == 2 * ROWS
    row = found["lbf:5x5-2p-1f", "qmix", 1, 600]
    assert row["algorithm"] == "qmix"
    assert json.loads(row["options"])["utility.hidden"] == 8


def test_a_done_study_is_done_again_at_once(undisturbed: Path, capsys: pytest.CaptureFixture[str]):
    before = (undisturbed / "rows.jsonl").read_bytes()
    assert main(["study", "run", str(undisturbed), "--progress", "json"]) == 0
    assert '"begun"' not in capsys.readouterr().err
    assert (undisturbed / "rows.jsonl").read_bytes() == before
    assert main(["study", "status", str(undisturbed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"done": 2}


def test_a_store_that_was_lost_comes_back_from_the_runs(undisturbed: Path):
    before = results(undisturbed)
    (undisturbed / "rows.jsonl").unlink()
    assert main(["study", "run", str(undisturbed), "--progress", "none"]) == 0
    assert results(undisturbed) == before


@needs_proc
def test_workers_and_driver_killed_at_random(tiny: Path, undisturbed: Path):
    out = tiny.parent / "killed"
    draw = random.Random(7)
    words = (str(tiny), "--out", str(out))
    for _ in range(2):  # each time a worker, and later the driver
        driving = Driving(*words)
        driving.until_row(draw.randint(2, 9))
        os.kill(draw.choice(driving.workers()), signal.SIGKILL)
        driving.until_row(draw.randint(1, 5))
        driving.process.kill()
        driving.end()
    driving = Driving(*words)
    assert driving.end() == 0, driving.said
    same(out, undisturbed)
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    deaths = [event for event in events if event["event"] == "died"]
    assert deaths
    assert store.rows(out)[0]["command"].startswith("coe study run")
    assert all("SIGKILL" in event["why"] and event["again"] for event in deaths)


def test_a_study_is_stopped_and_goes_on(tiny: Path, undisturbed: Path):
    out = tiny.parent / "stopped"
    driving = Driving(str(tiny), "--out", str(out), "--workers", "1")
    driving.until_row(5)
    driving.process.send_signal(signal.SIGINT)
    assert driving.end() == 130
    assert "go on with: coe study run" in "".join(driving.said)
    assert 5 <= len(results(out)) < 2 * ROWS
    assert main(["study", "run", str(out), "--progress", "none"]) == 0
    same(out, undisturbed)


@needs_proc
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_a_worker_of_a_local_ray_is_killed(tiny: Path, undisturbed: Path):
    out = tiny.parent / "ray"
    driving = Driving(str(tiny), "--out", str(out), "--on", "ray", "--workers", "2")
    driving.until_row(1)  # some runs are on their way; one may have just ended
    os.kill(driving.a_worker("ray::train"), signal.SIGKILL)
    assert driving.end() == 0, driving.said
    same(out, undisturbed)
    assert '"died"' in (out / "events.jsonl").read_text()


@pytest.mark.skipif(find_spec("submitit") is None, reason="submitit is not installed")
def test_jobs_of_submitits_local_executor(tiny: Path, undisturbed: Path):
    out = tiny.parent / "slurm"
    words = (str(tiny), "--out", str(out), "--on", "slurm", "--slurm", "cluster=local")
    driving = Driving(*words)
    driving.until_row(4)
    driving.process.send_signal(signal.SIGINT)
    assert driving.end() == 130, driving.said
    driving = Driving(*words)
    assert driving.end() == 0, driving.said
    same(out, undisturbed)
