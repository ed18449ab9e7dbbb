"""Groups of slices with their times: the rows of statistics by one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.analysis.statistics.group_keys import NO_OPERATOR, OF_OPERATORS
from viewer.arrays import Ints
from viewer.model.distributions import grouped


@dataclass(frozen=True, slots=True)
class Spread:
    """The durations of a group's slices; all 0 if none starts in the range.

    In ticks; in_ns: in ns instead, because a delegate's own clock timed some of them.
    """

    count: int
    mean: float
    min: int
    max: int
    p50: float
    p90: float
    in_ns: bool = False


# The spread of every group, and by group number the ns that a delegate's own clock timed.
Spreads = tuple[list[Spread], dict[int, int]]


@dataclass(frozen=True, slots=True)
class Group:
    """One group: its label, its times in ticks, and its share of the whole.

    total: inclusive, the durations of its slices that are inside no other slice of the group; the
    threads add. self_ticks: exclusive, the time in which the innermost slice that has a group is in
    this one. Only self times add up, so the share is theirs. For rows of `unit`, which overlap, the
    share is that of total, and self_ticks and spread are None. In `busy_names`, self_ticks is None
    for a span that is not counted.

    key: a name for scripts, only for rows of `unit`. number: the argument of `Grouping.slices`; for
    `operator` also an index into the sets of the link table, for `inference` the position among the
    inferences; -1 for rows of `unit`. delegate_ns: the sum of the durations in `spread` that a
    delegate's own clock timed; None if there are none.
    """

    label: str
    total: int
    share: float
    self_ticks: int | None = None
    spread: Spread | None = None
    key: str = ""
    number: int = -1
    delegate_ns: int | None = None

    @property
    def is_apart(self) -> bool:
        """Whether nothing is charged to it, because only a delegate's own clock timed it."""
        return self.delegate_ns is not None and not self.total and not self.self_ticks


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups that have a slice or time in a range.

    Largest self time first; units, threads and inferences are in their own order. foreign: the
    number of slices in the range that are left out because a foreign clock of unknown rate timed
    them. For `unit`, the whole is the length of the range, and nothing is ungrouped. share_of: the
    name of the whole, "busy time".
    """

    key: str
    groups: tuple[Group, ...]
    whole: int
    ungrouped: int
    foreign: int
    share_of: str = ""

    @property
    def ungrouped_label(self) -> str:
        """The label of the ungrouped time.

        For operators, types, modules and lines, it is the time in no operator's slice, whether or
        not operators have a module or line.
        """
        return NO_OPERATOR if self.key in OF_OPERATORS else f"(no {self.key})"


def table_of(
    key: str,
    labels: Sequence[str],
    total: Ints,
    own: Ints,
    spreads: Spreads,
    ungrouped: int,
    left_out: int,
) -> GroupTable:
    """Return the groups with any time or slice, with arrays of one value per label.

    total, own: the inclusive and the self ticks. ungrouped: the ticks in no group. left_out: the
    number of slices on foreign clocks.
    """
    whole = int(own.sum()) + ungrouped
    groups = tuple(
        Group(
            label,
            ticks,
            inner / whole if whole else 0.0,
            inner,
            lengths,
            number=number,
            delegate_ns=spreads[1].get(number),
        )
        for number, (label, ticks, inner, lengths) in enumerate(
            zip(labels, total.tolist(), own.tolist(), spreads[0], strict=True)
        )
        if ticks or inner or lengths.count
    )
    return GroupTable(key, groups, whole, ungrouped, left_out)


def spreads_of(durations: Ints, groups: Ints, count: int) -> list[Spread]:
    """Return the durations of `count` groups; groups: the group of each duration."""
    found = grouped(durations, groups, count)
    return [
        Spread(n, mean, int(least), int(most), middle, high)
        for n, mean, least, most, middle, high in zip(
            found.count.tolist(),
            found.avg.tolist(),
            found.min.tolist(),
            found.max.tolist(),
            found.p50.tolist(),
            found.p90.tolist(),
            strict=True,
        )
    ]
