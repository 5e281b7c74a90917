"""Studies as data, their store, their estimates, and what is refused before anything starts."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from coemarl import config as configs
from coemarl.refusal import Refusal
from coemarl.studies import folder, measure, runs, store, study
from coemarl.studies.overview import Overview
from coemarl.studies.store import Store

SMALL = """
seeds = [0, 1]
steps = 600
preset = "none"
tasks = ["lbf:5x5-2p-1f", { name = "lbf:6x6-2p-1f", steps = 900 }]
[evaluation]
every = 300
episodes = 4
[overrides]
"utility.hidden" = 8
[[entries]]
algo = "coe"
[[entries]]
algo = "qmix"
label = "qmix-fast"
tasks = ["lbf:6x6-2p-1f"]
overrides = { "learner.learning_rate" = 1e-2, "utility.hidden" = 16 }
"""


def small(text: str = SMALL) -> study.Study:
    return study.parse(text, Path("small.toml"))


def all_runs(of: study.Study) -> list[runs.Run]:
    return runs.expand(of, runs.select(of, [], []))


# A study as data


def test_a_study_is_the_product_of_what_it_names():
    names = [run.name for run in all_runs(small())]
    assert names == [
        "lbf-5x5-2p-1f/coe/seed-0",
        "lbf-5x5-2p-1f/coe/seed-1",
        "lbf-6x6-2p-1f/coe/seed-0",
        "lbf-6x6-2p-1f/coe/seed-1",
        "lbf-6x6-2p-1f/qmix-fast/seed-0",
        "lbf-6x6-2p-1f/qmix-fast/seed-1",
    ]


def test_later_words_win():
    by_name = {run.name: run.config for run in all_runs(small())}
    coe, fast = by_name["lbf-5x5-2p-1f/coe/seed-1"], by_name["lbf-6x6-2p-1f/qmix-fast/seed-0"]
    assert (coe.steps, fast.steps) == (600, 900)
    assert (coe.utility.hidden, fast.utility.hidden) == (8, 16)
    assert (coe.learner.learning_rate, fast.learner.learning_rate) == (5e-4, 1e-2)
    assert (coe.evaluation.every, coe.evaluation.episodes, coe.seed) == (300, 4, 1)


def test_a_preset_gives_each_task_its_benchmarks_values():
    text = SMALL.replace('"none"', '"paper"').replace('"lbf:5x5-2p-1f", ', '"mpe:spread", ')
    by_task = {run.config.task: run.config for run in all_runs(small(text)) if run.label == "coe"}
    assert by_task["mpe:spread"].learner.learning_rate == 1e-4
    assert by_task["lbf:6x6-2p-1f"].learner.learning_rate == 3e-4
    assert by_task["mpe:spread"].utility.hidden == 8  # the study's own word wins


def test_a_part_of_a_study_is_chosen_by_name():
    of = small()
    part = runs.select(of, ["lbf:6x6-2p-1f"], ["qmix-fast"])
    assert [(entry.label, task) for entry, task in part] == [("qmix-fast", "lbf:6x6-2p-1f")]


REFUSED = {
    "tasks is missing": SMALL.replace("tasks = [", "tusks = [", 1),
    "no 'sedes' (perhaps seeds)": "sedes = [1]\n" + SMALL,
    "entry {'label': 'x'} has no algo": SMALL + "\n[[entries]]\nlabel = 'x'",
    "label coe is there twice": SMALL + "\n[[entries]]\nalgo = 'coe'",
    "seed 1 is there twice": SMALL.replace("[0, 1]", "[1, 1]"),
    "a study's seeds is [0.5]: it must be a list of whole numbers": SMALL.replace(
        "[0, 1]", "[0.5]"
    ),
    "a study's steps is 0: it must be a whole number above 0": SMALL.replace("600", "0", 1),
    "names task lbf:7x7-2p-1f, which the study has not": SMALL.replace(
        'tasks = ["lbf:6x6-2p-1f"]', 'tasks = ["lbf:7x7-2p-1f"]'
    ),
    "label 'a/b' is no name for a folder": SMALL.replace("qmix-fast", "a/b"),
    "is not TOML": SMALL + "=",
    "has a space, but the study no [search]": SMALL + '\nspace = "paper"',
    "no algorithm mavin, emz; there are coe": SMALL.replace('"coe"', '"mavin"').replace(
        '"qmix"', '"emz"'
    ),
    "no task 'chess:4'": SMALL.replace('"lbf:5x5-2p-1f"', '"chess:4"'),
    "no preset 'papper'": SMALL.replace('"none"', '"papper"'),
    "IndependentOptions has no 'hiden'": SMALL.replace(
        '"utility.hidden" = 8', '"utility.hiden" = 8'
    ),
    "utility.hidden is 'big': it must be such as": SMALL.replace(
        '"utility.hidden" = 8', '"utility.hidden" = "big"'
    ),
    "learner.batch_size 64 is more than replay.capacity 32": SMALL.replace(
        '"utility.hidden" = 8', '"learner.batch_size" = 64\n"replay.capacity" = 32'
    ),
    "learner.discount is 2.0": SMALL.replace('"utility.hidden" = 8', '"learner.discount" = 2'),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(words: str):
    with pytest.raises(Refusal) as refused:
        all_runs(small(REFUSED[words]))
    said = str(refused.value)
    assert words in said
    assert "\n" not in said


def test_all_problems_are_told_at_once():
    text = SMALL.replace('"lbf:5x5-2p-1f"', '"chess:4"').replace("= 1e-2", "= -1.0")
    with pytest.raises(Refusal, match=r"chess:4.*learner.learning_rate is -1.0"):
        all_runs(small(text))


def test_unknown_names_of_studies_and_parts():
    with pytest.raises(Refusal, match=r"no study 'table1-shrt' \(perhaps table1-short\)"):
        study.load("table1-shrt")
    with pytest.raises(Refusal, match=r"has no entry 'qmix': it has coe, qmix-fast"):
        runs.select(small(), [], ["qmix"])
    with pytest.raises(Refusal, match="nothing of study small is left"):
        runs.select(small(), ["lbf:5x5-2p-1f"], ["qmix-fast"])


@pytest.mark.parametrize("name", study.shipped())
def test_every_study_that_comes_with_the_package_can_be_read(name: str):
    found = study.load(name)
    assert found.name == name
    assert found.summary
    assert runs.select(found, [], [])


# The folder


def test_a_run_that_is_there_is_kept_extended_or_refused(tmp_path: Path):
    of = small()
    place = folder.opened(tmp_path / "s", of, SMALL)
    run = all_runs(of)[0]
    folder.made(place, run)
    folder.check_same(place, run)
    longer = runs.Run(run.label, configs.replace(run.config, {"steps": 1200}))
    folder.check_same(place, longer)
    assert json.loads(folder.made(place, longer).config.read_text())["steps"] == 1200
    with pytest.raises(Refusal, match=r"was made with steps 1200, and the study says 600"):
        folder.check_same(place, run)
    other = runs.Run(run.label, configs.replace(longer.config, {"learner.discount": 0.5}))
    with pytest.raises(Refusal, match=r"made with learner.discount 0\.99, and the study says 0\.5"):
        folder.check_same(place, other)


def test_a_folder_half_made_by_a_killed_driver_is_made_again(tmp_path: Path):
    of = small()
    place = folder.opened(tmp_path / "s", of, SMALL)
    run = all_runs(of)[0]
    place.run(run).checkpoints.mkdir(parents=True)
    place.run(run).origin.write_text("[")
    assert folder.made(place, run).config.is_file()


def test_a_study_does_not_go_into_the_folder_of_another(tmp_path: Path):
    folder.opened(tmp_path / "s", small(), SMALL)
    again = study.load(str(tmp_path / "s"))
    assert again == small()  # its name too, though the file is called study.toml
    other = study.parse(SMALL, Path("other.toml"))
    with pytest.raises(Refusal, match="holds study small"):
        folder.opened(tmp_path / "s", other, SMALL)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(Refusal, match="not empty and holds no study"):
        folder.opened(tmp_path / "full", other, SMALL)


# The store


def rows_of(seed: int, points: int = 5) -> list[store.Row]:
    names = {"task": "t", "algo": "coe#1", "algorithm": "coe", "seed": seed}
    said = {"options": "{}", "commit": None, "version": "1", "command": "coe"}
    return [
        {**names, "boundary": b, "steps": b, "episodes": b, "updates": 0, "eval/return": b / 2}
        | ({"explorer/é": None} if seed else {})
        | said
        for b in range(points)
    ]


def test_a_row_is_written_once_whoever_writes_it(tmp_path: Path):
    one, two = Store(tmp_path / store.FILE), Store(tmp_path / store.FILE)
    assert one.publish(rows_of(0)) == 5
    assert two.publish([*rows_of(0), *rows_of(1, 3)]) == 3
    assert one.publish(rows_of(1)) == 2
    assert one.publish(rows_of(1)) == 0
    assert store.rows(tmp_path) == rows_of(0) + rows_of(1)


def test_a_crash_at_any_byte_of_a_write_loses_nothing_and_doubles_nothing(tmp_path: Path):
    whole = Store(tmp_path / "whole")
    whole.publish(rows_of(0, 2))
    first = (tmp_path / "whole").stat().st_size
    whole.publish(rows_of(1, 2))
    data = (tmp_path / "whole").read_bytes()
    for cut in [*range(first, len(data), 7), len(data) - 1, len(data)]:
        torn = tmp_path / "torn"
        torn.write_bytes(data[:cut])
        assert store.rows(torn) == [json.loads(line) for line in data[:cut].split(b"\n")[:-1]]
        Store(torn).publish(rows_of(1, 2))
        assert torn.read_bytes() == data


WRITER = """
import json, sys
from pathlib import Path
from coemarl.studies.store import Store
store, rows = Store(Path(sys.argv[1])), json.loads(sys.argv[2])
print("ready", flush=True)
while True:
    for seed in range(1000):
        for row in rows:
            store.publish([row | {"seed": seed}])
