"""What the window keeps beside each open trace: labels, costs, and other views of its inferences.

All of it is worked out of a workspace and frozen columns alone. So the session has it made off the
GUI thread where a trace is large, and shows the answer once it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.link_table import Link, LinkTable
from viewer.arrays import Codes, Ints
from viewer.model.inference_views import Inferences, aligned_runs, has_run_views, mean_run
from viewer.model.queries import NATIVE_DURATION, NATIVE_UNIT
from viewer.model.times import NARROW_SPACE, ClockRate, format_time, group_digits
from viewer.model.trace import Trace
from viewer.render.color_schemes import (
    DEFAULT,
    Classes,
    LengthRange,
    operator_colors,
)
from viewer.render.counter_raster import CounterRaster
from viewer.render.layout import Axis
from viewer.render.palette import Palette
from viewer.render.raster import RowRaster
from viewer.render.track_table import TrackTable
from viewer.view.tick_facts import TickFacts
from viewer.workspace.workspace import Workspace

# Up to so many slices links, labels, views and rasters take less than 50 ms: no thread.
AT_ONCE = 20_000


@dataclass(eq=False)  # one is equal to itself alone
class OpenTrace:
    """What the window keeps beside one open trace, all made once.

    trace: what is shown; file: what was read. They differ where inferences are aligned or meant.
    palettes: the palette index of every slice, by scheme, as far as the timeline has asked;
    classes: what these colors mean. drawing: what the timeline draws with, and the palette that
    this is made for. facts: what follows from the slices alone.
    """

    file: Trace
    trace: Trace
    table: LinkTable
    axis: Axis
    rate: ClockRate
    labels: Codes
    label_strings: tuple[str, ...]
    costs: Costs
    facts: TickFacts
    palettes: dict[str, Palette] = field(default_factory=dict)
    classes: dict[str, Classes] = field(default_factory=dict)
    drawing: tuple[Palette, RowRaster] | None = None
    _operators: dict[str, Palette] = field(default_factory=dict)

    @property
    def counters(self) -> tuple[CounterRaster, ...]:
        """The counters of its units."""
        return self.facts.counters

    @property
    def tracks(self) -> TrackTable:
        """Its tracks and rows, to be stacked."""
        return self.facts.tracks

    @property
    def left_out(self) -> int:
        """How many inferences of the file this view of them has no room for."""
        return self.facts.left_out

    @property
    def lengths(self) -> LengthRange | None:
        """The shortest and longest slice in ticks."""
        return self.facts.lengths

    @property
    def barred(self) -> dict[str, str]:
        """Scheme -> why slices cannot be colored by it, for those that they cannot."""
        return self.facts.barred

    def operator_colors(self, scheme: str) -> Palette:
        """The palette index of every operator of its program under a scheme, for swatches."""
        if scheme not in self._operators:
            real = DEFAULT if scheme in self.barred else scheme
            self._operators[scheme] = operator_colors(real, self.table)
        return self._operators[scheme]

    def placed(self, axis: Axis, rate: ClockRate) -> OpenTrace:
        """The same at another rate or place; labels, costs, colors and facts are of ticks."""
        return replace(self, axis=axis, rate=rate)

    def label(self, i: int) -> str:
        """What slice i is called on screen."""
        return self.label_strings[int(self.labels[i])]

    def link(self, i: int) -> Link:
        """The link of slice i."""
        return self.table.links[int(self.trace.slices.key[i])]

    def slices_of(self, operators: tuple[int, ...]) -> Ints:
        """Every slice of one operator, alone or shared; or those of exactly a set of several."""
        hit = self.table.keys_of(operators, exact=len(operators) != 1)
        return np.flatnonzero(hit[self.trace.slices.key])

    def span_ns(self, i: int) -> tuple[int, int]:
        """Where slice i lies on the common axis."""
        slices = self.trace.slices
        return self.axis.to_ns(int(slices.start[i])), self.axis.to_ns(int(slices.end[i]))

    def native(self, i: int, column: str = NATIVE_DURATION) -> tuple[str, str] | None:
        """What a clock of its own measured of slice i, as number and unit.

        None if the clock of the file timed it; else its extent is for drawing only.
        """
        columns = self.trace.slices.columns
        value = columns[column].value(i) if column in columns else None
        if value is None or isinstance(value, str):
            return None
        unit = columns[NATIVE_UNIT].value(i) if NATIVE_UNIT in columns else None
        number = group_digits(value) if isinstance(value, int) else f"{value:g}"
        return number, str(unit or "ticks")

    def length_text(self, i: int) -> str:
        """How long slice i took: "1.252 µs", or in the unit of its own clock "5 000 cycles"."""
        native = self.native(i)
        if native is not None:
            return NARROW_SPACE.join(native)
        start, end = self.span_ns(i)
        return format_time(end - start)


# By the trace of a file, and how its inferences are shown.
Views = Mapping[tuple[Trace, Inferences], OpenTrace]
Work = Callable[[OpenTrace], object]


def views_of(
    space: Workspace, wanted: Collection[Inferences], known: Views, also: Sequence[Work] = ()
) -> dict[tuple[Trace, Inferences], OpenTrace]:
    """The wanted views of every trace of a workspace, and all known ones that still hold.

    also: what is done with each that is made anew, as long as nobody waits for it.
    """
    views: dict[tuple[Trace, Inferences], OpenTrace] = {}
    for trace in space.traces:
        table, rate = space.links(trace), space.clocks.rate(trace)
        for view in Inferences:
            old = known.get((trace, view))
            if old is None and view not in wanted:
                continue
            axis = _axis(space, trace, view)
            if old is not None and old.table.links is table.links:
                kept = old.axis == axis and old.rate == rate
                views[trace, view] = old if kept else old.placed(axis, rate)
            elif view in wanted:
                made = views[trace, view] = _opened(trace, table, axis, rate, view)
                if old is not None and old.trace is made.trace:
                    made.drawing = old.drawing
                for work in also:
                    work(made)
    return views


def _axis(space: Workspace, trace: Trace, inferences: Inferences) -> Axis:
    as_run = inferences is Inferences.AS_RUN or not has_run_views(trace)
    return Axis(space.clocks.ns_per_tick(trace), space.clocks.offset_ns(trace) if as_run else 0)


def _opened(
    trace: Trace, table: LinkTable, axis: Axis, rate: ClockRate, inferences: Inferences
) -> OpenTrace:
    """One trace as it is shown; the links of its keys hold for every view of it."""
    shown = trace
    if inferences is not Inferences.AS_RUN and has_run_views(trace):
        shown = aligned_runs(trace) if inferences is Inferences.ALIGNED else mean_run(trace)
        table = replace(table, trace=shown)
    labels, strings = slice_labels(table)
    return OpenTrace(
        trace, shown, table, axis, rate, labels, strings, Costs(table), TickFacts(trace, table)
    )
