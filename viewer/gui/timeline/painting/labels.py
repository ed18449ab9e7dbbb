"""Paints what is written on slices: labels, durations, the operators of shared slices, stripes.

A label needs `LABEL_WIDTH` px of its row, so the cost of a frame does not depend on the number of
slices. Every slice keeps its full name in the tip and in the panels. Zero-length slices have a name
only below the mouse or if selected; the others have at most a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter

from viewer.arrays import Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.label_text import LabelCache, distinct_rooms
from viewer.gui.timeline.painting.label_pictures import LabelPictures, Written
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.queries import NATIVE_DURATION
from viewer.model.times import format_time, tick_to_ns
from viewer.model.trace import KeyKind
from viewer.render.axis.xmap import XMap
from viewer.render.canvas import Canvas
from viewer.render.layout import SLICE_TOP, STRIP_HEIGHT
from viewer.render.palette import (
    PALETTE_SIZE,
    UNATTRIBUTED,
    UNLINKED,
    Emphasis,
    fills,
    label_colors,
)
from viewer.render.raster import LABEL_WIDTH
from viewer.view.open_trace import OpenTrace
from viewer.view.state import SliceRef

LABEL_INSET = 6
_NARROW, _NARROW_INSET = 30, 2  # px; on narrower slices every pixel is needed for letters
UNATTRIBUTED_ROOM = 120  # px; narrower unattributed time is recognized by its stripes alone
_COMPACT = 15  # px for a 13 px font; slices up to this height have the small font
_UNATTRIBUTED = int(KeyKind.UNATTRIBUTED)
_IS_TIMED = np.isin(np.arange(256), (KeyKind.FRAMEWORK, KeyKind.PLAIN, KeyKind.UNATTRIBUTED))
_OVERHANG = 4  # px by which a line of text may exceed the height of its slice
_RIBBON_ROOM = 22  # px; a slice less tall has no space for a label above the chips
_LIFT = 4  # px by which a label makes room for the chips below it
_HATCHED = UNLINKED, UNATTRIBUTED
_IS_HATCHED = np.isin(np.arange(PALETTE_SIZE), _HATCHED)
_LEAST_TALL = 6  # px; a slice less tall gets no stripes and no text
MARK = 3  # half the height of a diamond
_MARK_LABEL_ROOM = 56
_FOREIGN_EDGE = 5  # px


@dataclass(frozen=True, slots=True)
class _Place:
    """The upper edge of a text in px, and as a line of device pixels and the 64ths below it."""

    y: float
    line: int
    rest: int


@dataclass(frozen=True, slots=True)
class _Line:
    """The labels of a row: of the slices below `top`; without a font if there is no room for any.

    lifted: of a label above chips.
    """

    top: int
    tall: int
    labels: LabelCache | None
    plain: _Place
    lifted: _Place


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
        self._ink = -1
        self._pictures = LabelPictures()
        self.retheme()

    def retheme(self) -> None:
        """Update cached fonts after the theme changed."""
        self._usual = LabelCache(self.theme.font("label"))
        self._small = LabelCache(self.theme.font("zero_length"))
        self._compact = self.theme.px(_COMPACT)
        self._pictures.clear()

    def start(self) -> None:
        """Start a frame: no label is painted yet."""
        self.taken, self.own = [], QRectF()
        self._font, self._ink = None, -1

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
        selected = scene.session.state.slice
        chosen = selected.index if selected is not None and selected.trace == number else -1
        lit = scene.drawings.stand_out(number, found.slice)
        if scene.search.dims and scene.search.shows_only_hits:  # `lit` is then a hit
            found = found.chosen(np.flatnonzero(lit | (found.slice == chosen)))
            lit = scene.drawings.stand_out(number, found.slice)
        if not len(found.slice):
            return
        self._use(painter, self._usual)
        self._pictures.start(painter)
        tops = (layout.y[bands] - scene.scroll + SLICE_TOP).tolist()
        talls = layout.slice_height[bands].tolist()
        lines: list[_Line | None] = [None] * len(tops)  # most rows have no labels
        left, right = found.x0 / canvas.ratio, (found.x1 - 1) / canvas.ratio
        wide = right - left
        inset = np.where(wide < _NARROW, _NARROW_INSET, LABEL_INSET)
        columns, rests = self._pictures.columns(left + inset)
        keys, palette = shown.trace.slices.key[found.slice], drawn.palette[found.slice]
        kinds = shown.trace.keys.kind[keys]
        inks = _inks(self.theme.dark, self.theme.tokens.text2, scene.drawings.behind)
        is_bare = (kinds == _UNATTRIBUTED) & (wide < UNATTRIBUTED_ROOM)
        links, strings = shown.table.links, shown.label_strings
        for position, i, x, across, text, room, gap, column, rest, ink, key, hatched, timed in zip(
            found.position.tolist(),
            found.slice.tolist(),
            left.tolist(),
            wide.tolist(),
            np.where(is_bare, -1, shown.labels[found.slice].astype(np.int64)).tolist(),
            distinct_rooms(wide - 2 * inset).tolist(),
            inset.tolist(),
            columns.tolist(),
            rests.tolist(),
            inks[lit.astype(np.intp), palette].tolist(),
            keys.tolist(),
            _IS_HATCHED[palette].tolist(),
            _IS_TIMED[kinds].tolist(),
            strict=True,
        ):
            line = lines[position]
            if line is None:
                line = lines[position] = self._line(tops[position], talls[position])
            labels = line.labels
            if hatched:
                self._hatch(QRectF(x, line.top, across, line.tall))
            if native is not None and native.value(i) is not None:
                self._foreign_edge(QRectF(x, line.top, across, line.tall))
            if text < 0 or labels is None:
                continue
            operators = links[key].operators if line.tall >= _RIBBON_ROOM else ()
            place = line.plain if len(operators) < 2 else line.lifted
            label = self._write(labels, strings[text], room, ink, x + gap, column, rest, place)
            if label.text is None:
                continue
            used = label.wide + 2 * gap
            # The insets of both texts, without the time itself.
            if timed and across > used + 3 * LABEL_INSET:
                self._write_time(shown, i, x, across, used, ink, line)
            if len(operators) > 1:
                self._ribbon(shown, operators, QRectF(x, line.top, across, line.tall))
            if selected is not None:
                taken = QRectF(x, line.top, used, line.tall)
                self.taken.append(taken)
                if i == chosen:
                    self.own = taken
        self._pictures.finish()

    def _line(self, top: int, tall: int) -> _Line:
        """Where the labels of a row of slices are: below `top`, in `tall` px."""
        labels = self._small if tall <= self._compact else self._usual
        y = top + (tall - labels.line_height) / 2
        plain = lifted = _Place(y, *self._pictures.line(y))
        if tall >= _RIBBON_ROOM:
            lifted = _Place(y - _LIFT, *self._pictures.line(y - _LIFT))
        fits = tall >= labels.line_height - _OVERHANG
        return _Line(top, tall, labels if fits else None, plain, lifted)

    def _write(
        self,
        labels: LabelCache,
        text: str,
        room: int,
        ink: int,
        x: float,
        column: int,
        rest: int,
        place: _Place,
    ) -> Written:
        """Write what fits of a text into `room` px, or copy its picture; x: also as a column."""
        key = (labels, text, room, ink, rest, place.rest)
        pictures = self._pictures
        known = pictures.find(key)
        if known is None:
            fitted = labels.fit(text, room)
            known = Written(fitted, 0.0 if fitted is None else labels.width(fitted.text()))
            pictures.add(key, known)
        elif known.text is None or pictures.copy(
            known, labels.font, ink, (column, place.line), (rest, place.rest)
        ):
            return known
        if known.text is not None:
            painter = pictures.logical()
            if labels is not self._font:
                self._use(painter, labels)
            if ink != self._ink:
                painter.setPen(QColor.fromRgba(ink))
                self._ink = ink
            painter.drawStaticText(QPointF(x, place.y), known.text)
        return known

    def _write_time(
        self, shown: OpenTrace, i: int, x: float, across: float, taken: float, ink: int, line: _Line
    ) -> None:
        """Write how long a slice took at its right end, if there is room beside its label."""
        labels, slices = line.labels, shown.trace.slices
        assert labels is not None
        if NATIVE_DURATION in slices.columns and shown.native(i) is not None:
            time = shown.length_text(i)  # its extent on the canvas is no time
        else:
            length = int(slices.end[i] - slices.start[i])
            time = _time_text(tick_to_ns(length, shown.axis.ns_per_tick))
        used = labels.width(time) + LABEL_INSET
        if taken + used + 2 * LABEL_INSET < across:
            left = x + across - used
            column, rest = self._pictures.column(left)
            room = int(used)
            if (
                self._write(labels, time, room, ink, left, column, rest, line.plain).text
                is not None
            ):
                self.taken.append(QRectF(left, line.top, used, line.tall))

    def _use(self, painter: QPainter, labels: LabelCache) -> None:
        painter.setFont(labels.font)
        self._font, self._ink = labels, -1

    def _ribbon(self, shown: OpenTrace, operators: tuple[int, ...], room: QRectF) -> None:
        """Draw a chip per operator of a shared slice, without dividing its time among them."""
        painter = self._pictures.logical()
        table = fills(self.theme.dark)
        colors = shown.operator_colors(self.scene.session.state.scheme)
        x, y = room.left() + LABEL_INSET, room.bottom() - 7
        for operator in operators:
            if x + 8 > room.right() - 5:
                break
            painter.fillRect(QRectF(x, y, 8, 4), QColor.fromRgb(table[int(colors[operator])]))
            x += 10

    def _hatch(self, room: QRectF) -> None:
        painter = self._pictures.logical()
        brush = QBrush(self.theme.color("text3"), Qt.BrushStyle.BDiagPattern)
        painter.setOpacity(0.55)
        painter.fillRect(room, brush)
        painter.setOpacity(1.0)

    def _foreign_edge(self, room: QRectF) -> None:
        """Draw stripes over the canvas color, because a slice may have the color of the stripes."""
        painter = self._pictures.logical()
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
def _inks(dark: bool, hatched: str, behind: Emphasis) -> NDArray[np.uint32]:
    """0xAARRGGBB of labels by palette index: of slices drawn as `behind`, then of others."""
    faint, full = (
        np.array(label_colors(dark, emphasis), np.uint32) | np.uint32(0xFF000000)
        for emphasis in (behind, Emphasis.FULL)
    )
    full[list(_HATCHED)] = QColor(hatched).rgba()
    return np.stack([faint, full])


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
