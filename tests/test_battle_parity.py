"""Battles against recorded episodes of SMAClite, and its scripted policies' returns."""

from pathlib import Path

import numpy as np
import pytest

from coemarl.arrays import read_arrays
from coemarl.parity import battle
from coemarl.tasks.battle import tables


def read(file: Path) -> dict[str, np.ndarray]:
    return read_arrays(file, file.name)


@pytest.mark.parametrize("name", ["3m", "ticks_3s_vs_5z_kite2", "MMM2"])
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


@pytest.mark.parametrize("name", ["2s_vs_1sc", "3s_vs_5z"])
def test_scripted_policies_return_what_they_do_in_smaclite(name: str):
    rows = {row.policy: row for row in tables.play(tables.Play(Path(), "smaclite", (name,), 20))}
    for policy in ("nearest", "focus", "swap", *(["patient"] if name == "2s_vs_1sc" else [])):
        returned, length, won = tables.SMACLITE[name, policy]
        row = rows[policy]
        assert abs(row.returns - returned) < 0.3, row
        assert abs(row.length - length) < 2, row
        assert row.won == won, row
    returned, _, won = tables.SMACLITE[name, "random"]
    # Means of 20 episodes each: the difference is within three of its standard errors.
    assert abs(rows["random"].returns - returned) < 3 * rows["random"].returns_std * (2 / 20) ** 0.5
    assert rows["random"].won == won
