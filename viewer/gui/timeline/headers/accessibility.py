"""Headers for assistive technology: a tree, and in it an item per process or track.

Headers are painted, so an item is an object that represents one, made when it is first requested.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QPoint, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QAccessibleInterface,
    QAccessibleObject,
    QAccessibleStateChangeEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.accessibility import PaintedAccessible, has_accessible
from viewer.gui.qt.crash_report import guard
from viewer.render.layout import HeaderPart

_query = QAccessible.queryAccessibleInterface
_NONE: QAccessibleInterface = None  # type: ignore[assignment] # Qt's answer; the stubs know of none


class HeaderColumn(QWidget):
    """What the tree has to know of the column of headers."""

    items: HeaderItems

    @property
    def current(self) -> HeaderPart | None:
        """The part that the keyboard is on, None while the keyboard is elsewhere."""
        raise NotImplementedError

    @property
    def parts(self) -> list[HeaderPart]:
        """What has a header, from top to bottom."""
        raise NotImplementedError

    def title_of(self, part: HeaderPart) -> str:
        """What a part is called, a track with its process."""
        raise NotImplementedError

    def room_of(self, part: HeaderPart) -> QRect:
        """Where the header of a part is in the column, which may be above or below of its view."""
        raise NotImplementedError

    def is_folded(self, part: HeaderPart) -> bool | None:
        """Whether a part is folded, None where there is nothing to fold."""
        raise NotImplementedError

    def part_at(self, y: int) -> HeaderPart | None:
        """The process or track whose header is at a line of the column."""
        raise NotImplementedError


class HeadersAccessible(PaintedAccessible):
    """The column."""

    def __init__(self, headers: HeaderColumn) -> None:
        super().__init__(headers, QAccessible.Role.Tree)
        self._headers = headers

    @guard(0)
    def childCount(self) -> int:
        """How many headers are shown, also above and below of what is in view."""
        return len(self._headers.parts)

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """The header at a position from the top."""
        parts = self._headers.parts
        return _query(self._headers.items.of(parts[index])) if 0 <= index < len(parts) else _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        """The position of a header, -1 of anything else."""
        item, parts = child.object(), self._headers.parts
        if not (isinstance(item, HeaderItem) and item.part in parts):
            return -1
        return parts.index(item.part)

    @guard(None)
    def childAt(self, x: int, y: int) -> QAccessibleInterface:
        """The header at a point of the screen."""
        part = self._headers.part_at(self._headers.mapFromGlobal(QPoint(x, y)).y())
        return _NONE if part is None else _query(self._headers.items.of(part))

    @guard(None)
    def focusChild(self) -> QAccessibleInterface:
        """The header that the keyboard is at."""
        current = self._headers.current
        return _NONE if current is None else _query(self._headers.items.of(current))


class HeaderItemAccessible(QAccessibleObject):
    """One header: its full name, whether it is folded, and where it is."""

    def __init__(self, item: HeaderItem) -> None:
        super().__init__(item)
        self._headers, self._part = item.headers, item.part

    @guard(QAccessible.Role.TreeItem)
    def role(self) -> QAccessible.Role:
        """An item of a tree."""
        return QAccessible.Role.TreeItem

    @guard("")
    def text(self, kind: QAccessible.Text) -> str:
        """The name, of a track with its process."""
        return self._headers.title_of(self._part) if kind == QAccessible.Text.Name else ""

    @guard(QAccessible.State())
    def state(self) -> QAccessible.State:
        """Where the keyboard is, and what it can do there."""
        made, headers = QAccessible.State(), self._headers
        made.focusable = made.selectable = True
        made.focused = made.selected = headers.current == self._part
        folded = headers.is_folded(self._part)
        made.expandable = folded is not None
        made.expanded, made.collapsed = folded is False, folded is True
        seen = headers.isVisible() and headers.rect().intersects(headers.room_of(self._part))
        made.offscreen = not seen
        return made

    @guard(None)
    def parent(self) -> QAccessibleInterface:
        """The column."""
        return _query(self._headers)

    @guard(0)
    def childCount(self) -> int:
        """There is nothing in an item."""
        return 0

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """There is nothing in an item."""
        return _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        """There is nothing in an item."""
        return -1

    @guard(QRect())
    def rect(self) -> QRect:
        """Where it is on the screen."""
        room = self._headers.room_of(self._part)
        return QRect(self._headers.mapToGlobal(room.topLeft()), room.size())


@has_accessible(HeaderItemAccessible)
class HeaderItem(QObject):
    """Stands for one header."""

    def __init__(self, headers: HeaderColumn, part: HeaderPart) -> None:
        super().__init__(headers)
        self.headers, self.part = headers, part


class HeaderItems:
    """The items of a column of headers."""

    def __init__(self, headers: HeaderColumn) -> None:
        self._headers = headers
        self._made: dict[HeaderPart, HeaderItem] = {}

    def of(self, part: HeaderPart) -> HeaderItem:
        """What stands for a part."""
        if part not in self._made:
            self._made[part] = HeaderItem(self._headers, part)
        return self._made[part]

    def announce_current(self, part: HeaderPart) -> None:
        """Say that the keyboard is at a part now."""
        if QAccessible.isActive():
            event = QAccessibleEvent(self.of(part), QAccessible.Event.Focus)
            QAccessible.updateAccessibility(event)

    def announce_folded(self, part: HeaderPart) -> None:
        """Say that a part was folded or opened."""
        if QAccessible.isActive():
            changed = QAccessible.State()
            changed.expanded = changed.collapsed = True
            event = QAccessibleStateChangeEvent(self.of(part), changed)
            QAccessible.updateAccessibility(event)

    def forget_gone(self) -> None:
        """Parts that are no longer shown have no item."""
        for part in self._made.keys() - set(self._headers.parts) if self._made else ():
            self._made.pop(part).deleteLater()
