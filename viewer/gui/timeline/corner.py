"""The corner above the headers: captions, track filter, and the number of missing tracks."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPointF, QRect, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.escape_field import EscapeField
from viewer.gui.qt.widgets.labels import explain
from viewer.gui.session.tracks import arrange_tracks
from viewer.gui.timeline.overview import FULL_SIZES, Overview, paint_border
from viewer.gui.timeline.ruler import RulerBar
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.inferences.inference_views import Inferences
from viewer.model.work_unit import WorkUnit, common_unit
from viewer.render.arrangement import TrackView

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
        """Resize the filter field."""
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
        """Paint the captions, or the note on missing tracks."""
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
        """Draw a small arrow pointing down, as for a menu."""
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
        """Change the cursor over clickable places."""
        over = self._over_link(event) or self._ruler_room().contains(event.position().toPoint())
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open the ruler's menu, or show all tracks."""
        room = self._ruler_room()
        if room.contains(event.position().toPoint()):
            self._ruler.menu_requested.emit(self.mapToGlobal(room.bottomLeft()))
        elif event.button() == Qt.MouseButton.LeftButton and self._over_link(event):
            session = self._scene.session
            arrange_tracks(session, session.state.tracks.with_all())


class FilterField(EscapeField):
    """The track filter; it takes effect while typing, and its edits form one undo step.

    Escape clears it; Enter and Down move the focus to the canvas.
    """

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
