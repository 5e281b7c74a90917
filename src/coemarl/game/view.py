"""The tree of joint actions as a picture, and its growth as a film.

Each agent's action leads one level down. A node is as large as it was visited often (its number)
and coloured by its mean payoff; on the line into it stands the bonus that its action had when the
agents chose, and the bold line is what they chose. What is drawn is the tree before the payoff.
"""

import itertools
import math
from pathlib import Path

import numpy as np

from coemarl.game.growth import Growth, Moment, grow
from coemarl.game.options import BEST_PAYOFF, TITLES, GameOptions
from coemarl.refusal import Refusal
from coemarl.tasks.drawing import FAINT, INK, MIST, PAPER, Canvas, Point, agent_colour, mixed

MOST_LEAVES = 32
"""More would not be legible side by side."""

WIDTH, HEIGHT = 1280, 720
LEFT, RIGHT, TOP, BOTTOM = 118, 24, 124, 124
"""Margins around the tree."""
FILM_FRAMES = 84
EACH_STEP = 30
"""So many steps are shown one by one before the film goes faster."""
FRAME_SECONDS, HOLD_SECONDS = 0.16, 3.0

SCALE = ((0.0, "#eceef1"), (0.35, "#f6d776"), (0.65, "#8cc66b"), (1.0, "#11703f"))
"""Colours of mean payoffs; between them they are mixed."""


def check(options: GameOptions) -> None:
    """ValueError if the game's tree cannot be shown."""
    leaves = options.actions**options.agents
    if leaves > MOST_LEAVES:
        raise ValueError(
            f"a tree of {leaves:,} joint actions cannot be read: show at most {MOST_LEAVES}, such"
            " as 3 agents with 3 actions"
        )
    if options.learners[0] not in ("dep-dep", "ind-dep"):
        raise ValueError(f"{options.learners[0]} has no tree to show: choose dep-dep or ind-dep")


def save(options: GameOptions, out: Path) -> list[Path]:
    """The tree of the last step as PNG, and its growth as GIF; the files."""
    import imageio.v3 as imageio

    growth = grow(options)
    files = [out / "tree.png", out / "tree.gif"]
    shown = film_steps(options.steps)
    pictures = [frame(growth, growth.moment(step)) for step in shown]
    seconds = [FRAME_SECONDS] * (len(shown) - 1) + [HOLD_SECONDS]
    try:
        imageio.imwrite(files[0], pictures[-1])
        durations = [round(1000 * each) for each in seconds]
        imageio.imwrite(files[1], pictures, extension=".gif", duration=durations, loop=0)
    except OSError as error:
        raise Refusal(f"cannot write to {out} ({error.strerror}): choose another --out") from None
    return files


def film_steps(steps: int) -> list[int]:
    """The steps that a film shows: the first one by one, then ever fewer, with the last."""
    first = range(1, min(steps, EACH_STEP) + 1)
    if steps <= EACH_STEP:
        return list(first)
    later = np.geomspace(EACH_STEP, steps, FILM_FRAMES - EACH_STEP + 1).round().astype(int)
    return sorted({*first, *later.tolist()})


# Where things are


def places(agents: int, actions: int) -> list[Point]:
    """Where each node lies, breadth first: leaves evenly spaced, parents above their middle."""
    points = []
    for depth in range(agents + 1):
        width = (WIDTH - LEFT - RIGHT) / actions**depth
        for place in range(actions**depth):
            points.append((LEFT + (place + 0.5) * width, level(depth, agents)))
    return points


def level(depth: int, agents: int) -> float:
    """How far down the nodes of a depth lie."""
    return TOP + (HEIGHT - TOP - BOTTOM) * depth / agents


def radius(visits: int, room: float) -> float:
    """A node's radius: it grows with the logarithm of its visits, within the room that it has."""
    return min(7 + 2.4 * math.log2(1 + visits), room)


def colour(mean: float) -> str:
    """The colour of a mean payoff from 0 to 1."""
    for (low, below), (high, above) in itertools.pairwise(SCALE):
        if mean <= high:
            return mixed(below, above, (mean - low) / (high - low))
    return SCALE[-1][1]


# The picture


def frame(growth: Growth, moment: Moment) -> np.ndarray:
    """One picture: uint8 (height, width, 3)."""
    canvas = Canvas(WIDTH, HEIGHT)
    points = places(growth.options.agents, growth.options.actions)
    draw_levels(canvas, growth)
    draw_lines(canvas, growth, moment, points)
    draw_nodes(canvas, growth, moment, points)
    draw_head(canvas, growth, moment)
    draw_legend(canvas)
    return canvas.picture()


def draw_levels(canvas: Canvas, growth: Growth) -> None:
    """Whose choice leads from each level to the next."""
    agents = growth.options.agents
    for i in range(agents):
        middle = (level(i, agents) + level(i + 1, agents)) / 2
        canvas.rectangle(14, middle - 21, 96, middle + 21, agent_colour(i), rounding=8)
        canvas.text((55, middle - 7), f"agent {i + 1}", 15, "#ffffff")
        canvas.text((55, middle + 10), "chooses", 12, "#ffffff")


