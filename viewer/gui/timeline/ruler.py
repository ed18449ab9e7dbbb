"""The ruler above the rows, and the corner beside it, above the headers.

A drag on the ruler selects a time range on all tracks, regardless of the rows below.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QObject, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QWidget

from viewer.dataclasses import replace
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import EscapeField
from viewer.gui.qt.widgets.labels import elided_text, explain
from viewer.gui.session.bookmarks import measured_on
from viewer.gui.session.choices import arrange_tracks
from viewer.gui.session.selection import selected_span_on
from viewer.gui.timeline.overview import FULL_SIZES, Overview, paint_border
from viewer.gui.timeline.scene.scene import Scene
from viewer.gui.timeline.view import DRAG_THRESHOLD, TimelineView
from viewer.model.inference_views import Inferences
from viewer.model.times import format_time
from viewer.model.trace_attributes import WorkUnit, common_unit
from viewer.render.arrangement import TrackView
from viewer.render.layout import Canvas
from viewer.render.time_axis import columns_of_span
from viewer.view.state import Area

HEIGHT = 26
_MOST_ROWS = 64  # rows whose highlighted slices are marked; an operator has two or three


@lru_cache(maxsize=1 << 14)  # both kinds of ticks on each pixel; a frame makes a hundred
def _tick(x: float, tall: int) -> QLineF:
    return QLineF(x, HEIGHT - tall, x, HEIGHT)


class RulerBar(QWidget):
    """Draws ticks and labels on the same columns as the rows below."""

    menu_requested = Signal(QPoint)  # screen position

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self._pointed: int | None = None
        self._taken: tuple[float, float] | None = None  # x extent of the frame's last chip
        # All but the time under the mouse, and the extent of its last chip; None after a change.
        self._rest: tuple[Canvas, QPixmap, tuple[float, float] | None] | None = None
        self.setFixedHeight(HEIGHT)
        scene.changed.connect(self._refresh)
        scene.moved.connect(self._refresh)
        scene.pointed.connect(self.point)
        theme.changed.connect(self._refresh)

    def _refresh(self) -> None:
        self._rest = None
        self.update()

    @property
    def caption(self) -> str:
        """The unit and origin of the labels."""
        t0, t1 = self._scene.gaps.times(*self._scene.visible)
        return self._scene.scale.caption(t1 - t0)

    @property
    def _canvas(self) -> Canvas:
        return Canvas(self.width(), self.height(), self.devicePixelRatioF())

    def point(self, place: int | None) -> None:
        """Show the time at a place on screen in a chip; place: in ns, None to remove the chip."""
        if place != self._pointed:
            self._pointed = place
            self.update()

    @guard
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_requested.emit(event.globalPos())

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint ticks, labels, the extent of the selection and the time under the mouse."""
        painter, canvas = QPainter(self), self._canvas
        if self._pointed is None or not canvas.ratio.is_integer():
            self._rest = None
            self._paint_rest(painter, canvas)
        else:
            if self._rest is None or self._rest[0] != canvas:
                picture = QPixmap(canvas.columns, canvas.lines)
                picture.setDevicePixelRatio(canvas.ratio)
                inner = QPainter(picture)
                self._paint_rest(inner, canvas)
                inner.end()
                self._rest = canvas, picture, self._taken
            _, picture, self._taken = self._rest
            painter.drawPixmap(0, 0, picture)
        if self._pointed is not None:
            painter.setFont(self._theme.font("ruler"))
            x = canvas.x(self._scene.xmap(canvas.columns).column_at(self._pointed))
            time = self._scene.gaps.last_at(self._pointed)
            text = self._scene.scale.text(time, self._scene.ns_per_pixel(self.width()))
            self._chip(painter, x, text, "raised", "text1")
            painter.setPen(QPen(self._theme.color("line"), 1))
            painter.drawLine(0, HEIGHT - 1, self.width(), HEIGHT - 1)
        painter.end()

    def _paint_rest(self, painter: QPainter, canvas: Canvas) -> None:
        theme, width = self._theme, self.width()
        painter.fillRect(self.rect(), theme.color("panel"))
        lines = self._scene.ruler(canvas)
        painter.setFont(theme.font("ruler"))
        painter.setPen(QPen(theme.color("line"), 1))
        major = [canvas.x(column) for column in lines.major.tolist()]
        minor = [canvas.x(column) for column in lines.minor.tolist()]
        painter.drawLines([_tick(x, 4) for x in minor] + [_tick(x, 9) for x in major])
        painter.setPen(theme.color("text2"))
        texts = theme.texts("ruler")
        for x, text in zip(major, lines.labels, strict=True):
            if x + 5 + texts.width(text) <= width:
                texts.draw(painter, x + 5, 0, HEIGHT - 6, text)
            # Otherwise the label would be cut off and read as another number.
        self._taken = None
        self._hits(painter, canvas)
        self._selection(painter, canvas)
        self._measured(painter, canvas)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, HEIGHT - 1, width, HEIGHT - 1)

    def _hits(self, painter: QPainter, canvas: Canvas) -> None:
        """Mark where highlighted operators have slices, no matter how small."""
        for picture in (self._scene.rasters[number] for number in self._scene.group.traces):
            if picture.hits is None:
                continue
            xmap = self._scene.xmap(canvas.columns)
            rows = np.flatnonzero(np.diff(picture.hits.drawn.row_ptr))[:_MOST_ROWS]
            if not len(rows):
                continue
            cells = picture.hits.draw(rows.tolist(), xmap.on(picture.open_trace.axis))
            is_hit = np.concatenate([[0], (cells != 0).any(axis=0).astype(np.int8), [0]])
            starts, ends = (np.flatnonzero(np.diff(is_hit) == step).tolist() for step in (1, -1))
            for x0, x1 in zip(map(canvas.x, starts), map(canvas.x, ends), strict=True):
                painter.fillRect(QRectF(x0, HEIGHT - 3, x1 - x0, 2), self._theme.color("accent"))

    def _selection(self, painter: QPainter, canvas: Canvas) -> None:
        session = self._scene.session
        if session.state.slice is None and session.state.area is None:
            return
        span = selected_span_on(session, self._scene.group.key)
        xmap = self._scene.xmap(canvas.columns)
        first, last = xmap.times
        if span is None or span[1] < first or span[0] >= last:
            return
        x0, x1 = map(canvas.x, columns_of_span(xmap, span))
        painter.fillRect(
            QRectF(x0, HEIGHT - 4, max(x1 - x0, 2), 3), self._theme.color("accent_fill")
        )
        text = format_time(span[1] - span[0])
        if session.state.slice is not None and not session.state.others:
            open_trace = session.traces[session.state.slice.trace]
            text = open_trace.length_text(session.state.slice.index)
        self._chip(painter, (x0 + x1) / 2, text, "accent_fill", "on_accent")

    def _measured(self, painter: QPainter, canvas: Canvas) -> None:
        """Paint the measured span, with its length unless the selection already shows the same."""
        session = self._scene.session
        clock = self._scene.group.key
        span = measured_on(session, clock)
        if span is None or span[0] == span[1]:
            return
        xmap = self._scene.xmap(canvas.columns)
        first, last = xmap.times
        if span[1] < first or span[0] >= last:
            return
        x0, x1 = map(canvas.x, columns_of_span(xmap, span))
        painter.fillRect(QRectF(x0, 0, max(x1 - x0, 2), 2), self._theme.color("text1"))
        state = session.state
        selected = state.slice is not None or state.area is not None
        if not selected or selected_span_on(session, clock) != span:
            middle = (max(x0, 0) + min(x1, canvas.width)) / 2
            self._chip(painter, middle, format_time(span[1] - span[0]), "raised", "text1")

    def _chip(self, painter: QPainter, x: float, text: str, fill: str, ink: str) -> None:
        wide = self._theme.texts("ruler").width(text) + 14
        left = min(max(x - wide // 2, 0.0), max(self.width() - wide, 0.0))
        if self._taken is not None and left < self._taken[1] and left + wide > self._taken[0]:
            # Move it next to the previous chip, on the side where the mouse is.
            before = self._taken[0] - wide - 4
            left = self._taken[1] + 4 if x >= sum(self._taken) / 2 or before < 0 else before
        self._taken = (left, left + wide)
        box = QRectF(left, 3, wide, HEIGHT - 8)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color(fill))
        painter.drawRoundedRect(box, 4, 4)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(self._theme.color(ink))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


class RulerDrag(QObject):
    """Turns drags on a ruler into area selections."""

    def __init__(self, ruler: QWidget, view: TimelineView) -> None:
        super().__init__(ruler)
        self._view = view
        self._from: int | None = None  # x of the press
        self._dragging = False
        ruler.installEventFilter(self)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Track drags with the left button; all events still reach the ruler."""
        if not isinstance(event, QMouseEvent):
            return False
        x = event.position().toPoint().x()
        if event.type() == QEvent.Type.MouseButtonPress:
            self._from = x if event.button() == Qt.MouseButton.LeftButton else None
            self._dragging = False
            self._view.rows.activate()
        elif self._from is None:
            return False
        elif event.type() == QEvent.Type.MouseMove:
            self._dragging |= abs(x - self._from) >= DRAG_THRESHOLD
            if self._dragging:
                self._show(x)
        elif event.type() == QEvent.Type.MouseButtonRelease:
            if self._dragging:
                area = self._show(x)
                self._view.drop_dragged()
                self._view.session.select_area(area if area.t1 > area.t0 and area.tracks else None)
            self._from, self._dragging = None, False
        return False

    def _show(self, x: int) -> Area:
        assert self._from is not None
        return self._view.show_dragged(*self._view.times_between(self._from, x))


_INDENT = 28
_CAPTION_HEIGHT, _FIELD_HEIGHT, _AIR = 19, 22, 6  # px
_SHOW_ALL = "Show all"
_RIGHT_CUT = Qt.TextElideMode.ElideRight
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class Corner(QWidget):
    """Shows captions of band, overview and ruler, and the filter field.

    If tracks are hidden or filtered out, a note with a link that shows them all replaces the
    overview's caption.
    """

    def __init__(self, scene: Scene, overview: Overview, ruler: RulerBar, theme: Theme) -> None:
        super().__init__()
        self._scene, self._ruler, self._theme = scene, ruler, theme
        self._overview = overview
        self.filter = FilterField(scene)
        self.filter.setParent(self)
        self.setMouseTracking(True)
        self._caption = ""  # of the ruler, as last painted
        self._has_caption = True  # the overview
        scene.changed.connect(self.update)
        scene.moved.connect(self._follow_ruler)
        scene.arranged.connect(self._describe)
        theme.changed.connect(self.update)

    @property
    def missing(self) -> str:
        """How many tracks are hidden or filtered out, as text; "" if none."""
        return self._scene.missing_text

    def _follow_ruler(self) -> None:
        # While zooming, only the unit matters here.
        if self._ruler.caption != self._caption:
            self.update()

    def fit(self) -> None:
        """Follow the sizes of the overview."""
        self._place_filter()
        self.update()

    @guard
    def resizeEvent(self, event: QEvent) -> None:
        self._place_filter()

    def _place_filter(self) -> None:
        """Resize the filter field to the width of the column."""
        sizes = self._overview.sizes
        # As high as its text, which takes the room of the caption in large fonts.
        least = self.filter.fontMetrics().height() + 6
        height = min(max(_FIELD_HEIGHT, least), sizes.lanes - 3)
        top = sizes.band
        if sizes == FULL_SIZES:
            top += sizes.lanes - 3 - height  # above the border
        self._has_caption = top - sizes.band >= self.fontMetrics().height() - 2
        self.filter.setGeometry(_AIR, top, self.width() - 2 * _AIR - 1, height)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme, width = self._theme, self.width()
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setFont(theme.font("ruler"))
        sizes, captions = self._overview.sizes, list[tuple[str, int, int]]()
        if self._has_runs() and (sizes == FULL_SIZES or not self.missing):
            captions.append((self._unit().plural.capitalize(), 0, sizes.band))
        if not self.missing and sizes == FULL_SIZES and self._has_caption:
            what = "Sorting tracks…" if self._scene.is_sorting else "Overview"
            captions.append((what, sizes.band, _CAPTION_HEIGHT))
        painter.setPen(theme.color("text2"))
        for text, top, height in captions:
            text = elided_text(painter.fontMetrics(), text, _RIGHT_CUT, width - _INDENT - _AIR)
            painter.drawText(_INDENT, top, width - _INDENT, height, _LEFT, text)
        room, self._caption = self._ruler_room(), self._ruler.caption
        caption = elided_text(
            painter.fontMetrics(),
            self._caption,
            Qt.TextElideMode.ElideMiddle,
            room.width() - 2 * _AIR,
        )
        painter.drawText(room, _LEFT, caption)
        chevron_x = room.left() + painter.fontMetrics().horizontalAdvance(caption) + _AIR
        self._chevron(painter, chevron_x, room.center().y())
        if self.missing:
            note, link = self._missing_rooms()
            text = elided_text(
                painter.fontMetrics(), self.missing, Qt.TextElideMode.ElideMiddle, note.width()
            )
            painter.setPen(theme.color("warning"))
            painter.drawText(note, _LEFT, text)
            painter.setPen(theme.color("accent"))
            painter.drawText(link, _LEFT, _SHOW_ALL)
        paint_border(painter, width, sizes, theme)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(width - 1, 0, width - 1, self.height())
        painter.drawLine(0, self.height() - 1, width, self.height() - 1)
        painter.end()

    def _ruler_room(self) -> QRect:
        """The area of the ruler's caption, which opens its menu."""
        top, height = self._overview.sizes.height, self._ruler.height()
        left = _INDENT
        if self._note_is_on_ruler:
            return QRect(self.width() - 2 * _AIR, top, 2 * _AIR, height)
        return QRect(left, top, self.width() - left, height)

    @property
    def _note_is_on_ruler(self) -> bool:
        """Whether the note on missing tracks is where the ruler's caption would be."""
        sizes = self._overview.sizes
        return bool(self.missing) and not sizes.band and sizes != FULL_SIZES

    def _note_top(self) -> int:
        """The line at which the note on missing tracks begins."""
        sizes = self._overview.sizes
        if sizes == FULL_SIZES:
            return sizes.band
        return sizes.height if self._note_is_on_ruler else 0

    def _chevron(self, painter: QPainter, x: int, y: int) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("text2"), 1.2))
        painter.drawPolyline([QPointF(x, y), QPointF(x + 3, y + 3), QPointF(x + 6, y)])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _missing_rooms(self) -> tuple[QRect, QRect]:
        """The areas of the note on missing tracks, and of the link that shows them all."""
        metrics = QFontMetrics(self._theme.font("ruler"))
        wide = metrics.horizontalAdvance(_SHOW_ALL) + 2
        left = _AIR + 2
        most = self.width() - left - wide - 3 * _AIR
        note = QRect(
            left,
            self._note_top(),
            min(metrics.horizontalAdvance(self.missing) + 2, most),
            _CAPTION_HEIGHT,
        )
        return note, QRect(note.right() + _AIR, note.top(), wide, _CAPTION_HEIGHT)

    def _unit(self) -> WorkUnit:
        traces = self._scene.session.traces
        return common_unit(
            traces[number].file.unit
            for number in self._scene.group.traces
            if any(traces[number].file.inferences())
        )

    def _has_runs(self) -> bool:
        # Aligned inferences overlap one another, and a mean is not an inference.
        session = self._scene.session
        as_run = session.state.inferences is Inferences.AS_RUN
        return as_run and any(
            session.traces[number].trace.runs for number in self._scene.group.traces
        )

    def _describe(self) -> None:
        explain(self, self.missing)

    def _over_link(self, event: QMouseEvent) -> bool:
        return bool(self.missing) and self._missing_rooms()[1].contains(event.position().toPoint())

    @guard
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = self._over_link(event) or self._ruler_room().contains(event.position().toPoint())
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        room = self._ruler_room()
        if room.contains(event.position().toPoint()):
            self._ruler.menu_requested.emit(self.mapToGlobal(room.bottomLeft()))
        elif event.button() == Qt.MouseButton.LeftButton and self._over_link(event):
            session = self._scene.session
            arrange_tracks(session, session.state.tracks.with_all())


