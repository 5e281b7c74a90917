"""Pictures of battles, from above: units as discs with bars of health and shield over them.

A team's members have their own colours, enemies are red. A letter says the kind (S stalker, Z
zealot, M marine, ...). A line runs from whoever struck in the last step to its target, green for
healing. A small cross is where a unit died. Walls are grey.
"""

import functools
from collections.abc import Sequence

import numpy as np

from coemarl.tasks.battle import task
from coemarl.tasks.battle.fight import BattleState, Fight
from coemarl.tasks.battle.options import Options
from coemarl.tasks.battle.terrain import SIZE, box_of
from coemarl.tasks.battle.units import KINDS
from coemarl.tasks.drawing import (
    FAINT,
    FOE,
    GOOD,
    INK,
    MIST,
    PAPER,
    Canvas,
    Plane,
    agent_colour,
    faded,
    mixed,
)

GROUND, WALL, SHIELD = "#f1f3ec", "#b9bfc4", "#3f8fd8"
PIXELS, CAPTION, EDGE = 560, 28, 10
"""The longer side of the field, the caption's height, and what is left around."""

_fight = functools.lru_cache(maxsize=16)(task.fight_of)


def frame(
    options: Options,
    env_state: BattleState,
    step: int,
    caption: str,
    actions: Sequence[int] | None = None,
) -> np.ndarray:
    """One picture, uint8 (height, width, 3)."""
    del step, actions  # the caption has the one, the lines show the other
    fight = _fight(options)
    left, bottom, right, top = box_of(fight.cells)
    left, bottom = max(left - 1, 0.0), max(bottom - 1, 0.0)
    right, top = min(right + 1, float(SIZE)), min(top + 1, float(SIZE))
    scale = PIXELS / max(right - left, top - bottom)
    wide, high = scale * (right - left), scale * (top - bottom)
    canvas = Canvas(round(wide) + 2 * EDGE, round(high) + 2 * EDGE + CAPTION)
    plane = Plane(left, bottom, right, top, (EDGE, EDGE, EDGE + wide, EDGE + high))
    draw_ground(canvas, plane, fight)
    units = {
        name: np.asarray(getattr(env_state, name))
        for name in ("x", "y", "health", "shield", "shots")
    }
    draw_strikes(canvas, plane, fight, units)
    order = np.argsort(units["health"] > 0, kind="stable")  # the dead below the living
    for i in order.tolist():
        draw_unit(canvas, plane, fight, units, i)
    canvas.caption(caption, CAPTION)
    return canvas.picture()


def draw_ground(canvas: Canvas, plane: Plane, fight: Fight) -> None:
    """Open cells and walls, a run of open cells in each row at once."""
    a, b = plane.point(plane.left, plane.top), plane.point(plane.right, plane.bottom)
    canvas.rectangle(*a, *b, WALL)
    for y in range(SIZE):
        row = np.concatenate([[False], fight.cells[:, y], [False]])
        starts, stops = np.flatnonzero(~row[:-1] & row[1:]), np.flatnonzero(row[:-1] & ~row[1:])
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            low, high = plane.point(start, y + 1), plane.point(stop, y)
            canvas.rectangle(*low, *high, GROUND)


def draw_strikes(canvas: Canvas, plane: Plane, fight: Fight, units: dict[str, np.ndarray]) -> None:
    """A line from whoever struck or healed in the last step to its target."""
    for i in np.flatnonzero(units["shots"] >= 0).tolist():
        j = int(units["shots"][i])
        ends = [plane.point(float(units["x"][k]), float(units["y"][k])) for k in (i, j)]
        colour = GOOD if fight.heals[i, 0] else agent_colour(i) if i < fight.allies else FOE
        canvas.line(ends, faded(colour, 0.8), 2.0)
        canvas.circle(ends[1], 3.0, colour)


def draw_unit(
    canvas: Canvas, plane: Plane, fight: Fight, units: dict[str, np.ndarray], i: int
) -> None:
    """A unit with its letter and bars, or a cross where it died."""
    x, y = plane.point(float(units["x"][i]), float(units["y"][i]))
    ally = i < fight.allies
    colour = agent_colour(i) if ally else FOE
    radius = plane.length(float(fight.body[i, 0]))
    if units["health"][i] <= 0:
        canvas.cross((x, y), max(0.5 * radius, 3.0), mixed(colour, GROUND, 0.5), 2.0)
        return
    kind = KINDS[fight.rules][fight.kinds[i]]
    fill = mixed(colour, PAPER, 0.35) if kind.air else colour
    canvas.circle((x, y), radius, fill, mixed(colour, INK, 0.5), 1.2)
    if radius >= 5:
        canvas.text((x, y), kind.letter, max(radius, 7.0), "#ffffff")
    half, height = max(radius, 6.0), 3.0
    top = y - radius - 2.0 - height
    share = float(units["health"][i]) / float(fight.health[i, 0])
    canvas.bar(
        x - half, top, 2 * half, height, share, health_colour(share), mixed(MIST, FAINT, 0.4)
    )
    if fight.shield[i, 0] > 0:
        share = float(units["shield"][i]) / float(fight.shield[i, 0])
        canvas.bar(x - half, top - height, 2 * half, height, share, SHIELD, mixed(MIST, FAINT, 0.2))


def health_colour(share: float) -> str:
    """Green for the whole, red for the almost dead."""
    return mixed(FOE, GOOD, min(max(share, 0.0), 1.0))
