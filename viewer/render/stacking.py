"""Stacks the visible parts into the bands of a `TimelineLayout`.

Pinned tracks come first, below a header. Then, for each process: a header, the rows of its tracks
with strips for zero-length slices, the plans of a track of measured jobs, and its counters.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass
from viewer.render.arrangement import Arrangement, TrackList, TrackView, arrange
from viewer.render.layout import (
    COMPACT_ROW,
    COUNTER_HEIGHT,
    HEADER_HEIGHT,
    KERNEL_HEIGHT,
    PROCESS_GAP,
    ROW_HEIGHT,
    SLICE_HEIGHT,
    STRIP_HEIGHT,
    BandKind,
    TimelineLayout,
)

LOWEST_COUNTER, LOWEST_ZERO_STRIP = 16, 8  # px
LEAST_KERNEL = 12  # px in compact rows, so that labels fit; lower rows have kernels in proportion
MANY_LEVELS = 8  # a process with a track of more rows is compact if the density is automatic
# px: the lanes of the units in a row of plans, and one line of text below them.
PLAN_AREA, COMPACT_PLAN_AREA = 36, 24
PLAN_LINE = 13
LEAST_LANE, MOST_LANE = 2, 6
_LABEL = 16  # px, a line of a label in a 13 px font
_LOW_ROWS = (ROW_HEIGHT + COMPACT_ROW) // 2  # px; below lower rows, plans are compact too
# The height of the pinned section is a whole number of device pixels at 125 and 150 % too.
_WHOLE = 4


class Density(Enum):
    """The height of rows that the user has not set; automatic depends on the number of levels."""

    COMFORTABLE = "comfortable"
    COMPACT = "compact"
    AUTOMATIC = "automatic"


def stack(
    track_list: TrackList,
    view: TrackView,
    arrangement: Arrangement | None = None,
    density: Density = Density.COMFORTABLE,
    font_scale: float = 1.0,
    *,
    is_titled: bool = False,
) -> TimelineLayout:
    """Stack the visible part of a track list, from top to bottom.

    A folded process keeps its header, a folded track its first row. The arrangement is computed
    unless given. font_scale: as in `usual_heights`. is_titled: whether something above already
    names the only process of a list, which then needs no header.
    """
    seen = arrange(track_list, view) if arrangement is None else arrangement
    height = row_heights(track_list, view, density, font_scale)
    on_top = _rows_of(track_list, seen.pinned, seen.folded, height, font_scale)
    below = _rows_of(track_list, seen.tracks, seen.folded, height, font_scale)
    processes = seen.processes
    rows = np.bincount(below.process, minlength=len(track_list.processes))[processes]
    plotted = np.array([len(numbers) for numbers in seen.counters], np.int64)
    pinned = len(on_top.row) + 2 if len(seen.pinned) else 0
    gap = np.ones(len(processes), np.int64)
    gap[:1] = 0  # it follows nothing, or the end of the pinned section
    named = np.ones(len(processes), np.int64)
    if is_titled and is_single(track_list, view):
        named[:] = 0
    end = pinned + np.cumsum(gap + named + rows + plotted)
    first = end - plotted - rows
    header = (first - 1)[named > 0]
    total = int(end[-1]) if len(end) else pinned

    bands = _Bands.of(total, BandKind.GAP)
    bands.height[:] = PROCESS_GAP
    if pinned:
        bands.kind[0], bands.height[0] = BandKind.PROCESS, HEADER_HEIGHT
        bands.put(np.arange(1, pinned - 1), on_top)
        bands.process[:pinned] = -1
        above = int(bands.height[: pinned - 1].sum()) + PROCESS_GAP
        bands.height[pinned - 1] += -above % _WHOLE
    trace = np.array([process.trace for process in track_list.processes], np.int64)
    bands.kind[header], bands.height[header] = BandKind.PROCESS, HEADER_HEIGHT
    bands.process[header], bands.trace[header] = processes[named > 0], trace[processes[named > 0]]
    bands.put(_within(first, rows), below)
    counter = _within(first + rows, plotted)
    owner = np.repeat(processes, plotted)
    bands.kind[counter], bands.process[counter] = BandKind.COUNTER, owner
    bands.trace[counter] = trace[owner]
    bands.height[counter] = np.maximum(height * COUNTER_HEIGHT // ROW_HEIGHT, LOWEST_COUNTER)[owner]
    bands.counter[counter] = [number for numbers in seen.counters for number in numbers]
    return TimelineLayout(
        kind=bands.kind.astype(np.uint8),
        y=np.cumsum(bands.height) - bands.height,
        height=bands.height,
        slice_height=bands.slice_height,
        process=bands.process,
        trace=bands.trace,
        track=bands.track,
        row=bands.row,
        counter=bands.counter,
        pinned=pinned,
    )


def is_single(track_list: TrackList, view: TrackView) -> bool:
    """Return whether a list has one process only, which is not folded."""
    return len(track_list.processes) == 1 and track_list.processes[0].part not in view.collapsed


@dataclass(frozen=True)
class _Bands:
    """The columns of a layout under construction."""

    kind: Ints
    height: Ints
    slice_height: Ints
    process: Ints
    trace: Ints
    track: Ints
    row: Ints
    counter: Ints

    @staticmethod
    def of(size: int, kind: BandKind) -> _Bands:
        """Return `size` bands of a kind that belong to nothing."""
        nothing = [np.full(size, -1, np.int64) for _ in range(5)]
        return _Bands(
            np.full(size, kind), np.zeros(size, np.int64), np.zeros(size, np.int64), *nothing
        )

    def put(self, places: Ints, bands: _Bands) -> None:
        """Set the bands at some positions to others."""
        for name in ("kind", "height", "slice_height", "process", "trace", "track", "row"):
            getattr(self, name)[places] = getattr(bands, name)


def _rows_of(
    track_list: TrackList, tracks: Ints, folded: Bools, height: Ints, font_scale: float
) -> _Bands:
    """Return the rows, strips and plans of some tracks, in order; height: row height per process.

    A folded track has no plans.
    """
    size = np.diff(track_list.row_ptr)[tracks]
    fold = folded[tracks]
    size = np.where(fold, np.minimum(size, 1), size)
    owner = np.repeat(tracks, size)
    rows = _within(track_list.row_ptr[tracks], size)
    closed = np.repeat(fold, size)
    planned = np.zeros(len(rows), np.bool_)
    lanes = np.full(len(track_list.names), -1)
    for part, count in track_list.plan_lanes.items():
        if (track := track_list.track_of(part)) >= 0:
            lanes[track] = count
    planned[(np.cumsum(size) - 1)[size > 0]] = (lanes[tracks] >= 0)[size > 0]
    # A folded track keeps one row so that it can be unfolded, even if it only has a strip.
    drawn = np.column_stack(
        [
            track_list.has_lengths[rows] | closed,
            track_list.has_zeros[rows] & ~closed,
            planned & ~closed,
        ]
    )
    band = np.flatnonzero(drawn)
    kind = np.array([BandKind.ROW, BandKind.STRIP, BandKind.PLAN])[band % 3]
    rows, owner, is_row = rows[band // 3], owner[band // 3], kind == BandKind.ROW
    process = track_list.process[owner]
    strip = np.clip(height, LOWEST_ZERO_STRIP, STRIP_HEIGHT)[process]
    kernels = height * KERNEL_HEIGHT // ROW_HEIGHT
    compact = (height >= COMPACT_ROW) & (kernels < LEAST_KERNEL)
    kernels = np.where(compact, LEAST_KERNEL, kernels)[process]
    lower = np.where(track_list.kernels[rows], kernels, _slice_height(height)[process])
    tall = np.where(is_row, height[process], strip)
    for plan in np.flatnonzero(kind == BandKind.PLAN).tolist():
        tall[plan] = plan_height(int(lanes[owner[plan]]), int(height[process[plan]]), font_scale)
    return _Bands(
        kind=kind,
        height=tall,
        slice_height=np.where(is_row, lower, 0),
        process=process,
        trace=track_list.trace[owner],
        track=track_list.number[owner],
        row=np.where(kind == BandKind.PLAN, -1, track_list.row[rows]),
        counter=np.empty(0, np.int64),
    )


def plan_height(lanes: int, row_height: int, font_scale: float = 1.0) -> int:
    """Return the height in px of a row of plans: its lanes and two lines of text.

    row_height: that of the rows above it. font_scale: as in `usual_heights`.
    """
    area = PLAN_AREA if row_height >= _LOW_ROWS else COMPACT_PLAN_AREA
    return max(area, LEAST_LANE * lanes) + 2 * round(PLAN_LINE * font_scale)


@dataclass(frozen=True, slots=True)
class PlanRoom:
    """The parts of a row of plans, in px from its top.

    area: the height of a plan; the text lines of height `line` are below it. first: the top of the
    first lane. lane: the height of each.
    """

    area: int
    line: int
    first: int
    lane: int


def plan_room(height: int, lanes: int, font_scale: float = 1.0) -> PlanRoom:
    """Return the parts of a row of plans of some height, as `plan_height` gives it."""
    line = round(PLAN_LINE * font_scale)
    area = height - 2 * line
    lane = min(max(area // max(lanes, 1), LEAST_LANE), MOST_LANE)
    return PlanRoom(area, line, max(area - lane * lanes, 0) // 2, lane)


def _slice_height(row: Ints) -> Ints:
    """Return the slice height for a row height: a tenth, at least 1 px, is spacing."""
    height: Ints = row - np.maximum(row * (ROW_HEIGHT - SLICE_HEIGHT) // ROW_HEIGHT, 1)
    return height


def usual_heights(track_list: TrackList, density: Density, font_scale: float = 1.0) -> Ints:
    """Return the row height of each process in px, as long as the user sets no other.

    font_scale: the size of labels relative to that of a 13 px font; rows grow with it.
    """
    compact = max(COMPACT_ROW, round(COMPACT_ROW * font_scale))
    # The label grows, and not the room around it: in large fonts, rows leave room for panels.
    comfortable = ROW_HEIGHT + max(round(_LABEL * (font_scale - 1)), 0)
    processes = len(track_list.processes)
    if density is not Density.AUTOMATIC:
        height = compact if density is Density.COMPACT else comfortable
        return np.full(processes, height, np.int64)
    levels = np.zeros(processes, np.int64)
    np.maximum.at(levels, track_list.process, np.diff(track_list.row_ptr))
    return np.where(levels > MANY_LEVELS, compact, comfortable)


def row_heights(
    track_list: TrackList, view: TrackView, density: Density, font_scale: float = 1.0
) -> Ints:
    """Return the row height of each process in px: the user's choice, else `usual_heights`."""
    heights = usual_heights(track_list, density, font_scale)
    for part, height in view.heights:
        process = track_list.process_of(part)
        if process >= 0:
            heights[process] = height
    return heights


def _within(first: Ints, size: Ints) -> Ints:
    """Return size[0] integers from first[0] on, then size[1] from first[1] on, and so on."""
    before = np.cumsum(size) - size
    return np.repeat(first - before, size) + np.arange(int(size.sum()))
