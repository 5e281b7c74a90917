"""Parity: recordings pass, every kind of difference is found and counted, bad input is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coemarl import parity
from coemarl.cli import main
from coemarl.parity import live_lbf, live_mpe, mpe
from coemarl.parity.report import ParityRow, differs, render
from coemarl.tasks import task_options
from coemarl.tasks.mpe import frozen
from coemarl.tasks.mpe.spread import SpreadOptions
from coemarl.tasks.mpe.tag import SparseTagOptions, TagOptions

Arrays = dict[str, np.ndarray]

WORLD = TagOptions(
    predators=2, prey=2, obstacles=1, conventions="mpe2", opponent="still", episode_limit=8
)


@pytest.fixture(scope="module")
def recording() -> Arrays:
    """Episodes of mpe2's tag with other numbers of agents than usual."""
    env = live_mpe.original(WORLD)
    env.reset(seed=0)
    return live_mpe.record(env, live_mpe.POLICIES["crowding, 20% random"], 6, rng())


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def written(folder: Path, arrays: dict[str, Any], name: str = "mpe_tag.npz") -> Path:
    np.savez(folder / name, **arrays)
    return folder


def test_every_shared_recording_passes(shared: Path, capsys: pytest.CaptureFixture) -> None:
    folder = shared / "traces" / "environments"
    assert main(["parity", str(folder)]) == 0
    said = capsys.readouterr().out
    for file in folder.glob("*.npz"):
        assert file.stem[:14] in said
    assert said.rstrip().endswith("no mismatch")


def test_numbers_of_agents_and_conventions_are_found(recording: Arrays, tmp_path: Path) -> None:
    [row] = parity.replay_folder(written(tmp_path, recording))
    assert row.ok
    assert row.transitions == 48
    assert "mpe2's conventions" in row.note


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        ("next_pos", "state"),
        ("next_vel", "state"),
        ("obs_0", "observation"),
        ("next_obs_3", "observation"),
        ("rewards", "reward"),
    ],
)
def test_each_difference_is_counted_where_it_belongs(
    recording: Arrays, array: str, kind: str
) -> None:
    changed = recording | {array: recording[array].copy()}
    changed[array][5, 0] += 0.01
    row = mpe.compare("changed", changed, WORLD)
    wrong = {name: getattr(row, name) for name in ("state", "observation", "reward", "end")}
    assert wrong == dict.fromkeys(wrong, 0) | {kind: 1}
    assert row.largest_error == pytest.approx(0.01, rel=0.2)
    assert not row.ok


def test_an_episode_that_ends_elsewhere_is_a_mismatch(recording: Arrays) -> None:
    changed = recording | {"done": recording["done"].copy()}
    changed["done"][[7, 9]] ^= True
    assert mpe.compare("changed", changed, WORLD).end == 2


