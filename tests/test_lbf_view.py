"""Pictures of foraging show players, foods, and who loads."""

import jax.numpy as jnp
import numpy as np
import pytest

from coemarl.tasks import task_options
from coemarl.tasks.drawing import GOOD, agent_colour
from coemarl.tasks.lbf import LOAD, ForagingState
from coemarl.tasks.lbf_view import APPLE, frame

OPTIONS = task_options("lbf:6x6-2p-2f-coop")


def state(positions, foods, levels=(1, 2)) -> ForagingState:
    return ForagingState(
        positions=jnp.array(positions),
        levels=jnp.array(levels),
        foods=jnp.array(foods),
        food_spawned=jnp.int32(sum(food[2] for food in foods)),
        steps=jnp.int32(0),
    )


def pixels(picture: np.ndarray, colour: str) -> int:
    """How many pixels have exactly this colour."""
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return int((picture == np.array(wanted)).all(-1).sum())


APART = state([[0, 0], [5, 5]], [[2, 2, 3], [4, 1, 3]])
BESIDE = state([[1, 2], [2, 3]], [[2, 2, 3], [4, 1, 3]])
ALONE = state([[1, 2], [5, 5]], [[2, 2, 3], [4, 1, 3]])
EATEN = state([[1, 2], [2, 3]], [[4, 1, 3], [-1, -1, 0]])


def test_a_picture_is_even_and_has_both_players():
    picture = frame(OPTIONS, APART, 0, "step 0")
    assert picture.dtype == np.uint8
    assert picture.shape[0] % 2 == picture.shape[1] % 2 == 0
    assert min(pixels(picture, agent_colour(i)) for i in range(2)) > 300


def test_a_food_that_is_gone_is_not_shown():
    two, one = frame(OPTIONS, BESIDE, 0, ""), frame(OPTIONS, EATEN, 0, "")
    assert pixels(one, APPLE) == pytest.approx(pixels(two, APPLE) / 2, rel=0.1)


def test_players_that_could_lift_a_food_are_joined_to_it_in_green():
    assert pixels(frame(OPTIONS, BESIDE, 0, ""), GOOD) > 50
    assert pixels(frame(OPTIONS, ALONE, 0, ""), GOOD) == 0


def test_who_loads_has_a_ring():
    still = frame(OPTIONS, ALONE, 0, "", [0, 0])
    loads = frame(OPTIONS, ALONE, 0, "", [LOAD, 0])
    first, second = (agent_colour(i) for i in range(2))
    assert pixels(loads, first) > pixels(still, first) + 100
    assert pixels(loads, second) == pixels(still, second)


def test_players_in_one_cell_are_both_seen():
    picture = frame(OPTIONS, state([[3, 3], [3, 3]], [[1, 1, 3], [4, 1, 3]]), 0, "")
    assert min(pixels(picture, agent_colour(i)) for i in range(2)) > 200


@pytest.mark.parametrize("name", ["lbf:3x3-2p-1f", "lbf:128x128-2p-1f", "lbf:6x40-2p-1f"])
def test_any_field_fits_its_picture(name):
    picture = frame(task_options(name), state([[0, 0], [2, 2]], [[1, 1, 3]]), 0, "step 0 " * 30)
    assert 100 < max(picture.shape) <= 700
