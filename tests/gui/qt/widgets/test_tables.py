"""Titles of sorted columns."""

from PySide6.QtCore import QPoint, Qt
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


def test_a_click_that_sorts_shows_the_first_rows(qtbot):
    model = QStandardItemModel(300, 1)
    for row in range(300):
        model.setItem(row, 0, QStandardItem(f"{row * 7 % 300:03}"))
    table = QuietTable("Times")
    qtbot.addWidget(table)
    table.setModel(model)
    table.setSortingEnabled(True)
    table.show()
    table.scrollToBottom()
    header = table.horizontalHeader()
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(30, 8))
    assert table.indexAt(QPoint(5, 5)).row() == 0
    assert table.indexAt(QPoint(5, 5)).data() in ("000", "299")
