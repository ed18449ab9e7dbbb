"""The Graph panel: the neighborhood of the selected operator, or the whole model.

Both are colored by cost, or by the change while two arms are compared; the whole model also by
memory and size.

The panel follows the selection: a slice with its operators, operators, or a delegate call. A click
in the graph only highlights the operator, so that nothing moves under the mouse. A double click or
Enter centers the graph on an operator, and Back (Alt+Left) returns. Neighborhood and layout are
computed when the panel is visible, in a worker thread if they are large; the old picture stays
until then.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from viewer.analysis.delegates.delegation import Instance, instances_of
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.panels.base.answer_panel import AnswerPanel, Question
from viewer.gui.panels.base.cost_panel import no_costs
from viewer.gui.panels.base.page_panel import Sentence, plain_column
from viewer.gui.panels.base.panel_host import ExportedFile, PanelHost, Presence, has_operators
from viewer.gui.panels.graph.controls import GraphControls, GraphMode, set_checked
from viewer.gui.panels.graph.facts import edge_tip, node_tip, summary
from viewer.gui.panels.graph.fills import Fill
from viewer.gui.panels.graph.legends import ChangeScale, CostScale
from viewer.gui.panels.graph.node_figures import (
    ChangeFigures,
    CostFigures,
    NodeFigures,
    cost_figures,
)
from viewer.gui.panels.graph.painting import node_size
from viewer.gui.panels.graph.picture import GraphPicture
from viewer.gui.panels.graph.question import (
    ComparedSubject,
    CostSubject,
    GraphAnswer,
    GraphQuestion,
    GraphSubject,
    around_of,
    has_edges_at_once,
    have_same_layout,
    highest_seed,
    work_out,
)
from viewer.gui.panels.graph.view import LAYER_GAP, NODE_GAP, GraphView
from viewer.gui.panels.graph.whole.looks import backends_of
from viewer.gui.panels.graph.whole.page import WholePage
from viewer.gui.panels.graph.whole.question import WholeAnswer, WholeQuestion, work_out_whole
from viewer.gui.qt.clipboard import copy_picture
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.session.feeds.comparison import ComparisonFeed
from viewer.gui.session.feeds.costs import CostAnswer, CostFeed
from viewer.gui.session.session import Session
from viewer.program.program import Program
from viewer.view.compared.open_comparison import OpenComparison
from viewer.workspace.exports import ExportJob, NothingToExport

NOTHING = (
    "Open an ETRecord or an MLIR source to see how data flows between operators. With a profile, "
    "the graph also shows the time of each operator."
)
_PICTURE = ExportedFile(
    "Export image", ".graph.png", "Image, PNG (*.png);;Image, SVG (*.svg)", "operators"
)
UNSELECTED = "Select a slice or an operator to see its inputs and outputs."
UNLINKED = "The selection is not linked to an operator."
NOT_IN_A = "The selection is not linked to an operator of A."


class GraphFoot(QWidget):
    """A summary, the legend of costs or of changes, and a note about what is not shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.summary = ElidedLabel("", theme, "caption", "text1")
        self.note = ElidedLabel("", theme, "caption", "text2")
        self.costs = CostScale(theme)
        self.changes = ChangeScale(theme)
        self.changes.hide()
        legend = QHBoxLayout()
        legend.setSpacing(theme.px(12))
        legend.addWidget(self.costs)
        legend.addWidget(self.changes)
        legend.addWidget(self.note, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(6))
        column.setSpacing(theme.px(2))
        column.addWidget(self.summary)
        column.addLayout(legend)
        theme.changed.connect(self._repaint)

    def show_legend(self, figures: NodeFigures | None, fills_used: set[Fill]) -> None:
        """Show the legend of the figures of some nodes. fills_used: the fills of the nodes."""
        if isinstance(figures, ChangeFigures):
            self.costs.hide()
            self.changes.show_scale(figures.most, fills_used)
        else:
            self.changes.hide()
            most = figures.most if isinstance(figures, CostFigures) else ""
            self.costs.show_scale(most, fills_used)

    def show_values(self, answer: WholeAnswer) -> None:
        """Show the legend of a whole model."""
        calls = [f"{name} call" for name in backends_of(answer.question.calls)]
        looks, measure = answer.looks, answer.measure
        if isinstance(answer.values, ChangeFigures):
            self.costs.hide()
            self.changes.show_scale(looks.most, looks.fills)
            return
        self.changes.hide()
        title, least, none = "", "", ""
        if measure is not None:
            title, least, none = measure.title, measure.least, measure.none
        self.costs.show_values(title, (least, looks.most), none, looks.fills, calls)

    @Slot()
    def _repaint(self) -> None:
        self.costs.update()
        self.changes.update()


