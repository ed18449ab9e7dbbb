"""The Graph panel: the whole model, or the neighborhood of the selected operator.

The whole model is shown first, unless it is large. The panel follows the selection, but a click in
the graph only highlights the operator, so that nothing moves under the mouse. A double click or
Enter centers the graph on an operator, and Back (Alt+Left) returns.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from viewer.analysis.delegates.delegation import Instance, instances_of
from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.panels.base.panel import (
    AnswerPanel,
    ExportedFile,
    PanelHost,
    Question,
    Sentence,
    plain_column,
)
from viewer.gui.panels.base.trace_panel import no_costs
from viewer.gui.panels.graph.controls import GraphControls, GraphFoot, GraphMode
from viewer.gui.panels.graph.measures import ChangeFigures, CostFigures, call_name
from viewer.gui.panels.graph.painting import GraphPicture, picture_image, picture_svg
from viewer.gui.panels.graph.question import (
    Center,
    GraphAnswer,
    GraphQuestion,
    GraphSubject,
    around_of,
    has_edges_at_once,
    summary,
    work_out,
)
from viewer.gui.panels.graph.view import ACROSS_FROM, GraphView
from viewer.gui.qt.clipboard import copy_picture, png_bytes
from viewer.gui.session.comparison import ComparisonFeed
from viewer.gui.session.feeds.feed import CostAnswer, CostFeed
from viewer.program.program import Program
from viewer.render.graph.nested_layout import GroupSizes
from viewer.view.open_comparison import OpenComparison
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

# A model with fewer operators is shown whole at first.
WHOLE_BELOW = 300
# Width and height of nodes, head and inset of frames, and gaps, in px. Nodes of a neighborhood are
# larger, for a third line.
_WHOLE_SIZES, _NEAR_SIZES = (150, 38, 26, 12, 20, 22), (196, 52, 26, 12, 40, 24)


class GraphPanel(AnswerPanel[GraphAnswer]):
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
        self._marked: tuple[int, ...] = ()
        self._opened: frozenset[int] | None = None  # groups, None for those of the first view
        self._wanted = -1  # a node to show as soon as its groups are open
        self._is_mode_chosen = False
        self._files = object()  # another one after the open files changed
        self._program: Program | None = None
        self._calls: tuple[Instance, ...] = ()
        self._subject: GraphSubject | None = None
        self._subject_of: object = None  # the answer of a feed that it shows
        self._latest.failed.connect(self.show_sentence)
        self.view = GraphView(theme)
        self.view.chosen.connect(self._choose)
        self.view.walked.connect(self._walk)
        self.view.toggled.connect(self.toggle)
        self.view.reshaped.connect(self.refresh)
        self.controls, self.foot = GraphControls(host), GraphFoot(theme)
        self.set_page(self._page(), fading=(self.view,))
        shortcut = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.view)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self.copy)
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self._follow)
        self.refresh_on(self._comparison.changed, self._costs.changed)
        self.refresh_on(session.coloring_changed)
        self._comparison.late.connect(self.show_stale)
        theme.changed.connect(self.view.retheme)
        self._reopen()

    def _page(self) -> QWidget:
        controls, page = self.controls, QWidget()
        controls.changed.connect(self._follow_controls)
        controls.recolored.connect(self.refresh)
        controls.opened.connect(self._open_all)
        controls.delegate.toggled.connect(self._toggle_delegate)
        controls.fit.clicked.connect(self.view.fit_all)
        controls.copy.clicked.connect(self.copy)
        controls.save.clicked.connect(self._ask_to_save)
        controls.search.stepped.connect(self.show_node)
        controls.search.field.left.connect(self.view.setFocus)
        plain_column(page, controls, (self.view, 1), self.foot)
        return page

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def _reopen(self) -> None:
        """Start over, because files, links or the view of inferences changed."""
        self._subject = self._subject_of = self._current_identity = None
        self._seeds, self._picked, self._files = self._selected(), (), object()
        programs = (trace.table.program for trace in self._session.traces)
        if not any(self._program is p for p in (*self._session.workspace.programs, *programs)):
            # The panel may stay hidden for long with the last reference to a replaced ETRecord.
            self._program, self._calls = None, ()
            self._drawn = self._subject = self._subject_of = self._opened = self.answer = None
            self.view.show_picture(None)
            self.controls.search.search_in(None)
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
        if self.controls.is_whole and self.view.marked:
            self.view.reveal(min(self.view.marked))

    @Slot()
    def refresh(self) -> None:
        """Compute the graph again, unless the panel is hidden or none of its inputs changed."""
        if not self.defer(stays=True):
            super().refresh()

    def question(self) -> Question | None:
        subject = self._current_subject()
        if isinstance(subject, Sentence):
            self._why_nothing = subject
            return None
        program = subject.program
        self._set_program(program)
        if not self._is_mode_chosen:
            # Without figures, nothing can be selected yet.
            is_small = subject.figures is None or len(program.operators) < WHOLE_BELOW
            self.controls.set_mode(GraphMode.WHOLE if is_small else GraphMode.NEIGHBORHOOD)
        center = None if self.controls.is_whole else self._center(subject)
        if isinstance(center, Sentence):
            self._why_nothing = center
            return None
        present = self._present_question(subject, center)
        asked = self._current_identity
        if isinstance(asked, GraphQuestion) and asked.key == present.key:
            return Question(work_out, about=asked)
        around, size = None, len(program.operators)
        if not has_edges_at_once(program):
            size = self.SYNC_LIMIT + 1
        elif center is not None:
            around = around_of(present)
            if around is not None and present.model and present.model.has_values(present):
                size = len(around)
        return Question(work_out, (present, around), size, about=present, stays=True)

    def _present_question(self, subject: GraphSubject, center: Center | None) -> GraphQuestion:
        """Return what to show. center: None for the whole model."""
        session, program, px = self._session, subject.program, self._theme.px
        model = None if self._drawn is None else self._drawn.model
        errors = next((t.errors for t in session.traces if t.table.program is program), None)
        shape, is_near = self.view.shape, center is not None
        wide, high, head, inset, below, aside = map(px, _NEAR_SIZES if is_near else _WHOLE_SIZES)
        sizes = GroupSizes(
            wide, high, head, inset, below, aside, 0.0 if is_near else shape, is_near,
            is_near and shape >= ACROSS_FROM,
        )  # fmt: skip
        has_files, has_errors = bool(session.workspace.executables), errors is not None
        kind = self.controls.offer_kinds(
            subject.figures, has_files=has_files, has_errors=has_errors
        )
        opened = self._opened if center is None else None
        model = model if model is not None and model.program is program else None
        return GraphQuestion(
            program, subject.figures, self._calls, kind, center, opened, sizes,
            copy(session.workspace), self._files, model, errors,
        )  # fmt: skip

    def empty_state(self) -> Sentence:
        return self._why_nothing

    def show_again(self) -> None:
        """Highlight the current selection in the unchanged graph."""
        self._mark()

    def _center(self, subject: GraphSubject) -> Center | Sentence:
        """Return what to show the neighborhood of, or the sentence to show instead."""
        controls = self.controls
        if self._selected() and not self._seeds:
            self._seeds = self._selected()  # the costs of its trace arrived after the selection
        centers = self._seeds or self._picked
        seeds, what = centers, ""
        if controls.delegate.isChecked() and centers:
            members = [n for n, call in enumerate(self._calls) if centers[0] in call.operators]
            if members:
                seeds = tuple(sorted({o for n in members for o in self._calls[n].operators}))
                what = " and ".join(call_name(self._calls, number) for number in members)
        elif len(centers) > 1:
            what = self._name_of_several(centers)
        self._offer_delegate(centers)
        if seeds:
            return Center(seeds, what, controls.hops.value(), controls.direction.currentData())
        unlinked = NOT_IN_A if isinstance(subject.figures, ChangeFigures) else UNLINKED
        why = UNSELECTED if self._session.state.slice is None else unlinked
        return Sentence(why, "Show the whole model", self.show_whole)

    def stop(self) -> str:
        """Cancel the pending question, if there is one. The drawing stays."""
        if not self.is_pending:
            return ""
        self._latest.cancel()
        self.set_stale(False)
        return "Graph not updated"

    def _current_subject(self) -> GraphSubject | Sentence:
        """Return what the graph is about now, or the sentence to show instead."""
        comparison, costs = self._comparison.in_tables, self._costs.answer
        if comparison is not None and comparison.program(0) is None:
            comparison = None  # the graph is that of A: without it, it shows the costs of a profile
        feed = comparison or costs
        if self._subject is None or self._subject_of is not feed:
            subject = self._make_subject(comparison, costs)
            if isinstance(subject, Sentence):
                return subject
            self._subject, self._subject_of = subject, feed
        return self._subject

    def _make_subject(
        self, comparison: OpenComparison | None, costs: CostAnswer | None
    ) -> GraphSubject | Sentence:
        program = None if comparison is None else comparison.program(0)
        if comparison is not None and program is not None:
            return GraphSubject(program, ChangeFigures(comparison))
        if costs is None:
            programs = [p for p in self._session.workspace.programs if p.methods]
            if self._session.traces or not programs:
                return Sentence(NOTHING, "Open files…", self.host.open_files)
            return GraphSubject(programs[0])
        program = costs.open_trace.table.program
        if program is None or not program.operators:
            return no_costs(self.host, costs)
        return GraphSubject(program, CostFigures(costs, len(program.operators)))

    def _set_program(self, program: Program) -> None:
        if program is not self._program:
            # The selection may belong to the previous program: costs are updated first.
            self._program, self._seeds, self._picked = program, self._selected(), ()
            self._calls = tuple(call for call in instances_of(program) if call.operators)
            self._opened, self._wanted = None, -1

    def _name_of_several(self, operators: tuple[int, ...]) -> str:
        for number, call in enumerate(self._calls):
            if set(call.operators) == set(operators):
                return call_name(self._calls, number)
        return f"{len(operators)} selected operators"

    def _offer_delegate(self, around: tuple[int, ...]) -> None:
        """Enable "Delegate" if the operator is in a delegate call; otherwise explain why not."""
        button = self.controls.delegate
        if around and any(around[0] in call.operators for call in self._calls):
            why, is_delegated = "Show all operators in the delegate call of this operator", True
        else:
            nothing = "This operator is not delegated" if around else "No operator is selected"
            why, is_delegated = nothing if self._calls else "The ETRecord has no delegates", False
        button.setEnabled(is_delegated or button.isChecked())
        button.setToolTip(why)
        button.setAccessibleDescription(why)

    # -- contents --------------------------------------------------------------------------------

    def show_answer(self, answer: GraphAnswer) -> None:
        """Draw the graph; it stays in place if only its figures or its open groups changed."""
        subject, before = self._current_subject(), self._drawn
        self.controls.subtitle.setText("" if isinstance(subject, Sentence) else subject.title)
        stays = before is not None and not self.is_empty and answer.is_placed_as(before)
        self._drawn = answer
        if answer.around is None:
            self._opened = answer.opened
        self.view.show_picture(GraphPicture(answer), fits=not stays)
        self.controls.search.search_in(answer)
        self.foot.show_answer(answer)
        self._mark()
        if self._wanted >= 0:
            wanted, self._wanted = self._wanted, -1
            self.view.reveal(wanted, readable=True)
        self.show_page()

    def _mark(self) -> None:
        operators = self._selected() or self._picked
        picture, answer = self.view.picture, self.answer
        if picture is None or answer is None:
            return
        leaf = answer.model.tree.leaf
        leaves = [int(leaf[operator]) for operator in operators if 0 <= operator < len(leaf)]
        nodes = frozenset(picture.visible_of(node) for node in leaves if node >= 0) - {-1}
        self.view.mark(nodes, moves=operators != self._marked)
        self._marked = operators
        text = summary(answer, operators)
        self.view.setAccessibleDescription(text)
        self.foot.summary.setText(text)

    # -- opening and closing ---------------------------------------------------------------------

    @Slot(int)
    def toggle(self, node: int) -> None:
        answer = self.answer
        if answer is None:
            return
        opened = answer.opened
        if answer.layout.shown.is_frame[node]:
            self._opened = opened.difference(range(node, int(answer.model.tree.end[node])))
        else:
            self._opened = opened | {node}
        self.refresh()

    @Slot(bool)
    def _open_all(self, everything: bool) -> None:
        """Open all groups, or only those of the first view, and fit them."""
        if self.answer is None:
            return
        model = self.answer.model
        if everything:
            self._opened = frozenset(np.flatnonzero(model.tree.is_group).tolist())
        else:
            self._opened = model.opened
            self.view.fit_all()
        self.refresh()

    @Slot(int)
    def show_node(self, node: int) -> None:
        """Select a node, open what hides it, and center it or the neighborhood on it."""
        self._choose(node)
        answer = self.answer
        if answer is None:
            return
        tree = answer.model.tree
        groups = frozenset(tree.around(node))
        is_near = answer.around is not None
        if answer.layout.shown.box[node] >= 0 if is_near else groups <= answer.opened:
            self.view.reveal(node, readable=True)
            return
        if is_near:
            self._seeds = tuple(tree.inside(node).tolist())
        else:
            self._wanted, self._opened = node, answer.opened | groups
        self.refresh()

    # -- actions ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, node: int) -> None:
        """Select the operators of a node without redrawing the graph."""
        if self.answer is not None:
            self._choose_operators(tuple(self.answer.model.tree.inside(node).tolist()))

    def _choose_operators(self, operators: tuple[int, ...]) -> None:
        subject = self._current_subject()
        if isinstance(subject, Sentence):
            return
        with self.choosing():
            self._picked = () if subject.select(self._session, operators) else operators
        self._mark()

    @Slot(int)
    def _walk(self, operator: int) -> None:
        """Center the graph on one of its operators."""
        with QSignalBlocker(self.controls.delegate):
            self.controls.delegate.setChecked(False)
        self._is_mode_chosen = True
        self.controls.set_mode(GraphMode.NEIGHBORHOOD)
        self._choose_operators((operator,))
        if self._session.traces:
            self._seeds = (operator,)
        self.refresh()

    @Slot()
    def show_whole(self) -> None:
        self._is_mode_chosen = True
        self.controls.set_mode(GraphMode.WHOLE)
        self.refresh()

    @Slot()
    def _follow_controls(self) -> None:
        self._is_mode_chosen = True
        self._seeds = self._seeds or self._selected()
        self.refresh()

    @Slot()
    def _toggle_delegate(self) -> None:
        self._seeds = self._selected()
        self.refresh()

    @Slot()
    def copy(self) -> None:
        picture = self.view.picture
        if picture is not None and not self.is_empty:
            image = picture_image(picture, self.view.marked, self._theme)
            copy_picture(self, image, "a picture of the graph")

    @Slot()
    def _ask_to_save(self) -> None:
        self.host.export(_PICTURE, self.job_of)

    def job_of(self, path: str) -> ExportJob:
        """Return a job that writes the whole graph to a path: SVG for ".svg", else PNG.

        Raises NothingToExport if no graph is shown.
        """
        picture, marked, theme = self.view.picture, self.view.marked, self._theme
        if picture is None or self.answer is None or self.is_empty:
            raise NothingToExport("No graph to save")
        is_svg, count = path.lower().endswith(".svg"), len(picture.boxes)
        title, description = self.view.accessibleName(), self.view.accessibleDescription()

        def write(progress: Progress, cancelled: Cancelled) -> int:
            # Not on the GUI thread: it takes a second for 5,000 operators.
            if is_svg:
                write_whole(path, picture_svg(picture, marked, theme, title, description))
            else:
                write_whole(path, png_bytes(picture_image(picture, marked, theme)))
            return count

        return write
