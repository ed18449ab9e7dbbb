"""The table of a result, and what its cells select."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView

from viewer.gui.panels.base.tables.columns import ColumnKind, CopyScope, PanelColumn, PanelTable
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.qt.theme.theme import Theme
from viewer.query.engine import Result
from viewer.query.result_values import SLICE_IDS, cell_text, is_number, is_time

_WIDEST, _LOOKED_AT = 360, 200  # px of a column; rows that decide about widths


def kind_of(name: str, type_name: str) -> ColumnKind:
    """Return what a column holds: times in ns, numbers or texts."""
    if is_time(name, type_name):
        return ColumnKind.TIME
    return ColumnKind.NUMBER if is_number(type_name) else ColumnKind.TEXT


def _text(i: int, result: Result, row: int) -> str:
    return cell_text(result, row, i)


def _plain(i: int, result: Result, row: int) -> str:
    value = result.rows[row][i]
    return "" if value is None else str(value)


def _keys(i: int, kind: ColumnKind, result: Result) -> NDArray[Any]:
    values = [row[i] for row in result.rows]
    if kind is ColumnKind.TEXT:
        return np.array(["" if value is None else str(value) for value in values])
    return np.array([np.nan if value is None else float(value) for value in values])


def table_of(result: Result) -> PanelTable[Result]:
    """Return the table of a result."""
    columns = []
    for i, (name, type_name) in enumerate(zip(result.columns, result.types, strict=True)):
        kind = kind_of(name, type_name)
        columns.append(
            PanelColumn[Result](
                name,
                kind,
                96,
                f"{type_name}",
                f"{i}",
                text=partial(_text, i),
                plain=partial(_plain, i),
                tooltip=partial(_plain, i),
                keys=partial(_keys, i, kind),
                tone="accent" if name in SLICE_IDS else "text1",
            )
        )
    return PanelTable(
        "Rows of the query",
        tuple(columns),
        least=96,
        rows=lambda result: np.arange(len(result.rows)),
        copies=CopyScope.TABLE,
    )


class RowsView(TableView):
    """The rows: as wide as its columns, with a scroll bar where they do not fit."""

    def __init__(self, result: Result, theme: Theme) -> None:
        super().__init__(TableModel(table_of(result), theme), theme)
        self.result = result
        self._table_model.setParent(self)
        self._table_model.show(result)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(False)
        metrics = self.fontMetrics()
        for i, column in enumerate(self.arranged.columns):
            texts = [column.text(result, row) for row in range(min(len(result.rows), _LOOKED_AT))]
            widest = max(map(metrics.horizontalAdvance, [f"{column.title}   ", *texts]))
            self.setColumnWidth(i, min(widest + theme.px(28), theme.px(_WIDEST)))

    def fit_columns(self) -> None:
        """Keep the widths."""

    def slice_id(self, row: int, column: int) -> int | None:
        """Return the slice that a cell names, or else the first one that its row names."""
        result = self.result
        values = result.rows[int(self.arranged.items[row])]
        named = [i for i, name in enumerate(result.columns) if name in SLICE_IDS]
        for i in (column, *named):
            if i in named and isinstance(values[i], int):
                return int(values[i])
        return None

    def row_of_item(self, item: int) -> int:
        """Return where a row of the result is in the table."""
        return int(np.flatnonzero(np.asarray(self.arranged.items) == item)[0])

    def row_of(self, number: int) -> int:
        """Return the row of a slice in the first column that names slices, -1 for none."""
        result = self.result
        column = next((i for i, name in enumerate(result.columns) if name in SLICE_IDS), -1)
        if column < 0:
            return -1
        items = self.arranged.items.tolist()
        return next((i for i, item in enumerate(items) if result.rows[item][column] == number), -1)

    def source_line(self, row: int) -> tuple[str, int] | None:
        """Return the source line that a row names, as `source` and `line`."""
        result = self.result
        values = dict(zip(result.columns, result.rows[int(self.arranged.items[row])], strict=True))
        path, line = values.get("source"), values.get("line")
        return (path, line) if isinstance(path, str) and isinstance(line, int) else None
