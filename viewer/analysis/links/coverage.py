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
from viewer.arrays import Bools, Ints
from viewer.model import intervals
from viewer.model.queries import counted_slices, foreign, starts_between
from viewer.model.scope import WHOLE, TimeScope
from viewer.model.trace import Trace

# Slices that are counted at once: all of ten million would take 120 MB, and up to 0.2 s to get it.
_AT_ONCE, _PER_KEY = 1 << 16, 4


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
    inside, key = starts_within(trace, scope), trace.slices.key
    if trace.slices.derived is not None:
        inside &= ~trace.slices.derived
    count = np.zeros(len(trace.keys), np.int64)
    at_once = max(_AT_ONCE, _PER_KEY * len(count))
    for begin in range(0, len(key), at_once):
        part = slice(begin, begin + at_once)
        count += np.bincount(key[part][inside[part]], minlength=len(count))
    return count


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
    index = np.flatnonzero(selected)
    tracks = slices.row_track[slices.rows()[index]]
    if track is not None:
        index, tracks = index[tracks == track], tracks[tracks == track]
    order = np.argsort(tracks, kind="stable")
    bounds = np.flatnonzero(np.diff(tracks[order])) + 1
    lo = trace.start if first is None else first
    hi = trace.end if last is None else last
    return sum(
        intervals.length(*intervals.clip(slices.start[part], slices.end[part], lo, hi))
        for part in np.split(index[order], bounds)
    )


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
