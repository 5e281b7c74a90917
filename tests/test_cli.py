"""The command line: what each command prints, and one sentence for each wish it cannot meet."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from coemarl.cli import COMMANDS, main
from coemarl.runs import checkpoint

TINY = [
    *("lbf:5x5-2p-1f", "--steps", "100", "--evaluation.every", "50", "--evaluation.episodes", "2"),
    *("--utility.hidden", "4", "--mixer.embedding", "4", "--mixer.hypernet", "4"),
    *("--learner.batch-size", "2", "--replay.capacity", "8", "--env.episode-limit", "10"),
    *("--explorer.counts.k", "4", "--progress", "none"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The folder of a complete run."""
    path = tmp_path_factory.mktemp("runs") / "tiny" / "seed-0"
    assert main(["train", *TINY, "--out", str(path)]) == 0
    return path


def said(capsys, *words: object) -> str:
    """What a command that succeeds prints on standard output, every line at most 80 columns."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    return out


def fits(text: str) -> bool:
    """Whether no line but those with a path needs more than 80 columns."""
    return all(len(line) <= 80 or "/" in line for line in text.splitlines())


def read_json(capsys, *words: object):
    return json.loads(said(capsys, *words, "--json"))


# Lists


@pytest.mark.parametrize("what", ["tasks", "algorithms", "presets"])
def test_lists_fit_and_parse(capsys, what):
    text = said(capsys, "list", what)
    assert fits(text)
    records = read_json(capsys, "list", what)
    for record in records:
        assert record["name"] in text


def test_a_list_of_tasks_says_their_sizes(capsys):
    tasks = {task["name"]: task for task in read_json(capsys, "list", "tasks")}
    assert tasks["lbf:10x10-3p-3f"]["spec"]["num_agents"] == 3


def test_a_list_of_algorithms_says_their_parts(capsys):
    rows = {row["name"]: row for row in read_json(capsys, "list", "algorithms")}
    assert (rows["coe"]["mixer"], rows["coe"]["explorer"]) == ("qmix", "coe")


def test_a_list_of_presets_says_each_value_with_its_table(capsys):
    (paper,) = [row for row in read_json(capsys, "list", "presets") if row["name"] == "paper"]
    tables = {(row["table"], path) for row in paper["rows"] for path in row["values"]}
    assert ("tab:apx-hyperparam-coe", "explorer.c_act") in tables
    assert "explorer.c_act" in said(capsys, "list", "presets")


def test_a_list_of_runs_says_how_far_each_is(capsys, trained):
    (record,) = read_json(capsys, "list", "runs", trained.parent)
    assert record["folder"] == str(trained)
    assert (record["complete"], record["training now"]) == (True, False)
    text = said(capsys, "list", "runs", trained.parent)
    assert "done" in text
    assert "100%" in text


# Judging and watching


def test_eval_makes_the_last_evaluation_again(capsys, trained):
    (record,) = read_json(capsys, "eval", trained)
    last = json.loads((trained / "rows.jsonl").read_text().splitlines()[-1])
    shown = {name: value for name, value in last.items() if name.startswith("eval/")}
    assert shown.items() <= record.items()
    text = said(capsys, "eval", trained)
    assert fits(text)
    assert all(name in text for name in shown)


def test_eval_takes_other_episodes_and_an_earlier_checkpoint(capsys, trained):
    steps = [int(path.stem[5:]) for path in sorted((trained / "checkpoints").iterdir())]
    words = ("eval", trained, "--episodes", 3, "--seed", 5, "--checkpoint", steps[0])
    (record,) = read_json(capsys, *words)
    assert (record["steps"], record["episodes"]) == (steps[0], 3)


def test_eval_of_a_script_is_the_same_each_time(capsys):
    words = ("eval", "lbf:5x5-2p-1f", "--policy", "random", "--episodes", 20)
    (first,), (again,) = read_json(capsys, *words), read_json(capsys, *words)
    assert first == again
    assert 0 < first["eval/return"] <= 1
    assert first["eval/length"] < 50


def test_watch_writes_a_film(capsys, trained, tmp_path):
    import imageio.v3 as imageio

    path = tmp_path / "film.gif"
    record = read_json(capsys, "watch", trained, "--out", path, "--episodes", 2)
    film = imageio.imread(path)
    assert len(film) == record["pictures"] <= 2 * 11
    assert (film[0] != film[-1]).any()
    assert said(capsys, "watch", trained).strip() == str(trained / "episodes.gif")


# Starting up


def test_help_names_every_command_within_80_columns(capsys):
    text = said(capsys, "--help")
    assert fits(text)
    assert all(f"  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("command", ["train", "eval", "watch", "list", "demo", "doctor", "export"])
def test_help_of_a_command_fits_and_is_no_error(capsys, command):
    with pytest.raises(SystemExit) as leaving:
        main([command, "--help"])
    assert not leaving.value.code
    text = capsys.readouterr().out
    assert text.startswith(f"usage: coe {command}")
    assert all(len(line) <= 80 for line in text.splitlines()[1:])  # the usage aside


QUIET = """
import sys
import coemarl
assert not {"jax", "numpy"} & set(sys.modules), "import coemarl brings jax"
from coemarl.cli import main
assert main(["--help"]) == 0
assert not {"jax", "numpy", "tyro", "rich"} & set(sys.modules), "coe --help brings much"
"""


def test_importing_is_silent_and_light_and_so_is_help():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: coe")
    assert done.stderr == ""


@pytest.mark.parametrize("words", [["--help"], ["list", "algorithms"], ["eval", "--help"]])
def test_a_reader_that_leaves_early_is_no_error(words):
    program = [sys.executable, "-m", "coemarl", *words]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (1, b"")


def test_every_public_name_is_there():
    import coemarl

    assert all(getattr(coemarl, name) is not None for name in coemarl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = coemarl.nothing  # type: ignore[attr-defined]


def test_doctor_says_what_is_here(capsys):
    found = read_json(capsys, "doctor")
    versions = {package["name"]: package["version"] for package in found["packages"]}
    assert versions["jax"]
    assert found["cores"] >= 1
    text = said(capsys, "doctor")
    assert fits(text)
    assert "cpu" in text


def test_doctor_says_what_a_run_would_need(capsys):
    words = ("doctor", "lbf:10x10-3p-3f", "--algo", "qmix", "--replay.capacity")
    few, many = read_json(capsys, *words, 500), read_json(capsys, *words, 5000)
    size = {part["part"]: part["bytes"] for part in many["parts"]}
    assert size["replay"] < 60 * 2**20
    assert many["total bytes"] - few["total bytes"] > 0.8 * size["replay"]
    assert fits(said(capsys, *words, 500))


def test_demo_settings_make_a_run():
    from coemarl.cli import demo
    from coemarl.training import make_parts

    make_parts(demo.configured(demo.DemoOptions()))


def test_demo_shows_what_came_of_it(capsys, tmp_path, monkeypatch):
    from coemarl.cli import demo

    monkeypatch.setattr(demo, "TASK", "lbf:5x5-2p-1f")
    small = {"utility.hidden": 4, "mixer.embedding": 4, "mixer.hypernet": 4, "environments": 1}
    monkeypatch.setattr(demo, "SETTINGS", {**small, "evaluation.episodes": 2})
    out = tmp_path / "shown"
    found = read_json(capsys, "demo", "--steps", 100, "--seeds", 3, "--out", out)
    assert [run["seed"] for run in found["runs"]] == [3]
    assert found["runs"][0]["complete"]
    for name in ("curve", "episode"):
        assert Path(found[name]).stat().st_size > 1000
    assert "holds a complete demo" in refused(capsys, "demo", "--out", out)


# Wishes that cannot be met: the words, and what the sentence must say. {run} is a complete run,
# {file} a file, {empty} an empty folder.

TASK = "train lbf:5x5-2p-1f"
WRONG = [
    # no such thing
    ("trian", "no command 'trian'"),
    ("train", "no task given"),
    ("train chess:8x8", "a task is FAMILY:NAME"),
    ("train lbf:10x10", "a name is like 10x10-3p-3f"),
    ("train lbf:10x10-3p-3f-v4", "there are v2 and v3"),
    ("train Foraging-8x8-2p-2f", "Foraging-8x8-2p-2f-coop-v2"),
    ("train mpe:nothing", "no particle game"),
    (f"{TASK} --algo qmixx", "no algorithm 'qmixx'"),
    (f"{TASK} --preset papr", "no preset 'papr'"),
    (f"{TASK} --preset paper --algo iql", "no settings of iql"),
    ("eval {empty}/nowhere", "no folder"),
    ("eval {empty}", "holds no run"),
    ("eval {file}", "holds no run"),
    ("eval lbf:5x5-2p-1f --policy wise", "there are random"),
    ("eval {run} --checkpoint 7", "keeps no checkpoint of step 7"),
    ("list everything", "choose tasks, algorithms, presets or runs"),
    ("list runs {empty}", "holds no run"),
    ("export {empty}/nowhere", "no folder"),
    ("watch {empty}/nowhere", "no folder"),
    ("train --resume {empty}/nowhere", "no folder"),
    ("train --resume {empty}", "holds no run"),
    ("train --resume {file}", "holds no run"),
    ("doctor chess", "a task is FAMILY:NAME"),
    # options that are not there, or are given no value or one of another kind
    (f"{TASK} --stepz 5", "perhaps --steps"),
    (f"{TASK} --algo", "--algo is given no value"),
    (f"{TASK} --steps many", "--steps is 'many': it must be a whole number"),
    (f"{TASK} --steps 1e6", "--steps is '1e6': it must be a whole number"),
    (f"{TASK} --learner.discount half", "must be a number"),
    (f"{TASK} --env.sight far", "a whole number or None"),
    (f"{TASK} --env.mask some", "choose all or legal"),
    (f"{TASK} --learner.target-update never", "choose soft or hard"),
    (f"{TASK} --replay.dtype float8", "choose float32, float16 or bfloat16"),
    (f"{TASK} --progress loud", "choose auto, json or none"),
    (f"{TASK} --seed one", "--seed is 'one'"),
    (f"{TASK} --seeds 1 x", "--seeds"),
    (f"{TASK} --seeds", "names no seed"),
    (f"{TASK} extra", "not understood: extra"),
    (f"{TASK} --algo qmix --explorer.c-act 1", "not understood: --explorer.c-act 1"),
    ("train --resume", "--resume is given no value"),
    ("train --resume {run} --steps 5", "not understood: --steps 5"),
    ("eval", "RUN is missing"),
    ("eval {run} another", "not understood: another"),
    ("eval {run} --episodes few", "a whole number or None"),
    ("list", "WHAT is missing"),
    ("export", "no run given"),
    # values out of range
    ("train lbf:2x2-2p-1f", "rows and columns are 3 to 128"),
    ("train lbf:5x5-2p-99f", "takes 1 to 9"),
    ("train lbf:5x5-40p-1f", "takes 1 to 24 players"),
    (f"{TASK} --steps 0", "steps is 0"),
    (f"{TASK} --seed -1", "must be from 0"),
    (f"{TASK} --seed 4294967296", "must be from 0"),
    (f"{TASK} --seeds -1 2", "must be from 0"),
    (f"{TASK} --learner.learning-rate nan", "must be above 0"),
    (f"{TASK} --learner.learning-rate inf", "must be above 0"),
    (f"{TASK} --learner.discount 1.5", "between 0 and 1"),
    (f"{TASK} --environments 0", "must be above 0"),
    (f"{TASK} --updates-per-rollout 0", "must be above 0"),
    (f"{TASK} --evaluation.every 0", "must be above 0"),
    (f"{TASK} --evaluation.episodes 0", "must be above 0"),
    (f"{TASK} --utility.hidden 0", "at least 1"),
    (f"{TASK} --mixer.embedding -1", "at least 1"),
    (f"{TASK} --explorer.c-act -1", "at least 0"),
    (f"{TASK} --explorer.counts.k 99", "1 to 32 bits"),
    (f"{TASK} --explorer.counts.width 1000", "power of two"),
    (f"{TASK} --algo qmix --explorer.start 2", "lies in 0 to 1"),
    (f"{TASK} --env.penalty -1", "at least 0"),
    (f"{TASK} --env.episode-limit 0", "at least 1"),
    (f"{TASK} --keep 0", "at least 1 checkpoint"),
    ("eval {run} --episodes 0", "must be above 0"),
    ("eval {run} --seed -3", "must be from 0"),
    ("eval lbf:5x5-2p-1f --policy random --seed -1", "must be from 0"),
    ("eval lbf:5x5-2p-1f --policy random --episodes 0", "must be above 0"),
    ("watch {run} --episodes 0", "must be above 0"),
    ("watch {run} --fps nan", "at most 50"),
    ("watch {run} --out film.mp4", "must end in .gif"),
    ("demo --steps 0", "must be above 0"),
    # combinations that make no sense
    ("train lbf:5x5-2p-1f lbf:6x6-2p-1f", "two tasks are named"),
    (f"{TASK} --task lbf:6x6-2p-1f", "two tasks are named"),
    (f"{TASK} --seed 1 --seeds 1 2", "choose one of them"),
    (f"{TASK} --seeds 1 1", "names a seed twice"),
    (f"{TASK} --resume {{run}}", "leave out lbf:5x5-2p-1f"),
    (f"{TASK} --learner.batch-size 64 --replay.capacity 32", "without replacement"),
    (f"{TASK} --environments 6000", "one rollout must fit"),
    (f"{TASK} --env.max-food-level 3", "rules v3 only"),
    (f"{TASK} --explorer.counts.kind dense --explorer.counts.k 32", "use kind 'sketch'"),
    ("eval lbf:5x5-2p-1f", "name its --policy"),
    ("eval lbf:5x5-2p-1f --policy random --checkpoint 3", "a scripted team has none"),
    ("demo --seeds 1 1", "names a seed twice"),
    # too much memory, and places that cannot be written
    (f"{TASK} --replay.capacity 900000000", "lower --replay.capacity"),
    (f"{TASK} --out {{file}}", "not an empty folder"),
    (f"{TASK} --out {{file}}/run", "cannot write to"),
    (f"{TASK} --seeds 0 1 --out {{file}}/run", "cannot write to"),
    (f"{TASK} --out {{run}}", "holds a run already"),
    ("watch {run} --out {file}/film.gif", "is no folder"),
    ("export {run} --out {file}/table.jsonl", "is no folder"),
    ("demo --out {file}/demo", "cannot write to"),
]


def refused(capsys, *words: object) -> str:
    """The one sentence by which the words are refused."""
    capsys.readouterr()
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("coe: ")
    assert err.count("\n") == 1
    assert len(err) < 400
    return err


@pytest.fixture(scope="module")
def places(trained, tmp_path_factory) -> dict[str, Path]:
    """What the wrong words speak of."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "file").write_text("not a run")
    (folder / "empty").mkdir()
    return {"run": trained, "file": folder / "file", "empty": folder / "empty"}


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_wrong_words_are_refused_in_a_sentence(
    capsys, monkeypatch, tmp_path, places, words, sentence
):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, *words.format(**places).split())
    assert not any(tmp_path.rglob("config.json"))


