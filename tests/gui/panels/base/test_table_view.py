"""The one view of tables: which columns fit, and what is copied."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication

from viewer.gui.panels.base.table import (
    ColumnKind,
    CopyScope,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
)

NUMBERS = PanelTable[range](
    "Numbers",
    (
        PanelColumn("Number", text=lambda c, i: str(c[i]), is_unused=lambda c: len(c) < 2),
        PanelColumn("Square", ColumnKind.NUMBER, 100, leaves=2, text=lambda c, i: str(c[i] ** 2)),
        PanelColumn("Cube", ColumnKind.NUMBER, 100, leaves=1, text=lambda c, i: str(c[i] ** 3)),
        PanelColumn("Last", width=100, text=lambda c, i: "last", fills=True,
            extra_width=lambda c: len(c)),
    ),
    least=150,
    rows=lambda c: np.arange(len(c)),
    sortable=False,
    most_copied=2,
    rest="Export writes all rows",
)  # fmt: skip


@pytest.fixture
def view_of(theme, qtbot):
    def make(table, width=600):
        model = TableModel(table, theme)
        view = TableView(model, theme)
        model.setParent(view)
        qtbot.addWidget(view)
        view.resize(width, 300)
        view.show()
        model.show(range(5))
        return view

    return make


def shown(view):
    return [c.title for i, c in enumerate(NUMBERS.columns) if not view.isColumnHidden(i)]


def copied(view):
    QGuiApplication.clipboard().setText("before")
    view.copy()
    return QGuiApplication.clipboard().text().splitlines()


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (600, ["Number", "Square", "Cube", "Last"]),
        (400, ["Number", "Square", "Last"]),
        (300, ["Number", "Last"]),
        (100, ["Number", "Last"]),
    ],
)
def test_columns_leave_in_their_order_and_others_stay(view_of, width, titles):
    assert shown(view_of(NUMBERS, width)) == titles


def test_unused_columns_leave_their_room_to_the_one_that_fills(view_of):
    view = view_of(NUMBERS)
    before = view.columnWidth(3)
    view.model().show(range(1))
    assert shown(view) == ["Square", "Cube", "Last"]
    assert view.columnWidth(3) > 2 * before


def test_columns_are_as_wide_as_the_contents_need(view_of):
    view = view_of(NUMBERS)
    before = view.columnWidth(3)
    view.model().show(range(30))
    assert view.columnWidth(3) == before + 25


def test_of_very_many_marked_rows_the_first_are_copied_and_the_rest_told(view_of):
    view = view_of(NUMBERS)
    assert copied(view) == ["before"]
    view.selectRow(4)
    assert copied(view)[1:] == ["4\t16\t64\tlast"]
    view.selectAll()
    head, *rows, note = copied(view)
    assert head == "Number\tSquare\tCube\tLast"
    assert rows == ["0\t0\t0\tlast", "1\t1\t1\tlast"]
    assert note == "3 more rows: Export writes all rows"


def test_all_rows_are_copied_if_none_is_marked(view_of):
    view = view_of(replace(NUMBERS, copies=CopyScope.TABLE))
    assert len(copied(view)) == 6
    view.selectRow(1)
    assert copied(view)[1:] == ["1\t1\t1\tlast"]
    view.copy_all()
    assert len(QGuiApplication.clipboard().text().splitlines()) == 6
