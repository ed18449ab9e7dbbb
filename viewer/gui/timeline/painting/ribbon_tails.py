"""The parts of ribbons on a strip, between their slices and the edge that faces the other strip.

They are painted as rectangles; `ribbons` paints the parts on the band between the strips.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.timeline.painting.ribbons import (
    FILL,
    VERDICTS,
    WIDE,
    Columns,
    are_drawn,
    edges_of,
)
from viewer.gui.timeline.scene.scene import Scene
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import TimelineLayout
from viewer.view.compared.changed_pairs import ChangedPairs, PairedSpans


@dataclass(frozen=True, eq=False, slots=True)
class _Seen:
    """What the tails of a frame depend on."""

    pairs: ChangedPairs
    layout: TimelineLayout
    scroll: int
    canvas: Canvas
    is_b: bool
    xmap: XMap

    def has_rows_of(self, other: _Seen) -> bool:
        """Whether the tails have the same lengths: the rows are at the same lines."""
        return (
            self.pairs is other.pairs
            and self.layout is other.layout
            and (self.scroll, self.canvas, self.is_b) == (other.scroll, other.canvas, other.is_b)
        )


@dataclass(frozen=True, slots=True)
class _Tails:
    """The tails of one verdict in device pixels.

    insides: first column, width, and distances from the edge at which they begin and end. sides:
    column and length.
    """

    insides: list[tuple[int, int, int, int]]
    sides: list[tuple[int, int]]


class TailPainter:
    """Paints the tails of the ribbons in one strip."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self._scene, self._theme = scene, theme
        # Whether ribbons end in this strip, which is then arm B, or start here; None without any.
        self.is_b: bool | None = None
        self._seen: _Seen | None = None
        self._lengths: Ints = np.empty(0, np.int64)
        self._tails: tuple[_Tails, ...] = ()

    def paint(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint tails on the canvas of the rows, from the slices to the edge."""
        shown, limit = self._of(canvas), 0 if self.is_b else canvas.lines
        if not shown:
            return
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.scale(1 / canvas.ratio, 1 / canvas.ratio)
        for token, tails in zip(VERDICTS, shown, strict=True):
            _fill(
                painter,
                _tint(self._theme.color(token).rgb()),
                [
                    QRect(x, near if self.is_b else limit - far, wide, far - near)
                    for x, wide, near, far in tails.insides
                ],
            )
            _fill(
                painter,
                self._theme.color(token),
                [QRect(x, 0 if self.is_b else limit - tall, 1, tall) for x, tall in tails.sides],
            )
        painter.restore()

    def paint_below(self, painter: QPainter, canvas: Canvas, height: int) -> None:
        """Paint how the tails that leave the rows of arm A at the lower edge go on.

        canvas: of the rows. height: in logical px.
        """
        shown, tall = self._of(canvas), canvas.device(height)
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.scale(1 / canvas.ratio, 1 / canvas.ratio)
        for token, tails in zip(VERDICTS, shown, strict=False):
            inside = [QRect(x, 0, wide, tall) for x, wide, near, _ in tails.insides if not near]
            _fill(painter, _tint(self._theme.color(token).rgb()), inside)
            _fill(painter, self._theme.color(token), [QRect(x, 0, 1, tall) for x, _ in tails.sides])
        painter.restore()

    def _of(self, canvas: Canvas) -> tuple[_Tails, ...]:
        """The tails of each verdict, kept for the edge below the rows; none without pairs."""
        scene, before = self._scene, self._seen
        pairs = scene.drawings.compared_marks.found.pairs
        if pairs is None or self.is_b is None:
            return ()
        xmap = scene.xmap(canvas.columns)
        seen = _Seen(pairs, scene.layout, scene.scroll, canvas, self.is_b, xmap)
        same_rows = before is not None and seen.has_rows_of(before)
        if not same_rows:
            self._lengths = _lengths(seen)
        if before is None or not same_rows or before.xmap != xmap:
            self._tails = self._shown(seen)
        self._seen = seen
        return self._tails

    def _shown(self, seen: _Seen) -> tuple[_Tails, ...]:
        pairs, canvas = seen.pairs, seen.canvas
        x0, x1 = edges_of(pairs.arms[seen.is_b], self._scene, canvas)
        drawn = are_drawn(pairs, self._scene, canvas) & (self._lengths > 0)
        own = np.flatnonzero(drawn & (x1 > 0) & (x0 < canvas.columns))
        left, right = np.maximum(x0[own], -1), np.minimum(x1[own], canvas.columns + 1)
        length, is_wide = self._lengths[own], right - left >= canvas.device(WIDE)
        tails = []
        for is_slower in range(len(VERDICTS)):
            ours = pairs.is_slower[own] == is_slower
            wide = ours & is_wide
            side = np.append(left[ours], right[wide] - 1)
            far = np.append(length[ours], length[wide])
            tails.append(
                _Tails(
                    list(_insides(left[wide], right[wide], length[wide])),
                    list(zip(side.tolist(), far.tolist(), strict=True)),
                )
            )
        return tuple(tails)


def _fill(painter: QPainter, color: QColor, rectangles: list[QRect]) -> None:
    if rectangles:
        painter.setBrush(color)
        painter.drawRects(rectangles)


def _lengths(seen: _Seen) -> Ints:
    """Return how many lines each tail is long: 0 or less if its slice is not in view."""
    arm, layout, canvas, is_b = seen.pairs.arms[seen.is_b], seen.layout, seen.canvas, seen.is_b
    rows, row = _rows_of(arm)
    band = np.array([layout.band_of(arm.trace, one) for one in rows], np.int64)
    y = layout.y[band] - seen.scroll + (0 if is_b else layout.height[band])
    line = np.array([canvas.device(one) for one in y.tolist()], np.int64)
    length = line if is_b else canvas.lines - line
    return np.where(band >= 0, length, 0)[row]


def _insides(left: Columns, right: Columns, length: Ints) -> Iterator[tuple[int, int, int, int]]:
    """Yield the insides of tails, each place once: first column, width, and two distances.

    left, right: their columns. length: of each; the distances, too, are from the edge to which all
    of them go, in lines.
    """
    order = np.argsort(left, kind="stable")
    left, right, length = left[order], right[order], length[order]
    bounds = [*np.unique(length).tolist()[::-1], 0]
    # From the farthest row on, more and more tails are beside one another.
    for far, near in pairwise(bounds):
        here = length >= far
        x0, reach = left[here], np.maximum.accumulate(right[here])
        first = np.flatnonzero(np.append(True, x0[1:] > reach[:-1]))
        last = np.append(first[1:], len(x0)) - 1
        for start, end in zip(x0[first].tolist(), reach[last].tolist(), strict=True):
            yield start, end - start, near, far


@lru_cache(maxsize=4)
def _rows_of(arm: PairedSpans) -> tuple[list[int], Ints]:
    """Return the rows of an arm, and the position in them of that of each span."""
    rows, row = np.unique(arm.row, return_inverse=True)
    return rows.tolist(), row


@lru_cache(maxsize=16)  # 10 µs to make
def _tint(rgb: int) -> QColor:
    """Return the color of the inside of ribbons."""
    color = QColor(rgb)
    color.setAlphaF(FILL)
    return color
