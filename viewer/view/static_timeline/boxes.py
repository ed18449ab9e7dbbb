"""What a picture of limited size shows of many slices: the longest ones exactly, groups of others.

A group is one or more neighbors on a row that are too short to be drawn alone. It never reaches
over a slice that is drawn exactly, and its figures are exact: its first start, its last end, how
many slices it has, and how long they last together. Nothing is done per slice but array operations.

Rows of a clock group are stacked as in the window. Only the first rows are kept if there are very
many, and it is counted how many are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.model.intervals import durations
from viewer.model.text import one_line
from viewer.render.arrangement import TrackView
from viewer.render.axis.xmap import Axis
from viewer.render.color_schemes import DEFAULT
from viewer.render.layout import BandKind, TimelineLayout
from viewer.render.lod import Lengths, weights_of
from viewer.render.palette import Palette
from viewer.render.stacking import Density, stack
from viewer.render.track_table import NO_TRACKS, TrackList, track_list
from viewer.view.clock_groups import ClockGroup
from viewer.view.open_trace import OpenTrace
from viewer.view.slice_colors import palette_of


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
        open_trace, layout = self.traces[trace], self.layout
        slices = open_trace.trace.slices
        color = palette_of(open_trace, DEFAULT)
        cell = max(int(cell_ns / float(open_trace.axis.ns_per_tick)), 1)
        is_zero = slices.start == slices.end
        is_seen, is_in_focus = self._is_within(trace, span), self._is_within(trace, focus)
        parts = []
        for kind in (BandKind.ROW, BandKind.STRIP):
            bands = np.flatnonzero((layout.kind == kind) & (layout.trace == trace))
            rows = slices.rows_drawn
            band_of_row = np.full(len(rows.row_track), -1, np.int64)
            band_of_row[layout.row[bands]] = bands
            band = band_of_row.repeat(np.diff(rows.row_ptr))
            if slices.drawn_rows is not None:
                band = band[slices.drawn_rows.position]
            is_own = is_seen & (band >= 0) & (is_zero == (kind == BandKind.STRIP))
            number = np.flatnonzero(is_own)
            if slices.drawn_rows is not None:
                number = slices.drawn_rows.index[is_own[slices.drawn_rows.index]].astype(np.int64)
            boxes = boxes_of(
                (slices.start[number], slices.end[number]),
                band[number],
                number,
                color[number],
                most=most if kind == BandKind.ROW else most // 4,
                most_groups=most_groups if kind == BandKind.ROW else most_groups // 4,
                least_cell=cell,
                focus=None if focus is None else is_in_focus[number],
            )
            parts.append(boxes)
        return Boxes.joined(parts)

    def _is_within(self, trace: int, span: tuple[int, int] | None) -> Bools:
        """Return which slices of a trace are at least partly in a range of the axis."""
        open_trace, slices = self.traces[trace], self.traces[trace].trace.slices
        if span is None:
            return np.ones(len(slices), np.bool_)
        first, last = (open_trace.axis.to_ticks_floor(ns) for ns in span)
        mask: Bools = (slices.start <= last) & (slices.end >= first)
        return mask


def timeline_bands(
    traces: Sequence[OpenTrace], group: ClockGroup, most_rows: int, *, counters: bool = True
) -> TimelineBands:
    """Return the bands of a clock group, at most about `most_rows` of them.

    counters: whether those of the traces are included.
    """
    open_traces = [
        open_trace if number in group.traces else None for number, open_trace in enumerate(traces)
    ]
    tracks = track_list(
        [NO_TRACKS if open_trace is None else open_trace.tracks for open_trace in open_traces],
        [open_trace.axis for open_trace in traces],
        [
            []
            if open_trace is None or not counters
            else [(c.counter.process, c.counter.name) for c in open_trace.counters]
            for open_trace in open_traces
        ],
    )
    layout = stack(tracks, TrackView(), density=Density.AUTOMATIC)
    layout, left_out = _cut(layout, most_rows)
    return TimelineBands(traces, group, tracks, layout, left_out, _span(traces, group))


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


GROUP = -1  # in `Boxes.slice`
_LONGEST_CELL = 63  # as a power of two, of uint64 ticks


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Slices and groups of slices, sorted by (row, start), as columns of equal length.

    row: as given. start, end: ticks. slice: the number of the slice, `GROUP` for several. count:
    the slices in it. busy: how many ticks they last together (uint64). color: palette index, for a
    group that of its longest slice.
    """

    row: Ints
    start: Ints
    end: Ints
    slice: Ints
    count: Ints
    busy: Lengths
    color: Palette

    def __len__(self) -> int:
        return len(self.row)

    @property
    def is_group(self) -> Bools:
        """Which boxes are groups of several slices."""
        mask: Bools = self.slice == GROUP
        return mask

    @property
    def exact_count(self) -> int:
        """How many slices are drawn exactly."""
        return int((self.slice != GROUP).sum())

    @property
    def slice_count(self) -> int:
        """How many slices there are, in groups too."""
        return int(self.count.sum())

    @staticmethod
    def joined(parts: list[Boxes]) -> Boxes:
        """Return the boxes of several parts, one part after the other."""
        if not parts:
            none = np.empty(0, np.int64)
            return Boxes(
                none, none, none, none, none, none.astype(np.uint64), none.astype(np.uint8)
            )
        return Boxes(
            np.concatenate([part.row for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.slice for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.busy for part in parts]),
            np.concatenate([part.color for part in parts]),
        )


