"""The Selection panel: statistics of the selected slices, or of all slices in the selected area.

There can be as many groups as slices: a million. So rows are positions in columns, a filter
searches each group once, and a cell's text is created when it is painted. Copies and exports have
times in whole ns, and the file's ticks next to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from viewer.analysis.findings.finding import joined
from viewer.analysis.statistics.selection import KEYS, GroupFigures
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass
from viewer.export.table_files import write_table
from viewer.gui.panels.base.panel import ExportedFile, PanelHost, Question, Sentence
from viewer.gui.panels.base.table import (
    ColumnKind,
    Copied,
    PanelColumn,
    PanelTable,
    TableModel,
    TableView,
    column_of,
)
from viewer.gui.panels.base.trace_panel import GroupedFrame
from viewer.gui.qt.widgets.labels import ElidedLabel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import navigation
from viewer.gui.session.feeds.selection import SelectionAnswer, SelectionFeed
from viewer.model.text import display_name, name_text
from viewer.model.times import (
    counted,
    format_bounded,
    format_share,
    format_span,
    format_time,
    group_digits,
    ticks_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.tables.statistics import STATISTICS
from viewer.view.open_trace import AT_ONCE
from viewer.view.state import Area, SliceRef, SliceSet
from viewer.workspace.exports import ExportJob

GROUP_TITLES = {"name": "Name", "operator": "Operator", "module": "Module", "thread": "Thread"}
_FIGURES = (
    "count", "total_ns", "self_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "max_ns", "busy",
)  # fmt: skip
# Figures of copies and exports, and which of them are never whole.
_PLAIN = (
    "total_ns", "self_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "max_ns", "busy_ns",
    "total_ticks", "self_ticks",
)  # fmt: skip
_MEANS = ("mean", "p50", "p90")
_LONGEST = 2000  # characters of a name in a tooltip
_INSIDE = "Slices are clipped to the range."


@dataclass(frozen=True, eq=False)
class SelectionContents:
    """The rows of an answer, most expensive first: part, group, label and numbers of each.

    columns: durations in ns, counts and percentages (float64). order: rank of each row by label.
    small: labels in lower case, for the filter. zeros: how many slices the file cuts to 0, and cut:
    what each is shorter than, in ns.
    """

    answer: SelectionAnswer
    part: Ints
    group: Ints
    labels: tuple[str, ...]
    small: tuple[str, ...]
    order: Ints
    columns: Mapping[str, Floats]
    zeros: Ints
    cut: Floats

    @property
    def several_files(self) -> bool:
        """Whether the groups belong to more than one trace."""
        return len(self.answer.parts) > 1

    def file(self, i: int) -> str:
        """Return the name of the file of a row."""
        return display_name(self.answer.parts[int(self.part[i])].open_trace.file.path)

    def time(self, name: str, i: int) -> str:
        """Return a duration of a row as text."""
        zeros = int(self.zeros[i])
        if name not in ("total_ns", "self_ns"):
            zeros = min(zeros, 1)
        elif self.columns["total_ns"][i]:
            zeros = 0  # the self time of a row with a total is what it is
        return format_bounded(float(self.columns[name][i]), zeros, self.cut[i])

    def holds(self, word: str) -> Bools:
        """Return which rows contain a word."""
        return np.array([word in label for label in self.small], np.bool_)

    def row_of_slice(self, trace: int, slice: int) -> int:
        """Return the row of a slice's group, -1 without one."""
        for position, part in enumerate(self.answer.parts):
            index = int(np.searchsorted(part.statistics.index, slice))
            if part.number == trace and index < len(part.statistics.index):
                if int(part.statistics.index[index]) != slice:
                    return -1
                group = int(part.statistics.group[index])
                rows = np.flatnonzero((self.part == position) & (self.group == group))
                return int(rows[0]) if len(rows) else -1
        return -1

    def members(self, i: int) -> tuple[int, Ints, int]:
        """Return the trace of a row, the indices of its slices, and the longest of them."""
        part = self.answer.parts[int(self.part[i])]
        members = part.statistics.members(int(self.group[i]))
        slices = part.open_trace.trace.slices
        longest = members[int(np.argmax(slices.end[members] - slices.start[members]))]
        return part.number, members, int(longest)


