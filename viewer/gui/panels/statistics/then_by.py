"""The second key of the Statistics panel: its box, and the export of what it shows."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Signal, Slot

from viewer.analysis.statistics.group_keys import KEYS
from viewer.analysis.statistics.pivot import PivotTable, refused
from viewer.analysis.statistics.slice_keys import ARGUMENT, argument_names
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.tables.statistics import THEN, pivot_rows, wall_times
from viewer.view.open_trace import OpenTrace
from viewer.workspace.exports import ExportJob, table_job

TITLES = {
    "unit": "Unit", "operator": "Operator", "node": "Node", "type": "Operator type",
    "module": "Module", "line": "Line", "caller": "Called from", "location": "Location",
    "kernel": "Kernel", "delegate": "Delegate", "backend": "Backend", "count": "Count",
    "thread": "Thread", "process": "Process", "rank": "Rank", "inference": "Inference",
    "category": "Category", "name": "Name",
}  # fmt: skip
_ALONE = "Then by …"
_MOST_ARGUMENTS = 60  # in the box


class ThenBox(ComboBox):
    """The box of second keys: those that the trace has beside the first one, then its arguments."""

    picked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setAccessibleName("Statistics then by")
        self.setToolTip("Divide each group by a second key")
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToContents)
        self._offered: tuple[OpenTrace, str] | None = None
        self.chosen = ""
        self.activated.connect(self._pick)

    def offer_keys(self, shown: OpenTrace, first: str) -> str:
        """List the second keys after a first one, and return the chosen one, "" for none."""
        grouping = shown.grouping
        if self._offered == (shown, first):
            return self.chosen_key
        self._offered = shown, first
        names = argument_names(shown.trace)[:_MOST_ARGUMENTS]
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

    @Slot(int)
    def _pick(self, index: int) -> None:
        self.chosen = str(self.itemData(index) or "")
        self.picked.emit()


def pivot_job(path: str, shown: OpenTrace, pivoted: PivotTable) -> ExportJob:
    """Return a job that writes the cells of a pivot as a table."""
    table, rate = pivoted.table, shown.axis.ns_per_tick
    _, rows = pivot_rows(shown.trace.path, rate, pivoted, wall_times(table, rate))
    keys = {"by": table.key, "then_by": pivoted.then}
    names = list(dict.fromkeys(["file", *keys, "label", THEN.name, *(n for r in rows for n in r)]))
    columns = {name: [keys.get(name, row.get(name)) for row in rows] for name in names}
    return table_job(path, names, columns)
