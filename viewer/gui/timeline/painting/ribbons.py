"""Ribbons from the changed slices of arm A to those of arm B, and labels with the changes on them.

A ribbon leaves a slice of A at its lower edge, crosses the band between the strips, and ends at the
upper edge of its slice of B. Each widget paints the part that crosses it, as pixels: at most 200
ribbons cost little more than one. Of several narrow ones of a row, only one is painted, because the
slices have bars anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF
from PySide6.QtGui import QImage, QPainter, QPen

from viewer.analysis.comparison.comparison import Compared
from viewer.arrays import Bools, Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.verdict_marks import SIDE, change_color, paint_mark
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import MINUS, format_briefly
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.palette import Pixels, mix, mixed_pixels
from viewer.view.compared.changed_pairs import ChangedPairs, PairedSpans

_FILL = 0.2
_LABEL = 18  # px, height
_INSET, _GAP = 7, 5
_WIDE = 3  # px; narrower ribbons are lines
_FAR = 30_000  # columns, that far out of view all are alike
_OPAQUE = 0xFF000000
_VERDICTS = ((False, "faster"), (True, "slower"))

Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RibbonLabel:
    """The label of a ribbon: its place in px, and the row of the comparison."""

    room: QRectF
    row: int


class RibbonPainter:
    """Paints the ribbons between the scenes of two strips, which have the same columns."""

    def __init__(self, above: Scene, below: Scene, theme: Theme) -> None:
        self._scenes = above, below
        self._theme = theme
        self.labels: list[RibbonLabel] = []  # as painted last, largest changes first

    def paint_band(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint a band as high as the canvas: its ground, all ribbons across it, and labels."""
        self.labels = []
        marks, theme = self._scenes[0].drawings.compared_marks, self._theme
        pairs, found = marks.found.pairs, marks.comparison
        ground = theme.color("canvas").rgb()
        image = np.full((canvas.lines, canvas.columns), ground, np.uint32)
        if pairs is None or found is None:
            draw_pixels(painter, image, canvas)
            return
        both = zip(pairs.arms, self._scenes, strict=True)
        ends = [edges_of(arm, scene, canvas) for arm, scene in both]
        left, right = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
        drawn = _are_drawn(pairs, self._scenes[0], canvas)
        drawn &= (right >= 0) & (left < canvas.columns)
        sides: dict[str, list[QLineF]] = {}
        for is_slower, token in _VERDICTS:
            own = drawn & (pairs.is_slower == is_slower)
            (a0, a1), (b0, b1) = ((x0[own], x1[own]) for x0, x1 in ends)
            is_wide = np.maximum(a1 - a0, b1 - b0) >= canvas.device(_WIDE)
            fill = mix(ground & ~_OPAQUE, theme.color(token).rgb() & ~_OPAQUE, _FILL) | _OPAQUE
            image[_between((a0, b0), (a1, b1), is_wide, canvas)] = fill
            top, bottom = (np.append(x0, (x1 - 1)[is_wide]) for x0, x1 in ((a0, a1), (b0, b1)))
            sides[token] = [
                QLineF(x0, 0, x1, canvas.height)
                for x0, x1 in np.unique(
                    np.column_stack([top, bottom]) / canvas.ratio + 0.5, axis=0
                ).tolist()
            ]
        draw_pixels(painter, image, canvas)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for token, lines in sides.items():
            painter.setPen(QPen(theme.color(token), 1))
            painter.drawLines(lines)
        in_view = _widest_of_rows(pairs, np.flatnonzero(drawn))
        half_way = [(a + b)[in_view] / 2 / canvas.ratio for a, b in zip(*ends, strict=True)]
        middle = np.clip(half_way, 0, canvas.width).mean(axis=0)
        for row, x in zip(pairs.row[in_view].tolist(), middle.tolist(), strict=True):
            self._add_label(row, found.rows[row][1], x, canvas)
        for label in self.labels:
            self._paint_label(painter, label, found.rows[label.row][1])
        painter.restore()

    def row_at(self, position: QPointF) -> int:
        """The row of the label at a point of the band, -1 without one."""
        return next((one.row for one in self.labels if one.room.contains(position)), -1)

    def _add_label(self, row: int, one: Compared, middle: float, canvas: Canvas) -> None:
        """Place the label of a row in the middle of its ribbon, unless another one is there."""
        theme = self._theme
        tall, side = min(theme.px(_LABEL), canvas.height - 2), theme.px(SIDE)
        wide = theme.texts("caption").width(_change(one.change_ns)) + side + _GAP + 2 * _INSET
        left = min(max(middle - wide / 2, 1.0), canvas.width - wide - 1.0)
        room = QRectF(round(left), (canvas.height - tall) // 2, wide, tall)
        if left >= 0 and not any(room.intersects(other.room) for other in self.labels):
            self.labels.append(RibbonLabel(room, row))

    def _paint_label(self, painter: QPainter, label: RibbonLabel, one: Compared) -> None:
        theme, room = self._theme, label.room
        color = change_color(one.verdict.value, theme)
        painter.setPen(QPen(color, 1))
        painter.setBrush(theme.color(f"{one.verdict.value}_row"))
        radius = room.height() / 2
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        side = theme.px(SIDE)
        center = QPointF(room.left() + _INSET + side / 2, room.center().y())
        paint_mark(painter, center, one.verdict.value, theme)
        painter.setFont(theme.font("caption"))
        painter.setPen(color)
        texts, text = theme.texts("caption"), _change(one.change_ns)
        x = room.left() + _INSET + side + _GAP
        texts.draw(painter, x, room.top(), room.height(), text)


def stamp_tails(
    image: Pixels, scene: Scene, canvas: Canvas, theme: Theme, *, is_b: bool, top: int = 0
) -> None:
    """Draw the parts of ribbons between their slices in a strip and the edge of an image.

    is_b: whether they end in this strip, and come from the upper edge. top: the line of the image,
    in logical px, at which the canvas of the strip begins; not 0 for what is below the canvas.
    """
    pairs = scene.drawings.compared_marks.found.pairs
    if pairs is None:
        return
    arm, layout = pairs.arms[is_b], scene.layout
    x0, x1 = edges_of(arm, scene, canvas)
    own = np.flatnonzero(_are_drawn(pairs, scene, canvas) & (x1 > 0) & (x0 < canvas.columns))
    rows, row = np.unique(arm.row[own], return_inverse=True)
    band = np.array([layout.band_of(arm.trace, one) for one in rows.tolist()], np.int64)
    y = top - scene.scroll + layout.y[band] + (0 if is_b else layout.height[band])
    # In B, a tail begins at the upper edge of the image, so that the lowest rows come first.
    order = np.argsort(-y if is_b else y, kind="stable")
    order = order[band[order] >= 0]
    if not len(order):
        return
    fills, sides = _columns_of_rows(
        (x0[own], x1[own]), row, pairs.is_slower[own], (len(rows), canvas.columns), canvas
    )
    kinds = (np.maximum.accumulate(one[order], axis=0) for one in (fills, sides))
    bounds = [*y[order].tolist(), 0 if is_b else canvas.height]
    for first, last, fill, side in zip(bounds, bounds[1:], *kinds, strict=False):
        ends = (last, first) if is_b else (max(first, 0), last)
        lines = image[max(canvas.device(ends[0]), 0) : max(canvas.device(ends[1]), 0)]
        if not len(lines):
            continue
        for kind, (_, token) in enumerate(_VERDICTS, start=1):
            color = theme.color(token).rgb()
            inside = np.flatnonzero(fill == kind)
            if len(inside):
                lines[:, inside] = mixed_pixels(lines[:, inside], color, _FILL)
            lines[:, np.flatnonzero(side == kind)] = color


def _columns_of_rows(
    ends: tuple[Columns, Columns],
    row: Ints,
    is_slower: Bools,
    shape: tuple[int, int],
    canvas: Canvas,
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return in which columns rows have the inside of a ribbon, and in which the side of one.

    ends, row, is_slower: of each ribbon. Both are of `shape`, (rows, columns): 0 without a ribbon,
    1 for a faster one, 2 for a slower one.
    """
    (left, right), width = ends, shape[1]
    is_wide = right - left >= canvas.device(_WIDE)
    fills, sides = np.zeros(shape, np.int8), np.zeros(shape, np.int8)
    for kind, (verdict, _) in enumerate(_VERDICTS, start=1):
        own = is_slower == verdict
        wide = own & is_wide
        fills[_covered(row[wide], left[wide], right[wide], shape)] = kind
        x, of_row = np.append(left[own], right[wide] - 1), np.append(row[own], row[wide])
        seen = (x >= 0) & (x < width)
        sides[of_row[seen], x[seen]] = kind
    return fills, sides


def _between(
    left: tuple[Ints, Ints], right: tuple[Ints, Ints], is_wide: Bools, canvas: Canvas
) -> Bools:
    """Return the pixels inside of ribbons, given the columns of their sides at top and bottom."""
    count = canvas.lines
    down = (np.arange(count) + 0.5) / count
    x0, x1 = (
        np.floor(top[is_wide] + np.outer(down, (bottom - top)[is_wide])).astype(np.int64)
        for top, bottom in (left, right)
    )
    line = np.broadcast_to(np.arange(count)[:, None], x0.shape)
    return _covered(line, x0, x1, (count, canvas.columns))


def _covered(line: Ints, left: Columns, right: Columns, shape: tuple[int, int]) -> Bools:
    """Return which pixels of an image of `shape` are between two columns of a line, unclipped."""
    count, width = shape
    steps = np.zeros(count * (width + 1), np.int64)
    for x, step in ((left, 1), (right, -1)):
        at = line * (width + 1) + np.minimum(np.maximum(x, 0), width)
        steps += step * np.bincount(at.reshape(-1), minlength=len(steps))
    covered: Bools = np.cumsum(steps.reshape(count, width + 1)[:, :-1], axis=1) > 0
    return covered


def _widest_of_rows(pairs: ChangedPairs, which: Ints) -> Ints:
    """Return the longest of some pairs for each row, in their order: these have the labels."""
    longest_first = which[np.argsort(-pairs.longest_ns[which], kind="stable")]
    _, first = np.unique(pairs.row[longest_first], return_index=True)
    found: Ints = np.sort(longest_first[first])
    return found


def draw_pixels(painter: QPainter, image: Pixels, canvas: Canvas) -> None:
    """Draw pixels of a canvas at its upper left corner."""
    drawn = QImage(
        image.data, canvas.columns, canvas.lines, canvas.columns * 4, QImage.Format.Format_RGB32
    )
    drawn.setDevicePixelRatio(canvas.ratio)
    painter.drawImage(0, 0, drawn)


def _are_drawn(pairs: ChangedPairs, scene: Scene, canvas: Canvas) -> Bools:
    """Which pairs have ribbons: wide ones, and one of each row."""
    are_wide: Bools = pairs.longest_ns >= _WIDE * scene.ns_per_pixel(canvas.width)
    return are_wide | pairs.is_named


def edges_of(arm: PairedSpans, scene: Scene, canvas: Canvas) -> tuple[Columns, Columns]:
    """Return the first column of the spans of an arm, and the one after the last, unclipped."""
    here = scene.xmap(canvas.columns).on(scene.rasters[arm.trace].shown.axis)
    return _edges(arm, here)


@lru_cache(maxsize=4)  # each strip and the band between need them in every frame
def _edges(arm: PairedSpans, here: XMap) -> tuple[Columns, Columns]:
    x0, x1 = (
        np.floor(np.clip(x, -_FAR, _FAR)).astype(np.int64)
        for x in (here.x_of(arm.start), here.end_x_of(arm.end))
    )
    return x0, np.maximum(x1, x0 + 1)


@lru_cache(maxsize=1024)  # the same in each frame
def _change(ns: float) -> str:
    return f"{'+' if ns >= 0 else MINUS}{format_briefly(abs(ns))}"
