"""Table model of the selection's groups: sorted and filtered as columns, texts created on demand.

A selection can have as many groups as slices: a million. So rows are positions in columns, a filter
searches each group once, and a cell's text is created when it is painted. Every duration has the
unit that suits it; copies and exports have whole ns, and the file's ticks next to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject

from viewer.analysis.statistics import figure_terms
from viewer.arrays import Floats, Ints
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.column_table import TableColumn
from viewer.gui.qt.widgets.table_model import ArrayModel, any_fraction_of_ns, tsv_text
from viewer.gui.session.feeds.selection_statistics import SelectionAnswer
from viewer.model.text import display_name
from viewer.model.times import format_bounded, group_digits, ticks_to_ns
from viewer.model.timing import ROUNDING_TICKS

GROUP_TITLES = {"name": "Name", "operator": "Operator", "module": "Module", "thread": "Thread"}
_LONGEST = 2000  # characters of a name in a tooltip
_INSIDE = "Of a slice that crosses the edge of the area, only the part inside counts."


class SelectionColumn(TableColumn):
    """The columns; the title of the first is what the slices are grouped by."""

    NAME = ("", 0)
    FILE = ("File", 140)
    COUNT = (
        figure_terms.COUNT.title,
        76,
        figure_terms.COUNT.explained(
            "A slice inside another one of its group, such as a kernel in its call, is a part of "
            "that one."
        ),
    )
    TOTAL = (figure_terms.TOTAL.title, 96, figure_terms.TOTAL.explained(_INSIDE))
    SELF = (
        figure_terms.SELF.title,
        96,
        figure_terms.SELF.explained("All groups together are the whole."),
    )
    MEAN = (figure_terms.MEAN.title, 92, figure_terms.MEAN.explained(_INSIDE))
    MIN = (figure_terms.MIN.title, 92, figure_terms.MIN.explained(_INSIDE))
    P50 = (figure_terms.MEDIAN.title, 92, figure_terms.MEDIAN.explained(_INSIDE))
    P90 = (figure_terms.P90.title, 92, figure_terms.P90.explained(_INSIDE))
    MAX = (figure_terms.MAX.title, 92, figure_terms.MAX.explained(_INSIDE))
    BUSY = (
        "Busy, %",
        72,
        "Percentage of the selected time in which at least one slice of the group is active.",
    )

    @property
    def is_time(self) -> bool:
        """Whether it holds a duration."""
        return self not in (
            SelectionColumn.NAME,
            SelectionColumn.FILE,
            SelectionColumn.COUNT,
            SelectionColumn.BUSY,
        )


COLUMNS = tuple(SelectionColumn)


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
    columns: Mapping[SelectionColumn, Floats]
    zeros: Ints
    cut: Floats


def contents_of(answer: SelectionAnswer) -> SelectionContents:
    """Return the rows of an answer. Pure."""
    sizes = [len(part.found) for part in answer.parts]
    part = np.repeat(np.arange(len(sizes)), sizes)
    group = np.concatenate([np.empty(0, np.int64), *(np.arange(size) for size in sizes)])
    labels = [label for answer_part in answer.parts for label in answer_part.found.labels]
    gathered: dict[SelectionColumn, list[NDArray[Any]]] = {
        cell: [np.empty(0)] for cell in COLUMNS[2:]
    }
    for answer_part in answer.parts:
        figures, rate = answer_part.found.figures, float(answer_part.shown.axis.ns_per_tick)
        span = max(answer_part.span[1] - answer_part.span[0], 1)
        statistics = figures.statistics
        for cell, ticks in (
            (SelectionColumn.TOTAL, statistics.total),
            (SelectionColumn.SELF, figures.self_ticks),
            (SelectionColumn.MEAN, statistics.avg),
            (SelectionColumn.MIN, statistics.min),
            (SelectionColumn.P50, statistics.p50),
            (SelectionColumn.P90, statistics.p90),
            (SelectionColumn.MAX, statistics.max),
        ):
            gathered[cell].append(ticks * rate)
        gathered[SelectionColumn.COUNT].append(statistics.count.astype(np.float64))
        gathered[SelectionColumn.BUSY].append(np.minimum(100 * figures.busy * rate / span, 100.0))
    columns = {cell: np.concatenate(parts) for cell, parts in gathered.items()}
    zeros = np.concatenate([np.empty(0, np.int64), *(p.found.figures.zeros for p in answer.parts)])
    rates = np.array([float(p.shown.axis.ns_per_tick) for p in answer.parts])
    most_expensive = np.argsort(-columns[SelectionColumn.TOTAL], kind="stable")
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
        {cell: column[most_expensive] for cell, column in columns.items()},
        zeros[most_expensive],
        (ROUNDING_TICKS * rates)[part[most_expensive]],
    )


class SelectionModel(ArrayModel[SelectionColumn]):
    """The rows of a `SelectionContents`, sorted and filtered."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, theme, parent)
        self.contents: SelectionContents | None = None
        self._fractions: frozenset[SelectionColumn] = frozenset()
        self._titles: tuple[str, ...] = tuple(cell.title for cell in COLUMNS)

    def show(self, contents: SelectionContents | None) -> None:
        """Show the groups of an answer, or nothing. Sort order and filter stay."""
        self.beginResetModel()
        self.contents = contents
        if contents is not None:
            self._fractions = frozenset(
                cell
                for cell, values in contents.columns.items()
                if cell.is_time and any_fraction_of_ns(values)
            )
            self._titles = tuple(self._title(cell, contents.answer.key) for cell in COLUMNS)
        self._arrange()
        self.endResetModel()

    def _title(self, cell: SelectionColumn, key: str) -> str:
        return GROUP_TITLES[key] if cell is SelectionColumn.NAME else cell.title

    @property
    def several_files(self) -> bool:
        """Whether the groups belong to more than one trace."""
        return self.contents is not None and len(self.contents.answer.parts) > 1

    def _arrange(self) -> None:
        shown = self.contents
        if shown is None:
            self.rows = np.empty(0, np.int64)
            return
        rows = np.arange(len(shown.labels))
        for word in self._filter.lower().split():
            rows = rows[np.array([word in shown.small[i] for i in rows.tolist()], np.bool_)]
        if self._sort is not None:
            cell = COLUMNS[self._sort[0]]
            keys: NDArray[Any] = (
                shown.order
                if cell is SelectionColumn.NAME
                else shown.part
                if cell is SelectionColumn.FILE
                else shown.columns[cell]
            )
            rows = self._sorted(rows, keys)
        self.rows = rows

    def row_of(self, trace: int, slice: int) -> int:
        """Return the row of a slice's group, -1 if it is not shown."""
        shown = self.contents
        if shown is None:
            return -1
        for position, part in enumerate(shown.answer.parts):
            at = int(np.searchsorted(part.found.index, slice))
            if part.number == trace and at < len(part.found.index):
                if int(part.found.index[at]) != slice:
                    return -1
                group = int(part.found.group[at])
                in_group = (shown.part == position) & (shown.group == group)
                found = np.flatnonzero(in_group[self.rows])
                return int(found[0]) if len(found) else -1
        return -1

    def members(self, row: int) -> tuple[int, Ints, int]:
        """Return the trace of a row, the indices of its slices, and the longest of them."""
        assert self.contents is not None
        i = int(self.rows[row])
        part = self.contents.answer.parts[int(self.contents.part[i])]
        found = part.found.members(int(self.contents.group[i]))
        slices = part.shown.trace.slices
        longest = found[int(np.argmax(slices.end[found] - slices.start[found]))]
        return part.number, found, int(longest)

    def total_ns(self, row: int) -> int:
        """Return the summed duration of a row's slices, in ns."""
        assert self.contents is not None
        return int(self.contents.columns[SelectionColumn.TOTAL][int(self.rows[row])])

    # -- texts ---------------------------------------------------------------------------------

    def tsv(self, rows: Iterable[int]) -> str:
        """Return rows and headings as tab-separated text with plain numbers."""
        header, columns = self.table(np.array(list(rows), np.int64))
        return tsv_text(header, (map(str, values) for values in zip(*columns, strict=True)))

    def table(self, rows: Ints | None = None) -> tuple[list[str], list[list[object]]]:
        """Return headings and columns of some rows, by default of all shown rows, for a file."""
        shown = self.contents
        if shown is None:
            return [], []
        return plain_columns(shown, self.rows if rows is None else self.rows[rows])

    def text(self, i: int, cell: SelectionColumn) -> str:
        assert self.contents is not None
        if cell is SelectionColumn.NAME:
            return self.contents.labels[i]
        if cell is SelectionColumn.FILE:
            part = self.contents.answer.parts[int(self.contents.part[i])]
            return display_name(part.shown.file.path)
        value = float(self.contents.columns[cell][i])
        if cell is SelectionColumn.COUNT:
            return group_digits(int(value))
        if cell is SelectionColumn.BUSY:
            return f"{value:.1f}"
        zeros = int(self.contents.zeros[i])
        if cell not in (SelectionColumn.TOTAL, SelectionColumn.SELF):
            zeros = min(zeros, 1)
        elif self.contents.columns[SelectionColumn.TOTAL][i]:
            zeros = 0  # the self time of a row with a total is what it is
        return format_bounded(value, zeros, self.contents.cut[i])

    # -- Qt interface --------------------------------------------------------------------------

    def titles(self) -> Sequence[str]:
        return self._titles

    def is_right(self, column: int) -> bool:
        return COLUMNS[column] not in (SelectionColumn.NAME, SelectionColumn.FILE)

    def is_time(self, column: int) -> bool:
        return COLUMNS[column].is_time

    def has_fractions(self, column: int) -> bool:
        return COLUMNS[column] in self._fractions

    def title_tip(self, column: int) -> str:
        return COLUMNS[column].tip

    def tooltip(self, i: int, cell: SelectionColumn) -> str:
        is_text = cell in (SelectionColumn.NAME, SelectionColumn.FILE)
        return self.text(i, cell)[:_LONGEST] if is_text else ""

    def tone(self, i: int, cell: SelectionColumn) -> str:
        return "text1" if cell in (SelectionColumn.NAME, SelectionColumn.TOTAL) else "text2"