def _ticks(figures: GroupFigures) -> dict[str, NDArray[Any]]:
    """Return the durations of groups in ticks, by their names."""
    statistics = figures.statistics
    every = {name: getattr(statistics, name) for name in ("total", "min", "p50", "p90", "max")}
    return {**every, "self": figures.self_ticks, "mean": statistics.avg}


def contents_of(answer: SelectionAnswer) -> SelectionContents:
    """Return the rows of an answer. Pure."""
    sizes = [len(part.statistics) for part in answer.parts]
    part = np.repeat(np.arange(len(sizes)), sizes)
    group = np.concatenate([np.empty(0, np.int64), *(np.arange(size) for size in sizes)])
    labels = [label for answer_part in answer.parts for label in answer_part.statistics.labels]
    gathered: dict[str, list[NDArray[Any]]] = {name: [np.empty(0)] for name in _FIGURES}
    for answer_part in answer.parts:
        figures = answer_part.statistics.figures
        rate = float(answer_part.open_trace.axis.ns_per_tick)
        span = max(answer_part.span[1] - answer_part.span[0], 1)
        for name, ticks in _ticks(figures).items():
            gathered[f"{name}_ns"].append(ticks * rate)
        gathered["count"].append(figures.statistics.count.astype(np.float64))
        gathered["busy"].append(np.minimum(100 * figures.busy * rate / span, 100.0))
    columns = {name: np.concatenate(parts) for name, parts in gathered.items()}
    zeros = np.concatenate(
        [np.empty(0, np.int64), *(p.statistics.figures.zeros for p in answer.parts)]
    )
    rates = np.array([float(p.open_trace.axis.ns_per_tick) for p in answer.parts])
    most_expensive = np.argsort(-columns["total_ns"], kind="stable")
    labels = [labels[i] for i in most_expensive.tolist()]
    small = tuple(label.lower() for label in labels)
    order = np.empty(len(labels), np.int64)
    order[sorted(range(len(small)), key=small.__getitem__)] = np.arange(len(labels))
    return SelectionContents(
        answer,
        part[most_expensive],
        group[most_expensive],
        tuple(labels),
        small,
        order,
        {name: column[most_expensive] for name, column in columns.items()},
        zeros[most_expensive],
        (ROUNDING_TICKS * rates)[part[most_expensive]],
    )


def _copied(selection_contents: SelectionContents, rows: Ints) -> Copied:
    header, columns = plain_columns(selection_contents, rows)
    return header, (map(str, values) for values in zip(*columns, strict=True))


def _duration(
    name: str, width: int, more: str = _INSIDE, leaves: int = 0
) -> PanelColumn[SelectionContents]:
    return column_of(STATISTICS[name], width, more, leaves=leaves,
        text=lambda c, i: c.time(name, i),
        keys=lambda c: c.columns[name],
        fractions=lambda c: c.columns[name],
        tone="text1" if name == "total_ns" else "text2",
    )  # fmt: skip


