"""Clock groups: the open traces, grouped by the clock that timed them. No Qt.

Traces of one clock share an axis, which starts at 0 with the earliest of them. So do those that the
user put on one axis (`viewer.workspace.shared_clocks`). Times of different groups cannot be
compared, so each group has an axis, a visible range and a ruler of its own. The key of a group is
the domain of the clock of its first trace, or the path of that trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import overload

from viewer.analysis.torq.compiled import is_compiled
from viewer.model.text import display_name, one_line
from viewer.model.times import NARROW_SPACE, ClockRate, RateOrigin, tick_to_ns
from viewer.render.axis.gaps import Gaps
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
    members: dict[str, list[int]] = {}
    for number, open_trace in enumerate(traces):
        members.setdefault(group_key(open_trace), []).append(number)
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
