"""Searches, and the driver beneath them, in a place that only pretends to train."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coemarl.presets import paper
from coemarl.refusal import Refusal
from coemarl.runs import folder as run_folders
from coemarl.runs.folder import RunFolder
from coemarl.runs.loop import Stop
from coemarl.studies import child, driver, folder, runs, search, space, store, study, todo
from coemarl.studies.places import Place
from coemarl.studies.places.place import Heard

GRID = """
name = "hunt"
seeds = [0, 1, 2]
steps = 400
tasks = ["lbf:5x5-2p-1f"]
preset = "none"
[evaluation]
every = 100
[search]
kind = "grid"
final_tasks = ["lbf:5x5-2p-1f", "lbf:6x6-2p-1f"]
final_seeds = [0, 1, 2, 3, 4]
[[entries]]
algo = "qmix"
[entries.space]
"learner.learning_rate" = [1e-4, 3e-4, 5e-4]
"explorer.anneal_steps" = [100, 200]
"""
TPE = GRID.replace('kind = "grid"', 'kind = "tpe"\ntrials = 12')

Returns = Callable[[Any, int], float]
"""`returns(config, boundary)`: what a run pretends to earn."""


def best_at_300(config: Any, boundary: int) -> float:
    """The higher the rate the better, annealed quickly; best at step 300; seeds differ."""
    rate, anneal = config.learner.learning_rate, config.explorer.anneal_steps
    height = 1000 * rate - anneal / 1000 + config.seed / 100
    return height if boundary == 300 else height / 2


class Pretending:
    """A place whose runs write rows by a formula, a row a turn, and no nets."""

    def __init__(self, returns: Returns, slots: int = 2, breaks: Counter[str] | None = None):
        self.returns, self.slots = returns, slots
        self.breaks = breaks or Counter()
        """Name: how often it dies after its second row."""
        self.going: dict[str, tuple[RunFolder, Any]] = {}
        self.stopped: set[str] = set()
        self.started: list[str] = []

    def place(self) -> Place:
        return Place("nowhere", self.slots, self.start, self.hear, self.stopped.add, lambda: None)

    def start(self, name: str, run: RunFolder) -> None:
        self.started.append(name)
        self.going[name] = run, run_folders.read_config(run)

    def hear(self, seconds: float) -> Heard:
        heard: Heard = []
        for name, (run, config) in [*self.going.items()]:
            event = self.turn(name, run, config)
            heard.append((name, event))
            if event["event"] == "gone":
                del self.going[name]
                self.stopped.discard(name)
        return heard

    def turn(self, name: str, run: RunFolder, config: Any) -> dict[str, Any]:
        done = len(run_folders.read_rows(run.rows))
        boundary = done * config.evaluation.every
        if name in self.stopped:
            return child.gone(False, None)
        if done == 2 and self.breaks[name] > 0:
            self.breaks[name] -= 1
            return child.gone(False, "ended by SIGKILL")
        if boundary > config.steps:
            return child.gone(True, None)
        counts = dict.fromkeys(("steps", "boundary"), boundary) | {"episodes": 0, "updates": 0}
        row = {**counts, "eval/return": self.returns(config, boundary)}
        run_folders.append(run.rows, row)
        (run.checkpoints / f"step-{boundary:012d}.npz").touch()
        return {"event": "row", "row": row}


def driven(
    text: str, out: Path, where: Pretending, until: int | None = None, retries: int = 1
) -> tuple[dict[str, str], Counter[str]]:
    """Drive a study to its end, or until so many rows have come; outcomes, and events told."""
    of = study.parse(text, Path("hunt.toml"))
    place = folder.opened(out, of, text)
    chosen = runs.select(of, [], [])
    todo.planned(of, chosen)
    stop, told = Stop(), Counter[str]()

    def tell(name: str, event: dict[str, Any]) -> None:
        told[event["event"]] += 1
        if told["row"] == until:
            stop.signal = 2

    work = todo.work_of(of, chosen, place, where.slots)
    drives = driver.Driver(
        place, work, where.place(), store.Store(place.rows), tell, lambda run: 0.0, retries
    )
    outcomes = driver.drive(drives, stop)
    rows = store.rows(out)
    assert len({store.key_of(row) for row in rows}) == len(rows)
    return outcomes, told


def finals_of(out: Path) -> list[tuple[str, int]]:
    """Tasks and seeds of the final runs."""
    return sorted({(r["task"], r["seed"]) for r in store.rows(out) if r["algo"] == "qmix"})


EXPECTED_FINALS = [(task, s) for task in ("lbf:5x5-2p-1f", "lbf:6x6-2p-1f") for s in range(5)]


# Spaces


def test_a_grid_is_every_combination():
    entry = study.parse(GRID, Path("x.toml")).entries[0]
    points = [*space.space_of(entry).points()]
    assert len(points) == 6
    assert points[1] == {"learner.learning_rate": 1e-4, "explorer.anneal_steps": 200}


def test_several_grids_are_tried_one_after_another_each_point_once():
    entry = study.Entry("qmix", "qmix", space=[{"a": [1, 2]}, {"a": [2], "b": [3]}, {"a": [1]}])
    assert [*space.space_of(entry).points()] == [{"a": 1}, {"a": 2}, {"a": 2, "b": 3}]


SIZES = {
    "coe": 234,  # 3 rates, 3 k, 27 scales; all scales 0 is left out
    "coe-cond-iq": 234,
    "coe-cond-cq": 234,
    "ucb-ind": 234,
    "emc": 21,
    "maven": 108,  # 3 rates, 2 latents, 2 epsilons; 7 scales with MI reward, 2 nets without
    "qmix": 6,
}


@pytest.mark.parametrize("algo", SIZES)
def test_the_papers_spaces_have_their_sizes(algo: str):
    points = [*space.space_of(study.Entry(algo, algo, space="paper")).points()]
    assert len(points) == SIZES[algo]
    assert points == [*paper.search(algo, "lbf")]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "must be a table of lists"),
        ({"learner.learning_rate": 1e-4}, "must be a list"),
        ("papers", "no space 'papers'"),
    ],
)
def test_what_is_no_space_is_refused(said: Any, words: str):
    with pytest.raises(ValueError, match=words):
        space.space_of(study.Entry("qmix", "qmix", space=said))


def test_a_point_that_no_run_can_have_is_refused_before_anything_starts():
    of = study.parse(GRID.replace("[100, 200]", "[100, -5]"), Path("x.toml"))
    with pytest.raises(Refusal, match=r"anneal_steps.*of qmix#001, qmix#003, qmix#005"):
        todo.planned(of, runs.select(of, [], []))


def test_maximum_is_the_highest_mean_over_seeds_at_points_that_all_have():
    assert search.maximum([{0: 1.0, 1: 0.0, 2: 9.0}, {0: 0.0, 1: 2.0}]) == pytest.approx(1.0)
    assert search.maximum([{0: 1.0}, {1: 1.0}]) is None
    assert search.score([[{0: 1.0}], [{0: 3.0}]]) == pytest.approx(2.0)
    assert search.score([[{0: 1.0}], []]) is None


# Grid


def test_grid_search_runs_the_best_again_with_more_seeds_on_all_tasks(tmp_path: Path):
    outcomes, _ = driven(GRID, tmp_path / "s", Pretending(best_at_300))
    assert Counter(outcomes.values()) == {"done": 6 * 3 + 10}
    assert finals_of(tmp_path / "s") == EXPECTED_FINALS
    best = json.loads((tmp_path / "s" / "best.json").read_text())["qmix"]
    assert best["candidate"] == "qmix#004"
    assert best["options"] == {"learner.learning_rate": 5e-4, "explorer.anneal_steps": 100}
    assert best["maximum"] == pytest.approx(0.5 - 0.1 + 0.01)
    final = next(row for row in store.rows(tmp_path / "s") if row["algo"] == "qmix")
    assert json.loads(final["options"])["explorer.anneal_steps"] == 100


def test_grid_search_goes_on_where_it_was_stopped(tmp_path: Path):
    whole, out = tmp_path / "whole", tmp_path / "parts"
    driven(GRID, whole, Pretending(best_at_300))
    for until in (17, 44, 71):
        where = Pretending(best_at_300)
        driven(GRID, out, where, until)
    outcomes, _ = driven(GRID, out, where := Pretending(best_at_300))
    assert set(outcomes.values()) == {"done"}
    assert len(where.started) < 28  # what was done is not done again
    by_key = lambda path: {store.key_of(r): r["eval/return"] for r in store.rows(path)}  # noqa: E731
    assert by_key(out) == by_key(whole)


def test_a_candidate_that_fails_is_not_chosen(tmp_path: Path):
    broken = "lbf-5x5-2p-1f/qmix#004/seed-1"
    where = Pretending(best_at_300, breaks=Counter({broken: 9}))
    outcomes, told = driven(GRID, tmp_path / "s", where)
    assert outcomes[broken] == "failed"
    assert told["died"] == 3  # once with two rows gained, then twice with none
    best = json.loads((tmp_path / "s" / "best.json").read_text())["qmix"]
    assert best["candidate"] == "qmix#005"


# The driver


def test_a_run_that_gets_further_each_time_may_die_as_often_as_it_likes(tmp_path: Path):
    name = "lbf-5x5-2p-1f/qmix#000/seed-0"
    where = Pretending(best_at_300, breaks=Counter({name: 1}))
    outcomes, told = driven(GRID, tmp_path / "s", where, retries=0)
    assert told["died"] == 1
    assert outcomes[name] == "done"


def test_the_longest_run_comes_first(tmp_path: Path):
    text = GRID.partition("[search]")[0].replace(
        'tasks = ["lbf:5x5-2p-1f"]',
        'tasks = ["lbf:5x5-2p-1f", { name = "lbf:6x6-2p-1f", steps = 900 }]',
    )
    text += '[[entries]]\nalgo = "qmix"\n'
    of = study.parse(text, Path("hunt.toml"))
    place = folder.opened(tmp_path / "s", of, text)
    work = todo.work_of(of, runs.select(of, [], []), place, 1)
    where = Pretending(best_at_300, slots=1)
    cost = lambda run: float(run.config.steps)  # noqa: E731
    tell = lambda name, event: None  # noqa: E731
    into = store.Store(place.rows)
    driver.drive(driver.Driver(place, work, where.place(), into, tell, cost), Stop())
    assert [name.partition("/")[0] for name in where.started] == (
        ["lbf-6x6-2p-1f"] * 3 + ["lbf-5x5-2p-1f"] * 3
    )


# TPE


@pytest.fixture
def optuna() -> Any:
    return pytest.importorskip("optuna")


def trials_of(optuna: Any, out: Path) -> list[Any]:
    """The trials in a search's file, as optuna itself reads it."""
    backend = optuna.storages.journal.JournalFileBackend(str(out / "optuna.journal"))
    storage = optuna.storages.JournalStorage(backend)
    return optuna.load_study(study_name="qmix", storage=storage).trials


