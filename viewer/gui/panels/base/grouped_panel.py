"""What panels with one table that can be cut in several ways have in common.

A chooser, a filter and a line on what is listed above the table, a widget below it that sums it up,
and a sentence in place of all of it where there is nothing.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from viewer.gui.panels.base.operator_table import OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, RowTable


class GroupedFrame(QWidget):
    """The frame around any table of groups: `by` chooses how it is cut; `head` is the line above
    the table, for what a subclass adds."""

    def __init__(
        self, theme: Theme, table: RowTable, name: str, hint: str, nothing: str, below: QWidget,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        """name: what a screen reader calls the table. hint: what the filter takes. nothing: what
        stands in place of the table. below: stands under it."""
        super().__init__(parent)
        self.by = QComboBox()
        self.by.setAccessibleName(f"{name} by")
        self.by.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.filter = FilterLine(hint, f"Filter {name.lower()}", table, theme)
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        page = QWidget()
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(6), theme.px(12), theme.px(6))
        head.setSpacing(theme.px(8))
        head.addWidget(label("By", theme, tone="text2"))
        head.addWidget(self.by)
        head.addWidget(self.filter, 1)
        head.addWidget(self.subtitle, 2)
        self.head = head
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(below)
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._empty = EmptyPlace(nothing, theme)
        self._stack.addWidget(self._empty)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the table."""
        return self._stack.currentIndex() == 1

    def set_empty(self, empty: bool, sentence: str = "") -> None:
        """Show the sentence, which may be another one now, or the table."""
        if sentence:
            self._empty.sentence.setText(sentence)
        self._stack.setCurrentIndex(int(empty))


class GroupedPanel(GroupedFrame):
    """A frame around a table of operators and other groups; a subclass fills `model`."""

    def __init__(
        self, theme: Theme, name: str, hint: str, nothing: str, below: QWidget,
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        """As `GroupedFrame`, which gets a table of its own."""
        self.model = OperatorModel()
        self.table = OperatorView(self.model, theme, name)
        self.table.keep_swatch_room()
        super().__init__(theme, self.table, name, hint, nothing, below, parent)
        self.model.setParent(self)
        self.filter.textChanged.connect(self.model.set_filter)

    def set_empty(self, empty: bool, sentence: str = "") -> None:
        """Show the sentence, and let go of what the table showed, or show the table."""
        if empty:
            self.model.clear()
        super().set_empty(empty, sentence)
