"""Roles of what is painted as a whole, as assistive technology is told them.

Qt has a role for its own controls. A widget that paints itself is "client" to it, and a scroll area
"filler", of which a screen reader makes nothing. A class says its role in one line, and in
`accessible_value()` what a look at it tells:

    @has_role(QAccessible.Role.Chart)
    class TimelineView(...):
        def accessible_value(self) -> str: ...

That text is part of the description too, since AT-SPI (Linux) has numbers alone as values. What is
painted inside and reached by the keys is a QObject with a face of its own: `has_accessible`.

A face lives in Qt's cache for as long as its QObject, whoever deletes that. This was tried with
PySide6 6.8.3 and 6.11.3, 300 widgets with five things inside each, deleted now or later, collected
or not: none crashed, none was told wrongly. A face of what is no QObject would have two owners,
Python and Qt; there is none here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

from viewer.gui.qt.crash_report import guard

Thing = TypeVar("Thing", bound=type[QObject])

# By the names of classes: Qt asks for a face by the name of each class of an object in turn.
_FACES: dict[str, tuple[type[QObject], Callable[[Any], QAccessibleInterface]]] = {}


def has_role(role: QAccessible.Role) -> Callable[[Thing], Thing]:
    """Decorates a widget's class: what assistive technology takes it for."""
    return has_accessible(lambda widget: PaintedAccessible(widget, role))


def has_accessible(face: Callable[[Any], QAccessibleInterface]) -> Callable[[Thing], Thing]:
    """Decorates the class of a QObject: what makes its face."""

    def decorated(kind: Thing) -> Thing:
        _FACES[kind.__name__] = kind, face
        return kind

    return decorated


class PaintedAccessible(QAccessibleWidget):
    """A widget by its name, its role and, where it has one, its `accessible_value()`."""

    def __init__(self, widget: QWidget, role: QAccessible.Role) -> None:
        super().__init__(widget, role)
        self._widget = widget

    @guard("")
    def text(self, kind: QAccessible.Text) -> str:
        """The name, the description or the value."""
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
