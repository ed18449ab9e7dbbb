"""How a cost table adds up, as one bar and as figures: operators, shared, unattributed."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.crash_report import guard
from viewer.model.runtime_names import EXECUTE
from viewer.model.times import format_share, format_time, tick_to_ns
from viewer.panels.cost_feed import Answer
from viewer.panels.swatches import paint_hatch
from viewer.theme import Theme


class CostFooter(QWidget):
    """Operators, shared and unattributed as one bar and as figures that add up to the whole."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._parts: tuple[tuple[str, str, int], ...] = ()
        self._whole = 0
        self._what = ""
        self.opacity = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def clear(self) -> None:
        """Show nothing, where nothing ran."""
        self._parts = ()
        self.hide()

    def show_answer(self, answer: Answer) -> None:
        """Show how a cost table adds up."""
        table, rate = answer.table, answer.shown.axis.ns_per_tick
        # The parts are floored one by one; the last is what is left, so that the sum is exact.
        whole = tick_to_ns(table.whole, rate)
        single, shared = tick_to_ns(table.single, rate), tick_to_ns(table.shared, rate)
        parts = (
            ("Operators", "accent", single),
            ("Shared", "slab", shared),
            ("Unattributed", "", whole - single - shared),
        )
        self.show_parts(parts, whole, EXECUTE if answer.shown.trace.runs else "Busy time")

    def show_parts(self, parts: tuple[tuple[str, str, int], ...], whole: int, what: str) -> None:
        """Show parts that add up to a whole: name, colour ("": hatched) and ns of each.

        what: what the whole is called.
        """
        self._parts, self._whole, self._what = parts, whole, what
        self.setAccessibleName(self.text())
        self.show()
        self.update()

    def text(self) -> str:
        """The figures in one line: "Operators 22.656 µs 41.0 %, Shared …"."""
        parts = [f"{name} {format_time(ns)} {self._share(ns)}" for name, _, ns in self._parts]
        return ", ".join([*parts, f"{self._what} {format_time(self._whole)}"])

    def _share(self, ns: int) -> str:
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
        room = self.width() - 2 * inset
        x: float = inset
        for _, token, ns in self._parts:
            wide = room * max(ns, 0) / self._whole if self._whole else 0
            rect = QRectF(x, top, max(wide - 1, 0), height)
            if token:
                painter.fillRect(rect, theme.color(token))
            else:
                paint_hatch(painter, rect, theme.color("text3"))
            x += wide
        self._legend(painter, inset, top + height + theme.px(6))
        painter.end()

    def _legend(self, painter: QPainter, x: float, y: float) -> None:
        theme = self._theme
        height = theme.px(18)
        whole = format_time(self._whole)
        bold, plain = theme.font("section"), theme.font("caption")
        right = self.width() - theme.px(12)
        painter.setFont(bold)
        wide = painter.fontMetrics().horizontalAdvance(whole)
        self._put(painter, right - wide, y, height, whole, "text1")
        painter.setFont(plain)
        what = painter.fontMetrics().horizontalAdvance(self._what)
        self._put(painter, right - wide - theme.px(6) - what, y, height, self._what, "text2")
        end = right - wide - what - theme.px(18)
        for name, token, ns in self._parts:
            mark = QRectF(x, y + (height - theme.px(8)) / 2, theme.px(8), theme.px(8))
            texts = ((name, plain, "text1"), (format_time(ns), bold, "text1"),
                     (self._share(ns), plain, "text2"))  # fmt: skip
            widths = []
            for text, font, _ in texts:
                painter.setFont(font)
                widths.append(painter.fontMetrics().horizontalAdvance(text))
            if x + theme.px(12) + sum(widths) + 2 * theme.px(6) > end:
                return
            if token:
                painter.fillRect(mark, theme.color(token))
            else:
                paint_hatch(painter, mark, theme.color("text3"))
            x += theme.px(13)
            for (text, font, tone), wide in zip(texts, widths, strict=True):
                painter.setFont(font)
                self._put(painter, x, y, height, text, tone)
                x += wide + theme.px(6)
            x += theme.px(10)

    def _put(
        self, painter: QPainter, x: float, y: float, height: float, text: str, token: str
    ) -> None:
        painter.setPen(self._theme.color(token))
        painter.drawText(
            QRectF(x, y, self.width(), height), int(Qt.AlignmentFlag.AlignVCenter), text
        )
