"""The lines above the graph: how much of the model it shows, what to color by, and the search."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QSizePolicy, QSpinBox, QWidget

from viewer.analysis.flows.neighborhood import MOST_HOPS, Direction
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.page_panel import head_row, plain_column
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.panels.graph.measures import MeasureKind
from viewer.gui.panels.graph.node_figures import ChangeFigures, CostFigures, NodeFigures
from viewer.gui.panels.graph.search import NodeSearch
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import label
from viewer.gui.qt.widgets.segment_bar import SegmentBar, tool_button

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
        column = plain_column(self)
        column.addLayout(head)
        column.addLayout(bar)

    @property
    def is_whole(self) -> bool:
        """Whether the whole model is shown."""
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
