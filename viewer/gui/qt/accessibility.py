"""Roles and values of custom-painted widgets for assistive technology, and a frame for the focus.

Qt reports a widget that paints itself as "client" and a scroll area as "filler", which a screen
reader cannot use. A class declares its role in one line, and returns what it shows:

    @has_role(QAccessible.Role.Chart)
    class TimelineView(...):
        def accessible_value(self) -> str: ...

That text is also added to the description, because values in AT-SPI (Linux) are numbers only.
Painted items inside a widget that can be reached by keyboard are QObjects with `has_accessible`.

Qt's cache keeps an accessible interface as long as its QObject, regardless of who deletes that:
tested with PySide6 6.8.3 and 6.11.3, using 300 widgets with five items each. An interface of an
object that is not a QObject would be owned by both Python and Qt, so there are none.

After Tab, the focus is a frame on top of widgets that do not show it themselves, because a border
would change their size. It disappears as soon as the focus moves, and never appears after a click.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleInterface,
    QKeyEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget, QDialog, QTabBar, QWidget

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme

Thing = TypeVar("Thing", bound=type[QObject])

# By class name: Qt requests an interface by the name of each class in an object's hierarchy.
_FACES: dict[str, tuple[type[QObject], Callable[[Any], QAccessibleInterface]]] = {}


def has_role(role: QAccessible.Role) -> Callable[[Thing], Thing]:
    """Decorator for a widget class: sets the role reported to assistive technology."""
    return has_accessible(lambda widget: PaintedAccessible(widget, role))


def has_accessible(face: Callable[[Any], QAccessibleInterface]) -> Callable[[Thing], Thing]:
    """Decorator for a QObject class: `face` creates the accessible interface of an instance."""

    def decorated(kind: Thing) -> Thing:
        _FACES[kind.__name__] = kind, face
        return kind

    return decorated


def announce(widget: QWidget, text: Callable[[], str]) -> None:
    """Announce what a painted widget shows now, if it has the focus."""
    if widget.hasFocus() and QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text()))


# With these modifiers a key is never a widget's own. With Ctrl it is one in lists and fields only.
OF_WINDOW = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
OF_COMMANDS = OF_WINDOW | Qt.KeyboardModifier.ControlModifier


def claims_key(event: QEvent, is_own: Callable[[QKeyEvent], bool]) -> bool:
    """Accept the question whether a key is a shortcut, if it is a widget's own; return whether."""
    is_question = event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent)
    if not is_question or not is_own(cast(QKeyEvent, event)):
        return False
    event.accept()
    return True


class PaintedAccessible(QAccessibleWidget):
    """Exposes a widget's name and role, and its `accessible_value()` if it has one."""

    def __init__(self, widget: QWidget, role: QAccessible.Role) -> None:
        super().__init__(widget, role)
        self._widget = widget

    @guard("")
    def text(self, kind: QAccessible.Text) -> str:
        """The name, description or value; the value is also added to the description."""
        value = getattr(self._widget, "accessible_value", str)()
        if not value or kind not in (QAccessible.Text.Value, QAccessible.Text.Description):
            return str(super().text(kind))
        described = self._widget.accessibleDescription()
        return ". ".join(text.rstrip(".") for text in (value, described) if text)


@guard(None)
def _face_of(name: str, thing: QObject) -> QAccessibleInterface | None:
    kind, face = _FACES.get(name, (None, None))
    return (
        face(thing) if kind is not None and face is not None and isinstance(thing, kind) else None
    )


QAccessible.installFactory(_face_of)


# PySide has no class with several bases of Qt, so what windows share has none.
if TYPE_CHECKING:
    _Window = QWidget
else:
    _Window = object
_WIDTH = 2  # px


class FocusFrame(QWidget):
    """The focus frame of one window, drawn inside the focused widget."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._theme = theme  # no reference to the window, which would keep a dropped window alive
        self._around: QWidget | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_around(self, widget: QWidget | None) -> None:
        """Frame a widget until it loses the focus, unless it shows the focus itself."""
        self.leave()
        if not isinstance(widget, QAbstractScrollArea | QTabBar):
            return
        self._around = widget
        widget.installEventFilter(self)
        self.setParent(widget)
        self.setGeometry(widget.rect())
        self.show()
        self.raise_()

    def leave(self) -> None:
        """Hide the frame."""
        if self._around is not None:
            self._around.removeEventFilter(self)
            self._around = None
            self.setParent(self.window())  # the framed widget may be deleted
        self.hide()

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the framed widget's size, and leave when it loses the focus."""
        if event.type() == QEvent.Type.Resize and self._around is not None:
            self.setGeometry(self._around.rect())
        elif event.type() in (QEvent.Type.FocusOut, QEvent.Type.Hide):
            self.leave()
        return False

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        color, frame = self._theme.color("accent"), self.rect()
        inner = frame.adjusted(_WIDTH, _WIDTH, -_WIDTH, -_WIDTH)
        for side in (
            QRect(0, 0, frame.width(), _WIDTH),
            QRect(0, inner.bottom() + 1, frame.width(), _WIDTH),
            QRect(0, 0, _WIDTH, frame.height()),
            QRect(inner.right() + 1, 0, _WIDTH, frame.height()),
        ):
            painter.fillRect(side, color)
        painter.end()


class Framed(_Window):
    """A window that frames the focused control after Tab; before the class of Qt's window."""

    _focus_frame: FocusFrame

    @guard(False)
    def focusNextPrevChild(self, forward: bool) -> bool:
        """Move the focus to the next control, and frame it if it does not show the focus itself."""
        moved = bool(super().focusNextPrevChild(forward))
        if moved:
            self._focus_frame.show_around(self.focusWidget())
        return moved


class FramedDialog(Framed, QDialog):
    """A dialog that frames the focused control after Tab."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._focus_frame = FocusFrame(theme, self)
