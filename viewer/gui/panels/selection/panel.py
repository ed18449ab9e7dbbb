"""The Selection panel: statistics of the selected slices, or of all slices in the selected area.

The slices are grouped by name, operator, module or thread. A click selects the slices of a group
and keeps the table; a double click zooms to them. The summary states what is counted and what is
left out.
"""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from viewer.analysis.findings.finding import joined
from viewer.analysis.statistics.selection import KEYS
from viewer.export.tables.delimited import write_table
from viewer.gui.panels.base.answer_panel import Question
from viewer.gui.panels.base.grouped_panel import GroupedFrame
from viewer.gui.panels.base.page_panel import Sentence
from viewer.gui.panels.base.panel_host import ExportedFile, PanelHost
from viewer.gui.panels.base.tables.model import TableModel
from viewer.gui.panels.base.tables.view import TableView
from viewer.gui.panels.selection.table import (
    GROUP_TITLES,
    SELECTION,
    SelectionContents,
    contents_of,
    plain_columns,
)
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import navigation
from viewer.gui.session.feeds.selection_statistics import SelectionAnswer, SelectionFeed
from viewer.model.times import counted, format_share, format_span, format_time, group_digits
from viewer.view.open_trace import AT_ONCE
from viewer.view.state import Area, SliceRef, SliceSet
from viewer.workspace.exports import ExportJob

NOTHING = (
    "Drag over the timeline or ruler, or Ctrl+click slices, to see their time by name, operator, "
    "module or thread."
)
NO_SLICES = "Open a profile, then select slices or an area to see their time."


