"""The table of parts: sorted and filtered as columns, texts created when painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject
from PySide6.QtGui import QPixmap

from viewer.arrays import Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import SwatchPixmaps
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
)
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import ArrayModel, tsv_text
from viewer.model.text import bytes_text
from viewer.model.times import group_digits, percent_digits
from viewer.render.palette import Palette


class PartColumn(TableColumn):
    """The columns: title, width and tooltip."""

    NAME = ("Name", 0, "The parameter, or what the file calls it.")
    KIND = ("Kind", 96)
    BYTES = ("Bytes", 104, "In the file. The bar is relative to the largest part.")
    SHARE = ("Share, %", 68, "Of the file.")
    B = ("B", 84, "Bytes in the program of B.")
    CHANGE = ("Change", 150, "B less A, in bytes.")
    RATIO = ("Change, %", 110, "B against A. A triangle up is larger, a triangle down smaller.")
    DTYPE = ("Type", 56)
    SHAPE = ("Shape", 120)
    OPERATOR = ("Used by", 190, "The operators; without the ETRecord kernels and backends.")
    MODULE = ("Module", 110, "The smallest module that has all of its operators.")
    COPIES = ("Copies", 60, "How many parts of the file have the same bytes, this one included.")


COLUMNS = tuple(PartColumn)
_OF_CHANGES = (PartColumn.B, PartColumn.CHANGE, PartColumn.RATIO)
_NUMBERS = (PartColumn.BYTES, PartColumn.SHARE, PartColumn.COPIES, *_OF_CHANGES)


@dataclass(eq=False)
class PartTexts:
    """The texts of all rows, each column created when it is first sorted or filtered.

    A thread may do so: a column is complete as soon as it is known.
    """

    answer: SizesAnswer
    _known: dict[PartColumn, list[str]] = field(default_factory=dict)
    _small: list[str] = field(default_factory=list)

    def column(self, column: PartColumn) -> Sequence[str]:
        """Return the texts of a column."""
        if column not in self._known:
            text = _TEXTS[column]
            texts = [text(self.answer, row) for row in range(len(self.answer))]
            self._known[column] = texts
        return self._known[column]

    def prepare(self) -> None:
        """Create all texts, as the first filter would; 0.2 s for 5,000 rows."""
        self.holds("")

    def text(self, row: int, column: PartColumn) -> str:
        """Return the text of a cell."""
        known = self._known.get(column)
        return _TEXTS[column](self.answer, row) if known is None else known[row]

    def holds(self, word: str) -> NDArray[np.bool_]:
        """Return which rows contain a word in one of their texts; word: in lower case."""
        if not self._small:
            columns = zip(*(self.column(column) for column in _TEXTS), strict=True)
            small = ["\n".join(texts).lower() for texts in columns]
            self._small = small
        return np.array([word in text for text in self._small], np.bool_)

    def ranks(self, column: PartColumn) -> Ints:
        """Return the rank of each row in the order of a column's texts."""
        texts = [text.lower() for text in self.column(column)]
        place = {text: rank for rank, text in enumerate(sorted(set(texts)))}
        return np.array([place[text] for text in texts], np.int64)


_TEXTS: Mapping[PartColumn, Callable[[SizesAnswer, int], str]] = {
    PartColumn.NAME: name_of,
    PartColumn.KIND: kind_of,
    PartColumn.DTYPE: lambda answer, row: both(answer, row, lambda _, part: dtype_text(part)),
    PartColumn.SHAPE: lambda answer, row: both(answer, row, lambda _, part: shape_text(part)),
    PartColumn.OPERATOR: operator_of,
    PartColumn.MODULE: module_of,
}


