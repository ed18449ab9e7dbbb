"""Keyboard shortcuts and mouse gestures: a dialog to change them, and a page to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from PySide6.QtCore import QEvent, QModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.accessibility import FramedDialog, has_role
from viewer.gui.qt.command_table import (
    FIXED,
    Command,
    CommandTable,
    key_text,
    shown_key,
    shown_keys,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.qt.widgets.labels import Hairline, label
from viewer.gui.qt.widgets.tables import ROW_HEIGHT, FilterLine, QuietTable

_SIZE = 720, 640
_COLUMNS = ("Command", "Keys", "")
_ID = Qt.ItemDataRole.UserRole


class ShortcutsDialog(FramedDialog):
    """Shows and edits the shortcuts of a command table; `gestures` are (how, what) of the mouse."""

    def __init__(
        self,
        commands: CommandTable,
        gestures: Sequence[tuple[str, str]],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(theme, parent)
        self._commands, self._gestures, self._theme = commands, gestures, theme
        self.setWindowTitle("Keys")
        self.resize(theme.px(_SIZE[0]), theme.px(_SIZE[1]))
        self.model = QStandardItemModel(self)
        self.table = self._make_table()
        self.filter = FilterLine("Filter by command or key", "Filter shortcuts", self.table, theme)
        self.filter.textChanged.connect(self._fill)
        self.editor = KeyEditor(commands, theme)
        self.reset_all = QPushButton("Reset all")
        self.reset_all.clicked.connect(lambda: commands.reset_keys())
        self.reset_all.setAutoDefault(False)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        close.setAutoDefault(False)
        foot = laid_out(QHBoxLayout(), self.reset_all, 1, close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(self.filter)
        column.addWidget(self.table, 1)
        column.addWidget(Hairline(theme, "line"))
        column.addWidget(self.editor)
        column.addWidget(Hairline(theme, "line"))
        column.addLayout(foot)
        commands.keys_changed.connect(self._fill)
        theme.changed.connect(self._fill)  # the colors are in the rows
        self._fill()
        self.filter.setFocus()

    def choose(self, id: str) -> None:
        """Select a command in the table."""
        for row in range(self.model.rowCount()):
            if self.model.item(row).data(_ID) == id:
                self.table.selectRow(row)
                return

    def _make_table(self) -> QuietTable:
        table = QuietTable("Keys")
        table.setModel(self.model)
        table.setSelectionMode(table.SelectionMode.SingleSelection)
        table.setEditTriggers(table.EditTrigger.NoEditTriggers)
        table.verticalHeader().setDefaultSectionSize(self._theme.px(ROW_HEIGHT))
        table.selectionModel().currentRowChanged.connect(self._show_chosen)
        table.doubleClicked.connect(self._record)
        table.activated.connect(self._record)
        return table

    @Slot()
    def _fill(self) -> None:
        """List what matches the filter, and keep the selected command."""
        chosen, typed = self.editor.command, self.filter.text()
        self.model.clear()
        self.model.setHorizontalHeaderLabels(_COLUMNS)
        self.table.clearSpans()
        all_commands = self._commands.commands.values()
        for group in dict.fromkeys(command.place for command in all_commands):
            listed = [c for c in all_commands if c.place == group and self._fits(c, typed)]
            if listed:
                self._add_heading(group)
            for command in listed:
                self._add_command(command)
        gestures = [gesture for gesture in self._gestures if _has(" ".join(gesture), typed)]
        if gestures:
            self._add_heading("Mouse")
        for how, what in gestures:
            self._add(what, how, "", selectable=False)
        if not self.model.rowCount():
            words = " ".join(typed.split())
            self._add_heading(f"No shortcut matches “{words}”. Escape clears the filter.")
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in ((1, 240), (2, 90)):
            header.resizeSection(column, self._theme.px(width))
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        ids = [self.model.item(row).data(_ID) for row in range(self.model.rowCount())]
        self.reset_all.setEnabled(any(self._commands.has_own_keys(c.id) for c in all_commands))
        current = chosen.id if chosen is not None and chosen.id in ids else None
        first = current or next((id for id in ids if id), None)
        if first is not None:
            self.choose(first)
        else:
            self.editor.show_command(None)

    def _fits(self, command: Command, typed: str) -> bool:
        keys = [shown_key(key).lower() for key in self._commands.keys(command.id)]
        return typed.strip().lower() in keys or _has(
            f"{command.plain_title} {command.place}", typed
        )

    def _add_heading(self, text: str) -> None:
        item = QStandardItem(text)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setFont(self._theme.font("section"))
        item.setForeground(self._theme.color("text2"))
        self.model.appendRow(item)
        self.table.setSpan(self.model.rowCount() - 1, 0, 1, len(_COLUMNS))

    def _add_command(self, command: Command) -> None:
        id = command.id
        changed = "changed" if self._commands.has_own_keys(id) else ""
        self._add(command.plain_title, shown_keys(self._commands.keys(id)), changed, id)

    def _add(self, what: str, keys: str, note: str, id: str = "", selectable: bool = True) -> None:
        items = [QStandardItem(text) for text in (f"    {what}", keys, note)]
        for item in items:
            item.setData(id, _ID)
            if not selectable:
                item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        items[1].setForeground(self._theme.color("text1" if id else "text2"))
        items[2].setForeground(self._theme.color("text2"))
        self.model.appendRow(items)

    def _show_chosen(self, now: QModelIndex, before: QModelIndex) -> None:
        id = self.model.item(now.row()).data(_ID) if now.isValid() else ""
        self.editor.show_command(self._commands.commands.get(id))

    def _record(self, index: QModelIndex) -> None:
        if self.model.item(index.row()).data(_ID):
            self.editor.recorder.record()


class KeyEditor(QWidget):
    """Shows a command's shortcuts, with buttons to remove each and to add another."""

    def __init__(self, commands: CommandTable, theme: Theme) -> None:
        super().__init__()
        self._commands, self._theme = commands, theme
        self.command: Command | None = None
        self._wanted = ""  # a recorded key that another command uses
        self._title = label("", theme, "operator")
        self._chips = QHBoxLayout()
        self._chips.setSpacing(6)
        self.recorder = KeyRecorder()
        self.recorder.recorded.connect(self._recorded)
        self.reset = QPushButton("Reset")
        self.reset.setAutoDefault(False)
        self.reset.clicked.connect(self._reset)
        self._say = QLabel()
        self._say.setTextFormat(Qt.TextFormat.PlainText)
        self._say.setWordWrap(True)
        self.use, self.leave = QPushButton(), QPushButton()
        for button, answer in ((self.use, self._use), (self.leave, self._leave)):
            button.setAutoDefault(False)
            button.clicked.connect(answer)
        line = laid_out(QHBoxLayout(), self._chips, self.recorder, self.reset, 1, gap=8)
        question = laid_out(QHBoxLayout(), (self._say, 1), self.use, self.leave, gap=8)
        laid_out(QVBoxLayout(self), self._title, line, question, gap=8, margins=(0, 0, 0, 0))
        self.setMinimumHeight(theme.px(112))
        self.show_command(None)

    @property
    def said(self) -> str:
        """The message or question that is shown."""
        return self._say.text()

    def show_command(self, command: Command | None) -> None:
        """Show the shortcuts of a command, or None."""
        if command is not self.command:
            self._ask("")
        self.command = command
        self.setEnabled(command is not None)
        self._title.setText(command.plain_title if command else "No command selected")
        while (item := self._chips.takeAt(0)) is not None:
            if (chip := item.widget()) is not None:
                chip.hide()
                chip.deleteLater()
        for key in self._commands.keys(command.id) if command else ():
            self._chips.addWidget(self._chip(key))
        self.reset.setEnabled(command is not None and self._commands.has_own_keys(command.id))

    def _chip(self, key: str) -> QToolButton:
        chip = QToolButton()
        chip.setText(f"{shown_key(key)}  ×")
        chip.setProperty("framed", True)
        chip.setToolTip("Remove this shortcut")
        chip.setAccessibleName(f"Remove {shown_key(key)}")
        chip.clicked.connect(lambda: self._take(key))
        return chip

    def _take(self, key: str) -> None:
        if self.command is not None:
            self._ask("")
            self._commands.take_key(self.command.id, key)

    def _recorded(self, key: str) -> None:
        if self.command is None:
            return
        owner = self._commands.owner(key)
        if key in FIXED:
            self._ask(f"{shown_key(key)} always {FIXED[key]} and cannot be assigned.")
        elif owner is self.command:
            self._ask(f"{shown_key(key)} is already assigned to “{owner.plain_title}”.")
        elif owner is not None:
            self._ask(f"{shown_key(key)} is assigned to “{owner.plain_title}”.", key)
        else:
            self._ask("")
            self._commands.give_key(self.command.id, key)

    def _ask(self, text: str, key: str = "") -> None:
        self._wanted = key
        self._say.setText(text)
        self.use.setVisible(bool(key))
        self.leave.setVisible(bool(key))
        if key and self.command is not None:
            self.use.setText(f"Reassign to “{self.command.plain_title}”")
            self.leave.setText("Keep")
            self.leave.setFocus()

    def _use(self) -> None:
        if self.command is not None and self._wanted:
            key, owner = self._wanted, self._commands.owner(self._wanted)
            self._commands.give_key(self.command.id, key)
            left = self._commands.keys(owner.id) if owner is not None else ()
            name = f"“{owner.plain_title}”" if owner is not None else ""
            self._ask("" if left or not name else f"{name} has no shortcut now.")
            self.recorder.setFocus()

    def _leave(self) -> None:
        self._ask("")
        self.recorder.setFocus()

    def _reset(self) -> None:
        if self.command is not None:
            self._ask("")
            self._commands.reset_keys(self.command.id)


