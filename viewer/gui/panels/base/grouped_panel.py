"""Base classes of the panels with a table of groups: a key selector, a filter and a summary."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from viewer.gui.panels.base.answer_panel import AnswerPanel
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.operator_tables.model import OperatorModel
from viewer.gui.panels.base.operator_tables.totals import TotalsRow
from viewer.gui.panels.base.operator_tables.view import OperatorView
from viewer.gui.panels.base.page_panel import head_row, plain_column
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, RowTable

Answer = TypeVar("Answer")
# The role in which a combo box stores the flags of an entry. The code never accesses the items
# themselves: their Python wrappers outlive the box and crash the program.
_FLAGS_ROLE = Qt.ItemDataRole.UserRole - 1


class GroupedFrame(AnswerPanel[Answer]):
    """The frame around a table of groups.

    `by` selects the grouping key. `head` is the line above the table; a subclass can add to it.
    """

    def __init__(
        self, host: PanelHost, table: RowTable, name: str, hint: str, below: QWidget
    ) -> None:
        """name: accessible name of the table. hint: placeholder of the filter. below: a widget."""
        super().__init__(host)
        theme = host.theme
        self.by = ComboBox(theme)
        self.by.setAccessibleName(f"{name} by")
        self.by.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.filter = FilterLine(hint, f"Filter {name.lower()}", table, theme)
        self.subtitle = FileCaption(host)
        self.head = head_row(theme, 8)
        self.by_line = QWidget()  # a panel around this page may take it as its switch
        line = QHBoxLayout(self.by_line)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.px(8))
        line.addWidget(label("By", theme, tone="text2"))
        line.addWidget(self.by)
        self.head.addWidget(self.by_line)
        self.head.addWidget(self.filter, 1)
        self.head.addWidget(self.subtitle, 2)
        page = QWidget()
        column = plain_column(page)
        column.addLayout(NoRows(table, self.filter, theme).over_table(), 1)
        column.addWidget(below)
        self.set_page(page, head=self.head)

    def offer_key(self, key: str, missing: str, tooltip: str | None) -> None:
        """Enable an entry of the key selector, or disable it and set its tooltip.

        missing: why the key is not available, "" if it is.
        """
        index = self.by.findData(key)
        self.by.setItemData(index, 0 if missing else None, _FLAGS_ROLE)
        self.by.setItemData(index, tooltip, Qt.ItemDataRole.ToolTipRole)


class GroupedPanel(GroupedFrame[Answer]):
    """A frame around a table of operators and other groups; a subclass fills `model`."""

    def __init__(self, host: PanelHost, name: str, hint: str, below: QWidget) -> None:
        """Like `GroupedFrame`, with its own `OperatorView` as the table."""
        self.model = OperatorModel()
        self.table = OperatorView(self.model, host.theme, name)
        self.table.keep_swatch_room()
        foot = QWidget()
        column = plain_column(foot)
        column.addWidget(TotalsRow(self.table, self.model, host.theme))
        column.addWidget(below)
        super().__init__(host, self.table, name, hint, foot)
        self.model.setParent(self)
        self.filter.textChanged.connect(self.model.set_filter)

    def clear_page(self) -> None:
        self.model.clear()
