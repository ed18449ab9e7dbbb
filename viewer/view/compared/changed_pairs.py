"""The pairs of slices that changed between two arms, and the slices that carry marks of it.

Pure functions of a comparison: columns in, columns out. Only the outermost slices of a row count,
because the kernel of a call changed as much as its call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.comparison.slice_rows import outermost
from viewer.analysis.comparison.steps import CHANGED
from viewer.arrays import Bools, Floats, Ints
from viewer.model.trace import Trace
from viewer.view.open_trace import OpenTrace

if TYPE_CHECKING:
    from viewer.view.compared.open_comparison import OpenComparison


MOST_PAIRS = 200


@dataclass(frozen=True, eq=False, slots=True)
class PairedSpans:
    """One arm of some pairs, as parallel columns.

    trace: the number of its open trace. start, end: int64 ticks. row: of the longest slice of each
    span, in the trace.
    """

    trace: int
    start: Ints
    end: Ints
    row: Ints


@dataclass(frozen=True, eq=False, slots=True)
class ChangedPairs:
    """Pairs of spans in the typical inferences of A and B, largest changes first.

    row: of the comparison, for each pair. is_slower: else it is faster. is_named: whether it stands
    for its row; of several calls of one row, one does. longest_ns: the duration of the longer span.
    arms: A, then B.
    """

    row: Ints
    is_slower: Bools
    is_named: Bools
    longest_ns: Floats
    arms: tuple[PairedSpans, PairedSpans]

    def __len__(self) -> int:
        return len(self.row)


def changed_rows(open_comparison: OpenComparison) -> tuple[int, ...]:
    """Return the rows that are proven to have changed, ascending."""
    return tuple(
        i for i, (_, compared) in enumerate(open_comparison.rows) if compared.verdict in CHANGED
    )


def rows_of_one_arm(open_comparison: OpenComparison) -> tuple[int, ...]:
    """Return the rows that only one arm has, ascending."""
    return tuple(i for i, (row, _) in enumerate(open_comparison.rows) if not row.a or not row.b)


def changed_pairs(
    open_comparison: OpenComparison,
    traces: Mapping[str, tuple[int, OpenTrace]],
    most: int = MOST_PAIRS,
) -> ChangedPairs | None:
    """Return the pairs of the changed rows, the largest changes; None without any.

    traces: each open trace with its number, by path. The calls of a row are paired in
    order. If the arms have different numbers of them, as with a delegate call for several
    operators, one pair extends from the first to the last.
    """
    rows = changed_rows(open_comparison)
    sides, ns_per_tick = [], list[float]()
    for side in (0, 1):
        typical = open_comparison.typical(side)
        if typical is None or typical[0] not in traces:
            return None
        path, run = typical
        row_of, (number, open_trace) = open_comparison.rows_of_slices(path), traces[path]
        if row_of is None or len(row_of) != len(open_trace.trace.slices):
            return None
        calls_here = outermost(open_trace.trace, row_of, rows, run)
        sides.append((number, open_trace.trace, calls_here, row_of[calls_here]))
        ns_per_tick.append(float(open_trace.axis.ns_per_tick))
    if sides[0][0] == sides[1][0]:
        return None  # both are in one strip
    by_change = sorted(rows, key=lambda i: -abs(open_comparison.rows[i][1].change_ns))
    spans: list[list[tuple[Ints, Ints, Ints]]] = [[], []]
    of_row: list[Ints] = []
    named: list[Bools] = []
    room = most
    for row in by_change:
        calls = [_in_time(trace, slices[rows_of == row]) for _, trace, slices, rows_of in sides]
        if room <= 0 or not all(map(len, calls)):
            continue
        in_order = len(calls[0]) == len(calls[1])
        count = min(len(calls[0]) if in_order else 1, room)
        ends = [
            _spans(trace, rows_of_calls[:count] if in_order else rows_of_calls, whole=not in_order)
            for (_, trace, _, _), rows_of_calls in zip(sides, calls, strict=True)
        ]
        for side in (0, 1):
            spans[side].append(ends[side])
        widest = np.argmax(ends[0][1] - ends[0][0])
        of_row.append(np.full(count, row))
        named.append(np.arange(count) == widest)
        room -= count
    if not of_row:
        return None
    arms = [
        PairedSpans(sides[side][0], *map(np.concatenate, zip(*spans[side], strict=True)))
        for side in (0, 1)
    ]
    row_of_pair = np.concatenate(of_row)
    slower = [i for i in rows if open_comparison.rows[i][1].verdict is Verdict.SLOWER]
    is_slower: Bools = np.isin(row_of_pair, slower)
    ns = [(arm.end - arm.start) * rate for arm, rate in zip(arms, ns_per_tick, strict=True)]
    is_named = np.concatenate(named)
    return ChangedPairs(row_of_pair, is_slower, is_named, np.maximum(*ns), (arms[0], arms[1]))


def _in_time(trace: Trace, slices: Ints) -> Ints:
    in_time: Ints = slices[np.argsort(trace.slices.start[slices], kind="stable")]
    return in_time


def _spans(trace: Trace, slices: Ints, *, whole: bool) -> tuple[Ints, Ints, Ints]:
    """The start, end and row of each of some slices, or of all of them as one."""
    start, end = trace.slices.start[slices], trace.slices.end[slices]
    row = np.searchsorted(trace.slices.row_ptr, slices, side="right") - 1
    if not whole:
        return start, end, row
    longest = [int(np.argmax(end - start))]
    return start.min(keepdims=True), end.max(keepdims=True), row[longest]
