"""The chart of a time per inference, in their order; a click or an arrow key chooses one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFontMetricsF

from viewer.arrays import Floats
from viewer.gui.panels.base.chart import BarChart
from viewer.gui.qt.theme.theme import Theme
from viewer.model.times import format_briefly, format_in, group_digits, unit_for

# Times that differ more are drawn on a logarithmic scale, or the short ones are flat.
_LOGARITHMIC = 6
_FEW = 12  # bars that all have their number below them
_SHORTEST = 0.1  # of the height, on that scale
# The phases take turns with these colors.
TOKENS = ("accent", "slab")


class InferenceChart(BarChart):
    """One bar per inference, in the color of its phase; the current one has its own.

    Numbers are above the bars if `has_numbers` and there is room. The scale starts at 0, or is
    logarithmic if times differ much and `may_be_log`.
    """

    HEIGHT = 84  # px

    def __init__(
        self,
        ns: Sequence[int],
        texts: Sequence[str],
        phases: Sequence[int],
        current: int,
        theme: Theme,
        *,
        color: QColor | None = None,
        has_numbers: bool = False,
        may_be_log: bool = False,
    ) -> None:
        """texts: of the tips. current: -1 for none. color: of the current one."""
        self._texts, self._phases = tuple(texts), np.array(phases, np.int64) % len(TOKENS)
        self._color, self._has_numbers = color, has_numbers
        super().__init__(theme, "Inferences")
        self.weights = np.array(ns, np.float64)
        self.most, least = max(ns, default=0), max(min(ns, default=0), 1)
        self.unit, self._factor = unit_for(self.most)
        self._is_log = may_be_log and self.most > _LOGARITHMIC * least
        self.left.is_time = True
        self.left.setScale(max(self.most, 1))
        self._show_anew(stays=False)
        self._chosen = current

    @property
    def numbers(self) -> list[str]:
        """The times in `unit`; one decimal, unless that would round a short one to 0."""
        factor = self._factor
        return [
            format_in(ns, factor, 1 if 20 * ns >= factor else None)
            for ns in self.weights.astype(np.int64).tolist()
        ]

    def heights(self) -> Floats:
        """Return the height of each bar, 0 to 1."""
        if not self._is_log:
            return np.asarray(self.weights / max(self.most, 1))
        least = max(self.weights.min(), 1)
        part = np.log(np.maximum(self.weights, 1) / least) / np.log(self.most / least)
        return np.asarray(_SHORTEST + (1 - _SHORTEST) * part)

    def lines(self, box: int) -> Sequence[str]:
        return (self._texts[box],)

    def _mark_chosen(self, box: int) -> None:
        self._chosen = box
        self.redraw()

    def _box_of_menu(self, at: QPointF | None) -> int:
        # To choose one makes a new chart, without the menu.
        if at is not None:
            return self.box_at(at)
        return self._current if self._current >= 0 else self._first

    def _rings(self) -> Iterable[tuple[Sequence[int], int]]:
        # The current one has a color of its own.
        return ([self._hovered], 1), ([self._chosen] if self.hasFocus() else [], 2)

    def _fill(self) -> None:
        theme, heights, (number, x0, x1) = self._theme, self.heights(), self.in_view()
        least = int(self.weights.min())
        ends = ((_SHORTEST, format_briefly(least)), (1.0, format_briefly(self.most)))
        line = QFontMetricsF(theme.font("caption")).height() if self._has_numbers else 0
        plot = self.plot_rect().height()
        places = None
        if len(number) <= _FEW:
            places = [(bar + 1.0, group_digits(bar + 1)) for bar in number.tolist()]
        self.set_axes(0.0, plot / max(plot - line, 1), ends if self._is_log else None, places)
        is_current = number == self._chosen
        for phase, token in enumerate(TOKENS):
            which = (self._phases[number] == phase) & ~is_current
            self.add_bars(x0[which], x1[which], 0.0, heights[number[which]], theme.color(token))
        color = self._color or theme.color("text1")
        self.add_bars(x0[is_current], x1[is_current], 0.0, heights[number[is_current]], color)
        if self._has_numbers:
            self._add_numbers(heights)

    def _add_numbers(self, heights: Floats) -> None:
        theme, texts = self._theme, self.numbers
        metrics = QFontMetricsF(theme.font("ruler"))
        has_room = max(map(metrics.horizontalAdvance, texts)) + 4 <= self._per_bar
        for bar in range(*self._range) if has_room else filter(lambda i: i >= 0, [self._chosen]):
            token = "text1" if bar == self._chosen else "text2"
            item = pg.TextItem(texts[bar], theme.color(token), anchor=(0.5, 0.85))
            item.setFont(theme.font("ruler"))
            item.setPos(bar + 1, float(heights[bar]))
            self.add(item)
