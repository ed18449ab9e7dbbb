"""The Graph panel: producers and consumers of the selected operator, colored by cost.

The panel follows the selection: a slice with its operators, operators, or a delegate call. A click
in the graph only highlights the operator, so that nothing moves under the mouse. A double click or
Enter centers the graph on an operator, and Back (Alt+Left) returns. Neighborhood and layout are
computed when the panel is visible, in a worker thread if they are large; the old picture stays
until then.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QSpinBox, QToolButton, QVBoxLayout, QWidget

from viewer.analysis.cost.operators import OperatorCosts, operator_costs
from viewer.analysis.delegates.delegation import Instance, instances_of
from viewer.analysis.flows.neighborhood import MOST_HOPS, Direction
from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.panels.base.answer_panel import AnswerPanel, Question
from viewer.gui.panels.base.cost_panel import no_costs
from viewer.gui.panels.base.page_panel import Sentence, head_row, plain_column, subtitle_label
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.graph.cost_scale import CostScale
from viewer.gui.panels.graph.facts import edge_tip, node_tip, summary
from viewer.gui.panels.graph.painting import node_size
from viewer.gui.panels.graph.picture import GraphPicture
from viewer.gui.panels.graph.question import (
    GraphAnswer,
    GraphQuestion,
    around_of,
    has_edges_at_once,
    have_same_layout,
    most_expensive_seed,
    work_out,
)
from viewer.gui.panels.graph.view import LAYER_GAP, NODE_GAP, GraphView
from viewer.gui.qt.clipboard import copy_picture
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.session.feeds.costs import CostAnswer, CostFeed
from viewer.gui.session.session import Session
from viewer.model.text import display_name
from viewer.model.times import format_time, tick_to_ns
from viewer.program.program import Program
from viewer.workspace.exports import ExportJob, NothingToExport

HOPS = 2
WHOLE = "Whole model"
NOTHING = (
    "Open an ETRecord or an MLIR source to see how data flows between operators. With a profile, "
    "the graph also shows the time of each operator."
)
UNSELECTED = "Select a slice or an operator to see its inputs and outputs."
UNLINKED = "The selection is not linked to an operator."
_WAYS = (
    ("Both ways", Direction.BOTH), ("Producers", Direction.PRODUCERS),
    ("Consumers", Direction.CONSUMERS),
)  # fmt: skip


class GraphPanel(AnswerPanel[GraphAnswer]):
    """The graph, with its controls and legend.

    `open_dialog_requested()`: open more files. `links_requested()`: choose which ETRecord belongs
    to which profile. `save_requested(job_of)`: save the picture with the job of `job_of(path)`.
    """

    # Operators, not slices: the layout of this many takes less than 5 ms.
    SYNC_LIMIT = 60
    open_dialog_requested = Signal()
    links_requested = Signal()
    save_requested = Signal(object)

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self._costs = CostFeed.of(session)
        self._drawn: GraphAnswer | None = None
        self._why_nothing = Sentence("")
        self._seeds: tuple[int, ...] = ()  # operators that the graph is centered on
        self._picked: tuple[int, ...] = ()  # chosen operators if there is no profile
        self._choosing = False
        self._program: Program | None = None
        self._instances: tuple[Instance, ...] = ()
        self._costed: tuple[CostAnswer, OperatorCosts] | None = None
        self._latest.failed.connect(self.show_sentence)
        self.view = GraphView(theme)
        self.view.chosen.connect(self._choose)
        self.view.walked.connect(self._walk)
        self.view.turned.connect(self.refresh)
        self.view.node_tip = self.node_tip
        self.view.edge_tip = self.edge_tip
        self.set_page(self._page(), fading=(self.view,))
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.view)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self.copy)
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self.refresh_on(self._costs.changed)
        theme.changed.connect(self._repaint)
        self._reopen()

    def _page(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        self.hops = QSpinBox()
        self.hops.setRange(1, MOST_HOPS)
        self.hops.setValue(HOPS)
        self.hops.setAccessibleName("Hops from the operator")
        self.hops.setToolTip("Maximum distance from the selected operator")
        self.direction = ComboBox(theme)
        self.direction.setAccessibleName("Direction of the hops")
        for name, way in _WAYS:
            self.direction.addItem(name, way)
        self.delegate = self._switch("Delegate")
        self.whole = self._switch(WHOLE)
        self.whole.setToolTip("Show all operators of the model")
        self.copy_button = QToolButton()
        self.copy_button.setText("Copy")
        self.copy_button.setToolTip("Copy the whole graph as an image (Ctrl+C)")
        self.copy_button.setAccessibleName("Copy the graph as an image")
        self.copy_button.clicked.connect(self.copy)
        self.save_button = QToolButton()
        self.save_button.setText("Save…")
        self.save_button.setToolTip("Save the whole graph as an image, PNG or SVG")
        self.save_button.setAccessibleName("Save the graph as an image")
        self.save_button.clicked.connect(self._ask_to_save)
        self.fit_button = QToolButton()
        self.fit_button.setText("Fit")
        self.fit_button.setToolTip("Fit the whole graph (F)")
        self.fit_button.setAccessibleName("Fit the graph")
        self.fit_button.clicked.connect(self.view.fit_all)
        self.hops.valueChanged.connect(self.refresh)
        self.direction.currentIndexChanged.connect(self.refresh)
        self.delegate.toggled.connect(self._toggle_delegate)
        self.whole.toggled.connect(self._toggle_whole)
        self.subtitle = subtitle_label(theme)
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.scale = CostScale(theme)
        head = head_row(theme, 8)
        head.addWidget(label("Hops", theme, tone="text2"))
        for widget in (
            self.hops,
            self.direction,
            self.delegate,
            self.whole,
            self.fit_button,
            self.copy_button,
            self.save_button,
        ):
            head.addWidget(widget)
        head.addWidget(self.subtitle, 1)
        legend = QHBoxLayout()
        legend.setSpacing(theme.px(12))
        legend.addWidget(self.scale)
        legend.addWidget(self.note, 1)
        foot = QVBoxLayout()
        foot.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(6))
        foot.setSpacing(theme.px(2))
        foot.addWidget(self.summary)
        foot.addLayout(legend)
        column = plain_column(page)
        column.addLayout(head)
        column.addWidget(self.view, 1)
        column.addLayout(foot)
        return page

    def _switch(self, text: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setCheckable(True)
        button.setAccessibleName(text)
        return button

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The delegate calls of the program that contain operators."""
        return self._instances

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def _reopen(self) -> None:
        """Start over, because files, links or the view of inferences changed."""
        self._seeds, self._picked, self._current_identity = self._selected(), (), None
        programs = (trace.table.program for trace in self._session.traces)
        if not any(self._program is p for p in (*self._session.workspace.programs, *programs)):
            # The panel may stay hidden for long with the last reference to a replaced ETRecord.
            self._program, self._instances = None, ()
            self._costed = self._drawn = None
            self.view.show_picture(None)
        self.refresh()

    def _selected(self) -> tuple[int, ...]:
        """Return the selected operators of the shown program."""
        state, cost_answer = self._session.state, self._costs.answer
        if state.operators is None or len(state.others) or cost_answer is None:
            return ()
        trace, operators = state.operators
        return operators if self._session.traces[trace].table is cost_answer.shown.table else ()

    @Slot()
    def _follow(self) -> None:
        """Follow the selection; operators chosen in the graph itself are only highlighted."""
        if self._choosing:
            self._mark()
            return
        self._seeds = self._selected()
        if self._seeds and self.whole.isChecked():
            self._set_checked(self.whole, on=False)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Compute the graph again, unless the panel is hidden or none of its inputs changed."""
        if not self.defer(stays=True):
            super().refresh()

    def question(self) -> Question | None:
        """Return the question for the graph around the selection."""
        present = self._present_question()
        if isinstance(present, Sentence):
            self._why_nothing = present
            return None
        if isinstance(self._current_identity, GraphQuestion) and self._current_identity.is_as(
            present
        ):
            return Question(work_out, about=self._current_identity)
        around = around_of(present) if has_edges_at_once(present.program) else None
        size = self.SYNC_LIMIT + 1 if around is None else len(around)
        return Question(work_out, (present, around), size, about=present, stays=True)

    def empty_state(self) -> Sentence:
        """Explain why there is no graph, with a button that helps."""
        return self._why_nothing

    def show_again(self) -> None:
        """Highlight the current selection in the unchanged graph."""
        self._mark()

    def _present_question(self) -> GraphQuestion | Sentence:
        """Return what to show now, or the sentence to show instead."""
        cost_answer = self._costs.answer
        program = self._shown_program(cost_answer)
        if isinstance(program, Sentence):
            return program
        self._set_program(program)
        if cost_answer is not None and self._selected() and not self._seeds:
            self._seeds = self._selected()  # the costs of its trace arrived after the selection
        centers = self._seeds or self._picked
        seeds, what = centers, ""
        if self.whole.isChecked() or (cost_answer is None and not centers):
            seeds, what = tuple(range(len(program.operators))), WHOLE
        elif self.delegate.isChecked() and centers:
            members = [i for i in self._instances if centers[0] in i.operators]
            if members:
                seeds = tuple(sorted({o for i in members for o in i.operators}))
                what = " and ".join(f"{i.backend} {i.instruction}" for i in members)
        elif len(centers) > 1:
            what = self._name_of_several(centers)
        self._offer_delegate(centers)
        is_whole = what == WHOLE
        self.hops.setEnabled(not is_whole)
        self.direction.setEnabled(not is_whole)
        if not seeds:
            selected = self._session.state.slice is not None
            why = UNLINKED if selected else UNSELECTED
            return Sentence(why, "Show the whole model", self.show_whole)
        px = self._theme.px
        direction = self.direction.currentData()
        return GraphQuestion(
            program,
            cost_answer,
            self._costs_of(cost_answer, program),
            seeds,
            what,
            self.hops.value(),
            direction,
            self.view.is_wide,
            node_size(self._theme),
            (px(LAYER_GAP), px(NODE_GAP)),
            self._instances,
        )

    def stop(self) -> bool:
        """Cancel the pending question and return whether there was one. The drawing stays."""
        if not self.is_pending:
            return False
        self._latest.cancel()
        self.set_stale(False)
        return True

    def _shown_program(self, given: CostAnswer | None) -> Program | Sentence:
        if given is None:
            programs = [p for p in self._session.workspace.programs if p.methods]
            if self._session.traces or not programs:
                return Sentence(NOTHING, "Open files…", self.open_dialog_requested)
            return programs[0]
        program = given.shown.table.program
        if program is None or not program.operators:
            return no_costs(self._session, given, self.open_dialog_requested, self.links_requested)
        return program

    def _set_program(self, program: Program) -> None:
        if program is not self._program:
            # The selection may belong to the previous program: costs are updated first.
            self._program, self._seeds, self._picked = program, self._selected(), ()
            self._instances = tuple(i for i in instances_of(program) if i.operators)

    def _costs_of(self, given: CostAnswer | None, program: Program) -> OperatorCosts | None:
        if given is None:
            return None
        if self._costed is None or self._costed[0] is not given:
            count, sets = len(program.operators), given.shown.table.sets
            self._costed = given, operator_costs(count, given.table, sets)
        return self._costed[1]

    def _name_of_several(self, operators: tuple[int, ...]) -> str:
        instance = next((i for i in self._instances if set(i.operators) == set(operators)), None)
        if instance is not None:
            return f"{instance.backend} {instance.instruction}"
        return f"{len(operators)} selected operators"

    def _offer_delegate(self, around: tuple[int, ...]) -> None:
        """Enable "Delegate" if the operator is in a delegate call; otherwise explain why not."""
        known = bool(around) and any(around[0] in i.operators for i in self._instances)
        self.delegate.setEnabled(known or self.delegate.isChecked())
        if known:
            why = "Show all operators in the delegate call of this operator"
        elif not self._instances:
            why = "The ETRecord has no delegates"
        elif around:
            why = "This operator is not delegated"
        else:
            why = "No operator is selected"
        self.delegate.setToolTip(why)
        self.delegate.setAccessibleDescription(why)

    # -- contents --------------------------------------------------------------------------------

    def show_answer(self, answer: GraphAnswer) -> None:
        """Draw the graph; keep its position if only the costs changed."""
        before, self._drawn = self._drawn, answer
        question, around = answer.question, answer.around
        is_whole = len(question.seeds) == len(question.program.operators)
        seeds = frozenset() if is_whole else frozenset(np.flatnonzero(around.hop == 0).tolist())
        focus = most_expensive_seed(around, question.costs)
        picture = GraphPicture(around, answer.layout, answer.nodes, question.across, seeds, focus)
        stays = before is not None and not self.is_empty and have_same_layout(before, answer)
        self.view.show_picture(picture, stays=stays)
        self._mark()
        text = summary(question.program, around, question.seeds, question.what)
        self.view.setAccessibleDescription(text)
        self.summary.setText(text)
        self.subtitle.setText(self._scope(question.given))
        limits = [around.limit_text, f"{around.reason}." if around.reason else ""]
        self.note.setText(" ".join(text for text in limits if text))
        self._show_scale(answer)
        self.show_page()

    def _show_scale(self, answer: GraphAnswer) -> None:
        question, most = answer.question, ""
        if (
            question.costs is not None
            and question.given is not None
            and question.costs.most_expensive
        ):
            rate = question.given.shown.axis.ns_per_tick
            most = format_time(tick_to_ns(question.costs.most_expensive, rate))
        self.scale.show_scale(most, {node.fill for node in answer.nodes})

    def _scope(self, given: CostAnswer | None) -> str:
        if given is None:
            return f"{display_name(self._program.path)}, without a profile" if self._program else ""
        return scope_text(given.shown, given.scope)

    def _mark(self) -> None:
        self.view.mark(frozenset(self._selected() or self._picked))

    @Slot()
    def _repaint(self) -> None:
        self.view.update()
        self.scale.update()

    def node_tip(self, position: int) -> str:
        """Return the tooltip of a node."""
        answer = self.answer
        if answer is None:
            return ""
        question = answer.question
        rate = question.given.shown.axis.ns_per_tick if question.given else Fraction(1)
        scope = self._scope(question.given)
        return node_tip(question.program, answer.nodes[position], question.costs, rate, scope)

    def edge_tip(self, edge: int) -> str:
        """Return the tooltip of an edge."""
        answer = self.answer
        if answer is None:
            return ""
        around = answer.around
        producer, consumer = (
            int(around.operators[ends[edge]]) for ends in (around.producer, around.consumer)
        )
        return edge_tip(answer.question.program, producer, consumer)

    # -- actions ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, operator: int) -> None:
        """Select an operator of the graph without redrawing it."""
        self._choosing = True
        try:
            self._select(operator)
        finally:
            self._choosing = False
        self._mark()

    def _select(self, operator: int) -> None:
        answer = self.answer
        if answer is None:
            return
        cost_answer = answer.question.given
        if cost_answer is None:
            self._picked = (operator,)
            return
        number = next(
            (i for i, t in enumerate(self._session.traces) if t.table is cost_answer.shown.table),
            None,
        )
        if number is not None:
            self._session.select_operators(number, (operator,))

    @Slot(int)
    def _walk(self, operator: int) -> None:
        """Center the graph on one of its operators."""
        for switch in (self.whole, self.delegate):
            self._set_checked(switch, on=False)
        self._choose(operator)
        if self._costs.answer is not None:
            self._seeds = (operator,)
        self.refresh()

    @Slot()
    def show_whole(self) -> None:
        """Show all operators of the model, up to the limit of a graph."""
        self.whole.setChecked(True)

    @Slot(bool)
    def _toggle_whole(self, on: bool) -> None:
        if on:
            self._set_checked(self.delegate, on=False)
        else:
            self._picked = self._picked or ()
        self._seeds = self._selected()
        self.refresh()

    @Slot(bool)
    def _toggle_delegate(self, on: bool) -> None:
        if on:
            self._set_checked(self.whole, on=False)
        self._seeds = self._selected()
        self.refresh()

    def _set_checked(self, switch: QToolButton, *, on: bool) -> None:
        blocker = QSignalBlocker(switch)
        switch.setChecked(on)
        blocker.unblock()

    @Slot()
    def copy(self) -> None:
        """Copy a picture of the whole graph."""
        if self.view.picture is not None and not self.is_empty:
            copy_picture(self, self.view.image(), "a picture of the graph")

    @Slot()
    def _ask_to_save(self) -> None:
        self.save_requested.emit(self.job_of)

    def job_of(self, path: str) -> ExportJob:
        """Return a job that writes the whole graph to a path: SVG for ".svg", else PNG.

        Raises NothingToExport if no graph is shown.
        """
        picture = self.view.picture
        if picture is None or self.is_empty:
            raise NothingToExport("No graph to save")
        data = self.view.picture_bytes(svg=path.lower().endswith(".svg"))
        count = len(picture.nodes)

        def write(progress: Progress, cancelled: Cancelled) -> int:
            write_whole(path, data)
            return count

        return write
