"""Every algorithm on every family of tasks, and the equalities that theory gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl import config as configs
from coemarl.algorithms import ALGORITHMS, algorithm
from coemarl.runs import checkpoint
from coemarl.training import Trainer, make_trainer
from small import assert_same_bytes, raw

TINY = {
    "utility.hidden": 4,
    "learner.batch_size": 2,
    "replay.capacity": 4,
    "evaluation.episodes": 2,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "lbf:5x5-2p-1f": {"env.episode_limit": 4},
    "mpe:sparse-spread": {"env.episode_limit": 4},
}
PAPERS = ("coe", "coe-cond-iq", "coe-cond-cq", "ucb-ind", "ucb-cen", "emc", "maven", "qmix")
MIXERS = ("iql", "vdn", "qplex", "qtran", "coe-vdn", "coe-iql", "coe-qplex", "coe-qtran")


@pytest.fixture(autouse=True, scope="module")
def quick_to_compile() -> Iterator[None]:
    """Programs that run for milliseconds need not be optimised."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def tiny(task: str, algo: str, **changes: Any) -> Trainer:
    """A trainer so small that compiling it is all it costs."""
    given = {name.replace("__", "."): value for name, value in changes.items()}
    config = configs.default_config(task, algo)
    return make_trainer(configs.replace(config, TINY | FAMILIES[task] | given))


@pytest.mark.parametrize(
    ("task", "algo"),
    [(task, algo) for task in FAMILIES for algo in PAPERS]
    + [(next(iter(FAMILIES)), algo) for algo in MIXERS],
)
def test_it_trains_saves_resumes_and_evaluates(
    task: str, algo: str, tmp_path: Path, **changes: Any
) -> None:
    """Taken up from a file in the middle, a run ends in the same bytes as one undisturbed."""
    trainer = tiny(task, algo, **changes)
    before = trainer.init()
    weights = raw(before.learner.online)
    middle = trainer.advance(before, 4)
    checkpoint.save(tmp_path / "state.npz", middle, {})
    whole = trainer.advance(middle, 3)
    found, _ = checkpoint.load(tmp_path / "state.npz", jax.eval_shape(trainer.init))
    resumed = trainer.advance(found, 3)
    assert_same_bytes(whole, resumed)
    assert int(whole.updates) == 5  # a batch is there after two rollouts
    changed = raw(whole.learner.online)
    assert all(np.isfinite(array).all() for array in changed.values())
    assert any((changed[name] != weights[name]).any() for name in weights)
    metrics = trainer.evaluate(whole)
    assert np.isfinite(metrics["eval/return"])
    rows, _ = trainer.read_metrics(whole)
    assert all(np.isfinite(value) for value in rows.values()), rows


def test_coe_counts_by_coin_flips_too(tmp_path: Path) -> None:
    test_it_trains_saves_resumes_and_evaluates(
        "lbf:5x5-2p-1f", "coe", tmp_path, explorer__counts__kind="coin-flip", explorer__c_rew=0.1
    )


def test_every_algorithm_is_tried() -> None:
    assert set(PAPERS) | set(MIXERS) == set(ALGORITHMS)


@pytest.mark.parametrize(
    ("algo", "changes"),
    [
        ("coe", {"explorer__c_act": 0.0}),
        ("ucb-ind", {"explorer__c_act": 0.0}),
        ("ucb-cen", {"explorer__c_rew": 0.0}),
        ("emc", {"explorer__scale": 0.0}),
    ],
)
def test_without_its_bonus_it_is_greedy_qmix(
    algo: str, changes: dict[str, Any], greedy: tuple[Trainer, Any]
) -> None:
    """Step for step: the same episodes, the same nets."""
    trainer = tiny("lbf:5x5-2p-1f", algo, **changes)
    state = trainer.advance(trainer.init(), 8)
    _, expected = greedy
    assert_same_bytes(state.replay, expected.replay)
    assert int(state.steps) == int(expected.steps)
    for ours, theirs in (
        (state.learner.online, expected.learner.online),
        (state.learner.target, expected.learner.target),
    ):
        pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def greedy() -> tuple[Trainer, Any]:
    """Greedy QMIX after eight rollouts."""
    trainer = tiny("lbf:5x5-2p-1f", "qmix", explorer__start=0.0)
    return trainer, trainer.advance(trainer.init(), 8)


def test_algorithms_are_made_of_parts_too() -> None:
    made = algorithm("coe+qplex")
    assert (made.explorer, made.mixer, made.utility) == ("coe", "qplex", "independent")
    assert algorithm("maven+vdn").utility == "latent"
    assert algorithm("epsilon+none+conditional").utility == "conditional"
    for name in ("coe+", "+", "a+b+c+d", "nothing"):
        with pytest.raises(ValueError, match="no algorithm"):
            algorithm(name)
    with pytest.raises(ValueError, match="no mixer 'qmax': there are"):
        configs.default_config("lbf:5x5-2p-1f", "coe+qmax")


def test_conditional_values_want_the_fixed_order() -> None:
    with pytest.raises(ValueError, match="the actions of agents of lower index"):
        tiny("lbf:5x5-2p-1f", "coe-cond-cq", explorer__order="random")


@pytest.mark.parametrize(
    ("algo", "reason"),
    [
        ("maven+qmix+independent", "draws latents, which utility independent cannot hear"),
        ("coe+qmix+latent", "needs an explorer that draws latents"),
    ],
)
def test_combinations_without_sense_are_refused(algo: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        tiny("lbf:5x5-2p-1f", algo)


def test_nobody_before_a_single_agent() -> None:
    config = configs.default_config("lbf:5x5-1p-1f", "coe-cond-cq")
    with pytest.raises(ValueError, match="single agent"):
        make_trainer(config)


def test_evaluation_changes_nothing_that_training_reads() -> None:
    """Of MAVEN, whose evaluation draws latents of its own."""
    trainer = tiny("lbf:5x5-2p-1f", "maven", explorer__bandit=True)
    state = trainer.advance(trainer.init(), 3)
    kept = raw(jax.tree.map(jnp.copy, state))
    assert trainer.evaluate(state) == trainer.evaluate(state)
    after = raw(state)
    assert all((after[name] == kept[name]).all() for name in kept)
