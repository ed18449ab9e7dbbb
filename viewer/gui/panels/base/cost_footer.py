"""The bar and figures below a cost table that show how its costs add up."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.arrays import Bools
from viewer.gui.panels.base.swatches import paint_part, paint_parts
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.labels import explain
from viewer.gui.session.feeds.costs import CostAnswer
from viewer.model.figure_base import FigureBase
from viewer.model.scope import LeftOut, TimeScope, timed_by
from viewer.model.times import counted, format_share, format_time
from viewer.model.trace import Slices, Trace

BUSY = "Busy time"
_Text = tuple[str, FontRole, str]  # text, font, color token


class CostFooter(QWidget):
    """One bar and a legend for operators, shared time and time without an operator.

    The parts add up to the total exactly.
    """

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
        """Return the texts of each part that fit in `room` px.

        Every part keeps its name, because its color means nothing without it. If there is not
        enough room, shares are dropped first, then times; the tooltip shows all of them.
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
