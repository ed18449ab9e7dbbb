"""Ribbons from the changed slices of arm A to those of arm B, and labels with the changes on them.

A ribbon leaves a slice of A at its lower edge, crosses the band between the strips, and ends at the
upper edge of its slice of B. On the band it is painted as pixels; at most 200 ribbons cost little
more than one. Of several narrow ones of a row, only one is painted, because the slices have bars
anyway. On the strips it has sides only, lines of a device pixel between the slice and the edge that
faces the other strip, because a fill would change the colors of the slices behind it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QPen
from shiboken6 import wrapInstance

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import SIDE, change_color, paint_mark
from viewer.gui.timeline.painting.pixels import draw_pixels
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import MINUS, format_briefly
from viewer.render.layout import Canvas, TimelineLayout
from viewer.render.palette import Pixels, mix
from viewer.render.time_axis import XMap

if TYPE_CHECKING:
    from viewer.view.open_comparison import ChangedPairs, OpenComparison, PairedSpans


_FILL = 0.2
_LABEL = 18  # px, height
_INSET, _GAP = 7, 5
WIDE = 3  # px; narrower ribbons are lines
_FAR = 30_000  # columns, that far out of view all are alike
_APART = 4 * _FAR  # more than all columns
_OPAQUE = 0xFF000000
VERDICTS = "faster", "slower"
_SLOWER_UNIT = 256  # counts slower ribbons above the faster ones of a pixel: 200 at most
# How the number of open ribbons changes, by the last two bits of an event: slower, and end.
_CHANGES = np.array([1, -1, _SLOWER_UNIT, -_SLOWER_UNIT], np.int32)
_MOST_PILLS = 512

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
        self._pills: dict[object, QImage] = {}
        self._look: object = None  # colors, font and ratio of these
        self._widths: dict[int, int] = {}  # of the labels of rows
        self._measured: object = None  # comparison, texts and margin of these

    def paint_band(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint a band as high as the canvas: its ground, all ribbons across it, and labels."""
        self.labels = []
        marks, theme = self._scenes[0].drawings.compared_marks, self._theme
        pairs, open_comparison = marks.answer.pairs, marks.comparison
        painter.fillRect(0, 0, canvas.width, canvas.height, theme.color("canvas"))
        if pairs is None or open_comparison is None:
            return
        both = zip(pairs.arms, self._scenes, strict=True)
        ends = [edges_of(arm, scene, canvas) for arm, scene in both]
        left, right = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
        drawn = are_drawn(pairs, self._scenes[0], canvas)
        visible = np.flatnonzero(drawn & (right >= 0) & (left < canvas.columns))
        (a0, a1), (b0, b1) = ((x0[visible], x1[visible]) for x0, x1 in ends)
        kind = pairs.is_slower[visible]
        wide = np.flatnonzero(np.maximum(a1 - a0, b1 - b0) >= canvas.device(WIDE))
        if len(wide):
            ground = theme.pixel("canvas")
            fills = [ground, *(_opaque_mix(ground, theme.pixel(x), _FILL) for x in VERDICTS)]
            sides = (a0[wide], b0[wide]), (a1[wide], b1[wide])
            draw_pixels(painter, _filled(*sides, kind[wide], canvas, fills), canvas)
        top, bottom = np.append(a0, (a1 - 1)[wide]), np.append(b0, (b1 - 1)[wide])
        pens = [QPen(theme.color(token), 1) for token in VERDICTS]
        _draw_lines(painter, top, bottom, np.append(kind, kind[wide]), pens, canvas)
        in_view = _widest_of_rows(pairs, visible)
        half_way = ((x0 + x1)[in_view] / 2 for x0, x1 in ends)
        above, below = (np.minimum(np.maximum(x, 0), canvas.columns) for x in half_way)
        middle = (above + below) / 2 / canvas.ratio
        self._place_labels(pairs.row[in_view].tolist(), middle.tolist(), open_comparison, canvas)
        self._paint_labels(painter, open_comparison)

    def row_at(self, position: QPointF) -> int:
        """The row of the label at a point of the band, -1 without one."""
        return next(
            (
                ribbon_label.row
                for ribbon_label in self.labels
                if ribbon_label.room.contains(position)
            ),
            -1,
        )

    def _place_labels(
        self, rows: list[int], middles: list[float], open_comparison: OpenComparison, canvas: Canvas
    ) -> None:
        """Place labels in the middles of ribbons, unless there is one of an earlier row."""
        theme, texts = self._theme, self._theme.texts("caption")
        tall = min(theme.px(_LABEL), canvas.height - 2)
        top, margins = (canvas.height - tall) // 2, theme.px(SIDE) + _GAP + 2 * _INSET
        if self._measured != (open_comparison, texts, margins):
            self._measured = open_comparison, texts, margins
            self._widths.clear()
        widths = self._widths
        starts: list[float] = []  # of the room that labels have taken, ascending, and its ends
        ends: list[float] = []
        for row, middle in zip(rows, middles, strict=True):
            wide = widths.get(row)
            if wide is None:
                wide = widths[row] = (
                    texts.width(_change(open_comparison.rows[row][1].change_ns)) + margins
                )
            left = round(min(max(middle - wide / 2, 1.0), canvas.width - wide - 1.0))
            index = bisect(starts, left)
            is_free = not index or ends[index - 1] <= left
            if left >= 0 and is_free and (index == len(starts) or left + wide <= starts[index]):
                starts.insert(index, left)
                ends.insert(index, left + wide)
                self.labels.append(RibbonLabel(QRectF(left, top, wide, tall), row))

    def _paint_labels(self, painter: QPainter, open_comparison: OpenComparison) -> None:
        """Paint the labels; drawn once and kept, because they are the same in each frame."""
        theme, ratio = self._theme, painter.device().devicePixelRatioF()
        grounds = {token: theme.pixel(f"{token}_row") for token in VERDICTS}
        look = tuple(grounds.values()), theme.texts("caption"), ratio
        if look != self._look:
            self._pills.clear()
            self._look = look
        for label in self.labels:
            compared, room = open_comparison.rows[label.row][1], label.room
            text, verdict = _change(compared.change_ns), compared.verdict.value
            key = text, verdict, room.width(), room.height()
            if key not in self._pills:
                if len(self._pills) >= _MOST_PILLS:
                    self._pills.clear()
                self._pills[key] = self._pill(room, text, verdict, ratio)
            painter.drawImage(room.topLeft(), self._pills[key])

    def _pill(self, of: QRectF, text: str, verdict: str, ratio: float) -> QImage:
        """The picture of a label as large as `of`."""
        theme, room = self._theme, QRectF(0, 0, of.width(), of.height())
        size = (of.size() * ratio).toSize()
        image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        color = change_color(verdict, theme)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(color, 1))
        painter.setBrush(theme.color(f"{verdict}_row"))
        radius = room.height() / 2
        painter.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        side = theme.px(SIDE)
        paint_mark(painter, QPointF(_INSET + side / 2, room.center().y()), verdict, theme)
        painter.setFont(theme.font("caption"))
        painter.setPen(color)
        theme.texts("caption").draw(painter, _INSET + side + _GAP, 0, room.height(), text)
        painter.end()
        return image