DAMAGES = [
    # the file, what becomes of it, the command, what the sentence must say
    ("config.json", "{", "train --resume", "config.json is damaged"),
    ("config.json", "[1]", "eval", "config.json is damaged"),
    ("config.json", '{"task": 5, "algo": "coe"}', "eval", "config.json is damaged"),
    ("config.json", '{"task": "lbf:5x5-2p-1f", "algo": "new"}', "eval", "no algorithm 'new'"),
    ("config.json", '"steps": "many"', "list runs", "something like"),
    ("config.json", '"stepz": 5', "eval", "has no 'stepz'"),
    ("rows.jsonl", "no row\n", "list runs", "line 1 is not a row"),
    ("rows.jsonl", "[1]\n", "export", "line 1 is not a row"),
    ("rows.jsonl", '{"steps": 5}\n', "list runs", "line 1 has no 'boundary'"),
    ("rows.jsonl", "", "train --resume", "shorter than when the checkpoint was made"),
    ("origin.json", "{}", "export", "not a list of records"),
    ("checkpoints", "cut", "train --resume", "no checkpoint in"),
    ("checkpoints", "cut", "watch", "no checkpoint in"),
    ("checkpoints", "other", "eval", "no checkpoint in"),
    ("checkpoints", "none", "eval", "no checkpoint yet"),
]


@pytest.mark.parametrize(("name", "damage", "command", "sentence"), DAMAGES)
def test_a_damaged_run_is_refused_in_a_sentence(
    capsys, trained, tmp_path, name, damage, command, sentence
):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    for path in (run / name).iterdir() if name == "checkpoints" else [run / name]:
        if damage == "none":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(path.read_bytes()[:-100])
        elif damage == "other":
            checkpoint.save(path, {"other": jax.numpy.zeros(3)}, {"steps": 1})
        elif damage.startswith('"'):  # one choice of the configuration becomes another
            path.write_text(re.sub(r'"steps": \d+', damage, path.read_text()))
        else:
            path.write_text(damage)
    capsys.readouterr()
    assert main([*command.split(), str(run)]) == 2
    *notes, sentence_said = capsys.readouterr().err.splitlines()
    assert all("note: " in note for note in notes)
    assert sentence_said.startswith("coe: ")
    assert sentence in sentence_said


def test_an_older_checkpoint_is_used_where_the_newest_is_damaged(capsys, trained, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    older, newest = sorted((run / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:-1])
    (record,) = read_json(capsys, "eval", run)
    assert record["steps"] == int(older.stem[5:])
