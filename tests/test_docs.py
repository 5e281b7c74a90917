"""What the documents say is so: metrics are defined, and worked examples work as written."""

import dataclasses
import functools
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import coemarl.explorers
from coemarl import config as configs
from coemarl import tasks
from coemarl.algorithms import ALGORITHMS
from coemarl.cli import main
from coemarl.explorers.explorer import Advice, Moment
from coemarl.learner import Losses
from coemarl.tasks import make_task
from coemarl.tasks.contract import check
from coemarl.tasks.task import Task
from coemarl.training import make_parts
from conftest import REPO
from small import SIZES, TASK, small_config, small_trainer

DOCS = REPO / "docs"


def blocks(page: str, language: str = "python") -> list[str]:
    """The code of a page, block by block."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


# Metrics


def defined() -> set[str]:
    """Names in the first column of the tables of metrics."""
    cells = re.findall(r"(?m)^\| (`.*?) \|", (DOCS / "metrics.md").read_text())
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def as_defined(name: str, infos: set[str]) -> str:
    """The name under which the page has a metric."""
    kind, _, rest = name.partition("/")
    return f"{kind}/INFO" if rest in infos else name


def test_every_metric_of_a_real_row_is_defined() -> None:
    trainer = small_trainer()
    state = trainer.advance(trainer.init(), 8)
    infos = {name for name, _ in trainer.spec.infos}
    row = {**trainer.evaluate(state), **trainer.read_metrics(state)[0]}
    assert len(row) > 15
    assert {as_defined(name, infos) for name in row} <= defined()
    assert infos <= defined()


def test_every_metric_of_every_algorithm_is_defined() -> None:
    names = {f"train/{name}" for name in Losses._fields}
    for algo in ALGORITHMS:
        explorer = make_parts(configs.default_config(TASK, algo)).explorer
        metrics = jax.eval_shape(lambda e=explorer: e.metrics(e.init(jax.random.key(0))))
        names |= {f"explorer/{name}" for name in metrics}
    assert len(names) > len(Losses._fields)
    assert names <= defined()


def test_every_scalar_of_every_task_is_defined() -> None:
    for family, (module, _) in tasks.FAMILIES.items():
        for name in importlib.import_module(module).EXAMPLES:
            infos = {info for info, _ in make_task(name).spec.infos}
            assert infos <= defined(), family


def test_timing_is_defined() -> None:
    source = (REPO / "src/coemarl/runs/loop.py").read_text()
    timing = re.search(r"timing = \{(.*?)\}", source, re.DOTALL)
    assert timing is not None
    names = set(re.findall(r'"(\w+)":', timing[1]))
    assert len(names) == 5
    assert names <= defined()


# A task of one's own


@pytest.fixture
def corridor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page's file in the current folder, and its name."""
    (tmp_path / "corridor.py").write_text(blocks("add-a-task.md")[0])
    monkeypatch.chdir(tmp_path)
    return "./corridor.py:5"


def test_the_tasks_example_keeps_the_contract(corridor: str) -> None:
    exec(blocks("add-a-task.md")[1])  # the check, as the page has it
    task = make_task(corridor)
    assert make_task(corridor.removeprefix("./")).spec == task.spec
    state, seen = (jnp.array([3, 0, 4]), jnp.int32(0)), None
    for actions, reward in (([2, 1, 3], 0.0), ([3, 2, 3], 0.0)):
        state, seen = task.step(jax.random.key(0), state, jnp.array(actions))
        assert float(seen.reward) == reward
    state, seen = task.step(jax.random.key(0), (jnp.full(3, 4), jnp.int32(3)), jnp.full(3, 3))
    assert (float(seen.reward), bool(seen.terminated), bool(seen.truncated)) == (1, True, False)
    assert seen.avail.tolist() == [[True, True, False, True]] * 3


