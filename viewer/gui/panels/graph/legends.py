"""The lines below the graph: a summary, a scale of values or changes, and the other fills."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.gui.panels.graph.fill_colors import colors_of, paint_hatch
from viewer.gui.panels.graph.looks import backends_of
from viewer.gui.panels.graph.measures import Measure
from viewer.gui.panels.graph.node_figures import (
    CHANGE_STEPS,
    CallFill,
    ChangeFigures,
    ChangeFill,
    Fill,
    NoCostFill,
)
from viewer.gui.panels.graph.question import GraphAnswer
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.verdict_marks import SIDE, paint_mark
from viewer.model.times import MINUS
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.reports.compare_text import WORDS

_CHANGE_SCALE: tuple[Fill, ...] = (
    *(ChangeFill(Verdict.FASTER, step) for step in range(CHANGE_STEPS, 0, -1)),
    ChangeFill(Verdict.NO_CHANGE),
    *(ChangeFill(Verdict.SLOWER, step) for step in range(1, CHANGE_STEPS + 1)),
)
_HEAT_SCALE: tuple[Fill, ...] = tuple(range(HEAT, HEAT + HEAT_STEPS))

_STEP, _BOX, _SPACE, _GAP = 14, 12, 6, 12  # px

# What an entry consists of: a text, the mark of a verdict, or boxes of fills.
Part = str | Verdict | tuple[Fill, ...]


class Legend(QWidget):
    """A scale up to the largest value, then the fills that are used, each with its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: Sequence[tuple[Part, ...]] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_values(
        self, measure: Measure | None, most: str, fills_used: set[Fill], calls: Sequence[str]
    ) -> None:
        """Show the legend of values, or that nothing has any.

        most: the end of the scale, "" for none. calls: the delegates, whose calls have grounds of
        their own.
        """
        title, least, none = "", "", ""
        if measure is not None:
            title, least, none = measure.title, measure.least, measure.none
        names: dict[Fill, str] = {
            SLAB: "shared", NoCostFill.IDLE: none, NoCostFill.UNLINKED: "not linked"
        }  # fmt: skip
        others: list[tuple[Part, str]] = [
            ((fill,), name) for fill, name in names.items() if fill in fills_used
        ]
        others += [((CallFill(number),), f"{name} call") for number, name in enumerate(calls)]
        scale = (f"{title}  {least}", _HEAT_SCALE, most) if most else ()
        self._show(f"Color by {title}, {least} to {most}", scale, others)

    def show_changes(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend of changes.

        most: the largest proven change without its sign, "" if none is proven. fills_used: the
        fills of the nodes; the others are not listed.
        """
        changes = {fill for fill in fills_used if isinstance(fill, ChangeFill)}
        others: list[tuple[Part, str]] = [
            (verdict, WORDS[verdict])
            for verdict in (Verdict.NO_CHANGE, Verdict.CANNOT_TELL)
            if any(fill.verdict is verdict and not fill.only_in for fill in changes)
        ]
        others += [
            ((ChangeFill(Verdict.CANNOT_TELL, only_in=arm),), f"only in {arm}")
            for arm in "AB"
            if any(fill.only_in == arm for fill in changes)
        ]
        if NoCostFill.UNLINKED in fills_used:
            others.append(((NoCostFill.UNLINKED,), "no slice"))
        least, largest = f"{MINUS}{most}", f"+{most}"
        name = f"Color by change per inference: faster, {least}, to slower, {largest}"
        scale = (Verdict.FASTER, least, _CHANGE_SCALE, largest, Verdict.SLOWER) if most else ()
        self._show(name, scale, others)

    def _show(self, name: str, scale: tuple[Part, ...], others: Sequence[tuple[Part, str]]) -> None:
        """Show the legend, or hide it if there is nothing to explain. name: what a scale means."""
        self._entries = [scale, *others] if scale else others
        self.setAccessibleName(", ".join(([name] if scale else []) + [text for _, text in others]))
        self.setVisible(bool(self._entries))
        self.updateGeometry()
        self.update()

    def _width(self, part: Part) -> int:
        px = self._theme.px
        if isinstance(part, str):
            return QFontMetrics(self._theme.font("caption")).horizontalAdvance(part)
        if isinstance(part, Verdict):
            return px(SIDE)
        return len(part) * px(_STEP) if len(part) > 1 else px(_BOX)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        widths = [self._width(part) + px(_SPACE) for entry in self._entries for part in entry]
        return QSize(sum(widths) + len(self._entries) * px(_GAP - _SPACE), px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, px, x = self._theme, self._theme.px, 0
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        for entry in self._entries:
            for part in entry:
                room = QRectF(x, 0, self._width(part), self.height())
                if isinstance(part, str):
                    painter.setPen(theme.color("text2"))
                    painter.drawText(room.adjusted(0, 0, 1, 0), Qt.AlignmentFlag.AlignVCenter, part)
                elif isinstance(part, Verdict):
                    paint_mark(painter, room.center(), part.value, theme)
                else:
                    self._paint_boxes(painter, room, part)
                x += self._width(part) + px(_SPACE)
            x += px(_GAP - _SPACE)
        painter.end()

    def _paint_boxes(self, painter: QPainter, room: QRectF, fills: tuple[Fill, ...]) -> None:
        """Paint boxes side by side; one without a color of its own is outlined."""
        side, width = float(self._theme.px(_BOX)), room.width() / len(fills)
        for number, fill in enumerate(fills):
            box = QRectF(room.left() + number * width, room.center().y() - side / 2, width, side)
            colors = colors_of(fill, self._theme)
            is_hatched = isinstance(fill, ChangeFill) and bool(fill.only_in)
            if not is_hatched and not isinstance(fill, NoCostFill | CallFill):
                painter.fillRect(box, colors.fill)
                continue
            pen = QPen(colors.outline, 1)
            if colors.is_dashed:
                pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.setBrush(colors.fill)
            box.adjust(0.5, 0.5, -0.5, -0.5)
            painter.drawRect(box)
            if is_hatched:
                paint_hatch(painter, box, self._theme)


class GraphFoot(QWidget):
    """A summary, the legend, and a note about what is not shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.legend = Legend(theme)
        line = QHBoxLayout()
        line.setSpacing(theme.px(12))
        line.addWidget(self.legend)
        line.addWidget(self.note, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(6))
        column.setSpacing(theme.px(2))
        column.addWidget(self.summary)
        column.addLayout(line)

    def show_answer(self, answer: GraphAnswer) -> None:
        """Show the legend of a graph, and what is not shown."""
        measure, around = answer.measure, answer.around
        fills = {look.fill for look in answer.looks.values()}
        if isinstance(answer.values, ChangeFigures):
            self.legend.show_changes(answer.most, fills)
        else:
            calls = backends_of(answer.question.calls) if around is None else ()
            self.legend.show_values(measure, answer.most, fills, calls)
        unknown = dataflow_of(answer.question.program).unknown.values()
        reason = next(iter(unknown), "") if around is None else around.reason
        texts = ["" if around is None else around.limit_text]
        texts += [f"{text}." for text in ("" if measure is None else measure.note, reason) if text]
        self.note.setText(" ".join(filter(None, texts)))
