"""Coverage: the share of linkable slices and time that is linked, in any range.

A slice counts where it starts. Only slices in the file count, not those derived from them. Time is
the union of these slices per track, so a kernel inside its call counts once. Slices on foreign
clocks count by number only. Figures of the whole trace leave out what `counted_slices` does; in how
well a file is linked (`coverage_facts`), every slice counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from viewer.analysis.links.link_table import LinkTable
from viewer.arrays import Bools, Ints, counts_of
from viewer.model import intervals
from viewer.model.queries import counted_slices, foreign, starts_between
from viewer.model.scope import WHOLE, TimeScope
from viewer.model.trace import Slices, Trace


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of linkable and of linked slices, and the ticks in which they run."""

    linkable: int
    linked: int
    linkable_ticks: int
    linked_ticks: int


def coverage(table: LinkTable, scope: TimeScope = WHOLE) -> Coverage:
    """Return the coverage of a scope."""
    trace, states = table.trace, table.states
    count = stated_per_key(trace, scope)
    return Coverage(
        int(count[states > 0].sum()),
        int(count[states == 2].sum()),
        covered_ticks(trace, states > 0, scope),
        covered_ticks(trace, states == 2, scope),
    )


def stated_per_key(trace: Trace, scope: TimeScope = WHOLE) -> Ints:
    """Return per key the number of slices in the file (not derived) that start in a scope."""
    inside = starts_within(trace, scope)
    if trace.slices.derived is not None:
        inside &= ~trace.slices.derived
    return counts_of(trace.slices.key, len(trace.keys), inside)


def starts_within(trace: Trace, scope: TimeScope = WHOLE) -> Bools:
    """Return per slice whether it starts in a scope and counts there."""
    slices, (first, last, track) = trace.slices, scope.span
    inside = starts_between(trace, slices.start, first, last)
    counted = counted_slices(trace, warm_up=scope.warm_up) if scope.is_whole else None
    if counted is not None:
        inside &= counted
    if track is not None:
        inside &= (slices.row_track == track)[slices.rows()]
    return inside


def covered_ticks(trace: Trace, of_key: Bools, scope: TimeScope = WHOLE) -> int:
    """Return the ticks of a scope in which slices with some keys run, summed over tracks.

    of_key: one bool per key. Foreign slices add nothing.
    """
    if not of_key.any():
        return 0
    slices, (first, last, track) = trace.slices, scope.span
    selected = of_key[slices.key]
    selected[foreign(slices)] = False
    counted = counted_slices(trace, warm_up=scope.warm_up) if scope.is_whole else None
    if counted is not None:
        selected &= counted
    lo = trace.start if first is None else first
    hi = trace.end if last is None else last
    rows = np.flatnonzero(np.append(True, np.diff(slices.row_track) != 0)[: len(slices.row_track)])
    bounds = slices.row_ptr[np.append(rows, len(slices.row_track))]
    used = np.flatnonzero(np.logical_or.reduceat(selected, bounds[:-1])) if len(rows) else rows
    if track is not None:
        used = used[slices.row_track[rows[used]] == track]
    total = 0
    for begin, end in zip(bounds[used].tolist(), bounds[used + 1].tolist(), strict=True):
        part = slice(begin, end)
        start, stop = slices.start[part], slices.end[part]
        if not selected[part].all():
            start, stop = start[selected[part]], stop[selected[part]]
        elif slices.order is None:
            outer = _outermost_rows(slices, begin, end)
            start, stop = start[outer], stop[outer]
        total += intervals.length(*intervals.clip(start, stop, lo, hi))
    return total


def _outermost_rows(slices: Slices, begin: int, end: int) -> Ints | slice:
    """Return the slices of a track that are inside no other one, from its first."""
    rows = slice(*np.searchsorted(slices.row_ptr, [begin, end]).tolist())
    outer = np.flatnonzero(slices.row_depth[rows] == 0) + rows.start
    if len(outer) == 1:
        return slice(*(slices.row_ptr[outer[0] : outer[0] + 2] - begin).tolist())
    bounds = zip(slices.row_ptr[outer].tolist(), slices.row_ptr[outer + 1].tolist(), strict=True)
    return np.concatenate([np.arange(first - begin, last - begin) for first, last in bounds])


def coverage_facts(table: LinkTable, scopes: Ints) -> dict[str, Any]:
    """Return the coverage of some scopes by slices and by time, and slices per link reason.

    The entries are those that `opscope info --json` prints.
    """
    trace = table.trace
    keys, everything = trace.keys, TimeScope(ticks=(trace.start, trace.end))
    key_in = np.isin(keys.scope, scopes)
    # An ETRecord may have hundreds of methods without a run.
    count = stated_per_key(trace, everything) if key_in.any() else np.zeros(len(keys), np.int64)
    by_reason: dict[str, int] = {}
    for k in np.flatnonzero(key_in & (count > 0)).tolist():
        text = table.links[k].reason.text
        by_reason[text] = by_reason.get(text, 0) + int(count[k])
    linkable = int(count[key_in & (table.states > 0)].sum())
    linked = int(count[key_in & (table.states == 2)].sum())
    possible = covered_ticks(trace, key_in & (table.states > 0), everything)
    return {
        "linkable": linkable,
        "linked": linked,
        "coverage": round(linked / linkable, 4) if linkable else None,
        "covered_time": (
            round(covered_ticks(trace, key_in & (table.states == 2), everything) / possible, 4)
            if possible
            else None
        ),
        "by_reason": dict(sorted(by_reason.items())),
    }


_coverage: WeakKeyDictionary[LinkTable, dict[str, Any]] = WeakKeyDictionary()


def coverage_of(table: LinkTable) -> dict[str, Any]:
    """Return the coverage of a whole trace, cached because every selection needs it."""
    if table not in _coverage:
        _coverage[table] = coverage_facts(table, np.arange(len(table.trace.scopes)))
    return _coverage[table]
