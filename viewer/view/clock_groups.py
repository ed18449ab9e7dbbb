"""Clock groups: the open traces by the clock that timed them, and how their ranges are tied.

No Qt. Traces of one clock, and those that the user put on one axis, share an axis, which starts at
0 with the earliest of them. Times of different groups cannot be compared, so each group has an
axis, a visible range and a ruler of its own. Its key is the domain of the clock of its first trace,
or the path of that trace.

Tied groups zoom together: their spans stay in proportion. Groups whose ties also have an anchor pan
together, too. Ranges are (t0, t1) in ns of the axis of their group with its gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import overload

from viewer.analysis.torq.measured_actions import is_compiled
from viewer.arrays import lists_by_key
from viewer.dataclasses import dataclass, replace
from viewer.model.text import display_name, one_line
from viewer.model.times import NARROW_SPACE, ClockRate, RateOrigin, tick_to_ns
from viewer.render.time_axis import Gaps
from viewer.view.open_trace import OpenTrace

# Of the name of a clock in a file, in characters.
_LONGEST_DOMAIN = 40
_COMPILE_CLOCK = "Compile clock"


@dataclass(frozen=True, slots=True)
class ClockGroup:
    """The traces of one clock.

    traces: their numbers among the open ones, ascending. span_ns: the length of the axis, at least
    1.
    """

    key: str = ""
    traces: tuple[int, ...] = ()
    span_ns: int = 1


# What there is while no trace is open.
NO_GROUP = ClockGroup()


class ClockGroups(Sequence[ClockGroup]):
    """The groups of the open traces in order of opening, at least `NO_GROUP`; immutable."""

    __slots__ = ("_all", "_by_key", "_of_trace")

    def __init__(self, groups: Iterable[ClockGroup] = ()) -> None:
        self._all = tuple(groups) or (NO_GROUP,)
        self._by_key = {group.key: group for group in self._all}
        self._of_trace = {trace: group for group in self._all for trace in group.traces}

    @property
    def keys(self) -> list[str]:
        """The keys of all groups."""
        return list(self._by_key)

    def of(self, trace: int) -> ClockGroup:
        """Return the group of an open trace."""
        return self._of_trace[trace]

    def by_key(self, key: str) -> ClockGroup:
        """Return the group with a key, the first one if there is none."""
        return self._by_key.get(key, self._all[0])

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> ClockGroup: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ClockGroup, ...]: ...
    def __getitem__(self, index: int | slice) -> ClockGroup | tuple[ClockGroup, ...]:
        return self._all[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClockGroups) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)


def clock_groups(traces: Sequence[OpenTrace]) -> ClockGroups:
    """Return the groups of open traces in order of opening."""
    members = lists_by_key((group_key(each), number) for number, each in enumerate(traces))
    return ClockGroups(
        ClockGroup(key, tuple(numbers), _length(traces[number] for number in numbers))
        for key, numbers in members.items()
    )


def group_key(open_trace: OpenTrace) -> str:
    """Return the key of the group that a trace belongs to."""
    return open_trace.place.key


def axis_spans(
    groups: Iterable[ClockGroup], gaps: Mapping[str, Gaps] = MappingProxyType({})
) -> dict[str, int]:
    """Return the length of the axis of each group in ns, with its gaps, by its key."""
    spans = {group.key: group.span_ns for group in groups}
    return spans | {key: gaps[key].end_place(spans[key]) for key in gaps if key in spans}


def axis_zeros(traces: Sequence[OpenTrace]) -> dict[str, int]:
    """Return by the key of each group at which ns of its clock its axis starts.

    That is with the first slice of its traces as they ran, at their current rates.
    """
    zeros: dict[str, int] = {}
    for open_trace in traces:
        if len(open_trace.file.slices):
            start = (
                tick_to_ns(open_trace.file.start, open_trace.axis.ns_per_tick)
                + open_trace.place.shift_ns
            )
            zeros[group_key(open_trace)] = min(zeros.get(group_key(open_trace), start), start)
    return zeros


def table_zeros(traces: Sequence[OpenTrace]) -> dict[str, int]:
    """Return where the axes of clock groups start in the times of tables.

    `viewer.workspace.exports.common_offsets` explains these.
    """
    places = {(trace.place.key, trace.place.shift_ns) for trace in traces}
    if len(places) != 1:
        return {}  # tables count as axes do
    ((_, shift),) = places
    return {key: zero - shift for key, zero in axis_zeros(traces).items()}


def _length(traces: Iterable[OpenTrace]) -> int:
    return max([1, *(open_trace.axis.to_ns(open_trace.trace.end) for open_trace in traces)])


def group_title(group: ClockGroup, traces: Sequence[OpenTrace]) -> str:
    """Return what a group is called: "Host clock", "Compile clock", or the name of its file.

    traces: all open ones. A file is not called "Compile clock" if several are on such a clock. ""
    for `NO_GROUP`.
    """
    if not group.traces:
        return ""
    first = traces[group.traces[0]].file
    domain = one_line(first.clock.domain).removeprefix("torq ").strip()
    if domain:
        if len(domain) > _LONGEST_DOMAIN:
            domain = f"{domain[: _LONGEST_DOMAIN - 1]}…"
        return f"{domain[0].upper()}{domain[1:]} clock"
    if is_compiled(first) and sum(is_compiled(open_trace.file) for open_trace in traces) == 1:
        return _COMPILE_CLOCK
    return one_line(display_name(first.path))


def group_caption(group: ClockGroup, traces: Sequence[OpenTrace]) -> str:
    """Return the files of a group and its ticks: "host.csv + 2 files · 1 µs ticks".

    Also why they are on one axis if the user put them there. Without the file if the title names
    it. "" for `NO_GROUP`.
    """
    if not group.traces:
        return ""
    open_traces = [traces[number] for number in group.traces]
    file, others = one_line(display_name(open_traces[0].file.path)), len(open_traces) - 1
    if others:
        file += f" + {others} file{'s' if others > 1 else ''}"
    title = group_title(group, traces)
    parts = [] if file == title else [file.removeprefix(f"{title} ")]
    ticks = dict.fromkeys(_ticks(open_trace.rate) for open_trace in open_traces)
    reasons = dict.fromkeys(
        open_trace.place.reason for open_trace in open_traces if open_trace.place.reason
    )
    return " · ".join([*parts, ", ".join(ticks), *reasons])


def _ticks(rate: ClockRate) -> str:
    """Return "800 MHz assumed" for cycles, "1 µs ticks" for other units."""
    if rate.unit == "cycle":
        return rate.text
    length, unit = float(rate.ns_per_tick), "ns"
    for larger in ("µs", "ms", "s"):
        if length >= 1000:
            length, unit = length / 1000, larger
    text = f"{length:g}{NARROW_SPACE}{unit} ticks"
    return text if rate.origin is RateOrigin.STATED else f"{text} {rate.origin}"


_FARTHEST = 2**62  # ns
Range = tuple[int, int]
# By the key of a clock group.
Ranges = Mapping[str, Range]


@dataclass(frozen=True, slots=True)
class Tie:
    """How one clock group moves with the other tied ones.

    scale: its visible span in proportion to the scales of the others. anchor: the moment, in ns of
    its axis, that is at the same place on screen as the anchors of the others; None if only the
    zoom is tied. reason: what the anchor is, such as "start of run 2"; "" without an anchor.
    """

    scale: Fraction = Fraction(1)
    anchor: int | None = None
    reason: str = ""

    def __hash__(self) -> int:
        """Every frame looks up what ties allow, and hashing a Fraction takes 2 µs."""
        return hash((self.scale.numerator, self.anchor))


Ties = Mapping[str, Tie]


def moved_together(ties: Ties, ranges: Ranges, moved: str, before: Range) -> dict[str, Range]:
    """Return the ranges of all groups after the range of one changed.

    ranges: of all groups, with the new range of `moved`; before: the range that it had. Groups that
    are not tied to it stay. An aligned group is placed by the anchors; a group of which only the
    zoom is tied keeps the moment at the place on screen around which `moved` was zoomed.
    """
    result = dict(ranges)
    moved_tie = ties.get(moved)
    if moved_tie is None:
        return result
    t0, t1 = ranges[moved]
    for key, tie in ties.items():
        if key == moved or key not in ranges:
            continue
        factor = tie.scale / moved_tie.scale
        if moved_tie.anchor is not None and tie.anchor is not None:
            result[key] = _aligned(moved_tie.anchor, tie.anchor, (t0, t1), factor)
        else:
            result[key] = _zoomed(ranges[key], before, (t0, t1), factor)
    return result


def _aligned(anchor: int, other: int, span: Range, factor: Fraction) -> Range:
    """Return the range of a group whose anchor is where the anchor of another one is."""
    t0 = round(other + (span[0] - anchor) * factor)
    return t0, t0 + max(round((span[1] - span[0]) * factor), 1)


def _zoomed(own_range: Range, before: Range, after: Range, factor: Fraction) -> Range:
    """Return a range with the new span, around the place on screen that another one kept."""
    span = max(round((after[1] - after[0]) * factor), 1)
    grown = (after[1] - after[0]) - (before[1] - before[0])
    share = Fraction(before[0] - after[0], grown) if grown else Fraction(1, 2)
    share = min(max(share, Fraction(0)), Fraction(1))
    t0 = round(own_range[0] + share * (own_range[1] - own_range[0]) - share * span)
    return t0, t0 + span


def offset_ns(ties: Ties, reference: str, key: str) -> int | None:
    """Return what to add to times of a group so that its anchor is at that of another one.

    None if one of the two has no anchor.
    """
    tie, other = ties.get(reference), ties.get(key)
    if tie is None or other is None or tie.anchor is None or other.anchor is None:
        return None
    return tie.anchor - other.anchor


def same_place(ties: Ties, key: str, ns: int, other: str) -> int | None:
    """Return what is of one group where a place on screen, or a time, of another group is.

    None if the two are not aligned.
    """
    own_tie, tie = ties.get(key), ties.get(other)
    if own_tie is None or tie is None or own_tie.anchor is None or tie.anchor is None:
        return None
    return round(tie.anchor + (ns - own_tie.anchor) * tie.scale / own_tie.scale)


def aligned_keys(ties: Ties) -> list[str]:
    """Return the aligned groups; fewer than two are no alignment."""
    keys = [key for key, tie in ties.items() if tie.anchor is not None]
    return keys if len(keys) > 1 else []


def shifts_of(ties: Ties, keys: Sequence[str]) -> dict[int, tuple[int, str]]:
    """Return what puts aligned traces on one axis: number -> (ns to add, what its anchor is).

    keys: the group of every open trace, in order of opening. The first aligned one stays. Empty if
    none are aligned; traces whose group is not aligned are missing.
    """
    aligned = set(aligned_keys({key: tie for key, tie in ties.items() if key in keys}))
    shifts: dict[int, tuple[int, str]] = {}
    reference = next((key for key in keys if key in aligned), "")
    for number, key in enumerate(keys):
        by = offset_ns(ties, reference, key) if key in aligned else None
        if by is not None:
            shifts[number] = by, ties[key].reason
    return shifts


def without(ties: Ties, gone: set[str]) -> dict[str, Tie]:
    """Return the ties without some groups; a single tie or anchor that would remain is dropped."""
    ties_left = {key: tie for key, tie in ties.items() if key not in gone}
    if not aligned_keys(ties_left):
        ties_left = {key: replace(tie, anchor=None, reason="") for key, tie in ties_left.items()}
    return ties_left if len(ties_left) > 1 else {}


def bounds(ties: Ties, spans: Mapping[str, int], key: str) -> Range:
    """Return the extent that the range of one group may show; see `all_bounds`."""
    return all_bounds(ties, spans, (key,))[key]


def all_bounds(ties: Ties, spans: Mapping[str, int], keys: Iterable[str]) -> dict[str, Range]:
    """Return the extents that the ranges of groups may show, in ns of their axes, without margins.

    spans: the length of the axis of each group. Tied groups have extents in proportion, long enough
    for each of them; those of aligned groups cover the same times, which may begin before an axis.
    """
    tied = _extents(tuple(ties.items()), tuple(spans.items())) if ties else {}
    return {key: tied[key] if key in tied else (0, spans[key]) for key in keys}


@lru_cache(maxsize=4)  # the same in all frames of a motion, and slow to work out
def _extents(
    ties: tuple[tuple[str, Tie], ...], spans: tuple[tuple[str, int], ...]
) -> dict[str, Range]:
    """Return the extents of tied groups in ns of their axes; not to be changed."""
    length_of = dict(spans)
    # Aligned groups are placed by their anchors.
    starts, ends, lengths = [], [], []
    for other, tie in ties:
        if other not in length_of:
            continue
        length = length_of[other] / tie.scale
        if tie.anchor is None:
            lengths.append(length)
        else:
            starts.append(-tie.anchor / tie.scale)
            ends.append(starts[-1] + length)
    # In units of the scales; the same for all of them.
    start = min(starts, default=Fraction(0))
    length = max([*lengths, *(end - start for end in ends)], default=Fraction())
    return {key: _scaled(tie, start, length) for key, tie in ties}


def _scaled(tie: Tie, start: Fraction, length: Fraction) -> Range:
    """Return an extent in ns of the axis of one group."""
    if tie.anchor is None:
        return 0, round(length * tie.scale)
    low = round(tie.anchor + start * tie.scale)
    return low, low + round(length * tie.scale)


def are_in_reach(ties: Ties, spans: Mapping[str, int]) -> bool:
    """Return whether no tie can move a range farther than 146 years, so that int64 holds its ns.

    spans: as in `bounds`.
    """
    reach = [ns for key in ties if key in spans for ns in bounds(ties, spans, key)]
    return min(reach, default=0) >= -_FARTHEST and max(reach, default=0) <= _FARTHEST