def _filled(
    left: tuple[Columns, Columns],
    right: tuple[Columns, Columns],
    is_slower: Bools,
    canvas: Canvas,
    colors: Sequence[int],
) -> Pixels:
    """Return the insides of ribbons as pixels, given the columns of their sides, unclipped.

    left, right: at top and bottom, for each ribbon. colors: outside of all, in a faster ribbon, and
    in a slower one, which is drawn over faster ones.
    """
    count, width, ribbons = canvas.lines, canvas.columns, len(is_slower)
    # Half the bytes of int64 and float64 take three quarters of the time.
    line = np.arange(count, dtype=np.int32)[:, None]
    down = ((line + 0.5) / count).astype(np.float32)
    # Where ribbons begin and end on each line, from the first pixel to the last. A sum over events
    # instead of pixels takes half the time.
    x = np.empty((count, 2 * ribbons), np.float32)
    for half, (top, bottom) in zip((x[:, :ribbons], x[:, ribbons:]), (left, right), strict=True):
        np.multiply(down, (bottom - top).astype(np.float32), out=half)
        half += top.astype(np.float32)
    np.minimum(np.maximum(x, 0, out=x), width, out=x)
    event = x.astype(np.int32)
    event += line * width
    event <<= 2
    begins = is_slower.astype(np.int32) << 1
    event |= np.concatenate([begins, begins | 1])
    event = np.sort(event, axis=None)
    open_now = np.cumsum(_CHANGES.take(event & 3), dtype=np.int32)
    kind = np.zeros(len(event) + 1, np.uint8)
    np.add(open_now > 0, open_now >= _SLOWER_UNIT, out=kind[1:], dtype=np.uint8)
    bounds = np.empty(len(event) + 2, np.int32)
    bounds[0], bounds[-1] = 0, count * width
    np.right_shift(event, 2, out=bounds[1:-1])
    filled: Pixels = np.repeat(np.array(colors, np.uint32).take(kind), np.diff(bounds))
    return filled.reshape(count, width)


