"""Makes custom-painted widgets accessible to assistive technology.

Qt assigns roles to its own controls only. It reports a widget that paints itself as "client" and a
scroll area as "filler", which a screen reader cannot use. A class declares its role in one line,
and returns what it currently shows from `accessible_value()`:

    @has_role(QAccessible.Role.Chart)
    class TimelineView(...):
        def accessible_value(self) -> str: ...

That text is also added to the description, because values in AT-SPI (Linux) are numbers only.
Painted items inside a widget that can be reached by keyboard are QObjects with their own accessible
interface: `has_accessible`.

Qt's cache keeps an accessible interface as long as its QObject, regardless of who deletes that.
Tested with PySide6 6.8.3 and 6.11.3, using 300 widgets with five items each, deleted immediately or
later, with and without garbage collection: no crashes and no wrong results. An interface of an
object that is not a QObject would be owned by both Python and Qt, so there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleInterface,
    QKeyEvent,
)
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from viewer.gui.qt.crash_report import guard

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
