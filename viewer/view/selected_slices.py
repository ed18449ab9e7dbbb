"""Several selected slices as one thing: how more are added, where they are, what an area holds.

Pure but for a memory of the last span; no Qt. Cost follows the numbers of slices asked about: a
million take some tens of ms, which is why nothing here is asked in every frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.statistics.selection import SelectedSlices, chosen_within
from viewer.arrays import Codes, Ints
from viewer.model.trace import Slices
from viewer.view.open_trace import OpenTrace
from viewer.view.state import Area, SliceRef, SliceSet


def same_label(shown: OpenTrace, index: int) -> Codes:
    """The slices of a trace that are called on screen as slice `index` is, ascending."""
    return np.flatnonzero(shown.labels == shown.labels[index]).astype(np.uint32)


def between(slices: Slices, one: int, other: int) -> Ints | None:
    """The slices of a row from one to another, both with it; None where they are on two rows.

    Slices with a length and those without are drawn on lines of their own: from one with a length
    to another, those without are not in it, and the other way round.
    """
    first, last = sorted((one, other))
    if slices.row_of(first) != slices.row_of(last):
        return None
    found = np.arange(first, last + 1)
    zero = slices.start[first : last + 1] == slices.end[first : last + 1]
    if zero[0] != zero[-1]:
        return found
    alike: Ints = found[zero == zero[0]]
    return alike


def span_ns(traces: Sequence[OpenTrace], slices: SliceSet) -> tuple[int, int] | None:
    """From the first start to the last end of some slices, in ns of the axis; None without any."""
    spans = []
    for trace, numbers in slices.of.items():
        shown, columns = traces[trace], traces[trace].trace.slices
        # Rows hold no overlaps: the first chosen one begins first, the last one ends last.
        bounds = np.searchsorted(numbers, columns.row_ptr.astype(np.uint32))
        held = np.flatnonzero(np.diff(bounds))
        first = int(columns.start[numbers[bounds[held]]].min())
        last = int(columns.end[numbers[bounds[held + 1] - 1]].max())
        spans.append((shown.axis.to_ns(first), shown.axis.to_ns(last)))
    return (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None


def nearest_slice(shown: OpenTrace, slices: Ints, at_ns: int) -> int:
    """Of some slices of a trace, not empty, the one that starts nearest to a time of the axis."""
    start = shown.trace.slices.start[slices]
    return int(slices[np.argmin(np.abs(start - shown.axis.to_ticks_floor(at_ns)))])


def area_of(traces: Sequence[OpenTrace], slices: SliceSet) -> Area | None:
    """The area from the first start to the last end of some slices, on the tracks they are on."""
    span = span_ns(traces, slices)
    if span is None:
        return None
    tracks = set()
    for trace, numbers in slices.of.items():
        columns = traces[trace].trace.slices
        held = np.diff(np.searchsorted(numbers, columns.row_ptr.astype(np.uint32))) > 0
        tracks |= {(trace, track) for track in np.unique(columns.row_track[held]).tolist()}
    # An area has a length; a moment alone would be none.
    return Area(span[0], max(span[1], span[0] + 1), frozenset(tracks))


def everything(traces: Sequence[OpenTrace], length: int) -> Area:
    """All tracks over the whole axis of `length` ns."""
    return Area(
        0,
        length,
        frozenset(
            (number, track)
            for number, shown in enumerate(traces)
            for track in range(len(shown.trace.tracks))
        ),
    )


def chosen_in(area: Area, traces: Sequence[OpenTrace]) -> dict[int, SelectedSlices]:
    """What an area selects, to be counted: by trace the slices that touch it, cut at its edges."""
    found = {}
    for number in sorted({trace for trace, _ in area.tracks}):
        shown = traces[number]
        first, last = (shown.axis.to_ticks_floor(ns) for ns in (area.t0, area.t1))
        tracks = [track for trace, track in area.tracks if trace == number]
        found[number] = chosen_within(
            shown.table, shown.labels, shown.label_strings, tracks, first, last
        )
    return found


class SelectedSpan:
    """The span of what is selected, worked out once: ruler and canvas ask for it in every frame."""

    def __init__(self) -> None:
        self._asked: tuple[object, ...] = ()
        self._span: tuple[int, int] | None = None

    def of(
        self, traces: Sequence[OpenTrace], first: SliceRef, others: Sequence[SliceRef]
    ) -> tuple[int, int] | None:
        """The span of a slice and others; the last answer as long as all of them are the same."""
        asked = (traces, others)
        same = len(self._asked) == 2 and all(
            a is b for a, b in zip(asked, self._asked, strict=True)
        )
        if not same:
            self._asked = asked
            self._span = span_ns(traces, SliceSet.of_refs(others))
        one = traces[first.trace].span_ns(first.index)
        if self._span is None:
            return one
        return min(self._span[0], one[0]), max(self._span[1], one[1])
