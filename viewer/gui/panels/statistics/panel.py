"""The statistics panel: what units, operators, lines, threads and so on cost, as `opscope stats`.

Of the whole trace, of the picked run, or of the range that is selected on the timeline; by any key
of `viewer.analysis.statistics.grouping`. An NPU's units come first: how long each was busy, alone,
next to others, or not at all. Their rows overlap; the bar below adds up to all of it. A click
selects the slices of a group, and what is selected elsewhere marks its group here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from viewer.analysis.statistics.group_keys import KEYS, OF_OPERATORS
from viewer.analysis.statistics.grouping import Grouping, GroupTable
from viewer.export.tables.statistics import STATISTICS_COLUMNS, statistics_columns
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.cost_footer import CostFooter, whole_text
from viewer.gui.panels.base.grouped_panel import GroupedPanel
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.slice_facts import longest_slice, scope_text
from viewer.gui.panels.base.trace_panel import TraceScope, current_scope, selected_operators
from viewer.gui.panels.statistics.table import group_contents, unit_contents
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import navigation
from viewer.gui.session.inferences import pick_run
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import TimeScope
from viewer.model.text import display_name
from viewer.model.times import group_digits, tick_to_ns
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef, SliceSet
from viewer.workspace.exports import ExportJob, table_job

NOTHING = "Open a profile to see what its units, operators and threads cost."
TITLES = {
    "unit": "Unit", "operator": "Operator", "type": "Operator type", "module": "Module",
    "line": "Line", "location": "Location", "delegate": "Delegate", "thread": "Thread",
    "run": "Inference", "name": "Name",
}  # fmt: skip
# What is shown of a trace until another key is chosen: the first of these that it has.
_FIRST = ("unit", "type", "name")


class StatisticsPanel(GroupedPanel["StatisticsAnswer"]):
    """Groups of the current trace in the selected range, the picked run, or the whole;
    `export_requested` carries what makes a job for a path."""

    MOST_AT_ONCE = AT_ONCE  # slices; as for views and rasters of a trace
    export_requested = Signal(object)  # Callable[[str], Job]

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.footer = CostFooter(theme)
        super().__init__(session, theme, "Statistics", "Filter", self.footer, parent)
        self._grouping: tuple[OpenTrace, Grouping] | None = None
        self._chosen: str | None = None
        self._of: TraceScope | None = None
        for key in KEYS:
            self.by.addItem(TITLES[key], key)
        self.button = QPushButton("Export…")
        self.button.setToolTip("Write these rows to a .csv or .tsv file")
        self.head.addWidget(self.button)
        self.button.clicked.connect(self.export)
        self.by.activated.connect(self._pick)
        self.table.chosen.connect(self._choose)
        self.table.doubleClicked.connect(self._fit)
        self.refresh_on(session.workspace_changed, theme.changed)
        for signal in (session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        session.coloring_changed.connect(self._color)
        self.refresh()

    @property
    def key(self) -> str:
        """By what the trace is grouped now."""
        key: str = self.by.currentData()
        return key

    @Slot()
    def _follow(self) -> None:
        """Group again if another trace or scope is current; else only the mark follows."""
        if current_scope(self._session, ranges=True) != self._of:
            self.refresh()
        else:
            self._mark()

    @Slot()
    def refresh(self) -> None:
        """Group what is selected of the current trace now."""
        self._of = None
        shown, _ = current_scope(self._session, ranges=True)
        large = shown is not None and len(shown.trace.slices) > self.MOST_AT_ONCE
        # Before the keys that the trace has are looked for, which takes long too.
        if large and self.put_off(stays=self.answer is not None and self.answer.shown is shown):
            return
        super().refresh()

    def question(self) -> Question | None:
        """The groups of the current trace by the chosen key."""
        # As it ran: of inferences that are aligned or meant, only the tracks with runs are shown.
        shown, scope = current_scope(self._session, ranges=True)
        if shown is None or not len(shown.trace.slices):
            return None
        if self._grouping is None or self._grouping[0] is not shown:
            self._grouping = shown, Grouping(shown.table)
            self._offer(self._grouping[1])
        self._of = shown, scope
        asked = shown, self._grouping[1], self.key, scope
        return Question(_answer, asked, len(shown.trace.slices), stays=True)

    def nothing(self) -> Sentence:
        """What to open."""
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        super().clear_page()
        self._grouping = None

    def _offer(self, grouping: Grouping) -> None:
        """Offer the keys that a trace has, the others grayed with the reason."""
        missing = {key: grouping.missing(key) for key in KEYS}
        for i, key in enumerate(KEYS):
            self.offer_key(i, missing[key], tip(missing[key]))
        wanted = self._chosen if self._chosen and not missing[self._chosen] else None
        wanted = wanted or next(key for key in _FIRST if not missing[key])
        self.by.setCurrentIndex(KEYS.index(wanted))

    @Slot(int)
    def _pick(self, index: int) -> None:
        self._chosen = KEYS[index]
        self.filter.clear()
        self.refresh()

    def show_answer(self, answer: StatisticsAnswer) -> None:
        """Show the groups and how they add up."""
        shown, table = answer.shown, answer.table
        make = unit_contents if table.key == "unit" else group_contents
        contents = make(shown, table, TITLES[table.key])
        self._color()
        self.table.show_contents(contents, sorted_by=-1)
        _add_up(self.footer, shown, table)
        parts = [scope_text(shown, answer.scope), display_name(shown.trace.path)]
        if table.foreign:
            parts.append(f"{group_digits(table.foreign)} slices on clocks of their own left out")
        self.subtitle.setText(" · ".join(parts))
        self.show_page()
        self._mark()

    # -- selecting -------------------------------------------------------------------------------

    @Slot()
    def _mark(self) -> None:
        """Let the marked row follow what is selected; a selection of rows is left alone."""
        answer = self.answer
        if answer is None or len(marked_rows(self.table)) > 1:
            return
        state = self._session.state
        if answer.table.key == "operator":
            self.model.set_selected(selected_operators(self._session, answer.shown))
        if len(state.others):
            return  # of many groups, or of the one that was clicked
        group = self._selected_group(answer)
        row = next((i for i, r in enumerate(self.model.rows) if r.group == group), -1)
        if group < 0 or row < 0:
            if state.slice is not None or state.operators is not None:
                self.table.clearSelection()
        elif row not in marked_rows(self.table):
            self.table.mark(row)

    def _selected_group(self, answer: StatisticsAnswer) -> int:
        """The group of the selected slice, else of the highlighted operators; -1 for none."""
        state, key, shown = self._session.state, answer.table.key, answer.shown
        ref = state.slice if state.inferences is Inferences.AS_RUN else None
        if key in ("unit", "run"):
            return -1
        if ref is not None and self._session.as_run(ref.trace) is shown:
            return answer.grouping.group_of_slice(key, ref.index)
        operators = selected_operators(self._session, answer.shown) if key in OF_OPERATORS else ()
        return answer.grouping.group_of(key, operators) if operators else -1

    @Slot()
    def _color(self) -> None:
        """Color operators as their slices are."""
        answer, scheme = self.answer, self._session.state.scheme
        known = None if answer is None else answer.shown.operator_colors(scheme)
        self.table.color_operators(known)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row is about: operators, a run, or the slices of its group in the scope.

        Of a unit, or of idle time, the longest stretch is brought into view: to select it would
        make it the range that the panel is about.
        """
        answer, group, name = self.answer, self.model.rows[row].group, self.model.rows[row].op
        self._session.show_inferences(Inferences.AS_RUN)
        number = None if answer is None else self._session.number_of(answer.shown)
        if answer is None or number is None:
            return
        key, shown = answer.table.key, answer.shown
        if key == "unit":
            unit = next(g.key for g in answer.table.groups if g.label == name)
            stretch = answer.grouping.overview.longest(unit, *answer.span)
            if stretch is not None:
                t0, t1 = (shown.axis.to_ns(tick) for tick in stretch)
                self._session.set_range(t0 - (t1 - t0), t1 + (t1 - t0))
        elif key == "operator":
            self._session.select_operators(number, shown.table.sets[group])
        elif key == "run":
            run = list(shown.trace.inferences())[group]
            pick_run(self._session, (number, shown.trace.runs.index(run)))
        else:
            slices = shown.trace.slices
            # Where none begins in the scope, those that reach into it from before.
            own = answer.grouping.slices(key, group, *answer.scope.span[:2])
            if not len(own):
                own = answer.grouping.slices(key, group)
                first, last = answer.span
                own = own[(slices.end[own] >= first) & (slices.start[own] <= last)]
            if len(own):
                longest = SliceRef(number, longest_slice(shown, own))
                self._session.select_slices(
                    SliceSet({number: own}), longest, reveal=True, keep_area=True
                )

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.answer is not None and self.answer.table.key != "unit":
            navigation.fit_selection(self._session)

    # -- exporting -------------------------------------------------------------------------------

    @Slot()
    def export(self) -> None:
        """Ask for a file to write the shown rows to, in their order."""
        answer = self.answer
        if answer is None:
            return
        shown, table = answer.shown, answer.table
        of = {(group.number, group.label): group for group in table.groups}
        groups = [of[row.group, row.name] for row in self.model.rows]
        complete = len(groups) == len(table.groups)

        def job_of(path: str) -> ExportJob:
            columns = statistics_columns(
                shown.trace.path, shown.axis.ns_per_tick, table, groups, rest=complete
            )
            return table_job(path, STATISTICS_COLUMNS, columns)

        made: Callable[[str], ExportJob] = job_of
        self.export_requested.emit(made)


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """The groups of a part of a trace."""

    shown: OpenTrace
    grouping: Grouping
    table: GroupTable
    scope: TimeScope

    @property
    def span(self) -> tuple[int, int]:
        """First and last tick."""
        first, last, _ = self.scope.span
        trace = self.shown.trace
        return trace.start if first is None else first, trace.end if last is None else last


