"""One page of all keys and mouse gestures by task, to read; a button opens the dialog to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.commands.key_map import shown_keys
from viewer.gui.qt.focus_frame import FramedDialog
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import Hairline

# What the user wants to do, and the first parts of the ids of commands for it, most specific first.
TASKS = (
    (
        "Zoom and move",
        ("view.zoom", "view.pan_", "view.scroll", "view.fit", "go.back", "go.for", "clocks."),
    ),
    ("Inferences and slices", ("go.next", "go.previous", "go.runs", "go.include")),
    ("Select and measure", ("selection.", "mark.", "view.clear")),
    ("Search", ("search.", "view.only_hits")),
    ("Tracks", ("tracks.",)),
    ("Panels", ("panel.", "layout.", "view.panels", "view.legend", "view.menu")),
    ("Appearance", ("view.", "ruler.", "clock.")),
    ("Files", ("file.", "sample.", "compare.")),
    ("Edit", ("go.", "edit.")),
    ("Help", ("help.",)),
)
_MOUSE = "Mouse"
_MOST_COLUMNS = 4
_WIDTH = 276  # px, of a column
_GAP = 26  # px between columns
_MARGIN = 20  # px at the left and right
_AROUND = 140  # px of the screen's height for the buttons and the frame of the window
_HEADING_ROWS = 2.2  # the height of a heading with its space, in rows

Row = tuple[str, str]  # keys or gesture, and what it does


def tasks_of(commands: CommandTable) -> Mapping[str, list[Row]]:
    """All commands that have keys, as (keys, title) by task; a command is in its first task."""
    rows_of: dict[str, list[Row]] = {title: [] for title, _ in TASKS}
    for id, command in commands.commands.items():
        keys = commands.keys(id)
        if keys:
            task = next(title for title, starts in TASKS if id.startswith(starts))
            rows_of[task].append((shown_keys(keys), command.plain_title.rstrip("…")))
    return {title: rows for title, rows in rows_of.items() if rows}


@has_role(QAccessible.Role.Document)
class _Page(QScrollArea):
    """The columns, which scroll on a small screen."""


class KeySheet(FramedDialog):
    """Shows the current keys; `gestures` are (how, what) of the mouse."""

    customize_requested = Signal()

    def __init__(
        self,
        commands: CommandTable,
        gestures: Sequence[Row],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._commands, self._gestures, self._theme = commands, gestures, theme
        self.setWindowTitle("Keyboard shortcuts")
        self._sheet = QWidget()
        self._scroll = _Page()
        self._scroll.setAccessibleName("Keyboard shortcuts by task")
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._sheet)
        self._scroll.setWidgetResizable(True)
        self._columns = QHBoxLayout(self._sheet)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._columns.setSpacing(theme.px(_GAP))
        customize = QPushButton("Customize…")
        customize.setAutoDefault(False)
        customize.clicked.connect(self._customize)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        close.setDefault(True)
        foot = QHBoxLayout()
        foot.addWidget(customize)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(_MARGIN, 16, _MARGIN, 16)
        column.setSpacing(12)
        column.addWidget(self._scroll, 1)
        column.addWidget(Hairline(theme, "line"))
        column.addLayout(foot)
        commands.keys_changed.connect(self._fill)
        theme.changed.connect(self._fill)  # the colors are in the texts
        self._fill()
        close.setFocus()

    @property
    def rows(self) -> list[Row]:
        """The rows that are shown, from top to bottom and left to right."""
        parts = self._parts()
        return [row for _, rows in parts for row in rows]

    def room(self) -> QSize:
        """The size of the screen without its bars, which the sheet must fit into."""
        return self.screen().availableGeometry().size()

    def _parts(self) -> list[tuple[str, list[Row]]]:
        return [*tasks_of(self._commands).items(), (_MOUSE, list(self._gestures))]

    @Slot()
    def _customize(self) -> None:
        self.accept()
        self.customize_requested.emit()

    @Slot()
    def _fill(self) -> None:
        """Lay the tasks out in as many columns as the screen has room for, of about one height."""
        while (item := self._columns.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.deleteLater()
        parts = self._parts()
        total = sum(len(rows) + _HEADING_ROWS for _, rows in parts)
        width, gap = self._theme.px(_WIDTH), self._theme.px(_GAP)
        bar = self._scroll.verticalScrollBar().sizeHint().width()
        room = self.room()
        fitting = (room.width() - 2 * _MARGIN - bar + gap) // (width + gap)
        count = min(max(fitting, 1), _MOST_COLUMNS)
        columns: list[list[tuple[str, list[Row]]]] = [[] for _ in range(count)]
        used = 0.0
        for title, rows in parts:
            tall = len(rows) + _HEADING_ROWS
            # A task is in the column where its middle falls.
            columns[min(int((used + tall / 2) / total * count), count - 1)].append((title, rows))
            used += tall
        for listed in columns:
            if listed:
                self._columns.addWidget(self._column(listed), 0, Qt.AlignmentFlag.AlignTop)
        # Otherwise Qt limits a dialog to two thirds of the screen and cuts the longest column.
        size, most = self._columns.sizeHint(), room.height() - self._theme.px(_AROUND)
        is_cut = size.height() > most
        self._scroll.setMinimumSize(size.width() + bar * is_cut, most if is_cut else size.height())

    def _column(self, listed: Sequence[tuple[str, list[Row]]]) -> QLabel:
        colors = self._theme.tokens
        rows: list[str] = []
        for title, commands in listed:
            above = 12 if rows else 0
            rows.append(
                f'<tr><td colspan="2" style="padding-top: {above}px; color: {colors.text2};'
                f' font-weight: 600">{escape(title)}</td></tr>'
            )
            rows += [
                f'<tr><td style="color: {colors.accent}; padding-right: 10px">{escape(keys)}</td>'
                f'<td style="color: {colors.text1}">{escape(what)}</td></tr>'
                for keys, what in commands
            ]
        column = QLabel(f'<table cellspacing="0" cellpadding="1">{"".join(rows)}</table>')
        column.setTextFormat(Qt.TextFormat.RichText)
        column.setFont(self._theme.font("label"))
        column.setWordWrap(True)
        width = self._theme.px(_WIDTH)
        column.setFixedSize(width, column.heightForWidth(width))
        return column
