"""Legend of the Graph panel: the colors of heat, and the fills that are not a cost."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from viewer.gui.panels.graph.colors.fill_colors import colors_of
from viewer.gui.panels.graph.colors.fill_scale import GAP, STEP, FillScale
from viewer.gui.panels.graph.colors.fills import CallFill, Fill, NoCostFill
from viewer.gui.qt.theme.theme import Theme
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB, fills

_OTHERS: tuple[tuple[Fill, str], ...] = (
    (SLAB, "shared"), (NoCostFill.IDLE, "no time in this range"),
    (NoCostFill.UNLINKED, "not linked"),
)  # fmt: skip


class CostScale(FillScale):
    """The heat from 0 to the most expensive operator, and the other fills in the graph."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._title, self._least = "", "0"

    def show_scale(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend for these nodes; hide it if there is nothing to explain.

        most: the self time of the program's most expensive operator, "" if none has any.
        fills_used: the fills of the nodes; the others are not listed.
        """
        others = [(fill, name) for fill, name in _OTHERS if fill in fills_used]
        self._title, self._least = "", "0"
        self._show(most, f"Color by self time, 0 to {most}", others)

    def show_values(
        self,
        title: str,
        ends: tuple[str, str],
        none: str,
        fills_used: set[Fill],
        calls: Sequence[str],
    ) -> None:
        """Show the legend of any values.

        title: what they are. ends: the values at the ends of the scale, "" for no scale. none: the
        name of the fill of nodes without a value. calls: the delegates, whose calls have grounds of
        their own.
        """
        names = {NoCostFill.IDLE: none}
        others: list[tuple[Fill, str]] = [
            (fill, names.get(fill, name) if isinstance(fill, NoCostFill) else name)
            for fill, name in _OTHERS
            if fill in fills_used
        ]
        others += [(CallFill(number), name) for number, name in enumerate(calls)]
        self._title, (self._least, most) = title, ends
        self._show(most, f"Color by {title}, {self._least} to {most}", others)

    @property
    def _start(self) -> str:
        return f"{self._title}  {self._least}" if self._title else self._least

    @property
    def _scale_width(self) -> int:
        px = self._theme.px
        texts = self._wide(self._start) + self._wide(self._most)
        return texts + HEAT_STEPS * px(STEP) + px(2 * GAP)

    def _paint_scale(self, painter: QPainter, top: float, side: float) -> float:
        theme = self._theme
        x = self._text(painter, 0.0, self._start) + theme.px(6)
        for step in range(HEAT_STEPS):
            box = QRectF(x, top, theme.px(STEP), side)
            painter.fillRect(box, QColor.fromRgb(fills(theme.dark)[HEAT + step]))
            x = box.right()
        return self._text(painter, x + theme.px(6), self._most) + theme.px(GAP)

    def _paint_fill(self, painter: QPainter, box: QRectF, fill: Fill) -> None:
        if isinstance(fill, NoCostFill | CallFill):
            super()._paint_fill(painter, box, fill)
        else:
            inside = box.adjusted(0.5, 0.5, -0.5, -0.5)
            painter.fillRect(inside, colors_of(fill, self._theme).fill)
