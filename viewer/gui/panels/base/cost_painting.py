"""Painting of operators and their costs: swatches, bars, cells of trees, and the footer of totals.

A color is a palette index, like a slice's: the operator's own, or that of its type, module or
backend, depending on the color scheme. Everything is painted by hand, so that a table of thousands
of rows needs no widget per cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import (
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from viewer.arrays import Bools
from viewer.dataclasses import replace
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme, mix
from viewer.gui.qt.widgets.cells import paint_difference, paint_ratio, paint_time
from viewer.gui.qt.widgets.labels import elided_text, explain
from viewer.gui.qt.widgets.tables import LEFT, RIGHT, ROW_HEIGHT, Index
from viewer.gui.qt.widgets.trees import Cell, TreeColumn, TreeModel, TreeRows
from viewer.gui.session.feeds.feed import CostAnswer
from viewer.model.figures import FigureBase, LeftOut, TimeScope, timed_by
from viewer.model.times import counted, format_share, format_time
from viewer.model.trace import Slices, Trace
from viewer.render.palette import OPERATORS, Palette, fills

SWATCH = 12
_SHARP = 2  # pixmaps have two pixels per point, for high-density screens
_RADIUS = 2.5
_SMALL = 5
_BAR_RADIUS = 1.5
# Fills are light in both themes; on white they need an outline to be visible.
_EDGE = QColor(0, 0, 0, 41)
_HATCH_STEP = 5.0
# The share of the panel's color in a bar behind a number, by dark theme or not.
_SHARE_MIX = {True: 0.58, False: 0.45}
_SHARE_INSET = 2  # px


def colors_of(operators: Sequence[int], palette: Palette | None) -> tuple[int, ...]:
    """Return the palette index of each of some operators. palette: of all, None for their own."""
    if palette is None:
        return tuple(i % OPERATORS for i in operators)
    return tuple(int(palette[i]) for i in operators)


def slice_color(color: int, theme: Theme) -> QColor:
    """Return the fill color of a palette index."""
    return QColor.fromRgb(fills(theme.dark)[color])


def paint_swatch(
    painter: QPainter, x: float, y: float, colors: Sequence[int], theme: Theme
) -> None:
    """Paint the swatch of some operators, at most four, with its upper left corner at (x, y)."""
    side = theme.px(SWATCH)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(_pen(theme))
    if len(colors) == 1:
        painter.setBrush(slice_color(colors[0], theme))
        painter.drawRoundedRect(_inside(QRectF(x, y, side, side), theme), _RADIUS, _RADIUS)
    else:
        small = theme.px(_SMALL)
        # Two squares are centered side by side; four fill the swatch.
        y += (side - small) / 2 if len(colors) == 2 else 0
        for i, color in enumerate(colors[:4]):
            corner = QPointF(x + (i % 2) * (side - small), y + (i // 2) * (side - small))
            painter.setBrush(slice_color(color, theme))
            painter.drawRoundedRect(
                _inside(QRectF(corner.x(), corner.y(), small, small), theme), 1, 1
            )
    painter.restore()


class SwatchPixmaps:
    """Swatches as pixmaps for item views, cached by palette indices and by light or dark."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._made: dict[tuple[bool, tuple[int, ...]], QPixmap] = {}

    def clear(self) -> None:
        """Empty the cache, for example when other slices are shown."""
        self._made.clear()

    def of(self, colors: tuple[int, ...]) -> QPixmap:
        """Return the swatch for these palette indices; without any, the room to align texts."""
        key = self._theme.dark, colors
        if key not in self._made:
            side = self._theme.px(SWATCH)
            pixmap = QPixmap(side * _SHARP, side * _SHARP)
            pixmap.setDevicePixelRatio(_SHARP)
            pixmap.fill(Qt.GlobalColor.transparent)
            if colors:
                painter = QPainter(pixmap)
                paint_swatch(painter, 0, 0, colors, self._theme)
                painter.end()
            self._made[key] = pixmap
        return self._made[key]


