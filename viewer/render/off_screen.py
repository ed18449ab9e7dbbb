"""What blank tracks hold out of view: how many slices before and after it, and when. No Qt.

A track is blank if none of its rows shows a slice or a zero-length mark in the visible range, but
some have slices outside of it. Each row takes one or two binary searches. Only tracks in view are
looked at, and in each process only down to the first blank one with room for a chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass
from viewer.render.arrangement import TrackList
from viewer.render.layout import BandKind, TimelineLayout
from viewer.render.lod import DrawnSlices
from viewer.render.raster import RowRaster
from viewer.render.time_axis import Axis, XMap

# Names are compared up to this number of slices, so that the cost of a frame stays limited.
MOST_COMPARED = 4096


@dataclass(frozen=True, slots=True)
class OffScreen:
    """The slices of a track on one side of the view.

    count: how many. first, last: ticks of the first start and of the last end. parts: their
    positions, per row as a range [first, end). order: the slice at each position, None if these are
    0, 1, 2 ....
    """

    count: int
    first: int
    last: int
    parts: tuple[tuple[int, int], ...]
    order: Codes | None = None

    def sole(self, codes: Codes) -> int | None:
        """Return one of the slices if all have the same code, else None; codes: per slice.

        Also None for more than `MOST_COMPARED` slices.
        """
        if self.count > MOST_COMPARED:
            return None
        parts = [
            np.arange(begin, end) if self.order is None else self.order[begin:end]
            for begin, end in self.parts
        ]
        number = int(parts[0][0])
        same = all((codes[part] == codes[number]).all() for part in parts)
        return number if same else None


@dataclass(frozen=True, slots=True)
class OffScreenSides:
    """What a blank track has out of view: before the visible range and after it, one at least."""

    before: OffScreen | None
    after: OffScreen | None

    def is_around(self, xmap: XMap) -> bool:
        """Return whether everything is surely out of view; xmap: in ticks of the trace."""
        low, high = xmap.ends.tolist()
        before, after = self.before, self.after
        return (before is None or before.last < low) and (after is None or after.first >= high)


@dataclass(frozen=True, slots=True)
class BlankTrack:
    """A track in view that shows nothing; trace, track: as in the layout.

    band: its first row with room for chips, -1 if none has.
    """

    trace: int
    track: int
    band: int
    sides: OffScreenSides


class TracksInView:
    """The tracks on some lines of a layout, and which of them are blank in a time range.

    It remembers a slice in view for each track, as most of them are in view in the next frame too,
    and what surrounds the view on blank ones.
    """

    def __init__(self, layout: TimelineLayout, lines: tuple[int, int], least: int) -> None:
        """lines: [y0, y1) of the content. least: px of a row with room for a chip."""
        bands = layout.bands_between(*lines)
        bands = bands[layout.track[bands] >= 0]
        track, trace = layout.track[bands], layout.trace[bands]
        is_first = np.ones(len(bands), np.bool_)
        # The last pinned track may continue in the first one below, after the end of its section.
        is_first[1:] = (track[1:] != track[:-1]) | (np.diff(bands) != 1)
        is_first[1:] |= trace[1:] != trace[:-1]
        first = bands[is_first]
        self._trace = layout.trace[first]
        self._traces: list[int] = np.unique(self._trace).tolist()
        self._owners: list[tuple[int, int, int, int]] = np.column_stack(
            [layout.process[first], self._trace, layout.track[first], layout.row[first]]
        ).tolist()
        # Which bands are rows of at least some height that are visible entirely.
        top, tall = layout.y[bands], layout.height[bands]
        # The pinned section covers the others down to its lower edge.
        upper = lines[0] + np.where(bands < layout.pinned, 0, layout.stuck_height)
        fits: Bools = (layout.kind[bands] == BandKind.ROW) & (tall >= least)
        roomy = np.flatnonzero(fits & (top >= upper) & (top + tall <= lines[1]))
        track_of_roomy, first_roomy = np.unique(np.cumsum(is_first)[roomy] - 1, return_index=True)
        self._roomy = np.full(len(first), -1, np.int64)
        self._roomy[track_of_roomy] = bands[roomy[first_roomy]]
        self._known = np.full(len(first), -1, np.int64)  # a drawn slice of the first row of each
        self._blank: dict[int, OffScreenSides] = {}  # of tracks that were blank

    def blank(
        self, track_list: TrackList, traces: Sequence[tuple[RowRaster, Axis]], xmap: XMap
    ) -> Iterator[BlankTrack]:
        """Yield blank tracks from top to bottom, per process up to the first with room for a chip.

        The pinned tracks count as one process. traces: per trace its rows and the axis of their
        ticks. xmap: the visible range on the axis in ns.
        """
        done: set[int] = set()
        for index in self._without_known(traces, xmap).tolist():
            process, trace, track, row = self._owners[index]
            if process in done:
                continue
            raster, axis = traces[trace]
            here = xmap.on(axis)
            sides = self._blank.get(index)
            if sides is None or not sides.is_around(here):
                lo, hi = raster.in_view(row, here)
                if hi > lo:
                    self._known[index] = (lo + hi) // 2
                    continue
                sides = off_screen(raster, track_list, (trace, track), here)
            if sides is not None:
                self._blank[index] = sides
                band = int(self._roomy[index])
                if band >= 0:
                    done.add(process)
                yield BlankTrack(trace, track, band, sides)

    def _without_known(self, traces: Sequence[tuple[RowRaster, Axis]], xmap: XMap) -> Ints:
        """Return the positions of the tracks whose known slice, if there is one, is not in view."""
        lost = np.ones(len(self._known), np.bool_)
        for number in self._traces:
            raster, axis = traces[number]
            rows = np.flatnonzero((self._trace == number) & (self._known >= 0))
            if len(rows):
                # In view is what starts before the last edge and reaches the end of a column.
                here, slices, drawn = xmap.on(axis), self._known[rows], raster.drawn
                lost[rows] = drawn.end[slices] < here.end_edges[1]
                lost[rows] |= drawn.start[slices] >= here.edges[-1]
        return np.flatnonzero(lost)


def off_screen(
    raster: RowRaster, track_list: TrackList, part: tuple[int, int], xmap: XMap
) -> OffScreenSides | None:
    """Return what a track has out of view, None unless it is blank.

    All of its rows count, also those that are folded away. part: its (trace, number). xmap: the
    visible range in ticks of its trace.
    """
    track = track_list.track_of(part)
    if track < 0:
        return None
    drawn = raster.drawn
    before, after = _Sum(), _Sum()
    rows = slice(*track_list.row_ptr[track : track + 2].tolist())
    for row in track_list.row[rows].tolist():
        lo, hi = raster.in_view(row, xmap)
        if hi > lo:
            return None
        first, last = drawn.row_ptr[row : row + 2].tolist()
        zero_first, zero_last = drawn.zero_ptr[row : row + 2].tolist()
        zero = zero_first
        if zero_last > zero_first:
            begin, end = drawn.zero_time[zero_first:zero_last].searchsorted(xmap.ends).tolist()
            if end > begin:
                return None
            zero += begin
        before.add(drawn, (first, lo), (zero_first, zero))
        after.add(drawn, (lo, last), (zero, zero_last))
    sides = OffScreenSides(before.result(), after.result())
    return sides if sides.before or sides.after else None


class _Sum:
    """Adds up the slices of several rows on one side of the view."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int]] = []
        self._order: Codes | None = None
        self._ends: list[int] = []  # ticks

    def add(self, drawn: DrawnSlices, longs: tuple[int, int], zeros: tuple[int, int]) -> None:
        """Add the slices of a row; longs, zeros: those with and without a length, [first, end)."""
        if longs[1] > longs[0]:
            # Slices of a row do not overlap, so the last one ends last.
            self._ends += int(drawn.start[longs[0]]), int(drawn.end[longs[1] - 1])
        if zeros[1] > zeros[0]:
            self._ends += drawn.zero_time[[zeros[0], zeros[1] - 1]].tolist()
        # In the trace both are sorted by start, so those on one side are next to one another.
        begin, end = longs[0] + zeros[0], longs[1] + zeros[1]
        if end > begin:
            self._parts.append((begin, end))
            self._order = drawn.order

    def result(self) -> OffScreen | None:
        """Return the sum, None without slices."""
        if not self._parts:
            return None
        count = sum(end - begin for begin, end in self._parts)
        return OffScreen(count, min(self._ends), max(self._ends), tuple(self._parts), self._order)
