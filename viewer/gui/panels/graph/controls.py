"""The lines around the graph: what it shows, its colors and the search above, the legends below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSpinBox, QVBoxLayout, QWidget

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.delegates.delegation import Instance
from viewer.analysis.flows.dataflow import MOST_HOPS, Direction, dataflow_of
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.panel import PanelHost, head_row, plain_column
from viewer.gui.panels.graph.measures import (
    CHANGE_STEPS,
    CallFill,
    ChangeFigures,
    ChangeFill,
    CostFigures,
    Fill,
    Measure,
    MeasureKind,
    NoCostFill,
    NodeFigures,
    backend_name,
    colors_of,
    paint_hatch,
)
from viewer.gui.panels.graph.question import GraphAnswer, backends_of
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.cells import SIDE, paint_mark
from viewer.gui.qt.widgets.controls import ComboBox, EscapeField, SegmentBar, laid_out, tool_button
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.model.times import MINUS, counted, group_digits
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupKind, GroupTree
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB
from viewer.reports.compare_text import WORDS

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
        laid_out(
            QHBoxLayout(self), self.field, (self.count, 1), gap=theme.px(8), margins=(0, 0, 0, 0)
        )

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


HOPS = 2


class GraphMode(Enum):
    """What the panel shows; its value is the title of its button."""

    NEIGHBORHOOD = "Neighborhood"
    WHOLE = "Whole model"


_MODES = {
    GraphMode.NEIGHBORHOOD: "Show the inputs and outputs of the selected operator",
    GraphMode.WHOLE: "Show all operators of the model, by modules",
}
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
_WAYS = (
    ("Both ways", Direction.BOTH), ("Producers", Direction.PRODUCERS),
    ("Consumers", Direction.CONSUMERS),
)  # fmt: skip


class GraphControls(QWidget):
    """The controls. `changed()`: another part of the model is wanted. `recolored()`: other colors.

    `opened(everything)`: open all groups, or those of the first view.
    """

    changed = Signal()
    recolored = Signal()
    opened = Signal(bool)

    def __init__(self, host: PanelHost) -> None:
        super().__init__()
        theme = host.theme
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
        self.subtitle = FileCaption(host)
        self.hops.valueChanged.connect(self.changed)
        self.direction.currentIndexChanged.connect(self.changed)
        self._kind: MeasureKind | None = None  # chosen by the user
        self.kinds = SegmentBar("Color by", _KINDS)
        self.kinds.picked.connect(self._pick_kind)
        self.open_all = tool_button("Expand all", "Open all groups")
        self.open_first = tool_button("Collapse", "Return to the first view")
        self.open_all.clicked.connect(lambda: self.opened.emit(True))
        self.open_first.clicked.connect(lambda: self.opened.emit(False))
        self.search = NodeSearch(theme)
        head = head_row(theme, 8)
        head.addWidget(self.modes)
        self._hops_label = label("Hops", theme, tone="text2")
        head.addWidget(self._hops_label)
        for widget in (
            self.hops, self.direction, self.delegate, self.fit, self.copy, self.save,
        ):  # fmt: skip
            head.addWidget(widget)
        head.addWidget(self.subtitle, 1)
        bar = head_row(theme, 8)
        bar.setContentsMargins(theme.px(12), 0, theme.px(12), theme.px(6))
        bar.addWidget(label("Color by", theme, tone="text2"))
        for tool in (self.kinds, self.open_first, self.open_all):
            bar.addWidget(tool)
        bar.addWidget(self.search, 1)
        metrics = QFontMetrics(theme.font("body"))
        for tool in (self.open_first, self.open_all, self.fit, self.copy, self.save):
            # The sheet of the window has another least width, in which the text would be cut.
            tool.setStyleSheet(f"min-width: {metrics.horizontalAdvance(tool.text())}px;")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        plain_column(self, head, bar)

    @property
    def is_whole(self) -> bool:
        return self.modes.buttons[GraphMode.WHOLE].isChecked()

    def set_mode(self, mode: GraphMode) -> None:
        """Show the controls of a mode, without a signal."""
        self.modes.press(mode)
        for widget in (self._hops_label, self.hops, self.direction, self.delegate):
            widget.setVisible(mode is GraphMode.NEIGHBORHOOD)
        for widget in (self.open_first, self.open_all):
            widget.setVisible(mode is GraphMode.WHOLE)

    def offer_kinds(
        self, figures: NodeFigures | None, *, has_files: bool, has_errors: bool
    ) -> MeasureKind | None:
        """Enable the colors that there are, and return the kind to color by."""
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
        pressed = self._kind if self._kind in offered else next(iter(offered), None)
        if pressed is not None:
            self.kinds.press(pressed)
        return pressed

    @Slot(object)
    def _pick_kind(self, kind: MeasureKind) -> None:
        self._kind = kind
        self.recolored.emit()

    @Slot(object)
    def _follow_mode(self, mode: GraphMode) -> None:
        self.set_mode(mode)
        self.changed.emit()


_CHANGE_SCALE: tuple[Fill, ...] = (
    *(ChangeFill(Verdict.FASTER, step) for step in range(CHANGE_STEPS, 0, -1)),
    ChangeFill(Verdict.NO_CHANGE),
    *(ChangeFill(Verdict.SLOWER, step) for step in range(1, CHANGE_STEPS + 1)),
)
_HEAT_SCALE: tuple[Fill, ...] = tuple(range(HEAT, HEAT + HEAT_STEPS))

_STEP, _BOX, _SPACE, _GAP = 14, 12, 6, 12  # px

# What an entry consists of: a text, the mark of a verdict, or boxes of fills.
Part = str | Verdict | tuple[Fill, ...]


class Legend(QWidget):
    """A scale up to the largest value, then the fills that are used, each with its name."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: Sequence[tuple[Part, ...]] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def show_values(
        self, measure: Measure | None, most: str, fills_used: set[Fill], calls: Sequence[str]
    ) -> None:
        """Show the legend of values, or that nothing has any.

        most: the end of the scale, "" for none. calls: the delegates, whose calls have grounds of
        their own.
        """
        title, least, none = "", "", ""
        if measure is not None:
            title, least, none = measure.title, measure.least, measure.none
        names: dict[Fill, str] = {
            SLAB: "shared", NoCostFill.IDLE: none, NoCostFill.UNLINKED: "not linked"
        }  # fmt: skip
        others: list[tuple[Part, str]] = [
            ((fill,), name) for fill, name in names.items() if fill in fills_used
        ]
        others += [((CallFill(number),), f"{name} call") for number, name in enumerate(calls)]
        scale = (f"{title}  {least}", _HEAT_SCALE, most) if most else ()
        self._show(f"Color by {title}, {least} to {most}", scale, others)

    def show_changes(self, most: str, fills_used: set[Fill]) -> None:
        """Show the legend of changes.

        most: the largest proven change without its sign, "" if none is proven. fills_used: the
        fills of the nodes; the others are not listed.
        """
        changes = {fill for fill in fills_used if isinstance(fill, ChangeFill)}
        others: list[tuple[Part, str]] = [
            (verdict, WORDS[verdict])
            for verdict in (Verdict.NO_CHANGE, Verdict.CANNOT_TELL)
            if any(fill.verdict is verdict and not fill.only_in for fill in changes)
        ]
        others += [
            ((ChangeFill(Verdict.CANNOT_TELL, only_in=arm),), f"only in {arm}")
            for arm in "AB"
            if any(fill.only_in == arm for fill in changes)
        ]
        if NoCostFill.UNLINKED in fills_used:
            others.append(((NoCostFill.UNLINKED,), "no slice"))
        least, largest = f"{MINUS}{most}", f"+{most}"
        name = f"Color by change per inference: faster, {least}, to slower, {largest}"
        scale = (Verdict.FASTER, least, _CHANGE_SCALE, largest, Verdict.SLOWER) if most else ()
        self._show(name, scale, others)

    def _show(self, name: str, scale: tuple[Part, ...], others: Sequence[tuple[Part, str]]) -> None:
        """Show the legend, or hide it if there is nothing to explain. name: what a scale means."""
        self._entries = [scale, *others] if scale else others
        self.setAccessibleName(", ".join(([name] if scale else []) + [text for _, text in others]))
        self.setVisible(bool(self._entries))
        self.updateGeometry()
        self.update()

    def _width(self, part: Part) -> int:
        px = self._theme.px
        if isinstance(part, str):
            return QFontMetrics(self._theme.font("caption")).horizontalAdvance(part)
        if isinstance(part, Verdict):
            return px(SIDE)
        return len(part) * px(_STEP) if len(part) > 1 else px(_BOX)

    @guard(QSize())
    def sizeHint(self) -> QSize:
        px = self._theme.px
        widths = [self._width(part) + px(_SPACE) for entry in self._entries for part in entry]
        return QSize(sum(widths) + len(self._entries) * px(_GAP - _SPACE), px(18))

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, px, x = self._theme, self._theme.px, 0
        painter = QPainter(self)
        painter.setFont(theme.font("caption"))
        for entry in self._entries:
            for part in entry:
                room = QRectF(x, 0, self._width(part), self.height())
                if isinstance(part, str):
                    painter.setPen(theme.color("text2"))
                    painter.drawText(room.adjusted(0, 0, 1, 0), Qt.AlignmentFlag.AlignVCenter, part)
                elif isinstance(part, Verdict):
                    paint_mark(painter, room.center(), part.value, theme)
                else:
                    self._paint_boxes(painter, room, part)
                x += self._width(part) + px(_SPACE)
            x += px(_GAP - _SPACE)
        painter.end()

    def _paint_boxes(self, painter: QPainter, room: QRectF, fills: tuple[Fill, ...]) -> None:
        """Paint boxes side by side; one without a color of its own is outlined."""
        side, width = float(self._theme.px(_BOX)), room.width() / len(fills)
        for number, fill in enumerate(fills):
            box = QRectF(room.left() + number * width, room.center().y() - side / 2, width, side)
            colors = colors_of(fill, self._theme)
            is_hatched = isinstance(fill, ChangeFill) and bool(fill.only_in)
            if not is_hatched and not isinstance(fill, NoCostFill | CallFill):
                painter.fillRect(box, colors.fill)
                continue
            pen = QPen(colors.outline, 1)
            if colors.is_dashed:
                pen.setStyle(Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.setBrush(colors.fill)
            box.adjust(0.5, 0.5, -0.5, -0.5)
            painter.drawRect(box)
            if is_hatched:
                paint_hatch(painter, box, self._theme)


class GraphFoot(QWidget):
    """A summary, the legend, and a note about what is not shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.legend = Legend(theme)
        line = laid_out(QHBoxLayout(), self.legend, (self.note, 1), gap=theme.px(12))
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(6))
        column.setSpacing(theme.px(2))
        column.addWidget(self.summary)
        column.addLayout(line)

    def show_answer(self, answer: GraphAnswer) -> None:
        """Show the legend of a graph, and what is not shown."""
        measure, around = answer.measure, answer.around
        fills = {look.fill for look in answer.looks.values()}
        if isinstance(answer.values, ChangeFigures):
            self.legend.show_changes(answer.most, fills)
        else:
            calls = backends_of(answer.question.calls) if around is None else ()
            self.legend.show_values(measure, answer.most, fills, calls)
        unknown = dataflow_of(answer.question.program).unknown.values()
        reason = next(iter(unknown), "") if around is None else around.reason
        texts = ["" if around is None else around.limit_text]
        texts += [f"{text}." for text in ("" if measure is None else measure.note, reason) if text]
        self.note.setText(" ".join(filter(None, texts)))