def _answer(shown: OpenTrace, grouping: Grouping, key: str, scope: TimeScope) -> StatisticsAnswer:
    # All tracks: what the units of an NPU did in a run is on tracks of their own.
    first, last, _ = scope.span
    return StatisticsAnswer(shown, grouping, grouping.by(key, first, last), scope)


def _add_up(footer: CostFooter, shown: OpenTrace, table: GroupTable) -> None:
    """The bar of parts that add up to the whole.

    Floored one by one, as in the table: their sum may miss the whole by a few ns, no row its own.
    """
    rate = shown.axis.ns_per_tick
    if table.key == "unit":
        parts, what = _unit_parts(table), "Overall"
    else:
        parts = [
            ("In these groups", "accent", table.whole - table.ungrouped),
            (table.ungrouped_label[1:-1].capitalize(), "", table.ungrouped),
        ]
        what = whole_text(shown.trace, "Whole") if table.ungrouped else "Whole"
    footer.show_parts(
        tuple((name, tone, tick_to_ns(ticks, rate)) for name, tone, ticks in parts),
        tick_to_ns(table.whole, rate),
        what,
    )


def _unit_parts(table: GroupTable) -> list[tuple[str, str, int]]:
    """Units alone and together, what else was at work, and idle time."""
    ticks = {group.key: group.total for group in table.groups}
    parts = [
        (name, tone, ticks[key])
        for key, name, tone in (
            ("only_dma", "Only DMA", "unit_dma"),
            ("overlap", "Both", "unit_both"),
            ("only_compute", "Only compute", "unit_compute"),
        )
        if key in ticks
    ] or [("NSS jobs", "unit_compute", ticks.get("nss", 0))]
    rest = ticks["busy"] - sum(part for _, _, part in parts)
    if rest:
        parts.append(("Host and HAL alone" if "host" in ticks else "Other work", "unit_host", rest))
    return [*parts, ("Idle", "", ticks["idle"])]
