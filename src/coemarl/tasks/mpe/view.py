"""Pictures of the particle games: agents as discs of their true size, with their velocity.

The dashed frame is the square in which episodes start; the picture widens where bodies leave it.
* Spread: landmarks are rings, green and filled while an agent is near enough to cover them.
* Tag: obstacles are grey, prey red with a faint ring where a predator is at it; a line joins the
  two while it is, green once enough predators are there.
* Adversary: the adversary is red, the goal is a star, and lines show who is how far from it.
"""

import itertools
import math
from typing import Any

import numpy as np

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
from coemarl.tasks.mpe import Options, adversary, module_of, spread, tag
from coemarl.tasks.mpe.world import ParticleState, Scenario

SIZE, CAPTION, MARGIN = 460, 28, 12
FIELD = "#f3f4f1"
GLANCE = 0.3
"""Seconds of movement that an agent's arrow shows."""


def frame(options: Options, env_state: ParticleState, step: int, caption: str) -> np.ndarray:
    """One picture, uint8 (height, width, 3)."""
    del step  # the caption has it
    scenario = module_of(options).scenario(options)
    places = np.asarray(env_state.position, np.float64)
    marks = np.asarray(env_state.landmarks, np.float64).reshape(-1, 2)
    canvas = Canvas(SIZE, SIZE + CAPTION)
    plane = draw_field(canvas, np.concatenate([places, marks]))
    if isinstance(options, tag.TagOptions):
        draw_tag(canvas, plane, options, places, marks)
    elif isinstance(options, adversary.AdversaryOptions):
        draw_adversary(canvas, plane, places, marks, int(env_state.goal))
    else:
        draw_spread(canvas, plane, options, places, marks)
    draw_agents(canvas, plane, scenario, places, np.asarray(env_state.velocity, np.float64))
    canvas.caption(caption, CAPTION)
    return canvas.picture()


def draw_field(canvas: Canvas, points: np.ndarray) -> Plane:
    """The ground, wide enough for all points, and the square of starts on it."""
    far = max(1.2, 0.2 + float(np.abs(np.nan_to_num(points)).max(initial=1.0)))
    far = min(0.3 * math.ceil(far / 0.3 - 1e-9), 12.0)  # in few steps, so that films do not shake
    box = (MARGIN, MARGIN, SIZE - MARGIN, SIZE - MARGIN)
    plane = Plane(-far, -far, far, far, box)
    canvas.rectangle(*box, fill=FIELD, outline=mixed(FIELD, FAINT, 0.5), rounding=8)
    dash = 2 / 25
    for k in range(0, 25, 2):
        a, b = -1 + k * dash, -1 + (k + 1) * dash
        for ends in (((a, -1), (b, -1)), ((a, 1), (b, 1)), ((-1, a), (-1, b)), ((1, a), (1, b))):
            canvas.line([plane.point(*end) for end in ends], mixed(FIELD, FAINT, 0.6), 1)
    return plane


def draw_agents(
    canvas: Canvas, plane: Plane, scenario: Scenario, places: np.ndarray, velocities: np.ndarray
) -> None:
    """Every agent, the team's in their colours and numbered, the others red."""
    for i, body in enumerate(scenario.world.agents):
        team = i in scenario.controlled
        colour = agent_colour(scenario.controlled.index(i)) if team else FOE
        at, radius = plane.point(*places[i]), plane.length(body.size)
        canvas.circle(at, radius, faded(colour, 0.85), mixed(colour, INK, 0.4), 1.5)
        ahead = plane.point(*(places[i] + GLANCE * velocities[i]))
        canvas.arrow(at, ahead, mixed(colour, INK, 0.55), 2.0, 6.0)
        if team:
            name = str(scenario.controlled.index(i) + 1)
            canvas.text(at, name, max(11.0, 0.7 * radius), PAPER, halo=mixed(colour, INK, 0.4))


def draw_spread(
    canvas: Canvas,
    plane: Plane,
    options: spread.SpreadOptions,
    places: np.ndarray,
    marks: np.ndarray,
) -> None:
    """Landmarks with the radius that covers them, and the clashes of agents."""
    sparse = isinstance(options, spread.SparseSpreadOptions)
    radius = options.cover_radius if sparse else spread.OCCUPIED
    for mark in marks:
        covered = np.linalg.norm(places - mark, axis=1).min() < radius
        colour, at = GOOD if covered else FAINT, plane.point(*mark)
        canvas.circle(at, plane.length(radius), faded(colour, 0.18), faded(colour, 0.9), 1.5)
        canvas.circle(at, plane.length(spread.LANDMARK_SIZE), colour)
    for i, j in itertools.combinations(range(len(places)), 2):
        if np.linalg.norm(places[i] - places[j]) < 2 * spread.AGENT_SIZE:
            middle = plane.point(*(places[i] + places[j]) / 2)
            canvas.circle(middle, plane.length(spread.AGENT_SIZE), None, faded(FOE, 0.6), 2)


def draw_tag(
    canvas: Canvas, plane: Plane, options: tag.TagOptions, places: np.ndarray, marks: np.ndarray
) -> None:
    """Obstacles, and who is at the prey."""
    sparse = isinstance(options, tag.SparseTagOptions)
    reach = tag.TOUCH * (options.contact_scale if sparse else 1.0)
    needed = options.min_predators if sparse else 1
    for mark in marks:
        at = plane.point(*mark)
        canvas.circle(at, plane.length(tag.OBSTACLE_SIZE), mixed(MIST, FAINT, 0.35), FAINT, 1.5)
    for prey in places[options.predators :]:
        at = np.linalg.norm(places[: options.predators] - prey, axis=1) < reach
        colour = GOOD if at.sum() >= needed else FAINT
        ring = plane.length(reach - tag.PREDATOR.size)
        canvas.circle(plane.point(*prey), ring, faded(colour, 0.15), faded(colour, 0.8), 1.5)
        for hunter in places[: options.predators][at]:
            canvas.line([plane.point(*hunter), plane.point(*prey)], colour, 4)


def draw_adversary(
    canvas: Canvas, plane: Plane, places: np.ndarray, marks: np.ndarray, goal: int
) -> None:
    """Landmarks, the goal among them, and the way to it of the adversary and of the nearest."""
    good = 1 + int(np.argmin(np.linalg.norm(places[1:] - marks[goal], axis=1)))
    for i, colour in ((0, FOE), (good, GOOD)):
        ends = [plane.point(*places[i]), plane.point(*marks[goal])]
        canvas.line(ends, faded(colour, 0.55), 2.5)
    for k, mark in enumerate(marks):
        at, radius = plane.point(*mark), plane.length(adversary.LANDMARK_SIZE)
        canvas.circle(at, radius, mixed(MIST, FAINT, 0.5), FAINT, 1.5)
        if k == goal:
            draw_star(canvas, at, 1.7 * radius)


def draw_star(canvas: Canvas, at: Any, radius: float) -> None:
    """A star of five points."""
    points = []
    for k in range(10):
        angle, r = math.pi * (k / 5 - 0.5), radius * (1.0 if k % 2 == 0 else 0.42)
        points.append((at[0] + r * math.cos(angle), at[1] + r * math.sin(angle)))
    canvas.polygon(points, GOOD, mixed(GOOD, INK, 0.4), 1.5)
