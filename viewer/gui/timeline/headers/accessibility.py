"""Headers for assistive technology: a tree with one item per process or track.

Headers are only painted, so each item is a QObject that represents one, created on first use.
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
_NONE: QAccessibleInterface = None  # type: ignore[assignment] # what Qt expects


class HeaderColumn(QWidget):
    """The interface of the headers column that the tree needs."""

    items: HeaderItems

    @property
    def current(self) -> HeaderPart | None:
        """The part with the keyboard focus, None if the focus is elsewhere."""
        raise NotImplementedError

    @property
    def parts(self) -> list[HeaderPart]:
        """All parts with a header, from top to bottom."""
        raise NotImplementedError

    def title_of(self, part: HeaderPart) -> str:
        """The name of a part; for a track, with its process."""
        raise NotImplementedError

    def room_of(self, part: HeaderPart) -> QRect:
        """The rectangle of a part's header in the column, which may be scrolled out of view."""
        raise NotImplementedError

    def is_folded(self, part: HeaderPart) -> bool | None:
        """Whether a part is collapsed, None if it cannot be."""
        raise NotImplementedError

    def part_at(self, y: int) -> HeaderPart | None:
        """The process or track whose header is at a line of the column."""
        raise NotImplementedError


class HeadersAccessible(PaintedAccessible):
    """The headers column as a tree."""

    def __init__(self, headers: HeaderColumn) -> None:
        super().__init__(headers, QAccessible.Role.Tree)
        self._headers = headers

    @guard(0)
    def childCount(self) -> int:
        """The number of headers, including those scrolled out of view."""
        return len(self._headers.parts)

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """The header at a position from the top."""
        parts = self._headers.parts
        return _query(self._headers.items.of(parts[index])) if 0 <= index < len(parts) else _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        """The position of a header, -1 for anything else."""
        item, parts = child.object(), self._headers.parts
        if not (isinstance(item, HeaderItem) and item.part in parts):
            return -1
        return parts.index(item.part)

    @guard(None)
    def childAt(self, x: int, y: int) -> QAccessibleInterface:
        """The header at a screen position."""
        part = self._headers.part_at(self._headers.mapFromGlobal(QPoint(x, y)).y())
        return _NONE if part is None else _query(self._headers.items.of(part))

    @guard(None)
    def focusChild(self) -> QAccessibleInterface:
        """The header with the keyboard focus."""
        current = self._headers.current
        return _NONE if current is None else _query(self._headers.items.of(current))


class HeaderItemAccessible(QAccessibleObject):
    """A header: its full name, whether it is collapsed, and its rectangle."""

    def __init__(self, item: HeaderItem) -> None:
        super().__init__(item)
        self._headers, self._part = item.headers, item.part

    @guard(QAccessible.Role.TreeItem)
    def role(self) -> QAccessible.Role:
        """An item of a tree."""
        return QAccessible.Role.TreeItem

    @guard("")
    def text(self, kind: QAccessible.Text) -> str:
        """The name; for a track, with its process."""
        return self._headers.title_of(self._part) if kind == QAccessible.Text.Name else ""

    @guard(QAccessible.State())
    def state(self) -> QAccessible.State:
        """Focus, selection, expansion and visibility of the header."""
        state, headers = QAccessible.State(), self._headers
        state.focusable = state.selectable = True
        state.focused = state.selected = headers.current == self._part
        folded = headers.is_folded(self._part)
        state.expandable = folded is not None
        state.expanded, state.collapsed = folded is False, folded is True
        visible = headers.isVisible() and headers.rect().intersects(headers.room_of(self._part))
        state.offscreen = not visible
        return state

    @guard(None)
    def parent(self) -> QAccessibleInterface:
        """The headers column."""
        return _query(self._headers)

    @guard(0)
    def childCount(self) -> int:
        """Items have no children."""
        return 0

    @guard(None)
    def child(self, index: int) -> QAccessibleInterface:
        """Items have no children."""
        return _NONE

    @guard(-1)
    def indexOfChild(self, child: QAccessibleInterface) -> int:
        """Items have no children."""
        return -1

    @guard(QRect())
    def rect(self) -> QRect:
        """The header's rectangle on the screen."""
        room = self._headers.room_of(self._part)
        return QRect(self._headers.mapToGlobal(room.topLeft()), room.size())


@has_accessible(HeaderItemAccessible)
class HeaderItem(QObject):
    """Represents one header for assistive technology."""

    def __init__(self, headers: HeaderColumn, part: HeaderPart) -> None:
        super().__init__(headers)
        self.headers, self.part = headers, part


class HeaderItems:
    """The accessible items of a headers column, by part."""

    def __init__(self, headers: HeaderColumn) -> None:
        self._headers = headers
        self._by_part: dict[HeaderPart, HeaderItem] = {}

    def of(self, part: HeaderPart) -> HeaderItem:
        """The item of a part, created on first use."""
        if part not in self._by_part:
            self._by_part[part] = HeaderItem(self._headers, part)
        return self._by_part[part]

    def announce_current(self, part: HeaderPart) -> None:
        """Announce that a part got the keyboard focus."""
        if QAccessible.isActive():
            event = QAccessibleEvent(self.of(part), QAccessible.Event.Focus)
            QAccessible.updateAccessibility(event)

    def announce_folded(self, part: HeaderPart) -> None:
        """Announce that a part was collapsed or expanded."""
        if QAccessible.isActive():
            changed = QAccessible.State()
            changed.expanded = changed.collapsed = True
            event = QAccessibleStateChangeEvent(self.of(part), changed)
            QAccessible.updateAccessibility(event)

    def forget_gone(self) -> None:
        """Delete the items of parts that are no longer shown."""
        for part in self._by_part.keys() - set(self._headers.parts) if self._by_part else ():
            self._by_part.pop(part).deleteLater()
