"""The Statistics panel: time by unit, operator, line, thread and other keys, as `opscope stats`.

The scope is the selected range, the current inference, or the whole trace. An NPU's units are the
first choice: how long each was busy, alone or overlapping others, and idle. Their rows overlap; the
bar below the table adds up to the whole range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Union

import numpy as np
from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtWidgets import QMenu, QPushButton

from viewer.analysis.search.query import parse
from viewer.analysis.statistics.charges import RANGE, TRACE, name_of_inferences
from viewer.analysis.statistics.group_keys import KEYS
from viewer.analysis.statistics.group_table import Group, GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.pivot import (
    PivotTable,
    cell_medians,
    cell_starts,
    group_starts,
    is_place,
    medians_per_inference,
    pivot,
    slices_of_cell,
)
from viewer.arrays import Ints
from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.cost_painting import CostFooter
from viewer.gui.panels.base.group_rows import (
    STARTS,
    Starts,
    clocks_text,
    group_contents,
    show_whole,
)
from viewer.gui.panels.base.panel import ExportedFile, PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.trace_panel import GroupedPanel
from viewer.gui.panels.statistics.table import (
    TITLES,
    GroupChanges,
    ThenBox,
    level_of,
    list_groups,
    not_compared,
    pivot_job,
    query_of_groups,
    unit_contents,
)
from viewer.gui.qt.clipboard import copy_text
from viewer.gui.qt.widgets.labels import tip
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import navigation
from viewer.gui.session.choices import TableChoices
from viewer.gui.session.comparison import ComparisonFeed, row_of_selection, select_row
from viewer.gui.session.feeds.search import Search, searched_trace
from viewer.gui.session.navigation import TraceScope, current_scope, pick_run
from viewer.gui.session.selection import select_group, select_indices, selected_operators, span_of
from viewer.model.figures import WHOLE, FigureBase, LeftOut, TimeScope, left_out
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits, tick_to_ns
from viewer.model.warm_up import counted_inferences
from viewer.tables.statistics import statistics_columns
from viewer.view.open_trace import AT_ONCE, OpenTrace

if TYPE_CHECKING:
    from viewer.workspace.exports import ExportJob


NOTHING = "Open a profile to see time by unit, operator, thread and other keys."
_TABLE = "statistics"  # in the choices of the session
# The default key of a trace is the first of these that it has.
_FIRST = ("unit", "type", "name")
# The keys whose figures are no mean per inference.
_OF_ALL = ("unit", "inference")


class StatisticsPanel(GroupedPanel[Union["StatisticsAnswer", GroupChanges]]):
    """Groups of the current trace in the selected range, the current inference, or all of it."""

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        # First, as making it may change what the signals that the base connects report.
        self._comparison = ComparisonFeed.of(session)
        self.footer = CostFooter(theme)
        super().__init__(host, "Statistics", "Filter", self.footer)
        self._offered: OpenTrace | None = None  # whose keys are offered
        choice = TableChoices.of(session).choice_of(_TABLE)
        self._chosen: str | None = choice.by if choice.by in KEYS else None
        self.key = KEYS[0]  # the current grouping key
        self._of: TraceScope | None = None
        for key in KEYS:
            self.by.addItem(TITLES[key], key)
        self.button = QPushButton("Export…")
        self.button.setToolTip("Write these rows to a .csv or .tsv file")
        self.head.addWidget(self.button)
        self.button.clicked.connect(self.export)
        self.by.activated.connect(self._pick)
        self.then = ThenBox(theme)
        self.then.chosen = choice.then
        self.head.insertWidget(self.head.indexOf(self.filter), self.then)
        self.then.picked.connect(self._pick_then)
        self.table.menu_offered.connect(self._offer_more)
        self._choices = TableChoices.of(session)
        self.table.let_choose([heading.key for heading in STARTS], self._choices, _TABLE)
        self._choices.restored.connect(self._take_keys)
        self.table.chosen.connect(self._choose)
        self.table.doubleClicked.connect(self._fit)
        self.refresh_on(session.workspace_changed, self._comparison.changed)
        for signal in (session.selection_changed, session.run_picked):
            signal.connect(self._follow)
        session.coloring_changed.connect(self._color)
        self.refresh()

    @Slot()
    def _follow(self) -> None:
        """Group again if the trace or scope changed; otherwise only update the highlighted row."""
        if self._current() != self._of:
            self.refresh()
        else:
            self._mark()

    def _current(self) -> TraceScope:
        """The current trace and the scope of its figures, per inference unless rows are these.

        Rows that are inferences cover all of them, whichever is picked.
        """
        keys = self.key, self.then.chosen_key
        by_inference = _is_per_inference(*keys)
        open_trace, scope = current_scope(self._session, ranges=True, by_inference=by_inference)
        return open_trace, WHOLE if scope.run is not None and "inference" in keys else scope

    @Slot()
    def refresh(self) -> None:
        self._of = None
        shown, _ = current_scope(self._session, ranges=True)
        large = shown is not None and len(shown.trace.slices) > self.SYNC_LIMIT
        # Deferred before looking up the trace's keys, which takes long too.
        if large and self.defer(stays=self.groups is not None and self.groups.shown is shown):
            return
        super().refresh()

    def question(self) -> Question | None:
        # As it ran: views of aligned or averaged inferences contain only the tracks with
        # inferences.
        shown, _ = current_scope(self._session, ranges=True)
        if shown is None or not len(shown.trace.slices):
            return None
        if self._offered is not shown:
            self._offered = shown
            self._offer(shown.grouping)
        then = self.then.offer_keys(shown, self.key)
        _, scope = self._current()
        self._of = shown, scope
        found = self._comparison.in_tables
        if found is not None and (level := level_of(found, self.key)):
            self.then.hide()
            args_of_changes = found, level, TITLES[self.key]
            return Question(list_groups, args_of_changes, len(shown.trace.slices), stays=True)
        args = shown, self.key, scope, then
        return Question(_answer, args, len(shown.trace.slices), stays=True)

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING)

    def clear_page(self) -> None:
        super().clear_page()
        self._offered = None
        self.then.forget()

    def forget(self) -> None:
        super().forget()
        self._chosen, self.then.chosen = None, ""

    def _offer(self, grouping: Grouping) -> None:
        """Enable the keys that a trace has; disable the others and show why."""
        missing = {key: grouping.missing(key) for key in KEYS}
        for key in KEYS:
            self.offer_key(key, missing[key], tip(missing[key]))
        key_now = self._chosen if self._chosen and not missing[self._chosen] else None
        self.key = key_now or next(key for key in _FIRST if not missing[key])
        if self.by.currentData() in KEYS:  # not one of the panel around this page
            self.mark_key()

    def mark_key(self) -> None:
        """Show the current key in the box."""
        self.by.setCurrentIndex(self.by.findData(self.key))

    @Slot(int)
    def _pick(self, index: int) -> None:
        key: str = self.by.itemData(index)
        if key in KEYS:
            self._chosen = self.key = key
            self._choices.choose(_TABLE, by=key)
            self.filter.clear()
            self.refresh()

    @Slot()
    def _pick_then(self) -> None:
        self._choices.choose(_TABLE, then=self.then.chosen)
        self.refresh()

    @Slot()
    def _take_keys(self) -> None:
        """Group by the keys of a session file."""
        choice = self._choices.choice_of(_TABLE)
        self._chosen = choice.by if choice.by in KEYS else None
        self.then.chosen, self._offered = choice.then, None
        self.then.forget()
        self.refresh()

    @property
    def groups(self) -> StatisticsAnswer | None:
        """The groups of one trace, None while changes are shown or nothing is."""
        return self.answer if isinstance(self.answer, StatisticsAnswer) else None

    def show_answer(self, answer: StatisticsAnswer | GroupChanges) -> None:
        """Show the groups and how they add up, or their changes between two arms."""
        self.button.setEnabled(isinstance(answer, StatisticsAnswer))
        if isinstance(answer, GroupChanges):
            self._color()
            self.table.show_contents(answer.contents, sorted_by=-1)
            self.footer.clear()
            self.subtitle.setText(answer.subtitle)
            self.show_page()
            self._mark()
            return
        open_trace, table = answer.shown, answer.table
        base = answer.base
        contents = (
            unit_contents(open_trace, table, TITLES[table.key])
            if table.is_overview
            else group_contents(
                open_trace,
                table,
                TITLES[table.key],
                base,
                answer.cells,
                *answer.medians,
                answer.starts,
            )
        )
        self._color()
        self.table.show_contents(contents, sorted_by=-1)
        is_each = base is None or answer.then == "inference"
        whole = left_out(open_trace.trace, answer.scope)
        uncounted = whole if is_each else open_trace.left_out_of(answer.scope)
        if table.is_overview:
            _show_units(self.footer, open_trace, table, uncounted)
        else:
            show_whole(self.footer, open_trace, table, uncounted, answer.scope, base)
        where = scope_text(open_trace, answer.scope, loads=True, per_inference=not is_each)
        parts = [where, display_name(open_trace.trace.path)]
        if (found := self._comparison.in_tables) is not None:
            parts.insert(0, not_compared(found, open_trace.file.path))
        listed_groups = sum(not row.indent for row in contents.rows)
        if listed_groups < len(table.groups) and not table.is_overview:
            listed, of = group_digits(listed_groups), group_digits(len(table.groups))
            parts.append(f"first {listed} of {of} rows: export lists all")
        if table.clocks:
            parts.insert(
                0, f"{clocks_text(table, base.divisor if base else 1)}, no part of the whole"
            )
        elif table.has_delegate_ns:
            parts.append("slices on a delegate's clock are counted, but not in times and shares")
        if table.foreign:
            hint = "" if open_trace.grouping.missing("kernel") else ": see Kernel"
            parts.append(f"{counted(table.foreign, 'slice')} with separate clocks left out{hint}")
        if table.values:
            parts.append(f"{counted(table.values, 'value')} without a time left out")
        if uncounted.text:
            parts.append(uncounted.text)
        self.subtitle.setText(" · ".join(parts))
        self.show_page()
        self._mark()

    # -- selecting -------------------------------------------------------------------------------

    @Slot()
    def _mark(self) -> None:
        """Highlight the row of the selection, unless several rows are selected."""
        answer = self.groups
        if isinstance(self.answer, GroupChanges):
            changes = self.answer
            own = row_of_selection(self._session, changes.compared, changes.level)
            found = (i for i, r in enumerate(self.model.rows) if own >= 0 and r.group == own)
            self.table.mark(next(found, -1))
        if answer is None or len(marked_rows(self.table)) > 1:
            return
        state = self._session.state
        if answer.table.key == "operator":
            self.model.set_selected(selected_operators(self._session, answer.shown))
        if len(state.others):
            return  # several groups are selected, or the group that was clicked
        group = self._selected_group(answer)
        row = next((i for i, r in enumerate(self.model.rows) if r.group == group), -1)
        if group < 0 or row < 0:
            if state.slice is not None or state.operators is not None:
                self.table.clearSelection()
        elif row not in marked_rows(self.table):
            self.table.mark(row)

    def _selected_group(self, answer: StatisticsAnswer) -> int:
        """Return the group of the selected slice, else of the selected operators; -1 for none."""
        state, key, shown = self._session.state, answer.table.key, answer.shown
        ref = state.slice if state.inferences is Inferences.AS_RUN else None
        if answer.table.is_overview:
            return -1
        if key == "inference":
            number = self._session.number_of(shown)
            if state.run is None or state.run[0] != number:
                return -1
            run, runs = shown.trace.runs[state.run[1]], shown.trace.inferences()
            return next((i for i, inference in enumerate(runs) if inference is run), -1)
        if ref is not None and self._session.as_run(ref.trace) is shown:
            return answer.shown.grouping.group_of_slice(key, ref.index)
        operators = (
            selected_operators(self._session, answer.shown) if answer.table.is_of_operators else ()
        )
        return answer.shown.grouping.group_of(key, operators) if operators else -1

    @Slot()
    def _color(self) -> None:
        scheme = self._session.state.scheme
        shown = None if self.groups is None else self.groups.shown
        if isinstance(self.answer, GroupChanges):
            paths = self.answer.compared.chosen.a.paths
            shown = next((t for t in self._session.traces if t.file.path in paths), None)
        known = None if shown is None else shown.operator_colors(scheme)
        self.table.color_operators(known)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select what a row shows: operators, an inference, or the group's slices in the scope.

        For a unit or idle time it zooms to the longest interval instead: selecting the interval
        would make it the panel's range.
        """
        answer, group, name = self.groups, self.model.rows[row].group, self.model.rows[row].op
        if isinstance(self.answer, GroupChanges):
            select_row(self._session, self.answer.compared, group, self.answer.level)
            return
        self._session.show_inferences(Inferences.AS_RUN)
        number = None if answer is None else self._session.number_of(answer.shown)
        if answer is None or number is None:
            return
        key, shown = answer.table.key, answer.shown
        if group < -1 and answer.pivoted is not None:
            select_indices(self._session, shown, answer.slices_of(group))
        elif answer.table.is_overview:
            unit = next(g.key for g in answer.table.groups if g.label == name)
            interval = answer.shown.grouping.overview.longest(unit, *answer.span)
            if interval is not None:
                t0, t1 = (shown.axis.to_ns(tick) for tick in interval)
                self._session.activate(self._session.groups.of(number).key)
                navigation.show_times(self._session, t0 - (t1 - t0), t1 + (t1 - t0))
        elif key == "operator":
            self._session.select_operators(number, shown.table.sets[group])
        elif key == "inference":
            run = list(shown.trace.inferences())[group]
            pick_run(self._session, (number, shown.trace.runs.index(run)))
        else:
            grouping = answer.grouping
            select_group(self._session, shown, grouping, key, group, answer.scope)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.groups is None or not self.groups.table.is_overview:
            navigation.fit_selection(self._session)

    @Slot(QMenu)
    def _offer_more(self, menu: QMenu) -> None:
        answer = self.groups
        if answer is None:
            return
        menu.setToolTipsVisible(True)
        only = menu.addAction("Show only these slices")
        query = self._query_of_row(answer, self.table.currentIndex().row())
        only.setEnabled(bool(query))
        only.setToolTip(
            f"Search {query}, and gray all other slices"
            if query
            else "No search finds exactly these slices. A click selects them."
        )
        only.triggered.connect(lambda: self._show_only(query))
        entry = menu.addAction("Copy as SQL")
        entry.setToolTip("These rows and figures as a query for opscope query")
        path = answer.shown.trace.path if len(self._session.traces) > 1 else ""
        words = self.filter.text().lower().split()
        entry.triggered.connect(
            lambda: copy_text(self.table, query_of(answer, words, path), "a query")
        )

    def _query_of_row(self, answer: StatisticsAnswer, row: int) -> str:
        """Return a search that finds exactly the slices of a row, "" if none is known."""
        open_trace, table, keys = answer.shown, answer.table, (answer.table.key, answer.then)
        is_large = len(open_trace.trace.slices) > self.SYNC_LIMIT
        if is_large or table.is_overview or not 0 <= row < len(self.model.rows):
            return ""
        number = self.model.rows[row].group
        rows = () if answer.pivoted is None else answer.pivoted.rows
        pairs = [(pivoted.group, cell) for pivoted in rows for cell in pivoted.cells]
        groups = pairs[-2 - number] if number < -1 else tuple(
            group for group in table.groups if group.number == number
        )  # fmt: skip
        query = query_of_groups(keys, [group.label for group in groups])
        if not query or any(group.number < 0 for group in groups):
            return ""
        members = np.ones(len(open_trace.trace.slices), np.bool_)
        for key, group in zip(keys, groups, strict=False):
            members &= open_trace.grouping.groups_of_slices(key)[1] == group.number
        hits = searched_trace(open_trace).matches(parse(query))
        return query if np.array_equal(hits, members) and members.any() else ""

    def _show_only(self, query: str) -> None:
        """Search for slices, and gray all others."""
        search = Search.of(self._session)
        search.set_query(query)
        search.show_only_hits(True)

    # -- exporting -------------------------------------------------------------------------------

    @Slot()
    def export(self) -> None:
        """Request an export of the shown rows, in their order."""
        answer = self.groups
        if answer is None:
            return
        shown, table = answer.shown, answer.table
        if answer.pivoted is not None:
            pivoted = answer.pivoted
            self.host.export(
                ExportedFile.table("statistics"), lambda path: pivot_job(path, shown, pivoted)
            )
            return
        first = table.groups[: len(self.model.contents.rows)]
        lookup = {(group.number, group.label): group for group in first}
        groups: list[Group] = [lookup[row.group, row.name] for row in self.model.rows]
        complete = len(groups) == len(first)
        if complete:
            groups += table.groups[len(first) :]

        def job_of(path: str) -> ExportJob:
            from viewer.workspace.exports import table_job

            columns = statistics_columns(
                shown.trace.path,
                shown.axis.ns_per_tick,
                table,
                groups,
                rest=complete,
                base=answer.base,
                medians=answer.medians[0],
            )
            return table_job(path, tuple(columns), columns)

        self.host.export(ExportedFile.table("statistics"), job_of)


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """The groups of a trace in a scope.

    medians: per inference of the groups, and of what these are divided into; empty without a mean.
    """

    shown: OpenTrace
    table: GroupTable
    scope: TimeScope
    pivoted: PivotTable | None = None
    medians: tuple[Mapping[int, float], Mapping[tuple[int, int], float]] = field(
        default=({}, {}), repr=False
    )
    starts: Starts | None = field(default=None, repr=False)

    @property
    def cells(self) -> tuple[tuple[Group, ...], ...]:
        """What each group is divided into, () without a second key."""
        return () if self.pivoted is None else tuple(row.cells for row in self.pivoted.rows)

    def slices_of(self, cell: int) -> Ints:
        """Return the slices of a cell by the number of its row, from -2 downwards."""
        assert self.pivoted is not None
        pairs = [(r.group.number, c.number) for r in self.pivoted.rows for c in r.cells]
        first, last, _ = self.scope.span
        keys = self.table.key, self.pivoted.then
        slices = self.shown.trace.slices
        return slices_of_cell(self.grouping, slices, keys, pairs[-2 - cell], first, last)

    @property
    def base(self) -> FigureBase | None:
        """What the figures are per, None if rows are the inferences or units themselves.

        Of what is divided into inferences, the rows above these are sums.
        """
        if _is_per_inference(self.table.key, self.then):
            return self.shown.base_of(self.scope)
        if self.then != "inference" or not self.scope.is_whole:
            return None
        count = sum(1 for _ in self.shown.trace.inferences())
        return FigureBase(self.shown.axis.ns_per_tick, count)

    @property
    def has_own_clocks(self) -> bool:
        """Whether delegates' own clocks timed any of the slices of rows."""
        groups = self.table.groups if self.pivoted is None else [c for r in self.cells for c in r]
        return any(g.clock is not None or g.delegate_ns is not None for g in groups)

    @property
    def then(self) -> str:
        """The second key, "" without one."""
        return "" if self.pivoted is None else self.pivoted.then

    @property
    def grouping(self) -> Grouping:
        """The groups whose figures these are."""
        return _grouping(self.shown, self.table.key, self.scope, self.then)

    @property
    def span(self) -> tuple[int, int]:
        """The first and last tick of the scope."""
        return span_of(self.shown, self.scope)


