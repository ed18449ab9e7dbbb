"""Table rows of the Statistics panel: NPU units, changes between two arms, and a second key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal, Slot

from viewer.analysis.comparison.levels import (
    DELEGATE,
    LEVELS_OF_CALLS,
    LINE,
    MODULE,
    NAME,
    NODE,
    SET,
    TYPE,
    UNIT,
)
from viewer.analysis.statistics.group_keys import ARGUMENT, KEYS, argument_names
from viewer.analysis.statistics.group_table import Group, GroupTable
from viewer.analysis.statistics.npu_units import has_units
from viewer.analysis.statistics.pivot import PivotTable, refused
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.operator_model import (
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
    term_heading,
)
from viewer.gui.panels.base.table import ColumnKind, Heading
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.model import figures
from viewer.model.recorded_names import LOCATION
from viewer.model.times import format_time, group_digits, percent_digits, tick_to_ns
from viewer.tables.statistics import THEN, pivot_rows, wall_times
from viewer.view.open_trace import OpenTrace

if TYPE_CHECKING:
    from viewer.view.open_comparison import OpenComparison
    from viewer.workspace.exports import ExportJob


# Nesting level and color token of each row. Numbered slice units use "slice_unit".
_PLACES: dict[str, tuple[int, str]] = {
    "dma_cdma": (0, "unit_dma"),
    "dma": (1, "unit_dma"),
    "dma_in": (2, "unit_dma"),
    "dma_out": (2, "unit_dma"),
    "cdma": (1, "unit_dma"),
    "compute": (0, "unit_compute"),
    "slice": (1, "unit_compute"),
    "slice_unit": (2, "unit_compute"),
    "css": (1, "unit_compute"),
    "only_dma": (0, "unit_dma"),
    "only_compute": (0, "unit_compute"),
    "overlap": (0, "unit_both"),
    "nss": (0, "unit_compute"),
    "host": (0, "unit_host"),
    "host_programs": (1, "unit_host"),
    "host_copy": (1, "unit_host"),
    "hal": (0, "unit_host"),
    "busy": (0, "text3"),
    "idle": (0, "slab"),
    "overall": (0, "slab"),
}
# Tooltips of the rows whose name does not explain what they count.
_MEANINGS = {
    "dma_cdma": "DMA In, DMA Out and CDMA together; an instant counts once",
    "dma": "DMA In and DMA Out together; an instant counts once",
    "compute": "Slice units and CSS together; an instant counts once",
    "slice": "All slice units together; an instant counts once",
    "only_dma": "Transfers are active, no slice unit and no CSS",
    "only_compute": "Slice units or CSS are active, no transfer",
    "overlap": "Transfers are active at the same time as slice units or CSS",
    "nss": "A job of the sequencer is active: any of the NPU's units may be active",
    "host": "All work of the processor in the runtime, except waiting",
    "host_programs": "Programs that run on the processor, a part of Host",
    "host_copy": "Copies by the processor, a part of Host",
    "hal": "What the HAL does itself, outside the dispatches that it calls",
    "busy": "Any of the rows above is active",
    "idle": "Nothing is active; a waiting host does not count",
    "overall": "From the earliest start to the latest end",
}
_ORDER = {key: number for number, key in enumerate(_PLACES)}

# The levels of a comparison by the keys of the panel. Threads and inferences of two files do not
# belong together.
_LEVELS = {
    "operator": SET, "node": NODE, "type": TYPE, "module": MODULE, "line": LINE, "name": NAME,
    "unit": UNIT, "location": LOCATION, "delegate": DELEGATE,
}  # fmt: skip
# Levels that need no program.
_WITHOUT_PROGRAM = (NAME, UNIT, LOCATION)
TITLES = {
    "unit": "Unit", "operator": "Operator", "node": "Node", "type": "Operator type",
    "module": "Module", "line": "Line", "caller": "Called from", "location": "Location",
    "kernel": "Kernel", "delegate": "Delegate", "backend": "Backend", "count": "Count",
    "thread": "Thread", "process": "Process", "rank": "Rank", "inference": "Inference",
    "category": "Category", "name": "Name",
}  # fmt: skip
# Fields of the search by the keys of groups.
_FIELDS = {
    "name": "name", "category": "category", "thread": "thread", "process": "process",
    "module": "module", "type": "type",
}  # fmt: skip
_ALONE = "Then by …"
_MOST_ARGUMENTS = 60  # in the box
# Above the table, after what its figures are.
_OVERLAPPING = "units overlap"


@dataclass(frozen=True, eq=False, slots=True)
class GroupChanges:
    """The groups of a key in two arms as a table."""

    compared: OpenComparison
    level: str
    contents: OperatorContents

    @property
    def subtitle(self) -> str:
        """What the figures are."""
        text = self.compared.subtitle
        sessions = self.compared.arms[0].sessions
        is_overview = self.level == UNIT and any(has_units(s.table.trace) for s in sessions)
        return f"{text} · {_OVERLAPPING}" if is_overview else text


def level_of(open_comparison: OpenComparison | None, key: str) -> str:
    """Return the level that shows the changes by a key, "" if one profile's figures are shown."""
    level = _LEVELS.get(key, "")
    if open_comparison is None or not level:
        return ""
    if level == DELEGATE:
        return level if open_comparison.calls.a.level in LEVELS_OF_CALLS else ""
    is_linked = all(open_comparison.program(side) is not None for side in (0, 1))
    return level if is_linked or level in _WITHOUT_PROGRAM else ""


