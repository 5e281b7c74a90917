"""Drawing for the views of tasks: shapes and words on a canvas, smooth at any size.

A canvas is measured in pixels of the finished picture, x to the right and y down, in floats. It is
drawn `SMOOTH` times as large and reduced at the end, which smooths every edge, letters included.
Later shapes cover earlier ones. A colour is "#rrggbb", or "#rrggbbaa" to let what is below show
through. A game whose own coordinates differ maps them by a `Plane`.

    canvas = Canvas(400, 300)
    plane = Plane(-1, -1, 1, 1, box=(20, 20, 280, 280))
    canvas.circle(plane.point(0.5, 0.5), plane.length(0.1), fill=AGENTS[0])
    canvas.text((10, 290), "step 3", anchor="ls")
    picture = canvas.picture()

Imported by views alone: it needs Pillow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

try:
    from PIL import Image, ImageDraw, ImageFont
except ImportError:
    raise ImportError("pictures need Pillow: pip install 'coemarl[plots]' brings it") from None

Point = tuple[float, float]

SMOOTH = 3

PAPER, INK, FAINT, MIST = "#fbfaf7", "#22303c", "#8894a0", "#e6e8ea"
"""The background, words and outlines, lesser words and lines, and grid lines."""

AGENTS = ("#2f6fd6", "#e07b1a", "#2a9d6f", "#b64fa0", "#7b6bd6", "#c9a10e", "#1aa3b8", "#8a5a3c")
"""Fills that tell a team's members apart, also for the colour-blind; they repeat after eight."""
FOE, GOOD = "#d0342c", "#1f9d55"
"""Opponents; what the team is after, once it is done."""


def agent_colour(i: int) -> str:
    """The fill of a team's member i."""
    return AGENTS[i % len(AGENTS)]


def faded(colour: str, opacity: float) -> str:
    """The colour, letting 1 - opacity of what is below show through."""
    return f"{colour[:7]}{round(255 * opacity):02x}"


