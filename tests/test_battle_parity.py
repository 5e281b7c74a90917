"""Battles against recorded episodes of SMAClite, and its scripted policies' returns."""

from pathlib import Path

import numpy as np
import pytest

from coemarl import scripted, tasks
from coemarl.parity import battle, read


@pytest.mark.parametrize("name", ["3m", "2s_vs_1sc", "ticks_3s_vs_5z_kite2", "MMM2"])
def test_recordings_are_replayed_without_mismatch(shared: Path, name: str):
    file = shared / "traces" / "battle" / f"{name}.npz"
    row = battle.replay(file, read(file))
    assert row.ok, row
    assert row.transitions >= 800


def test_a_changed_recording_is_noticed(shared: Path):
    file = shared / "traces" / "battle" / "3m.npz"
    arrays = read(file)
    assert battle.recognises(arrays)
    changed = {**arrays, "reward": arrays["reward"].copy(), "obs": arrays["obs"].copy()}
    changed["reward"][5] += 0.01
    changed["obs"][7, 1, 3] += 0.01
    row = battle.replay(file, changed)
    assert (row.reward, row.observation, row.end, row.state) == (1, 1, 0, 0)
    moved = arrays["units"].copy()
    # One marine elsewhere at one moment: what is seen of it, and the way to there, are wrong.
    moved[3, 0, 0] += 0.5
    row = battle.replay(file, {**arrays, "units": moved})
    assert row.state > 0
    assert row.observation == 1


def test_a_recording_that_is_none_is_refused(shared: Path):
    file = shared / "traces" / "battle" / "3m.npz"
    arrays = read(file)
    with pytest.raises(ValueError, match=r"3m.npz: a recording without obs"):
        battle.replay(file, {k: v for k, v in arrays.items() if k != "obs"})
    with pytest.raises(ValueError, match=r"3m.npz: reward has 804 rows, not 805"):
        battle.replay(file, {**arrays, "reward": arrays["reward"][1:]})
    with pytest.raises(ValueError, match=r"its units are not those of the map 3m"):
        battle.replay(file, {**arrays, "unit_names": np.array(["zealot"] * 6)})


# SMAClite's own returns (its formula) and lengths, of five episodes each; win or not.
ANCHORS = {
    ("2s_vs_1sc", "nearest"): (10.039, 32.0, 0.0),
    ("2s_vs_1sc", "patient"): (21.490, 204.0, 1.0),
    ("3s_vs_5z", "nearest"): (4.940, 27.0, 0.0),
    ("3m", "focus"): (20.0, 19.0, 1.0),
}


@pytest.mark.parametrize(("name", "policy"), ANCHORS)
def test_scripted_policies_return_what_they_do_in_smaclite(name: str, policy: str):
    words = f"battle:{name}@smaclite"
    options = tasks.task_options(words, reward="damage")
    task = tasks.make_task(words, reward="damage")
    found = scripted.evaluate(task, scripted.make_act(words, options, policy), 8, 0)
    returned, length, won = ANCHORS[name, policy]
    assert abs(found["eval/return"] - returned) < 0.3
    assert abs(found["eval/length"] - length) < 2
    assert found["eval/battle_won"] == won