class KeyRecorder(QPushButton):
    """A button that records the next key press; emits `recorded(key)`, Escape cancels."""

    recorded = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAutoDefault(False)
        self.clicked.connect(self.record)
        self._show(False)

    def record(self) -> None:
        """Start recording the next key press."""
        self.setFocus()
        self._show(True)

    def _show(self, recording: bool) -> None:
        self.is_recording = recording
        self.setText("Press a key…  (Escape cancels)" if recording else "Add shortcut…")

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """While recording, keep keys from being shortcuts or moving the focus."""
        if self.is_recording and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self._take(event)
                return True
        return bool(super().event(event))

    @guard
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._show(False)

    def _take(self, event: QKeyEvent) -> None:
        key = key_text(_pressed(event))
        if event.key() == Qt.Key.Key_Escape and not key.startswith(("Ctrl", "Alt", "Shift")):
            self._show(False)
        elif key:
            self._show(False)
            self.recorded.emit(key)


def _has(text: str, typed: str) -> bool:
    """Whether each typed word is the start of a word in a text."""
    words = text.lower().split()
    return all(any(word.startswith(part) for word in words) for part in typed.lower().split())


def _pressed(event: QKeyEvent) -> str:
    """The pressed key as text; Shift is dropped for signs ("?") but not for letters ("Shift+W")."""
    modifiers, text = event.modifiers(), event.text()
    modifiers &= ~Qt.KeyboardModifier.KeypadModifier
    is_sign = text[:1].isprintable() and not text[:1].isalnum() and not text[:1].isspace()
    if text and is_sign:
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    code = event.key() | modifiers.value
    return QKeySequence(code).toString(QKeySequence.SequenceFormat.PortableText)


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
        if keys := commands.keys(id):
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
        self._columns = laid_out(QHBoxLayout(self._sheet), gap=theme.px(_GAP), margins=(0, 0, 0, 0))
        customize = QPushButton("Customize…")
        customize.setAutoDefault(False)
        customize.clicked.connect(self._customize)
        close = QPushButton("Close")
        close.clicked.connect(self.accept)
        close.setDefault(True)
        foot = laid_out(QHBoxLayout(), customize, 1, close)
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
