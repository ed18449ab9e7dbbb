"""Legend of the Graph panel during a comparison: the colors and marks of changes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from viewer.analysis.comparison.comparison import Verdict
from viewer.gui.panels.graph.colors.fill_colors import colors_of, paint_hatch
from viewer.gui.panels.graph.colors.fill_scale import GAP, STEP, FillScale
from viewer.gui.panels.graph.colors.fills import CHANGE_STEPS, ChangeFill, Fill, NoCostFill
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.times import MINUS
from viewer.reports.compare_text import WORDS

_STEPS = tuple(range(CHANGE_STEPS, 0, -1))
_SCALE: tuple[Fill, ...] = (
    *(ChangeFill(Verdict.FASTER, step) for step in _STEPS),
    ChangeFill(Verdict.NO_CHANGE),
    *(ChangeFill(Verdict.SLOWER, step) for step in reversed(_STEPS)),
)


class ChangeScale(FillScale):
    """The scale from faster through gray to slower, and the other fills in the graph."""

    def show_scale(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend for these nodes.

        most: the largest proven change without its sign, "" if none is proven. fills_used: the
        fills of the nodes; the others are not listed.
        """
        changes = {fill for fill in fills_used if isinstance(fill, ChangeFill)}
        others: list[tuple[Fill, str]] = [
            (ChangeFill(verdict), WORDS[verdict])
            for verdict in (Verdict.NO_CHANGE, Verdict.CANNOT_TELL)
            if any(fill.verdict is verdict and not fill.only_in for fill in changes)
        ]
        others += [
            (ChangeFill(Verdict.CANNOT_TELL, only_in=arm), f"only in {arm}")
            for arm in "AB"
            if any(fill.only_in == arm for fill in changes)
        ]
        if NoCostFill.UNLINKED in fills_used:
            others.append((NoCostFill.UNLINKED, "no slice"))
        scale = f"Color by change per inference: faster, {MINUS}{most}, to slower, +{most}"
        self._show(most, scale, others)

    @property
    def _scale_width(self) -> int:
        px = self._theme.px
        texts = self._wide(f"{MINUS}{self._most}+{self._most}")
        return texts + len(_SCALE) * px(STEP) + 2 * px(SIDE + 6) + px(6 + 6 + GAP)

    def _paint_scale(self, painter: QPainter, top: float, side: float) -> float:
        theme, px, middle = self._theme, self._theme.px, top + side / 2
        paint_mark(painter, QPointF(px(SIDE) / 2, middle), Verdict.FASTER.value, theme)
        x = self._text(painter, px(SIDE + 6), f"{MINUS}{self._most}") + px(6)
        for fill in _SCALE:
            box = QRectF(x, top, px(STEP), side)
            painter.fillRect(box, colors_of(fill, theme).fill)
            x = box.right()
        x = self._text(painter, x + px(6), f"+{self._most}") + px(6)
        paint_mark(painter, QPointF(x + px(SIDE) / 2, middle), Verdict.SLOWER.value, theme)
        return x + px(SIDE + GAP)

    def _paint_fill(self, painter: QPainter, box: QRectF, fill: Fill) -> None:
        if not isinstance(fill, ChangeFill):
            super()._paint_fill(painter, box, fill)
        elif fill.only_in:
            super()._paint_fill(painter, box, fill)
            paint_hatch(painter, box.adjusted(0.5, 0.5, -0.5, -0.5), self._theme)
        else:
            paint_mark(painter, box.center(), fill.verdict.value, self._theme)
