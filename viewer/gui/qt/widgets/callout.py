"""A callout that points at a part of the window: a frame around it, and a note with buttons.

Both are on top of everything else in the window. The frame is transparent to the mouse, and the
note avoids covering its target, so that all of it stays usable.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from PySide6.QtCore import (
    QEasingCurve,
    QPoint,
    QPointF,
    QPropertyAnimation,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out

_WIDTH = 348  # design px, including the space for the tip
_TIP = 9  # px, length of the tip from the note toward its target
_GAP = 4  # px between tip and frame
_FRAME = 3  # px between frame and target
_ANIMATION_MS = 140


class Callout(QFrame):
    """The note, a child of the widget that it covers; has signals for its two buttons."""

    next_requested = Signal()
    leave_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._frame = _Frame(theme, parent)
        self._target = QRect()
        self.animates = True
        self._animation = QPropertyAnimation(self, b"pos", self)
        self._animation.setDuration(_ANIMATION_MS)
        self._animation.setEasingCurve(QEasingCurve.Type.OutCubic)
        self.step, self.title, self.text = (self._label() for _ in range(3))
        self.next, self.leave = QPushButton(), QPushButton("&Leave the tour")
        self.next.setProperty("primary", True)
        self.leave.setProperty("flat", True)
        self.next.clicked.connect(self.next_requested)
        self.leave.clicked.connect(self.leave_requested)
        for button in (self.next, self.leave):
            button.setAutoDefault(True)  # pressed by Enter
        buttons = laid_out(QHBoxLayout(), self.leave, 1, self.next, gap=theme.px(8))
        column = QVBoxLayout(self)
        inset = theme.px(_TIP + 14)
        column.setContentsMargins(inset, inset, inset, inset)
        column.setSpacing(theme.px(6))
        for label in (self.step, self.title, self.text):
            column.addWidget(label)
        column.addSpacing(theme.px(6))
        column.addLayout(buttons)
        self.setFixedWidth(theme.px(_WIDTH))
        theme.changed.connect(self._retheme)
        self._retheme()
        self.hide()

    def _label(self) -> QLabel:
        label = QLabel(self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _retheme(self) -> None:
        theme = self._theme
        for label, role, tone in (
            (self.step, "caption", "text2"),
            (self.title, "operator", "text1"),
            (self.text, "body", "text1"),
        ):
            label.setFont(theme.font(role))  # type: ignore[arg-type]
            label.setProperty("tone", tone)
        self.update()
        self._frame.update()

    def show_step(self, step: str, title: str, text: str, button: str) -> None:
        """Show another text and announce it to screen readers."""
        self.step.setText(step)
        self.title.setText(title)
        self.text.setText(text)
        self.next.setText(button)
        self.setAccessibleName(f"{step}: {title}")
        self.setAccessibleDescription(text)
        column = self.layout()
        assert column is not None
        column.activate()
        self.resize(QSize(self.width(), column.heightForWidth(self.width())))
        QAccessible.updateAccessibility(
            QAccessibleAnnouncementEvent(self, f"{step}. {title}. {text}")
        )

    def point_at(self, target: QRect, keep: Sequence[QRect] = ()) -> None:
        """Point at a part of the window and frame it, or be centered. keep: what stays visible."""
        self._target = target
        around = target.adjusted(-_FRAME, -_FRAME, _FRAME, _FRAME)
        self._frame.setGeometry(around.intersected(self._over))
        self._frame.setVisible(not target.isEmpty())
        self._frame.raise_()
        self.raise_()
        place = place_next_to(around, self.size(), self._over, keep)
        self._animation.stop()
        if self.isVisible() and self.animates:
            self._animation.setEndValue(place)
            self._animation.start()
        else:
            self.move(place)
        self.show()
        self.update()

    def dismiss(self) -> None:
        """Hide note and frame."""
        self._animation.stop()
        self.hide()
        self._frame.hide()

    @property
    def _over(self) -> QRect:
        parent = self.parentWidget()
        return QRect() if parent is None else parent.rect()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the note and its tip toward the middle of the target."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, tip = self._theme, self._theme.px(_TIP)
        body = self.rect().adjusted(tip, tip, -tip, -tip)
        painter.setPen(QPen(theme.color("accent"), 1.5))
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(body, 6, 6)
        if not self._target.isEmpty():
            corners = tip_corners(body, self._target.translated(-self.pos()), tip)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("accent"))
            painter.drawPolygon(QPolygonF(corners))
        painter.end()


class _Frame(QWidget):
    """A rounded frame around a part of the window, transparent to the mouse."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("accent"), 2))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)
        painter.end()


def place_next_to(target: QRect, size: QSize, room: QRect, keep: Sequence[QRect] = ()) -> QPoint:
    """Top left corner for a note next to a target, as close as possible without covering it.

    Tries below, above, right and left first. An empty target centers the note. `keep` lists other
    parts, such as tabs and rows, that should stay visible as far as there is space.
    """
    middle = target.center() if not target.isEmpty() else room.center()
    wide, tall = size.width(), size.height()
    boxes = [box for box in (target, *keep) if not box.isEmpty()]
    xs = [_within(middle.x() - wide // 2, room.left(), room.right() - wide)]
    ys = [_within(middle.y() - tall // 2, room.top(), room.bottom() - tall)]
    for box in boxes:
        xs += [box.right() + 1 + _GAP, box.left() - wide - _GAP]
        ys += [box.bottom() + 1 + _GAP, box.top() - tall - _GAP]
    places = [(xs[0], ys[0])]  # covers the target, so it is used only if all others do too
    if not target.isEmpty():
        places += [(xs[0], y) for y in ys[1:3]] + [(x, ys[0]) for x in xs[1:3]]
    notes = [QRect(QPoint(x, y), size) for x, y in (*places, *product(xs, ys))]
    fitting = [notes[0], *(note for note in notes[1:] if room.contains(note))]
    return min(
        fitting,
        key=lambda note: (
            _covered(note, target),
            sum(_covered(note, box) for box in keep),
            _apart(note, target),
        ),
    ).topLeft()


def _covered(note: QRect, box: QRect) -> int:
    """The area of a box that a note covers, in px²."""
    both = note.intersected(box)
    return both.width() * both.height() if not both.isEmpty() else 0


def _apart(note: QRect, target: QRect) -> int:
    """Distance between note and target in px, summed over both axes; 0 for an empty target."""
    if target.isEmpty():
        return 0
    across = max(target.left() - note.right(), note.left() - target.right(), 1)
    return across + max(target.top() - note.bottom(), note.top() - target.bottom(), 1) - 2


def tip_corners(body: QRect, target: QRect, tip: int) -> list[QPointF]:
    """Corners of the triangle on the note's edge that faces a target; empty if they overlap."""
    middle = target.center()
    x = _within(middle.x(), body.left() + 2 * tip, body.right() - 2 * tip)
    y = _within(middle.y(), body.top() + 2 * tip, body.bottom() - 2 * tip)
    if target.bottom() < body.top():
        base, step = QPoint(x, body.top()), (0, -1)
    elif target.top() > body.bottom():
        base, step = QPoint(x, body.bottom() + 1), (0, 1)
    elif target.right() < body.left():
        base, step = QPoint(body.left(), y), (-1, 0)
    elif target.left() > body.right():
        base, step = QPoint(body.right() + 1, y), (1, 0)
    else:
        return []
    along = QPoint(step[1], step[0]) * tip
    corners = (base - along, base + QPoint(*step) * (tip - 1), base + along)
    return [QPointF(corner) for corner in corners]


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