SELECTION: PanelTable[SelectionContents] = PanelTable(
    "Selection",
    (
        PanelColumn("", key="name", title_of=lambda c: GROUP_TITLES[c.answer.key], tone="text1",
            text=lambda c, i: name_text(c.labels[i]), keys=lambda c: c.order,
            tooltip=lambda c, i: c.labels[i][:_LONGEST]),
        PanelColumn("File", width=140, text=SelectionContents.file, keys=lambda c: c.part, leaves=5,
            tooltip=lambda c, i: c.file(i)[:_LONGEST], is_unused=lambda c: not c.several_files),
        column_of(STATISTICS["count"], 76,
            "A slice inside another one of its group, such as a kernel in its call, is a part of "
            "that one.",
            text=lambda c, i: group_digits(int(c.columns["count"][i])),
            keys=lambda c: c.columns["count"]),
        _duration("total_ns", 96),
        _duration("self_ns", 96, "All groups together are the whole.", 7),
        _duration("mean_ns", 92, leaves=6),
        _duration("min_ns", 92, leaves=2),
        _duration("p50_ns", 92, leaves=1),
        _duration("p90_ns", 92, leaves=3),
        _duration("max_ns", 92, leaves=4),
        PanelColumn("Busy, %", ColumnKind.NUMBER, 72,
            "Percentage of the selected time in which at least one slice of the group is active.",
            text=lambda c, i: f"{c.columns['busy'][i]:.1f}", keys=lambda c: c.columns["busy"]),
    ),
    least=240,
    rows=lambda c: np.arange(len(c.labels)),
    holds=SelectionContents.holds,
    copied=_copied,
    most_copied=2000,  # writing that many takes 50 ms
    rest="Export writes all rows",
)  # fmt: skip


def plain_columns(
    selection_contents: SelectionContents, rows: Ints
) -> tuple[list[str], list[list[object]]]:
    """Return rows as columns with headings: ns, rounded down, and exact ticks next to them."""
    answer, own = selection_contents.answer, selection_contents.columns
    part, group = selection_contents.part[rows], selection_contents.group[rows]
    plain = {name: np.zeros(len(rows), object) for name in _PLAIN}
    for position, answer_part in enumerate(answer.parts):
        in_part, figures = part == position, answer_part.statistics.figures
        rate = answer_part.open_trace.axis.ns_per_tick
        for name, of_groups in (*_ticks(figures).items(), ("busy", figures.busy)):
            ticks = of_groups[group[in_part]]
            # Sums that overflow int64 are floats; they stay floats.
            is_exact = ticks.dtype.kind == "i" and name not in _MEANS
            plain[f"{name}_ns"][in_part] = (
                ticks_to_ns(ticks, rate) if is_exact else ticks * float(rate)
            )
            if f"{name}_ticks" in plain:
                plain[f"{name}_ticks"][in_part] = ticks
    columns: dict[str, list[Any]] = {
        answer.key: [selection_contents.labels[i] for i in rows.tolist()],
        "file": [display_name(answer.parts[i].open_trace.file.path) for i in part.tolist()],
        "count": own["count"][rows].astype(np.int64).tolist(),
        **{name: values.tolist() for name, values in plain.items()},
        "busy_percent": own["busy"][rows].tolist(),
    }
    return list(columns), list(columns.values())


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
        answer = self._feed.answer
        if answer is None:
            return None
        return Question(contents_of, (answer,), sum(len(part.statistics) for part in answer.parts))

    def empty_state(self) -> Sentence:
        return Sentence(NOTHING if self._session.traces else NO_SLICES)

    def clear_page(self) -> None:
        self.model.show(None)

    def show_answer(self, contents: SelectionContents) -> None:
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
    if cut := sum(part.statistics.cut for part in answer.parts):
        texts.append(f"{counted(cut, 'slice')} clipped to the range")
    if foreign := sum(part.statistics.foreign for part in answer.parts):
        texts.append(f"{group_digits(foreign)} with separate clocks left out")
    if rated := sum(part.statistics.rated for part in answer.parts):
        apart = format_time(sum(part.statistics.delegate_ns for part in answer.parts))
        texts[-1] += f", {group_digits(rated)} with {apart} on the delegate's clock"
    if derived := sum(part.statistics.doubled for part in answer.parts):
        texts.append(
            f"{group_digits(derived)} derived slices left out, because their parts are counted"
        )
    if unfinished := sum(part.statistics.unfinished for part in answer.parts):
        texts.append(f"{group_digits(unfinished)} without an end left out")
    if gaps := sum(part.statistics.gaps for part in answer.parts):
        texts.append(f"{counted(gaps, 'gap')} of unattributed time")
    return " · ".join(texts)