def test_one_mismatch_is_enough_for_status_1(
    recording: Arrays, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    changed = recording | {"next_pos": recording["next_pos"].copy()}
    changed["next_pos"][3, 1, 0] += 1
    assert main(["parity", str(written(tmp_path, changed)), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert [row["state"] for row in said["rows"]] == [1]


def test_rewards_are_not_judged_at_a_threshold() -> None:
    def row(distance: float) -> Arrays:
        after = np.array([[[0.0, 0], [distance, 0], [3, 0]]])
        return {"next_pos": after, "landmarks": np.full((1, 3, 2), 9.0), "t": np.zeros(1)}

    assert mpe.near_threshold(SpreadOptions(), row(0.3 + 5e-6)).all()
    assert not mpe.near_threshold(SpreadOptions(), row(0.3 + 5e-5)).any()
    options = SparseTagOptions(predators=2)
    assert mpe.near_threshold(options, row(9) | {"next_pos": row(0.0)["next_pos"] * 0.075}).all()


def test_a_net_is_judged_by_its_golden_pairs(tmp_path: Path) -> None:
    with np.load(frozen.SHIPPED / "prey.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    with pytest.raises(ValueError, match="without golden_in"):
        parity.replay_folder(written(tmp_path, arrays, "net.npz"))
    seen = rng().uniform(-1.5, 1.5, (40, 14)).astype(np.float32)
    hidden = (seen - arrays["bn_running_mean"]) / np.sqrt(arrays["bn_running_var"] + 1e-5)
    for k in (1, 2):
        hidden = np.maximum(hidden @ arrays[f"fc{k}_weight"].T + arrays[f"fc{k}_bias"], 0)
    logits = hidden @ arrays["fc3_weight"].T + arrays["fc3_bias"]
    golden = {"golden_in": seen, "golden_logits": logits, "golden_action": logits.argmax(1)}
    [row] = parity.replay_folder(written(tmp_path, arrays | golden, "net.npz"))
    assert row.ok
    golden["golden_action"] = (golden["golden_action"] + (np.arange(40) < 3)) % 5
    golden["golden_logits"] = logits + 0.1 * (np.arange(40) < 2)[:, None]
    [row] = parity.replay_folder(written(tmp_path, arrays | golden, "net.npz"))
    assert (row.state, row.observation) == (3, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"next_vel": None}, "without next_vel"),
        ({"obs_3": None}, "without obs_3"),
        ({"t": np.zeros(3)}, "as many rows"),
        ({"actions": np.full((48, 4), 5)}, "an action that is not 0 to 4"),
        ({"actions": np.zeros((48, 3), int)}, r"actions has shape \(48, 3\), not \(48, 4\)"),
        ({"obs_0": np.zeros((48, 5))}, "obs_0 and next_obs_0 have shapes"),
        ({"landmarks": np.zeros((48, 4, 2))}, "none of adversary, tag or spread"),
        ({"rewards": np.zeros((48, 9))}, "none of adversary, tag or spread"),
    ],
)
def test_recordings_that_are_none_are_refused(
    recording: Arrays, tmp_path: Path, change: dict, said: str
) -> None:
    arrays = {name: a for name, a in (recording | change).items() if a is not None}
    with pytest.raises(ValueError, match=said):
        parity.replay_folder(written(tmp_path, arrays))


def test_files_that_are_no_recordings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder"):
        parity.replay_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no recording in"):
        parity.replay_folder(tmp_path)
    written(tmp_path, {"x": np.zeros(3)}, "other.npz")
    with pytest.raises(ValueError, match="not a recording of"):
        parity.replay_folder(tmp_path)
    for content in (b"", b"PK\x03\x04 cut short", np.lib.format.magic(1, 0)):
        (tmp_path / "other.npz").write_bytes(content)
        with pytest.raises(ValueError, match=r"other\.npz: damaged"):
            parity.replay_folder(tmp_path)
    with (tmp_path / "other.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match="without a name"):
        parity.replay_folder(tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to compare"),
        (["nowhere"], "no folder nowhere"),
        (["live"], "TASK|STR|task"),
        (["live", "mpe:hide"], "no particle game"),
        (["live", "mpe:sparse-tag"], "no sparse games"),
        (["live", "lbf:8x8-2p-2f", "--episodes", "0"], "at least 1"),
        (["live", "lbf:8x8-2p-2f", "--seed", "-1"], "seed is -1"),
        (["live", "lbf:6x9-2p-2f"], "square"),
    ],
)
def test_wishes_that_cannot_be_met_end_with_status_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["parity", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("coe: ")
    assert any(part in error for part in said.split("|"))
    assert "Traceback" not in error


@pytest.mark.parametrize("task", ["mpe:adversary", "mpe:spread-2"])
def test_the_installed_mpe2_is_matched(task: str) -> None:
    rows = parity.live(task, 2)
    assert [row.transitions for row in rows] == [50, 50]
    assert all(row.ok for row in rows)


def test_the_installed_lbforaging_is_matched_and_its_sight_found(tmp_path: Path) -> None:
    options = task_options("lbf:2s-6x6-2p-2f", episode_limit=6)
    assert all(row.ok for row in live_lbf.live(options, 2, 0))
    env = live_lbf.original(options)
    env.reset(seed=0)
    arrays = live_lbf.record(env, live_lbf.POLICIES["random actions"], 4, rng())
    [row] = parity.replay_folder(written(tmp_path, arrays, "field.npz"))
    assert row.ok


# Reports


def test_differences_are_found_row_by_row() -> None:
    rows, error = differs(np.array([[0.0, 1], [2, 3]]), np.array([[0.0, 1], [2, 3.5]]), 0.1)
    assert rows.tolist() == [False, True]
    assert error == 0.5
    rows, error = differs(np.array([np.nan, np.inf, 1]), np.array([np.nan, np.inf, np.nan]))
    assert rows.tolist() == [False, False, True]
    assert error == np.inf
    with pytest.raises(ValueError, match="cannot be compared"):
        differs(np.zeros(2), np.zeros(3))


def test_the_table_names_what_is_wrong() -> None:
    rows = [ParityRow("a.npz", 10, note="slowly"), ParityRow("b.npz", 5, reward=2)]
    text = render(rows)
    assert [row.ok for row in rows] == [True, False]
    assert "a.npz: slowly" in text
    assert text.splitlines()[-1] == "15 transitions in 2 recordings: 1 with mismatches"
    assert max(map(len, text.splitlines())) <= 80
    assert not ParityRow("empty", 0).ok