def test_the_tasks_example_trains_and_is_drawn(
    corridor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {k: v for k, v in SIZES.items() if not k.startswith("env")} | {"steps": 60}
    options = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    small = ["--env.agents", "2", "--env.episode-limit", "6", "--progress", "none", "--json"]
    assert main(["train", "--algo", "iql", corridor, *options, *small]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["folder"] == str(Path("runs/corridor.py-5/iql/seed-0"))
    assert summary["complete"]
    view = tasks.view_of(corridor)
    assert view is not None
    places = jnp.array([0, 3])
    picture = view.frame(tasks.task_options(corridor, agents=2), (places, 0), 0, "")
    assert picture.shape == (80, 200, 3)
    assert picture[40, 3 * 40].tolist() == [40, 60, 140]
    assert picture.dtype == np.uint8


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nowhere.py:5", "no file ./nowhere.py"),
        ("./corridor.py:wide", "no number of cells"),
        ("./corridor.py:1", "at least 2"),
        ("./empty.py", "empty.py has no Options"),
        ("./plain.py:5", "plain.py has no parse"),
        ("no.such.module:5", "no module no.such.module"),
        ("corridor:5", "a file of yours"),
    ],
)
def test_names_of_files_that_say_nothing(
    corridor: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.py").write_text("")
    whole = Path("corridor.py").read_text()
    Path("plain.py").write_text(whole.replace("def parse", "def parse_not"))
    assert main(["train", name]) == 2
    assert said in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_file_without_parse_has_its_defaults(corridor: str) -> None:
    Path("bare.py").write_text(Path("corridor.py").read_text().replace("def parse", "def unused"))
    assert tasks.task_options("./bare.py").cells == 5


def test_an_installed_module_is_a_family(corridor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path("lab_of_tests")
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "walks.py").write_text(Path("corridor.py").read_text())
    monkeypatch.syspath_prepend(str(Path.cwd()))
    assert make_task("lab_of_tests.walks:4").spec.name == "corridor.py:4"
    for name in ("lab_of_tests.walks", "lab_of_tests"):
        sys.modules.pop(name)


def broken(task: Task, **changes: Any) -> Task:
    """The task with something else shown at every moment, or another spec."""
    said = {name: value for name, value in changes.items() if not callable(value)}
    shows = {name: value for name, value in changes.items() if callable(value)}

    def showing(function: Any) -> Any:
        def shown(*arguments: Any) -> Any:
            state, seen = function(*arguments)
            return state, seen._replace(**{n: change(seen) for n, change in shows.items()})

        return shown

    spec = dataclasses.replace(task.spec, **said)
    return Task(spec, showing(task.reset), showing(task.step))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"observation": lambda seen: seen.observation[:, None]}, "shows observation as"),
        ({"reward": lambda seen: jnp.int32(0)}, "shows reward as int32"),
        ({"infos": ()}, "shows info as"),
        ({"actions": ("left",)}, "1 actions have names"),
        ({"avail": lambda seen: seen.avail & False}, "no legal action"),
        ({"always_available": True}, "always_available is said"),
        ({"state": lambda seen: seen.state + 1}, "the state is another"),
        ({"reward": lambda seen: seen.reward + 1}, "a reset shows a reward"),
        ({"truncated": lambda seen: seen.terminated | seen.truncated}, "both set"),
        ({"episode_limit": 30}, "truncated is set before"),
        ({"episode_limit": 10}, "goes on after 10 steps"),
        ({"observation": lambda seen: seen.observation / 0}, "observation is not finite"),
    ],
)
def test_the_check_finds_what_is_broken(corridor: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check(broken(make_task("./corridor.py:2", agents=2), **changes))


# Differences


def test_the_snippet_of_cells_counts_codes() -> None:
    """More normalised states are told apart; here with few states, as the page's table has it."""
    names: dict[str, Any] = {}
    exec(blocks("differences.md")[0], names)
    found = {
        kind: names["cells"](TASK, 16, kind, seed=0, states=2000) for kind in ("none", "scaled")
    }
    assert 1 < found["none"] < found["scaled"] <= 2000


def test_pages_that_are_linked_exist() -> None:
    for page in DOCS.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (DOCS / link).exists(), (page.name, link)


# An explorer of one's own


def test_the_explorers_example_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page has it: the file, the two rows, some training; and it draws as it says."""
    from coemarl.algorithms import Algorithm
    from coemarl.explorers import TABLE, without_nets

    monkeypatch.setattr(coemarl.explorers, "TABLE", dict(TABLE))
    file, *rows = blocks("add-an-explorer.md")
    names: dict[str, Any] = {
        "TABLE": coemarl.explorers.TABLE,
        "ALGORITHMS": ALGORITHMS,
        "Algorithm": Algorithm,
        "without_nets": without_nets,
        "__name__": __name__,
    }
    monkeypatch.setitem(ALGORITHMS, "softmax", None)  # taken back after the test
    exec(file, names)
    for row in rows:
        exec(row, names)
    trainer = small_trainer("softmax")
    assert trainer.config.explorer == names["SoftmaxOptions"]()
    state = trainer.advance(trainer.init(), 6)
    assert int(state.updates) > 0

    explorer, spec = trainer.parts.explorer, trainer.spec
    temperature = explorer.begin((), jax.random.key(0), jnp.zeros(spec.state_size), jnp.int32(0))
    assert float(temperature) == 1.0
    utilities = jnp.log(jnp.tile(jnp.array([1.0, 2.0, 9.0, 3.0, 4.0, 9.0]), (2, 1)))
    legal = jnp.array([[True, True, False, True, True, False]] * 2)
    moment = Moment(jnp.zeros(spec.state_size), legal, jnp.int32(0), jnp.int32(0))
    advice = Advice(utilities, jnp.zeros((2, 1)))
    choose = functools.partial(explorer.choose, values=lambda a, i, actions: a.values[i])
    keys = jax.random.split(jax.random.key(1), 4000)
    actions = jax.jit(jax.vmap(choose, (None, None, 0, None, None)))(
        (), temperature, keys, moment, advice
    ).actions
    shares = np.bincount(np.asarray(actions)[:, 1], minlength=6) / 4000
    np.testing.assert_allclose(shares, [0.1, 0.2, 0, 0.3, 0.4, 0], atol=0.03)


def test_small_config_is_what_the_small_trainer_has() -> None:
    assert small_trainer().config == small_config()