class GraphPanel(AnswerPanel[GraphAnswer | WholeAnswer]):
    """The graph, with its controls and legend."""

    # Operators, not slices: the layout of this many takes less than 5 ms.
    SYNC_LIMIT = 60

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self._costs, self._comparison = CostFeed.of(session), ComparisonFeed.of(session)
        self._drawn: GraphAnswer | None = None
        self._why_nothing = Sentence("")
        self._seeds: tuple[int, ...] = ()  # operators that the graph is centered on
        self._picked: tuple[int, ...] = ()  # chosen operators without slices
        self._is_mode_chosen = False
        self._files = object()  # another one after the open files changed
        self._program: Program | None = None
        self._instances: tuple[Instance, ...] = ()
        self._subject: GraphSubject | None = None
        self._subject_of: object = None  # the answer of a feed that it shows
        self._latest.failed.connect(self.show_sentence)
        self.view = GraphView(theme)
        self.view.chosen.connect(self._choose)
        self.view.walked.connect(self._walk)
        self.view.turned.connect(self.refresh)
        self.view.node_tip = self.node_tip
        self.view.edge_tip = self.edge_tip
        self.whole = WholePage(theme)
        self.whole.chosen.connect(self._choose_all)
        self.whole.walked.connect(self._walk)
        self.whole.changed.connect(self.refresh)
        self.controls, self.foot = GraphControls(theme), GraphFoot(theme)
        self.set_page(self._page(), fading=(self.view, self.whole.view))
        for view in (self.view, self.whole.view):
            shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), view)
            shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
            shortcut.activated.connect(self.copy)
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self.refresh_on(self._comparison.changed, self._costs.changed)
        self.refresh_on(session.coloring_changed)
        self._comparison.late.connect(self.show_stale)
        theme.changed.connect(self._repaint)
        self._reopen()

    @staticmethod
    def presence(session: Session) -> Presence:
        return Presence.open_if(has_operators(session))

    def _page(self) -> QWidget:
        controls, page = self.controls, QWidget()
        controls.changed.connect(self._follow_controls)
        controls.delegate.toggled.connect(self._toggle_delegate)
        controls.fit.clicked.connect(self._fit)
        controls.copy.clicked.connect(self.copy)
        controls.save.clicked.connect(self._ask_to_save)
        column = plain_column(page)
        column.addWidget(controls)
        self._views = QStackedWidget()
        self._views.addWidget(self.view)
        self._views.addWidget(self.whole)
        column.addWidget(self._views, 1)
        column.addWidget(self.foot)
        return page

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The delegate calls of the program that contain operators."""
        return self._instances

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def _reopen(self) -> None:
        """Start over, because files, links or the view of inferences changed."""
        self._subject = self._subject_of = self._current_identity = None
        self._seeds, self._picked, self._files = self._selected(), (), object()
        programs = (trace.table.program for trace in self._session.traces)
        if not any(self._program is p for p in (*self._session.workspace.programs, *programs)):
            # The panel may stay hidden for long with the last reference to a replaced ETRecord.
            self._program, self._instances = None, ()
            self._drawn = self._subject = self._subject_of = None
            self.view.show_picture(None)
            self.whole.forget()
        self.refresh()

    def _selected(self) -> tuple[int, ...]:
        """Return the selected operators of the shown program."""
        subject = self._current_subject()
        return () if isinstance(subject, Sentence) else subject.selected(self._session)

    @Slot()
    def _follow(self) -> None:
        """Follow the selection; operators chosen in the graph itself are only highlighted."""
        if self._choosing:
            self._mark()
            return
        self._seeds, self._picked = self._selected(), ()
        self.refresh()
        if self.controls.is_whole:
            self.whole.mark(self._seeds, reveal=True)

    @Slot()
    def refresh(self) -> None:
        """Compute the graph again, unless the panel is hidden or none of its inputs changed."""
        if not self.defer(stays=True):
            super().refresh()

    def question(self) -> Question | None:
        """Return the question for the graph around the selection, or of the whole model."""
        subject = self._current_subject()
        if isinstance(subject, Sentence):
            self._why_nothing = subject
            return None
        self._set_program(subject.program)
        if subject.figures is None and not self._is_mode_chosen:
            self.controls.set_mode(GraphMode.WHOLE)  # nothing can be selected yet
        if self.controls.is_whole:
            return self._question_of_all(subject)
        present = self._present_question(subject)
        if isinstance(present, Sentence):
            self._why_nothing = present
            return None
        asked = self._current_identity
        if isinstance(asked, GraphQuestion) and asked.is_as(present):
            return Question(work_out, about=asked)
        around = around_of(present) if has_edges_at_once(present.program) else None
        size = self.SYNC_LIMIT + 1 if around is None else len(around)
        return Question(work_out, (present, around), size, about=present, stays=True)

    def _question_of_all(self, subject: GraphSubject) -> Question:
        """Return the question about the whole model."""
        program = subject.program
        present = self.whole.question(
            program,
            subject.figures,
            self._instances,
            copy(self._session.workspace),
            self._files,
            next((t.errors for t in self._session.traces if t.table.program is program), None),
        )
        asked = self._current_identity
        if isinstance(asked, WholeQuestion) and asked.is_as(present):
            return Question(work_out_whole, about=asked)
        size = len(program.operators) if has_edges_at_once(program) else self.SYNC_LIMIT + 1
        return Question(work_out_whole, (present,), size, about=present, stays=True)

    def empty_state(self) -> Sentence:
        """Explain why there is no graph, with a button that helps."""
        return self._why_nothing

    def show_again(self) -> None:
        """Highlight the current selection in the unchanged graph."""
        self._mark()

    def _present_question(self, subject: GraphSubject) -> GraphQuestion | Sentence:
        """Return what to show around the selection, or the sentence to show instead."""
        program, controls = subject.program, self.controls
        if self._selected() and not self._seeds:
            self._seeds = self._selected()  # the costs of its trace arrived after the selection
        centers = self._seeds or self._picked
        seeds, what = centers, ""
        if controls.delegate.isChecked() and centers:
            members = [i for i in self._instances if centers[0] in i.operators]
            if members:
                seeds = tuple(sorted({o for i in members for o in i.operators}))
                what = " and ".join(f"{i.backend} {i.instruction}" for i in members)
        elif len(centers) > 1:
            what = self._name_of_several(centers)
        self._offer_delegate(centers)
        if not seeds:
            unlinked = NOT_IN_A if isinstance(subject, ComparedSubject) else UNLINKED
            why = UNSELECTED if self._session.state.slice is None else unlinked
            return Sentence(why, "Show the whole model", self.show_whole)
        px = self._theme.px
        return GraphQuestion(
            program,
            subject.figures,
            seeds,
            what,
            controls.hops.value(),
            controls.way,
            self.view.is_wide,
            node_size(self._theme),
            (px(LAYER_GAP), px(NODE_GAP)),
            self._instances,
        )

    def stop(self) -> str:
        """Cancel the pending question, if there is one. The drawing stays."""
        if not self.is_pending:
            return ""
        self._latest.cancel()
        self.set_stale(False)
        return "Graph not updated"

    def _current_subject(self) -> GraphSubject | Sentence:
        """Return what the graph is about now, or the sentence to show instead."""
        found, given = self._comparison.in_tables, self._costs.answer
        if found is not None and found.program(0) is None:
            found = None  # the graph is that of A: without it, it shows the costs of a profile
        of = found or given
        if self._subject is None or self._subject_of is not of:
            made = self._make_subject(found, given)
            if isinstance(made, Sentence):
                return made
            self._subject, self._subject_of = made, of
        return self._subject

    def _make_subject(
        self, found: OpenComparison | None, given: CostAnswer | None
    ) -> GraphSubject | Sentence:
        program = None if found is None else found.program(0)
        if found is not None and program is not None:
            return ComparedSubject(program, ChangeFigures(found))
        if given is None:
            programs = [p for p in self._session.workspace.programs if p.methods]
            if self._session.traces or not programs:
                return Sentence(NOTHING, "Open files…", self.host.open_files)
            return GraphSubject(programs[0])
        program = given.open_trace.table.program
        if program is None or not program.operators:
            return no_costs(self.host, given)
        return CostSubject(program, cost_figures(given, len(program.operators)))

    def _set_program(self, program: Program) -> None:
        if program is not self._program:
            # The selection may belong to the previous program: costs are updated first.
            self._program, self._seeds, self._picked = program, self._selected(), ()
            self._instances = tuple(i for i in instances_of(program) if i.operators)

    def _name_of_several(self, operators: tuple[int, ...]) -> str:
        instance = next((i for i in self._instances if set(i.operators) == set(operators)), None)
        if instance is not None:
            return f"{instance.backend} {instance.instruction}"
        return f"{len(operators)} selected operators"

    def _offer_delegate(self, around: tuple[int, ...]) -> None:
        """Enable "Delegate" if the operator is in a delegate call; otherwise explain why not."""
        known = bool(around) and any(around[0] in i.operators for i in self._instances)
        if known:
            why = "Show all operators in the delegate call of this operator"
        elif not self._instances:
            why = "The ETRecord has no delegates"
        elif around:
            why = "This operator is not delegated"
        else:
            why = "No operator is selected"
        self.controls.offer_delegate(known=known, why=why)

    # -- contents --------------------------------------------------------------------------------

    def show_answer(self, answer: GraphAnswer | WholeAnswer) -> None:
        """Draw the graph; keep its position if only the costs changed."""
        subject = self._current_subject()
        self.controls.subtitle.setText("" if isinstance(subject, Sentence) else subject.title)
        if isinstance(answer, WholeAnswer):
            self._show_all(answer)
            return
        before, self._drawn = self._drawn, answer
        question, around = answer.question, answer.around
        seeds = frozenset(np.flatnonzero(around.hop == 0).tolist())
        focus = highest_seed(around, question.figures)
        picture = GraphPicture(around, answer.layout, answer.nodes, question.across, seeds, focus)
        stays = before is not None and not self.is_empty and have_same_layout(before, answer)
        self.view.show_picture(picture, stays=stays)
        self._views.setCurrentWidget(self.view)
        limits = [around.limit_text, f"{around.reason}." if around.reason else ""]
        self.foot.note.setText(" ".join(text for text in limits if text))
        self.foot.show_legend(question.figures, {node.fill for node in answer.nodes})
        self._mark()
        self.show_page()

    def _show_all(self, answer: WholeAnswer) -> None:
        self._views.setCurrentWidget(self.whole)
        self.whole.show_answer(answer)
        flow = dataflow_of(answer.question.program)
        reason = next(iter(flow.unknown.values()), "")
        note = "" if answer.measure is None else answer.measure.note
        self.foot.note.setText(" ".join(f"{text}." for text in (note, reason) if text))
        self.foot.show_values(answer)
        self._mark()
        self.show_page()

    def _mark(self) -> None:
        marked = self._selected() or self._picked
        if isinstance(self.answer, WholeAnswer):
            figures = self.answer.question.figures
            self.whole.mark(marked)
            text = self.whole.summary()
            if figures is not None:
                text = figures.summary(marked) or " · ".join(filter(None, (text, figures.left_out)))
            self.whole.view.setAccessibleDescription(text)
            self.foot.summary.setText(text)
            return
        self.view.mark(frozenset(marked))
        if self.answer is None:
            return
        question, around = self.answer.question, self.answer.around
        text = summary(question.program, around, question.seeds, question.what)
        if question.figures is not None:
            whole = " · ".join(filter(None, (text, question.figures.left_out)))
            text = question.figures.summary(marked) or whole
        self.view.setAccessibleDescription(text)
        self.foot.summary.setText(text)

    @Slot()
    def _repaint(self) -> None:
        self.view.update()

    def node_tip(self, position: int) -> str:
        """Return the tooltip of a node."""
        answer = self.answer
        if not isinstance(answer, GraphAnswer):
            return ""
        question = answer.question
        return node_tip(question.program, answer.nodes[position], question.figures)

    def edge_tip(self, edge: int) -> str:
        """Return the tooltip of an edge."""
        answer = self.answer
        if not isinstance(answer, GraphAnswer):
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
        self._choose_all((operator,))

    @Slot(object)
    def _choose_all(self, operators: tuple[int, ...]) -> None:
        """Select operators of the graph without redrawing it."""
        subject = self._current_subject()
        if isinstance(subject, Sentence):
            return
        with self.choosing():
            self._picked = () if subject.select(self._session, operators) else operators
        self._mark()

    @Slot(int)
    def _walk(self, operator: int) -> None:
        """Center the graph on one of its operators."""
        set_checked(self.controls.delegate, on=False)
        self._set_mode(GraphMode.NEIGHBORHOOD)
        self._choose(operator)
        if self._session.traces:
            self._seeds = (operator,)
        self.refresh()

    @Slot()
    def show_whole(self) -> None:
        """Show all operators of the model."""
        self._set_mode(GraphMode.WHOLE)
        self.refresh()

    def _set_mode(self, mode: GraphMode) -> None:
        self._is_mode_chosen = True
        self.controls.set_mode(mode)

    @Slot()
    def _follow_controls(self) -> None:
        self._is_mode_chosen = True
        self._seeds = self._seeds or self._selected()
        self.refresh()

    @Slot()
    def _fit(self) -> None:
        (self.whole.view if self.controls.is_whole else self.view).fit_all()

    @Slot()
    def _toggle_delegate(self) -> None:
        self._seeds = self._selected()
        self.refresh()

    @Slot()
    def copy(self) -> None:
        """Copy a picture of the whole graph."""
        shown = self.whole if isinstance(self.answer, WholeAnswer) else self.view
        if self.answer is not None and not self.is_empty:
            copy_picture(self, shown.image(), "a picture of the graph")

    @Slot()
    def _ask_to_save(self) -> None:
        self.host.export(_PICTURE, self.job_of)

    def job_of(self, path: str) -> ExportJob:
        """Return a job that writes the whole graph to a path: SVG for ".svg", else PNG.

        Raises NothingToExport if no graph is shown.
        """
        answer, is_svg = self.answer, path.lower().endswith(".svg")
        if answer is None or self.is_empty:
            raise NothingToExport("No graph to save")
        if isinstance(answer, WholeAnswer):
            count, data = len(answer.layout.shown.boxes), self.whole.bytes_of(svg=is_svg)
        else:
            count, made = len(answer.nodes), self.view.picture_bytes(svg=is_svg)

            def data() -> bytes:
                return made

        def write(progress: Progress, cancelled: Cancelled) -> int:
            write_whole(path, data())
            return count

        return write
