"""The search for nodes of the graph: operators, modules and delegate calls."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from viewer.analysis.delegates.delegation import Instance
from viewer.gui.panels.graph.names import backend_name
from viewer.gui.panels.graph.question import GraphAnswer
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.escape_field import EscapeField
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.model.times import counted, group_digits
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupKind, GroupTree

_FIELD = 150  # px
_LEAST_FIELD = 80  # px, next to large buttons


def searched_texts(tree: GroupTree, program: Program, calls: Sequence[Instance]) -> list[str]:
    """Return the text of every node that is searched, in small letters.

    Of an operator its label and the names of its graph nodes, of a module its path and class, of a
    delegate call its delegate and instruction, of a run nothing.
    """
    texts = []
    paths: list[str] = []
    for node, (name, detail) in enumerate(zip(tree.names, tree.details, strict=True)):
        operator, call, parent = (
            int(column[node]) for column in (tree.operator, tree.call, tree.parent)
        )
        path = paths[parent] if parent > 0 else ""
        text = ""
        if operator >= 0:
            searched = program.operators[operator]
            text = " ".join((searched.label, *(each.name for each in searched.nodes)))
        elif call >= 0:
            text = f"{backend_name(calls[call])} instruction {calls[call].instruction}"
        elif tree.kind[node] != GroupKind.RUN:
            path = f"{path}.{name}" if path else name if node else ""
            text = f"{path} {detail}"
        paths.append(path)
        texts.append(text.casefold())
    return texts


def hits(texts: Sequence[str], wanted: str) -> list[int]:
    """Return the nodes whose texts have all words that are wanted, in the order of the tree."""
    words = wanted.casefold().split()
    if not words:
        return []
    return [node for node, text in enumerate(texts) if all(word in text for word in words)]


class FindField(EscapeField):
    """The search field. `stepped(way)`: Enter (1) or Shift+Enter (-1); `left()`: Escape."""

    stepped = Signal(int)
    left = Signal()

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self.stepped.emit(-1 if back else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.clear()
            self.left.emit()
        else:
            super().keyPressEvent(event)


class NodeSearch(QWidget):
    """The field, and how many hits there are. `stepped(node)`: show a hit."""

    stepped = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._answer: GraphAnswer | None = None
        self._texts: Sequence[str] = ()  # of the nodes, as soon as somebody searches
        self._hits: list[int] = []
        self._hit = -1
        self.field = FindField()
        self.field.setPlaceholderText("Find a node")
        self.field.setAccessibleName("Find an operator or module")
        self.field.setToolTip(
            "Enter: next hit, Shift+Enter: previous hit, Esc: return to the graph"
        )
        self.field.setMinimumWidth(theme.px(_LEAST_FIELD))
        self.field.setMaximumWidth(theme.px(_FIELD))
        self.field.show_clear_button()
        self.field.textChanged.connect(self._search)
        self.field.stepped.connect(self.step)
        self.count = ElidedLabel("", theme, "caption", "text2")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.px(8))
        row.addWidget(self.field)
        row.addWidget(self.count, 1)

    def search_in(self, answer: GraphAnswer | None) -> None:
        """Search another graph; None releases the one before."""
        before, self._answer = self._answer, answer
        if before is None or answer is None or before.model is not answer.model:
            self._texts = ()
            self._search(self.field.text())

    @Slot(str)
    def _search(self, wanted: str) -> None:
        self._hits, self._hit = [], -1
        if self._answer is not None and wanted.strip():
            model, question = self._answer.model, self._answer.question
            self._texts = self._texts or searched_texts(model.tree, model.program, question.calls)
            self._hits = hits(self._texts, wanted)
        self._show_count()

    def _show_count(self) -> None:
        text = ""
        if self.field.text().strip():
            count = group_digits(len(self._hits))
            text = f"{self._hit + 1} of {count}" if self._hit >= 0 else counted(
                len(self._hits), "hit") if self._hits else "no hit"  # fmt: skip
        self.count.setText(text)

    @Slot(int)
    def step(self, way: int) -> None:
        """Go to the next hit (1), or to the previous one (-1)."""
        if not self._hits:
            return
        before = self._hit if self._hit >= 0 else -1 if way > 0 else 0
        self._hit = (before + way) % len(self._hits)
        self._show_count()
        self.stepped.emit(self._hits[self._hit])