class FilterField(EscapeField):
    """The track filter: its edits are one undo step. Escape clears it, Enter and Down leave it."""

    left = Signal()  # the focus should return to the canvas

    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self._scene = scene
        self._typed: TrackView | None = None  # the track view after this field's last edit
        self.setPlaceholderText("Filter tracks")
        self.setAccessibleName("Filter tracks by name")
        self.setToolTip(
            "Shows only tracks and processes whose name contains this text, on all clocks"
        )
        self.show_clear_button()
        self.setProperty("small", True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.textEdited.connect(self._filter)
        self.textChanged.connect(self._cleared)
        scene.arranged.connect(self._follow)

    def _filter(self, text: str) -> None:
        session = self._scene.session
        now = session.state.tracks
        filtered = replace(now, filter=text)
        arrange_tracks(session, filtered, joins=self._typed is now and self.hasFocus())
        self._typed = session.state.tracks

    def _cleared(self, text: str) -> None:
        # The clear button does not emit textEdited.
        if not text and self._scene.session.state.tracks.filter:
            self._filter(text)

    def _follow(self) -> None:
        text = self._scene.session.state.tracks.filter
        if text != self.text():
            self.setText(text)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape clears the field, or leaves it if it is empty."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self._filter("")
        elif event.key() in (
            Qt.Key.Key_Escape,
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
            Qt.Key.Key_Down,
        ):
            self.left.emit()
        else:
            super().keyPressEvent(event)