def plain_columns(shown: SelectionContents, rows: Ints) -> tuple[list[str], list[list[object]]]:
    """Return rows as columns with headings: ns, rounded down, and exact ticks next to them."""
    by_part: dict[str, NDArray[Any]] = {}
    size = len(rows)
    part, group = shown.part[rows], shown.group[rows]
    for position, answer_part in enumerate(shown.answer.parts):
        in_part = part == position
        group_of_row, rate = group[in_part], answer_part.shown.axis.ns_per_tick
        figures = answer_part.found.figures
        for name, ticks in (
            ("total", figures.statistics.total),
            ("self", figures.self_ticks),
            ("min", figures.statistics.min),
            ("max", figures.statistics.max),
            ("busy", figures.busy),
        ):
            # Sums that overflow int64 are floats; they stay floats.
            is_exact = ticks.dtype.kind == "i"
            ns = (
                ticks_to_ns(ticks[group_of_row], rate)
                if is_exact
                else ticks[group_of_row] * float(rate)
            )
            by_part.setdefault(f"{name}_ns", np.zeros(size, object))[in_part] = ns
            by_part.setdefault(f"{name}_ticks", np.zeros(size, object))[in_part] = ticks[
                group_of_row
            ]
        for name, floats in (
            ("mean", figures.statistics.avg),
            ("p50", figures.statistics.p50),
            ("p90", figures.statistics.p90),
        ):
            by_part.setdefault(f"{name}_ns", np.zeros(size))[in_part] = floats[
                group_of_row
            ] * float(rate)
    texts = [shown.labels[i] for i in rows.tolist()]
    files = [display_name(shown.answer.parts[i].shown.file.path) for i in part.tolist()]
    header, columns = [shown.answer.key, "file", "count"], [texts, files]
    columns.append(shown.columns[SelectionColumn.COUNT][rows].astype(np.int64).tolist())
    for name in (
        "total_ns",
        "self_ns",
        "mean_ns",
        "min_ns",
        "p50_ns",
        "p90_ns",
        "max_ns",
        "busy_ns",
        "total_ticks",
        "self_ticks",
    ):
        header.append(name)
        columns.append(by_part[name].tolist() if name in by_part else [])
    header.append("busy_percent")
    columns.append(shown.columns[SelectionColumn.BUSY][rows].tolist())
    return header, columns