def paint_bar(painter: QPainter, rect: QRectF, color: QColor, theme: Theme) -> None:
    """Paint a cost bar, at least 1.5 px wide."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(_pen(theme))
    painter.setBrush(color)
    rect = QRectF(rect.left(), rect.top(), max(rect.width(), 1.5), rect.height())
    painter.drawRoundedRect(_inside(rect, theme), _BAR_RADIUS, _BAR_RADIUS)
    painter.restore()


def share_color(color: QColor, theme: Theme) -> QColor:
    """Return the color of a bar behind a number: faint enough for the number to be read."""
    part = _SHARE_MIX[theme.dark]
    return QColor(mix(color.name(), theme.tokens.panel, part))


def paint_share(
    painter: QPainter, cell: QRect, share: float, color: QColor, full: float = 1.0
) -> None:
    """Paint the bar behind the number of a cell.

    share: its length, 0 to 1 of the cell. full: the known part of the bar, 0 to 1; the rest is
    hatched. color: as it is painted; `share_color` makes that of an operator.
    """
    if share <= 0:
        return
    room = QRectF(cell).adjusted(_SHARE_INSET, _SHARE_INSET, -_SHARE_INSET, -_SHARE_INSET)
    width = max(room.width() * min(share, 1.0), 1.5)
    full_width = width * full
    painter.fillRect(QRectF(room.left(), room.top(), full_width, room.height()), color)
    if full_width < width:
        hatched = QRectF(room.left() + full_width, room.top(), width - full_width, room.height())
        paint_hatch(painter, hatched, color)


def paint_part(painter: QPainter, rect: QRectF, token: str, theme: Theme) -> None:
    """Fill with the color of a token, or with the hatch for unknown time if it is ""."""
    if token:
        painter.fillRect(rect, theme.color(token))
    else:
        paint_hatch(painter, rect, theme.color("text3"))


def paint_parts(
    painter: QPainter, rect: QRectF, parts: Sequence[tuple[str, float]], whole: float, theme: Theme
) -> None:
    """Paint a bar of parts side by side.

    parts: the color token of each ("": hatched) and its size. whole: that of all the bar.
    """
    x = rect.left()
    for token, size in parts:
        width = rect.width() * max(size, 0) / whole if whole else 0
        part_rect = QRectF(x, rect.top(), max(width - 1, 0), rect.height())
        paint_part(painter, part_rect, token, theme)
        x += width


def paint_hatch(painter: QPainter, rect: QRectF, color: QColor) -> None:
    """Paint 45° lines on a transparent background: the hatch for unknown time."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setClipRect(rect)
    painter.setPen(QPen(color, 1.5))
    x = rect.left() - rect.height()
    while x < rect.right():
        painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()))
        x += _HATCH_STEP
    painter.restore()


def _pen(theme: Theme) -> QPen:
    return QPen(Qt.PenStyle.NoPen) if theme.dark else QPen(_EDGE, 1)


def _inside(rect: QRectF, theme: Theme) -> QRectF:
    return rect if theme.dark else rect.adjusted(0.5, 0.5, -0.5, -0.5)


class Swatch(QWidget):
    """A widget with the swatch of some operators, or a plain square for none."""

    def __init__(self, colors: Sequence[int], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.colors = tuple(colors)
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        side = self._theme.px(SWATCH)
        return QSize(side, side)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.colors:
            paint_swatch(painter, 0, 0, self.colors, self._theme)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(self._theme.color("slab")))
            painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)


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
            paint_share(painter, rect, share[0], color)
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


BUSY = "Busy time"
_Text = tuple[str, FontRole, str]  # text, font, color token