def mixed(colour: str, other: str, share: float) -> str:
    """A solid colour: `share` of the other, the rest of the first."""
    pairs = [(int(colour[k : k + 2], 16), int(other[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * a + share * b):02x}" for a, b in pairs)


# The font that Pillow brings has no others than ASCII, · and … .
_PLAIN = str.maketrans({"−": "-", "–": "-", "—": "-", "×": "x", "²": "2", "≥": ">=", "≤": "<="})


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@dataclass(frozen=True)
class Plane:
    """A rectangle of a game's coordinates, y up, shown as large as a box of pixels lets it.

    It keeps its proportions and lies in the middle of the box (left, top, right, bottom).
    """

    left: float
    bottom: float
    right: float
    top: float
    box: tuple[float, float, float, float]

    @property
    def scale(self) -> float:
        """Pixels in a unit."""
        wide, high = self.box[2] - self.box[0], self.box[3] - self.box[1]
        return min(wide / (self.right - self.left), high / (self.top - self.bottom))

    def point(self, x: float, y: float) -> Point:
        """Where a point of the game lies on the canvas."""
        across = (self.box[0] + self.box[2]) / 2 + self.scale * (x - (self.left + self.right) / 2)
        down = (self.box[1] + self.box[3]) / 2 - self.scale * (y - (self.bottom + self.top) / 2)
        return across, down

    def length(self, length: float) -> float:
        """A length of the game in pixels."""
        return self.scale * length


class Canvas:
    """A picture in the making: width and height in pixels, both even (as films want them)."""

    def __init__(self, width: int, height: int, background: str = PAPER):
        self.width, self.height = width + width % 2, height + height % 2
        size = (self.width * SMOOTH, self.height * SMOOTH)
        self._image = Image.new("RGB", size, background)
        self._draw = ImageDraw.Draw(self._image, "RGBA")

    def picture(self) -> np.ndarray:
        """What has been drawn: uint8 (height, width, 3)."""
        return np.asarray(self._image.reduce(SMOOTH)).copy()

    def circle(
        self,
        centre: Point,
        radius: float,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1.5,
    ) -> None:
        """A disc, a ring, or both; the outline lies inside the radius."""
        (x, y), r = centre, max(radius, 0.5)
        box = self._fine(x - r, y - r, x + r, y + r)
        self._draw.ellipse(box, fill, outline, self._stroke(width) if outline else 0)

    def arc(
        self,
        centre: Point,
        radius: float,
        share: float,
        colour: str,
        width: float = 2.0,
        start: float = 0.0,
    ) -> None:
        """A share (0 to 1) of a ring, clockwise from `start`, itself a share from the top."""
        if share <= 0:
            return
        (x, y), first = centre, 360 * start - 90
        box = self._fine(x - radius, y - radius, x + radius, y + radius)
        self._draw.arc(box, first, first + 360 * min(share, 1.0), colour, self._stroke(width))

    def rectangle(
        self,
        left: float,
        top: float,
        right: float,
        bottom: float,
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1.5,
        rounding: float = 0.0,
    ) -> None:
        """A rectangle; `rounding` is the radius of its corners."""
        box = self._fine(left, top, right, bottom)
        stroke = self._stroke(width) if outline else 0
        self._draw.rounded_rectangle(box, rounding * SMOOTH, fill, outline, stroke)

    def polygon(
        self,
        points: Sequence[Point],
        fill: str | None = None,
        outline: str | None = None,
        width: float = 1.5,
    ) -> None:
        """A closed shape through at least three points."""
        fine = [(x * SMOOTH, y * SMOOTH) for x, y in points]
        self._draw.polygon(fine, fill, outline, self._stroke(width) if outline else 0)

    def line(self, points: Sequence[Point], colour: str = INK, width: float = 1.5) -> None:
        """A line through two or more points."""
        fine = [(x * SMOOTH, y * SMOOTH) for x, y in points]
        self._draw.line(fine, colour, self._stroke(width), joint="curve")

    def arrow(
        self, tail: Point, tip: Point, colour: str = INK, width: float = 2.0, head: float = 7.0
    ) -> None:
        """A line that ends in a head of this length; nothing if it is shorter than a pixel."""
        across, down = tip[0] - tail[0], tip[1] - tail[1]
        long = math.hypot(across, down)
        if long < 1:
            return
        head = min(head, long)
        x, y = across / long, down / long
        neck = (tip[0] - head * x, tip[1] - head * y)
        side = (-0.5 * head * y, 0.5 * head * x)
        if long > head:
            self.line([tail, neck], colour, width)
        wings = [(neck[0] + sign * side[0], neck[1] + sign * side[1]) for sign in (1, -1)]
        self.polygon([tip, *wings], colour)

    def cross(self, centre: Point, radius: float, colour: str = INK, width: float = 2.0) -> None:
        """Two crossing strokes, as over something that is gone."""
        (x, y), r = centre, radius * math.sqrt(0.5)
        self.line([(x - r, y - r), (x + r, y + r)], colour, width)
        self.line([(x - r, y + r), (x + r, y - r)], colour, width)

    def bar(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        share: float,
        colour: str,
        empty: str = MIST,
    ) -> None:
        """A bar of which a share (0 to 1) is full, as of health."""
        self.rectangle(left, top, left + width, top + height, empty)
        full = width * min(max(share, 0.0), 1.0)
        if full > 0:
            self.rectangle(left, top, left + full, top + height, colour)

    def text(
        self,
        at: Point,
        words: str,
        size: float = 13.0,
        colour: str = INK,
        anchor: str = "mm",
        halo: str | None = None,
        within: float | None = None,
    ) -> None:
        """Words on one line, about `size` pixels high.

        `anchor` is two letters: l, m or r for the point at their left, middle or right end, and
        a, m or s for it at their top, middle or base line. A halo is an edge that keeps them
        legible over shapes. Words longer than `within` pixels are made smaller, to no less than
        two thirds, and then cut.
        """
        words, font = self._fitting(words.translate(_PLAIN), size, within)
        where = (at[0] * SMOOTH, at[1] * SMOOTH)
        edge = self._stroke(0.12 * size) if halo else 0
        self._draw.text(where, words, colour, font, anchor, stroke_width=edge, stroke_fill=halo)

    def text_width(self, words: str, size: float = 13.0) -> float:
        """How many pixels the words take."""
        plain = words.translate(_PLAIN)
        return self._draw.textlength(plain, _font(round(size * SMOOTH))) / SMOOTH

    def caption(self, words: str, height: float = 26.0) -> None:
        """Words on a light band along the bottom."""
        top = self.height - height
        self.rectangle(0, top, self.width, self.height, mixed(PAPER, MIST, 0.6))
        self.text((10, top + height / 2), words, 13, anchor="lm", within=self.width - 20)

    def _fitting(self, words: str, size: float, within: float | None):
        font = _font(max(round(size * SMOOTH), 1))
        if within is None:
            return words, font
        long = self._draw.textlength(words, font) / SMOOTH
        if long <= within:
            return words, font
        font = _font(round(size * SMOOTH * max(2 / 3, within / long)))
        shown = words
        while len(shown) > 1 and self._draw.textlength(shown, font) / SMOOTH > within:
            shown = shown[:-2].rstrip() + "…"
        return shown, font

    @staticmethod
    def _fine(*pixels: float) -> tuple[float, ...]:
        return tuple(pixel * SMOOTH for pixel in pixels)

    @staticmethod
    def _stroke(width: float) -> int:
        return max(round(width * SMOOTH), 1)
