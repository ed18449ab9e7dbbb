"""The Operators panel: one table for operators, groups and events, chosen in its *By* box.

The box is that of the groups, with the costs of operators before their keys and events after them.
Events without a time are a choice beside it.
"""

from __future__ import annotations

from typing import Protocol, cast

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from viewer.analysis.statistics.group_keys import KEYS
from viewer.gui.panels.base.mode_panel import ModePanel
from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.gui.qt.widgets.segment_bar import SegmentBar

OPERATORS, GROUPS, EVENTS, UNTIMED = "operators", "statistics", "events", "untimed"
# Keys of groups that the first entry is about too, there per inference.
_ALSO_FIRST = ("operator", "name")
_TIMES = {EVENTS: "Events with a time", UNTIMED: "Allocations and logged values"}
_TIME_TITLES = {EVENTS: "Timed", UNTIMED: "Untimed"}


class Groups(Protocol):
    """The page of groups: its box of keys, in its line."""

    by: QComboBox
    by_line: QWidget

    def mark_key(self) -> None:
        """Show the current key in the box."""


class OperatorsByPanel(ModePanel):
    """The pages, with the box of keys as their switch."""

    def make_switch(self, name: str) -> QWidget:
        costs = cast(OperatorsPanel, self.pages[OPERATORS])
        self._groups = cast(Groups, self.pages[GROUPS])
        box = self._box = self._groups.by
        box.setAccessibleName(name)
        for key in _ALSO_FIRST:
            index = box.findData(key)
            box.setItemText(index, f"{box.itemText(index)}, all slices")
        box.insertItem(0, "Operator", OPERATORS)
        box.addItem("Event", EVENTS)
        box.activated.connect(self._pick)
        self._costs = costs.model
        self._costs.modelReset.connect(self._name_first)
        self._name_first()
        self.times: SegmentBar[str] = SegmentBar("Events", _TIMES, _TIME_TITLES)
        self.times.picked.connect(self.show_mode)
        switch = QWidget()
        line = QHBoxLayout(switch)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(self._theme.px(8))
        line.addWidget(self._groups.by_line)
        line.addWidget(self.times)
        return switch

    def mark_mode(self, mode: str) -> None:
        if mode == GROUPS:
            self._groups.mark_key()
        else:
            self._box.setCurrentIndex(0 if mode == OPERATORS else self._box.count() - 1)
        self.times.setVisible(mode in _TIMES)
        if mode in _TIMES:
            self.times.press(mode)

    @Slot(int)
    def _pick(self, index: int) -> None:
        key: str = self._box.itemData(index)
        if key in KEYS:
            key = GROUPS
        elif key == EVENTS and self.mode in _TIMES:
            return
        self.show_mode(key)

    @Slot()
    def _name_first(self) -> None:
        """Name the first entry like the first column: a profile without operators lists names."""
        headings = self._costs.contents.headings
        if headings:
            self._box.setItemText(0, headings[0].title)
