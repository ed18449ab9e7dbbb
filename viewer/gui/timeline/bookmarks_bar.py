"""The bookmarks bar between ruler and rows: a flag with a name per bookmark, a band for a span.

It is visible while there are bookmarks. A new bookmark gets its name in a field on the bar.
"""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QLineEdit, QToolTip, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import elided_text, tip
from viewer.gui.session.bookmarks import can_mark, edit, fit, remove, set_bookmarks
from viewer.gui.timeline.painting.bookmarks import LONGEST, BookmarkFlag, flags, mark_columns, title
from viewer.gui.timeline.scene.scene import Scene
from viewer.model.times import counted, format_time
from viewer.render.layout import Canvas
from viewer.view.state import LONGEST_NAME, Bookmark
from viewer.view.visible_ranges import marks_on

HEIGHT = 20
_FLAG = 7  # px, width
_INSET = 4
_BAND = 3  # px, height
_MOST_LINES = 12  # in a tooltip
_FIELD = 190  # px, width of the field for a name
_BRIEFLY_AWAY = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)


class NameField(QLineEdit):
    """The field for the name of a new bookmark; while it has the focus, no key is a shortcut."""

    done = Signal(bool)  # whether to keep the bookmark

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Take every key, so that typing never runs a command."""
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
            return True
        return bool(super().event(event))

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Finish at Enter and Escape; all other keys edit the name."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.done.emit(True)
        elif event.key() == Qt.Key.Key_Escape:
            self.done.emit(False)
        else:
            super().keyPressEvent(event)

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Keep the bookmark if the user continues elsewhere."""
        super().focusOutEvent(event)
        if event.reason() not in _BRIEFLY_AWAY:
            self.done.emit(True)


