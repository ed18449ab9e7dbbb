"""The Handle map panel, for authors of delegates: registered identifiers next to logged ones.

Times follow the current profile and its current inference or selected range; the status of an
identifier covers all inferences.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton

from viewer.analysis.cost.source_costs import source_place
from viewer.analysis.delegates.handle_maps import (
    NO_MAP,
    HandleMaps,
    IdentifierStatus,
    MapRow,
    recorded_rows,
)
from viewer.analysis.links.coverage import starts_within
from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.operator_model import (
    Cell,
    OperatorContents,
    OperatorModel,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
    term_heading,
)
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.panel import ExportedFile, PanelHost, Question, Sentence
from viewer.gui.panels.base.slice_facts import MISSING, scope_text
from viewer.gui.panels.base.table import ColumnKind, Copied, Heading
from viewer.gui.panels.base.trace_panel import OperatorTracePanel
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.gui.qt.widgets.labels import ElidedLabel, label, tip
from viewer.gui.qt.widgets.tables import Index
from viewer.model import figures as figure_terms
from viewer.model.figures import TimeScope
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.program.debug_handles import short_identifier
from viewer.program.program import Program
from viewer.tables.operators import HANDLE_MAP_COLUMNS, handle_map_columns
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.workspace.exports import ExportJob, table_job

MOST_SHOWN = 20_000  # rows; a longer table would block the window for more than 100 ms


class RowFilter(Enum):
    """A filter by status: its title, and the statuses that it shows (none: all rows)."""

    ALL = ("All", ())
    NEVER_LOGGED = ("Never logged", (IdentifierStatus.NEVER_LOGGED,))
    NOT_REGISTERED = ("Not in map", (IdentifierStatus.NOT_REGISTERED,))
    UNCOVERED = ("Handles without identifier", (IdentifierStatus.UNCOVERED,))

    def __init__(self, title: str, statuses: tuple[IdentifierStatus, ...]) -> None:
        self.title = title
        self.statuses = statuses

    def has(self, row: MapRow) -> bool:
        """Whether a row is shown."""
        return not self.statuses or row.status in self.statuses


NONE_OF = {
    RowFilter.ALL: "",
    RowFilter.NEVER_LOGGED: "Every registered identifier was logged, if its call ran.",
    RowFilter.NOT_REGISTERED: "Every identifier that a call logged is in its map.",
    RowFilter.UNCOVERED: "Every debug handle of the calls has an identifier.",
}


@dataclass(frozen=True, slots=True)
class MapRows:
    """The table contents. `TableRow.group` is an index into `rows`."""

    contents: OperatorContents
    rows: tuple[MapRow, ...]


def maps_of(
    rows: Sequence[MapRow], program: Program | None, open_trace: OpenTrace | None
) -> MapRows:
    """Return the rows of a profile, or of an ETRecord without a profile, which has no times."""
    rate = None if open_trace is None else open_trace.axis.ns_per_tick
    several = len({row.method for row in rows if row.instruction >= 0}) > 1

    def time(row: MapRow) -> Cell:
        has_time = rate is not None and row.has_time
        ns = tick_to_ns(row.ticks, rate) if rate is not None and has_time else -1
        return format_time(ns) if ns >= 0 else MISSING, ns

    def handles(row: MapRow) -> Cell:
        return _handles(row), row.handles[0] if row.handles else -1

    def names(row: MapRow) -> Cell:
        operators = [] if program is None else [program.operators[i] for i in row.operators]
        text = " + ".join(operator.label for operator in operators) or MISSING
        return text, text.lower()

    of_time: RowColumns[MapRow] = (
        (term_heading(figure_terms.SELF, ColumnKind.TIME, 92), time),
        (Heading("Status", ColumnKind.TEXT, 104),
            lambda row: (row.status.title, row.status.title)),
    )  # fmt: skip
    counts: RowColumns[MapRow] = (
        (term_heading(figure_terms.COUNT, ColumnKind.NUMBER, 60),
            lambda row: (group_digits(row.slices) if row.slices else MISSING, row.slices)),
    )  # fmt: skip
    columns: RowColumns[MapRow] = (
        *(() if rate is None else of_time),
        (Heading("Handles", ColumnKind.TEXT, 60), handles),
        (Heading("Operators", ColumnKind.TEXT, 140), names),
        *(() if rate is None else counts),
        (Heading("Backend", ColumnKind.TEXT, 150),
            lambda row: (row.backend or MISSING, row.backend)),
    )  # fmt: skip
    table_rows = []
    for number, row in enumerate(rows[:MOST_SHOWN]):
        name = short_identifier(row.identifier) if row.identifier else f"handle {_handles(row)}"
        where = f"instr. {row.instruction}" if row.instruction >= 0 else row.no_instruction
        if several:
            where = f"{row.method} · {where}"
        if rate is None and row.status is IdentifierStatus.UNCOVERED:
            where += f" · {row.status.title}"
        cells = cells_of(columns, row, name.lower())
        table_rows.append(
            TableRow(row.operators, "", name, where, *cells, group=number, detail=_detail(row))
        )
    contents = OperatorContents(headings_of("Identifier", columns), tuple(table_rows))
    if program is not None:
        contents = replace(contents, place=lambda i: source_place(program, i))
    return MapRows(contents, tuple(rows))


def _handles(row: MapRow) -> str:
    return ", ".join(map(str, row.handles)) or MISSING


def _detail(row: MapRow) -> str:
    """Return the tooltip of a row, without its name."""
    texts = [row.identifier] if row.identifier.startswith("{") else []
    texts.append(f"{row.method}, instruction {row.instruction}" if row.instruction >= 0 else "")
    texts.append(row.detail)
    if row.foreign:
        texts.append(f"{group_digits(row.foreign)} of its slices have a separate clock")
    return "\n".join(text for text in texts if text)


class HandleMapModel(OperatorModel):
    """The rows that have the chosen status and contain every word of the filter."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.maps = MapRows(OperatorContents(), ())  # belongs to the contents that are shown next
        self._show = RowFilter.ALL

    def set_show(self, show: RowFilter) -> None:
        """Show the rows with a status, or all rows."""
        self.beginResetModel()
        self._show = show
        self._arrange()
        self.endResetModel()

    def map_row(self, row: int) -> MapRow:
        """Return what a row shows."""
        return self.maps.rows[self.rows[row].group]

    def shown_map_rows(self) -> list[MapRow]:
        """Return all visible rows, in their order."""
        return [self.maps.rows[row.group] for row in self.rows]

    def listed(self, contents: OperatorContents) -> Ints:
        return np.flatnonzero([self._show.has(self.maps.rows[row.group]) for row in contents.rows])

    def holds(self, contents: OperatorContents, word: str) -> Bools:
        matches = (
            word in " ".join((r.name, *r.texts, self.maps.rows[r.group].identifier)).lower()
            for r in contents.rows
        )
        return np.fromiter(matches, np.bool_, len(contents.rows))

    def copied(self, contents: OperatorContents, items: Ints) -> Copied:
        """Return rows as in other tables, with status and note."""
        titles, lines = super().copied(contents, items)
        entries = [self.maps.rows[contents.rows[i].group] for i in items.tolist()]
        ends = ((entry.status.title, _detail(entry)) for entry in entries)
        return [*titles, "Status", "Note"], ([*c, *end] for c, end in zip(lines, ends, strict=True))

    @guard
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid() and index.column():
            if index.row() >= len(self.rows):
                return None
            row = self.rows[index.row()]
            return tip("\n".join(filter(None, (row.texts[index.column()], row.detail))))
        return super().data(index, role)


