"""The charts of Numbers: a measure over the operators in order, and the values of one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor

from viewer.gui.panels.base.chart import BarChart
from viewer.gui.panels.numbers.contents import figure_text, jump_text, tip_lines
from viewer.gui.panels.numbers.detail_answer import Histograms
from viewer.gui.panels.numbers.measures import BarKind, Bars
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.numbers.logged import MeasuredNumbers
from viewer.model.times import group_digits
from viewer.render.palette import Palette, rgb_table

_CAPTION = 21  # px above the bars
_LEAST_HEIGHT, _LEAST_WIDTH = 84, 140  # px
_LEAST_SHARE = 1e-9  # of a value that a bin is wide: the axis would have equal texts
_MARK = 9  # px, of a triangle


class ErrorChart(BarChart):
    """A bar per operator, the largest jump labeled."""

    def __init__(self, theme: Theme) -> None:
        self.bars: Bars | None = None
        self.marked: tuple[int, ...] = ()  # bars
        super().__init__(theme, "Error by operator")
        self._numbers: MeasuredNumbers | None = None
        self._colors: Palette = np.empty(0, np.uint8)
        self.setMinimumSize(theme.px(_LEAST_WIDTH), theme.px(_LEAST_HEIGHT))
        self.name_bottom("Operator, in the order of execution")

    def show_bars(
        self, numbers: MeasuredNumbers | None, bars: Bars | None, colors: Palette
    ) -> None:
        """Show bars; the range stays if there are as many. colors: palette index per bar."""
        stays = self.bars is not None and bars is not None and len(bars) == len(self.bars)
        self._numbers, self.bars, self._colors = numbers, bars, colors
        self.weights = np.empty(0) if bars is None else bars.badness
        if not stays:
            self.marked = ()
        self._show_anew(stays=stays)

    def mark(self, rows: Sequence[int]) -> None:
        """Mark the bars of some rows, and bring the first into view."""
        if self.bars is None:
            return
        self.marked = tuple(bar for row in rows if (bar := self.bars.bar_of(row)) >= 0)
        if self.marked and not self._range[0] <= self.marked[0] < self._range[1]:
            self.show_all()
        self.viewport().update()

    def row_of(self, bar: int) -> int:
        """Return the row of a bar."""
        assert self.bars is not None
        return int(self.bars.rows[bar])

    @property
    def _current(self) -> int:
        return self.marked[0] if self.marked else -1

    def lines(self, box: int) -> Sequence[str]:
        return () if self._numbers is None else tip_lines(self._numbers, self.row_of(box))

    def _mark_chosen(self, box: int) -> None:
        self.marked = (box,)
        self.viewport().update()

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        return ([self._hovered], 1), (self.marked, 2)

    def _fill(self) -> None:
        bars, theme = self.bars, self._theme
        assert bars is not None
        height = max(self.plot_rect().height() - theme.px(_CAPTION), 1)
        low, high, px = bars.low, bars.high, (bars.high - bars.low) / height
        self.set_axes(low, high + px * theme.px(_CAPTION), bars.ticks)
        number, x0, x1 = self.in_view()
        top, kind, colors = bars.top[number], bars.kind[number], self._colors[number]
        measured = kind == BarKind.MEASURED
        table = [QBrush(QColor.fromRgb(rgb)) for rgb in rgb_table(theme.dark).tolist()]
        fill = [table[color] for color in colors[measured].tolist()]
        least = np.maximum(top[measured], low + 2 * px)
        self.add_bars(x0[measured], x1[measured], low, least, fill)
        odd, equal = kind == BarKind.ODD, kind == BarKind.EQUAL
        is_wide = len(number) and (x1 - x0)[0] * self._per_bar > 2
        self.add_bars(x0[odd], x1[odd], low, high, theme.color("warning", 0.35 if is_wide else 1.0))
        middle = (x0 + x1) / 2
        warning = pg.mkBrush(theme.color("warning"))
        self.add(pg.ScatterPlotItem(middle[odd], np.full(odd.sum(), high), symbol="t",
                                    size=theme.px(_MARK), pen=None, brush=warning))  # fmt: skip
        half = np.minimum((x1 - x0) / 2, theme.px(4) / self._per_bar)
        for line in (1.5, 4.5):  # an equals sign
            y = low + line * px if bars.rises else high - line * px
            ends = (middle - half)[equal], (middle + half)[equal]
            self.add_bars(*ends, y - 0.75 * px, y + 0.75 * px, theme.color("ok"))
        jump = "" if self._numbers is None else jump_text(self._numbers)
        if jump and self._range[0] <= bars.most < self._range[1]:
            is_measured = bars.kind[bars.most] == BarKind.MEASURED
            end = float(bars.top[bars.most]) if is_measured else high
            x = self.origin + bars.most + 0.5
            above = high + px * theme.px(_CAPTION)
            self.add_line([x, x], [above, max(end, low)], "text1", style=Qt.PenStyle.DotLine)
            self.add_text(x, jump, "text1")


class Histogram(BarChart):
    """A as filled bars, B as a line over them; counts are on a logarithmic scale."""

    HEIGHT = 116  # px

    def __init__(self, theme: Theme) -> None:
        self.shown: Histograms | None = None
        super().__init__(theme, "Histogram of the values")
        self.bottom.least_step = 0.0

    def show_counts(self, histograms: Histograms | None) -> None:
        """Show histograms, or nothing."""
        self.shown = histograms
        self.weights = np.empty(0)
        if histograms is not None:
            low, high, bins = histograms.low, histograms.high, len(histograms.a)
            self.weights = np.maximum(
                histograms.a, histograms.b if len(histograms.b) else 0
            ).astype(np.float64)
            step = high / bins - low / bins
            has_axis = np.isfinite(4 * bins * step) and step > _LEAST_SHARE * max(-low, high)
            self.origin, self.step = (low, step) if has_axis else (0.0, 1.0)
            ends = (0.0, figure_text(low)), (float(bins), figure_text(high))
            self._ticks = None if has_axis else ends
            self.bottom.text_of = figure_text
            self.name_bottom(
                "A filled, B as a line, log scale" if len(histograms.b) else "Values, log scale"
            )
        self._show_anew(stays=False)

    def accessible_value(self) -> str:
        """Return the text for screen readers: the current bin, or the range."""
        histograms = self.shown
        if histograms is None or self._chosen >= 0:
            return super().accessible_value()
        return f"{figure_text(histograms.low)} to {figure_text(histograms.high)}"

    def lines(self, box: int) -> Sequence[str]:
        assert self.shown is not None
        low, high, a, b = self.shown.low, self.shown.high, self.shown.a, self.shown.b
        edges = (low + (high - low) * part / len(a) for part in (box, box + 1))
        counts = [group_digits(int(arm[box])) for arm in (a, b) if len(arm)]
        named = [f"A {counts[0]}", f"B {counts[1]}"] if len(b) else counts
        return " to ".join(map(figure_text, edges)), *named

    def _fill(self) -> None:
        assert self.shown is not None
        most = float(self.weights.max(initial=1))
        decades = range(int(np.log10(most)) + 1)
        left = [(np.log1p(10.0**i), group_digits(10**i)) for i in decades]
        self.set_axes(0.0, float(np.log1p(most)), [(0.0, "0"), *left], self._ticks)
        number, x0, x1 = self.in_view()
        color = self._theme.color("counter_line", 0.5)
        self.add_bars(x0, x1, 0.0, np.log1p(self.shown.a[number]), color)
        if len(self.shown.b):
            edges = np.append(x0, x0[-1:] + self.step)
            pen = pg.mkPen(self._theme.color("accent"), width=1)
            heights = np.log1p(self.shown.b[number])
            self.add(pg.PlotCurveItem(edges, heights, stepMode="center", pen=pen))