class CostFooter(QWidget):
    """One bar and a legend for operators, shared time and the rest, which add up exactly."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._parts: tuple[tuple[str, str, float], ...] = ()
        self._whole = 0.0
        self._what, self._per = "", ""
        self._note = ""
        self.opacity = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def clear(self) -> None:
        """Hide the footer."""
        self._parts = ()
        self.hide()

    def show_answer(self, answer: CostAnswer) -> None:
        """Show how a cost table adds up."""
        table, base = answer.table, answer.base
        single, shared, rest = base.parts(table.single, table.shared, table.without_operator)
        parts = (
            ("Operators", "accent", single),
            ("Shared", "slab", shared),
            ("No operator", "", rest),
        )
        what = whole_title(answer.open_trace.trace, answer.scope)
        self.show_parts(parts, base.ns(table.whole), what, answer.left_out, base)

    def show_parts(
        self,
        parts: tuple[tuple[str, str, float], ...],
        whole: float,
        what: str,
        left_out: LeftOut,
        base: FigureBase | None = None,
    ) -> None:
        """Show parts that add up to a total: the name, color token ("": hatched) and ns of each.

        whole: the total in ns. what: the name of the total. left_out: the inferences that it
        leaves out, for the tooltip. base: what the figures are per.
        """
        self._parts, self._whole, self._what = parts, whole, what
        self._per = base.name if base is not None else ""
        self._note = left_out.text
        self.setAccessibleName(self.text())
        explain(self, self.text().replace(", ", "\n"))
        self.show()
        self.update()

    def text(self) -> str:
        """Return the figures and the note as one line: "Operators 22.656 µs 41.0 %, Shared …"."""
        parts = [f"{name} {format_time(ns)} {self._share(ns)}" for name, _, ns in self._parts]
        parts.append(f"{self._what} {format_time(self._whole)}")
        parts += [self._per] if self._per else []
        return ", ".join([*parts, self._note] if self._note else parts)

    def _share(self, ns: float) -> str:
        return format_share(ns, self._whole) if self._whole else ""

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(300), self._theme.px(46))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme = self._theme
        painter = QPainter(self)
        painter.setOpacity(self.opacity)
        painter.fillRect(QRectF(0, 0, self.width(), 1), theme.color("hairline"))
        inset, top, height = theme.px(12), theme.px(10), theme.px(6)
        bar = QRectF(inset, top, self.width() - 2 * inset, height)
        sizes = [(token, ns) for _, token, ns in self._parts]
        paint_parts(painter, bar, sizes, self._whole, theme)
        self._legend(painter, inset, top + height + theme.px(6))
        painter.end()

    def _legend(self, painter: QPainter, x: float, y: float) -> None:
        theme = self._theme
        height = theme.px(18)
        total = format_time(self._whole)
        bold, plain = theme.font("section"), theme.font("caption")
        right = self.width() - theme.px(12)
        painter.setFont(bold)
        total_width = painter.fontMetrics().horizontalAdvance(total)
        self._put(painter, right - total_width, y, height, total, "text1")
        painter.setFont(plain)
        name_width = painter.fontMetrics().horizontalAdvance(self._what)
        self._put(
            painter, right - total_width - theme.px(6) - name_width, y, height, self._what, "text2"
        )
        end = right - total_width - name_width - theme.px(18)
        mark_width, gap = theme.px(13), theme.px(6)
        for (_, token, _), texts in zip(self._parts, self.legend(end - x), strict=True):
            mark = QRectF(x, y + (height - theme.px(8)) / 2, theme.px(8), theme.px(8))
            paint_part(painter, mark, token, theme)
            x += mark_width
            for text, role, tone in texts:
                painter.setFont(theme.font(role))
                self._put(painter, x, y, height, text, tone)
                x += painter.fontMetrics().horizontalAdvance(text) + gap
            x += theme.px(10)

    def legend(self, room: float) -> list[tuple[_Text, ...]]:
        """Return the texts of each part that fit in `room` px: without shares, then without times.

        Every part keeps its name, because its color means nothing without it.
        """
        theme = self._theme
        full: list[tuple[_Text, ...]] = [
            (
                (name, "caption", "text1"),
                (format_time(ns), "section", "text1"),
                (self._share(ns), "caption", "text2"),
            )
            for name, _, ns in self._parts
        ]
        for count in (3, 2):
            texts = [part[:count] for part in full]
            width = 0
            for text, role, _ in (legend_text for part in texts for legend_text in part):
                width += QFontMetrics(theme.font(role), self).horizontalAdvance(text)
            gaps = len(texts) * (theme.px(13) + (count - 1) * theme.px(6))
            if width + gaps + (len(texts) - 1) * theme.px(16) <= room:
                return texts
        return [part[:1] for part in full]

    def _put(
        self, painter: QPainter, x: float, y: float, height: float, text: str, token: str
    ) -> None:
        painter.setPen(self._theme.color(token))
        painter.drawText(
            QRectF(x, y, self.width(), height), int(Qt.AlignmentFlag.AlignVCenter), text
        )


def whole_title(trace: Trace, scope: TimeScope) -> str:
    """Name the total of costs: "Method::execute", "Busy time", "Busy time of 2 tracks".

    Of several tracks it can be longer than the scope, because their times are added up.
    """
    if name := timed_by(trace):
        return name
    first, last, track = scope.span
    lo, hi = (trace.start, trace.end) if first is None or last is None else (first, last)
    rows = trace.slices.row_track
    reached = np.unique(rows if scope.is_whole else rows[_reaching(trace.slices, lo, hi)])
    if track is not None or len(reached) < 2:
        return BUSY
    return f"{BUSY} of {counted(len(reached), 'track')}"


def _reaching(slices: Slices, first: int, last: int) -> Bools:
    """Return which rows have a slice in a range."""
    sorted_rows = (
        (slices.start[span], slices.end[span])
        for span in map(slice, slices.row_ptr[:-1].tolist(), slices.row_ptr[1:].tolist())
    )
    return np.array(
        [
            np.searchsorted(start, last) > np.searchsorted(end, first, side="right")
            for start, end in sorted_rows
        ],
        np.bool_,
    )


def whole_text(trace: Trace, otherwise: str) -> str:
    """Name the total of a trace's costs: "Method::execute" if the runtime logs it."""
    return timed_by(trace) or otherwise
