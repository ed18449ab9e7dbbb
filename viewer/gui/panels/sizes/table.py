"""The table of parts: its rows, its columns, and the bars of shares and changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import paint_share, share_color, slice_color
from viewer.gui.panels.base.tables.columns import ColumnKind, CopyScope, PanelColumn, PanelTable
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import CellDelegate, TableView
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer
from viewer.gui.panels.sizes.texts import (
    both,
    dtype_text,
    kind_of,
    module_of,
    name_of,
    operator_of,
    ratio_text,
    row_lines,
    shape_text,
    signed_bytes,
    verdict_of,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.table_model import RIGHT, Index
from viewer.model.text import bytes_text
from viewer.model.times import group_digits, percent_digits
from viewer.render.palette import PLAIN, SLAB

Part: TypeAlias = "PanelColumn[PartRows]"


@dataclass(eq=False)
class PartTexts:
    """The texts of all rows, each column created when it is first sorted or filtered.

    A thread may do so: a column is complete as soon as it is known.
    """

    answer: SizesAnswer
    _known: dict[str, list[str]] = field(default_factory=dict)
    _small: list[str] = field(default_factory=list)

    def column(self, column: str) -> Sequence[str]:
        """Return the texts of a column."""
        if column not in self._known:
            text = _TEXTS[column]
            texts = [text(self.answer, row) for row in range(len(self.answer))]
            self._known[column] = texts
        return self._known[column]

    def prepare(self) -> None:
        """Create all texts, as the first filter would; 0.2 s for 5,000 rows."""
        self.holds("")

    def text(self, row: int, column: str) -> str:
        """Return the text of a cell."""
        texts = self._known.get(column)
        return _TEXTS[column](self.answer, row) if texts is None else texts[row]

    def holds(self, word: str) -> NDArray[np.bool_]:
        """Return which rows contain a word in one of their texts; word: in lower case."""
        if not self._small:
            columns = zip(*(self.column(column) for column in _TEXTS), strict=True)
            small = ["\n".join(texts).lower() for texts in columns]
            self._small = small
        return np.array([word in text for text in self._small], np.bool_)

    def ranks(self, column: str) -> Ints:
        """Return the rank of each row in the order of a column's texts."""
        texts = [text.lower() for text in self.column(column)]
        place = {text: rank for rank, text in enumerate(sorted(set(texts)))}
        return np.array([place[text] for text in texts], np.int64)


_TEXTS: Mapping[str, Callable[[SizesAnswer, int], str]] = {
    "Name": name_of,
    "Kind": kind_of,
    "Type": lambda answer, row: both(answer, row, lambda _, part: dtype_text(part)),
    "Shape": lambda answer, row: both(answer, row, lambda _, part: shape_text(part)),
    "Used by": operator_of,
    "Module": module_of,
}


@dataclass(frozen=True, eq=False)
class PartRows:
    """The parts of an answer. copies: parts with equal bytes, None until they are known.

    only: the listed rows, ascending; None: all.
    """

    texts: PartTexts
    copies: Copies | None = None
    only: Ints | None = None

    @property
    def answer(self) -> SizesAnswer:
        """What the rows are of."""
        return self.texts.answer

    def listed(self) -> Ints:
        """Return the rows, the largest first; in a comparison the largest change."""
        answer = self.answer
        rows = np.argsort(-answer.larger, kind="stable")
        if answer.is_compared:
            rows = np.lexsort((-answer.larger, -np.abs(answer.change)))
        return rows if self.only is None else rows[np.isin(rows, self.only)]

    def sides(self, i: int) -> tuple[int, int]:
        """Return the bytes of a row in A and in B."""
        return int(self.answer.bytes_a[i]), int(self.answer.bytes_b[i])

    def share(self, i: int, *, plain: bool = False) -> str:
        """Return the share of a row in the file."""
        size, whole = int(self.answer.bytes_a[i]), self.answer.a.size
        if not whole:
            return "" if plain else MISSING
        return f"{100 * size / whole:.4g}" if plain else percent_digits(size / whole)

    def change(self, i: int) -> str:
        """Return the change of a row in bytes."""
        a, b = self.sides(i)
        return signed_bytes(b - a) if a != b else "0"

    def ratio(self, i: int, *, plain: bool = False) -> str:
        """Return the change of a row in percent."""
        a, b = self.sides(i)
        if plain and a and b:
            return f"{100 * (b / a - 1):.1f}"
        return ratio_text(a, b) if plain or a != b else ""

    @property
    def ratios(self) -> Floats:
        """B by A of each row."""
        a, b = self.answer.bytes_a, self.answer.bytes_b
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(a > 0, b / a, np.inf)

    def copy_count(self, i: int) -> str:
        """Return how many parts have the same bytes as a row, "" for none."""
        count = 0 if self.copies is None else int(self.copies.count[i])
        return group_digits(count) if count else ""


def _text(title: str, width: int, tip: str = "", leaves: int = 0, **rest: Any) -> Part:
    """Return the column of a text. Its tooltip is the text."""
    return PanelColumn(title, ColumnKind.TEXT, width, tip, leaves=leaves,
        text=lambda c, i: c.texts.text(i, title),
        keys=lambda c: c.texts.ranks(title),
        **{"tooltip": lambda c, i: c.texts.text(i, title)} | rest,
    )  # fmt: skip


def _bytes(title: str, width: int, tip: str, side: int, leaves: int = 0, **rest: Any) -> Part:
    """Return the column of the bytes in A or B, by side."""

    def whole(c: PartRows, i: int) -> str:
        size = c.sides(i)[side]
        return f"{group_digits(size)} B" if size else ""

    return PanelColumn(title, ColumnKind.NUMBER, width, tip, leaves=leaves, tone="text1",
        text=lambda c, i: bytes_text(c.sides(i)[side]) if c.sides(i)[side] else MISSING,
        plain=lambda c, i: str(c.sides(i)[side]),
        keys=lambda c: c.answer.bytes_b if side else c.answer.bytes_a,
        tooltip=whole,
        **rest,
    )  # fmt: skip


