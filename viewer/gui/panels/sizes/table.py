"""The table of parts: its rows and columns, and the panel's texts: cells, tips, key figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QRect
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from viewer.analysis.program_differences import PairedBy
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.analysis.sizes.groups import kind_text, module_text, operators_text, users_text
from viewer.arrays import Floats, Ints
from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.cost_painting import paint_share, share_color, slice_color
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import (
    CellDelegate,
    ColumnKind,
    CopyScope,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
)
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer, SizeTree
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.tables import RIGHT, Index
from viewer.model.text import bytes_text, display_name, one_line
from viewer.model.times import (
    MINUS,
    NARROW_SPACE,
    counted,
    format_share,
    group_digits,
    percent_digits,
)
from viewer.render.box_pictures import Rest
from viewer.render.palette import PLAIN, SLAB

ARROW = " → "
_SHORT_HASH = 16  # characters
_MOST_NAMES = 4  # copies that a tip lists
BIGGER, SMALLER, EQUAL = "slower", "faster", "no_change"  # the marks of changes


def name_text(part: FilePart) -> str:
    """Return the name of a part: its parameter, else what the file calls it, else its kind.

    Named data of XNNPACK has a hash for a name, which is shortened and has its role before it.
    """
    name = one_line(part.name)
    if part.names or not part.role:
        return name or kind_text(part.kind)
    short_name = name.removeprefix(f"{part.role}_")  # "scale_5faa62ef7..."
    return part.role if part.role == name else f"{part.role} · {short_name[:_SHORT_HASH]}…"


def shape_text(part: FilePart) -> str:
    """Return the shape of a part: "8 × 3"; "" if not known."""
    if part.shape is None or not part.dtype:
        return ""
    return " × ".join(map(str, part.shape)) or "scalar"


def dtype_text(part: FilePart) -> str:
    """Return the dtype of a part, "" if not known."""
    return one_line(part.dtype)


def user_text(parts: FileParts, part: FilePart) -> str:
    """Return the operators of a part; its kernels, nodes or backends if they are not known."""
    return one_line(operators_text(parts, part) or users_text(part))


def both(answer: SizesAnswer, row: int, text: Callable[[FileParts, FilePart], str]) -> str:
    """Return a text of a row: that of A, or "A → B" if those of both files differ."""
    texts = dict.fromkeys(text(*side) for side in answer.sides(row))
    return ARROW.join(text or MISSING for text in texts) if any(texts) else ""


def kind_of(answer: SizesAnswer, row: int) -> str:
    return both(answer, row, lambda _, part: kind_text(part.kind))


def name_of(answer: SizesAnswer, row: int) -> str:
    """Return the name of a row; that of A, if both files have it."""
    return name_text(answer.part(row))


def tensor_of(answer: SizesAnswer, row: int) -> str:
    """Return the dtype and shape of a row: "f32 8 × 3"."""
    return both(answer, row, lambda _, part: f"{dtype_text(part)} {shape_text(part)}".strip())


def operator_of(answer: SizesAnswer, row: int) -> str:
    return both(answer, row, user_text)


def module_of(answer: SizesAnswer, row: int) -> str:
    return both(answer, row, lambda parts, part: one_line(module_text(parts, part)))


# -- changes -------------------------------------------------------------------------------------


def signed_bytes(change: int) -> str:
    """Return a difference in bytes: "+1.2 kB", "0 B"."""
    sign = "+" if change > 0 else MINUS if change < 0 else ""
    return f"{sign}{bytes_text(abs(change))}"


def exact_bytes(size: int) -> str:
    """Return "1.2 kB (1 156 B)"."""
    exact = f"{group_digits(size)}{NARROW_SPACE}B"
    return exact if size < 1000 else f"{bytes_text(size)} ({exact})"


def ratio_text(a: int, b: int) -> str:
    """Return the change from A to B in percent: "+12.0 %"; which file has it, if only one has."""
    if not a or not b:
        return "only in B" if not a else "only in A"
    share = b / a - 1
    sign = "+" if share > 0 else MINUS if share < 0 else ""
    return f"{sign}{percent_digits(abs(share))}{NARROW_SPACE}%"


def verdict_of(change: int) -> str:
    return BIGGER if change > 0 else SMALLER if change < 0 else EQUAL


# -- boxes ---------------------------------------------------------------------------------------


def box_name(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the name of a node, or of the rest of its members."""
    if box.skip > 0:
        return f"{group_digits(len(tree.sizes.inside(box.node)) - box.skip)} smaller"
    row = int(tree.row[box.node])
    if row >= 0:
        return name_of(answer, row)
    return one_line(tree.label[box.node]) or display_name(answer.a.executable.path)


