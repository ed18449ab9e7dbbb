"""Statistics of the slices selected on the timeline, by name, operator, module or thread.

The selection is a set of slices, or all slices that touch a range on some tracks. If a slice
crosses an edge of the range, only the part inside enters the times; it still counts as one slice.

    count   the slices of a group; one inside another of its group and thread, such as a kernel in
            its call, is part of that one and not counted separately
    total   the sum of these, each including everything nested inside; nested groups both count
    self    time without nested slices of other groups. A slice without an operator or module stays
            inside the one around it that has one. The self times of all groups are the whole
    busy    time in which at least one slice of the group is active; an instant counts once

A slice of several operators is in the group of exactly these, "a + b". No group mixes phases: each
has the phase in its label. Slices timed by a foreign clock are in no number, as no part of them is
known to be in a range; what the user's rate of their clock gives is `delegate_ns`. Derived slices
that would be counted twice and slices without an end are left out and counted. Gaps marked as
unattributed are no slices: their time is self time of the slice that contains them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.analysis.cost.event_times import made_of_others
from viewer.analysis.links.delegate_clocks import native_ns
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.group_keys import NO_OPERATOR
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.statistics.occurrences import clipped, cut_count, outermost, self_time_within
from viewer.arrays import Bools, Codes, Ints, flags_at, numbers_at, rows_of
from viewer.dataclasses import dataclass, replace
from viewer.model.charging import covered_per_group
from viewer.model.quantiles import Statistics, grouped
from viewer.model.queries import foreign, innermost_around, run_of_slices, slices_within, unfinished
from viewer.model.timing import rounded_zeros
from viewer.model.trace import KeyKind, Trace

KEYS = ("name", "operator", "module", "thread")
# Keys that every slice has.
_OF_ALL = ("name", "thread")


@dataclass(frozen=True, eq=False)
class SelectedSlices:
    """Slices of one linked trace in ascending order, and the ticks between which they count.

    labels, strings: the label of every slice of the trace on screen.
    """

    table: LinkTable
    labels: Codes
    strings: Sequence[str]
    index: Ints
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """The numbers of some groups: parallel arrays, in ticks. See the module docstring.

    zeros: how many slices the file cuts to 0 (`viewer.model.timing.rounded_zeros`).
    """

    statistics: Statistics
    self_ticks: Ints
    busy: Ints
    zeros: Ints


@dataclass(frozen=True, eq=False)
class SelectionStatistics:
    """The groups that have a slice, most expensive first, and all of them as one group.

    labels: one per group. index: the slices that count, ascending. group: the group of each. whole:
    everything as one group. slices: how many are selected. cut: how many counted ones cross an
    edge. foreign, doubled, gaps: how many are left out because a foreign clock timed them, because
    they duplicate counted slices, or because they are unattributed time; unfinished: because they
    have no end. phases: of the counted slices, if there are several. rated: how many of the
    foreign ones have a stated rate; delegate_ns: the sum of their whole durations, each including
    those drawn inside it.
    """

    labels: tuple[str, ...]
    figures: GroupFigures
    index: Ints
    group: Ints
    whole: GroupFigures
    slices: int
    cut: int
    foreign: int
    doubled: int
    gaps: int
    unfinished: int
    phases: tuple[str, ...]
    rated: int
    delegate_ns: int

    def members(self, number: int) -> Ints:
        """Return the slices of a group, including nested ones, ascending."""
        found: Ints = self.index[self.group == number]
        return found

    def __len__(self) -> int:
        return len(self.labels)


def chosen_within(
    table: LinkTable,
    labels: Codes,
    strings: Sequence[str],
    tracks: Sequence[int],
    first: int,
    last: int,
) -> SelectedSlices:
    """Return all slices of some tracks that touch the ticks [first, last)."""
    slices = table.trace.slices
    found = [slices_within(slices, track, first, last) for track in sorted(set(tracks))]
    index = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
    return SelectedSlices(table, labels, strings, index, first, last)


def selection_statistics(
    chosen: SelectedSlices, key: str, grouping: Grouping | None = None
) -> SelectionStatistics:
    """Return the statistics of selected slices by one of `KEYS`; ValueError for another key.

    grouping: one of the same table, to reuse. If the trace has no operators or modules, all slices
    form one group, `NO_OPERATOR`.
    """
    trace = chosen.table.trace
    codes, labels, doubled = _groups(chosen, key, grouping or Grouping(chosen.table))
    index = chosen.index
    native = np.isin(index, foreign(trace.slices), assume_unique=True)
    gap = trace.keys.kind[trace.slices.key[index]] == KeyKind.UNATTRIBUTED
    is_open = unfinished(trace.slices)
    endless = np.zeros(len(index), np.bool_) if is_open is None else is_open[index]
    endless &= ~(native | gap | doubled)
    counts = ~(native | gap | doubled | endless)
    rated, delegate_ns = _rated(chosen)
    index, codes = index[counts], codes[counts]
    codes, labels, phases = _by_phase(trace, index, codes, labels)
    has_slices = np.bincount(codes, minlength=len(labels)) > 0
    number = np.cumsum(has_slices) - 1
    group = number[codes]
    names = [labels[i] for i in np.flatnonzero(has_slices).tolist()]
    selected_slices = replace(chosen, index=index)
    own = self_time_within(trace.slices, index, chosen.first, chosen.last)
    figures = _figures(selected_slices, group, len(names), own)
    outside = [number for number, name in enumerate(names) if name.startswith(NO_OPERATOR)]
    if key not in _OF_ALL and outside and len(names) > len(outside):
        owner = _owners(selected_slices, group, outside)
        figures = replace(figures, self_ticks=_sums(own, owner, len(names)))
    most_expensive = np.argsort(-figures.statistics.total.astype(np.float64), kind="stable")
    place = numbers_at(len(names), most_expensive, np.arange(len(names)))
    return SelectionStatistics(
        labels=tuple(names[i] for i in most_expensive.tolist()),
        figures=rows_of(figures, most_expensive),
        index=index,
        group=place[group],
        whole=_figures(selected_slices, np.zeros(len(index), np.int64), 1, own),
        slices=len(chosen.index),
        cut=cut_count(trace.slices, index, chosen.first, chosen.last),
        foreign=int(native.sum()),
        doubled=int((doubled & ~native).sum()),
        gaps=int(gap.sum()),
        unfinished=int(endless.sum()),
        phases=phases,
        rated=rated,
        delegate_ns=delegate_ns,
    )


def _rated(chosen: SelectedSlices) -> tuple[int, int]:
    """Return how many slices have a duration by a stated rate, and the ns of the outermost."""
    durations = native_ns(chosen.table)
    if durations is None or durations.valid is None:
        return 0, 0
    own = chosen.index[durations.valid[chosen.index]]
    outer = own[outermost(chosen.table.trace.slices, own, np.zeros(len(own), np.int64))]
    return len(own), sum(durations.values[outer].tolist())


def _groups(
    chosen: SelectedSlices, key: str, grouping: Grouping
) -> tuple[Ints, Sequence[str], Bools]:
    """Return per slice its group, the labels of the groups, and which slices are duplicates."""
    trace, index = chosen.table.trace, chosen.index
    nothing = np.zeros(len(index), np.bool_)
    if key == "name":
        return chosen.labels[index].astype(np.int64), chosen.strings, nothing
    if key == "thread":
        rows = np.searchsorted(trace.slices.row_ptr, index, side="right") - 1
        names = [
            f"{track.process} > {track_name(chosen.table, i)}"
            for i, track in enumerate(trace.tracks)
        ]
        return trace.slices.row_track[rows].astype(np.int64), names, nothing
    if key not in KEYS:
        raise ValueError(f"{key!r} is not a key: use one of {', '.join(KEYS)}")
    if grouping.missing(key):
        return np.zeros(len(index), np.int64), [NO_OPERATOR], nothing
    labels, of_key = grouping.parts(key)
    codes = of_key[trace.slices.key[index]]
    all_codes = np.where(codes < 0, len(labels), codes)
    if trace.slices.derived is None:
        return all_codes, [*labels, NO_OPERATOR], nothing
    # A job next to its start and wait, from which it is derived, would be a third slice of its
    # group.
    derived = made_of_others(trace)
    stated = trace.slices.key[~derived]
    of_stated = of_key[stated]
    has_stated = np.bincount(of_stated[of_stated >= 0], minlength=len(labels)) > 0
    doubled = derived[index] & (codes >= 0) & has_stated[np.maximum(codes, 0)]
    return all_codes, [*labels, NO_OPERATOR], doubled


def _figures(chosen: SelectedSlices, group: Ints, count: int, self_time: Ints) -> GroupFigures:
    slices, index = chosen.table.trace.slices, chosen.index
    start, end = clipped(slices, index, chosen.first, chosen.last)
    outer = outermost(slices, index, group)
    own = _sums(self_time, group, count)
    # A nested slice adds no time.
    start, end, group = start[outer], end[outer], group[outer]
    # As if on one track: an instant counts once for a group, however many of its tracks are active.
    busy = covered_per_group(start, end, group, count)
    is_zero = flags_at(len(slices), rounded_zeros(slices))
    zeros = np.bincount(group[is_zero[index[outer]]], minlength=count).astype(np.int64)
    return GroupFigures(grouped(end - start, group, count), own, busy, zeros)


def _by_phase(
    trace: Trace, index: Ints, codes: Ints, labels: Sequence[str]
) -> tuple[Ints, Sequence[str], tuple[str, ...]]:
    """Return groups of slices that are of one phase each, their labels, and the phases.

    The groups as they are, and no phases, if there are not several.
    """
    names = list(dict.fromkeys(run.phase for run in trace.runs if run.phase))
    if len(names) < 2 or not len(index):
        return codes, labels, ()
    number = {name: at for at, name in enumerate(names, start=1)}
    of_run = np.array([*(number.get(run.phase, 0) for run in trace.runs), 0])
    phase = of_run[run_of_slices(trace)[index]]
    phases = tuple(names[at - 1] for at in np.unique(phase).tolist() if at)
    if len(phases) < 2:
        return codes, labels, ()
    pairs, group = np.unique(phase * len(labels) + codes, return_inverse=True)
    parts = [divmod(pair, len(labels)) for pair in pairs.tolist()]
    texts = [f"{labels[code]} · {names[at - 1]}" if at else labels[code] for at, code in parts]
    return group.reshape(-1), texts, phases


def _owners(chosen: SelectedSlices, group: Ints, outside: Sequence[int]) -> Ints:
    """Return per slice the group that its self time belongs to; outside: those of no operator."""
    slices, index = chosen.table.trace.slices, chosen.index
    has_group = flags_at(len(slices), index[~np.isin(group, outside)])
    around = innermost_around(slices, has_group)[index]
    return np.where(around < 0, group, group[np.searchsorted(index, np.maximum(around, 0))])


def _sums(values: Ints, group: Ints, count: int) -> Ints:
    total = np.zeros(count, np.int64)
    np.add.at(total, group, values)
    return total
