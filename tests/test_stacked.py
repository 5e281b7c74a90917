"""Several seeds as one program: each lane is the run of its seed, and takes up where it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from coemarl import config as configs
from coemarl.cli import main
from coemarl.refusal import Refusal
from coemarl.runs import folder, lanes, loop
from coemarl.runs.folder import RunFolder
from coemarl.stacked import Stack, make_stack
from small import assert_same_bytes, small_config, small_trainer

SEEDS = (0, 3)


@pytest.fixture(scope="module")
def stack() -> Stack:
    return make_stack(small_trainer(), SEEDS)


def make_folders(place: Path) -> list[RunFolder]:
    """A marked run folder for each seed."""
    texts = {seed: configs.to_json(small_config(seed=seed)) for seed in SEEDS}
    runs = [folder.create(place / f"seed-{seed}", text) for seed, text in texts.items()]
    lanes.mark(runs, SEEDS)
    return runs


def outcome(run: RunFolder) -> tuple[bytes, str, bytes]:
    last = folder.checkpoint_paths(run)[-1]
    return run.rows.read_bytes(), last.name, last.read_bytes()


def quiet(name: str, event: Any) -> None:
    pass


@pytest.fixture(scope="module")
def undisturbed(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> list[RunFolder]:
    runs = make_folders(tmp_path_factory.mktemp("stacked"))
    summaries = lanes.train(stack, runs, quiet, loop.Stop())
    assert [(s["seed"], s["complete"]) for s in summaries] == [(0, True), (3, True)]
    return runs


def test_a_lane_begins_as_its_seed_alone(stack: Stack) -> None:
    stacked = stack.join([trainer.init() for trainer in stack.trainers])
    assert_same_bytes(stack.lane(stacked, 0), small_trainer().init())
    with pytest.raises(AssertionError):
        assert_same_bytes(stack.lane(stacked, 0).key, stack.lane(stacked, 1).key)


def test_a_lane_is_the_run_of_its_seed(stack: Stack) -> None:
    """The same random choices, and numbers equal but for the order of sums: over the first updates
    every array agrees to rounding, and all that is whole (actions, counts, keys) exactly."""
    alone = small_trainer().advance(small_trainer().init(), 8)
    stacked = stack.join([trainer.init() for trainer in stack.trainers])
    lane = stack.lane(stack.advance(stacked, 8), 0)
    assert int(alone.updates) == int(lane.updates) == 4
    pairs = zip(jax.tree.leaves(alone), jax.tree.leaves(lane), strict=True)
    for ours, theirs in pairs:
        if jax.numpy.issubdtype(ours.dtype, jax.numpy.floating):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)
        elif jax.numpy.issubdtype(ours.dtype, jax.dtypes.prng_key):
            assert_same_bytes(ours, theirs)
        else:
            np.testing.assert_array_equal(ours, theirs)


def test_each_seed_has_its_rows_at_its_boundaries(undisturbed: list[RunFolder]) -> None:
    rows = [folder.read_rows(run.rows) for run in undisturbed]
    for each in rows:
        assert [row["boundary"] for row in each] == [0, 50, 100, 150, 200]
        for row in each:  # its own first iteration there, as if it were alone
            assert row["boundary"] <= row["steps"] < row["boundary"] + 8
    assert rows[0] != rows[1]
    for run in undisturbed:
        last = folder.read_rows(run.rows)[-1]["steps"]
        assert folder.checkpoint_paths(run)[-1].name == f"step-{last:012d}.npz"


def stopping_at(number: int, stop: loop.Stop) -> Callable[[str, Any], None]:
    """A report that asks to stop at its n-th event."""
    heard: list[Any] = []

    def report(name: str, event: Any) -> None:
        heard.append(event)
        if len(heard) == number:
            stop.signal = 2

    return report


def test_stopped_and_gone_on_with(
    stack: Stack, undisturbed: list[RunFolder], tmp_path: Path
) -> None:
    """At different moments of each lane: the bytes of both in the end."""
    runs, tries = make_folders(tmp_path), 0
    while True:
        stop = loop.Stop()
        summaries = lanes.train(stack, runs, stopping_at(5 + 2 * tries, stop), stop)
        tries += 1
        if all(summary["complete"] for summary in summaries):
            break
    assert tries > 2
    assert [outcome(run) for run in runs] == [outcome(run) for run in undisturbed]


def test_killed_between_the_rows_of_two_lanes(
    stack: Stack, undisturbed: list[RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lane has saved a boundary that the other has not."""
    runs, save, saves = make_folders(tmp_path), folder.save, []

    def failing(*arguments: Any) -> Any:
        saves.append(arguments)
        if len(saves) == 6:
            raise KeyboardInterrupt
        return save(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(folder, "save", failing)
        with pytest.raises(KeyboardInterrupt):
            lanes.train(stack, runs, quiet, loop.Stop())
    lanes.train(stack, runs, quiet, loop.Stop())
    assert [outcome(run) for run in runs] == [outcome(run) for run in undisturbed]


def test_lanes_are_taken_up_together_only(
    undisturbed: list[RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = undisturbed[0].path.parent
    assert main(["train", "--resume", str(undisturbed[0].path)]) == 2
    said = capsys.readouterr().err
    assert "trains as one program with seeds 0, 3" in said
    assert f"--resume {base}" in said
    lonely = folder.create(tmp_path / "base" / "seed-0", configs.to_json(small_config()))
    lanes.mark([lonely], SEEDS)
    assert main(["train", "--resume", str(tmp_path / "base")]) == 2
    assert "holds seeds 0" in capsys.readouterr().err


def test_a_damaged_mark_is_refused(tmp_path: Path) -> None:
    run = folder.create(tmp_path / "run", "{}")
    assert lanes.together(run) == []
    (run.path / lanes.NAME).write_text("[]")
    with pytest.raises(Refusal, match="does not name seeds"):
        lanes.together(run)
