"""Runs on disk: checkpoints that prove their integrity, run folders, and the host loop."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coemarl import config as configs
from coemarl.refusal import Refusal
from coemarl.runs import checkpoint, export, folder, loop
from coemarl.runs.checkpoint import CheckpointError
from coemarl.runs.folder import RunFolder
from small import assert_same_bytes, small_config, small_trainer

# Checkpoints


class Nested(NamedTuple):
    """A tree with a part that is missing."""

    arrays: dict[str, Any]
    nothing: None
    pair: tuple[Any, ...]


def every_kind() -> Nested:
    """Arrays of every dtype, with the values that copying might lose, and typed random keys."""
    awkward = [0.0, -0.0, 1e-40, 3.14159, float("inf"), float("-inf"), float("nan")]
    real = {name: jnp.array(awkward, name) for name in ("float32", "float16", "bfloat16")}
    small = {name: jnp.array([-128, -1, 0, 127], name) for name in ("int8", "int16", "int32")}
    large = {name: jnp.array([0, 1, 255], name) for name in ("uint8", "uint16", "uint32")}
    others = {
        "bool": jnp.array([True, False]),
        "complex": jnp.array([1 + 2j, -3j], jnp.complex64),
        "payload": jax.lax.bitcast_convert_type(jnp.uint32(0x7FC0BEEF), jnp.float32),
        "empty": jnp.zeros((3, 0, 2)),
        "number": jnp.float32(2.5),
        "transposed": jnp.arange(6.0).reshape(2, 3).T,
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8), (2, 3)),
        "rbg": jax.random.key(9, impl="rbg"),
    }
    return Nested(real | small | large | others, None, (jnp.int32(1), [jnp.ones(2)]))


EXTRA = {"steps": 3, "words": "é", "nothing": None, "list": [1, 2.5]}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint of every kind of array."""
    path = tmp_path / "state.npz"
    checkpoint.save(path, every_kind(), EXTRA)
    return path


