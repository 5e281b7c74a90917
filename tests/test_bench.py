"""Benchmarks: that they run, that their records hold what they promise, and what they compute from
times. No test asserts on a time."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from coemarl import cli
from coemarl.bench import BENCHMARKS, learner, measure, report, tasks
from coemarl.bench.flops import product_flops
from coemarl.bench.measure import Timing
from coemarl.config import default_config
from coemarl.tasks import make_task

MACHINE = {"processor": "p", "cores": 2, "jax": "1", "load": None}
QUICK = ["--repetitions", "1", "--seconds", "0.001"]


# Times, ratios and tables


def test_a_ratio_is_of_neighbours() -> None:
    # The machine was ten times as slow in the last repetition: the ratio does not see it.
    a = Timing(1, wall=(9.0, 9.0, 9.0), cpu=(2.0, 2.0, 20.0))
    b = Timing(1, wall=(9.0, 9.0, 9.0), cpu=(1.0, 1.0, 10.0))
    assert measure.ratio(a, b) == 2.0
    assert a.seconds == 2.0


def test_a_timing_is_recorded_by_unit_of_work() -> None:
    record = Timing(3, wall=(4.0, 8.0, 6.0), cpu=(3.0, 1.0, 2.0)).record(units=2.0)
    assert record == {"cpu_median": 1.0, "cpu_best": 0.5, "wall_median": 3.0, "wall_best": 2.0}


def test_cases_are_measured_in_turn() -> None:
    seen: list[str] = []
    cases = {name: (lambda name=name: seen.append(name)) for name in "ab"}
    timings = measure.interleaved(cases, repetitions=3, seconds=1e-12)
    assert list(timings) == ["a", "b"]
    assert all(timing.calls == 1 and len(timing.cpu) == 3 for timing in timings.values())
    assert seen[-6:] == ["a", "b"] * 3


def test_tables_keep_to_eighty_columns() -> None:
    text = report.table(("task", "steps/s"), [["x" * 100, "1.5M"], ["short", "20k"]])
    lines = text.splitlines()
    assert max(map(len, lines)) == 80
    assert lines[1].endswith("...     1.5M")
    assert lines[2].startswith("short ")


# Operations


def test_flops_of_products_loops_and_alternatives() -> None:
    a, b = jnp.zeros((3, 4)), jnp.zeros((4, 5))
    one = 2 * 3 * 4 * 5
    assert product_flops(lambda a, b: a @ b + 1.0, a, b) == one
    assert product_flops(jax.vmap(lambda x: x @ b), jnp.zeros((7, 3, 4))) == 7 * one

    def scanned(a: Any, b: Any) -> Any:
        return lax.scan(lambda carry, _: (carry + (a @ b).sum(), None), 0.0, length=6)[0]

    assert product_flops(scanned, a, b) == 6 * one

    def looped(a: Any, b: Any, n: Any) -> Any:
        """Round i has i rounds inside, in each of which one of two things is done."""
        either = lambda x: lax.cond(x > 1, lambda x: x + (a @ b).sum(), lambda x: x, x)  # noqa: E731
        inside = lambda i, x: lax.fori_loop(0, i, lambda _, x: either(x), x)  # noqa: E731
        return lax.fori_loop(0, n + 1, inside, 0.0)

    assert product_flops(looped, a, b, jnp.int32(3)) == (1 + 2 + 3) * one
    with pytest.raises(ValueError, match="no known end"):
        product_flops(looped, a, b, jax.ShapeDtypeStruct((), jnp.int32))


def test_flops_of_an_update_by_hand() -> None:
    """The products of the paper's nets on its first task, layer by layer."""
    B, T, A, D, S, H, U = 32, 50, 3, 18, 54, 128, 6
    agent = 2 * B * A * (T + 1) * (D * H + 6 * H * H + H * U)  # once forward
    back = 2 * agent - 2 * B * A * (T + 1) * D * H  # observations have no gradient
    hyper = S * 64 + 64 * A * 32 + S * 32 + S * 64 + 64 * 32 + S * 32 + 32
    first = S * 64 + S * 32 + S * 64 + S * 32  # layers that read the state, which has none either
    mixer = 2 * B * T * (4 * hyper - first)
    trainer = learner.make_trainer(default_config("lbf:10x10-3p-3f", "qmix"))
    assert learner.update_flops(trainer) == 2 * agent + back + mixer