class SelectionPanel(GroupedFrame[SelectionContents]):
    """Statistics of the selection."""

    # Groups, not slices: preparing that many takes less than 50 ms.
    SYNC_LIMIT = AT_ONCE
    WAITS_TO_BE_SEEN = False  # the rows can be exported while the panel is hidden

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        self.model = TableModel(SELECTION, theme)
        self.table = TableView(self.model, theme)
        self.summary = ElidedLabel("", theme, "caption", "text2")
        self.button = QPushButton("Export…")
        self.button.setToolTip("Write all rows to a .csv or .tsv file")
        below = QWidget()
        line = QHBoxLayout(below)
        line.setContentsMargins(theme.px(12), theme.px(4), theme.px(12), theme.px(4))
        line.addWidget(self.summary, 1)
        line.addWidget(self.button)
        super().__init__(host, self.table, "Selection", "Filter", below)
        self.model.setParent(self)
        self._feed = SelectionFeed.of(session)
        for key in KEYS:
            self.by.addItem(GROUP_TITLES[key], key)
        self.by.activated.connect(self._group_by)
        self.filter.textChanged.connect(self.model.set_filter)
        self.table.chosen.connect(self._choose)
        self.table.doubleClicked.connect(self._fit)
        self.button.clicked.connect(self.export)
        self._feed.late.connect(self._wait)
        self._feed.changed.connect(self._count)
        session.selection_changed.connect(self._mark)
        session.workspace_changed.connect(self._offer)
        self.refresh_on(self._feed.changed, session.workspace_changed)
        self._offer()
        self.refresh()
        self._count()

    @Slot()
    def _count(self) -> None:
        answer = self._feed.answer
        self.host.show_count(0 if answer is None else answer.slices)

    @Slot()
    def _offer(self) -> None:
        """Enable the keys that an open trace has; disable the others and show why."""
        for key in KEYS:
            why = self._feed.missing(key)
            self.offer_key(key, why, why or None)
        if self._feed.missing(self._feed.key):
            self._feed.group_by(KEYS[0])
        self.by.setCurrentIndex(KEYS.index(self._feed.key))

    @Slot(int)
    def _group_by(self, at: int) -> None:
        self.filter.clear()
        self._feed.group_by(KEYS[at])

    @Slot()
    def _wait(self) -> None:
        """Clear the table while figures are computed, so that no old ones are shown."""
        self.show_page()
        self.model.show(None)
        self.subtitle.setText("Counting…")
        self.summary.setText("")

    def question(self) -> Question | None:
        """Return the question that prepares the feed's statistics as rows."""
        answer = self._feed.answer
        if answer is None:
            return None
        return Question(contents_of, (answer,), sum(len(part.statistics) for part in answer.parts))

    def empty_state(self) -> Sentence:
        """Return the sentence shown without a selection."""
        return Sentence(NOTHING if self._session.traces else NO_SLICES)

    def clear_page(self) -> None:
        self.model.show(None)

    def show_answer(self, contents: SelectionContents) -> None:
        """List the groups and summarize them."""
        answer = contents.answer
        self.show_page()
        self.model.show(contents)
        self.subtitle.setText(subject_text(answer))
        self.summary.setText(summary_text(answer))
        self._mark()

    @Slot()
    def _mark(self) -> None:
        """Highlight the row of a slice that is selected on the timeline."""
        ref, answer = self._session.state.slice, self._feed.answer
        if ref is None or answer is None or len(marked_rows(self.table)) > 1:
            return
        rows = self.model.contents
        if rows is None or not answer.holds(ref):
            return
        row = self.model.row_of_item(rows.row_of_slice(ref.trace, ref.index))
        if row >= 0 and row not in marked_rows(self.table):
            self.table.selectRow(row)

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select the slices of a group."""
        rows = self.model.contents
        if rows is None or not 0 <= row < self.model.rowCount():
            return
        item = self.model.item_of(row)
        trace, members, longest = rows.members(item)
        total = int(rows.columns["total_ns"][item])
        self._feed.pick_out(SliceSet({trace: members}), SliceRef(trace, longest), total)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        self._choose(index.row())
        navigation.fit_selection(self._session)

    @property
    def can_export(self) -> bool:
        """Whether there are rows to export."""
        return self.model.contents is not None and bool(self.model.rowCount())

    @Slot()
    def export(self) -> None:
        """Request an export of the rows that match the filter, in their order."""
        contents, rows = self.model.contents, self.model.items
        if contents is None:
            return

        def job_of(path: str) -> ExportJob:
            return lambda progress, cancelled: write_table(
                path, *plain_columns(contents, rows), progress=progress, cancelled=cancelled
            )

        self.host.export(ExportedFile.table("selection"), job_of)


def subject_text(answer: SelectionAnswer) -> str:
    """Return the subject of the table: "area 1.200 – 3.400 ms · 3 tracks"."""
    tracks = counted(answer.tracks, "track")
    phases = list(dict.fromkeys(phase for part in answer.parts for phase in part.statistics.phases))
    of_phases = f" of {joined(phases)}, each apart" if phases else ""
    if isinstance(answer.subject, Area):
        return f"area {format_span(answer.subject.t0, answer.subject.t1)}{of_phases} · {tracks}"
    return f"{counted(answer.slices, 'selected slice')}{of_phases} · {tracks}"


def summary_text(answer: SelectionAnswer) -> str:
    """Return one line with the totals, and what is cut or left out."""
    busy = sum(
        float(part.statistics.whole.busy[0] * part.open_trace.axis.ns_per_tick)
        for part in answer.parts
    )
    texts = [f"{counted(answer.slices, 'slice')}, {format_time(answer.total_ns)} in total"]
    if len(answer.parts) == 1:
        first, last = answer.parts[0].span
        if last > first:
            texts.append(f"busy {format_share(busy, last - first)} of {format_time(last - first)}")
    cut = sum(part.statistics.cut for part in answer.parts)
    if cut:
        texts.append(f"{counted(cut, 'slice')} clipped to the range")
    foreign = sum(part.statistics.foreign for part in answer.parts)
    if foreign:
        texts.append(f"{group_digits(foreign)} with separate clocks left out")
    rated = sum(part.statistics.rated for part in answer.parts)
    if rated:
        apart = format_time(sum(part.statistics.delegate_ns for part in answer.parts))
        texts[-1] += f", {group_digits(rated)} with {apart} on the delegate's clock"
    derived = sum(part.statistics.doubled for part in answer.parts)
    if derived:
        texts.append(
            f"{group_digits(derived)} derived slices left out, because their parts are counted"
        )
    unfinished = sum(part.statistics.unfinished for part in answer.parts)
    if unfinished:
        texts.append(f"{group_digits(unfinished)} without an end left out")
    gaps = sum(part.statistics.gaps for part in answer.parts)
    if gaps:
        texts.append(f"{counted(gaps, 'gap')} of unattributed time")
    return " · ".join(texts)