def _is_alone(c: PartRows) -> bool:
    return not c.answer.is_compared


PARTS: PanelTable[PartRows] = PanelTable(
    "Parts of the program",
    (
        _text("Name", 0, "The parameter, or what the file calls it.", tone="text1",
            tooltip=lambda c, i: "\n".join(
                (name_of(c.answer, i), *row_lines(c.answer, i, c.copies))),
            swatch=lambda c, i, colors: None if colors is None or i >= len(colors)
            else (int(colors[i]),)),
        _text("Kind", 96, leaves=7),
        _bytes("Bytes", 104, "In the file. The bar is relative to the largest part.", 0,
            title_of=lambda c: "A" if c.answer.is_compared else "Bytes"),
        PanelColumn("Share, %", ColumnKind.NUMBER, 68, "Of the file.", leaves=4,
            text=PartRows.share, plain=lambda c, i: c.share(i, plain=True),
            keys=lambda c: c.answer.bytes_a, is_unused=lambda c: c.answer.is_compared),
        _bytes("B", 84, "Bytes in the program of B.", 1, 9, is_unused=_is_alone),
        PanelColumn("Change", ColumnKind.NUMBER, 150, "B less A, in bytes.",
            text=PartRows.change, plain=lambda c, i: str(int(c.answer.change[i])),
            keys=lambda c: c.answer.change, is_unused=_is_alone),
        PanelColumn("Change, %", ColumnKind.NUMBER, 110,
            "B against A. A triangle up is larger, a triangle down smaller.", leaves=6,
            text=PartRows.ratio, plain=lambda c, i: c.ratio(i, plain=True),
            keys=lambda c: c.ratios, is_unused=_is_alone),
        _text("Type", 56, leaves=2, font="code", tooltip=None),
        _text("Shape", 120, leaves=3, font="code"),
        _text("Used by", 190, "The operators; without the ETRecord kernels and backends.", 5),
        _text("Module", 110, "The smallest module that has all of its operators.", 1,
            is_unused=lambda c: not c.answer.has_operators),
        PanelColumn("Copies", ColumnKind.NUMBER, 60,
            "How many parts of the file have the same bytes, this one included.",
            text=PartRows.copy_count, tone="warning", leaves=8,
            keys=lambda c: np.zeros(len(c.answer)) if c.copies is None else c.copies.count,
            is_unused=lambda c: c.copies is None or not c.copies.groups),
    ),
    least=220,
    rows=PartRows.listed,
    holds=lambda c, word: c.texts.holds(word),
    keeps_columns=False,
    copies=CopyScope.TABLE,
)  # fmt: skip


_INSET = 6  # px


class PartsView(TableView):
    """The table of parts."""

    def __init__(self, model: TableModel[PartRows], theme: Theme) -> None:
        super().__init__(model, theme)
        self.setItemDelegate(_Delegate(model, theme))
        self.setMouseTracking(True)

    def mark(self, rows: Sequence[int]) -> None:
        """Select some rows, given by their places, and scroll to the first."""
        flags, model = QItemSelectionModel.SelectionFlag, self.model()
        picked, chosen = self.selectionModel(), QItemSelection()
        start = previous = -2
        for row in [*rows, -2]:  # runs of rows: a selection of thousands of ranges is slow
            if row != previous + 1:
                if start >= 0:
                    chosen.select(model.index(start, 0), model.index(previous, 0))
                start = row
            previous = row
        picked.select(chosen, flags.ClearAndSelect | flags.Rows)
        if len(rows) and self.currentIndex().row() not in rows:
            first = model.index(rows[0], 0)
            picked.setCurrentIndex(first, flags.NoUpdate)
            self.scrollTo(first)


class _Delegate(CellDelegate):
    """Paints bytes in front of their share, and changes with a bar or a mark."""

    def __init__(self, model: TableModel[PartRows], theme: Theme) -> None:
        super().__init__(model, theme)
        self._parts = model

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        column, rows = self._parts.columns[index.column()].title, self._parts.contents
        if column not in ("Bytes", "Change", "Change, %") or rows is None:
            super().paint(painter, option, index)
            return
        theme, rect, answer = self._theme, option.rect, rows.answer
        item, text = self._parts.item_of(index.row()), str(index.data())
        a, b = rows.sides(item)
        painter.save()
        painter.setClipRect(rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.color("selection"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, theme.color("hover"))
        if column == "Bytes":
            self._bytes(painter, rect, answer, item, text)
        elif column == "Change":
            share = (b - a) / answer.most_change if a != b else None
            paint_difference(painter, rect, text, share, verdict_of(b - a), theme)
        else:
            paint_ratio(painter, rect, text, verdict_of(b - a), theme)
        painter.restore()

    def _bytes(
        self, painter: QPainter, rect: QRect, answer: SizesAnswer, item: int, text: str
    ) -> None:
        theme, colors = self._theme, self._parts.colors
        color = SLAB if colors is None else int(colors[item])
        fill = theme.color("slab")
        if color not in (SLAB, PLAIN):
            fill = share_color(slice_color(color, theme), theme)
        paint_share(painter, rect, int(answer.bytes_a[item]) / answer.most_bytes, fill, theme)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2" if text == MISSING else "text1"))
        inset = theme.px(_INSET)
        painter.drawText(rect.adjusted(inset, 0, -inset, 0), int(RIGHT), text)