def _answer(shown: OpenTrace, key: str, scope: TimeScope, then: str) -> StatisticsAnswer:
    # All tracks: NPU units have their own tracks.
    first, last, _ = scope.span
    grouping = _grouping(shown, key, scope, then)
    is_mean = _is_per_inference(key, then) and shown.base_of(scope).is_mean
    medians = medians_per_inference(grouping, key) if is_mean else {}
    starts = group_starts(grouping, key, first, last)
    if not then:
        table = grouping.by(key, first, last)
        return StatisticsAnswer(shown, table, scope, None, (medians, {}), Starts(starts, {}))
    slices, keys = shown.trace.slices, (key, then)
    pivoted = pivot(grouping, slices, keys, first, last)
    of_cells = cell_medians(grouping, slices, keys) if is_mean else {}
    of_starts = Starts(starts, cell_starts(grouping, slices, keys, first, last))
    return StatisticsAnswer(shown, pivoted.table, scope, pivoted, (medians, of_cells), of_starts)


def query_of(answer: StatisticsAnswer, words: Sequence[str] = (), path: str = "") -> str:
    """Return the rows of an answer as a query.

    words: of the filter. path: of the file, if several are open.
    """
    from viewer.query.statistics_sql import IN_ORDER, CopiedTable, statistics_sql

    grouping, scope, base, table = answer.grouping, answer.scope, answer.base, answer.table
    key, then = table.key, answer.then
    first, last, _ = scope.span
    ticks = None if first is None or last is None else (first, last)
    name = RANGE if ticks else TRACE
    if base is not None and base.is_of_several and _is_per_inference(key, then):
        name = name_of_inferences(base.phase, warm_up=scope.warm_up)
    is_mean = base is not None and base.is_mean
    runs = counted_inferences(grouping.trace, warm_up=grouping.warm_up)
    copied = CopiedTable(
        (key, then),
        (is_place(grouping, key), bool(then) and is_place(grouping, then)),
        answer.shown.axis.ns_per_tick,
        name,
        ticks,
        is_closed=ticks is not None and (ticks[1] >= grouping.trace.end or first == last),
        divisor=base.divisor if base is not None and is_mean else 1,
        inferences=len(runs) if is_mean else 0,
        rest=table.ungrouped_label if table.ungrouped and not then and not words else "",
        own_clocks=answer.has_own_clocks,
        path=path,
        words=tuple(words),
        is_ordered=key in IN_ORDER and not grouping.is_stated(key),
    )
    return statistics_sql(copied)


def _is_per_inference(key: str, then: str) -> bool:
    """Whether figures are means per inference: not of rows that are parts of one."""
    return key not in _OF_ALL and then != "inference"


def _grouping(opened: OpenTrace, key: str, scope: TimeScope, then: str) -> Grouping:
    return opened.grouping_for(scope) if _is_per_inference(key, then) else opened.grouping


def _show_units(footer: CostFooter, shown: OpenTrace, table: GroupTable, left: LeftOut) -> None:
    """Show in the footer how the units' times, rounded down as in the table, add up."""
    rate = shown.axis.ns_per_tick
    footer.show_parts(
        tuple((name, tone, tick_to_ns(ticks, rate)) for name, tone, ticks in _unit_parts(table)),
        tick_to_ns(table.whole, rate),
        "Overall",
        left,
    )


def _unit_parts(table: GroupTable) -> list[tuple[str, str, int]]:
    """Return each unit's time alone, both together, other busy time, and idle time."""
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
    if rest := ticks["busy"] - sum(part for _, _, part in parts):
        parts.append(("Host and HAL only" if "host" in ticks else "Other work", "unit_host", rest))
    return [*parts, ("Idle", "", ticks["idle"])]
