"""Paints what is written on slices: labels, durations, the operators of shared slices, stripes.

A label needs `LABEL_WIDTH` px of its row, so the cost of a frame does not depend on the number of
slices. Every slice keeps its full name in the tip and in the panels. Zero-length slices have a name
only below the mouse or if selected; the others have at most a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.scene.trace_rasters import TraceRasters
from viewer.model.queries import NATIVE_DURATION
from viewer.model.times import format_time, tick_to_ns
from viewer.model.trace import KeyKind
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import SLICE_TOP, STRIP_HEIGHT
from viewer.render.palette import UNATTRIBUTED, UNLINKED, Emphasis, fills, label_colors
from viewer.render.raster import LABEL_WIDTH
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef

LABEL_INSET = 6
_NARROW, _NARROW_INSET = 30, 2  # px; on narrower slices every pixel is needed for letters
UNATTRIBUTED_ROOM = 120  # px; narrower unattributed time is recognized by its stripes alone
_COMPACT = 15  # px for a 13 px font; slices up to this height have the small font
_TIMED = {int(k) for k in (KeyKind.FRAMEWORK, KeyKind.PLAIN, KeyKind.UNATTRIBUTED)}
_UNATTRIBUTED = int(KeyKind.UNATTRIBUTED)
_OVERHANG = 4  # px by which a line of text may exceed the height of its slice
_RIBBON_ROOM = 22  # px; a slice less tall has no space for a label above the chips
_HATCHED = frozenset((UNLINKED, UNATTRIBUTED))
_LEAST_TALL = 6  # px; a slice less tall gets no stripes and no text
MARK = 3  # half the height of a diamond
_MARK_LABEL_ROOM = 56
_FOREIGN_EDGE = 5  # px


class LabelPainter:
    """Paints the labels of one scene, and caches the fitted texts between frames.

    `taken` has the place of each label of the current frame on the canvas while a slice is
    selected, else nothing; `own` is that of the selected slice, empty if it has none.
    """

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.scene = scene
        self.theme = theme
        self.taken: list[QRectF] = []
        self.own = QRectF()
        # The font and the color that the painter has: setting them is expensive.
        self._font: LabelCache | None = None
        self._ink: QColor | None = None
        self.retheme()

    def retheme(self) -> None:
        """Update cached fonts after the theme changed."""
        self._usual = LabelCache(self.theme.font("label"))
        self._small = LabelCache(self.theme.font("zero_length"))
        self._compact = self.theme.px(_COMPACT)

    def start(self) -> None:
        """Start a frame: no label is painted yet."""
        self.taken, self.own = [], QRectF()
        self._font = self._ink = None

    # -- slices ------------------------------------------------------------------------------

    def paint(
        self,
        painter: QPainter,
        canvas: Canvas,
        xmap: XMap,
        number: int,
        bands: Sequence[int],
    ) -> None:
        """Paint the labels and stripes of one trace in some bands of slices."""
        scene, layout = self.scene, self.scene.layout
        bands = [b for b in bands if layout.slice_height[b] >= _LEAST_TALL]
        if not bands:
            return
        drawn = scene.rasters[number]
        shown, trace_xmap = drawn.shown, xmap.on(drawn.shown.axis)
        rows = [int(layout.row[b]) for b in bands]
        found = drawn.raster.labels(rows, trace_xmap, canvas.device(LABEL_WIDTH))
        native = shown.trace.slices.columns.get(NATIVE_DURATION)
        inks = _inks(self.theme.dark, self.theme.tokens.text2, scene.drawings.behind)
        tops = [int(layout.y[band]) - scene.scroll + SLICE_TOP for band in bands]
        talls = layout.slice_height[bands].tolist()
        ratio = canvas.ratio
        left, right = found.x0 / ratio, (found.x1 - 1) / ratio
        selected = scene.session.state.slice
        chosen = selected.index if selected is not None and selected.trace == number else -1
        self._use(painter, self._usual)
        only_hits = scene.search.dims and scene.search.shows_only_hits  # `lit` is then a hit
        kinds = shown.trace.keys.kind[shown.trace.slices.key[found.slice]].tolist()
        for position, i, x0, wide, index, lit, kind in zip(
            found.position.tolist(),
            found.slice.tolist(),
            left.tolist(),
            (right - left).tolist(),
            drawn.palette[found.slice].tolist(),
            scene.drawings.stand_out(number, found.slice).tolist(),
            kinds,
            strict=True,
        ):
            if only_hits and not lit and i != chosen:
                continue
            room = QRectF(x0, tops[position], wide, talls[position])
            if index in _HATCHED:
                self._hatch(painter, room)
            if native is not None and native.value(i) is not None:
                self._foreign_edge(painter, room)
            if kind == _UNATTRIBUTED and wide < UNATTRIBUTED_ROOM:
                continue
            used = self._label(painter, drawn, i, kind, room, inks[lit][index])
            if used and selected is not None:
                place = QRectF(x0, room.top(), used, room.height())
                self.taken.append(place)
                if i == chosen:
                    self.own = place

    def _label(
        self,
        painter: QPainter,
        drawn: TraceRasters,
        i: int,
        kind: int,
        room: QRectF,
        color: QColor,
    ) -> float:
        """Paint the label of a slice; returns the px that it takes, 0 without a label."""
        shown, wide, tall = drawn.shown, room.width(), room.height()
        labels = self._small if tall <= self._compact else self._usual
        if tall < labels.line_height - _OVERHANG:
            return 0
        inset = _NARROW_INSET if wide < _NARROW else LABEL_INSET
        text = labels.fit(shown.label(i), wide - 2 * inset)
        if text is None:
            return 0
        if labels is not self._font:
            self._use(painter, labels)
        if color is not self._ink:
            painter.setPen(color)
            self._ink = color
        operators = shown.link(i).operators if tall >= _RIBBON_ROOM else ()
        shared = len(operators) > 1
        x, y = room.left() + inset, room.top() + (tall - labels.line_height) / 2
        painter.drawStaticText(QPointF(x, y - (4 if shared else 0)), text)
        taken = labels.width(text.text()) + 2 * inset
        if kind in _TIMED and wide > taken + LABEL_INSET:
            if NATIVE_DURATION in shown.trace.slices.columns and shown.native(i) is not None:
                time = shown.length_text(i)  # its extent on the canvas is no time
            else:
                length = int(shown.trace.slices.end[i] - shown.trace.slices.start[i])
                time = _time_text(tick_to_ns(length, shown.axis.ns_per_tick))
            used = labels.width(time) + LABEL_INSET
            whole = labels.fit(time, used) if taken + used + 2 * LABEL_INSET < wide else None
            if whole is not None:
                self.taken.append(QRectF(room.right() - used, room.top(), used, tall))
                painter.drawStaticText(QPointF(room.right() - used, y), whole)
        if shared:
            self._ribbon(painter, shown, operators, room)
        return taken

    def _use(self, painter: QPainter, labels: LabelCache) -> None:
        painter.setFont(labels.font)
        self._font, self._ink = labels, None

    def _ribbon(
        self, painter: QPainter, shown: OpenTrace, operators: tuple[int, ...], room: QRectF
    ) -> None:
        """Draw a chip per operator of a shared slice, without dividing its time among them."""
        table = fills(self.theme.dark)
        colors = shown.operator_colors(self.scene.session.state.scheme)
        x, y = room.left() + LABEL_INSET, room.bottom() - 7
        for operator in operators:
            if x + 8 > room.right() - 5:
                break
            painter.fillRect(QRectF(x, y, 8, 4), QColor.fromRgb(table[int(colors[operator])]))
            x += 10

    def _hatch(self, painter: QPainter, room: QRectF) -> None:
        brush = QBrush(self.theme.color("text3"), Qt.BrushStyle.BDiagPattern)
        painter.setOpacity(0.55)
        painter.fillRect(room, brush)
        painter.setOpacity(1.0)

    def _foreign_edge(self, painter: QPainter, room: QRectF) -> None:
        """Draw stripes over the canvas color, because a slice may have the color of the stripes."""
        edge = QRectF(room.left(), room.top(), min(_FOREIGN_EDGE, room.width()), room.height())
        painter.fillRect(edge, self.theme.color("canvas"))
        painter.fillRect(edge, QBrush(self.theme.color("warning"), Qt.BrushStyle.BDiagPattern))

    # -- zero-length slices ------------------------------------------------------------------

    def paint_marks(
        self,
        painter: QPainter,
        canvas: Canvas,
        xmap: XMap,
        bands: Sequence[int],
        hovered: SliceRef | None,
    ) -> None:
        """Paint how many zero-length slices share a place, and the names of those in focus.

        In focus are the slice below the mouse and the selected one.
        """
        layout = self.scene.layout
        focus = [ref for ref in (self.scene.session.state.slice, hovered) if ref is not None]
        self._use(painter, self._small)
        painter.setPen(self.theme.color("text2"))
        for band in bands:
            trace = int(layout.trace[band])
            drawn = self.scene.rasters[trace]
            if layout.height[band] < STRIP_HEIGHT:
                continue
            raster = drawn.raster
            if self.scene.search.shows_only_hits:
                if drawn.found is None:
                    continue
                raster = drawn.found
            marks = raster.zero_marks(int(layout.row[band]), xmap.on(drawn.shown.axis))
            firsts = marks.first.tolist()
            named = {ref.index for ref in focus if ref.trace == trace}
            tall = self._small.line_height
            y = int(layout.y[band]) - self.scene.scroll + (int(layout.height[band]) - tall) / 2
            for first, last, columns in _groups(
                marks.x, canvas.device(_MARK_LABEL_ROOM), xmap.width
            ):
                count = int(marks.count[first:last].sum())
                x = canvas.x(int(marks.x[last - 1])) + MARK + 4
                more = f"+{count - 1}" if count > 1 else ""
                name = next((i for i in firsts[first:last] if i in named), None)
                if name is not None:
                    used = self._small.width(f" {more}") if more else 0
                    free = canvas.x(columns) - MARK - 10 - used
                    text = self._small.fit(drawn.shown.label(name), free)
                    if text is not None:
                        painter.drawStaticText(QPointF(x, y), text)
                        place = QRectF(x, y, self._small.width(text.text()), tall)
                        self.taken.append(place)
                        if SliceRef(trace, name) == self.scene.session.state.slice:
                            self.own = place
                        x += int(self._small.width(f"{text.text()} "))
                if more:
                    painter.drawText(QRectF(x, y, 60, tall), Qt.AlignmentFlag.AlignLeft, more)


@lru_cache(maxsize=4)
def _inks(dark: bool, hatched: str, behind: Emphasis) -> tuple[Sequence[QColor], Sequence[QColor]]:
    """Label colors by palette index: (of slices drawn as `behind`, of highlighted slices)."""
    faint, full = (
        [QColor.fromRgb(ink) for ink in label_colors(dark, emphasis)]
        for emphasis in (behind, Emphasis.FULL)
    )
    for index in _HATCHED:
        full[index] = QColor(hatched)
    return faint, full


@lru_cache(maxsize=8192)
def _time_text(ns: int) -> str:
    """Format a duration; cached, because the same slices are labeled in each frame."""
    return format_time(ns)


def _groups(x: Ints, room: int, width: int) -> list[tuple[int, int, int]]:
    """Runs of marks that share a label: (first, last + 1, free px to the next run)."""
    if len(x) == 0:
        return []
    breaks = np.flatnonzero(np.diff(x) >= room) + 1
    first = np.concatenate([[0], breaks])
    last = np.concatenate([breaks, [len(x)]])
    after = np.concatenate([x[breaks], [width]])
    free = after - x[last - 1]
    return list(zip(first.tolist(), last.tolist(), free.tolist(), strict=True))