def _draw_lines(
    painter: QPainter,
    top: Columns,
    bottom: Columns,
    is_slower: Bools,
    pens: Sequence[QPen],
    canvas: Canvas,
) -> None:
    """Draw lines through the middles of columns; those of slower ribbons over the others."""
    both = np.unique((is_slower * _APART + top + _FAR) * _APART + bottom + _FAR)
    kind, both = np.divmod(both, _APART * _APART)
    ends = np.zeros((len(both), 4))  # x and y of the first end, then of the other
    ends[:, 0] = (both // _APART - _FAR) / canvas.ratio + 0.5
    ends[:, 2] = (both % _APART - _FAR) / canvas.ratio + 0.5
    ends[:, 3] = canvas.height
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    faster = int(np.count_nonzero(kind == 0))
    for pen, first, count in zip(pens, (0, faster), (faster, len(both) - faster), strict=True):
        if count:
            painter.setPen(pen)
            # Qt reads the array itself: making a QLineF of each line takes as long as drawing them.
            address = ends.ctypes.data + first * ends.strides[0]
            painter.drawLines(cast(QLineF, wrapInstance(address, QLineF)), count)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _opaque_mix(ground: int, over: int, part: float) -> int:
    return mix(ground & ~_OPAQUE, over & ~_OPAQUE, part) | _OPAQUE


def _widest_of_rows(pairs: ChangedPairs, which: Ints) -> Ints:
    """Return the longest of some pairs for each row, in their order: these have the labels."""
    order, number = _longest_last(pairs)
    in_view = np.zeros(len(pairs), np.bool_)
    in_view[which] = True
    widest = np.full(len(pairs), -1)
    ours = order[in_view[order]]
    widest[number[ours]] = ours  # of several of a row, the last one stays
    ribbons: Ints = np.sort(widest[widest >= 0])
    return ribbons


@lru_cache(maxsize=2)
def _longest_last(pairs: ChangedPairs) -> tuple[Ints, Ints]:
    """Return pairs, the longest last, of equal ones the first; and the numbers of their rows."""
    last = len(pairs) - 1
    order = last - np.argsort(pairs.longest_ns[::-1], kind="stable")
    return order, np.unique(pairs.row, return_inverse=True)[1]


def are_drawn(pairs: ChangedPairs, scene: Scene, canvas: Canvas) -> Bools:
    """Return which pairs have ribbons: wide ones, and one of each row."""
    return _are_drawn(pairs, scene.ns_per_pixel(canvas.width))


@lru_cache(maxsize=2)  # both strips and the band between need it in every frame
def _are_drawn(pairs: ChangedPairs, ns_per_pixel: float) -> Bools:
    are_wide: Bools = pairs.longest_ns >= WIDE * ns_per_pixel
    return are_wide | pairs.is_named


def edges_of(arm: PairedSpans, scene: Scene, canvas: Canvas) -> tuple[Columns, Columns]:
    """Return the first column of the spans of an arm, and the one after the last, unclipped."""
    axis = scene.rasters[arm.trace].open_trace.axis
    return _edges(arm, scene.xmap(canvas.columns).on(axis))


@lru_cache(maxsize=4)  # each strip and the band between need them in every frame
def _edges(arm: PairedSpans, here: XMap) -> tuple[Columns, Columns]:
    x = here.span_x_of(arm.start, arm.end)
    x0, x1 = np.floor(np.minimum(np.maximum(x, -_FAR), _FAR)).astype(np.int64)
    return x0, np.maximum(x1, x0 + 1)


@lru_cache(maxsize=1024)  # the same in each frame
def _change(ns: float) -> str:
    return f"{'+' if ns > 0 else MINUS if ns < 0 else ''}{format_briefly(abs(ns))}"


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """What the tails of a frame depend on."""

    pairs: ChangedPairs
    layout: TimelineLayout
    scroll: int
    canvas: Canvas
    is_b: bool
    xmap: XMap
    colors: tuple[int, ...]  # of a faster and a slower one

    def has_rows_of(self, other: _Seen) -> bool:
        """Whether the tails have the same lengths: the rows are at the same lines."""
        return (
            self.pairs is other.pairs
            and self.layout is other.layout
            and (self.scroll, self.canvas, self.is_b) == (other.scroll, other.canvas, other.is_b)
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Sides:
    """The sides in view as parallel columns, by length: canvas column, and color.

    lengths: lines from the edge, with the first and the last + 1 of the sides that are so long.
    """

    column: Columns
    color: Pixels
    lengths: list[tuple[int, int, int]]


_NO_SIDES = _Sides(np.empty(0, np.int64), np.empty(0, np.uint32), [])


class RibbonTails:
    """The tails of the ribbons in one strip."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        # Whether ribbons end in this strip, which is then arm B, or start here; None without any.
        self.is_b: bool | None = None
        self._seen: _Seen | None = None
        self._lengths: Ints = np.empty(0, np.int64)  # of all tails, 0 or less if they are not shown
        self._by_length: Ints = np.empty(0, np.int64)  # the tails that are shown, shortest first
        self._sides = _NO_SIDES

    def stamp(self, image: Pixels, canvas: Canvas) -> None:
        """Draw tails into the device pixels of the rows, from the slices to the edge."""
        sides = self._of(canvas)
        for length, first, last in sides.lengths:
            part = image[:length] if self.is_b else image[len(image) - length :]
            part[:, sides.column[first:last]] = sides.color[first:last]

    def stamp_below(self, image: Pixels, canvas: Canvas) -> None:
        """Draw how the tails at the lower edge of arm A go on, into what follows the rows."""
        sides = self._of(canvas)
        image[:, sides.column] = sides.color

    def _of(self, canvas: Canvas) -> _Sides:
        """The sides on a canvas, kept for the edge below the rows."""
        scene, before = self._scene, self._seen
        pairs = scene.drawings.compared_marks.answer.pairs
        if pairs is None or self.is_b is None:
            return _NO_SIDES
        xmap = scene.xmap(canvas.columns)
        colors = tuple(self._theme.pixel(token) for token in VERDICTS)
        seen = _Seen(pairs, scene.layout, scene.scroll, canvas, self.is_b, xmap, colors)
        same_rows = before is not None and seen.has_rows_of(before)
        if not same_rows:
            self._lengths = _lengths(seen)
            # Ones of equal length stay in the order of their changes: the last one is on top.
            order = np.argsort(self._lengths, kind="stable")
            self._by_length = order[self._lengths[order] > 0]
        if before is None or not same_rows or (before.xmap, before.colors) != (xmap, colors):
            self._sides = self._in_view(seen)
        self._seen = seen
        return self._sides

    def _in_view(self, seen: _Seen) -> _Sides:
        pairs, canvas = seen.pairs, seen.canvas
        left, right = edges_of(pairs.arms[seen.is_b], self._scene, canvas)
        drawn = self._by_length[are_drawn(pairs, self._scene, canvas)[self._by_length]]
        column = np.empty(2 * len(drawn), np.int64)
        column[::2], column[1::2] = left[drawn], right[drawn] - 1
        in_view = ((column >= 0) & (column < canvas.columns)).nonzero()[0]
        of = drawn[in_view >> 1]
        length = self._lengths[of]
        changes = ((length[1:] != length[:-1]).nonzero()[0] + 1).tolist()
        bounds = [0, *changes, len(length)] if len(length) else []
        lengths = [(int(length[a]), a, b) for a, b in pairwise(bounds)]
        color: Pixels = np.array(seen.colors, np.uint32)[pairs.is_slower[of].view(np.uint8)]
        return _Sides(column[in_view], color, lengths)


def _lengths(seen: _Seen) -> Ints:
    """Return how many lines each tail is long: 0 or less if its slice is not in view."""
    arm, layout, canvas, is_b = seen.pairs.arms[seen.is_b], seen.layout, seen.canvas, seen.is_b
    rows, row = _rows_of(arm)
    band = np.array([layout.band_of(arm.trace, row) for row in rows], np.int64)
    y = layout.y[band] - seen.scroll + (0 if is_b else layout.height[band])
    line = np.array([canvas.device(px) for px in y.tolist()], np.int64)
    length = np.minimum(line if is_b else canvas.lines - line, canvas.lines)
    return np.where(band >= 0, length, 0)[row]


@lru_cache(maxsize=4)
def _rows_of(arm: PairedSpans) -> tuple[list[int], Ints]:
    """Return the rows of an arm, and the position in them of that of each span."""
    rows, row = np.unique(arm.row, return_inverse=True)
    return rows.tolist(), row