def test_tpe_gives_poor_trials_up_and_ends_with_the_best(tmp_path: Path, optuna: Any):
    out = tmp_path / "s"
    outcomes, _ = driven(TPE, out, Pretending(best_at_300))
    trials = trials_of(optuna, out)
    states = Counter(trial.state.name for trial in trials)
    assert states["COMPLETE"] + states["PRUNED"] == 12
    assert states["PRUNED"] >= 1
    assert Counter(outcomes.values())["given-up"] == states["PRUNED"]
    assert finals_of(out) == EXPECTED_FINALS
    best = json.loads((out / "best.json").read_text())["qmix"]
    complete = [trial.value for trial in trials if trial.state.name == "COMPLETE"]
    assert best["maximum"] == pytest.approx(max(complete))
    assert best["maximum"] == pytest.approx(0.41)  # the best point of six, found in 12 trials


def test_tpe_goes_on_with_its_open_trials(tmp_path: Path, optuna: Any):
    out = tmp_path / "s"
    for until in (3, 20, 30):
        driven(TPE, out, Pretending(best_at_300), until)
        assert "RUNNING" in {trial.state.name for trial in trials_of(optuna, out)}
    driven(TPE, out, Pretending(best_at_300))
    states = Counter(trial.state.name for trial in trials_of(optuna, out))
    assert states["COMPLETE"] + states["PRUNED"] == 12
    assert states["RUNNING"] == 0
    assert finals_of(out) == EXPECTED_FINALS
