"""The rows of a clock group as they are stacked in the window, with their boxes, for files.

Only the first rows are kept if there are very many, and it is counted how many are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from viewer.arrays import Bools
from viewer.model.text import one_line
from viewer.render.arrangement import TrackView
from viewer.render.axis.xmap import Axis
from viewer.render.color_schemes import DEFAULT
from viewer.render.layout import BandKind, TimelineLayout
from viewer.render.stacking import Density, stack
from viewer.render.track_table import NO_TRACKS, TrackList, track_list
from viewer.view.clock_groups import ClockGroup
from viewer.view.open_trace import OpenTrace
from viewer.view.slice_colors import palette_of
from viewer.view.static_timeline.boxes import Boxes, boxes_of


@dataclass(frozen=True, eq=False)
class TimelineBands:
    """The bands of the traces of one clock, and what they are called.

    traces: all open ones. layout: the bands; `stack` made them. left_out: how many rows are not
    among them. span_ns: start and end of the axis.
    """

    traces: Sequence[OpenTrace]
    group: ClockGroup
    track_list: TrackList
    layout: TimelineLayout
    left_out: int
    span_ns: tuple[int, int]

    @cached_property
    def titles(self) -> list[str]:
        """The title of each band, on one line: of a process, a track's first row, or a counter."""
        layout, titles = self.layout, list[str]()
        before: tuple[int, int] | None = None
        for band, kind in enumerate(layout.kind.tolist()):
            trace, track = int(layout.trace[band]), int(layout.track[band])
            title, part = "", (trace, track) if track >= 0 else None
            if kind == BandKind.PROCESS:
                title = self.track_list.processes[int(layout.process[band])].name
            elif kind == BandKind.COUNTER:
                title = self.traces[trace].counters[int(layout.counter[band])].counter.name
            elif part is not None and part != before:
                title = self.traces[trace].tracks.names[track]
            titles.append(one_line(title))
            before = part
        return titles

    def axis(self, trace: int) -> Axis:
        """Return the axis of one trace."""
        return self.traces[trace].axis

    def boxes(
        self,
        trace: int,
        *,
        most: int,
        most_groups: int,
        cell_ns: float = 0,
        span: tuple[int, int] | None = None,
        focus: tuple[int, int] | None = None,
    ) -> Boxes:
        """Return the boxes of a trace; their rows are the bands of the layout. See `boxes_of`.

        cell_ns: the shortest time that is divided into several groups. span: only slices that are
        at least partly in this range of the axis, in ns. focus: a range of which more slices are
        exact.
        """
        shown, layout = self.traces[trace], self.layout
        slices = shown.trace.slices
        color = palette_of(shown, DEFAULT)
        cell = max(int(cell_ns / float(shown.axis.ns_per_tick)), 1)
        is_zero = slices.start == slices.end
        is_seen, is_in_focus = self._is_within(trace, span), self._is_within(trace, focus)
        parts = []
        for kind in (BandKind.ROW, BandKind.STRIP):
            own = np.flatnonzero((layout.kind == kind) & (layout.trace == trace))
            band_of_row = np.full(len(slices.row_track), -1, np.int64)
            band_of_row[layout.row[own]] = own
            band = band_of_row[slices.rows()]
            is_own = is_seen & (band >= 0) & (is_zero == (kind == BandKind.STRIP))
            number = np.flatnonzero(is_own)
            found = boxes_of(
                (slices.start[number], slices.end[number]),
                band[number],
                number,
                color[number],
                most=most if kind == BandKind.ROW else most // 4,
                most_groups=most_groups if kind == BandKind.ROW else most_groups // 4,
                least_cell=cell,
                focus=None if focus is None else is_in_focus[number],
            )
            parts.append(found)
        return Boxes.joined(parts)

    def _is_within(self, trace: int, span: tuple[int, int] | None) -> Bools:
        """Return which slices of a trace are at least partly in a range of the axis."""
        shown, slices = self.traces[trace], self.traces[trace].trace.slices
        if span is None:
            return np.ones(len(slices), np.bool_)
        first, last = (shown.axis.to_ticks_floor(ns) for ns in span)
        found: Bools = (slices.start <= last) & (slices.end >= first)
        return found


def timeline_bands(
    traces: Sequence[OpenTrace], group: ClockGroup, most_rows: int, *, counters: bool = True
) -> TimelineBands:
    """Return the bands of a clock group, at most about `most_rows` of them.

    counters: whether those of the traces are included.
    """
    own = [shown if number in group.traces else None for number, shown in enumerate(traces)]
    found = track_list(
        [NO_TRACKS if shown is None else shown.tracks for shown in own],
        [shown.axis for shown in traces],
        [
            []
            if shown is None or not counters
            else [(c.counter.process, c.counter.name) for c in shown.counters]
            for shown in own
        ],
    )
    layout = stack(found, TrackView(), density=Density.AUTOMATIC)
    layout, left_out = _cut(layout, most_rows)
    return TimelineBands(traces, group, found, layout, left_out, _span(traces, group))


def _span(traces: Sequence[OpenTrace], group: ClockGroup) -> tuple[int, int]:
    spans = [
        traces[number].whole_span_ns for number in group.traces if len(traces[number].trace.slices)
    ]
    first = min((start for start, _ in spans), default=0)
    return first, max(max((end for _, end in spans), default=0), first + 1)


def _cut(layout: TimelineLayout, most: int) -> tuple[TimelineLayout, int]:
    """Return the first bands, and how many rows of slices and counters are left out."""
    if len(layout.kind) <= most:
        return layout, 0
    names = (
        "kind", "y", "height", "slice_height", "process", "trace", "track", "row", "counter",
    )  # fmt: skip
    rest = np.isin(layout.kind[most:], (BandKind.ROW, BandKind.STRIP, BandKind.COUNTER))
    cut = replace(layout, **{name: getattr(layout, name)[:most] for name in names})
    return cut, int(rest.sum())