"""


def test_many_writers_killed_at_random_leave_each_row_once(tmp_path: Path):
    path = tmp_path / store.FILE
    words = [sys.executable, "-c", WRITER, str(path), json.dumps(rows_of(0, 3))]
    writers = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        writer.stdout.close()
    for number, writer in enumerate(writers, 1):
        while not path.exists() or path.stat().st_size < 4321 * number:
            assert writer.poll() is None
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    written = store.rows(path)
    Store(path).publish(row | {"seed": seed} for seed in range(40) for row in rows_of(0, 3))
    final = store.rows(path)
    assert final[: len(written)] == written  # nothing that was there is gone
    keys = [store.key_of(row) for row in final]
    assert len(keys) == len(set(keys)) >= 120


def test_polars_reads_the_store_in_one_line(tmp_path: Path):
    polars = pytest.importorskip("polars")
    Store(tmp_path / store.FILE).publish([*rows_of(0, 300), *rows_of(1)])
    frame = polars.read_ndjson(tmp_path / store.FILE, infer_schema_length=None)
    assert frame.height == 305
    assert "explorer/é" in frame.columns  # met first behind row 100
    ours = store.table(tmp_path)
    assert ours.columns[:4] == ["task", "algo", "algorithm", "seed"]
    assert ours.columns[-4:] == list(store.LAST)
    assert ours["seed"].to_list() == [0] * 300 + [1] * 5
    assert store.table(tmp_path / "none").height == 0


def test_a_damaged_store_is_said(tmp_path: Path):
    (tmp_path / store.FILE).write_text("{}\n")
    with pytest.raises(Refusal, match="is not a row"):
        store.rows(tmp_path)


# Estimates


def test_speeds_follow_from_a_row_and_a_column():
    a, b, c = (measure.Speed(s, s, s) for s in (1.0, 2.0, 3.0))
    there = {("t1", "coe"): a, ("t1", "emc"): b, ("t2", "coe"): c}
    pairs = [("t1", "coe"), ("t1", "emc"), ("t2", "coe"), ("t2", "emc"), ("t3", "emc")]
    assert measure.cross(pairs)[:3] == [("t1", "coe"), ("t2", "coe"), ("t3", "emc")]
    speeds = measure.completed(there, pairs)
    assert speeds[("t2", "emc")].seconds_per_step == pytest.approx(6.0)
    assert ("t3", "emc") not in speeds


def test_only_what_is_needed_is_measured_and_only_once(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("COEMARL_CACHE", str(tmp_path))
    asked: list[str] = []

    def measured(config) -> measure.Speed:
        asked.append(f"{config.algo} {config.task}")
        return measure.Speed(10.0, 0.01, 2.0)

    todo = all_runs(small(SMALL.replace('tasks = ["lbf:6x6-2p-1f"]\n', "")))
    for _ in range(2):
        speeds = measure.survey(todo, lambda text: None, measured)
    assert asked == ["coe lbf:5x5-2p-1f", "coe lbf:6x6-2p-1f", "qmix lbf:5x5-2p-1f"]
    assert speeds["lbf:6x6-2p-1f", "qmix-fast"].seconds_per_step == pytest.approx(0.01)
    # 10 to compile, 600 steps of 0.01, evaluations of 2 at 0, 300 and 600
    assert speeds["lbf:5x5-2p-1f", "coe"].seconds(todo[0].config) == pytest.approx(22.0)
    by_length = sorted(todo, key=measure.costs(todo), reverse=True)
    assert by_length[0].config.steps == 900


def test_time_on_two_cores_longest_first():
    assert measure.elapsed([3.0, 3.0, 2.0, 2.0, 2.0], 2) == pytest.approx(7.0)
    assert measure.elapsed([5.0], 4) == pytest.approx(5.0)


# The overview


def test_the_table_shows_phases_means_and_failures():
    overview = Overview()
    todo = all_runs(small())
    for run in todo:
        overview.hear(run.name, {"event": "waits", "run": run, "rows": []})
    for seed, value in ((0, 0.25), (1, 0.75)):
        row = {"boundary": 0, "steps": 0, "eval/return": value}
        overview.hear(todo[seed].name, {"event": "begun"})
        overview.hear(todo[seed].name, {"event": "row", "row": row})
    overview.hear(todo[0].name, {"event": "done"})
    overview.hear(todo[1].name, {"event": "died", "why": "x", "again": False})
    overview.hear(todo[1].name, {"event": "failed", "why": "x"})
    lines = overview.lines(80)
    assert all(len(line) <= 80 for line in lines)
    assert "1/2 1!" in lines[1]
    assert " 0.5 " in lines[1]  # the mean of both
    assert lines[-1] == "6 runs: 1 done, 1 failed, 4 waits"


def test_the_command_line_refuses_in_sentences(tmp_path: Path, capsys: pytest.CaptureFixture):
    from coemarl.cli import main

    path = tmp_path / "small.toml"
    path.write_text(textwrap.dedent(SMALL))
    for words, said in {
        "study": "usage",
        "study start x": "no command 'study start'",
        "study list table1": "takes no words",
        "study run nothing": "no study 'nothing'",
        f"study run {path} --algos emc": "has no entry 'emc'",
        f"study run {path} --workers 0": "--workers is 0",
        f"study run {path} --on moon": "moon",
        f"study run {path} --out {path}": "cannot write",
        f"study status {path} --out {tmp_path}/none": "no folder",
    }.items():
        assert main(words.split()) == 2
        printed = capsys.readouterr()
        assert said in printed.out + printed.err
        assert "Traceback" not in printed.err
