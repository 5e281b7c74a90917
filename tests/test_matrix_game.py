"""The didactic game as a task: one joint action, paid as the game pays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.tasks import make_task, matrix_game, task_options


def test_a_name_says_agents_actions_and_p0():
    assert task_options("game:8x3") == matrix_game.Options(8, 3, 0.0)
    assert task_options("game:2x5-0.4", seed=3) == matrix_game.Options(2, 5, 0.4, 3)


@pytest.mark.parametrize(
    ("name", "says"),
    [("game:8", "agents x actions"), ("game:8x1", "at least 2"), ("game:8x3-0.95", "below 0.9")],
)
def test_what_is_no_game_is_refused(name, says):
    with pytest.raises(ValueError, match=says):
        make_task(name)


def test_the_optimal_joint_action_is_paid_best_and_ends_the_episode():
    options = matrix_game.Options(3, 3, 0.4, seed=1)
    task, best = matrix_game.make(options), matrix_game.game_of(options).optimal
    state, _ = task.reset(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 2000)
    step = jax.jit(jax.vmap(task.step, (0, None, None)))
    for actions, share in ((best, 0.9), ((best + 1) % 3, 0.4)):
        _, seen = step(keys, state, actions)
        assert float(seen.reward.mean()) == pytest.approx(share, abs=0.045)  # 4 deviations
        assert bool(seen.terminated.all())
        assert set(np.unique(seen.reward)) == {0, 1}


def test_seeds_move_the_optimal_joint_action():
    found = {
        tuple(matrix_game.game_of(matrix_game.Options(3, 3, seed=seed)).optimal.tolist())
        for seed in range(5)
    }
    assert len(found) > 1
    assert all(0 <= action < 3 for joint in found for action in joint)
    assert jnp.array_equal(
        matrix_game.game_of(task_options("game:3x3")).optimal,
        matrix_game.game_of(matrix_game.Options(3, 3)).optimal,
    )
