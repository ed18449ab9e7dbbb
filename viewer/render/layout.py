"""Positions on the canvas: rows as lines, and logical pixels as device pixels. Pure and exact.

Drawing, labeling and hit testing use `TimelineLayout`, so that a slice and its label always align.
Rows are rasterized in device pixels, so that slices stay sharp at 125 or 200 %. Texts and outlines
are painted in logical pixels, which Qt scales.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.dataclasses import dataclass, field, replace

ROW_HEIGHT, COMPACT_ROW = 30, 14
SLICE_HEIGHT = 27
KERNEL_HEIGHT = 22
SLICE_TOP = 1
STRIP_HEIGHT = 12
HEADER_HEIGHT = 26
PROCESS_GAP = 8
COUNTER_HEIGHT = 34


class BandKind(IntEnum):
    """The kind of one horizontal band of the timeline."""

    PROCESS = 0  # the header of a process
    ROW = 1  # slices of one row
    STRIP = 2  # the zero-length slices of the row above
    GAP = 3  # space between processes
    COUNTER = 4  # one counter of a process, as an area
    PLAN = 5  # the plans of the jobs on the track above


# A part that can be folded, hidden or moved: process (trace, name) or track (trace, number).
HeaderPart = tuple[int, str | int]


@dataclass(frozen=True)
class TimelineLayout:
    """The horizontal bands of the timeline from top to bottom, as dense columns.

    kind: `BandKind`. y, height: pixels from the top of the content. slice_height: of a row's
    slices, which start `SLICE_TOP` below y; 0 elsewhere. process: index into the processes given to
    `stack`, -1 for gaps and for the pinned tracks. trace, track, row, and counter (a number within
    the trace): -1 if none.

    The first `pinned` bands are the section of the pinned tracks. While it is `stuck`, it covers
    the content at the line scrolled to (see `scrolled`), and hides what is below it. So does the
    header of the process whose rows are there: `sticky` is its band, -1 without one, and
    `sticky_height` how much of it is visible, since the next process pushes it out of view.
    `plain_y`: y before both were moved, None if that is y.
    """

    kind: NDArray[np.uint8]
    y: Ints
    height: Ints
    slice_height: Ints
    process: Ints
    trace: Ints
    track: Ints
    row: Ints
    counter: Ints
    pinned: int = 0
    stuck: bool = False
    sticky: int = -1
    sticky_height: int = 0
    plain_y: Ints | None = None
    # By (trace, kind): the band of every row, computed on first use. A scrolled layout shares it,
    # because scrolling moves bands but does not renumber them.
    _of_row: dict[tuple[int, int], Ints] = field(default_factory=dict, repr=False, compare=False)

    @property
    def total_height(self) -> int:
        """The height of all bands in pixels."""
        if not len(self.y):
            return 0
        loose = len(self.y) > self.pinned or not self.stuck
        return int(self.y[-1] + self.height[-1]) if loose else self.pinned_height

    @property
    def pinned_height(self) -> int:
        """The height of the section of pinned tracks."""
        last = self.pinned - 1
        return int(self.y[last] + self.height[last] - self.y[0]) if self.pinned else 0

    @property
    def stuck_height(self) -> int:
        """The number of lines below the scroll position that stay there and cover the content."""
        return (self.pinned_height if self.stuck else 0) + self.sticky_height

    def home_of(self, band: int) -> int:
        """Return the line of the content where a band is if nothing stays in view."""
        return int((self.y if self.plain_y is None else self.plain_y)[band])

    def scrolled(self, y: int, *, sticks: bool = True, has_header: bool = True) -> TimelineLayout:
        """Return a copy with what stays in view at line y, over the content there.

        That is the pinned section if it sticks, and the header of a process if there is room.
        """
        stuck = bool(self.pinned) and sticks
        edge = y + (self.pinned_height if stuck else 0)
        sticky, visible = self._sticky_at(edge) if has_header else (-1, 0)
        if not stuck and sticky < 0:
            return self
        moved = self.y.copy()
        if stuck:
            moved[: self.pinned] += y - moved[0]
        if sticky >= 0:
            moved[sticky] = edge + visible - int(self.height[sticky])
        return replace(
            self,
            y=moved,
            stuck=stuck,
            sticky=sticky,
            sticky_height=visible,
            plain_y=self.y,
        )

    def _sticky_at(self, edge: int) -> tuple[int, int]:
        """Return the header of the process around a line, unless it is in view, and its height."""
        headers = self._of_row.get((-1, BandKind.PROCESS))
        if headers is None:
            headers = np.flatnonzero((self.kind == BandKind.PROCESS) & (self.process >= 0))
            self._of_row[-1, BandKind.PROCESS] = headers
        index = int(np.searchsorted(self.y[headers], edge)) - 1
        if index < 0:
            return -1, 0
        band = int(headers[index])
        is_last = index + 1 == len(headers)
        # A process ends where the gap before the next one begins.
        last = len(self.y) - 1 if is_last else int(headers[index + 1]) - 2
        end = int(self.y[last] + self.height[last])
        visible = min(int(self.height[band]), end - edge)
        return (band, visible) if last > band and visible > 0 else (-1, 0)

    def bands_between(self, y0: int, y1: int) -> Ints:
        """Return the bands visible on the pixel lines [y0, y1), from top to bottom."""
        if self.plain_y is None:
            return self._touching(self.y, 0, y0, y1)
        parts: list[Ints] = []
        first, edge = 0, y0
        if self.stuck:
            first, edge = self.pinned, int(self.y[0]) + self.pinned_height
            parts.append(self._touching(self.y[:first], 0, y0, min(y1, edge)))
        if self.sticky >= 0:
            edge = int(self.y[self.sticky] + self.height[self.sticky])
            if y0 < edge and y1 > edge - self.sticky_height:
                parts.append(np.array([self.sticky], np.int64))
        parts.append(self._touching(self.plain_y, first, max(y0, edge), y1))
        return np.concatenate(parts)

    def _touching(self, lines: Ints, first: int, y0: int, y1: int) -> Ints:
        """Return the bands from `first` on that touch lines; lines: of the bands, ascending."""
        y, last = lines[first:], len(lines)
        none = np.empty(0, np.int64)
        if y1 <= y0 or not len(y) or y1 <= y[0] or y0 >= y[-1] + self.height[last - 1]:
            return none
        start = max(int(np.searchsorted(y, y0, side="right")) - 1, 0)
        return np.arange(first + start, first + int(np.searchsorted(y, y1, side="left")))

    def band_at(self, y: int) -> int:
        """Return the band at a pixel line, -1 above and below all bands."""
        bands = self.bands_between(y, y + 1)
        return int(bands[0]) if len(bands) else -1

    def band_of(self, trace: int, row: int, kind: BandKind = BandKind.ROW) -> int:
        """Return the band that shows a row (or its strip), -1 while it is not shown."""
        bands = self._of_row.get((trace, kind))
        if bands is None:
            indexes = np.flatnonzero((self.trace == trace) & (self.kind == kind))
            rows = self.row[indexes]
            bands = np.full(int(rows.max(initial=-1)) + 1, -1, np.int64)
            bands[rows] = indexes
            self._of_row[trace, kind] = bands
        return int(bands[row]) if 0 <= row < len(bands) else -1

    def tracks(self, bands: Ints) -> frozenset[tuple[int, int]]:
        """Return the tracks, as (trace, track), of some bands."""
        own_bands = bands[self.track[bands] >= 0]
        pairs = np.unique(np.column_stack([self.trace[own_bands], self.track[own_bands]]), axis=0)
        return frozenset((trace, track) for trace, track in pairs.tolist())


@dataclass(frozen=True, slots=True)
class Canvas:
    """A size in logical pixels, and the number of device pixels per logical pixel."""

    width: int
    height: int
    ratio: float = 1.0

    @property
    def columns(self) -> int:
        """Its width in device pixels, at least 1."""
        return max(round(self.width * self.ratio), 1)

    @property
    def lines(self) -> int:
        """Its height in device pixels, at least 1."""
        return max(round(self.height * self.ratio), 1)

    def x(self, column: float) -> float:
        """Return where a column starts, in logical pixels from the left."""
        return column / self.ratio

    def column(self, x: float) -> float:
        """Return the fractional column at a logical x."""
        return x * self.ratio

    def device(self, pixels: float) -> int:
        """Return a length in logical pixels as whole device pixels."""
        return round(pixels * self.ratio)
