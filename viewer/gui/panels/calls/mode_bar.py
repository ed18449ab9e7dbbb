"""A row of joined buttons that chooses the kind of tree: Top-down, Bottom-up, By module, …."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy, QToolButton

from viewer.gui.panels.calls.answer import CallMode
from viewer.gui.qt.theme.theme import Theme

TITLES = {
    CallMode.TOP_DOWN: "Top-down",
    CallMode.BOTTOM_UP: "Bottom-up",
    CallMode.MODULE: "By module",
    CallMode.OPERATOR: "By operator",
}
_TIPS = {
    CallMode.TOP_DOWN: "Calls from the outermost to the innermost",
    CallMode.BOTTOM_UP: "Names by self time, and below each name its callers",
    CallMode.MODULE: "Calls of modules; what belongs to none has its name",
    CallMode.OPERATOR: "Calls of operators; what belongs to none has its name",
}


class ModeBar(QFrame):
    """The buttons; `picked(CallMode)` when the user presses one."""

    picked = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("segmented", True)
        self.setAccessibleName("Kind of call tree")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        self.buttons: dict[CallMode, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for number, mode in enumerate(CallMode):
            button = QToolButton()
            button.setText(TITLES[mode])
            button.setAccessibleName(TITLES[mode])
            button.setToolTip(_TIPS[mode])
            button.setCheckable(True)
            self._group.addButton(button, number)
            self.buttons[mode] = button
            row.addWidget(button)
        self._group.idClicked.connect(self._pick)

    def offer(
        self,
        modes: Collection[CallMode],
        mode: CallMode,
        disabled: Mapping[CallMode, str] = MappingProxyType({}),
    ) -> None:
        """Show the buttons of some kinds, with one of them pressed.

        disabled: more kinds, each with the reason why it cannot be chosen now.
        """
        for own, button in self.buttons.items():
            button.setVisible(own in modes or own in disabled)
            button.setEnabled(own not in disabled)
            button.setToolTip(disabled.get(own, _TIPS[own]))
        self.buttons[mode].setChecked(True)

    @Slot(int)
    def _pick(self, number: int) -> None:
        self.picked.emit(tuple(CallMode)[number])
