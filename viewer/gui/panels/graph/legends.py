"""The lines below the graph: a summary, a scale of values or changes, and the other fills."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.gui.panels.graph.fill_colors import colors_of, paint_hatch
from viewer.gui.panels.graph.fills import CHANGE_STEPS, CallFill, ChangeFill, Fill, NoCostFill
from viewer.gui.panels.graph.looks import backends_of
from viewer.gui.panels.graph.node_figures import ChangeFigures
from viewer.gui.panels.graph.question import GraphAnswer
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.times import MINUS
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB, fills
from viewer.reports.compare_text import WORDS

_CHANGE_STEPS = tuple(range(CHANGE_STEPS, 0, -1))
_CHANGE_SCALE: tuple[Fill, ...] = (
    *(ChangeFill(Verdict.FASTER, step) for step in _CHANGE_STEPS),
    ChangeFill(Verdict.NO_CHANGE),
    *(ChangeFill(Verdict.SLOWER, step) for step in reversed(_CHANGE_STEPS)),
)

STEP, _BOX, GAP = 14, 12, 12  # px

_OTHERS: tuple[tuple[Fill, str], ...] = (
    (SLAB, "shared"), (NoCostFill.IDLE, "no time in this range"),
    (NoCostFill.UNLINKED, "not linked"),
)  # fmt: skip


class FillScale(QWidget):
    """A scale up to the largest value, then the fills that are used, each with its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._most = ""
        self._others: Sequence[tuple[Fill, str]] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def _show(self, most: str, scale: str, others: Sequence[tuple[Fill, str]]) -> None:
        """Show the legend, or hide it if there is nothing to explain.

        most: the largest value, "" for no scale. scale: what the scale means. others: the fills
        that are listed with their names.
        """
        self._most, self._others = most, others
        names = [name for _, name in others]
        self.setAccessibleName(", ".join([*([scale] if most else []), *names]))
        self.setVisible(bool(most or others))
        self.updateGeometry()
        self.update()

    @property
    def _scale_width(self) -> int:
        """The width of the scale with its texts and the gap after it, in px."""
        raise NotImplementedError

    def _paint_scale(self, painter: QPainter, top: float, side: float) -> float:
        """Paint the scale as boxes at `top` that are `side` high; returns where it ends."""
        raise NotImplementedError

    def _paint_fill(self, painter: QPainter, box: QRectF, fill: Fill) -> None:
        """Paint the box of a fill: outlined if it has no color of its own."""
        colors = colors_of(fill, self._theme)
        pen = QPen(colors.outline, 1)
        if colors.is_dashed:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(colors.fill)
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))

    def _wide(self, text: str) -> int:
        return QFontMetrics(self._theme.font("caption")).horizontalAdvance(text)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        width = sum(px(_BOX + 6) + self._wide(name) + px(GAP) for _, name in self._others)
        return QSize(width + (self._scale_width if self._most else 0), px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        px = self._theme.px
        painter = QPainter(self)
        painter.setFont(self._theme.font("caption"))
        side = float(px(_BOX))
        top = (self.height() - side) / 2
        x = self._paint_scale(painter, top, side) if self._most else 0.0
        for fill, name in self._others:
            self._paint_fill(painter, QRectF(x, top, side, side), fill)
            x = self._text(painter, x + side + px(6), name) + px(GAP)
        painter.end()

    def _text(self, painter: QPainter, x: float, text: str) -> float:
        """Draw a text at x and return its right end."""
        painter.setPen(self._theme.color("text2"))
        width = self._wide(text)
        at = QRectF(x, 0, width + 1, self.height())
        painter.drawText(at, int(Qt.AlignmentFlag.AlignVCenter), text)
        return x + width


class CostScale(FillScale):
    """The heat from the least to the largest value, and the other fills in the graph."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._title, self._least = "", "0"

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
        return texts + len(_CHANGE_SCALE) * px(STEP) + 2 * px(SIDE + 6) + px(6 + 6 + GAP)

    def _paint_scale(self, painter: QPainter, top: float, side: float) -> float:
        theme, px, middle = self._theme, self._theme.px, top + side / 2
        paint_mark(painter, QPointF(px(SIDE) / 2, middle), Verdict.FASTER.value, theme)
        x = self._text(painter, px(SIDE + 6), f"{MINUS}{self._most}") + px(6)
        for fill in _CHANGE_SCALE:
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


class GraphFoot(QWidget):
    """A summary, the legend of costs or of changes, and a note about what is not shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.costs = CostScale(theme)
        self.changes = ChangeScale(theme)
        self.changes.hide()
        legend = QHBoxLayout()
        legend.setSpacing(theme.px(12))
        legend.addWidget(self.costs)
        legend.addWidget(self.changes)
        legend.addWidget(self.note, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(6))
        column.setSpacing(theme.px(2))
        column.addWidget(self.summary)
        column.addLayout(legend)
        theme.changed.connect(self._repaint)

    def show_answer(self, answer: GraphAnswer) -> None:
        """Show the legend of a graph, and what is not shown."""
        looks, measure, around = answer.looks, answer.measure, answer.around
        if isinstance(answer.values, ChangeFigures):
            self.costs.hide()
            self.changes.show_scale(looks.most, looks.fills)
        else:
            self.changes.hide()
            calls = [f"{name} call" for name in backends_of(answer.question.calls)]
            title, least, none = "", "", ""
            if measure is not None:
                title, least, none = measure.title, measure.least, measure.none
            calls = calls if around is None else []
            self.costs.show_values(title, (least, looks.most), none, looks.fills, calls)
        unknown = dataflow_of(answer.question.program).unknown.values()
        reason = next(iter(unknown), "") if around is None else around.reason
        texts = ["" if around is None else around.limit_text]
        texts += [f"{text}." for text in ("" if measure is None else measure.note, reason) if text]
        self.note.setText(" ".join(filter(None, texts)))

    @Slot()
    def _repaint(self) -> None:
        self.costs.update()
        self.changes.update()
