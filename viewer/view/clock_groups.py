"""Clock groups: the open traces, grouped by the clock that timed them. No Qt.

Traces of one clock share an axis, which starts at 0 with the first of them. Times of different
groups cannot be compared, so each group has an axis, a visible range and a ruler of its own. The
key of a group is the domain of its clock, or the path of its only trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewer.view.open_trace import OpenTrace


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


def clock_groups(traces: Sequence[OpenTrace]) -> tuple[ClockGroup, ...]:
    """Return the groups of open traces in order of opening; `(NO_GROUP,)` without traces."""
    members: dict[str, list[int]] = {}
    for number, shown in enumerate(traces):
        members.setdefault(group_key(shown), []).append(number)
    groups = [
        ClockGroup(key, tuple(own), _length(traces[number] for number in own))
        for key, own in members.items()
    ]
    return tuple(groups) or (NO_GROUP,)


def group_key(shown: OpenTrace) -> str:
    """Return the key of the group that a trace belongs to."""
    return shown.file.clock.domain or shown.file.path


def _length(traces: Iterable[OpenTrace]) -> int:
    return max([1, *(shown.axis.to_ns(shown.trace.end) for shown in traces)])
