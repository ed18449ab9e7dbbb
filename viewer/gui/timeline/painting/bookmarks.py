"""Paints bookmarks and the measured span on canvas and overview, and places the names of bookmarks.

Of bookmarks on the same pixel columns, only one is drawn. On the canvas, names are in the bar above
the rows. There, a name may extend to the next drawn flag. A bookmark without enough space for its
name is grouped with its neighbor as "3 bookmarks", so that texts never overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from viewer.arrays import Ints
from viewer.dataclasses import dataclass
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text
from viewer.gui.session.bookmarks import can_mark, measured_on
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import counted, format_time
from viewer.render.layout import Canvas
from viewer.render.time_axis import XMap
from viewer.view.state import Bookmark
from viewer.view.visible_ranges import marks_on

_TALL = 18  # px, height of the label of the measured span
_INSET = 7
_BAND = 0.06  # opacity of the band of the current bookmark

LEAST_ROOM = 34  # px, for three letters and a flag
LONGEST = 200  # characters used of a name or note


@dataclass(frozen=True, slots=True)
class BookmarkFlag:
    """A flag: its x position, the space to its right in px, and the indices of its bookmarks."""

    x: float
    room: float
    bookmarks: tuple[int, ...]


def flags(x: Sequence[float], width: float, current: int | None = None) -> list[BookmarkFlag]:
    """The flags of bookmarks at positions `x`, from left to right; none outside [0, width).

    A bookmark less than `LEAST_ROOM` px to the right of a flag joins it. The current bookmark comes
    first in its flag, so that its name is shown.
    """
    seen = sorted((left, number) for number, left in enumerate(x) if 0 <= left < width)
    groups: list[tuple[float, list[int]]] = []
    for left, number in seen:
        if groups and left - groups[-1][0] < LEAST_ROOM:
            groups[-1][1].append(number)
        else:
            groups.append((left, [number]))
    ends = [left for left, _ in groups[1:]] + [width] * bool(groups)
    return [
        BookmarkFlag(left, end - left, tuple(sorted(numbers, key=lambda number: number != current)))
        for (left, numbers), end in zip(groups, ends, strict=True)
    ]


def title(mark: Bookmark, number: int) -> str:
    """The name of a bookmark, or its number if it has none."""
    return mark.name[:LONGEST] or f"bookmark {number + 1}"


def paint_bookmarks(
    painter: QPainter, scene: Scene, canvas: Canvas, theme: Theme, mouse: QPoint | None
) -> None:
    """Paint the lines of the bookmarks, then the measured span with its length."""
    state = scene.session.state
    if can_mark(scene.session) and state.bookmarks:
        ends = mark_columns(scene, canvas)
        seen = ends[(ends >= 0) & (ends < canvas.columns)]
        painter.setPen(QPen(theme.color("text3"), 1, Qt.PenStyle.DashLine))
        for x in map(canvas.x, np.unique(seen).tolist()):
            painter.drawLine(QPointF(x, 0), QPointF(x, canvas.height))
        if state.mark is not None and state.mark < len(ends):
            x0, x1 = (canvas.x(x) for x in ends[state.mark].tolist())
            band = QRectF(x0, 0, x1 - x0, canvas.height)
            painter.fillRect(band, theme.color("text1", _BAND))
            painter.setPen(QPen(theme.color("accent"), 1))
            for x in {x0, x1}:
                painter.drawLine(QPointF(x, 0), QPointF(x, canvas.height))
    if (span := measured_span(scene, canvas, mouse)) is not None:
        _measure(painter, scene, canvas, theme, span)


def mark_columns(scene: Scene, canvas: Canvas) -> Ints:
    """Device columns of both ends of each bookmark, as an array (bookmarks, 2); see `_columns`."""
    return _mark_columns(scene, scene.xmap(canvas.columns))


def measured_span(scene: Scene, canvas: Canvas, mouse: QPoint | None) -> tuple[int, int] | None:
    """The measured span in ns; it extends to the mouse while its end is not set yet."""
    measured = measured_on(scene.session, scene.group.key)
    if measured is None or measured[0] < measured[1] or mouse is None:
        return measured
    place = scene.xmap(max(canvas.width, 1)).t_of(mouse.x())
    return min(measured[0], place), max(measured[0], place)


def _measure(
    painter: QPainter, scene: Scene, canvas: Canvas, theme: Theme, span: tuple[int, int]
) -> None:
    """Draw two lines, an arrow between them, and the length centered on the visible part."""
    ends = _columns(scene.xmap(canvas.columns), [span])[0]
    x0, x1 = map(canvas.x, ends.tolist())
    ink = theme.color("text1")
    painter.setPen(QPen(ink, 1))
    for x in (x0, x1):
        painter.drawLine(QPointF(x, 0), QPointF(x, canvas.height))
    left, right = max(x0, 0.0), min(x1, float(canvas.width))
    if x1 < 0 or x0 >= canvas.width:
        return
    y = _TALL / 2 + 2
    painter.drawLine(QPointF(left, y), QPointF(right, y))
    painter.setFont(theme.font("ruler"))
    text = format_time(span[1] - span[0])
    wide = painter.fontMetrics().horizontalAdvance(text) + 2 * _INSET
    x = min(max((left + right - wide) / 2, 0.0), max(canvas.width - wide, 0.0))
    box = QRectF(x, 2, wide, _TALL)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.color("line"), 1))
    painter.setBrush(theme.color("raised"))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(ink)
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def paint_overview_bookmarks(
    painter: QPainter, scene: Scene, theme: Theme, xmap: XMap, top: int, height: int
) -> None:
    """Paint bookmarks over the overview's lanes: a line or band each, and names if they fit."""
    state = scene.session.state
    if not (can_mark(scene.session) and state.bookmarks):
        return
    columns = _mark_columns(scene, xmap)
    painter.setFont(theme.font("zero_length"))
    metrics = painter.fontMetrics()
    drawn = np.unique(columns, axis=0, return_index=True)[1].tolist()
    current = [] if state.mark is None else [state.mark]
    numbers = set(marks_on(state, scene.group.key))
    for number in (number for number in (*drawn, *current) if number in numbers):
        x0, x1 = columns[number].tolist()
        color = theme.color("accent" if number == state.mark else "text1")
        painter.fillRect(QRectF(x0, top, max(x1 - x0, 1), 3), color)
        painter.fillRect(QRectF(x0, top, 1, height - 2), color)
    for flag in flags([float(x) for x in columns[:, 0]], xmap.width, state.mark):
        if len(flag.bookmarks) > 1 and flag.bookmarks[0] != state.mark:
            text = counted(len(flag.bookmarks), "bookmark")
        else:
            text = title(state.bookmarks[flag.bookmarks[0]], flag.bookmarks[0])
        text = elided_text(
            metrics, text, Qt.TextElideMode.ElideRight, int(min(flag.room, 160)) - 10
        )
        box = QRectF(flag.x + 2, top + 4, metrics.horizontalAdvance(text) + 6, metrics.height())
        painter.fillRect(box, theme.color("canvas", 0.8))
        painter.setPen(theme.color("text1" if state.mark in flag.bookmarks else "text2"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, text)


def _mark_columns(scene: Scene, xmap: XMap) -> Ints:
    """Columns of both ends of each bookmark, (bookmarks, 2); -1 for those of other clocks."""
    bookmarks, clock = scene.session.state.bookmarks, scene.group.key
    columns = _columns(xmap, [(mark.t0, mark.t1) for mark in bookmarks])
    columns[[mark.clock != clock for mark in bookmarks]] = -1
    return columns


def _columns(xmap: XMap, spans: Sequence[tuple[int, int]]) -> Ints:
    """The columns of both ends of spans in ns, (spans, 2); -1 before the view, its width after."""
    limit = np.iinfo(np.int64)
    clamped = [[min(max(t, limit.min), limit.max) for t in span] for span in spans]
    times = np.array(clamped, np.int64).reshape(-1, 2)
    columns = np.column_stack([xmap.pixel_of(times[:, 0]), xmap.end_pixel_of(times[:, 1])])
    is_moment = times[:, 0] == times[:, 1]
    columns[is_moment, 1] = columns[is_moment, 0]
    first, last = xmap.times
    clipped: Ints = np.where(times < first, -1, np.where(times >= last, xmap.width, columns))
    return clipped