def box_bytes(tree: SizeTree, box: Rest) -> tuple[int, int, int]:
    """Return the bytes of a box in A, in B, and the larger per row."""
    columns = tree.bytes_a, tree.bytes_b, tree.sizes.size
    nodes = tree.sizes.inside(box.node)[box.skip :] if box.skip > 0 else [box.node]
    a, b, larger = (int(column[nodes].sum()) for column in columns)
    return a, b, larger


def box_size_text(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the size of a box; "A → B" if two files differ there."""
    a, b, _ = box_bytes(tree, box)
    if not answer.is_compared or a == b:
        return bytes_text(a)
    return ARROW.join(bytes_text(n) if n else MISSING for n in (a, b))


def box_share_text(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the share of a box in its file; in a comparison its change."""
    a, b, _ = box_bytes(tree, box)
    if answer.is_compared:
        return ratio_text(a, b) if a != b else ""
    return format_share(a, answer.a.size) if answer.a.size else ""


def tip_lines(
    answer: SizesAnswer, tree: SizeTree, box: Rest, copies: Copies | None
) -> tuple[str, ...]:
    """Return the lines about a box below the mouse, the first one as a title."""
    a, b, _ = box_bytes(tree, box)
    lines = [box_name(answer, tree, box)]
    if answer.is_compared:
        lines.append(f"A {exact_bytes(a) if a else MISSING} · B {exact_bytes(b) if b else MISSING}")
        lines.append(f"{signed_bytes(b - a)}, {ratio_text(a, b)}" if a != b else "no change")
    else:
        share = f", {format_share(a, answer.a.size)}" if answer.a.size else ""
        lines.append(f"{exact_bytes(a)}{share}")
    row = int(tree.row[box.node]) if box.skip <= 0 else -1
    if row < 0:
        rows = int(tree.count[box.node])
        if box.skip > 0:
            rows = int(tree.count[tree.sizes.inside(box.node)[box.skip :]].sum())
        return (*lines, f"{counted(rows, 'part')} · double-click to zoom in")
    return (*lines, *row_lines(answer, row, copies))


def row_lines(answer: SizesAnswer, row: int, copies: Copies | None) -> tuple[str, ...]:
    """Return what is known of a row except its size."""
    part = answer.part(row)
    kind = kind_of(answer, row)
    tensor = tensor_of(answer, row)
    lines = [" · ".join(filter(None, (kind if name_of(answer, row) != kind else "", tensor)))]
    module, users = module_of(answer, row), operator_of(answer, row)
    lines.append(f"used by {users}" if users else "")
    lines.append(f"in {module}" if module else "")
    if part.start >= 0:
        lines.append(f"offset {group_digits(part.start)}")
    lines.append(copies_line(answer, row, copies))
    return tuple(line for line in lines if line)


def copies_line(answer: SizesAnswer, row: int, copies: Copies | None) -> str:
    """Return which other parts have the same bytes as a row, "" if none have."""
    if copies is None or not copies.count[row]:
        return ""
    same = [i for i in (copies.first == copies.first[row]).nonzero()[0].tolist() if i != row]
    names = ", ".join(name_of(answer, i) for i in same[:_MOST_NAMES])
    more = f" and {group_digits(len(same) - _MOST_NAMES)} more" if len(same) > _MOST_NAMES else ""
    return f"same bytes as {names}{more}"


# -- summaries -----------------------------------------------------------------------------------


def figures(answer: SizesAnswer) -> tuple[tuple[str, str], ...]:
    """Return the key figures, as number and caption: the size of a file, or the change of two."""
    a, b = answer.a, answer.b
    if b is None:
        return ((bytes_text(a.size), display_name(a.executable.path)),)
    change = b.size - a.size
    ratio = ratio_text(a.size, b.size) if change else "no change"
    return ((signed_bytes(change), ratio),)


def copies_text(answer: SizesAnswer, copies: Copies | None) -> str:
    """Return how many bytes are in copies of other parts."""
    if copies is None:
        return "Looking for duplicate weights…"
    where = " in A" if answer.is_compared else ""
    text = f"No duplicate weights{where}"
    if copies.extra:
        extra = counted(copies.extra, "part")
        share = format_share(copies.saved, answer.a.size)
        verb = "is a copy" if copies.extra == 1 else "are copies"
        text = f"{extra}{where} {verb} of other parts: {bytes_text(copies.saved)} ({share}) wasted"
    if copies.unread:
        text += f" · {counted(copies.unread, 'part')} not compared: {one_line(copies.why)}"
    return text


def beside_text(answer: SizesAnswer) -> str:
    """Return what is missing, and what to do about it; "" if nothing is."""
    parts = []
    files = ("A", answer.a), ("B", answer.b)
    missing = [name for name, file in files if file is not None and file.program is None]
    if missing:
        of = f" of {' and '.join(missing)}" if answer.is_compared else ""
        parts.append(f"Open the matching ETRecord{of} to see parameters, operators and modules")
    if answer.pairs is not None and answer.pairs.paired_by is PairedBy.ORDER:
        parts.append("Parts are paired by the order of calls")
    return " · ".join(parts)


def count_text(answer: SizesAnswer, count: int) -> str:
    """Return how many parts there are, and how many of them are shown by a filter."""
    whole = counted(len(answer), "part")
    return whole if count == len(answer) else f"{group_digits(count)} of {whole}"


Part: TypeAlias = "PanelColumn[PartRows]"


@dataclass(eq=False)
class PartTexts:
    """The texts of all rows; each column is created on first use, in any thread."""

    answer: SizesAnswer
    _known: dict[str, list[str]] = field(default_factory=dict)
    _small: list[str] = field(default_factory=list)

    def column(self, column: str) -> Sequence[str]:
        if column not in self._known:
            text = _TEXTS[column]
            self._known[column] = [text(self.answer, row) for row in range(len(self.answer))]
        return self._known[column]

    def prepare(self) -> None:
        """Create all texts, as the first filter would; 0.2 s for 5,000 rows."""
        self.holds("")

    def text(self, row: int, column: str) -> str:
        texts = self._known.get(column)
        return _TEXTS[column](self.answer, row) if texts is None else texts[row]

    def holds(self, word: str) -> NDArray[np.bool_]:
        """Return which rows contain a word in one of their texts; word: in lower case."""
        if not self._small:
            columns = zip(*(self.column(column) for column in _TEXTS), strict=True)
            self._small = ["\n".join(texts).lower() for texts in columns]
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
        return self.texts.answer

    def listed(self) -> Ints:
        """Return the rows, the largest first; in a comparison the largest change."""
        answer = self.answer
        rows = np.argsort(-answer.larger, kind="stable")
        if answer.is_compared:
            rows = np.lexsort((-answer.larger, -np.abs(answer.change)))
        return rows if self.only is None else rows[np.isin(rows, self.only)]

    def sides(self, i: int) -> tuple[int, int]:
        return int(self.answer.bytes_a[i]), int(self.answer.bytes_b[i])

    def share(self, i: int, *, plain: bool = False) -> str:
        size, whole = int(self.answer.bytes_a[i]), self.answer.a.size
        if not whole:
            return "" if plain else MISSING
        return f"{100 * size / whole:.4g}" if plain else percent_digits(size / whole)

    def change(self, i: int) -> str:
        a, b = self.sides(i)
        return signed_bytes(b - a) if a != b else "0"

    def ratio(self, i: int, *, plain: bool = False) -> str:
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
        paint_share(painter, rect, int(answer.bytes_a[item]) / answer.most_bytes, fill)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text2" if text == MISSING else "text1"))
        inset = theme.px(_INSET)
        painter.drawText(rect.adjusted(inset, 0, -inset, 0), int(RIGHT), text)