def boxes_of(
    slices: tuple[Ints, Ints],
    row: Ints,
    number: Ints,
    color: Palette,
    *,
    most: int,
    most_groups: int,
    least_cell: int = 1,
    focus: Bools | None = None,
) -> Boxes:
    """Return at most about `most + most_groups` boxes for some slices.

    slices: the starts and ends of the slices, in ticks, sorted by (row, start); those of a row do
    not overlap. row, number, color: of each. The `most` longest are exact; if several are equally
    long, those that are spread evenly. Others are grouped by cells of time, which are at least
    `least_cell` ticks and as long as needed for `most_groups`. focus: of some slices, a quarter of
    `most` more are exact, the longest of them.
    """
    start, end = slices
    if not len(start):
        return Boxes.joined([])
    length = durations(start, end)
    is_exact = _longest(length, most)
    if focus is not None:
        rows = np.flatnonzero(focus & ~is_exact)
        is_exact[rows[_longest(length[rows], most // 4)]] = True
    first, is_group = _runs(start, row, is_exact, most_groups, int(end.max()), least_cell)
    last = np.append(first[1:], len(start)) - 1
    count = last - first + 1
    weight = np.maximum.reduceat(weights_of(start, end, color), first)
    group = is_group & (count > 1)
    return Boxes(
        row[first].astype(np.int64),
        start[first],
        end[last],
        np.where(group, GROUP, number[first]).astype(np.int64),
        count.astype(np.int64),
        np.add.reduceat(length, first),
        (weight & np.uint32(0xFF)).astype(np.uint8),
    )


def _longest(length: NDArray[np.uint64], most: int) -> Bools:
    """Return which slices are the `most` longest; of equally long ones, evenly spread ones."""
    if len(length) <= most:
        return np.ones(len(length), np.bool_)
    if most <= 0:
        return np.zeros(len(length), np.bool_)
    limit = np.partition(length, len(length) - most)[len(length) - most]
    mask: Bools = length > limit
    equal = np.flatnonzero(length == limit)
    wanted = most - int(mask.sum())
    mask[equal[np.arange(wanted) * len(equal) // wanted]] = True
    return mask


def _runs(
    start: Ints, row: Ints, is_exact: Bools, most: int, end: int, least_cell: int
) -> tuple[Ints, Bools]:
    """Return the first slice of each box, and whether it is one of the others.

    most: of the boxes of others, unless exact slices and rows divide them into more.
    """
    row_changes = np.flatnonzero(np.diff(row) != 0) + 1
    others = np.flatnonzero(~is_exact)
    is_first = is_exact.copy()
    is_first[0] = True
    is_first[row_changes] = True
    after = np.flatnonzero(is_exact) + 1
    is_first[after[after < len(start)]] = True
    origin = start.min()
    elapsed = durations(origin, start[others])
    span = max(end - int(origin), 1)
    follows = np.flatnonzero(~is_first[others])  # may join the one before
    begun = len(others) - len(follows)

    def splits(shift: int) -> Ints:
        cell = elapsed >> np.uint64(shift)
        return np.asarray(follows[cell[follows] != cell[follows - 1]])

    # Cells of 2**shift ticks: the shortest ones with few enough boxes, found by bisection.
    low, high = max(least_cell.bit_length() - 1, 0), max(span.bit_length(), 1)
    while low < high:
        middle = (low + high) // 2
        if begun + len(splits(middle)) <= most:
            high = middle
        else:
            low = middle + 1
    split = splits(min(low, _LONGEST_CELL))
    is_first[others[split]] = True
    first = np.flatnonzero(is_first)
    return first, ~is_exact[first]
