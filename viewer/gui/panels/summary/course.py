"""A strip of the durations of inferences in their order; a click shows one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu

from viewer.analysis.findings.sequence import rate_text
from viewer.analysis.sequence.wall_time import WallPart
from viewer.analysis.summary.medians import MedianInference
from viewer.gui.panels.base.inference_chart import InferenceChart
from viewer.gui.qt.theme.theme import Theme
from viewer.model.inferences.logged_methods import series_of
from viewer.model.times import format_time, group_digits, tick_to_ns
from viewer.model.trace import Run, Trace
from viewer.model.work_unit import WorkUnit
from viewer.view.open_trace import OpenTrace

_WALL_TOKENS = ("slab", "accent", "unit_compute", "unit_both", "unit_host", "unit_dma")
MOST_INFERENCES = 12  # more are not listed one by one
HINT = (
    "Durations of inferences in their order. Click one to show it; its menu names, merges and "
    "splits phases."
)


@dataclass(frozen=True, slots=True)
class CourseBar:
    """One inference: its position in `Trace.runs`, its ns, the number of its phase, and a text."""

    run: int
    ns: int
    phase: int
    text: str


def course_bars(open_trace: OpenTrace) -> tuple[CourseBar, ...]:
    """Return the finished inferences of a trace in order of time."""
    trace: Trace = open_trace.file
    rate = open_trace.axis.ns_per_tick
    at = [i for i, run in enumerate(trace.runs) if run.number and run.finished]
    at.sort(key=lambda i: trace.runs[i].start)
    series = list(dict.fromkeys(series_of(trace, trace.runs[i]) for i in at))
    place = {one: number for number, one in enumerate(series)}
    return tuple(
        CourseBar(
            i,
            (ns := tick_to_ns(run.end - run.start, rate)),
            place[series_of(trace, run)],
            ", ".join(filter(None, (f"{run.unit.title} {run.number}", run.phase, format_time(ns)))),
        )
        for i in at
        for run in (trace.runs[i],)
    )


def course_texts(open_trace: OpenTrace, of: Sequence[MedianInference]) -> Iterator[tuple[str, int]]:
    """Yield the levels and the rate of each phase, with the inference that a text leads to, or -1.

    of: the median of each phase or method.
    """
    rate, runs = open_trace.axis.ns_per_tick, open_trace.file.runs
    unit = open_trace.file.unit
    for median_inference in of:
        own = series_of(open_trace.file, runs[median_inference.run])
        for level in median_inference.levels:
            name = f"{median_inference.name} from" if median_inference.name else "From"
            time = format_time(tick_to_ns(level.ticks, rate))
            text = f"{name} {unit.noun} {group_digits(level.first)} on: {time}"
            text += f" ({level.factor:.2f} times)" if level.factor != 1 else ""
            at = (i for i, run in enumerate(runs) if run.number == level.first)
            yield text, next(i for i in at if series_of(open_trace.file, runs[i]) == own)
        if median_inference.rate is not None and (
            text := rate_text(
                median_inference.rate, rate, unit.in_phase(median_inference.name).noun
            )
        ):
            yield (f"{median_inference.name}: {text}" if median_inference.name else text), -1


def wall_parts(wall: Sequence[WallPart], rate: Fraction) -> list[tuple[str, str, int]]:
    """Return the name, color token and ns of each part of the wall time; idle ones are hatched."""
    busy = [part.name for part in wall if not part.is_idle]
    tokens = {name: _WALL_TOKENS[at % len(_WALL_TOKENS)] for at, name in enumerate(busy)}
    return [
        (wall_part.name, tokens.get(wall_part.name, ""), tick_to_ns(wall_part.ticks, rate))
        for wall_part in wall
    ]


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


def strip_of(open_trace: OpenTrace, inference: Run | None, theme: Theme) -> CourseStrip | None:
    """Return the strip of a trace, None if all of its inferences are listed. inference: shown."""
    bars = course_bars(open_trace)
    if len(bars) <= MOST_INFERENCES:
        return None
    current = next((i for i, run in enumerate(open_trace.file.runs) if run is inference), -1)
    return CourseStrip(bars, current, theme, open_trace.file.unit)
