"""The game's study: what a row says, and when a claim holds."""

import json

import numpy as np
import pytest

from coemarl.game import claims, study
from coemarl.game.claims import Found
from coemarl.game.options import Rules
from coemarl.game.run import Outcome


def test_a_row_tells_regret_and_late_share_at_each_horizon():
    steps = np.arange(100, 50_100, 100)
    hits = np.stack([np.zeros(500, int), np.maximum(0, steps - 19_000)])
    outcome = Outcome("ind-dep", 0.4, steps, hits, np.zeros(2))
    setting = study.Setting("ind-dep", Rules(0.3, 0.01, "offset"), 50_000)
    rows = list(study.rows_of(setting, outcome))
    assert [row["steps"] for row in rows] == [20_000, 50_000]
    # The second seed misses 19,000 times, then never: half of the steps 18,000 to 20,000.
    assert [row["regret"] for row in rows] == [[10_000, 9_500], [25_000, 9_500]]
    assert [row["late_share"] for row in rows] == [[0, 0.5], [0, 1]]
    assert rows[0]["estimate"] == 0.01
    assert study.key_of(rows[0]) == study.key_of(rows[1])


def test_what_is_there_is_not_played_again(tmp_path, monkeypatch):
    settings = [study.Setting("dep-dep", Rules(c=c), 20_000) for c in (1.0, 0.3)]
    played = []

    def play(name, games, p0):
        played.append((games.rules.c, p0))
        steps = np.arange(100, 20_100, 100)
        return Outcome(name, p0, steps, np.zeros((games.seeds, 200), int), np.zeros(games.seeds))

    monkeypatch.setattr(study, "play", play)
    for known in (settings[:1], settings):
        monkeypatch.setattr(study, "settings", lambda known=known: iter(known))
        study.run(study.StudyOptions(tmp_path, seeds=2))
    assert played == [(c, p0) for c in (1.0, 0.3) for p0 in study.P0S]
    rows = study.read(tmp_path / "study.jsonl")
    assert len(rows) == 6
    assert all(len(row["regret"]) == 2 for row in rows)


def test_the_study_plays_every_learner_at_every_setting_once():
    settings = list(study.settings())
    assert len(set(settings)) == len(settings)
    first = {(each.rules.c, each.rules.estimate) for each in settings if each.learner == "ind-dep"}
    assert {(1.0, "mean"), (0.3, 0.01)} <= first


GOOD, BAD = [1.0] * 10, [0.0] * 10


def found(regret: float, share: list[float], spread: float = 1.0) -> Found:
    return Found(regret + spread * np.linspace(-1, 1, 10), np.array(share))


def trio(dep_dep: Found, ind_dep: Found, ind_ind: Found) -> claims.Trio:
    return dict(zip(claims.LEARNERS, (dep_dep, ind_dep, ind_ind), strict=True))


def test_a_learner_converges_if_nine_seeds_of_ten_do():
    assert found(1, [1.0] * 9 + [0.0]).converges
    assert not found(1, [1.0] * 8 + [0.89] * 2).converges


def test_the_papers_claims_hold_where_they_say_so():
    paper = trio(found(100, GOOD), found(110, GOOD), found(400, GOOD, spread=50))
    assert all(holds(paper) for holds in claims.CLAIMS.values())
    far = trio(found(100, GOOD), found(130, GOOD), found(150, GOOD))
    assert claims.verdicts({0.4: paper, 0.8: far}) == ["0.4, 0.8", "0.4, 0.8", "0.4", "0.4", "0.4"]
    nobody = trio(found(900, BAD), found(900, BAD), found(900, BAD, spread=0))
    held = [name for name, holds in claims.CLAIMS.items() if holds(nobody)]
    assert held == ["ind-ind fails"]


@pytest.fixture
def rows():
    """Rows in which the paper is right at p0 = 0, and ind-ind was not played at 0.4."""
    said = {"unvisited": "first", "c": 1.0, "steps": 20_000, "late_share": GOOD}
    regret = {"dep-dep": 100, "ind-dep": 110, "ind-ind": 400}
    made = []
    for p0, learners in ((0.0, claims.LEARNERS), (0.4, claims.LEARNERS[:2])):
        for name in learners:
            for estimate in ("mean", 0.01) if name != "dep-dep" else ("mean",):
                values = [regret[name]] * 5 + [regret[name] + 1] * 5
                more = {"learner": name, "p0": p0, "estimate": estimate, "regret": values}
                made.append({**said, **more})
    return made


def test_a_reading_is_complete_when_all_three_were_played(rows):
    by_reading = claims.readings(rows)
    assert [reading.estimate for reading in by_reading] == ["mean", 0.01]
    for at in by_reading.values():
        assert list(claims.complete(at)) == [0.0]


def test_the_page_says_where_each_claim_holds(rows, tmp_path):
    (tmp_path / "study.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = claims.page(study.read(tmp_path / "study.jsonl"))
    line = next(line for line in text.splitlines() if "step 0.01" in line)
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        *("c = 1", "step 0.01", "first"),
        *("0", "0", "0", "0", "-"),
    ]
    assert "10/10" in text
