"""The command line: what each command prints, and one sentence for each wish it cannot meet."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from coemarl.cli import COMMANDS, main

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


def test_every_public_name_is_there():
    import coemarl

    assert all(getattr(coemarl, name) is not None for name in coemarl.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = coemarl.nothing  # type: ignore[attr-defined]
