"""A row of tools that continues in the next line where it is wider than its room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QHBoxLayout, QLayoutItem

from viewer.gui.qt.crash_report import guard

_Placed: TypeAlias = tuple[QLayoutItem, int]  # and its stretch


class WrappingRow(QHBoxLayout):
    """A horizontal layout; with less room than its items need at least, it has several lines.

    Items keep their order. In each line, those with a stretch share what the others leave.
    """

    @guard(QSize(0, 0))
    def minimumSize(self) -> QSize:
        """Return the size with one item in each line."""
        lines = self._lines(0)
        margins, widths = self.contentsMargins(), [_least(line) for line in lines]
        wide = max(widths, default=0) + margins.left() + margins.right()
        return QSize(wide, super().minimumSize().height())

    @guard(False)
    def hasHeightForWidth(self) -> bool:
        """Return True: more lines are higher."""
        return True

    @guard(0)
    def heightForWidth(self, width: int) -> int:
        """Return the height of all lines."""
        margins = self.contentsMargins()
        lines = self._lines(width)
        if len(lines) < 2:
            return self.sizeHint().height()
        gaps = self._gap() * (len(lines) - 1)
        return margins.top() + margins.bottom() + gaps + sum(map(_height, lines))

    @guard(0)
    def minimumHeightForWidth(self, width: int) -> int:
        """Return the same: no line may be cut."""
        return self.heightForWidth(width)

    @guard
    def setGeometry(self, rect: QRect) -> None:
        """Place the items."""
        super().setGeometry(rect)
        lines = self._lines(rect.width())
        if len(lines) < 2:
            return
        room = rect.marginsRemoved(self.contentsMargins())
        top = room.top()
        for line in lines:
            height = _height(line)
            self._place(line, QRect(room.left(), top, room.width(), height))
            top += height + self._gap()

    def _gap(self) -> int:
        """Return the px between two lines."""
        return self.spacing() // 2

    def _lines(self, width: int) -> list[list[_Placed]]:
        """Return the items of each line in a width, without hidden ones."""
        margins = self.contentsMargins()
        width -= margins.left() + margins.right()
        lines: list[list[_Placed]] = []
        used = 0
        for index in range(self.count()):
            item = self.itemAt(index)
            if item is None or item.isEmpty():
                continue
            least = item.minimumSize().width()
            if lines and used + self.spacing() + least <= width:
                lines[-1].append((item, self.stretch(index)))
                used += self.spacing() + least
            else:
                lines.append([(item, self.stretch(index))])
                used = least
        return lines

    def _place(self, line: Sequence[_Placed], room: QRect) -> None:
        """Place the items of one line."""
        widths = [item.minimumSize().width() for item, _ in line]
        rest = max(room.width() - sum(widths) - self.spacing() * (len(line) - 1), 0)
        for i, (item, stretch) in enumerate(line):
            if not stretch:
                more = min(max(item.sizeHint().width() - widths[i], 0), rest)
                widths[i] += more
                rest -= more
        stretches = max(sum(stretch for _, stretch in line), 1)
        left = room.left()
        for width, (item, stretch) in zip(widths, line, strict=True):
            wide = min(width + rest * stretch // stretches, room.width())
            item.setGeometry(QRect(left, room.top(), wide, room.height()))
            left += wide + self.spacing()


def _least(line: Sequence[_Placed]) -> int:
    return max(item.minimumSize().width() for item, _ in line)


def _height(line: Sequence[_Placed]) -> int:
    return max(item.sizeHint().height() for item, _ in line)