class BookmarksBar(QWidget):
    """Draws flags on the same columns as ruler and rows.

    `left` is emitted when a new bookmark has its name, and the focus should return to the timeline.
    """

    left = Signal()

    def __init__(self, scene: Scene, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene, self._theme = scene, theme
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Bookmarks")
        self.setVisible(False)
        self._is_expanded = True
        self._naming: Bookmark | None = None  # the bookmark while its name is typed
        self._is_new = False
        self.field = NameField(self)
        self.field.setMaxLength(LONGEST_NAME)
        self.field.setStyleSheet("min-height: 0; border-radius: 3px;")
        self.field.setFixedSize(theme.px(_FIELD), HEIGHT - 1)
        self.field.setAccessibleName("Name of the bookmark")
        self.field.hide()
        self.field.done.connect(self._named)
        scene.changed.connect(self.update)
        scene.moved.connect(self.update)
        theme.changed.connect(self.update)
        scene.session.bookmarks_changed.connect(self._follow)
        scene.session.workspace_changed.connect(self._follow)

    def follow(self, *, is_expanded: bool) -> None:
        """Show the bar while there are bookmarks, unless its strip is collapsed."""
        self._is_expanded = is_expanded
        self._follow()

    def _follow(self) -> None:
        session = self._scene.session
        numbers = marks_on(session.state, self._scene.group.key)
        self.setVisible(self._is_expanded and can_mark(session) and bool(numbers))
        if self._naming is not None and self._naming not in session.state.bookmarks:
            self._naming = None
            self.field.hide()
        self.update()

    def ask_name(self, number: int, *, is_new: bool = True) -> None:
        """Let the user name a bookmark: Enter keeps the name, Escape removes a new bookmark."""
        self._is_new = is_new
        self._naming = self._scene.session.state.bookmarks[number]
        self.field.setText(self._naming.name)
        self.field.selectAll()
        self._place_field()
        self.field.show()
        self.field.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _place_field(self) -> None:
        columns = mark_columns(self._scene, Canvas(self.width(), HEIGHT, self.devicePixelRatioF()))
        marks = self._scene.session.state.bookmarks
        if self._naming in marks:
            x = int(columns[marks.index(self._naming), 0] / self.devicePixelRatioF()) + _FLAG
            self.field.move(min(max(x, 0), max(self.width() - self.field.width(), 0)), 0)

    def _named(self, is_kept: bool) -> None:
        session, naming, self._naming = self._scene.session, self._naming, None
        if naming is None or naming not in session.state.bookmarks:
            return
        number, name = session.state.bookmarks.index(naming), self.field.text().strip()
        self.left.emit()  # before: Qt passes the focus of a hidden field on, which scrolls to it
        self.field.hide()
        if not is_kept:
            if self._is_new:
                remove(session, number)
        elif name and name != naming.name:
            edit(session, number, name=name)

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_field()

    def flags(self) -> list[BookmarkFlag]:
        """The flags in their current positions."""
        canvas = Canvas(self.width(), HEIGHT, self.devicePixelRatioF())
        columns = mark_columns(self._scene, canvas)
        # A span that starts before the view gets its flag at the left edge.
        lefts = [0.0 if x0 < 0 <= x1 and x0 != x1 else canvas.x(x0) for x0, x1 in columns.tolist()]
        return flags(lefts, self.width(), self._scene.session.state.mark)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme, state = self._theme, self._scene.session.state
        painter.fillRect(self.rect(), theme.color("panel"))
        canvas = Canvas(self.width(), HEIGHT, self.devicePixelRatioF())
        columns = mark_columns(self._scene, canvas)
        last = None
        for number, ends in enumerate(columns.tolist()):
            if ends == last:
                continue  # thousands of bookmarks may overlap
            last = ends
            self._band(painter, *map(canvas.x, ends), current=number == state.mark)
        if state.mark is not None and state.mark < len(columns):
            self._band(painter, *map(canvas.x, columns[state.mark].tolist()), current=True)
        painter.setFont(theme.font("ruler"))
        for flag in self.flags():
            self._flag(painter, flag, current=state.mark in flag.bookmarks)
        painter.setPen(QPen(theme.color("line"), 1))
        painter.drawLine(0, HEIGHT - 1, self.width(), HEIGHT - 1)
        painter.end()

    def _band(self, painter: QPainter, x0: float, x1: float, *, current: bool) -> None:
        if x1 <= x0 or x1 < 0 or x0 > self.width():
            return
        left, right = max(x0, 0.0), min(x1, float(self.width()))
        color = self._theme.color("accent" if current else "text3")
        painter.fillRect(QRectF(left, HEIGHT - 1 - _BAND, right - left, _BAND), color)

    def _flag(self, painter: QPainter, flag: BookmarkFlag, *, current: bool) -> None:
        theme, x = self._theme, flag.x
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("accent" if current else "text2"))
        top, tip = 3.0, 3.0 + _FLAG
        painter.drawPolygon(
            QPolygonF([QPointF(x, top), QPointF(x + _FLAG, (top + tip) / 2), QPointF(x, tip)])
        )
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(theme.color("accent" if current else "text2"), 1))
        painter.drawLine(QPointF(x, top), QPointF(x, HEIGHT))
        room = flag.room - _FLAG - 2 * _INSET
        text = elided_text(
            painter.fontMetrics(), self._text(flag), Qt.TextElideMode.ElideRight, int(room)
        )
        painter.setPen(theme.color("text1" if current else "text2"))
        painter.drawText(
            QRectF(x + _FLAG + _INSET, 0, room + 1, HEIGHT - _BAND),
            Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine,
            text,
        )

    def _text(self, flag: BookmarkFlag) -> str:
        marks, current = self._scene.session.state.bookmarks, self._scene.session.state.mark
        first = flag.bookmarks[0]
        if len(flag.bookmarks) == 1:
            return title(marks[first], first)
        if first == current:
            return f"{title(marks[first], first)} +{len(flag.bookmarks) - 1}"
        return counted(len(flag.bookmarks), "bookmark")

    # -- mouse ---------------------------------------------------------------------------------

    def _flag_at(self, x: float) -> BookmarkFlag | None:
        """The flag at x: the nearest one to the left whose space includes x."""
        return next((f for f in reversed(self.flags()) if f.x - _INSET <= x <= f.x + f.room), None)

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Make the bookmark under the mouse, or the next of several, current, with its clock."""
        flag = self._flag_at(event.position().x())
        if flag is None or event.button() != Qt.MouseButton.LeftButton:
            return
        session = self._scene.session
        self._scene.activate()
        numbers, current = sorted(flag.bookmarks), session.state.mark
        chosen = (
            numbers[(numbers.index(current) + 1) % len(numbers)]
            if current in numbers
            else numbers[0]
        )
        set_bookmarks(session, session.state.bookmarks, chosen, session.state.measured)

    @guard
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom to the bookmark under the mouse, or to the current one if several share the flag."""
        flag, session = self._flag_at(event.position().x()), self._scene.session
        if flag is not None:
            current = session.state.mark
            fit(session, current if current in flag.bookmarks else flag.bookmarks[0])

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Show a tooltip with the names, lengths and notes of all bookmarks of a flag."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            flag = self._flag_at(event.pos().x())
            text = "" if flag is None else self.tip_of(flag)
            QToolTip.showText(event.globalPos(), tip(text), self)
            return True
        return bool(super().event(event))

    def tip_of(self, flag: BookmarkFlag) -> str:
        """The tooltip of a flag with one line per bookmark, as rich text with escaped names."""
        bookmarks = self._scene.session.state.bookmarks
        lines = [
            " · ".join(part for part in (title(m, n), _length(m), m.note[:LONGEST]) if part)
            for n, m in ((number, bookmarks[number]) for number in flag.bookmarks[:_MOST_LINES])
        ]
        if len(flag.bookmarks) > _MOST_LINES:
            lines.append(f"and {len(flag.bookmarks) - _MOST_LINES} more")
        return "<br>".join(map(escape, lines))


def _length(mark: Bookmark) -> str:
    return format_time(mark.t1 - mark.t0) if mark.t1 > mark.t0 else ""
