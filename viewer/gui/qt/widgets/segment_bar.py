"""A bar of joined buttons of which one is pressed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Generic, TypeVar

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy, QToolButton

Choice = TypeVar("Choice", bound=Hashable)


def tool_button(text: str, tip: str, name: str = "") -> QToolButton:
    """Return a button. name: for screen readers, if it is not the text."""
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(name or text)
    return button


class SegmentBar(QFrame, Generic[Choice]):
    """The buttons; `picked(choice)` when the user presses one.

    tips: the choices in their order, with the tooltip of each. titles: of the choices; the values
    of an enum by default.
    """

    picked = Signal(object)

    def __init__(
        self, name: str, tips: Mapping[Choice, str], titles: Mapping[Choice, str] | None = None
    ) -> None:
        """name: the accessible name."""
        super().__init__()
        self.setProperty("segmented", True)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._choices = tuple(tips)
        self._group = QButtonGroup(self)
        self.buttons: dict[Choice, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        for number, (choice, tip) in enumerate(tips.items()):
            title = titles[choice] if titles is not None else _value(choice)
            button = tool_button(title, tip)
            button.setCheckable(True)
            self._group.addButton(button, number)
            self.buttons[choice] = button
            row.addWidget(button)
        self._group.idClicked.connect(self._pick)

    def press(self, choice: Choice) -> None:
        """Show a choice as pressed."""
        self.buttons[choice].setChecked(True)

    @Slot(int)
    def _pick(self, number: int) -> None:
        self.picked.emit(self._choices[number])


def _value(choice: Hashable) -> str:
    return str(choice.value if isinstance(choice, Enum) else choice)
