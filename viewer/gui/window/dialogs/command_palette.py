"""The command palette: a field over the window, and a list of commands filtered while typing.

It is part of the window instead of a window itself, so it cannot get lost behind another window or
be left open by mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import shiboken6
from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFocusEvent, QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QListView,
    QMainWindow,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.gui.qt.command_table import CommandTable, match, shown_key
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import EscapeField, laid_out
from viewer.gui.qt.widgets.labels import elided_text

_WIDTH, _ROW, _ROWS, _TOP = 600, 30, 12, 12  # px, px, rows, px below the toolbar
_INSET = 12
_IMPOSSIBLE = 6.0  # score penalty for commands that are not available

_PATH_SIGNS = str.maketrans(dict.fromkeys(">:›→", " "))

_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class PaletteRow:
    """A command in the list; `places` are the positions of matched letters in its text."""

    id: str
    title: str
    group: str
    keys: tuple[str, ...]
    possible: bool
    need: str
    places: frozenset[int]


def found_rows(table: CommandTable, typed: str, recent: Sequence[str]) -> list[PaletteRow]:
    """The matching commands, best first; recently used ones first if nothing is typed.

    Those that can run and whose title begins with what is typed come before all others. Words of
    the path match, too, also as a path is written: "view > clocks".
    """
    begin = typed.strip().lower()
    words = typed.translate(_PATH_SIGNS)
    rank = {id: number for number, id in enumerate(recent)}
    ranked = []
    for number, command in enumerate(table.commands.values()):
        title, possible = command.plain_title, command.is_possible
        path = command.path.translate(_PATH_SIGNS)
        fit = match(words, f"{title} {path} {command.keywords}".rstrip())
        if fit is None:
            continue
        group = command.place
        if command.checked is not None:
            group += " · on" if command.checked() else " · off"
        keys = tuple(shown_key(key) for key in table.keys(command.id))
        row = PaletteRow(command.id, title, group, keys, possible, command.need, fit.places)
        score = fit.score - (0 if possible else _IMPOSSIBLE)
        sort_key = (
            bool(begin) and not (possible and title.lower().startswith(begin)),
            -score if begin else not possible,
            rank.get(command.id, len(rank)),
            number,
        )
        ranked.append((sort_key, row))
    ranked.sort(key=lambda pair: pair[0])
    return [row for _, row in ranked]


class CommandPalette(QFrame):
    """The palette of one window; emits `ran(id)` after running a chosen command."""

    ran = Signal(str)

    def __init__(self, window: QMainWindow, commands: CommandTable, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._commands, self._theme = window, commands, theme
        self._recent: Sequence[str] = ()
        self._before: QWidget | None = None  # the widget that had the focus
        self.model = _Model()
        self.field = _Field(self)
        self.field.setPlaceholderText("Type a command")
        self.field.setAccessibleName("Command")
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Delegate(theme, self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName("Commands")
        column = laid_out(QVBoxLayout(self), self.field, self.list, gap=8, margins=(8, 8, 8, 8))
        self.nothing = QLabel("No matching commands")
        self.nothing.setMargin(_INSET)
        column.addWidget(self.nothing)
        self.setAccessibleName("Command palette")
        self.field.textChanged.connect(self._find)
        self.list.clicked.connect(lambda index: self._choose(index.row()))
        theme.changed.connect(self.update)
        window.installEventFilter(self)
        self.hide()

    def toggle(self, recent: Sequence[str]) -> None:
        """Show or hide the palette; `recent` are the ids of recent commands, latest first."""
        if self.isVisible():
            self.put_away()
            return
        self._recent = recent
        self._before = QApplication.focusWidget()
        self.field.clear()
        self._find("")
        self._place()
        self.show()
        self.raise_()
        self.field.setFocus()

    def _place(self) -> None:
        """Move to the top center of the window."""
        width = min(self._theme.px(_WIDTH), self._window.width() - 32)
        self.setFixedWidth(width)
        top = self._window.centralWidget().y() + self._theme.px(_TOP)  # type: ignore[union-attr]
        self.move((self._window.width() - width) // 2, top)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._fit_rows()
            self._place()
        return False

    def put_away(self) -> None:
        """Hide the palette, and return the focus to the widget that had it."""
        if self.isHidden():
            return
        before, self._before = self._before, None
        had_keyboard = self.field.hasFocus()
        self.hide()
        if had_keyboard and before is not None and shiboken6.isValid(before):
            before.setFocus()

    def go(self, by: int) -> None:
        """Move the current row by `by`, wrapping around at the ends."""
        if count := self.model.rowCount():
            self._mark((self.list.currentIndex().row() + by) % count)

    def run(self) -> None:
        """Run the current command; an unavailable one does nothing."""
        self._choose(self.list.currentIndex().row())

    def _choose(self, row: int) -> None:
        if not 0 <= row < len(self.model.rows):
            return
        self._mark(row)
        chosen = self.model.rows[row]
        if chosen.possible:
            self.put_away()
            if self._commands.run(chosen.id):
                self.ran.emit(chosen.id)

    def _mark(self, row: int) -> None:
        self.list.setCurrentIndex(self.model.index(row))

    def _find(self, typed: str) -> None:
        self.model.show_rows(found_rows(self._commands, typed, self._recent))
        self._mark(0)
        self._fit_rows()

    def _fit_rows(self) -> None:
        self.nothing.setVisible(not self.model.rows)
        self.list.setVisible(bool(self.model.rows))
        self.field.setAccessibleDescription("" if self.model.rows else self.nothing.text())
        rows = min(max(len(self.model.rows), 1), _ROWS)
        room = self._window.height() // 2 // self._theme.px(_ROW)
        self.list.setFixedHeight(min(rows, max(room, 3)) * self._theme.px(_ROW))
        self.adjustSize()

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.setBrush(self._theme.color("panel"))
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 6, 6)
        painter.end()


class _Field(EscapeField):
    """The palette's field; passes keys that navigate on to the list."""

    def __init__(self, palette: CommandPalette) -> None:
        super().__init__(palette)
        self._palette = palette

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in _STEPS:
            self._palette.go(_STEPS[Qt.Key(key)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._palette.run()
        elif key == Qt.Key.Key_Escape:
            self._palette.put_away()
        else:
            super().keyPressEvent(event)

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        elsewhere = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)
        if event.reason() not in elsewhere:
            self._palette.put_away()


_STEPS = {
    Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: _ROWS - 1,
    Qt.Key.Key_PageUp: 1 - _ROWS, Qt.Key.Key_Tab: 1, Qt.Key.Key_Backtab: -1,
}  # fmt: skip


class _Model(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[PaletteRow] = []

    def show_rows(self, rows: list[PaletteRow]) -> None:
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    @guard(0)
    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.rows)

    @guard
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            need = f"needs {row.need}" if row.need and not row.possible else ""
            return ", ".join(filter(None, (row.title, row.group, *row.keys, need)))
        return row if role == Qt.ItemDataRole.UserRole else None


class _Delegate(QStyledItemDelegate):
    """Paints title, group and requirement on the left, shortcuts on the right."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(0, self._theme.px(_ROW))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        row, theme, room = index.data(Qt.ItemDataRole.UserRole), self._theme, QRect(option.rect)
        marked = bool(option.state & QStyle.StateFlag.State_Selected)
        over = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if marked or over:
            painter.fillRect(room, theme.color("selection" if marked else "hover"))
        quiet = "text2" if marked else "text3"
        room.adjust(_INSET, 0, -_INSET, 0)
        painter.setFont(theme.font("label"))
        for key in reversed(row.keys):
            room.setRight(self._key(painter, key, room) - 6)
        x = self._title(painter, row, room, "text1" if row.possible else quiet)
        note = row.group if row.possible or not row.need else f"{row.group} · needs {row.need}"
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color(quiet))
        rest = room.adjusted(x + 12 - room.left(), 0, 0, 0)
        note = elided_text(painter.fontMetrics(), note, Qt.TextElideMode.ElideRight, rest.width())
        painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, note)

    def _key(self, painter: QPainter, key: str, room: QRect) -> int:
        """Draw a shortcut at the right of `room`; returns its left edge."""
        width = painter.fontMetrics().horizontalAdvance(key) + 12
        height = painter.fontMetrics().height() + 4
        box = QRect(room.right() - width, room.center().y() - height // 2, width, height)
        painter.setPen(QPen(self._theme.color("line"), 1))
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(self._theme.color("text2"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, key)
        return box.left()

    def _title(self, painter: QPainter, row: PaletteRow, room: QRect, ink: str) -> int:
        """Draw a title with matched letters in bold; returns the x where it ends."""
        plain, bold = self._theme.font("body"), self._theme.font("body")
        bold.setWeight(QFont.Weight.Bold)
        painter.setPen(self._theme.color(ink))
        x = room.left()
        for start, end in _stretches(len(row.title), row.places):
            font = bold if start in row.places else plain
            text = row.title[start:end]
            painter.setFont(font)
            flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            painter.drawText(room.adjusted(x - room.left(), 0, 0, 0), flags, text)
            x += QFontMetrics(font).horizontalAdvance(text)
        return x


def _stretches(length: int, places: frozenset[int]) -> list[tuple[int, int]]:
    """Split a title into runs of matched and unmatched letters, as (start, end)."""
    cuts = [0, *(i for i in range(1, length) if (i in places) != (i - 1 in places)), length]
    return list(pairwise(cuts))
