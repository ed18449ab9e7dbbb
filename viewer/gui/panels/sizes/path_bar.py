"""The line above the treemap: the groups around what it shows, each a link back to it."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from viewer.gui.panels.sizes.answer import SizesAnswer
from viewer.gui.panels.sizes.texts import box_name, box_size_text
from viewer.gui.panels.sizes.tree import SizeTree
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import anchor, label, span
from viewer.model.times import counted
from viewer.render.boxes.treemap import Rest

ALL = "All"
_IN, _OUT = "double-click a group to zoom in", "Esc zooms out"
_LONGEST = 40  # characters of a name
_MOST_STEPS = 6  # the outermost and the innermost of more


class PathBar(QWidget):
    """The line; `chosen(root)` when a link is clicked."""

    chosen = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._steps: list[Rest] = []
        self.links = label("", theme, "caption", "text2", html=True)
        self.links.setMinimumWidth(0)
        self.links.setAccessibleName("Groups around the treemap")
        self.links.linkActivated.connect(self._choose)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, theme.px(4))
        row.addWidget(self.links, 1)

    def show_path(self, answer: SizesAnswer, tree: SizeTree, root: Rest) -> None:
        """Show the groups from the file to what fills the treemap."""
        self._steps = [Rest(node, 0) for node in tree.sizes.around(root.node)]
        if root.skip > 0:
            self._steps.append(root)
        theme, tokens = self._theme, self._theme.tokens
        parts = []
        for number, step in enumerate(self._steps):
            name = box_name(answer, tree, step) if number else ALL
            name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            is_last = number == len(self._steps) - 1
            parts.append(
                span(name, tokens.text1) if is_last else anchor(str(number), name, theme)
            )  # fmt: skip
        if len(parts) > _MOST_STEPS:
            parts = [parts[0], span("…", tokens.text3), *parts[-(_MOST_STEPS - 2) :]]
        shown = span(" › ", tokens.text3).join(parts)
        rows = len(tree.rows_in(*root))
        hint = _OUT if len(self._steps) > 1 else _IN
        more = f"{box_size_text(answer, tree, root)} · {counted(rows, 'part')} · {hint}"
        self.links.setText(f"{shown}&nbsp;&nbsp;&nbsp;{span(more, tokens.text2)}")

    @Slot(str)
    def _choose(self, number: str) -> None:
        self.chosen.emit(self._steps[int(number)])
