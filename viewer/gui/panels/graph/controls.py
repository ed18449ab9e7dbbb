"""The line above the graph: how far and in which direction it goes, and what to do with it."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QSignalBlocker, Signal, Slot
from PySide6.QtWidgets import QSpinBox, QToolButton, QWidget

from viewer.analysis.flows.neighborhood import MOST_HOPS, Direction
from viewer.gui.panels.base.page_panel import head_row, subtitle_label
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.segment_bar import SegmentBar, tool_button

HOPS = 2


class GraphMode(Enum):
    """What the panel shows; its value is the title of its button."""

    NEIGHBORHOOD = "Neighborhood"
    WHOLE = "Whole model"


_MODES = {
    GraphMode.NEIGHBORHOOD: "Show the inputs and outputs of the selected operator",
    GraphMode.WHOLE: "Show all operators of the model, by modules",
}
_WAYS = (
    ("Both ways", Direction.BOTH), ("Producers", Direction.PRODUCERS),
    ("Consumers", Direction.CONSUMERS),
)  # fmt: skip


class GraphControls(QWidget):
    """The controls. `changed()`: the graph has another mode, other hops, or another direction."""

    changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.modes = SegmentBar("What the graph shows", _MODES)
        self.modes.press(GraphMode.NEIGHBORHOOD)
        self.modes.picked.connect(self._follow_mode)
        self.hops = QSpinBox()
        self.hops.setRange(1, MOST_HOPS)
        self.hops.setValue(HOPS)
        self.hops.setAccessibleName("Hops from the operator")
        self.hops.setToolTip("Maximum distance from the selected operator")
        self.direction = ComboBox(theme)
        self.direction.setAccessibleName("Direction of the hops")
        for name, way in _WAYS:
            self.direction.addItem(name, way)
        self.delegate = tool_button("Delegate", "")
        self.delegate.setCheckable(True)
        self.copy = tool_button(
            "Copy", "Copy the whole graph as an image (Ctrl+C)", "Copy the graph as an image"
        )
        self.save = tool_button(
            "Save…", "Save the whole graph as an image, PNG or SVG", "Save the graph as an image"
        )
        self.fit = tool_button("Fit", "Fit the whole graph (F)", "Fit the graph")
        self.subtitle = subtitle_label(theme)
        self.hops.valueChanged.connect(self.changed)
        self.direction.currentIndexChanged.connect(self.changed)
        head = head_row(theme, 8)
        head.addWidget(self.modes)
        self._hops_label = label("Hops", theme, tone="text2")
        head.addWidget(self._hops_label)
        for widget in (
            self.hops, self.direction, self.delegate, self.fit, self.copy, self.save,
        ):  # fmt: skip
            head.addWidget(widget)
        head.addWidget(self.subtitle, 1)
        self.setLayout(head)

    @property
    def way(self) -> Direction:
        """The chosen direction."""
        way: Direction = self.direction.currentData()
        return way

    @property
    def is_whole(self) -> bool:
        """Whether the whole model is shown."""
        return self.modes.buttons[GraphMode.WHOLE].isChecked()

    def set_mode(self, mode: GraphMode) -> None:
        """Show the controls of a mode, without a signal."""
        self.modes.press(mode)
        for widget in (self._hops_label, self.hops, self.direction, self.delegate):
            widget.setVisible(mode is GraphMode.NEIGHBORHOOD)

    @Slot(object)
    def _follow_mode(self, mode: GraphMode) -> None:
        self.set_mode(mode)
        self.changed.emit()

    def offer_delegate(self, *, known: bool, why: str) -> None:
        """Enable "Delegate" if there is one to show; why: what it does, or why it does nothing."""
        self.delegate.setEnabled(known or self.delegate.isChecked())
        self.delegate.setToolTip(why)
        self.delegate.setAccessibleDescription(why)


def set_checked(switch: QToolButton, *, on: bool) -> None:
    """Set a switch without an effect."""
    blocker = QSignalBlocker(switch)
    switch.setChecked(on)
    blocker.unblock()
