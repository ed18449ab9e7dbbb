"""The cells of trees of costs and changes: names with swatches, shares, times, changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import (
    SWATCH,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import ROW_HEIGHT
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.gui.qt.widgets.tree_model import Cell, TreeColumn, TreeModel, TreeRows

# The columns of a comparison; those of the arms differ in what their figures are.
CHANGE = TreeColumn("Change", 150, "B less A, per inference.", Cell.CHANGE)
RATIO = TreeColumn(
    "Change, %", 92, "B less A, per inference, and what is proven about it.", Cell.RATIO
)


def arm_columns(medians: str, more: str = "") -> tuple[TreeColumn, TreeColumn]:
    """The columns of both arms. medians: what their figures are; more: what else to say of A."""
    a = TreeColumn("A", 84, medians + more, Cell.TIME)
    return a, replace(a, title="B", tip=f"{medians} B is the other arm.")


class CostRows(TreeRows):
    """Rows of costs or changes: how their cells look.

    swatch_room: whether names without a swatch leave room for it.
    """

    swatch_room = False

    @property
    def fractions(self) -> frozenset[TreeColumn]:
        """The columns with fractions of a ns."""
        return frozenset()

    def swatch(self, node: int) -> Sequence[int]:
        """The palette indices of the swatch before a name, () for none."""
        raise NotImplementedError

    def note(self, node: int) -> str:
        """The text next to a name, "" for none."""
        return ""

    def is_quiet(self, node: int, column: TreeColumn) -> bool:
        """Whether the text of a cell is painted in a quiet color."""
        return False

    def share_of(self, node: int, column: TreeColumn) -> tuple[float, int | None] | None:
        """The bar behind a number: its length, 0 to 1, and its palette index, None for gray."""
        return None

    def bar_of(self, node: int) -> tuple[float, str] | None:
        """The bar of a change, -1 to 1, and its verdict, "" for none; None for no change."""
        return None


Rows = TypeVar("Rows", bound=CostRows)


class TreeCells(QStyledItemDelegate, Generic[Rows]):
    """Paints the cells of a tree of costs or changes."""

    def __init__(self, model: TreeModel[Rows], theme: Theme) -> None:
        super().__init__(model)
        self._model = model
        self._theme = theme

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(ROW_HEIGHT))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect, rows = self._theme, option.rect, self._model.rows
        if rows is None:
            return
        column, node, text = rows.columns[index.column()], self._model.node(index), index.data()
        painter.save()
        painter.setClipRect(rect)
        selected = option.state & QStyle.StateFlag.State_Selected
        if option.state & QStyle.StateFlag.State_MouseOver and not selected:
            painter.fillRect(rect, theme.color("hover"))
        painter.setFont(theme.font("code" if column.cell is Cell.CODE else "cell"))
        share = rows.share_of(node, column) if node >= 0 else None
        if share is not None:
            color = theme.color("slab")
            if share[1] is not None:
                color = share_color(slice_color(share[1], theme), theme)
            paint_share(painter, rect, share[0], color, theme)
        quiet = (
            node < 0 or text == MISSING or column.cell is Cell.LINE or rows.is_quiet(node, column)
        )
        painter.setPen(theme.color("text2" if quiet else "text1"))
        inside = rect.adjusted(theme.px(6), 0, -theme.px(6), 0)
        change = rows.bar_of(node) if node >= 0 else None
        if column.cell is Cell.NAME:
            self._name(painter, rect, rows, node, text)
        elif column.cell is Cell.RATIO and change is not None:
            paint_ratio(painter, rect, text, change[1], theme)
        elif column.cell is Cell.CHANGE and change is not None:
            bar = None if text == MISSING else change[0]
            paint_difference(painter, rect, text, bar, change[1], theme)
        elif column.is_time:
            paint_time(painter, inside, text, fractions=column in rows.fractions)
        else:
            elided = elided_text(
                painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, inside.width()
            )
            painter.drawText(inside, int(LEFT if column.is_left else RIGHT), elided)
        painter.restore()

    def _name(self, painter: QPainter, rect: QRect, rows: CostRows, node: int, name: str) -> None:
        theme, side, elide = self._theme, self._theme.px(SWATCH), Qt.TextElideMode.ElideRight
        left, right = rect.left() + theme.px(2), rect.right() - theme.px(8)
        palette_indices = rows.swatch(node) if node >= 0 else ()
        if len(palette_indices):
            paint_swatch(painter, left, rect.center().y() - side / 2 + 1, palette_indices, theme)
        if len(palette_indices) or rows.swatch_room:
            left += side + theme.px(8)
        room, metrics = max(right - left, 0), painter.fontMetrics()
        # The name has priority; the note gets the remaining width.
        place = QRect(left, rect.top(), room, rect.height())
        painter.drawText(place, int(LEFT), elided_text(metrics, name, elide, room))
        note = rows.note(node) if node >= 0 else ""
        if not note:
            return
        place.setLeft(left + min(metrics.horizontalAdvance(name), room) + theme.px(10))
        font = theme.font("caption")
        if place.width() > min(QFontMetrics(font).horizontalAdvance(note), theme.px(30)):
            painter.setFont(font)
            painter.setPen(theme.color("text2"))
            text = elided_text(painter.fontMetrics(), note, elide, place.width())
            painter.drawText(place, int(LEFT), text)
