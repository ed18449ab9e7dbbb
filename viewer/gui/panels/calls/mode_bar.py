"""A row of joined buttons that chooses the kind of tree: Top-down, Bottom-up, By module, …."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from viewer.gui.panels.calls.answer import CallMode
from viewer.gui.qt.widgets.segment_bar import SegmentBar

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


class ModeBar(SegmentBar[CallMode]):
    """The buttons of all kinds, of which some are offered."""

    def __init__(self) -> None:
        super().__init__("Kind of call tree", _TIPS, TITLES)

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
