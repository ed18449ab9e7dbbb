"""The handle map panel: what delegates registered beside what they logged, for their authors.

It follows the current profile and the picked run or selected range; how an identifier stands is of
all runs. A click selects its slices on the timeline, of a handle its operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QModelIndex, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QWidget

from viewer.analysis.delegates.handle_maps import (
    NO_MAP,
    HandleMaps,
    IdentifierStatus,
    MapRow,
    recorded_rows,
)
from viewer.analysis.links.coverage import begins_within
from viewer.export.tables.handle_maps import HANDLE_MAP_COLUMNS, handle_map_columns
from viewer.gui.panels.base.operator_table import OperatorContents
from viewer.gui.panels.base.operator_view import OperatorView
from viewer.gui.panels.base.slice_facts import scope_text
from viewer.gui.panels.base.trace_table_panel import TraceTablePanel
from viewer.gui.panels.handle_map.table import (
    MOST_SHOWN,
    NONE_OF,
    HandleMapModel,
    MapRows,
    RowFilter,
    maps_of,
)
from viewer.gui.qt.background import Latest
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.when_visible import BEING_COUNTED, WhenVisible
from viewer.gui.qt.widgets.labels import ElidedLabel, label
from viewer.gui.session import navigation
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.model.scope import TimeScope
from viewer.model.text import display_name
from viewer.model.times import counted, group_digits
from viewer.program.program import Program
from viewer.view.open_trace import AT_ONCE, OpenTrace
from viewer.view.state import SliceRef, SliceSet
from viewer.workspace.exports import ExportJob, table_job

NOTHING = "Open a profile of a run and the record of its model to see what delegates logged."
NO_MAPS = (
    "No delegate logged an identifier here, and no record that is linked has a delegate. A backend "
    "returns a debug handle map from preprocess() and logs its identifiers while it runs."
)


@dataclass(frozen=True, slots=True)
class HandleMapAnswer:
    """What is shown of a profile, and of what part of it."""

    shown: OpenTrace
    scope: TimeScope
    source: HandleMaps
    maps: MapRows


class HandleMapPanel(TraceTablePanel):
    """The browser; `export_requested` carries what makes a job for a path."""

    export_requested = Signal(object)  # Callable[[str], Job]
    source_requested = Signal(str, int)

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        self.model = HandleMapModel()
        self.view = OperatorView(self.model, theme, "Handle map")
        self.view.keep_swatch_room()
        self.by = QComboBox()
        super().__init__(
            session, self.view, theme, "Filter by identifier, handle, operator or backend",
            "Filter handle map", parent, ranges=True,
        )  # fmt: skip
        self.model.setParent(self)
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
        self.answer: HandleMapAnswer | None = None
        self._record: Program | None = None
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        self._latest.late.connect(self._gray)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        self.by.activated.connect(self._show)
        self.button.clicked.connect(self.export)
        self.table.chosen.connect(self._choose)
        self.table.doubleClicked.connect(self._fit)
        self.filter.textChanged.connect(self.model.set_filter)
        session.selection_changed.connect(self._tint)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Work the rows of the present profile and run out anew."""
        self._of = shown, scope = self._wanted()
        if shown is None:
            self._latest.cancel()
            self.answer = None
            self._show_record()
            return
        self._record = None
        known = self.answer.source if self.answer and self.answer.shown is shown else None
        small = len(shown.trace.slices) <= AT_ONCE
        asked = self._seen.ask(self._latest, small, _answer, shown, scope, known)
        if not asked and known is None:
            self.answer = None
            self._say(BEING_COUNTED)

    @Slot(object)
    def _take(self, answer: HandleMapAnswer) -> None:
        self.answer = answer
        self.view.opacity = 1.0
        self._color()
        where = scope_text(answer.shown, answer.scope)
        self._fill(answer.maps, f"{where} · {display_name(answer.shown.trace.path)}")
        self._tint()

    def _show_record(self) -> None:
        """What the first record tells alone, where no profile is open."""
        programs = [p for p in self._session.workspace.programs if p.methods and not p.is_mlir]
        self._record = programs[0] if programs else None
        if self._record is None:
            self._say(NO_MAPS if self._session.workspace.paths else NOTHING)
            return
        self.view.opacity = 1.0
        self.view.color_operators(None)
        maps = maps_of(recorded_rows(self._record), self._record, None)
        what = f"a {self._record.noun}, and no run"
        self._fill(maps, f"{display_name(self._record.path)} · {what}")

    def _forget(self) -> None:
        self.model.maps = MapRows(OperatorContents(), ())
        self.model.clear()

    def _fill(self, maps: MapRows, subtitle: str) -> None:
        if not maps.rows:
            self._say(NO_MAPS)
            return
        self.model.maps = maps
        self.view.show_contents(maps.contents, sorted_by=-1)
        self.view.fit_columns()
        for i, show in enumerate(RowFilter):
            count = sum(show.has(row) for row in maps.rows)
            self.by.setItemText(i, f"{show.title} ({count})")
        self._show_table(subtitle)
        self._tell_none()

    @Slot()
    def _show(self) -> None:
        self.model.set_show(self.by.currentData())
        self._tell_none()

    def _tell_none(self) -> None:
        """Say why a sort of rows is empty, and let nothing be exported then."""
        show: RowFilter = self.by.currentData()
        absent = not any(show.has(row) for row in self.model.maps.rows)
        text = NONE_OF[show] if absent else summary_text(self.model.maps.rows)
        if len(self.model.maps.rows) > MOST_SHOWN:
            of = group_digits(len(self.model.maps.rows))
            text = f"the first {group_digits(MOST_SHOWN)} of {of} rows, Export writes all · {text}"
        self.summary.setText(text)
        self.button.setEnabled(not absent)

    @Slot()
    def _gray(self) -> None:
        self.view.opacity = 0.6
        self.view.viewport().update()

    @Slot()
    def _tint(self) -> None:
        """Tint the rows that share a selected operator."""
        answer, chosen = self.answer, self._session.state.operators
        if answer is None or chosen is None:
            self.model.set_selected(())
            return
        here = self._session.as_run(chosen[0]) is answer.shown
        self.model.set_selected(chosen[1] if here else ())

    @Slot()
    def _color(self) -> None:
        self.view.color_operators(self._operator_colors())

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select the slices of an identifier, or the operators of what was not logged."""
        chosen, answer = self.model.map_row(row), self.answer
        if answer is None:
            place = self.model.contents.place(chosen.operators[0]) if chosen.operators else None
            if place is not None:
                self.source_requested.emit(*place)
            return
        session = self._session
        session.show_inferences(Inferences.AS_RUN)
        number = session.number_of(answer.shown)
        if number is None:
            return
        slices, span = answer.shown.trace.slices, answer.scope.span
        wanted = np.isin(slices.key, chosen.keys) & begins_within(answer.shown.trace, *span)
        found = np.flatnonzero(wanted)
        if len(found):
            longest = int(found[np.argmax(slices.end[found] - slices.start[found])])
            if len(found) == 1:
                session.select_slice(SliceRef(number, longest), reveal=True, keep_area=True)
            else:
                first = SliceRef(number, longest)
                session.select_slices(SliceSet({number: found}), first, keep_area=True)
        elif chosen.operators:
            session.select_operators(number, chosen.operators)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        navigation.fit_selection(self._session)

    # -- copying and exporting ---------------------------------------------------------------------

    @Slot()
    def copy(self) -> None:
        """Put the marked rows on the clipboard, or all if none is marked."""
        self.view.copy()

    @Slot()
    def export(self) -> None:
        """Ask for a file to write the shown rows to, in their order."""
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

        made: Callable[[str], ExportJob] = job_of
        if rows:
            self.export_requested.emit(made)


def summary_text(rows: tuple[MapRow, ...]) -> str:
    """How many identifiers there are, and what is odd about some of them."""
    count = {
        standing: sum(row.standing is standing for row in rows) for standing in IdentifierStatus
    }
    registered = sum(
        count[of]
        for of in (IdentifierStatus.LOGGED, IdentifierStatus.NEVER_LOGGED, IdentifierStatus.NOT_RUN)
    ) + sum(row.standing is IdentifierStatus.UNCLEAR and not row.keys for row in rows)  # fmt: skip
    wordless = dict.fromkeys(row.detail for row in rows if row.detail.endswith(NO_MAP))
    texts = [*wordless, f"{counted(registered, 'identifier')} registered"]
    for standing, text in (
        (IdentifierStatus.LOGGED, "logged"), (IdentifierStatus.NEVER_LOGGED, "never logged"),
        (IdentifierStatus.NOT_REGISTERED, "logged and not registered"),
        (IdentifierStatus.NO_RECORD, "logged, and no record tells of them"),
    ):  # fmt: skip
        if count[standing]:
            texts.append(f"{count[standing]} {text}")
    if count[IdentifierStatus.UNCOVERED]:
        texts.append(
            f"{counted(count[IdentifierStatus.UNCOVERED], 'handle')} without an identifier"
        )
    return " · ".join(texts)


def _answer(shown: OpenTrace, scope: TimeScope, known: HandleMaps | None) -> HandleMapAnswer:
    source = known or HandleMaps(shown.table)
    rows = source.rows(*scope.span)
    return HandleMapAnswer(shown, scope, source, maps_of(rows, shown.table.program, shown))
