"""Maps bands to processes and tracks, and finds the bands that name one. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewer.render.layout import BandKind, HeaderPart, TimelineLayout
from viewer.render.track_table import TrackList


@dataclass(frozen=True, slots=True)
class HeaderBands:
    """A track list, and a layout of it."""

    track_list: TrackList
    layout: TimelineLayout

    def part_of(self, band: int) -> HeaderPart | None:
        """Return the track of a row, the process of a header or counter; None for other bands."""
        if band < 0:
            return None
        if self.layout.track[band] >= 0:
            return int(self.layout.trace[band]), int(self.layout.track[band])
        process = int(self.layout.process[band])
        return self.track_list.processes[process].part if process >= 0 else None

    def process_of(self, band: int) -> int:
        """Return the process that a band belongs to, even if pinned; -1 for none."""
        part = self.part_of(band)
        return -1 if part is None else self.track_list.process_of(part)

    def is_title(self, band: int) -> bool:
        """Return whether a band is the header of a process, or the first band of a track."""
        if band < 0 or self.part_of(band) is None:
            return False
        if self.layout.track[band] < 0:
            return bool(self.layout.kind[band] == BandKind.PROCESS)
        return band == 0 or self.part_of(band - 1) != self.part_of(band)

    def titles(self) -> list[int]:
        """Return all bands that are titles, from top to bottom."""
        layout = self.layout
        tracks = np.column_stack([layout.trace, layout.track])
        is_first = np.append(True, (tracks[1:] != tracks[:-1]).any(axis=1))[: len(tracks)]
        headers = (layout.kind == BandKind.PROCESS) & (layout.process >= 0)
        found: list[int] = np.flatnonzero(headers | ((layout.track >= 0) & is_first)).tolist()
        return found

    def first_band(self, part: HeaderPart) -> int:
        """Return the band that names a part, -1 while it is not shown."""
        layout = self.layout
        if self.track_list.track_of(part) >= 0:
            own = (layout.trace == part[0]) & (layout.track == part[1])
        else:
            process = self.track_list.process_of(part)
            own = (layout.process == process) & (layout.kind == BandKind.PROCESS) & (process >= 0)
        return int(np.argmax(own)) if own.any() else -1

    def can_fold(self, part: HeaderPart) -> bool:
        """Return whether folding hides anything.

        True for any process, and for a track with more than one row, or with a row and a strip, or
        with a row of plans.
        """
        track = self.track_list.track_of(part)
        if track < 0 or part in self.track_list.plan_lanes:
            return True
        first, last = self.track_list.row_ptr[track : track + 2].tolist()
        both = (
            last > first and self.track_list.has_lengths[first] and self.track_list.has_zeros[first]
        )
        return last - first > 1 or bool(both)

    def has_rows(self, band: int) -> bool:
        """Return whether a band is a row, or a header with rows below: its height can be set."""
        kinds = self.layout.kind
        if band < 0 or kinds[band] == BandKind.ROW:
            return band >= 0
        below = band + 1 < len(kinds) and kinds[band + 1] == BandKind.ROW
        return bool(kinds[band] == BandKind.PROCESS and self.layout.process[band] >= 0 and below)

    def all_processes(self) -> frozenset[HeaderPart]:
        """Return every process, including those that are not shown."""
        return frozenset(process.part for process in self.track_list.processes)
