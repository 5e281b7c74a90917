"""Pictures of foraging: players as discs with their levels, foods as apples with theirs.

A line joins a player to each food beside it; it is green while the players beside the food could
lift it together. A player that loads has a ring. A food that is gone leaves nothing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from coemarl.tasks.drawing import (
    FAINT,
    GOOD,
    INK,
    MIST,
    PAPER,
    Canvas,
    Point,
    agent_colour,
    mixed,
)
from coemarl.tasks.lbf import LOAD, ForagingState, Options

FIELD, STEM, LEAF, APPLE = "#f1f3ec", "#6b4a2b", "#5d9e3f", "#d9483b"
MARGIN, CAPTION = 14, 28
LARGEST_CELL, WIDEST = 64, 560
"""Pixels of a cell, and of the whole field."""


def frame(
    options: Options,
    env_state: ForagingState,
    step: int,
    caption: str,
    actions: Sequence[int] | None = None,
) -> np.ndarray:
    """One picture, uint8 (height, width, 3); who loads is told by `actions`."""
    del step  # the caption has it
    cell = min(LARGEST_CELL, WIDEST // max(options.rows, options.cols))
    wide, high = cell * options.cols, cell * options.rows
    canvas = Canvas(max(wide, 300) + 2 * MARGIN, high + 2 * MARGIN + CAPTION)
    left = (canvas.width - wide) / 2

    def centre(row: float, col: float) -> Point:
        return left + cell * (col + 0.5), MARGIN + cell * (row + 0.5)

    draw_field(canvas, options, left, cell)
    players, levels = np.asarray(env_state.positions), np.asarray(env_state.levels)
    foods = [food for food in np.asarray(env_state.foods).tolist() if food[2] > 0]
    for food in foods:
        draw_links(canvas, food, players, levels, centre, cell)
    for row, col, level in foods:
        draw_food(canvas, centre(row, col), level, cell)
    for i, (row, col) in enumerate(players.tolist()):
        mates = [j for j in range(len(levels)) if tuple(players[j]) == (row, col)]
        x, y = centre(row, col)
        shift = 0.22 * cell * (mates.index(i) - (len(mates) - 1) / 2)  # two may share a cell
        loads = actions is not None and int(actions[i]) == LOAD
        draw_player(canvas, (x + shift, y), i, int(levels[i]), cell, loads)
    canvas.caption(caption, CAPTION)
    return canvas.picture()


def draw_field(canvas: Canvas, options: Options, left: float, cell: int) -> None:
    """The ground and its cells."""
    right, bottom = left + cell * options.cols, MARGIN + cell * options.rows
    canvas.rectangle(left, MARGIN, right, bottom, FIELD, rounding=0.12 * cell)
    line = mixed(MIST, FAINT, 0.15)
    for row in range(1, options.rows):
        y = MARGIN + cell * row
        canvas.line([(left, y), (right, y)], line, 1)
    for col in range(1, options.cols):
        x = left + cell * col
        canvas.line([(x, MARGIN), (x, bottom)], line, 1)
    canvas.rectangle(left, MARGIN, right, bottom, None, FAINT, 1.5, 0.12 * cell)


def draw_links(
    canvas: Canvas,
    food: Sequence[int],
    players: np.ndarray,
    levels: np.ndarray,
    centre: Any,
    cell: int,
) -> None:
    """Lines between a food and the players beside it."""
    row, col, level = food
    beside = np.abs(players - np.array([row, col])).sum(axis=1) == 1
    enough = levels[beside].sum() >= level
    for place in players[beside].tolist():
        ends = [centre(row, col), centre(*place)]
        canvas.line(ends, GOOD if enough else mixed(FIELD, FAINT, 0.6), 0.12 * cell)


def draw_food(canvas: Canvas, at: Point, level: int, cell: int) -> None:
    """An apple that bears its level."""
    (x, y), r = at, 0.3 * cell
    y += 0.05 * cell
    canvas.line([(x, y - 0.8 * r), (x + 0.15 * r, y - 1.35 * r)], STEM, 0.06 * cell)
    leaf = [(0.15, -1.1), (0.5, -1.5), (0.95, -1.4), (0.65, -1.05)]
    canvas.polygon([(x + a * r, y + b * r) for a, b in leaf], LEAF)
    for side in (-1, 1):
        canvas.circle((x + side * 0.28 * r, y), 0.9 * r, APPLE)
    canvas.text((x, y), str(level), 0.36 * cell, "#ffffff")


def draw_player(canvas: Canvas, at: Point, i: int, level: int, cell: int, loads: bool) -> None:
    """A disc in the player's colour that bears its level, with a ring if it loads."""
    (x, y), r, colour = at, 0.33 * cell, agent_colour(i)
    if loads:
        canvas.circle(at, 0.45 * cell, None, colour, 0.06 * cell)
    canvas.circle(at, r, colour, mixed(colour, INK, 0.45), 0.035 * cell)
    canvas.text((x, y), str(level), 0.36 * cell, PAPER)
