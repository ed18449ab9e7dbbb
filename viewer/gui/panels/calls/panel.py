"""The Calls panel: the call tree of the current trace as a flame graph above a table.

It follows the selected range, the current inference or the whole trace. A call can be zoomed to,
shown alone, or turned into the tree of its callers. While two arms are compared, it shows the call
paths of both with their changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSplitter, QWidget

from viewer.codecs.reading import Cancelled, Progress
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import TreeCells
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.panel import (
    AnswerPanel,
    ExportedFile,
    PanelHost,
    Question,
    Sentence,
    head_row,
    plain_column,
)
from viewer.gui.panels.calls.answer import (
    CallMode,
    CallsAnswer,
    CallsQuestion,
    CallTrees,
    matches_of,
    work_out,
)
from viewer.gui.panels.calls.change_legend import ChangeLegend
from viewer.gui.panels.calls.flame_view import FlameView
from viewer.gui.panels.calls.shown_calls import Matches, ShownCalls
from viewer.gui.panels.calls.texts import CallTexts, ChangeTexts, NodeTexts
from viewer.gui.qt.background import Latest
from viewer.gui.qt.clipboard import copy_text
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import SegmentBar, tool_button
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import FilterLine, NoRows, offer_markdown
from viewer.gui.qt.widgets.trees import TreeModel, TreeView
from viewer.gui.session.comparison import ComparisonFeed, path_of_selection, select_path
from viewer.gui.session.navigation import TraceScope, current_scope
from viewer.gui.session.selection import longest_slice
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.text import bytes_text
from viewer.model.times import counted
from viewer.model.timing import is_mostly_sampled
from viewer.model.trace import Slices
from viewer.view.open_trace import AT_ONCE, ramp_of
from viewer.view.state import SliceRef, SliceSet

if TYPE_CHECKING:
    from viewer.gui.panels.calls.changes import ChangesAnswer
    from viewer.view.open_comparison import OpenComparison
    from viewer.workspace.exports import ExportJob


NOTHING = "Open a profile to see its calls as a tree."
NOTHING_RAN = "Nothing ran in this range."
SHOW_CALLS = "Show calls"
MOST_UNASKED = 1 << 22  # slices; the calls of 10 million take 7 s and 1 GB
NOTHING_COMPARED = "No call of the compared inferences can be shown."
_BYTES_OF_CALL = 100  # of a slice whose path no other has
_SEARCHED_AT_ONCE = 10_000  # nodes; searching so many takes 10 ms
MOST_OPENED = 1000  # rows that one command or search opens: opening so many takes 20 ms
_FIELD_WIDTH = 190  # px
_LEAST_NAME = 220  # px; the minimum width of the names
_INDENT = 12  # px per level; call trees are deep
_MOST_FLAME = 0.45  # of the height of the page
_MOST_OPENED = 12  # rows with the largest changes that are in view at first
_FLAME_GRAPH = ExportedFile("Save flame graph", ".calls.svg", "Image, SVG (*.svg)", "calls")

MODE_TITLES = {
    CallMode.TOP_DOWN: "Top-down",
    CallMode.BOTTOM_UP: "Bottom-up",
    CallMode.MODULE: "By module",
    CallMode.OPERATOR: "By operator",
}
_MODE_TIPS = {
    CallMode.TOP_DOWN: "Calls from the outermost to the innermost",
    CallMode.BOTTOM_UP: "Names by self time, and below each name its callers",
    CallMode.MODULE: "Calls of modules; what belongs to none has its name",
    CallMode.OPERATOR: "Calls of operators; what belongs to none has its name",
}


@dataclass(frozen=True, slots=True)
class Picked:
    """The slices that were selected here, and their node: its number, or -1, and its names."""

    slices: SliceSet
    number: int
    path: Sequence[str]

    def node_in(self, answer: ShownCalls) -> int:
        """Return the node in an answer, which may be another one for the same tree; -1 for none."""
        if self.number >= 0:
            return answer.node_numbered(self.number)
        node = answer.table.find(self.path)
        return -1 if node is None else node


def select_calls(session: Session, answer: CallsAnswer, node: int) -> Picked | None:
    """Select the slices of a node in the scope, or those that reach into it; None without any."""
    open_trace = answer.shown
    session.show_inferences(Inferences.AS_RUN)
    number = session.number_of(open_trace)
    if number is None:
        return None
    numbers, scope = answer.numbers(node), answer.question.scope
    indices = answer.tree.slices_of(numbers, scope)
    if not len(indices):
        indices = answer.tree.slices_of(numbers)
        first, last, _ = scope.span
        if first is not None and last is not None:
            slices = open_trace.trace.slices
            reaches = (slices.end[indices] >= first) & (slices.start[indices] <= last)
            indices = indices[reaches]
    if not len(indices):
        return None
    chosen = SliceSet({number: indices})
    longest = SliceRef(number, longest_slice(open_trace, indices))
    session.select_slices(chosen, longest, reveal=True, keep_area=True)
    return Picked(chosen, int(answer.table.number[node]), answer.table.path(node))


def select_changes(session: Session, answer: ChangesAnswer, node: int) -> Picked | None:
    """Select the slices of a call path in both arms; returns what was selected, if anything."""
    path = int(answer.table.number[node])
    if path < 0:
        return None
    question = answer.question
    if not select_path(session, question.found, path, question.by):
        return None
    return Picked(session.state.slices, path, answer.table.path(node))


def node_of_selection(session: Session, answer: ShownCalls, picked: Picked | None) -> int:
    """Return the node of the selected slice, or the one that was chosen here; -1 for none."""
    from viewer.gui.panels.calls.changes import ChangesAnswer

    state = session.state
    ref = state.slice
    if ref is None or state.inferences is not Inferences.AS_RUN:
        return -1
    if isinstance(answer, CallsAnswer) and session.as_run(ref.trace) is not answer.shown:
        return -1
    if picked is not None and picked.slices == state.slices:
        return picked.node_in(answer)
    if len(state.others):
        return -1
    if isinstance(answer, CallsAnswer):
        return answer.node_of(ref.index)

    if isinstance(answer, ChangesAnswer):
        open_comparison = answer.question.found
        return answer.node_numbered(path_of_selection(session, open_comparison, answer.question.by))
    return -1


def call_table(model: TreeModel[NodeTexts], theme: Theme) -> TreeView[NodeTexts]:
    """Return the table of calls."""
    table = TreeView(model, "Calls", theme, _INDENT, _LEAST_NAME)
    table.setItemDelegate(TreeCells(model, theme))
    table.setExpandsOnDoubleClick(False)
    table.most_opened = MOST_OPENED
    return table


def show_matches(table: TreeView[NodeTexts], texts: NodeTexts, matches: Matches) -> None:
    """Show only what a search found and what is around it, opened up to a limit."""
    around = np.flatnonzero(matches.around & ~matches.found)
    table.show_rows(texts.searched(matches), around[:MOST_OPENED].tolist())


class ModeBar(SegmentBar[CallMode]):
    """The buttons of all kinds, of which some are offered."""

    def __init__(self) -> None:
        super().__init__("Kind of call tree", _MODE_TIPS, MODE_TITLES)

    def offer(
        self,
        modes: Collection[CallMode],
        mode: CallMode,
        disabled: Mapping[CallMode, str] = MappingProxyType({}),
    ) -> None:
        """Show the buttons of some kinds, one pressed; more are disabled, each with its reason."""
        for call_mode, button in self.buttons.items():
            button.setVisible(call_mode in modes or call_mode in disabled)
            button.setEnabled(call_mode not in disabled)
            button.setToolTip(disabled.get(call_mode, _MODE_TIPS[call_mode]))
        self.buttons[mode].setChecked(True)


class CallsPanel(AnswerPanel["CallsAnswer | ChangesAnswer"]):
    """The kind of tree and a search above a flame graph and a table, with a line below."""

    TAKES_LONG = True
    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        super().__init__(host)
        self._trees: CallTrees | None = None
        self._of: TraceScope | None = None
        self._mode = CallMode.TOP_DOWN
        self._is_mode_chosen = False  # whether the user chose it
        self._compared: OpenComparison | None = None  # whose kinds of trees are offered
        self._changes_by: CallMode | None = None  # the kind that the user chose for changes
        self._focus: tuple[str, ...] = ()
        self._picked: Picked | None = None
        self._asked: weakref.ref[Slices] | None = None  # the many slices whose calls the user wants
        self._searching = Latest(self, self._show_matches)
        self._is_split = False  # whether the user or an answer has divided the height
        self.model = TreeModel[NodeTexts]()
        self.table = call_table(self.model, theme)
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
        self.refresh_on(
            session.workspace_changed, session.coloring_changed, self._comparison.changed
        )
        self._comparison.late.connect(self.show_stale)
        for signal in (session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        theme.changed.connect(self._retheme)
        session.files_added.connect(self._show_samples)
        self.refresh()

    @Slot()
    def _show_samples(self) -> None:
        """Bring this to the front for files that are mostly samples of stacks."""
        traces = [open_trace.trace for open_trace in self._session.traces]
        if traces and all(is_mostly_sampled(trace.slices) for trace in traces):
            self.host.show_panel("calls")

    def _make_page(self) -> QWidget:
        theme = self._theme
        self.modes = ModeBar()
        self.filter = FilterLine("Find a call", "Find a call", self.table, theme)
        self.filter.setMaximumWidth(theme.px(_FIELD_WIDTH))
        self.zoom_button = tool_button("Fit", "Show the whole flame graph (Escape)", "Reset zoom")
        self.zoom_button.clicked.connect(self.flame.show_all)
        about = "Show the calls around this one too (Escape)"
        self.focus_button = tool_button("All calls", about, "Show all calls")
        for button in (self.zoom_button, self.focus_button):
            button.hide()
        self.focus_button.clicked.connect(self.show_all_calls)
        self.subtitle = FileCaption(self.host)
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
        self.legend = ChangeLegend(theme)
        below = QHBoxLayout()
        below.setContentsMargins(0, 0, theme.px(12), 0)
        below.addWidget(self.footer, 1)
        below.addWidget(self.legend)
        page = QWidget()
        plain_column(page, head, (self.splitter, 1), below)
        return page

    @property
    def mode(self) -> CallMode:
        """The kind of tree that is shown."""
        if self.answer is not None and not isinstance(self.answer, CallsAnswer):
            return self.answer.question.mode
        return self._mode

    # -- question --------------------------------------------------------------------------------

    @Slot()
    def _follow(self) -> None:
        """Compute again if the trace or scope changed; otherwise only highlight the selection."""
        if self._comparison.in_tables is not None:
            self._mark()
        elif current_scope(self._session, ranges=True, by_inference=True) != self._of:
            self.refresh()
        else:
            self._mark()

    @Slot()
    def refresh(self) -> None:
        """Compute the tree of the current trace in its current scope, once the panel is visible."""
        self._of = None
        open_trace, _ = current_scope(self._session, ranges=True, by_inference=True)
        if isinstance(self.answer, CallsAnswer):
            stays = self._comparison.in_tables is None and self.answer.shown is open_trace
        else:
            stays = self.answer is not None and self._comparison.in_tables is not None
        if open_trace is not None and self._comparison.in_tables is None:
            slices = open_trace.trace.slices
            if len(slices) > MOST_UNASKED and (self._asked is None or self._asked() is not slices):
                self._offer_many(slices)
                return
        if not self.defer(stays=stays):
            super().refresh()

    def _offer_many(self, slices: Slices) -> None:
        """Show what the calls of many slices take, with a button that shows them."""

        def show() -> None:
            self._asked = weakref.ref(slices)
            self.refresh()

        self.drop_answer()
        memory = bytes_text(len(slices) * _BYTES_OF_CALL)
        taken = f"some seconds and up to {memory} of memory"
        sentence = f"The calls of {counted(len(slices), 'slice')} take {taken}."
        self.show_sentence(sentence, SHOW_CALLS, show)

    def question(self) -> Question | None:
        if (open_comparison := self._comparison.in_tables) is not None:
            return self._question_for_changes(open_comparison)
        if self._problem:
            return None
        if self._compared is not None:
            self._compared, self._trees, self._focus = None, None, ()
        # As it ran: views of aligned or averaged inferences contain only the tracks with
        # inferences.
        open_trace, scope = current_scope(self._session, ranges=True, by_inference=True)
        if open_trace is None or not len(open_trace.trace.slices):
            return None
        if self._trees is None or self._trees.shown is not open_trace:
            self._trees, self._focus = CallTrees(open_trace), ()
            self._offer(self._trees)
        self._of = open_trace, scope
        scheme, mode = self._session.state.scheme, self._mode
        lengths = ramp_of(self._session.traces, scheme)
        question = CallsQuestion(self._trees, scope, mode, self._focus, scheme, lengths)
        size = len(open_trace.trace.slices)
        if mode.is_inverted:
            size *= (
                int(open_trace.trace.slices.row_depth.max()) + 1
            )  # each call has so many callers
        return Question(work_out, (question,), size, stays=True)

    def _question_for_changes(self, open_comparison: OpenComparison) -> Question:
        from viewer.gui.panels.calls.changes import (
            NOT_INVERTED,
            ChangesQuestion,
            modes_of,
            work_out_changes,
        )

        modes = modes_of(open_comparison)
        if self._compared is not open_comparison:
            if self._compared is None:
                self._focus = ()
            self._compared, self._trees = open_comparison, None
        if self._changes_by not in modes:
            self._changes_by = None
        mode = self._changes_by or modes[0]
        call_modes = [call_mode for call_mode in CallMode if call_mode in modes]
        self.modes.offer(call_modes, mode, {CallMode.BOTTOM_UP: NOT_INVERTED})
        question = ChangesQuestion(open_comparison, mode, self._focus)
        # Joining the trees of both arms takes twice as long as one tree of all their slices.
        return Question(work_out_changes, (question,), 2 * open_comparison.size, stays=True)

    @property
    def _problem(self) -> str:
        """Why the chosen arms cannot be compared, "" if they can or none are chosen."""
        chosen, open_comparison = self._session.state.compared, self._comparison.answer
        return (
            open_comparison.problem
            if chosen is not None and chosen.in_tables and open_comparison
            else ""
        )

    def _offer(self, trees: CallTrees) -> None:
        """Show the kinds of trees that a trace has; stay with the current one if possible."""
        modes = [mode for mode in CallMode if not trees.missing(mode)]
        if not self._is_mode_chosen or self._mode not in modes:
            self._mode = trees.first_mode
        self.modes.offer(modes, self._mode)

    def empty_state(self) -> Sentence:
        return Sentence(self._problem or NOTHING)

    def clear_page(self) -> None:
        """Release the trace: this panel may have the last reference to it."""
        self._searching.cancel()
        self._trees, self._picked, self._focus = None, None, ()
        self._compared = None
        self.table.show_rows(None)
        self.flame.show_texts(None)

    # -- contents --------------------------------------------------------------------------------

    def show_answer(self, answer: CallsAnswer | ChangesAnswer) -> None:
        """Show the nodes; what was open and zoomed to stays if it is in the same tree."""
        before = self.model.rows.answer if self.model.rows is not None else None
        if not len(answer.table):
            trees = self._trees
            is_cost = isinstance(answer, CallsAnswer)
            self.show_sentence(NOTHING_RAN if is_cost else NOTHING_COMPARED)
            self._trees = trees  # its paths serve the next range
            return
        opened, zoomed = self._kept(before, answer)
        self._focus = answer.focus
        is_changes = not isinstance(answer, CallsAnswer)
        texts = CallTexts(answer) if isinstance(answer, CallsAnswer) else ChangeTexts(answer)
        self.modes.buttons[answer.question.mode].setChecked(True)
        self.flame.show_texts(texts, zoomed)
        self.table.show_rows(texts, opened or ())
        if opened is None:
            self.table.open_first()
            if not isinstance(answer, CallsAnswer):
                self.table.open_rows(answer.largest_changes(_MOST_OPENED))
            self.table.scrollToTop()
        self._say_found("")
        self.footer.setText(texts.footer())
        self.legend.setVisible(is_changes)
        self.show_page()
        self._split()
        self._search(self.filter.text())
        self._show_ways_back()
        self._mark()

    def _kept(self, before: ShownCalls | None, answer: ShownCalls) -> tuple[list[int] | None, int]:
        """Return the nodes that were open, None for another tree, and the one zoomed to."""
        is_same = (
            before is not None
            and before.tree is answer.tree
            and before.focus == answer.focus
            and not (before.is_inverted or answer.is_inverted)
        )
        if before is None or not is_same:
            return None, -1
        numbers = before.table.number
        opened = sorted(key for key in self.table.open_keys if isinstance(key, int))
        nodes = (answer.node_numbered(int(numbers[node])) for node in opened)
        zoomed = self.flame.zoomed
        again = answer.node_numbered(int(numbers[zoomed])) if zoomed >= 0 else -1
        return [node for node in nodes if node >= 0], again

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._split()

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
        from viewer.gui.panels.calls.changes import matches_of_changes

        texts, words = self.model.rows, text.strip()
        if texts is None:
            return
        if not words:
            self._searching.cancel()
            self._say_found("")
            self.flame.show_hits(None)
            if texts.matches is not None:
                self.table.show_rows(texts.searched(None))
                self.table.open_first()
                self._mark()
            return
        answer = texts.answer
        at_once = len(answer.table) <= _SEARCHED_AT_ONCE
        if isinstance(answer, CallsAnswer):
            self._searching.ask(at_once, matches_of, answer, words)
        else:
            self._searching.ask(at_once, matches_of_changes, answer, words)

    @Slot(object)
    def _show_matches(self, matches: Matches) -> None:
        texts = self.model.rows
        if texts is None or texts.answer is not matches.answer:
            return
        self._say_found(texts.found(matches))
        self.flame.show_hits(matches.boxes)
        show_matches(self.table, texts, matches)

    def _say_found(self, text: str) -> None:
        """Show above the graph what a search found, or else the scope."""
        texts = self.model.rows
        scope = texts.subtitle(several=len(self._session.traces) > 1) if texts is not None else ""
        self.subtitle.shorter = texts.shorter_subtitles if texts is not None and not text else ()
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
        self.legend.update()
        self.table.viewport().update()

    # -- selection -------------------------------------------------------------------------------

    @Slot()
    def _mark(self) -> None:
        """Highlight the node of the selected slice, or the one that was chosen here."""
        answer = self.answer
        if answer is None or self._choosing or self.is_empty or self.model.rows is None:
            return
        node = node_of_selection(self._session, answer, self._picked)
        self.flame.mark(node)
        self.table.mark(node)

    @Slot(int)
    def _choose(self, node: int) -> None:
        """Select the slices of a node in the scope, or those that reach into it."""
        answer = self.answer
        if answer is None:
            return
        with self.choosing():
            picked = (
                select_calls(self._session, answer, node)
                if isinstance(answer, CallsAnswer)
                else select_changes(self._session, answer, node)
            )
            self._picked = picked or self._picked
        if self.answer is answer:
            self.flame.mark(node)
            self.table.mark(node)
        else:
            self._mark()  # the slices are in another scope

    # -- kinds of trees --------------------------------------------------------------------------

    @Slot(object)
    def _pick(self, mode: CallMode) -> None:
        self._show(mode, ())

    def _show(self, mode: CallMode, focus: tuple[str, ...]) -> None:
        self._focus, self._picked = focus, None
        if self._compared is not None:
            self._changes_by = mode
        else:
            self._mode, self._is_mode_chosen = mode, True
        self.modes.buttons[mode].setChecked(True)
        self.refresh()

    def forget(self) -> None:
        super().forget()
        self._is_mode_chosen = self._is_split = False
        self._changes_by, self._focus = None, ()

    @Slot()
    def show_all_calls(self) -> None:
        """Show all calls again, not only those below one."""
        self._show(self.mode, ())

    def focus_on(self, node: int) -> None:
        """Show one node and what is below it alone."""
        if self.answer is not None:
            self._show(self.mode, (*self._focus[:-1], *self.answer.table.path(node)))

    def show_callers(self, node: int) -> None:
        """Show the callers of the name of a node, bottom-up."""
        if self.answer is not None:
            self.filter.clear()
            self._show(CallMode.BOTTOM_UP, (self.answer.table.text(node),))

    @Slot(QMenu, int)
    def _fill_menu(self, menu: QMenu, node: int) -> None:
        texts, answer = self.model.rows, self.answer
        if texts is None or answer is None:
            return
        name = answer.table.text(node)
        menu.addAction("Copy name", lambda: copy_text(self, name, "the name of the call"))
        menu.addAction("Copy path", lambda: self._copy_path(node))
        menu.addSeparator()
        menu.addAction("Zoom to this call", lambda: self.flame.zoom_to(node))
        focus = menu.addAction("Focus on this call", lambda: self.focus_on(node))
        focus.setEnabled(answer.table.levels.size(node) < len(answer.table))
        callers = menu.addAction("Show callers", lambda: self.show_callers(node))
        is_cost = isinstance(answer, CallsAnswer)
        is_call = answer.table.name[node] not in answer.no_calls
        is_named = is_call and answer.question.mode.key == "name"
        callers.setEnabled(is_cost and is_named)
        if self._focus:
            menu.addAction("Show all calls", self.show_all_calls)
        menu.addSeparator()
        menu.addAction("Save flame graph…", partial(self.host.export, _FLAME_GRAPH, self.job_of))

    @Slot(QMenu, int)
    def _offer_row(self, menu: QMenu, node: int) -> None:
        """Add copying the row of a box to its context menu; the table has that for its rows."""
        menu.addSeparator()
        title = "Copy row as TSV"
        menu.addAction(title, lambda: self.table.copy_nodes([node]))
        offer_markdown(menu, title, lambda form: self.table.copy_nodes([node], form))

    def job_of(self, path: str) -> ExportJob:
        """Return a job that writes the flame graph as SVG. Raises NothingToExport without one."""
        from viewer.workspace.exports import NothingToExport

        answer, texts = self.answer, self.model.rows
        if answer is None or texts is None or self.is_empty:
            raise NothingToExport("No calls to save")
        scope = texts.subtitle(several=False)

        def write(progress: Progress, cancelled: Cancelled) -> int:
            from viewer.render.flame_graph.svg import write_svg

            write_svg(path, [answer.picture(scope)])
            return len(answer.table)

        return write

    def _copy_path(self, node: int) -> None:
        if self.answer is not None:
            copy_text(self, " > ".join(self.answer.path(node)), "the path of the call")
