"""What slices chosen on the timeline took, by name, operator, module or thread. Exact, in ticks.

Chosen are single slices, or all that touch a range on some tracks. Of a range a slice that reaches
over its edge counts with the part inside, in every number; the slice itself is counted.

    count   the slices of a group; one inside another of its group and thread, such as a kernel in
            its call, is a part of that one and not counted beside it
    total   these, added up, each with all that runs inside it; a group inside another is in both
    self    time in which nothing else runs inside; all groups' self times add up to the whole
    busy    time in which at least one slice of the group is at work; an instant counts once

A slice of several operators is of the group of just these, "a + b": it is never divided. Slices
that a clock of its own timed are in no number, but counted as left out; so are those that a reader
derived from others beside which they would be counted twice. Gaps that a reader marks as
unattributed are no slices: their time is self time of what they are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from viewer.analysis.cost.costs import made_of_others
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.statistics.clipped import clipped, cut_count, outermost, self_time_within
from viewer.analysis.statistics.group_keys import NO_OPERATOR
from viewer.analysis.statistics.grouping import Grouping
from viewer.arrays import Bools, Codes, Ints
from viewer.model.distributions import Statistics, grouped
from viewer.model.queries import Segments, foreign, slices_within, total_per_group
from viewer.model.trace import KeyKind

KEYS = ("name", "operator", "module", "thread")


@dataclass(frozen=True, eq=False)
class SelectedSlices:
    """Slices of one linked trace, by ascending number, and between which ticks they count.

    labels, strings: what every slice of the trace is called on screen.
    """

    table: LinkTable
    labels: Codes
    strings: Sequence[str]
    index: Ints
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, eq=False)
class GroupFigures:
    """The numbers of some groups: parallel arrays, in ticks. See the module's text."""

    statistics: Statistics
    own: Ints
    busy: Ints


@dataclass(frozen=True, eq=False)
class SelectionStatistics:
    """The groups that have a slice, dearest first, and all of them as one.

    labels: of the groups. index: the slices that count, ascending; group: of each its group. whole:
    all of it as one group. slices: how many were chosen; cut: how many of those that count reach
    over an edge. foreign, doubled, gaps: how many are left out since a clock of their own timed
    them, since they stand for others that are counted, or since they are unattributed time.
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

    def members(self, number: int) -> Ints:
        """The slices of a group, those inside others too, ascending."""
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
    """All slices of some tracks that touch the ticks [first, last)."""
    slices = table.trace.slices
    found = [slices_within(slices, track, first, last) for track in sorted(set(tracks))]
    index = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
    return SelectedSlices(table, labels, strings, index, first, last)


def selection_statistics(
    chosen: SelectedSlices, key: str, grouping: Grouping | None = None
) -> SelectionStatistics:
    """The statistics of chosen slices by one of KEYS; ValueError for another key.

    grouping: of the same table, if there is one. Where the trace has no operators or modules all of
    its slices are one group, that of no operator.
    """
    trace = chosen.table.trace
    codes, labels, doubled = _groups(chosen, key, grouping or Grouping(chosen.table))
    index = chosen.index
    native = np.isin(index, foreign(trace.slices), assume_unique=True)
    gap = trace.keys.kind[trace.slices.key[index]] == KeyKind.UNATTRIBUTED
    counts = ~(native | gap | doubled)
    index, codes = index[counts], codes[counts]
    held = np.bincount(codes, minlength=len(labels)) > 0
    number = np.cumsum(held) - 1
    group = number[codes]
    names = [labels[i] for i in np.flatnonzero(held).tolist()]
    one = replace(chosen, index=index)
    own = self_time_within(trace.slices, index, chosen.first, chosen.last)
    figures = _figures(one, group, len(names), own)
    most_expensive = np.argsort(-figures.statistics.total.astype(np.float64), kind="stable")
    place = np.empty(len(names), np.int64)
    place[most_expensive] = np.arange(len(names))
    return SelectionStatistics(
        labels=tuple(names[i] for i in most_expensive.tolist()),
        figures=_taken(figures, most_expensive),
        index=index,
        group=place[group],
        whole=_figures(one, np.zeros(len(index), np.int64), 1, own),
        slices=len(chosen.index),
        cut=cut_count(trace.slices, index, chosen.first, chosen.last),
        foreign=int(native.sum()),
        doubled=int((doubled & ~native).sum()),
        gaps=int(gap.sum()),
    )


def _groups(
    chosen: SelectedSlices, key: str, grouping: Grouping
) -> tuple[Ints, Sequence[str], Bools]:
    """Per chosen slice its group, the labels of the groups, and which slices stand for others."""
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
        raise ValueError(f"{key!r} is no key: it is one of {', '.join(KEYS)}")
    if grouping.missing(key):
        return np.zeros(len(index), np.int64), [NO_OPERATOR], nothing
    labels, of_key = grouping.parts(key)
    codes = of_key[trace.slices.key[index]]
    all_codes = np.where(codes < 0, len(labels), codes)
    if trace.slices.derived is None:
        return all_codes, [*labels, NO_OPERATOR], nothing
    # A job beside the start and the wait that it is made of would be a third slice of its group.
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
    own = np.zeros(count, np.int64)
    np.add.at(own, group, self_time)
    # What lies inside another adds no time.
    start, end, group = start[outer], end[outer], group[outer]
    # As if on one track: an instant counts once for a group, on however many it is at work.
    spans = Segments(np.zeros(len(start), np.int64), start, end, group, lanes=True)
    return GroupFigures(grouped(end - start, group, count), own, total_per_group(spans, count))


def _taken(figures: GroupFigures, order: Ints) -> GroupFigures:
    of = figures.statistics
    statistics = Statistics(
        of.count[order],
        of.p10[order],
        of.p50[order],
        of.p90[order],
        of.avg[order],
        of.min[order],
        of.max[order],
        of.total[order],
    )
    return GroupFigures(statistics, figures.own[order], figures.busy[order])