# Tasks


def test_environments_restart_when_over() -> None:
    """No environment stays over, episodes end on time, and every end is counted."""
    task = make_task("lbf:5x5-2p-1f", episode_limit=4)
    begin, play = tasks.make_play(task, environments=5, steps=12)
    _, env, seen, ended = play(begin(jax.random.key(0)))
    assert not (seen.terminated | seen.truncated).any()
    assert (env.steps < 4).all()
    assert int(ended) >= 5 * 12 // 4


def test_restarts_leave_the_others_alone() -> None:
    task = make_task("lbf:5x5-2p-1f")
    env, seen = jax.vmap(task.reset)(jax.random.split(jax.random.key(1), 6))
    env = env._replace(steps=jnp.arange(6, dtype=jnp.int32))
    over = jnp.array([True, False, True, False, True, True])
    again, shown = jax.jit(lambda key, env, seen: tasks.restarted(task, key, env, seen, group=3))(
        jax.random.key(2), env, seen._replace(truncated=over)
    )
    assert again.steps.tolist() == [0, 1, 0, 3, 0, 0]
    assert not shown.truncated.any()
    assert (again.positions[1] == env.positions[1]).all()
    fresh = again.positions[jnp.array([0, 2, 4, 5])].reshape(4, -1)
    assert len({tuple(row) for row in fresh.tolist()}) > 1  # each drawn for itself


def test_bench_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lbforaging")
    out = tmp_path / "made" / "tasks.json"
    words = ["bench", "tasks", "lbf:5x5-2p-1f", "--environments", "2", "--out", str(out)]
    assert run(words) == 0
    record = json.loads(out.read_text())
    assert record["benchmark"] == "tasks"
    assert record["command"] == " ".join(["coe", *words, *QUICK])
    ours, theirs = record["rows"]
    assert (ours["who"], ours["environments"], theirs["who"]) == ("coemarl", 2, "lbforaging")
    assert set(ours["times"]) == {"lbforaging"}
    assert 1 <= ours["episode_length"] <= 51
    table = capsys.readouterr().out
    assert "lbforaging" in table
    assert max(map(len, table.splitlines()[:-1])) <= 80


def run(words: list[str]) -> int:
    """The command in this process, kept off this process's cores."""
    return cli.main([*words, *QUICK])


# The learner


def test_bench_learner(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "learner", "lbf:5x5-2p-1f", "--algo", "iql", "--products", "float32"]
    assert run([*words, "--iterations", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    (row,) = record["rows"]
    assert (row["algo"], row["products"], row["compared_with"]) == ("iql", "float32", "iql")
    assert set(row["split_seconds"]) == set(learner.PARTS)
    parts = sum(row["split_seconds"].values())
    assert parts == pytest.approx(row["iteration_seconds"]["cpu_median"])
    assert row["ratio_to_other"] == 1.0
    rates = {peak["flops_per_second"] for peak in record["peak"]}
    assert row["bound_seconds"] == pytest.approx(row["update_flops"] / max(rates))
    text = learner.render(record | {"machine": MACHINE})
    assert max(map(len, text.splitlines()[:-1])) <= 80


# Refusals


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "no benchmark 'nothing'"),
        (["tasks", "--repetitions", "0"], "repetitions is 0"),
        (["tasks", "--seconds", "0"], "seconds is 0.0"),
        (["tasks", "--core", "99999"], "core is 99999"),
        (["tasks", "--environments", "0"], "environments is 0"),
        (["tasks", "chess"], "no task 'chess'"),
        (["tasks", "--out", "/dev/null/x"], "cannot write"),
        (["learner", "--algo", "sarsa"], "no algorithm 'sarsa'"),
        (["learner", "--products", "float8"], "float8"),
        (["learner", "--iterations", "0"], "iterations is 0"),
    ],
)
def test_wrong_words(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", *words]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_help_names_every_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name}" in text for name in BENCHMARKS)


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks stay on one core; tests leave their process where it was."""
    monkeypatch.setattr(measure.os, "sched_setaffinity", lambda pid, cores: None, raising=False)
