"""The chart of a measure over the operators, in the order in which they finished.

A click chooses an operator; a double click or Enter zooms to it; Escape shows all again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from viewer.gui.panels.base.box_view import BoxView
from viewer.gui.panels.numbers.chart_painting import ChartFrame, ChartPainter
from viewer.gui.panels.numbers.contents import jump_text, tip_lines
from viewer.gui.panels.numbers.measures import Bars
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.numbers.logged import MeasuredNumbers
from viewer.render.palette import Palette

_AROUND = 8  # bars on each side of the one that is zoomed to
_LEAST_HEIGHT, _LEAST_WIDTH = 84, 140  # px
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


@has_role(QAccessible.Role.Graphic)
class BarsView(BoxView):
    """The bars, without their axis."""

    LEAST_SPAN = 4

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Error by operator")
        self.painter_of_bars = ChartPainter(theme)
        self._found: MeasuredNumbers | None = None
        self.bars: Bars | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self._jump = ""
        self.marked: tuple[int, ...] = ()  # bars
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumSize(theme.px(_LEAST_WIDTH), theme.px(_LEAST_HEIGHT))

    def show_bars(self, found: MeasuredNumbers | None, bars: Bars | None, colors: Palette) -> None:
        """Show bars; the range stays if there are as many. colors: palette index per bar."""
        stays = self.bars is not None and bars is not None and len(bars) == len(self.bars)
        self._found, self.bars, self._colors = found, bars, colors
        self._jump = "" if found is None else jump_text(found)
        if not stays:
            self._hovered, self.marked = -1, ()
            self.tip.show_lines((), QPoint())
            self._range = 0, self._length
        self._changed()

    def mark(self, rows: Sequence[int]) -> None:
        """Mark the bars of some rows, and bring the first into view."""
        bars = self.bars
        if bars is None:
            return
        self.marked = tuple(bar for row in rows if (bar := bars.bar_of(row)) >= 0)
        if self.marked and not self._range[0] <= self.marked[0] < self._range[1]:
            self.show_all()
        self.viewport().update()

    def row_of(self, bar: int) -> int:
        """Return the row of a bar."""
        assert self.bars is not None
        return int(self.bars.rows[bar])

    @property
    def frame(self) -> ChartFrame | None:
        """What is shown now, None without bars."""
        if self.bars is None or not len(self.bars):
            return None
        port = self.viewport()
        size = max(port.width(), 1), max(port.height(), 1)
        return ChartFrame(self.bars, *self._range, self._colors, self._jump, *size)

    # -- what a box is ---------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        return max(len(self.bars), 1) if self.bars is not None else 1

    @property
    def _current(self) -> int:
        return self.marked[0] if self.marked else -1

    @property
    def _is_filled(self) -> bool:
        return self.bars is not None and len(self.bars) > 0

    def box_at(self, at: QPointF) -> int:
        """Return the bar at a point of the canvas, -1 for none."""
        frame = self.frame
        return -1 if frame is None else self.painter_of_bars.bar_at(frame, at.x())

    def center_of(self, box: int) -> QPoint:
        """Return the middle of a bar in px of the canvas."""
        frame = self.frame
        return (
            QPoint() if frame is None else self.painter_of_bars.box(frame, box).center().toPoint()
        )

    def zoom_to(self, box: int) -> None:
        """Show a bar with some on both sides."""
        self._show_from(box - _AROUND, 2 * _AROUND + 1)

    def accessible_value(self) -> str:
        """Return the text for screen readers: the facts of the current bar."""
        if self._found is None or self._current < 0:
            return ""
        return ", ".join(tip_lines(self._found, self.row_of(self._current)))

    def _lines_at(self, at: QPointF, box: int) -> Sequence[str]:
        return tip_lines(self._found, self.row_of(box)) if box >= 0 and self._found else ()

    def _mark_chosen(self, box: int) -> None:
        self.marked = (box,)
        self.viewport().update()

    def _step(self, key: Qt.Key) -> None:
        now = self._current
        if now < 0:
            self._choose(self._range[0])
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 1 if key == Qt.Key.Key_Right else -1
            if 0 <= now + step < self._length:
                self._choose(now + step)

    # -- painting --------------------------------------------------------------------------------

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, frame, paints = QPainter(self.viewport()), self.frame, self.painter_of_bars
        painter.fillRect(self.viewport().rect(), self._theme.color("canvas"))
        painter.setOpacity(self.opacity)
        if frame is not None:
            paints.paint(painter, frame)
            if self._hovered >= 0:
                paints.paint_ring(painter, frame, self._hovered, width=1)
            for bar in self.marked[:200]:
                paints.paint_ring(painter, frame, bar, width=2)
        painter.end()


class _Axis(QWidget):
    """The ticks of the vertical axis, left of the bars."""

    def __init__(self, view: BarsView, theme: Theme) -> None:
        super().__init__()
        self._view, self._theme = view, theme
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._theme.font("caption"))
        bars = self._view.bars
        texts = [] if bars is None else [text for _, text in bars.ticks]
        widest = max((metrics.horizontalAdvance(text) for text in texts), default=0)
        return QSize(max(widest, self._theme.px(24)) + self._theme.px(8), 0)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        frame, theme = self._view.frame, self._theme
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        painter.setPen(theme.color("text2"))
        height = painter.fontMetrics().height()
        for value, text in frame.bars.ticks if frame is not None else ():
            assert frame is not None
            y = self._view.painter_of_bars.y_of(frame, value)
            y = min(max(y - height / 2, 0.0), self.height() - float(height))
            painter.drawText(QRectF(0, y, self.width() - theme.px(6), height), _RIGHT, text)
        painter.end()


class ErrorChart(QWidget):
    """The bars with their axis."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.view = BarsView(theme)
        self._axis = _Axis(self.view, theme)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._axis)
        row.addWidget(self.view, 1)

    def show_bars(self, found: MeasuredNumbers | None, bars: Bars | None, colors: Palette) -> None:
        """Show bars; see `BarsView.show_bars`."""
        self.view.show_bars(found, bars, colors)
        self._axis.updateGeometry()
        self._axis.update()
