"""The Calls panel: the call tree of the current trace as a flame graph above a table.

It follows the selected range, the current inference or the whole trace, like Statistics. A click on
a call selects its slices on the timeline, and a slice that is selected there is highlighted in both
views. A call can be zoomed to, shown alone, or turned into the tree of its callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QMenu, QSplitter, QToolButton, QWidget

from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.panels.base.answer_panel import AnswerPanel, Question
from viewer.gui.panels.base.page_panel import Sentence, head_row, plain_column, subtitle_label
from viewer.gui.panels.base.slice_facts import longest_slice
from viewer.gui.panels.base.trace_panel import TraceScope, current_scope
from viewer.gui.panels.calls.answer import (
    CallMode,
    CallsAnswer,
    CallsQuestion,
    CallTrees,
    Matches,
    matches_of,
    work_out,
)
from viewer.gui.panels.calls.flame_view import FlameView
from viewer.gui.panels.calls.mode_bar import ModeBar
from viewer.gui.panels.calls.texts import CallTexts
from viewer.gui.panels.calls.tree_model import CallModel
from viewer.gui.panels.calls.tree_view import CallView
from viewer.gui.qt.background import Latest
from viewer.gui.qt.clipboard import copy_text
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, offer_markdown
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.render.flame_graph.svg import write_svg
from viewer.view.open_trace import AT_ONCE
from viewer.view.slice_colors import ramp_of
from viewer.view.state import SliceRef, SliceSet
from viewer.workspace.exports import ExportJob, NothingToExport

NOTHING = "Open a profile to see its calls as a tree."
NOTHING_RAN = "Nothing ran in this range."
_SEARCHED_AT_ONCE = 10_000  # nodes; searching so many takes 10 ms
_FIELD_WIDTH = 190  # px
_MOST_FLAME = 0.45  # of the height of the page


@dataclass(frozen=True, slots=True)
class Picked:
    """The slices that were selected here, and their node: its number, or -1, and its names."""

    slices: SliceSet
    number: int
    path: Sequence[str]

    def node_in(self, answer: CallsAnswer) -> int:
        """Return the node in an answer, which may be another one for the same tree; -1 for none."""
        if self.number >= 0:
            return answer.node_numbered(self.number)
        found = answer.table.find(self.path)
        return -1 if found is None else found


class CallsPanel(AnswerPanel[CallsAnswer]):
    """The kind of tree and a search above a flame graph and a table, with a line below.

    `save_requested(job_of)`: save the flame graph; `job_of(path)` creates the export job.
    """

    save_requested = Signal(object)  # Callable[[str], ExportJob]

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(session, theme, parent)
        self._trees: CallTrees | None = None
        self._of: TraceScope | None = None
        self._mode = CallMode.TOP_DOWN
        self._is_mode_chosen = False  # whether the user chose it
        self._focus: tuple[str, ...] = ()
        self._picked: Picked | None = None
        self._choosing = False
        self._searching = Latest(self)
        self._searching.answered.connect(self._show_matches)
        self._is_split = False  # whether the user or an answer has divided the height
        self.model = CallModel()
        self.table = CallView(self.model, theme)
        self.flame = FlameView(theme)
        self.set_page(self._make_page(), fading=(self.flame, self.table))
        self.model.setParent(self)
        self.modes.picked.connect(self._pick)
        self.filter.textChanged.connect(self._search)
        for view in (self.flame, self.table):
            view.chosen.connect(self._choose)
            view.menu_of.connect(self._fill_menu)
        self.flame.menu_of.connect(self._offer_row)
        self.table.entered_row.connect(self.flame.zoom_to)
        self.flame.left.connect(self.show_all_calls)
        self.flame.takes_escape = lambda: bool(self._focus)
        self.flame.range_changed.connect(self._show_ways_back)
        self.refresh_on(session.workspace_changed, session.coloring_changed)
        for signal in (session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        theme.changed.connect(self._retheme)
        self.refresh()

    def _make_page(self) -> QWidget:
        theme = self._theme
        self.modes = ModeBar(theme)
        self.filter = FilterLine("Find a call", "Find a call", self.table, theme)
        self.filter.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.zoom_button = self._way_back(
            "Fit", "Reset zoom", "Show the whole flame graph (Escape)"
        )
        self.zoom_button.clicked.connect(self.flame.show_all)
        about = "Show the calls around this one too (Escape)"
        self.focus_button = self._way_back("All calls", "Show all calls", about)
        self.focus_button.clicked.connect(self.show_all_calls)
        self.subtitle = subtitle_label(theme)
        head = head_row(theme, 8)
        for widget in (self.modes, self.filter, self.zoom_button, self.focus_button):
            head.addWidget(widget)
        head.addWidget(self.subtitle, 1)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)  # Qt makes it easier to grab than it looks
        rows = QWidget()
        over_table = NoRows(self.table, self.filter, theme).over_table()
        over_table.setContentsMargins(0, 0, 0, 0)
        rows.setLayout(over_table)
        flame = QWidget()
        flame_column = plain_column(flame)
        flame_column.setContentsMargins(theme.px(12), 0, theme.px(12), 0)
        flame_column.addWidget(self.flame)
        self.splitter.addWidget(flame)
        self.splitter.addWidget(rows)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.splitterMoved.connect(self._keep_split)
        self.footer = ElidedLabel("", theme, "caption", "text2")
        self.footer.setContentsMargins(theme.px(12), theme.px(5), theme.px(12), theme.px(7))
        page = QWidget()
        column = plain_column(page)
        column.addLayout(head)
        column.addWidget(self.splitter, 1)
        column.addWidget(self.footer)
        return page

    def _way_back(self, text: str, name: str, tooltip: str) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setAccessibleName(name)
        button.setToolTip(tooltip)
        button.hide()
        return button

    @property
    def mode(self) -> CallMode:
        """The kind of tree that is shown."""
        return self._mode

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def _follow(self) -> None:
        """Compute again if the trace or scope changed; otherwise only highlight the selection."""
        if current_scope(self._session, ranges=True, by_inference=True) != self._of:
            self.refresh()
        else:
            self._mark()

    @Slot()
    def refresh(self) -> None:
        """Compute the tree of the current trace in its current scope, once the panel is visible."""
        self._of = None
        shown, _ = current_scope(self._session, ranges=True, by_inference=True)
        stays = self.answer is not None and self.answer.shown is shown
        if not self.defer(stays=stays):
            super().refresh()

    def question(self) -> Question | None:
        """Return the question for the nodes of the current trace."""
        # As it ran: views of aligned or averaged inferences contain only the tracks with
        # inferences.
        shown, scope = current_scope(self._session, ranges=True, by_inference=True)
        if shown is None or not len(shown.trace.slices):
            return None
        if self._trees is None or self._trees.shown is not shown:
            self._trees, self._focus = CallTrees(shown), ()
            self._offer(self._trees)
        self._of = shown, scope
        lengths = ramp_of(self._session.traces)
        scheme, mode = self._session.state.scheme, self._mode
        question = CallsQuestion(self._trees, scope, mode, self._focus, scheme, lengths)
        size = len(shown.trace.slices)
        if mode.is_inverted:
            size *= int(shown.trace.slices.row_depth.max()) + 1  # each call has so many callers
        return Question(work_out, (question,), size, stays=True)

    def _offer(self, trees: CallTrees) -> None:
        """Show the kinds of trees that a trace has; stay with the current one if possible."""
        modes = [mode for mode in CallMode if not trees.missing(mode)]
        if not self._is_mode_chosen or self._mode not in modes:
            self._mode = trees.first_mode
        self.modes.offer(modes, self._mode)

    def empty_state(self) -> Sentence:
        """Return the sentence shown without a profile."""
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        """Release the trace: this panel may have the last reference to it."""
        self._searching.cancel()
        self._trees, self._picked, self._focus = None, None, ()
        self.table.show_texts(None)
        self.flame.show_texts(None)

    # -- contents --------------------------------------------------------------------------------

    def show_answer(self, answer: CallsAnswer) -> None:
        """Show the nodes; what was open and zoomed to stays if it is in the same tree."""
        before = self.model.texts.answer if self.model.texts is not None else None
        if not len(answer.table):
            trees = self._trees
            self.show_sentence(NOTHING_RAN)
            self._trees = trees  # its paths serve the next range
            return
        opened, zoomed = self._kept(before, answer)
        self._focus = answer.focus
        texts = CallTexts(answer)
        self.modes.buttons[answer.question.mode].setChecked(True)
        self.flame.show_texts(texts, zoomed)
        self.table.show_texts(texts)
        if opened is None:
            self.table.open_first()
            self.table.scrollToTop()
        else:
            self.table.open_rows(opened)
        self._say_found("")
        self.footer.setText(texts.footer())
        self.show_page()
        self._split()
        self._search(self.filter.text())
        self._show_ways_back()
        self._mark()

    def _kept(
        self, before: CallsAnswer | None, answer: CallsAnswer
    ) -> tuple[list[int] | None, int]:
        """Return the nodes that were open, None for another tree, and the one zoomed to."""
        is_same = (
            before is not None
            and before.tree is answer.tree
            and before.focus == answer.focus
            and not (before.question.mode.is_inverted or answer.question.mode.is_inverted)
        )
        if before is None or not is_same:
            return None, -1
        numbers = before.table.number
        opened = sorted(self.table.open_nodes & frozenset(range(len(numbers))))
        found = (answer.node_numbered(int(numbers[node])) for node in opened)
        zoomed = self.flame.zoomed
        again = answer.node_numbered(int(numbers[zoomed])) if zoomed >= 0 else -1
        return [node for node in found if node >= 0], again

    def _split(self) -> None:
        """Give the flame graph the height of its rows, unless the user has divided it."""
        if self._is_split:
            return
        height = self.splitter.height()
        flame = min(self.flame.content_height, round(height * _MOST_FLAME))
        self.splitter.setSizes([flame, height - flame])

    @Slot()
    def _keep_split(self) -> None:
        self._is_split = True

    @Slot(str)
    def _search(self, text: str) -> None:
        """Paint what does not match faint, and list only matches and what is around them."""
        texts, words = self.model.texts, text.strip()
        if texts is None:
            return
        if not words:
            self._searching.cancel()
            self._say_found("")
            self.flame.show_hits(None)
            if self.model.is_searched:
                self.table.show_texts(texts)
                self.table.open_first()
                self._mark()
            return
        at_once = len(texts.answer.table) <= _SEARCHED_AT_ONCE
        self._searching.ask(at_once, matches_of, texts.answer, words)

    @Slot(object)
    def _show_matches(self, matches: Matches) -> None:
        texts = self.model.texts
        if texts is None or texts.answer is not matches.answer:
            return
        self._say_found(texts.found(matches))
        self.flame.show_hits(matches.boxes)
        self.table.show_matches(texts, matches)

    def _say_found(self, text: str) -> None:
        """Show above the graph what a search found, or else the scope."""
        texts = self.model.texts
        scope = texts.subtitle(several=len(self._session.traces) > 1) if texts is not None else ""
        self.subtitle.setText(text or scope)
        self.subtitle.hint = f"{text}\n{scope}" if text else ""

    @Slot()
    def _show_ways_back(self) -> None:
        """Show the buttons that leave a zoom and a focus."""
        self.zoom_button.setVisible(not self.flame.shows_all)
        self.focus_button.setVisible(bool(self._focus))

    @Slot()
    def _retheme(self) -> None:
        self.flame.retheme()
        self.table.viewport().update()

    # -- selection -------------------------------------------------------------------------------

    @Slot()
    def _mark(self) -> None:
        """Highlight the node of the selected slice, or the one that was chosen here."""
        answer = self.answer
        if answer is None or self._choosing or self.is_empty or self.model.texts is None:
            return
        state = self._session.state
        ref, node = state.slice, -1
        is_as_run = state.inferences is Inferences.AS_RUN
        if ref is not None and is_as_run and self._session.as_run(ref.trace) is answer.shown:
            if self._picked is not None and self._picked.slices == state.slices:
                node = self._picked.node_in(answer)
            elif not len(state.others):
                node = answer.node_of(ref.index)
        self.flame.mark(node)
        self.table.mark(node)

    @Slot(int)
    def _choose(self, node: int) -> None:
        """Select the slices of a node in the scope, or those that reach into it."""
        answer = self.answer
        if answer is None:
            return
        self._choosing = True
        try:
            self._select(answer, node)
        finally:
            self._choosing = False
        if self.answer is answer:
            self.flame.mark(node)
            self.table.mark(node)
        else:
            self._mark()  # the slices are in another scope

    def _select(self, answer: CallsAnswer, node: int) -> None:
        session, shown = self._session, answer.shown
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(shown)
        if number is None:
            return
        numbers, scope = answer.numbers(node), answer.question.scope
        indices = answer.tree.slices_of(numbers, scope)
        if not len(indices):
            indices = answer.tree.slices_of(numbers)
            first, last, _ = scope.span
            if first is not None and last is not None:
                slices = shown.trace.slices
                reaches = (slices.end[indices] >= first) & (slices.start[indices] <= last)
                indices = indices[reaches]
        if not len(indices):
            return  # a process or a thread
        chosen = SliceSet({number: indices})
        self._picked = Picked(chosen, int(answer.table.number[node]), answer.table.path(node))
        longest = SliceRef(number, longest_slice(shown, indices))
        session.select_slices(chosen, longest, reveal=True, keep_area=True)

    # -- kinds of trees --------------------------------------------------------------------------

    @Slot(object)
    def _pick(self, mode: CallMode) -> None:
        self._show(mode, ())

    def _show(self, mode: CallMode, focus: tuple[str, ...]) -> None:
        self._mode, self._focus, self._picked = mode, focus, None
        self._is_mode_chosen = True
        self.modes.buttons[mode].setChecked(True)
        self.refresh()

    @Slot()
    def show_all_calls(self) -> None:
        """Show all calls again, not only those below one."""
        self._show(self._mode, ())

    def focus_on(self, node: int) -> None:
        """Show one node and what is below it alone."""
        if self.answer is not None:
            self._show(self._mode, (*self._focus[:-1], *self.answer.table.path(node)))

    def show_callers(self, node: int) -> None:
        """Show the callers of the name of a node, bottom-up."""
        if self.answer is not None:
            self.filter.clear()
            self._show(CallMode.BOTTOM_UP, (self.answer.table.text(node),))

    @Slot(QMenu, int)
    def _fill_menu(self, menu: QMenu, node: int) -> None:
        """Add what can be done with a node to its context menu."""
        texts, answer = self.model.texts, self.answer
        if texts is None or answer is None:
            return
        name = answer.table.text(node)
        menu.addAction("Copy name", lambda: copy_text(self, name, "the name of the call"))
        menu.addAction("Copy path", lambda: self._copy_path(node))
        menu.addSeparator()
        menu.addAction("Zoom to this call", lambda: self.flame.zoom_to(node))
        focus = menu.addAction("Focus on this call", lambda: self.focus_on(node))
        focus.setEnabled(int(answer.table.size[node]) < len(answer.table))
        callers = menu.addAction("Show callers", lambda: self.show_callers(node))
        callers.setEnabled(bool(answer.is_call[node]) and answer.question.mode.key == "name")
        if self._focus:
            menu.addAction("Show all calls", self.show_all_calls)
        menu.addSeparator()
        menu.addAction("Save flame graph…", lambda: self.save_requested.emit(self.job_of))

    @Slot(QMenu, int)
    def _offer_row(self, menu: QMenu, node: int) -> None:
        """Add copying the row of a box to its context menu; the table has that for its rows."""
        menu.addSeparator()
        title = "Copy row as TSV"
        menu.addAction(title, lambda: self.table.copy_nodes([node]))
        offer_markdown(menu, title, lambda form: self.table.copy_nodes([node], form))

    def job_of(self, path: str) -> ExportJob:
        """Return a job that writes the flame graph to a path, as SVG.

        Raises NothingToExport if no calls are shown.
        """
        answer, texts = self.answer, self.model.texts
        if answer is None or texts is None or self.is_empty:
            raise NothingToExport("No calls to save")
        scope = texts.subtitle(several=False)

        def write(progress: Progress, cancelled: Cancelled) -> int:
            write_svg(path, [answer.picture(scope)])
            return len(answer.table)

        return write

    def _copy_path(self, node: int) -> None:
        if self.answer is not None:
            path = [*self._focus[:-1], *self.answer.table.path(node)]
            copy_text(self, " > ".join(path), "the path of the call")
