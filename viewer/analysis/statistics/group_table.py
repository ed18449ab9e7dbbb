"""Groups of slices with their times: the rows of statistics by one key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

import numpy as np

from viewer.analysis.statistics.group_keys import NO_OPERATOR
from viewer.arrays import Bools, Floats, Ints
from viewer.dataclasses import dataclass, field, replace
from viewer.model.quantiles import Statistics
from viewer.model.timing import COUNTED, NS_PER


@dataclass(frozen=True, slots=True)
class Spread:
    """The durations of a group's slices; all 0 if none starts in the range.

    In ticks; in_ns: in ns instead, because a delegate's own clock timed some of them. unit: in that
    unit instead, because a clock of unknown rate timed them. zeros: how many of them the file cuts
    to 0 (`viewer.model.timing.rounded_zeros`).
    """

    count: int
    mean: float
    min: int
    max: int
    p50: float
    p90: float
    in_ns: bool = False
    unit: str = ""
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class ClockTime:
    """What a clock other than the file's timed of a kernel, or of all kernels.

    clock: its name. total: in `unit`, which is ns if its rate is known. share: of all that the
    clock timed in the rows of the table.
    """

    clock: str
    unit: str
    total: int
    slices: int
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """The spread of every group, by group number.

    delegate_ns: the ns that a delegate's own clock timed, of the groups that have any; their
    durations are in ns. clocks: the time of kernels on other clocks. zeros: as in `Spread`, of the
    groups that have any.
    """

    found: Statistics
    delegate_ns: dict[int, int] = field(default_factory=dict)
    clocks: dict[int, ClockTime] = field(default_factory=dict)
    zeros: Mapping[int, int] = field(default_factory=dict)

    def of(self, number: int) -> Spread:
        found = self.found
        clock = self.clocks.get(number)
        return Spread(
            int(found.count[number]),
            float(found.avg[number]),
            int(found.min[number]),
            int(found.max[number]),
            float(found.p50[number]),
            float(found.p90[number]),
            number in self.delegate_ns,
            "" if clock is None or number in self.delegate_ns else clock.unit,
            self.zeros.get(number, 0),
        )


@dataclass(frozen=True, slots=True, eq=False)
class PartedGroups:
    """The figures of groups divided into parts, in parallel: the group and the part of each cell.

    self_ticks, wall, total: as in `Groups`.
    """

    group: Ints
    part: Ints
    self_ticks: Ints
    wall: Ints
    total: Ints
    spreads: Spreads


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its label, its times in ticks, and its share of the whole.

    total: inclusive, the durations of its slices that are inside no other slice of the group; the
    threads add. self_ticks: exclusive, the durations of its slices less those of slices of other
    groups inside them. wall: each instant of a thread once. Only wall times add up, so the share is
    theirs. For rows of `unit`, which overlap, the share is that of total, self_ticks and spread are
    None, and only busy and idle have wall time. is_counted: False for a scope whose wall time is
    that of others.

    key: a name for scripts, only for rows of `unit`. number: the argument of `Grouping.slices`; for
    `operator` also an index into the sets of the link table, for `inference` the position among the
    inferences; -1 for rows of `unit`. delegate_ns: the sum of the durations in `spread` that a
    delegate's own clock timed; None if there are none. clock: of kernels, what another clock timed,
    in ns or in a unit of unknown length.
    """

    label: str
    total: int
    share: float
    self_ticks: int | None = None
    wall: int | None = None
    spread: Spread | None = None
    key: str = ""
    number: int = -1
    delegate_ns: int | None = None
    is_counted: bool = True
    clock: ClockTime | None = None

    @property
    def is_apart(self) -> bool:
        """Whether nothing is charged to it, because only a delegate's own clock timed it."""
        is_timed = self.delegate_ns is not None or self.clock is not None
        return is_timed and not self.total and not self.self_ticks


