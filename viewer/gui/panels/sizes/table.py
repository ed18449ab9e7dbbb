"""The table of parts: sorted and filtered as columns, texts created when painted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Floats, Ints
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.tables.columns import ColumnKind, CopyScope, PanelColumn, PanelTable
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
from viewer.model.text import bytes_text
from viewer.model.times import group_digits, percent_digits

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
        known = self._known.get(column)
        return _TEXTS[column](self.answer, row) if known is None else known[row]

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
