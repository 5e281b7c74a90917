"""Drawing: shapes where they were asked for, in the colours asked for, at the size asked for."""

import numpy as np
import pytest

from coemarl.tasks.drawing import GOOD, Canvas, Plane, agent_colour, faded, mixed

RED, BLUE, WHITE = "#ff0000", "#0000ff", "#ffffff"


def test_a_canvas_is_as_large_as_said_rounded_up_to_even():
    picture = Canvas(101, 60, WHITE).picture()
    assert picture.shape == (60, 102, 3)
    assert picture.dtype == np.uint8
    assert (picture == 255).all()


def test_shapes_lie_where_they_should():
    canvas = Canvas(100, 100, WHITE)
    canvas.circle((30, 20), 10, RED)
    canvas.rectangle(60, 70, 80, 90, BLUE)
    picture = canvas.picture()
    assert tuple(picture[20, 30]) == (255, 0, 0)
    assert tuple(picture[80, 70]) == (0, 0, 255)
    red = (picture[:, :, 1] < 128) & (picture[:, :, 0] > 128)
    rows, cols = np.nonzero(red)
    assert (cols.min(), cols.max(), rows.min(), rows.max()) == (20, 39, 10, 29)
    assert abs(red.sum() - np.pi * 100) < 12


def test_edges_are_smooth():
    canvas = Canvas(40, 40, WHITE)
    canvas.line([(0, 0), (40, 30)], "#000000", 3)
    assert len(np.unique(canvas.picture())) > 5


def test_a_faded_colour_shows_what_is_below_it():
    canvas = Canvas(20, 20, WHITE)
    canvas.rectangle(0, 0, 20, 20, faded(RED, 0.5))
    assert canvas.picture()[10, 10] == pytest.approx((255, 127, 127), abs=1)


def test_colours_mix_and_agents_differ():
    assert mixed("#000000", "#ffffff", 0.5) == "#808080"
    assert len({agent_colour(i) for i in range(8)}) == 8
    assert agent_colour(8) == agent_colour(0)


def test_a_plane_keeps_proportions_and_turns_y_up():
    plane = Plane(-1, -1, 1, 1, box=(0, 0, 300, 100))
    assert plane.scale == 50
    assert plane.point(0, 0) == (150, 50)
    assert plane.point(1, 1) == (200, 0)
    assert plane.length(0.5) == 25


def test_words_that_are_too_long_are_made_to_fit():
    canvas = Canvas(200, 40, WHITE)
    canvas.text((10, 20), "a caption much too long for its place " * 3, 13, anchor="lm", within=100)
    columns = np.nonzero((canvas.picture() < 200).any((0, 2)))[0]
    assert 60 < columns.max() - columns.min() < 101


def test_bars_and_arcs_show_shares():
    canvas = Canvas(100, 100, WHITE)
    canvas.bar(10, 10, 80, 10, 0.25, RED, empty=BLUE)
    canvas.arc((50, 60), 20, 0.25, GOOD, 4)
    picture = canvas.picture()
    assert (picture[15] == (255, 0, 0)).all(-1).sum() == pytest.approx(20, abs=1)
    assert (picture[45:60, 52:75] < 200).any()  # the first quarter, clockwise from the top
    assert (picture[62:, :] == 255).all()


def test_an_arrow_shorter_than_a_pixel_is_not_drawn():
    canvas = Canvas(20, 20, WHITE)
    canvas.arrow((5, 5), (5.4, 5.4), RED)
    assert (canvas.picture() == 255).all()
    canvas.arrow((2, 10), (18, 10), RED)
    assert (canvas.picture() != 255).any()
