"""The Preferences window: a form whose choices apply at once.

It knows no setting: it is given sections of rows, and each row reads and changes one setting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.dataclasses import dataclass
from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, laid_out
from viewer.gui.qt.widgets.labels import Hairline, label

_WIDTH = 560
_LABELS = 120  # px, the least width of the column of names


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values.

    name: with its mnemonic. options: (value, text). current, pick: read and change it. note: what
    the user must know, below it.
    """

    name: str
    options: Sequence[tuple[str, str]]
    current: Callable[[], str]
    pick: Callable[[str], object]
    note: str = ""


@dataclass(frozen=True, slots=True)
class TextChoice:
    """A text, typed or chosen from `options`; `empty` is shown for no text. Else as `Choice`."""

    name: str
    options: Sequence[str]
    empty: str
    current: Callable[[], str]
    pick: Callable[[str], object]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Switch:
    """Something on or off; `why_not` explains why it cannot be switched, "" if it can."""

    name: str
    is_on: Callable[[], bool]
    toggle: Callable[[], object]
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Stock:
    """What takes space, and a button titled `action` that frees it.

    text: how much it is; `is_empty` if there is nothing to free. Else as `Choice`.
    """

    name: str
    text: Callable[[], str]
    action: str
    free: Callable[[], object]
    is_empty: Callable[[], bool]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Rows with a heading."""

    title: str
    rows: Sequence[Choice | TextChoice | Switch | Stock]


class PreferencesDialog(FramedDialog):
    """Shows and changes settings; `restore_requested`: all defaults. Call `follow` after any."""

    restore_requested = Signal()

    def __init__(
        self, sections: Sequence[Section], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self._theme = theme
        self._following: list[Callable[[], None]] = []
        self.controls: dict[str, QComboBox | QCheckBox] = {}
        self.stocks: dict[str, QPushButton] = {}
        self.setWindowTitle("Preferences")
        self.setMinimumWidth(theme.px(_WIDTH))
        form = QGridLayout()
        form.setHorizontalSpacing(theme.px(12))
        form.setVerticalSpacing(theme.px(6))
        form.setColumnMinimumWidth(0, theme.px(_LABELS))
        form.setColumnStretch(1, 1)
        for section in sections:
            self._add_section(form, section)
        self.restore, self.close_button = QPushButton("&Restore defaults"), QPushButton("&Close")
        self.restore.setAutoDefault(False)
        self.restore.clicked.connect(self.restore_requested)
        self.close_button.setAutoDefault(False)
        self.close_button.clicked.connect(self.accept)
        foot = laid_out(QHBoxLayout(), self.restore, 1, self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(theme.px(12))
        column.addLayout(form)
        column.addStretch(1)
        column.addWidget(Hairline(theme, "line"))
        column.addLayout(foot)
        self.follow()

    @Slot()
    def follow(self) -> None:
        """Show the current values."""
        for show in self._following:
            show()

    # -- rows ----------------------------------------------------------------------------------

    def _add_section(self, form: QGridLayout, section: Section) -> None:
        heading = label(section.title, self._theme, "section", "text2")
        heading.setContentsMargins(0, self._theme.px(6) if form.count() else 0, 0, 0)
        form.addWidget(heading, form.rowCount(), 0, 1, 2)
        for row in section.rows:
            if isinstance(row, Switch):
                form.addWidget(self._check_box(row), form.rowCount(), 1)
                continue
            name, line = QLabel(row.name), form.rowCount()
            form.addWidget(name, line, 0)
            if isinstance(row, Stock):
                box: QWidget = self._stock_button(row, form, line)
            else:
                box = self._text_box(row) if isinstance(row, TextChoice) else self._choice_box(row)
                form.addWidget(box, line, 1)
                self._name(box, row.name)
            name.setBuddy(box)
            if row.note:
                note = label(row.note, self._theme, "caption", "text2")
                form.addWidget(note, line + 1, 1)
                box.setAccessibleDescription(row.note)

    def _name(self, control: QComboBox | QCheckBox, name: str) -> None:
        plain = name.replace("&", "")
        control.setAccessibleName(plain)
        self.controls[plain] = control

    def _check_box(self, row: Switch) -> QCheckBox:
        box = QCheckBox(row.name)
        self._name(box, row.name)
        box.setEnabled(not row.why_not)
        box.setToolTip(row.why_not)
        box.clicked.connect(lambda: row.toggle())
        self._following.append(lambda: box.setChecked(row.is_on()))
        return box

    def _stock_button(self, row: Stock, form: QGridLayout, line: int) -> QPushButton:
        size, button = QLabel(), QPushButton(row.action)
        button.setAutoDefault(False)
        plain = row.name.replace("&", "")
        button.setAccessibleName(f"{row.action} {plain.lower()}")
        self.stocks[plain] = button

        def show() -> None:
            size.setText(row.text())
            button.setEnabled(not row.is_empty())

        def free() -> None:
            row.free()
            show()

        button.clicked.connect(free)
        self._following.append(show)
        both = laid_out(QHBoxLayout(), (size, 1), button)
        form.addLayout(both, line, 1)
        return button

    def _choice_box(self, row: Choice) -> ComboBox:
        box = ComboBox(self._theme)
        for value, text in row.options:
            box.addItem(text, value)
        box.activated.connect(lambda index: row.pick(box.itemData(index)))
        self._following.append(lambda: box.setCurrentIndex(box.findData(row.current())))
        return box

    def _text_box(self, row: TextChoice) -> ComboBox:
        box = ComboBox(self._theme)
        field = QLineEdit()
        box.setLineEdit(field)
        box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        field.setCompleter(None)  # type: ignore[arg-type]  # it would complete what is typed
        field.setPlaceholderText(row.empty)
        field.setAccessibleName(row.name.replace("&", ""))
        box.addItem(row.empty, "")
        for text in row.options:
            box.addItem(text, text)

        def choose(index: int) -> None:
            row.pick(box.itemData(index))
            _show_text(box, row)

        box.activated.connect(choose)
        field.textEdited.connect(row.pick)
        self._following.append(partial(_show_text, box, row))
        return box


def _show_text(box: ComboBox, row: TextChoice) -> None:
    text = row.current()
    if box.currentText() == text:
        return  # a new text or index would move the cursor while the user types
    with QSignalBlocker(box):
        box.setCurrentIndex(box.findData(text, flags=Qt.MatchFlag.MatchExactly))
        if box.currentText() != text:
            box.setEditText(text)
