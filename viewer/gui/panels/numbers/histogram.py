"""The histogram of a tensor's values, and of those of its reference, on one scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QSizePolicy

from viewer.gui.panels.base.chart import BarChart
from viewer.gui.panels.numbers.contents import figure_text
from viewer.gui.panels.numbers.detail_answer import Histograms
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.model.times import group_digits

_HEIGHT = 116  # px
_LEAST_SHARE = 1e-9  # of a value that a bin is wide: the axis would have equal texts


class Histogram(BarChart):
    """A as filled bars, B as a line over them; counts are on a logarithmic scale."""

    def __init__(self, theme: Theme) -> None:
        self.shown: Histograms | None = None
        super().__init__(theme, "Histogram of the values")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.bottom.least_step = 0.0

    def show_counts(self, shown: Histograms | None) -> None:
        """Show histograms, or nothing."""
        self.shown = shown
        self.weights = np.empty(0)
        if shown is not None:
            low, high, bins = shown.low, shown.high, len(shown.a)
            self.weights = np.maximum(shown.a, shown.b if len(shown.b) else 0).astype(np.float64)
            step = high / bins - low / bins
            has_axis = np.isfinite(4 * bins * step) and step > _LEAST_SHARE * max(-low, high)
            self.origin, self.step = (low, step) if has_axis else (0.0, 1.0)
            ends = (0.0, figure_text(low)), (float(bins), figure_text(high))
            self._ticks = None if has_axis else ends
            self.bottom.text_of = figure_text
            self.name_bottom(
                "A filled, B as a line, log scale" if len(shown.b) else "Values, log scale"
            )
        self._show_anew(stays=False)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(120), self._theme.px(_HEIGHT))

    def accessible_value(self) -> str:
        """Return the text for screen readers: the current bin, or the range."""
        shown = self.shown
        if shown is None or self._chosen >= 0:
            return super().accessible_value()
        return f"{figure_text(shown.low)} to {figure_text(shown.high)}"

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