def test_every_kind_of_array_comes_back(saved: Path) -> None:
    for like in (every_kind(), jax.eval_shape(every_kind)):
        state, extra = checkpoint.load(saved, like)
        assert_same_bytes(state, every_kind())
        assert jax.tree.structure(state) == jax.tree.structure(every_kind())
        assert extra == EXTRA
        for name in ("key", "keys", "rbg"):  # the same generator, so the same draws
            ours, theirs = state.arrays[name], every_kind().arrays[name]
            assert ours.dtype == theirs.dtype
            one = lambda keys: keys.reshape(-1)[-1]  # noqa: E731
            draw = jax.random.uniform
            assert float(draw(one(ours))) == float(draw(one(theirs)))
    assert checkpoint.read_extra(saved) == EXTRA


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=4, max_size=40), st.sampled_from(["float32", "bfloat16", "uint8"]))
def test_any_bits_come_back(
    tmp_path_factory: pytest.TempPathFactory, bits: bytes, name: str
) -> None:
    size = jnp.dtype(name).itemsize
    array = np.frombuffer(bits[: len(bits) // size * size], jnp.dtype(name))
    path = tmp_path_factory.mktemp("bits") / "a.npz"
    checkpoint.save(path, {"a": array}, {})
    state, _ = checkpoint.load(path, {"a": array})
    assert np.asarray(state["a"]).tobytes() == array.tobytes()
    assert state["a"].dtype == array.dtype


def test_files_are_plain_npz_and_equal_for_equal_states(saved: Path, tmp_path: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["pair/0"], 1)
    again = tmp_path / "other.npz"
    checkpoint.save(again, every_kind(), EXTRA)
    assert again.read_bytes() == saved.read_bytes()


def test_any_cut_or_changed_byte_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    cuts = [0, 1, 63, 64, len(whole) // 2, len(whole) - 1, *rng.integers(0, len(whole), 20)]
    for cut in cuts:
        saved.write_bytes(whole[:cut])
        with pytest.raises(CheckpointError, match="damaged: its checksum does not hold"):
            checkpoint.load(saved, every_kind())
    for place in [0, len(whole) - 1, *rng.integers(0, len(whole), 50)]:
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CheckpointError, match="damaged"):
            checkpoint.load(saved, every_kind())
    saved.write_bytes(whole + b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.read_extra(saved)


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    import hashlib

    path = tmp_path / "a.npz"
    with pytest.raises(CheckpointError, match="cannot read"):
        checkpoint.load(path, ())
    with pytest.raises(CheckpointError, match="cannot read"):
        checkpoint.load(tmp_path, ())
    for inside in (b"", b"not a zip at all"):  # whole by its checksum, yet something else
        path.write_bytes(inside + hashlib.sha256(inside).hexdigest().encode())
        with pytest.raises(CheckpointError, match="not a checkpoint of coemarl"):
            checkpoint.load(path, ())


def test_another_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    checkpoint.save(tmp_path / "a.npz", {"a": jnp.ones(2)}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has format 99; this version reads format 1"):
        checkpoint.load(tmp_path / "a.npz", {"a": jnp.ones(2)})


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"a": jnp.ones(2)}, "b is int32 of shape .3,. in the file and missing in this run"),
        ({"a": jnp.ones(2), "b": jnp.ones(3)}, "b is int32 .* and float32 of shape"),
        ({"a": jnp.ones((2, 1)), "b": jnp.ones(3, int)}, "a is float32 of shape .2,. in the file"),
        (
            {"a": jnp.ones(2), "b": jnp.ones(3, int), "c": jnp.ones(1)},
            "c is missing in the file and float32 of shape .1,. in this run",
        ),
        ({"a": jax.random.key(0), "b": jnp.ones(3, int)}, "key<fry> of shape .. in this run"),
    ],
)
def test_another_kind_of_run_is_refused(tmp_path: Path, wanted: Any, said: str) -> None:
    checkpoint.save(tmp_path / "a.npz", {"a": jnp.ones(2), "b": jnp.ones(3, int)}, {})
    with pytest.raises(CheckpointError, match=said):
        checkpoint.load(tmp_path / "a.npz", wanted)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, written = saved.read_bytes(), np.lib.format.write_array

    def disk_full(file: Any, array: np.ndarray, **options: Any) -> None:
        if array.dtype == bool:
            raise OSError(28, "No space left on device")
        written(file, array, **options)

    monkeypatch.setattr(np.lib.format, "write_array", disk_full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save(saved, every_kind(), {"steps": 4})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_leaves_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="same name"):
        checkpoint.save(tmp_path / "a.npz", {"a": {"b": jnp.ones(1)}, "a/b": jnp.ones(1)}, {})


def test_nothing_that_runs_is_read(tmp_path: Path) -> None:
    """Members are arrays; one that would need pickle is refused although its checksum holds."""
    import hashlib
    import pickle

    path = tmp_path / "a.npz"
    checkpoint.save(path, {"a": jnp.ones(1)}, {})
    with zipfile.ZipFile(path) as archive:
        manifest = archive.read(checkpoint.MANIFEST)
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"0" * 64
        archive.writestr(checkpoint.MANIFEST, manifest)
        with archive.open("a.npy", "w") as member:
            np.lib.format.write_array(member, np.array([{}]), allow_pickle=True)
    assert pickle.dumps({})[:1] in path.read_bytes()
    inside = path.read_bytes()[:-64]
    path.write_bytes(inside + hashlib.sha256(inside).hexdigest().encode())
    with pytest.raises(ValueError, match="allow_pickle=False"):
        checkpoint.load(path, {"a": jnp.ones(1)})


# Folders


class State(NamedTuple):
    """The little that a folder asks of a training state."""

    steps: Any
    weights: Any


def state_at(steps: int) -> State:
    return State(jnp.int32(steps), jnp.full(3, steps, jnp.float32))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return folder.create(tmp_path / "run", configs.to_json(small_config()))


def test_a_run_is_made_once(run: RunFolder, tmp_path: Path) -> None:
    assert folder.read_config(run) == small_config()
    with pytest.raises(Refusal, match="holds a run already: --resume"):
        folder.create(run.path, "{}")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("dear")
    for place in (tmp_path / "full", tmp_path / "full" / "letter"):
        with pytest.raises(Refusal, match="not an empty folder"):
            folder.create(place, "{}")
    assert folder.existing(run.path) == run
    with pytest.raises(Refusal, match="no folder"):
        folder.existing(tmp_path / "none")
    with pytest.raises(Refusal, match="holds no run"):
        folder.existing(tmp_path / "full")


