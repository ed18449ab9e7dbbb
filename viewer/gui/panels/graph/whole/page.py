"""The part of the panel that shows a whole model: how to color and find, and the picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QWidget

from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.numeric.compared import OperatorErrors
from viewer.gui.panels.base.page_panel import head_row, plain_column
from viewer.gui.panels.graph.facts import NodeFacts, node_tip
from viewer.gui.panels.graph.names import cut_line, tag_of
from viewer.gui.panels.graph.node_figures import ChangeFigures, CostFigures, NodeFigures
from viewer.gui.panels.graph.whole.measures import Amounts, MeasureKind
from viewer.gui.panels.graph.whole.painting import picture_image, picture_svg
from viewer.gui.panels.graph.whole.picture import WholePicture
from viewer.gui.panels.graph.whole.question import WholeAnswer, WholeModel, WholeQuestion
from viewer.gui.panels.graph.whole.view import WholeView
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.image_files import png_bytes
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.escape_field import EscapeField
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.qt.widgets.segment_bar import SegmentBar, tool_button
from viewer.model.times import counted, group_digits
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupKind, GroupTree
from viewer.render.graph.nested_layout import GroupSizes
from viewer.workspace.workspace import Workspace

_KINDS: Mapping[MeasureKind, str] = {
    MeasureKind.TIME: "Self time of the operators",
    MeasureKind.CHANGE: "Change between A and B",
    MeasureKind.MEMORY: "Planned bytes of what operators write",
    MeasureKind.SIZE: "Bytes of weights and delegates in the program file",
    MeasureKind.ERROR: "Error of the logged values against a reference, relative to the signal",
}
NO_PROFILE = "Open a profile to color by time"
NO_COMPARISON = "Compare two profiles to color by change"
NO_PROGRAM_FILE = "Open the program file (.pte) to color by memory and size"
NO_ERRORS = "Choose a reference in Numbers to color by error"
_FIELD = 150  # px

_MOST_CARRIED = 4  # edges that a tooltip names


def searched_texts(tree: GroupTree, program: Program, calls: Sequence[Instance]) -> list[str]:
    """Return the text of every node that is searched, in small letters.

    Of an operator its label and the names of its graph nodes, of a module its path and class, of a
    delegate call its name, of a run nothing.
    """
    found = []
    paths: list[str] = []
    for node, (name, detail) in enumerate(zip(tree.names, tree.details, strict=True)):
        operator, call, parent = (
            int(column[node]) for column in (tree.operator, tree.call, tree.parent)
        )
        around = paths[parent] if parent > 0 else ""
        if operator >= 0:
            own = program.operators[operator]
            text = " ".join((own.label, *(each.name for each in own.nodes)))
            paths.append("")
        elif call >= 0:
            text = tag_of(calls[call])
            paths.append(around)
        elif tree.kind[node] == GroupKind.RUN:
            text = ""
            paths.append(around)
        else:
            paths.append(f"{around}.{name}" if around else name if node else "")
            text = f"{paths[-1]} {detail}"
        found.append(text.casefold())
    return found


def hits(texts: Sequence[str], wanted: str) -> list[int]:
    """Return the nodes whose texts have all words that are wanted, in the order of the tree."""
    words = wanted.casefold().split()
    if not words:
        return []
    return [node for node, text in enumerate(texts) if all(word in text for word in words)]


def node_text(answer: WholeAnswer, node: int) -> str:
    """Return the tooltip of a visible node."""
    tree, question, look = answer.model.tree, answer.question, answer.looks.of[node]
    operator = int(tree.operator[node])
    title = "" if answer.measure is None else answer.measure.title
    value = f"{title}: {look.figure}" if title and look.figure else look.figure
    if operator >= 0:
        calls = question.calls
        tag = next((tag_of(c) for c in calls if operator in c.operators), "")
        facts = NodeFacts(operator, look.name, look.detail, look.figure, look.fill, tag)
        text = node_tip(question.program, facts, question.figures)
        is_stated = question.figures is not None and value in text
        return text if not value or is_stated or title == "Time" else f"{text}\n{value}"
    lines = [_path(answer, node)]
    if look.detail and tree.kind[node] == GroupKind.MODULE:
        lines[0] += f" ({look.detail})"
    lines.append(counted(int(tree.operators[node]), "operator"))
    call = int(tree.call[node])
    if call >= 0:
        whole = len(question.calls[call].operators)
        if whole != tree.operators[node]:
            lines[-1] += f" of {group_digits(whole)} in this delegate call"
    if value:
        lines.append(value)
    values = answer.values
    if isinstance(values, Amounts) and values.own[node] and values.sets[node]:
        lines.append(f"and {values.shared_text(node)}, not divided")
    is_open = bool(answer.layout.shown.is_frame[node])
    if node:
        lines.append(f"Double-click to {'collapse' if is_open else 'expand'}")
    return "\n".join(cut_line(line) for line in lines)


def edge_text(answer: WholeAnswer, edge: int) -> str:
    """Return the tooltip of an edge: what it carries."""
    edges, model = answer.layout.edges, answer.model
    carried = edges.carried[edges.ptr[edge] : edges.ptr[edge + 1]].tolist()
    operators = model.program.operators
    lines = [] if len(carried) == 1 else [f"{group_digits(len(carried))} edges"]
    lines += [
        f"{operators[int(model.producer[one])].label} → {operators[int(model.consumer[one])].label}"
        for one in carried[:_MOST_CARRIED]
    ]
    if len(carried) > _MOST_CARRIED:
        lines.append(f"and {group_digits(len(carried) - _MOST_CARRIED)} more")
    return "\n".join(cut_line(line) for line in lines)


def _path(answer: WholeAnswer, node: int) -> str:
    """Return the name of a group after those of the modules around it."""
    tree = answer.model.tree
    around = [
        tree.names[one]
        for one in tree.around(node)[::-1]
        if one and tree.kind[one] == GroupKind.MODULE
    ]
    own = answer.looks.of[node].name
    if tree.kind[node] == GroupKind.MODULE:
        return ".".join([*around, own])
    return f"{own} in {'.'.join(around)}" if around else own


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


class WholePage(QWidget):
    """The whole model. `changed()`: ask again. `chosen(operators)`: select them.

    `walked(operator)`: show its neighborhood.
    """

    changed = Signal()
    chosen = Signal(object)
    walked = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._answer: WholeAnswer | None = None
        self._opened: frozenset[int] | None = None
        self._kind: MeasureKind | None = None  # chosen by the user
        self._texts: tuple[WholeModel, list[str]] | None = None
        self._hits: list[int] = []
        self._hit = -1
        self._wanted = -1  # to be shown as soon as its groups are open
        self._operators: tuple[int, ...] = ()
        self.kinds = SegmentBar("Color by", _KINDS)
        self.kinds.picked.connect(self._pick_kind)
        self.field = FindField()
        self.field.setPlaceholderText("Find a node")
        self.field.setAccessibleName("Find an operator or module")
        self.field.setToolTip(
            "Enter: next hit, Shift+Enter: previous hit, Esc: return to the graph"
        )
        self.field.setFixedWidth(theme.px(_FIELD))
        self.field.show_clear_button()
        self.field.textChanged.connect(self._search)
        self.field.stepped.connect(self.step)
        self.found = ElidedLabel("", theme, "caption", "text2")
        self.open_all = tool_button("Expand all", "Open all groups")
        self.open_first = tool_button("Collapse", "Return to the first view")
        self.open_all.clicked.connect(self.expand_all)
        self.open_first.clicked.connect(self.collapse)
        self.view = WholeView(theme)
        self.field.left.connect(self.view.setFocus)
        self.view.toggled.connect(self.toggle)
        self.view.chosen.connect(self._choose)
        self.view.walked.connect(self.walked)
        self.view.reshaped.connect(self.changed)
        self.view.node_tip, self.view.edge_tip = self.node_tip, self.edge_tip
        bar = head_row(theme, 8)
        bar.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(6))
        bar.addWidget(label("Color by", theme, tone="text2"))
        for widget in (self.kinds, self.open_first, self.open_all, self.field):
            bar.addWidget(widget)
        bar.addWidget(self.found, 1)
        column = plain_column(self)
        column.addLayout(bar)
        column.addWidget(self.view, 1)
        theme.changed.connect(self._retheme)

    # -- question --------------------------------------------------------------------------------

    def question(
        self,
        program: Program,
        figures: NodeFigures | None,
        calls: tuple[Instance, ...],
        space: Workspace,
        files: object,
        errors: OperatorErrors | None,
    ) -> WholeQuestion:
        """Return the question to ask now. files: another object after the open files changed."""
        known = None if self._answer is None else self._answer.model
        if known is not None and known.program is not program:
            known = None
        if self._answer is None or self._answer.question.program is not program:
            self._opened = None
        has_files, has_errors = bool(space.executables), errors is not None
        kind = self._offer(figures, has_files=has_files, has_errors=has_errors)
        px = self._theme.px
        plain = GroupSizes()
        sizes = GroupSizes(
            px(plain.box_width), px(plain.box_height), px(plain.head), px(plain.inset),
            px(plain.layer_gap), px(plain.node_gap), self.view.shape,
        )  # fmt: skip
        return WholeQuestion(
            program, figures, calls, kind, self._opened, sizes, space, files, known, errors
        )

    def _offer(
        self, figures: NodeFigures | None, *, has_files: bool, has_errors: bool
    ) -> MeasureKind | None:
        """Enable the colors that there are, and return the one to show."""
        is_compared = isinstance(figures, ChangeFigures)
        why = {
            MeasureKind.TIME: "" if isinstance(figures, CostFigures) else NO_PROFILE,
            MeasureKind.CHANGE: "" if is_compared else NO_COMPARISON,
            MeasureKind.MEMORY: "" if has_files else NO_PROGRAM_FILE,
            MeasureKind.SIZE: "" if has_files else NO_PROGRAM_FILE,
            MeasureKind.ERROR: "" if has_errors else NO_ERRORS,
        }
        self.kinds.buttons[MeasureKind.TIME].setVisible(not is_compared)
        self.kinds.buttons[MeasureKind.CHANGE].setVisible(is_compared)
        for kind, button in self.kinds.buttons.items():
            button.setEnabled(not why[kind])
            button.setToolTip(why[kind] or _KINDS[kind])
        offered = [kind for kind, missing in why.items() if not missing]
        shown = self._kind if self._kind in offered else next(iter(offered), None)
        if shown is not None:
            self.kinds.press(shown)
        return shown

    @Slot(object)
    def _pick_kind(self, kind: MeasureKind) -> None:
        self._kind = kind
        self.changed.emit()

    # -- contents --------------------------------------------------------------------------------

    @property
    def answer(self) -> WholeAnswer | None:
        """What is shown."""
        return self._answer

    def show_answer(self, answer: WholeAnswer) -> None:
        """Draw a model; what was opened or closed stays where it is."""
        before, self._answer = self._answer, answer
        self._opened = answer.opened
        is_other = before is None or before.model is not answer.model
        self.view.show_picture(WholePicture(answer), fits=is_other)
        if is_other:
            self._search(self.field.text())
        self.mark(self._operators)
        if self._wanted >= 0:
            wanted, self._wanted = self._wanted, -1
            self.view.reveal(wanted, readable=True)

    def forget(self) -> None:
        """Release the model: its program was closed."""
        self._answer = self._texts = self._opened = None
        self._hits, self._hit, self._wanted, self._operators = [], -1, -1, ()
        self.view.show_picture(None)

    def mark(self, operators: tuple[int, ...], *, reveal: bool = False) -> None:
        """Highlight what shows selected operators. reveal: bring it into view."""
        is_other, self._operators = operators != self._operators, operators
        picture, answer = self.view.picture, self._answer
        if picture is None or answer is None:
            return
        tree = answer.model.tree
        leaves = [int(tree.leaf[o]) for o in operators if 0 <= o < len(tree.leaf)]
        nodes = frozenset(picture.shown_of(leaf) for leaf in leaves if leaf >= 0)
        self.view.mark(nodes, moves=is_other)
        if reveal and nodes:
            self.view.reveal(min(nodes))

    def summary(self) -> str:
        """Return "38 operators · 12 modules · 10 delegate calls · 4 closed groups"."""
        answer = self._answer
        if answer is None:
            return ""
        tree, shown = answer.model.tree, answer.layout.shown
        calls = len(answer.question.calls)
        modules = int((tree.kind == GroupKind.MODULE).sum())
        parts = [counted(len(tree.leaf), "operator")]
        parts += [counted(modules, "module")] if modules else []
        parts += [counted(calls, "delegate call")] if calls else []
        closed = int(tree.is_group[shown.boxes].sum())
        parts.append(f"{counted(closed, 'closed group')}" if closed else "all groups open")
        return " · ".join(parts)

    # -- opening and closing ---------------------------------------------------------------------

    @Slot(int)
    def toggle(self, node: int) -> None:
        """Open or close a group."""
        answer = self._answer
        if answer is None:
            return
        tree, opened = answer.model.tree, answer.opened
        if answer.layout.shown.is_frame[node]:
            inside = range(node, int(tree.end[node]))
            self._opened = frozenset(n for n in opened if n not in inside)
        else:
            self._opened = opened | {node}
        self.changed.emit()

    @Slot()
    def expand_all(self) -> None:
        """Open all groups."""
        if self._answer is not None:
            self._opened = frozenset(self._answer.model.tree.is_group.nonzero()[0].tolist())
            self.changed.emit()

    @Slot()
    def collapse(self) -> None:
        """Open the groups of the first view only, and fit them."""
        if self._answer is not None:
            self._opened = self._answer.model.opened
            self.view.fit_all()
            self.changed.emit()

    def show_node(self, node: int) -> None:
        """Open what hides a node, and center it."""
        answer = self._answer
        if answer is None:
            return
        around = frozenset(answer.model.tree.around(node))
        if around <= answer.opened:
            self.view.reveal(node, readable=True)
        else:
            self._wanted, self._opened = node, answer.opened | around
            self.changed.emit()

    @Slot(int)
    def _choose(self, node: int) -> None:
        if self._answer is not None:
            self.chosen.emit(tuple(self._answer.model.tree.inside(node).tolist()))

    # -- search ----------------------------------------------------------------------------------

    @Slot(str)
    def _search(self, wanted: str) -> None:
        answer = self._answer
        self._hits, self._hit = [], -1
        if answer is not None and wanted.strip():
            if self._texts is None or self._texts[0] is not answer.model:
                question = answer.question
                texts = searched_texts(answer.model.tree, question.program, question.calls)
                self._texts = answer.model, texts
            self._hits = hits(self._texts[1], wanted)
        self._tell_hits()

    def _tell_hits(self) -> None:
        text = ""
        if self.field.text().strip():
            count = group_digits(len(self._hits))
            text = f"{self._hit + 1} of {count}" if self._hit >= 0 else counted(
                len(self._hits), "hit") if self._hits else "no hit"  # fmt: skip
        self.found.setText(text)

    @Slot(int)
    def step(self, way: int) -> None:
        """Go to the next hit (1), or to the previous one (-1)."""
        if not self._hits:
            return
        before = self._hit if self._hit >= 0 else -1 if way > 0 else 0
        self._hit = (before + way) % len(self._hits)
        node = self._hits[self._hit]
        self._tell_hits()
        self._choose(node)
        self.show_node(node)

    # -- tooltips --------------------------------------------------------------------------------

    def node_tip(self, node: int) -> str:
        """Return the tooltip of a visible node."""
        return "" if self._answer is None else node_text(self._answer, node)

    def edge_tip(self, edge: int) -> str:
        """Return the tooltip of an edge."""
        return "" if self._answer is None else edge_text(self._answer, edge)

    # -- files -----------------------------------------------------------------------------------

    def image(self) -> QImage:
        """Return the whole picture, usually with 2 pixels per point."""
        picture = self.view.picture
        assert picture is not None
        return picture_image(picture, self.view.marked, self._theme)

    def bytes_of(self, *, svg: bool) -> Callable[[], bytes]:
        """Return a function that paints the picture as it is now, as an SVG or PNG file.

        It takes a second for 5,000 operators, so call it off the GUI thread.
        """
        picture, marked, theme = self.view.picture, self.view.marked, self._theme
        title, description = self.view.accessibleName(), self.summary()
        assert picture is not None
        if svg:
            return lambda: picture_svg(picture, marked, theme, title, description)
        return lambda: png_bytes(picture_image(picture, marked, theme))

    @Slot()
    def _retheme(self) -> None:
        self.view.retheme()
