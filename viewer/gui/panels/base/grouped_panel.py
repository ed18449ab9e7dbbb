"""A panel with one table of groups: a chooser of what they are grouped by, a filter, a summary."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.panels.base.operator_table import OperatorModel
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.page_panel import head_row, plain_column, subtitle_label
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, RowTable
from viewer.gui.session.session import Session

Answer = TypeVar("Answer")
# The role in which a combo box keeps the flags of an entry. Its items themselves are not asked for:
# their Python wrappers outlive the box and take the program down with them.
_FLAGS_ROLE = Qt.ItemDataRole.UserRole - 1


class GroupedFrame(AnswerPanel[Answer]):
    """The frame around any table of groups: `by` chooses the key; `head` is the line above the
    table, for what a subclass adds."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        table: RowTable,
        name: str,
        hint: str,
        below: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        """name: what a screen reader calls the table. hint: what the filter takes. below: the
        widget under the table."""
        super().__init__(session, theme, parent)
        self.by = QComboBox()
        self.by.setAccessibleName(f"{name} by")
        self.by.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.filter = FilterLine(hint, f"Filter {name.lower()}", table, theme)
        self.subtitle = subtitle_label(theme)
        self.head = head_row(theme, 8)
        self.head.addWidget(label("By", theme, tone="text2"))
        self.head.addWidget(self.by)
        self.head.addWidget(self.filter, 1)
        self.head.addWidget(self.subtitle, 2)
        page = QWidget()
        column = plain_column(page)
        column.addLayout(self.head)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(below)
        self.set_page(page)

    def offer_key(self, at: int, missing: str, tooltip: str | None) -> None:
        """Offer an entry of the chooser, or gray it. missing: why it cannot be chosen, "" if it
        can."""
        self.by.setItemData(at, 0 if missing else None, _FLAGS_ROLE)
        self.by.setItemData(at, tooltip, Qt.ItemDataRole.ToolTipRole)


class GroupedPanel(GroupedFrame[Answer]):
    """A frame around a table of operators and other groups; a subclass fills `model`."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        name: str,
        hint: str,
        below: QWidget,
        parent: QWidget | None = None,
    ) -> None:
        """As `GroupedFrame`, which gets a table of its own."""
        self.model = OperatorModel()
        self.table = OperatorView(self.model, theme, name)
        self.table.keep_swatch_room()
        super().__init__(session, theme, self.table, name, hint, below, parent)
        self.model.setParent(self)
        self.filter.textChanged.connect(self.model.set_filter)

    def clear_page(self) -> None:
        self.model.clear()
