"""A strip of the durations of inferences in their order; a click shows one of them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu

from viewer.gui.panels.base.chart import InferenceChart
from viewer.gui.panels.summary.phases import CourseBar, course_bars
from viewer.gui.qt.theme.theme import Theme
from viewer.model.times import format_time
from viewer.model.trace import Run
from viewer.model.trace_attributes import WorkUnit
from viewer.view.open_trace import OpenTrace

HINT = (
    "Durations of inferences in their order. Click one to show it; its menu names, merges and "
    "splits phases."
)


class CourseStrip(InferenceChart):
    """The durations. `picked(position in Trace.runs)`: an inference was clicked or reached by keys.
    `menu_of(menu, position in Trace.runs)`: the context menu of an inference is about to open.

    With more inferences than pixels, a bar is the longest one of several.
    """

    picked = Signal(int)
    menu_of = Signal(QMenu, int)

    def __init__(
        self, bars: Sequence[CourseBar], current: int, theme: Theme, unit: WorkUnit
    ) -> None:
        """current: the position of the inference that is shown, -1 for none."""
        place = next((i for i, bar in enumerate(bars) if bar.run == current), -1)
        ns, phases = [bar.ns for bar in bars], [bar.phase for bar in bars]
        texts = [bar.text for bar in bars]
        super().__init__(ns, texts, phases, place, theme, may_be_log=True)
        self.setAccessibleDescription(unit.worded(HINT))
        low, high = format_time(min(ns)), format_time(max(ns))
        self.setAccessibleName(f"{unit.counted(len(bars))}, {low} to {high}")
        self._runs = [bar.run for bar in bars]
        self.chosen.connect(lambda bar: self.picked.emit(self._runs[bar]))

    def _add_actions(self, menu: QMenu, box: int) -> None:
        self.menu_of.emit(menu, self._runs[box])
        menu.addSeparator()


def strip_of(open_trace: OpenTrace, inference: Run | None, theme: Theme) -> CourseStrip:
    """Return the strip of a trace. inference: the one that is shown."""
    current = next((i for i, run in enumerate(open_trace.file.runs) if run is inference), -1)
    return CourseStrip(course_bars(open_trace), current, theme, open_trace.file.unit)