NOTHING = "Open a profile and its ETRecord to see the identifiers that delegates logged."
NO_MAPS = (
    "No delegate logged an identifier, and no linked ETRecord has a delegate. A backend returns a "
    "debug handle map from preprocess() and logs its identifiers at run time."
)


@dataclass(frozen=True, slots=True)
class HandleMapAnswer:
    """The handle maps of a profile in a scope."""

    shown: OpenTrace
    scope: TimeScope
    source: HandleMaps
    maps: MapRows


class HandleMapPanel(OperatorTracePanel[HandleMapAnswer]):
    """Lists debug handle maps."""

    SYNC_LIMIT = AT_ONCE  # slices; the same limit as for views and rasters of a trace

    model: HandleMapModel

    def __init__(self, host: PanelHost) -> None:
        theme = host.theme
        model = HandleMapModel()
        view = OperatorView(model, theme, "Handle map")
        view.keep_swatch_room()
        self.by = ComboBox(theme)
        super().__init__(
            host,
            view,
            model,
            "Filter by identifier, handle, operator or backend",
            "Filter handle map",
        )
        self.by.setAccessibleName("Show identifiers")
        self.by.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        for show in RowFilter:
            self.by.addItem(show.title, show)
        self.head.insertWidget(0, label("Show", theme, tone="text2"))
        self.head.insertWidget(1, self.by)
        self.summary = ElidedLabel("", theme, "caption", "text2")
        self.button = QPushButton("Export…")
        self.button.setToolTip("Write these rows to a .csv or .tsv file")
        line = QHBoxLayout()
        line.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(4))
        line.addWidget(self.summary, 1)
        line.addWidget(self.button)
        self.column.addLayout(line)
        self._record: Program | None = None
        self.by.activated.connect(self._show)
        self.button.clicked.connect(self.export)
        self.refresh()

    @property
    def shown_trace(self) -> OpenTrace | None:
        return None if self.answer is None else self.answer.shown

    def question(self) -> Question | None:
        self._of = open_trace, scope = self.current_scope()
        if open_trace is None:
            return None
        self._record = None
        handle_maps = (
            self.answer.source if self.answer and self.answer.shown is open_trace else None
        )
        size = len(open_trace.trace.slices)
        return Question(
            _answer, (open_trace, scope, handle_maps), size, stays=handle_maps is not None
        )

    def show_answer(self, answer: HandleMapAnswer) -> None:
        self._color()
        where = scope_text(answer.shown, answer.scope)
        self._fill(answer.maps, f"{where} · {display_name(answer.shown.trace.path)}")
        self._tint()

    def show_empty_state(self) -> None:
        """Show what the first ETRecord registers, if no profile is open."""
        self._record = self.first_record
        if self._record is None:
            super().show_empty_state()
            return
        self.set_stale(False)
        self.view.color_operators(None)
        maps = maps_of(recorded_rows(self._record), self._record, None)
        what = f"{self._record.title} without a profile"
        self._fill(maps, f"{display_name(self._record.path)} · {what}")

    def empty_state(self) -> Sentence:
        return Sentence(NO_MAPS if self._session.workspace.paths else NOTHING)

    def clear_page(self) -> None:
        self.model.maps = MapRows(OperatorContents(), ())
        self.model.clear()

    def _fill(self, maps: MapRows, subtitle: str) -> None:
        if not maps.rows:
            self.show_sentence(NO_MAPS)
            return
        self.model.maps = maps
        self.view.show_contents(maps.contents, sorted_by=-1)
        for i, show in enumerate(RowFilter):
            count = sum(show.has(row) for row in maps.rows)
            self.by.setItemText(i, f"{show.title} ({count})")
        self._show_table(subtitle)
        self._summarize()

    @Slot()
    def _show(self) -> None:
        self.model.set_show(self.by.currentData())
        self._summarize()

    def _summarize(self) -> None:
        """Summarize the rows, or explain why none is shown and disable the export."""
        show: RowFilter = self.by.currentData()
        absent = not any(show.has(row) for row in self.model.maps.rows)
        text = NONE_OF[show] if absent else summary_text(self.model.maps.rows)
        if len(self.model.maps.rows) > MOST_SHOWN:
            of = group_digits(len(self.model.maps.rows))
            text = f"the first {group_digits(MOST_SHOWN)} of {of} rows (Export writes all) · {text}"
        self.summary.setText(text)
        self.button.setEnabled(not absent)

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select the slices of an identifier; if it has none, its operators."""
        entry, answer = self.model.map_row(row), self.answer
        if answer is None:
            self._ask_for_source(entry.operators)
            return
        session = self._session
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(answer.shown)
        if number is None:
            return
        has_key = np.isin(answer.shown.trace.slices.key, entry.keys)
        slices = np.flatnonzero(has_key & starts_within(answer.shown.trace, answer.scope))
        if len(slices):
            self._select_slices(answer.shown, number, slices)
        elif entry.operators:
            session.select_operators(number, entry.operators)

    # -- exporting ---------------------------------------------------------------------------------

    @Slot()
    def export(self) -> None:
        """Request an export of the shown rows, in their order."""
        rows, answer = self.model.shown_map_rows(), self.answer
        if len(self.model.maps.rows) > MOST_SHOWN:
            show: RowFilter = self.by.currentData()
            rows = [row for row in self.model.maps.rows if show.has(row)]
        program = answer.shown.table.program if answer else self._record
        path = answer.shown.trace.path if answer else program.path if program else ""
        rate = answer.shown.axis.ns_per_tick if answer else None

        def job_of(target: str) -> ExportJob:
            columns = handle_map_columns(rows, program, path, rate)
            return table_job(target, HANDLE_MAP_COLUMNS, columns)

        if rows:
            self.host.export(ExportedFile.table("handle_map"), job_of)


def summary_text(rows: tuple[MapRow, ...]) -> str:
    """Count the identifiers by status, and list backends without a handle map."""
    count = {status: sum(row.status is status for row in rows) for status in IdentifierStatus}
    registered = sum(
        count[status]
        for status in (
            IdentifierStatus.LOGGED,
            IdentifierStatus.NEVER_LOGGED,
            IdentifierStatus.NOT_RUN,
        )
    ) + sum(row.status is IdentifierStatus.UNCLEAR and not row.keys for row in rows)
    no_map = dict.fromkeys(row.detail for row in rows if row.detail.endswith(NO_MAP))
    texts = [*no_map, f"{counted(registered, 'identifier')} registered"]
    for status, text in (
        (IdentifierStatus.LOGGED, "logged"),
        (IdentifierStatus.NEVER_LOGGED, "never logged"),
        (IdentifierStatus.NOT_REGISTERED, "logged but not in map"),
        (IdentifierStatus.NO_RECORD, "logged, but no ETRecord is linked"),
    ):
        if count[status]:
            texts.append(f"{count[status]} {text}")
    if count[IdentifierStatus.UNCOVERED]:
        texts.append(
            f"{counted(count[IdentifierStatus.UNCOVERED], 'handle')} without an identifier"
        )
    return " · ".join(texts)


def _answer(
    open_trace: OpenTrace, scope: TimeScope, handle_maps: HandleMaps | None
) -> HandleMapAnswer:
    source = handle_maps or HandleMaps(open_trace.table)
    rows = source.rows(scope)
    return HandleMapAnswer(
        open_trace, scope, source, maps_of(rows, open_trace.table.program, open_trace)
    )