def not_compared(open_comparison: OpenComparison, path: str) -> str:
    """Return that figures are those of one profile: "A only", "not compared" if it is in no arm."""
    side = open_comparison.side_of(path)
    return "not compared" if side is None else f"{'AB'[side]} only"


def list_groups(open_comparison: OpenComparison, level: str, title: str) -> GroupChanges:
    """Return the changes of all groups of a level, the largest first."""
    from viewer.gui.panels.base.compared_operators import compared_contents

    return GroupChanges(open_comparison, level, compared_contents(open_comparison.at(level), title))


def unit_contents(open_trace: OpenTrace, table: GroupTable, title: str) -> OperatorContents:
    """Return the rows of NPU units, nested, with cycles if the clock counts cycles."""
    rate = open_trace.axis.ns_per_tick
    cycles = open_trace.trace.clock.unit == "cycle"
    columns: RowColumns[Group] = (
        (Heading("Time", ColumnKind.TIME, 92, "Time in which the unit is active."),
            lambda group: (format_time(ns := tick_to_ns(group.total, rate)), ns)),
        (term_heading(figures.share(table.share_of, "Time"), ColumnKind.SHARE, 200),
            lambda group: (percent_digits(group.share), group.share)),
        *([(Heading("Cycles", ColumnKind.NUMBER, 92),
            lambda group: (group_digits(group.total), group.total))] if cycles else ()),
    )  # fmt: skip
    rows = []
    for group in sorted(table.groups, key=lambda group: (_ORDER[_place(group.key)], group.key)):
        indent, tone = _PLACES[_place(group.key)]
        cells = *cells_of(columns, group, group.label), group.share, tone
        detail = _MEANINGS.get(group.key, "")
        rows.append(TableRow((), "", group.label, "", *cells, indent=indent, detail=detail))
    return OperatorContents(headings_of(title, columns), tuple(rows))


def _place(key: str) -> str:
    return "slice_unit" if key.startswith("slice_unit_") else key


class ThenBox(ComboBox):
    """The box of second keys: those that the trace has, then the arguments of its slices."""

    picked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setAccessibleName("Statistics then by")
        self.setToolTip("Divide each group by a second key")
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToContents)
        self._offered: tuple[OpenTrace, str] | None = None
        self.chosen = ""
        self.activated.connect(self._pick)

    def offer_keys(self, trace: OpenTrace, first: str) -> str:
        """List the second keys after a first one, and return the chosen one, "" for none."""
        grouping = trace.grouping
        if self._offered == (trace, first):
            self.setVisible(self.count() > 1)
            return self.chosen_key
        self._offered = trace, first
        names = argument_names(trace.trace)[:_MOST_ARGUMENTS]
        keys = {key: TITLES[key] for key in KEYS}
        keys |= {f"{ARGUMENT}{name}": f"Argument {name}" for name in names}
        with QSignalBlocker(self):
            self.clear()
            self.addItem(_ALONE, "")
            for key, title in keys.items():
                if not refused(grouping, (first, key)):
                    self.addItem(f"then by {title}", key)
            self.setCurrentIndex(max(self.findData(self.chosen), 0))
        self.setVisible(self.count() > 1)
        return self.chosen_key

    @property
    def chosen_key(self) -> str:
        """The second key on screen, "" for none."""
        return str(self.currentData() or "")

    def forget(self) -> None:
        """Release the trace whose keys are offered: it may be closed."""
        self._offered = None

    @Slot(int)
    def _pick(self, index: int) -> None:
        self.chosen = str(self.itemData(index) or "")
        self.picked.emit()


def pivot_job(path: str, trace: OpenTrace, pivoted: PivotTable) -> ExportJob:
    """Return a job that writes the cells of a pivot as a table."""
    from viewer.workspace.exports import table_job

    table, rate = pivoted.table, trace.axis.ns_per_tick
    _, rows = pivot_rows(trace.trace.path, rate, pivoted, wall_times(table, rate))
    keys = {"by": table.key, "then_by": pivoted.then}
    names = list(dict.fromkeys(["file", *keys, "label", THEN.name, *(n for r in rows for n in r)]))
    columns = {name: [keys.get(name, row.get(name)) for row in rows] for name in names}
    return table_job(path, names, columns)


def query_of_groups(keys: Sequence[str], labels: Sequence[str]) -> str:
    """Return a search for the slices of some groups, one of each key; "" if a key has none."""
    words = []
    for key, label in zip(keys, labels, strict=False):
        name = key.removeprefix(ARGUMENT)
        if '"' in label + name:
            return ""
        if key.startswith(ARGUMENT):
            words.append(f'{ARGUMENT}"{name}"="{label}"')
        elif key in _FIELDS:
            text = label.partition(" > ")[2] if key == "thread" else label
            words.append(f'{_FIELDS[key]}:"{text}"')
        else:
            return ""
    return " ".join(words)
