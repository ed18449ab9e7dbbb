"""The lines below the graph: what is shown, and the legend of its colors."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.gui.panels.graph.change_figures import ChangeFigures
from viewer.gui.panels.graph.colors.change_scale import ChangeScale
from viewer.gui.panels.graph.colors.cost_scale import CostScale
from viewer.gui.panels.graph.colors.fills import Fill
from viewer.gui.panels.graph.cost_figures import CostFigures
from viewer.gui.panels.graph.node_figures import NodeFigures
from viewer.gui.panels.graph.whole.looks import backends_of
from viewer.gui.panels.graph.whole.question import WholeAnswer
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel


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

    def show_legend(self, figures: NodeFigures | None, fills_used: set[Fill]) -> None:
        """Show the legend of the figures of some nodes. fills_used: the fills of the nodes."""
        if isinstance(figures, ChangeFigures):
            self.costs.hide()
            self.changes.show_scale(figures.most, fills_used)
        else:
            self.changes.hide()
            most = figures.most if isinstance(figures, CostFigures) else ""
            self.costs.show_scale(most, fills_used)

    def show_values(self, answer: WholeAnswer) -> None:
        """Show the legend of a whole model."""
        calls = [f"{name} call" for name in backends_of(answer.question.calls)]
        looks, measure = answer.looks, answer.measure
        if isinstance(answer.values, ChangeFigures):
            self.costs.hide()
            self.changes.show_scale(looks.most, looks.fills)
            return
        self.changes.hide()
        title, least, none = "", "", ""
        if measure is not None:
            title, least, none = measure.title, measure.least, measure.none
        self.costs.show_values(title, (least, looks.most), none, looks.fills, calls)

    @Slot()
    def _repaint(self) -> None:
        self.costs.update()
        self.changes.update()
