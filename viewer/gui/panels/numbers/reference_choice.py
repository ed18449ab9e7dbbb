"""The choice of the reference: what is open, and a button for other files."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import label
from viewer.gui.session.feeds.numbers import NumbersFeed
from viewer.gui.session.numbers.references import Automatic, Reference

OPEN = "Open reference…"
NONE = "None"
_WIDEST = 220  # px


class ReferenceChoice(QWidget):
    """The list of references. `open_requested()`: choose a file."""

    open_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._choices: list[Reference | Automatic] = []
        self._feed: NumbersFeed | None = None
        self.name = label("Reference", theme, tone="text2")
        self.box = ComboBox(theme)
        self.box.setAccessibleName("Reference")
        self.box.setToolTip("What the values are compared with")
        self.box.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToContents)
        self.box.setMaximumWidth(theme.px(_WIDEST))
        self.button = QToolButton()
        self.button.setText(OPEN)
        self.button.setToolTip(
            "Compare with another ETDump, arrays (.npz), or the expected outputs of a bundled "
            "program (.bpte)"
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(6))
        for widget in (self.name, self.box, self.button):
            row.addWidget(widget)
        self.box.activated.connect(self._choose)
        self.button.clicked.connect(self.open_requested)

    def show_choices(self, feed: NumbersFeed) -> None:
        """List what can be the reference now."""
        self._feed = feed
        listed: list[tuple[str, Reference | Automatic]] = []
        automatic = feed.automatic
        if automatic is not None:
            listed.append((f"B: {automatic.name}", Automatic.COMPARED))
        listed.append((NONE, Automatic.NOTHING))
        known = feed.offered
        chosen = feed.chosen
        answer = feed.answer
        if isinstance(chosen, Reference):
            known += [chosen] if chosen not in known else []
            cases = () if answer is None else answer.cases
            known += [Reference(chosen.path, case) for case in cases if case != chosen.case]
        listed += [
            (one.name, one) for one in known if automatic is None or one.path != automatic.path
        ]
        self._choices = [choice for _, choice in listed]
        self.box.blockSignals(True)
        self.box.clear()
        for name, _ in listed:
            self.box.addItem(name)
        now = chosen
        if chosen is Automatic.COMPARED and automatic is None:
            now = Automatic.NOTHING
        self.box.setCurrentIndex(self._choices.index(now) if now in self._choices else 0)
        self.box.blockSignals(False)
        for widget in (self.name, self.box):
            widget.setVisible(len(listed) > 1)

    @Slot(int)
    def _choose(self, index: int) -> None:
        if self._feed is not None and 0 <= index < len(self._choices):
            self._feed.choose(self._choices[index])