def test_runs_are_found_below(tmp_path: Path) -> None:
    made = [
        folder.create(tmp_path / "runs" / name, configs.to_json(small_config()))
        for name in ("b/seed-0", "a/seed-1", "a/seed-0")
    ]
    assert folder.runs_below(tmp_path / "runs") == sorted(made, key=lambda run: run.path)
    assert folder.runs_in(made[0].path) == [made[0]]
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refusal, match="holds no run, nor does a folder in it"):
        folder.runs_in(tmp_path / "empty")


@pytest.mark.parametrize("text", ["", "[]", '{"task": "lbf:8x8-2p-2f"}', "{"])
def test_a_damaged_configuration_is_refused(run: RunFolder, text: str) -> None:
    run.config.write_text(text)
    with pytest.raises(Refusal, match=r"config\.json is damaged"):
        folder.read_config(run)


def test_one_process_at_a_time(run: RunFolder) -> None:
    with (
        folder.locked(run),
        pytest.raises(Refusal, match="another process trains"),
        folder.locked(run),
    ):
        pass
    with folder.locked(run):  # and free again
        pass


def test_rows_hold_numbers_or_nothing(run: RunFolder) -> None:
    folder.append(run.rows, {"a": float("nan"), "b": float("inf"), "c": 0.1, "d": 3})
    assert folder.read_rows(run.rows) == [{"a": None, "b": None, "c": 0.1, "d": 3}]
    with open(run.rows, "a") as file:
        file.write('{"a": 1')
    with pytest.raises(Refusal, match="line 2 is not a row"):
        folder.read_rows(run.rows)
    assert folder.read_rows(run.path / "none.jsonl") == []


def with_checkpoints(run: RunFolder, *steps: int, keep: int = 9) -> list[Path]:
    """A row and a checkpoint at each of these steps."""
    for boundary in steps:
        folder.append(run.rows, {"steps": boundary})
        folder.save(run, state_at(boundary), boundary, keep)
    return folder.checkpoint_paths(run)


def test_the_last_few_checkpoints_are_kept(run: RunFolder) -> None:
    paths = with_checkpoints(run, 0, 5, 10, 1_000_000, keep=2)
    assert [path.name for path in paths] == ["step-000000000010.npz", "step-000001000000.npz"]


def test_the_newest_whole_checkpoint_is_used(run: RunFolder) -> None:
    paths, notes = with_checkpoints(run, 0, 5, 10), []
    state, extra = folder.newest(run, state_at(0), notes.append) or (None, {})
    assert_same_bytes(state, state_at(10))
    assert (extra["steps"], extra["boundary"], notes) == (10, 10, [])
    paths[-1].write_bytes(paths[-1].read_bytes()[:-1])
    state, extra = folder.newest(run, state_at(0), notes.append) or (None, {})
    assert_same_bytes(state, state_at(5))
    assert len(notes) == 1
    assert "step-000000000010.npz is damaged" in notes[0]
    assert "the one before is used" in notes[0]
    for path in paths:
        path.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* is whole"):
        folder.newest(run, state_at(0), notes.append)


def test_taking_up_removes_what_came_later(run: RunFolder) -> None:
    paths = with_checkpoints(run, 0, 5, 10)
    rows = run.rows.read_text().splitlines(keepends=True)
    paths[2].write_bytes(b"damaged")
    part = run.checkpoints / ".step-000000000015.npz.123.part"
    part.write_bytes(b"half of a")
    folder.append(run.rows, {"steps": 15})
    with open(run.rows, "a") as file:
        file.write('{"ste')
    found = folder.take_up(run, state_at(0), lambda note: None)
    assert found is not None
    assert int(found[0].steps) == 5
    assert run.rows.read_text() == "".join(rows[:2])
    assert sorted(run.checkpoints.iterdir()) == paths[:2]


def test_rows_that_are_missing_are_noticed(run: RunFolder) -> None:
    with_checkpoints(run, 0, 5)
    run.rows.write_text("")
    with pytest.raises(Refusal, match="shorter than when the checkpoint was made"):
        folder.take_up(run, state_at(0), lambda note: None)


