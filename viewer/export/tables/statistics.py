"""Statistics by one key as rows: `opscope export --table statistics` and `opscope stats`.

One row per group: total, self and wall time, the share of wall time, and the durations of its
slices. Times are ticks of the profile's own clock, and ns rounded down; wall times so that those of
all rows add up to that of the whole. The ungrouped part of the whole is a last row with a self and
a wall time: "(no operator)", "(no location)".

A group with events on a delegate's own clock, of which the user stated the rate, has the durations
of its slices in ns alone, and the sum of those events as `delegate_ns`, which no total includes.
Other profiles have no such column.

By `kernel`, a row on another clock has the columns of `CLOCK`: the name of the clock, the unit, the
sum in that unit, and its share of what that clock timed. If the unit is ns, `total_ns` is that sum
too. Otherwise the row has no time, and the columns of `CLOCK_LENGTHS` are in that unit. Self times,
shares and the whole never include such a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import sub
from typing import Any

from viewer.analysis.statistics.group_table import Group, Groups, GroupTable
from viewer.model.times import format_bounded, format_in, tick_to_ns
from viewer.model.timing import ROUNDING_TICKS

LENGTHS = ("mean", "min", "max", "p50", "p90")
STATISTICS_COLUMNS = (
    "file",
    "by",
    "key",
    "label",
    "share",
    *(f"{name}_{unit}" for name in ("total", "self") for unit in ("ticks", "ns")),
    "count",
    *(f"{name}_{unit}" for name in LENGTHS for unit in ("ticks", "ns")),
    "wall_ticks",
    "wall_ns",
)
DELEGATE_NS = "delegate_ns"
UNGROUPED = "ungrouped"
CLOCK = ("clock", "clock_unit", "clock_total", "clock_share")
CLOCK_LENGTHS = tuple(f"clock_{name}" for name in LENGTHS)
# Only in rows with such slices: how many the file cuts to 0, and what each is shorter than.
ROUNDED_ZEROS, ROUNDED_TO_NS = "rounded_zeros", "rounded_to_ns"


def wall_times(table: GroupTable, rate: Fraction) -> dict[str | int, int]:
    """Return the wall ns of the groups of a table, by their key or number; `rate` is ns per tick.

    Each is its part of the sum of those before it, rounded down, so that all add up: with the rest,
    which is that of `UNGROUPED`, to the ns of the whole.
    """
    groups = table.groups
    if isinstance(groups, Groups):  # there may be a million
        names: Sequence[str | int] = groups.numbers.tolist()
        ticks = groups.wall[groups.numbers].tolist()
    else:
        names = [group.key or group.number for group in groups]
        ticks = [group.wall or 0 for group in groups]
    ends = [tick_to_ns(end, rate) for end in (*accumulate(ticks, initial=0), table.whole)]
    return dict(zip((*names, UNGROUPED), map(sub, ends[1:], ends), strict=True))


def group_row(
    file: str, rate: Fraction, group: Group, wall: Mapping[str | int, int] | None = None
) -> dict[str, Any]:
    """Return a group's row; `rate` is ns per tick. Units have no self time and no slices.

    wall: `wall_times` of its table; None for a row without wall time.
    """
    row = {
        "file": file,
        "key": group.key or group.label,
        "label": group.label,
        "share": round(group.share, 6),
        **in_ticks_and_ns("total", group.total, rate),
    }
    if group.self_ticks is not None:
        row |= in_ticks_and_ns("self", group.self_ticks, rate)
    if group.spread is not None:
        row["count"] = group.spread.count
        for name in LENGTHS:
            length = getattr(group.spread, name)
            if group.spread.unit:
                row[f"clock_{name}"] = round(length, 3)
            elif group.spread.in_ns:
                row[f"{name}_ns"] = int(length)
            else:
                row |= in_ticks_and_ns(name, length, rate)
        row |= cut_facts(group.spread.zeros, rate)
    if group.wall is not None and wall is not None:
        row |= {"wall_ticks": group.wall, "wall_ns": wall[group.key or group.number]}
    if group.delegate_ns is not None:
        row[DELEGATE_NS] = group.delegate_ns
    if (clock := group.clock) is not None:
        times = clock.clock, clock.unit, clock.total, round(clock.share, 6)
        row |= dict(zip(CLOCK, times, strict=True))
        if group.is_apart:
            row["total_ticks"] = None
            row["total_ns"] = clock.total if clock.unit == "ns" else None
    return row


def cut_facts(zeros: int, rate: Fraction) -> dict[str, int]:
    """Return what is known of slices that a file cuts to 0; empty without any."""
    return {ROUNDED_ZEROS: zeros, ROUNDED_TO_NS: int(ROUNDING_TICKS * rate)} if zeros else {}


def time_text(row: Mapping[str, Any], name: str, factor: int = 0) -> str:
    """Return a time of a row: "1.643 µs", or "< 3 µs" for one that the file cuts to 0.

    A total and a self time are those of all such slices of the row, other times of one. factor: the
    ns of a unit that the text leaves out; by default it has the unit that suits it.
    """
    zeros = row.get(ROUNDED_ZEROS, 0)
    if name not in ("total_ns", "self_ns", "wall_ns"):
        zeros = min(zeros, 1)
    elif row.get("total_ns"):
        zeros = 0  # the self time of a row with a total is what it is
    ns, cut = row[name], row.get(ROUNDED_TO_NS, 0)
    if not factor:
        return format_bounded(ns, zeros, cut)
    return f"< {format_in(zeros * cut, factor)}" if zeros and not ns else format_in(ns, factor)


def is_below_rounding(row: Mapping[str, Any]) -> bool:
    """Whether the file cuts all of a row's time to 0: it has no share."""
    return ROUNDED_ZEROS in row and not row.get("total_ns")


def in_ticks_and_ns(name: str, ticks: int | float, rate: Fraction) -> dict[str, Any]:
    """Return a time in ticks (means to three digits) and in ns, rounded down."""
    whole = isinstance(ticks, int)
    ns = tick_to_ns(ticks, rate) if isinstance(ticks, int) else int(Fraction(ticks) * rate // 1)
    return {f"{name}_ticks": ticks if whole else round(ticks, 3), f"{name}_ns": ns}


def statistics_columns(
    file: str, rate: Fraction, table: GroupTable, groups: Iterable[Group], *, rest: bool = True
) -> dict[str, list[Any]]:
    """Return the rows of a profile: column name -> list, of other clocks only if a row has them.

    groups: those of the table, or some of them, in any order. rest: add a row for ungrouped time.
    """
    wall = wall_times(table, rate)
    rows = [group_row(file, rate, group, wall) for group in groups]
    if table.ungrouped and rest:
        share = table.ungrouped / table.whole
        free = Group(
            table.ungrouped_label,
            table.ungrouped,
            share,
            table.ungrouped,
            table.ungrouped,
            key=UNGROUPED,
        )
        rows.append(group_row(file, rate, free, wall) | {"key": table.ungrouped_label})
        # What is in no group has no outermost slice.
        for unit in ("ticks", "ns"):
            del rows[-1][f"total_{unit}"]
    for row in rows:
        row["by"] = table.key
    also = (DELEGATE_NS, *CLOCK, *CLOCK_LENGTHS)
    own = [name for name in also if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in (*STATISTICS_COLUMNS, *own)}
