"""The line above the graph: how far and in which direction it goes, and what to do with it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QSpinBox, QToolButton, QWidget

from viewer.analysis.flows.neighborhood import MOST_HOPS, Direction
from viewer.gui.panels.base.page_panel import head_row, subtitle_label
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import label

HOPS = 2
WHOLE = "Whole model"
_WAYS = (
    ("Both ways", Direction.BOTH), ("Producers", Direction.PRODUCERS),
    ("Consumers", Direction.CONSUMERS),
)  # fmt: skip


class GraphControls(QWidget):
    """The controls. `changed()`: the graph has other hops, or another direction."""

    changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.hops = QSpinBox()
        self.hops.setRange(1, MOST_HOPS)
        self.hops.setValue(HOPS)
        self.hops.setAccessibleName("Hops from the operator")
        self.hops.setToolTip("Maximum distance from the selected operator")
        self.direction = ComboBox(theme)
        self.direction.setAccessibleName("Direction of the hops")
        for name, way in _WAYS:
            self.direction.addItem(name, way)
        self.delegate = _switch("Delegate")
        self.whole = _switch(WHOLE)
        self.whole.setToolTip("Show all operators of the model")
        self.copy = _button(
            "Copy", "Copy the graph as an image", "Copy the whole graph as an image (Ctrl+C)"
        )
        self.save = _button(
            "Save…", "Save the graph as an image", "Save the whole graph as an image, PNG or SVG"
        )
        self.fit = _button("Fit", "Fit the graph", "Fit the whole graph (F)")
        self.subtitle = subtitle_label(theme)
        self.hops.valueChanged.connect(self.changed)
        self.direction.currentIndexChanged.connect(self.changed)
        head = head_row(theme, 8)
        head.addWidget(label("Hops", theme, tone="text2"))
        for widget in (
            self.hops, self.direction, self.delegate, self.whole, self.fit, self.copy, self.save,
        ):  # fmt: skip
            head.addWidget(widget)
        head.addWidget(self.subtitle, 1)
        self.setLayout(head)

    @property
    def way(self) -> Direction:
        """The chosen direction."""
        way: Direction = self.direction.currentData()
        return way

    def enable_hops(self, *, on: bool) -> None:
        """Enable what limits the graph around an operator, or disable it for a whole model."""
        self.hops.setEnabled(on)
        self.direction.setEnabled(on)

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


def _switch(text: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setCheckable(True)
    button.setAccessibleName(text)
    return button


def _button(text: str, name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(name)
    return button