def draw_lines(canvas: Canvas, growth: Growth, moment: Moment, points: list[Point]) -> None:
    """The lines into all nodes, the chosen ones over the others, then their bonuses."""
    actions, chosen = growth.options.actions, {*moment.path.tolist()}
    for node in sorted(range(1, len(points)), key=lambda node: node in chosen):
        ends = [points[(node - 1) // actions], points[node]]
        if node in chosen:
            canvas.line(ends, agent_colour(depth_of(node, actions) - 1), 7)
        else:
            canvas.line(ends, mixed(FAINT, PAPER, 0.45), 1.5)
    for node in range(1, len(points)):
        draw_bonus(canvas, growth, moment, points, node)


def draw_bonus(
    canvas: Canvas, growth: Growth, moment: Moment, points: list[Point], node: int
) -> None:
    """The bonus on the line into a node."""
    actions, agents = growth.options.actions, growth.options.agents
    depth, bonus, chosen = depth_of(node, actions), moment.bonus[node], node in moment.path
    if moment.visits[(node - 1) // actions] == 0 and not chosen:
        return  # nobody was ever here: all are alike
    parent, here = points[(node - 1) // actions], points[node]
    along = 0.74 if depth == agents else 0.55  # far enough down to stand side by side
    x, y = (start + along * (end - start) for start, end in zip(parent, here, strict=True))
    words = "new" if math.isinf(bonus) else f"{bonus:.2f}" if depth == agents else f"+{bonus:.2f}"
    size = 12 if depth == agents else 16
    half = canvas.text_width(words, size) / 2 + (3 if depth == agents else 6)
    plate, tint = (agent_colour(depth - 1), "#ffffff") if chosen else (PAPER, INK)
    canvas.rectangle(x - half, y - 0.72 * size, x + half, y + 0.72 * size, plate, rounding=5)
    canvas.text((x, y), words, size, tint)


def draw_nodes(canvas: Canvas, growth: Growth, moment: Moment, points: list[Point]) -> None:
    """The nodes with their visits, the optimal joint action ringed and all leaves named."""
    actions, agents = growth.options.actions, growth.options.agents
    for node, (x, y) in enumerate(points):
        depth, visits = depth_of(node, actions), int(moment.visits[node])
        room = 0.46 * (WIDTH - LEFT - RIGHT) / actions ** max(depth, 1)
        size = radius(visits, min(room, 34))
        fill = colour(float(moment.mean[node])) if visits else PAPER
        edge = agent_colour(depth - 1) if node in moment.path and depth else INK
        bold = 4 if node in moment.path else 1.5
        canvas.circle((x, y), size, fill, edge if visits or bold > 2 else FAINT, bold)
        if visits:
            tint = "#ffffff" if moment.mean[node] > 0.75 else INK
            canvas.text((x, y), f"{visits}", min(0.85 * size, 17), tint, within=1.7 * size)
        if depth == agents:
            draw_leaf_name(canvas, growth, node, (x, y))


def draw_leaf_name(canvas: Canvas, growth: Growth, node: int, at: Point) -> None:
    """A joint action's name below its leaf; the optimal one's on a plate."""
    actions, agents = growth.options.actions, growth.options.agents
    place = node - (len_above(agents, actions))
    digits = [place // actions**i % actions for i in reversed(range(agents))]
    x, y = at[0], at[1] + 35
    if node == growth.optimal[-1]:
        canvas.rectangle(x - 19, y - 11, x + 19, y + 26, INK, rounding=5)
        canvas.text((x, y), "".join(map(str, digits)), 14, "#ffffff")
        canvas.text((x, y + 15), "best", 13, "#ffffff")
    else:
        canvas.text((x, y), "".join(map(str, digits)), 13, FAINT)


def draw_head(canvas: Canvas, growth: Growth, moment: Moment) -> None:
    """Which game this is, and what happens in this step."""
    options = growth.options
    title = f"{TITLES[growth.learner]}: step {moment.step} of {options.steps}"
    canvas.text((24, 34), title, 25, anchor="lm")
    value = "mean payoff" if growth.learner == "dep-dep" else "own value"
    about = (
        f"each agent takes the action of the highest {value} + bonus; c = {options.rules.c:g}; the"
        f" best joint action is paid with probability {BEST_PAYOFF:g}, others with {growth.p0:g}"
    )
    canvas.text((24, 64), about, 15, FAINT, anchor="lm")
    best = bool((moment.path == growth.optimal).all())
    words = (
        f"{'the best' if best else 'another'} joint action: {'paid' if moment.paid else 'not paid'}"
    )
    canvas.text((WIDTH - 24, 34), words, 20, "#11703f" if best else INK, anchor="rm")
    canvas.text(
        (WIDTH - 24, 64), f"expected regret so far {moment.regret:.1f}", 15, FAINT, anchor="rm"
    )


def draw_legend(canvas: Canvas) -> None:
    """What size, colour and lines mean."""
    y, x = HEIGHT - 22, 24
    canvas.line([(0, HEIGHT - 44), (WIDTH, HEIGHT - 44)], MIST, 1)
    for visits in (1, 10, 100):
        canvas.circle((x + 12, y), radius(visits, 17), PAPER, INK)
        canvas.text((x + 12, y), f"{visits}", 11)
        x += 44
    canvas.text((x - 4, y), "visits", 14, anchor="lm")
    x = 300
    canvas.text((x, y), "mean payoff 0", 14, anchor="lm")
    for k in range(100):
        left = x + 104 + 1.6 * k
        canvas.rectangle(left, y - 8, left + 1.8, y + 8, colour(k / 99))
    canvas.text((x + 272, y), "1", 14, anchor="lm")
    for i in range(3):
        canvas.line([(640 + 22 * i, y), (662 + 22 * i, y)], agent_colour(i), 7)
    canvas.text((716, y), "chosen now", 14, anchor="lm")
    canvas.text((838, y), "0.42", 14, anchor="lm")
    canvas.text((878, y), "bonus of the action;  new: never tried, comes first", 14, anchor="lm")


def depth_of(node: int, actions: int) -> int:
    """How many agents have chosen at a node."""
    depth = 0
    while node > 0:
        node, depth = (node - 1) // actions, depth + 1
    return depth


def len_above(depth: int, actions: int) -> int:
    """Nodes above a level."""
    return sum(actions**each for each in range(depth))