class PartsModel(ArrayModel[PartColumn]):
    """The parts of an answer; the largest come first unless another order is chosen."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self._texts: PartTexts | None = None
        self._copies: Copies | None = None
        self._only: Ints | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self._swatches = SwatchPixmaps(theme)

    @property
    def texts(self) -> PartTexts | None:
        """The texts of what is shown."""
        return self._texts

    @property
    def answer(self) -> SizesAnswer | None:
        """What is shown."""
        return None if self._texts is None else self._texts.answer

    @property
    def copies(self) -> Copies | None:
        """Parts with equal bytes, None until they are known."""
        return self._copies

    def show(self, answer: SizesAnswer | None) -> None:
        """Show the rows of an answer; order and filter stay."""
        self.beginResetModel()
        self._texts = None if answer is None else PartTexts(answer)
        self._copies = self._only = None
        self._arrange()
        self.endResetModel()

    def show_copies(self, copies: Copies | None) -> None:
        """Show which parts have equal bytes."""
        self._copies = copies
        self._rearrange()

    def show_only(self, rows: Ints | None) -> None:
        """Show only some rows, ascending; None: all."""
        if rows is None and self._only is None:
            return
        self.beginResetModel()
        self._only = rows
        self._arrange()
        self.endResetModel()

    def color(self, colors: Palette) -> None:
        """Set the palette index of each row."""
        self._colors = colors
        self._swatches.clear()

    def places_of(self, rows: Iterable[int]) -> list[int]:
        """Return where some rows of the answer are shown, ascending; without hidden ones."""
        wanted = np.array(list(rows), np.int64)
        return np.flatnonzero(np.isin(self.rows, wanted)).tolist()

    def hidden(self) -> frozenset[PartColumn]:
        """Return the columns that have nothing to show."""
        answer, copies = self.answer, self._copies
        found = set() if answer is not None and answer.is_compared else set(_OF_CHANGES)
        if answer is not None and answer.is_compared:
            found.add(PartColumn.SHARE)
        if answer is None or not answer.has_operators:
            found.add(PartColumn.MODULE)
        if copies is None or not copies.groups:
            found.add(PartColumn.COPIES)
        return frozenset(found)

    # -- rows ------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        texts = self._texts
        if texts is None:
            self.rows = np.empty(0, np.int64)
            return
        answer = texts.answer
        rows = np.argsort(-answer.larger, kind="stable")
        if answer.is_compared:
            rows = np.lexsort((-answer.larger, -np.abs(answer.change)))
        if self._only is not None:
            rows = rows[np.isin(rows, self._only)]
        for word in self._filter.lower().split():
            rows = rows[texts.holds(word)[rows]]
        if self._sort is not None:
            rows = self._sorted(rows, self._keys(COLUMNS[self._sort[0]]))
        self.rows = rows

    def _keys(self, column: PartColumn) -> NDArray[Any]:
        assert self._texts is not None
        answer = self._texts.answer
        if column in _TEXTS:
            return self._texts.ranks(column)
        if column is PartColumn.COPIES:
            return np.zeros(len(answer)) if self._copies is None else self._copies.count
        if column is PartColumn.RATIO:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(answer.bytes_a > 0, answer.bytes_b / answer.bytes_a, np.inf)
        if column is PartColumn.CHANGE:
            return answer.change
        return answer.bytes_b if column is PartColumn.B else answer.bytes_a

    # -- cells -----------------------------------------------------------------------------------

    def text(self, item: int, column: PartColumn) -> str:
        assert self._texts is not None
        if column in _TEXTS:
            return self._texts.text(item, column)
        answer = self._texts.answer
        a, b = int(answer.bytes_a[item]), int(answer.bytes_b[item])
        if column is PartColumn.COPIES:
            count = 0 if self._copies is None else int(self._copies.count[item])
            return group_digits(count) if count else ""
        if column is PartColumn.SHARE:
            return percent_digits(a / answer.a.size) if answer.a.size else MISSING
        if column is PartColumn.CHANGE:
            return signed_bytes(b - a) if a != b else "0"
        if column is PartColumn.RATIO:
            return ratio_text(a, b) if a != b else ""
        size = b if column is PartColumn.B else a
        return bytes_text(size) if size else MISSING

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text with whole bytes."""
        hidden = self.hidden()
        shown = [column for column in COLUMNS if column not in hidden]
        titles = [self.titles()[COLUMNS.index(column)] for column in shown]
        copied = ([self._plain(self.item(row), column) for column in shown] for row in rows)
        return tsv_text(titles, copied)

    def _plain(self, item: int, column: PartColumn) -> str:
        assert self._texts is not None
        answer = self._texts.answer
        a, b = int(answer.bytes_a[item]), int(answer.bytes_b[item])
        if column is PartColumn.BYTES:
            return str(a)
        if column is PartColumn.B:
            return str(b)
        if column is PartColumn.CHANGE:
            return str(b - a)
        if column is PartColumn.RATIO:
            return f"{100 * (b / a - 1):.1f}" if a and b else ratio_text(a, b)
        if column is PartColumn.SHARE:
            return f"{100 * a / answer.a.size:.4g}" if answer.a.size else ""
        return self.text(item, column)

    def tooltip(self, item: int, column: PartColumn) -> str:
        assert self._texts is not None
        answer = self._texts.answer
        if column is PartColumn.NAME:
            return "\n".join((name_of(answer, item), *row_lines(answer, item, self._copies)))
        if column in (PartColumn.OPERATOR, PartColumn.SHAPE, PartColumn.MODULE, PartColumn.KIND):
            return self.text(item, column)
        if column in (PartColumn.BYTES, PartColumn.B):
            side = answer.bytes_b if column is PartColumn.B else answer.bytes_a
            return f"{group_digits(int(side[item]))} B" if side[item] else ""
        return ""

    def font_role(self, item: int, column: PartColumn) -> FontRole:
        return "code" if column in (PartColumn.SHAPE, PartColumn.DTYPE) else "cell"

    def tone(self, item: int, column: PartColumn) -> str:
        if column is PartColumn.COPIES:
            return "warning"
        return "text1" if column in (PartColumn.NAME, PartColumn.BYTES, PartColumn.B) else "text2"

    def picture(self, item: int, column: PartColumn) -> QPixmap | None:
        if column is not PartColumn.NAME or item >= len(self._colors):
            return None
        return self._swatches.of((int(self._colors[item]),))

    def palette_index(self, item: int) -> int:
        """Return the color of a row."""
        return int(self._colors[item])

    # -- titles ----------------------------------------------------------------------------------

    def titles(self) -> Sequence[str]:
        compared = self.answer is not None and self.answer.is_compared
        return [
            "A" if compared and column is PartColumn.BYTES else column.title for column in COLUMNS
        ]

    def is_right(self, column: int) -> bool:
        return COLUMNS[column] in _NUMBERS

    def title_tip(self, column: int) -> str:
        return COLUMNS[column].tip