@dataclass(frozen=True, slots=True, eq=False)
class Groups(Sequence[Group]):
    """Groups as arrays; each `Group` is created when it is read: a million take 4 s.

    numbers: the number of every listed group. Others are by number: labels, total, own, wall: the
    inclusive, the self and the wall ticks; is_counted: as in `Group`, None if all are.
    """

    numbers: Ints
    labels: Sequence[str]
    total: Ints
    own: Ints
    wall: Ints
    share: Floats
    spreads: Spreads
    is_counted: Bools | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Group: ...
    @overload
    def __getitem__(self, at: slice) -> Groups: ...
    def __getitem__(self, at: int | slice) -> Group | Groups:
        if isinstance(at, slice):
            return replace(self, numbers=self.numbers[at])
        number = int(self.numbers[at])
        return Group(
            self.labels[number],
            int(self.total[number]),
            float(self.share[number]),
            int(self.own[number]),
            int(self.wall[number]),
            self.spreads.of(number),
            number=number,
            delegate_ns=self.spreads.delegate_ns.get(number),
            is_counted=self.is_counted is None or bool(self.is_counted[number]),
            clock=self.spreads.clocks.get(number),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def most_expensive_first(self) -> Groups:
        """Return the groups by wall time, then by self, total and delegate time."""
        at = self.numbers
        delegate = np.zeros(len(self.labels), np.int64)
        for number, ns in self.spreads.delegate_ns.items():
            delegate[number] = ns
        for number, clock in self.spreads.clocks.items():
            delegate[number] = clock.total
        order = np.lexsort((-delegate[at], -self.total[at], -self.own[at], -self.wall[at]))
        return replace(self, numbers=at[order])


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups that have a slice or time in a range.

    Largest wall time first; units, threads and inferences are in their own order. foreign: the
    number of slices in the range that are left out because a foreign clock of unknown rate timed
    them. For `unit`, the whole is the length of the range, and nothing is ungrouped. share_of: the
    name of the whole, "busy time". not_counted: the labels of listed groups that are not counted.
    scopes: how many slices have no wall time of their own. has_delegate_ns: whether any group has
    it. values: the number of slices in the range that hold a value without a time, such as bytes.
    clocks: what other clocks timed of the kernels, one after another; no part of the whole.
    is_of_operators: whether cost is charged to the groups, as to operators.
    """

    key: str
    groups: Sequence[Group]
    whole: int
    ungrouped: int
    foreign: int
    share_of: str = ""
    not_counted: tuple[str, ...] = ()
    scopes: int = 0
    has_delegate_ns: bool = False
    values: int = 0
    clocks: tuple[ClockTime, ...] = ()
    is_of_operators: bool = False

    @property
    def is_overview(self) -> bool:
        """Whether its rows are the units of an NPU, which overlap."""
        return any(group.key for group in self.groups[:1])

    @property
    def ungrouped_label(self) -> str:
        """The label of the ungrouped time.

        For operators, types, modules and lines, it is the time in no operator's slice, whether or
        not operators have a module or line.
        """
        return NO_OPERATOR if self.is_of_operators else f"(no {self.key})"


def table_of(
    key: str,
    labels: Sequence[str],
    total: Ints,
    own: Ints,
    wall: Ints,
    spreads: Spreads,
    ungrouped: int,
    left_out: int,
    is_counted: Bools | None = None,
) -> GroupTable:
    """Return the groups with any time or slice, with arrays of one value per label.

    total, own, wall, is_counted: as in `Groups`. ungrouped: the ticks in no group. left_out: the
    number of slices on foreign clocks.
    """
    whole = int(wall.sum()) + ungrouped
    share = wall / whole if whole else np.zeros(len(wall))
    numbers = np.flatnonzero((total != 0) | (own != 0) | (spreads.found.count != 0))
    groups = Groups(numbers, labels, total, own, wall, share, spreads, is_counted)
    not_counted = [] if is_counted is None else numbers[~is_counted[numbers]].tolist()
    return GroupTable(
        key,
        groups,
        whole,
        ungrouped,
        left_out,
        not_counted=tuple(labels[number] for number in not_counted),
        has_delegate_ns=bool(spreads.delegate_ns),
    )


def clock_title(clock: str, unit: str) -> str:
    """Return what a clock is called in a sentence; without a backend, only its unit is known."""
    return f"a clock in {unit}" if clock in (*COUNTED, *NS_PER) else f"the clock of {clock}"


def clock_times(
    names: Sequence[str], totals: Mapping[int, tuple[str, int, int]]
) -> dict[int, ClockTime]:
    """Return the times of kernels on other clocks, by group number.

    names: the clock of each group. totals: group number -> unit, total in it, number of slices.
    """
    whole: dict[tuple[str, str], int] = {}
    for number, (unit, total, _) in totals.items():
        clock = names[number], unit
        whole[clock] = whole.get(clock, 0) + total
    return {
        number: ClockTime(
            names[number], unit, total, slices, total / (whole[names[number], unit] or 1)
        )
        for number, (unit, total, slices) in totals.items()
    }


def clock_sums(times: Iterable[ClockTime]) -> tuple[ClockTime, ...]:
    """Return what every clock timed of all kernels, in order of name and unit."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for one in times:
        total, slices = sums.get((one.clock, one.unit), (0, 0))
        sums[one.clock, one.unit] = total + one.total, slices + one.slices
    return tuple(ClockTime(*clock, *sums[clock], 1.0) for clock in sorted(sums))