def test_a_run_without_checkpoints_begins_anew(run: RunFolder) -> None:
    folder.append(run.rows, {"steps": 0})  # killed between its first row and its first checkpoint
    assert folder.take_up(run, state_at(0), lambda note: None) is None
    assert run.rows.read_bytes() == b""


# The host loop, on a real trainer


def train(place: Path, report: Callable[[Any], None] = lambda event: None,
          stop: loop.Stop | None = None, **changes: Any) -> dict[str, Any]:  # fmt: skip
    """Train the small run in a folder, fresh or from its newest checkpoint."""
    config = small_config(**changes)
    run = RunFolder(place)
    if not run.config.exists():
        run = folder.create(place, configs.to_json(config))
    return loop.train(small_trainer(**changes), run, report, stop or loop.Stop())


def outcome(place: Path) -> tuple[bytes, str, bytes]:
    """All that a finished run is: its rows, and its last checkpoint by name and bytes."""
    run = RunFolder(place)
    last = folder.checkpoint_paths(run)[-1]
    return run.rows.read_bytes(), last.name, last.read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small run, from the start to the end."""
    place = tmp_path_factory.mktemp("undisturbed") / "run"
    assert train(place)["complete"]
    return place


def test_rows_stand_at_fixed_boundaries(undisturbed: Path) -> None:
    rows = folder.read_rows(RunFolder(undisturbed).rows)
    assert [row["boundary"] for row in rows] == [0, 50, 100, 150, 200]
    for row in rows:  # the first iteration that has done the boundary's steps
        assert row["boundary"] <= row["steps"] < row["boundary"] + 8
    assert rows[0]["episodes"] == 0
    assert rows[0]["train/return"] is None
    timing = folder.read_rows(RunFolder(undisturbed).timing)
    assert [row["boundary"] for row in timing] == [0, 50, 100, 150, 200]


def test_boundaries_by_hand() -> None:
    assert loop.boundaries(50, 120, None) == [0, 50, 100, 120]
    assert loop.boundaries(50, 100, None) == [0, 50, 100]
    assert loop.boundaries(50, 120, 50) == [100, 120]
    assert loop.boundaries(50, 120, 120) == []
    assert loop.boundaries(1000, 10, None) == [0, 10]
    assert len(loop.boundaries(100_000, 4_000_000, None)) == 41  # as in the paper


def test_same_seed_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    train(tmp_path / "again")
    assert outcome(tmp_path / "again") == outcome(undisturbed)
    one, other = small_trainer().init(), small_trainer(seed=1).init()
    with pytest.raises(AssertionError):
        assert_same_bytes(one.learner.online, other.learner.online)
    with pytest.raises(AssertionError):
        assert_same_bytes(one.key, other.key)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_the_clock_changes_nothing(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Chunks of one iteration each, or as long as they can be, and saves on every way."""
    monkeypatch.setattr(loop, "CHUNK_SECONDS", seconds)
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    saves = []
    save = folder.save
    monkeypatch.setattr(folder, "save", lambda *a, **k: saves.append(1) or save(*a, **k))
    train(tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(undisturbed)
    assert len(saves) > 5  # more than at the boundaries


def at_event(number: int, do: Callable[[], Any]) -> Callable[[Any], None]:
    """A report that does something at its n-th event."""
    events: list[Any] = []

    def report(event: Any) -> None:
        events.append(event)
        if len(events) == number:
            do()

    return report


def test_a_stop_is_saved_and_gone_on_with(undisturbed: Path, tmp_path: Path) -> None:
    """Stopped again and again, between boundaries and at them."""
    place, tries = tmp_path / "run", 0
    while True:
        stop = loop.Stop()
        summary = train(
            place, at_event(3 + tries % 3, lambda stop=stop: setattr(stop, "signal", 2)), stop
        )
        tries += 1
        if summary["complete"]:
            break
        assert stop.signal == 2
    assert tries > 3
    assert outcome(place) == outcome(undisturbed)
    assert len(json.loads((place / "origin.json").read_text())) == tries


class Killed(BaseException):
    """Stands for the end of the process: nothing after it is done."""


def kill_after_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a row and its checkpoint."""
    monkeypatch.setattr(folder, "save", killing)


def kill_within_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half a row on the disk."""

    def half(path: Path, row: dict[str, Any]) -> None:
        with open(path, "a") as file:
            file.write('{"boundary": 50, "st')
        raise Killed

    monkeypatch.setattr(folder, "append", half)


def kill_within_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half a checkpoint beside the old ones, which nobody tidies up."""

    def half(path: Path, *_: Any) -> None:
        path.with_name(f".{path.name}.1.part").write_bytes(b"PK half")
        raise Killed

    monkeypatch.setattr(checkpoint, "save", half)


def kill_before_old_ones_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one checkpoint more than is kept."""
    save = checkpoint.save

    def whole(*arguments: Any) -> None:
        save(*arguments)
        raise Killed

    monkeypatch.setattr(checkpoint, "save", whole)


def killing(*_: Any, **__: Any) -> None:
    raise Killed


@pytest.mark.parametrize(
    "kill", [kill_after_row, kill_within_row, kill_within_checkpoint, kill_before_old_ones_go]
)
@pytest.mark.parametrize("first", [True, False])
def test_killed_at_the_worst_moments(
    undisturbed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill: Callable[[pytest.MonkeyPatch], None],
    first: bool,
) -> None:
    """At the very first row and checkpoint, or at later ones."""
    place = tmp_path / "run"
    if not first:
        with pytest.raises(Killed):
            train(place, at_event(9, killing))
        assert len(folder.checkpoint_paths(RunFolder(place))) == 2
    with monkeypatch.context() as patch:
        kill(patch)
        with pytest.raises(Killed):
            train(place)
    notes: list[Any] = []
    train(place, notes.append)
    assert not [event for event in notes if event["event"] == "note"]
    assert outcome(place) == outcome(undisturbed)


def test_a_finished_run_stays_as_it_is(undisturbed: Path, tmp_path: Path) -> None:
    before = outcome(undisturbed)
    summary = train(undisturbed)
    assert summary["complete"]
    assert summary["steps"] >= 200
    assert summary["eval/return best"] >= summary["eval/return last"]
    assert outcome(undisturbed) == before


def test_a_damaged_newest_checkpoint_is_reported_and_the_one_before_used(
    undisturbed: Path, tmp_path: Path
) -> None:
    place, stop = tmp_path / "run", loop.Stop()

    def report(event: Any) -> None:
        if event["event"] == "row" and event["row"]["boundary"] == 150:
            stop.signal = 2

    train(place, report, stop)
    newest = folder.checkpoint_paths(RunFolder(place))[-1]
    newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
    events: list[Any] = []
    train(place, events.append)
    notes = [event["text"] for event in events if event["event"] == "note"]
    assert len(notes) == 1
    assert newest.name in notes[0]
    assert outcome(place) == outcome(undisturbed)


def test_a_checkpoint_of_another_run_is_refused(undisturbed: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    run = folder.create(place, configs.to_json(small_config(utility__hidden=12)))
    for path in folder.checkpoint_paths(RunFolder(undisturbed)):
        (run.checkpoints / path.name).write_bytes(path.read_bytes())
    trainer = small_trainer(utility__hidden=12)
    with pytest.raises(Refusal, match=r"no checkpoint in .* is whole"):
        loop.train(trainer, run, lambda event: None, loop.Stop())


# Export


def test_export_says_where_each_row_is_from(undisturbed: Path, tmp_path: Path) -> None:
    run = RunFolder(undisturbed)
    rows = list(export.table(run))
    assert [row["boundary"] for row in rows] == [0, 50, 100, 150, 200]
    first = rows[0]
    assert list(first)[:5] == ["task", "algo", "seed", "boundary", "steps"]
    assert (first["task"], first["algo"], first["seed"]) == ("lbf:5x5-2p-1f", "coe", 0)
    assert first["options"]["env.episode_limit"] == 8
    assert first["options"]["explorer.counts.k"] == 6
    assert "explorer.form" not in first["options"]  # a default
    assert not {"steps", "seed", "task"} & set(first["options"])
    some = list(export.table(run, ["eval/return"]))
    assert set(some[0]) - set(first) == set()
    assert "eval/return_std" in some[0]
    assert "train/loss" not in some[0]
    out = tmp_path / "deep" / "table.jsonl"
    assert export.write(out, rows) == 5
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows
