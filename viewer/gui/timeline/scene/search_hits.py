"""The hits of the search on the timeline: rasters of them, and the marks that the eye finds.

A bar in the color of hits lies over the upper edge of each of them, with a line of the canvas
below it, so that it stands out on any fill; it is at least three pixels wide at any zoom. Hits
without a length are larger diamonds. The overview has a tick per pixel column in which hits begin.
Rasters of the hits alone are made off the GUI thread where there are many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, QRectF, Signal, Slot
from PySide6.QtGui import QPainter

from viewer.arrays import Bools, Ints
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.search import Search
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.trace import Slices
from viewer.render.canvas import Canvas
from viewer.render.diamonds import stamp_diamonds
from viewer.render.layout import SLICE_TOP, BandKind, TimelineLayout, XMap
from viewer.render.palette import Palette, Pixels, canvas_rgb
from viewer.render.raster import RowRaster
from viewer.view.open_trace import AT_ONCE

BAR = 3  # px
TICK = 3  # px, in the overview
DIAMOND = 4  # px, half the height


class HitRasters(QObject):
    """Keeps the raster of the hits in every picture in step with the search and the colors."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._searching = Search.of(session)
        self._all_rasters: Sequence[TraceRasters] = ()
        self._latest = Latest(self)
        self._latest.answered.connect(self._made)
        self._searching.changed.connect(self._follow)

    def show(self, all_rasters: Sequence[TraceRasters]) -> None:
        """Draw the hits of these pictures from now on."""
        self._all_rasters = all_rasters
        self._latest.cancel()
        self._follow()

    @Slot()
    def _follow(self) -> None:
        hits = self._searching.hits
        if self._searching.pending:
            return  # the marks of before stay until there are others
        self._latest.cancel()
        shown = [drawn.shown for drawn in self._all_rasters]
        if not self._searching.is_on or not self._searching.is_of(shown):
            self._take([None] * len(self._all_rasters))
            return
        asked = [
            (drawn.shown.trace.slices, drawn.palette, slices)
            for drawn, slices in zip(self._all_rasters, hits.slices, strict=True)
        ]
        self._latest.ask(len(hits) <= AT_ONCE, _rasters, asked)

    @Slot(object)
    def _made(self, rasters: list[RowRaster | None]) -> None:
        self._take(rasters)

    def _take(self, rasters: Sequence[RowRaster | None]) -> None:
        for drawn, raster in zip(self._all_rasters, rasters, strict=True):
            drawn.found = raster
        self.changed.emit()


def _rasters(asked: Sequence[tuple[Slices, Palette, Ints]]) -> list[RowRaster | None]:
    return [RowRaster.subset(*each) for each in asked]


def stamp_hits(
    image: Pixels,
    layout: TimelineLayout,
    lines: tuple[int, int],
    all_rasters: Sequence[TraceRasters],
    canvas: Canvas,
    xmap: XMap,
    theme: Theme,
    *,
    bars: bool,
) -> None:
    """Mark the hits of all rows in view in a frame of device pixels.

    lines: those of the content that the image holds, in logical pixels.
    bars: whether hits with a length are marked, which they need not where the rest is dimmed.
    """
    if all(drawn.found is None for drawn in all_rasters):
        return
    color = theme.color("hit").rgb() | 0xFF000000
    ground = canvas_rgb(theme.dark) | 0xFF000000
    bands, scroll = layout.bands_between(*lines), lines[0]
    for number, drawn in enumerate(all_rasters):
        own = bands[layout.trace[bands] == number]
        if drawn.found is None:
            continue
        here = xmap.on(drawn.shown.axis)
        rows = own[layout.kind[own] == BandKind.ROW] if bars else own[:0]
        cells = drawn.found.draw(layout.row[rows].tolist(), here) if len(rows) else ()
        for band, row in zip(rows.tolist(), cells, strict=True):
            columns = np.flatnonzero(_widened(row != 0))
            top = canvas.device(int(layout.y[band]) - scroll + SLICE_TOP)
            end = top + canvas.device(BAR)
            image[max(top, 0) : max(end, 0), columns] = color
            image[max(end, 0) : max(end + canvas.device(1), 0), columns] = ground
        for band in own[layout.kind[own] == BandKind.STRIP].tolist():
            marks = drawn.found.zero_marks(int(layout.row[band]), here)
            middle = canvas.device(int(layout.y[band]) - scroll + int(layout.height[band]) // 2)
            stamp_diamonds(image, marks.x, middle, canvas.device(DIAMOND), color)


def _widened(hit: Bools) -> Bools:
    """A hit of a single column has the columns beside it too."""
    alone = hit.copy()
    alone[1:] &= ~hit[:-1]
    alone[:-1] &= ~hit[1:]
    wide = hit.copy()
    wide[1:] |= alone[:-1]
    wide[:-1] |= alone[1:]
    return wide


def hit_columns(starts: Ints, xmap: XMap) -> Ints:
    """The columns in which hits begin, by their starts in order of time, in ns of the axis."""
    return np.flatnonzero(np.diff(np.searchsorted(starts, xmap.edges)))


def paint_ticks(painter: QPainter, session: Session, xmap: XMap, y: int, theme: Theme) -> None:
    """A tick for every column of the overview in which hits begin."""
    search = Search.of(session)
    if not search.is_on:
        return
    for x in hit_columns(search.hits.start, xmap).tolist():
        painter.fillRect(QRectF(x, y, 2, TICK), theme.color("hit"))
