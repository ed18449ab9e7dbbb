"""Titles of sorted columns."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QStyleOptionHeaderV2

from viewer.gui.qt.widgets.tables import QuietTable


def test_a_sorted_title_at_the_right_makes_room_for_the_arrow(qtbot):
    model = QStandardItemModel(1, 2)
    for column, side in enumerate((Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight)):
        title = QStandardItem("Self")
        title.setTextAlignment(side)
        model.setHorizontalHeaderItem(column, title)
    table = QuietTable("Times")
    qtbot.addWidget(table)
    table.setModel(model)
    table.setSortingEnabled(True)
    header = table.horizontalHeader()

    def text(column):
        option = QStyleOptionHeaderV2()
        header.initStyleOption(option)
        header.initStyleOptionForIndex(option, column)
        return option.text

    header.setSortIndicator(1, Qt.SortOrder.DescendingOrder)
    assert text(0) == "Self"
    assert text(1).strip() == "Self"
    assert text(1) != "Self"
    header.setSortIndicator(0, Qt.SortOrder.DescendingOrder)
    assert text(0) == text(1) == "Self"
