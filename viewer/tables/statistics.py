"""Statistics by one key as rows: `opscope export --table statistics` and `opscope stats`.

Times are ticks of the profile's own clock, and ns rounded down; wall times so that those of all
rows add up to that of the whole. The ungrouped part of the whole is a last row: "(no operator)". By
two keys, the rows are those of the first key divided by the second, `then`, and add up to its row.

A group with events on a delegate's own clock, of which the user stated the rate, has the durations
of its slices in ns alone, and the sum of those events as `delegate_ns`, which no total includes. By
`kernel`, a row on another clock has the columns of `OTHER_CLOCKS`. If its unit is ns, `total_ns` is
its sum too. Self times, shares and the whole never include such a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import sub
from typing import Any

from viewer.analysis.statistics.group_table import Group, Groups, GroupTable
from viewer.analysis.statistics.pivot import PivotTable
from viewer.model import figures
from viewer.model.figures import FigureBase, FigureTerm
from viewer.model.times import format_bounded, format_in, tick_to_ns
from viewer.model.timing import ROUNDING_TICKS
from viewer.tables.columns import OF_FILE, ColumnSpec, TableSpec, ticks_and_ns

_MOST_EXACT = 1 << 49  # float64 tells tenths up to it
LENGTHS = ("mean", "min", "max", "p50", "p90")
DELEGATE_NS = "delegate_ns"
UNGROUPED = "ungrouped"
# Only in rows with such slices: how many the file cuts to 0, and what each is shorter than.
ROUNDED_ZEROS, ROUNDED_TO_NS = "rounded_zeros", "rounded_to_ns"


def _length(name: str, meaning: str, term: FigureTerm) -> tuple[ColumnSpec, ColumnSpec]:
    """Return the columns of a duration of the slices of a group."""
    return (
        ColumnSpec(f"{name}_ticks", "float64", meaning, unit="ticks"),
        ColumnSpec(f"{name}_ns", "Int64", f"{meaning}, rounded down", unit="ns", term=term),
    )


# A value is that of a `Group`; other columns are filled by `group_row`.
STATISTICS = TableSpec("stats", (
    OF_FILE,
    ColumnSpec("key", "string", "The group, for scripts", lambda group: group.key or group.label),
    ColumnSpec("label", "string", "The group, as displayed", "label"),
    ColumnSpec("share", "float64", "Share of wall time, 0 to 1",
        lambda group: round(group.share, 6), title="Share"),
    *ticks_and_ns("total", "Time of its outermost slices", term=figures.TOTAL),
    *ticks_and_ns("self", "Time without slices of other groups inside", None, "Int64",
        term=figures.SELF),
    ColumnSpec("count", "Int64", "Number of its slices", term=figures.COUNT),
    *_length("mean", "Mean duration of its slices", figures.MEAN),
    *_length("min", "Shortest duration", figures.MIN),
    *_length("max", "Longest duration", figures.MAX),
    *_length("p50", "Median duration", figures.MEDIAN),
    *_length("p90", "90th percentile of the durations", figures.P90),
    ColumnSpec("share_of", "category", "What the share is of"),
    *ticks_and_ns("wall", "Each instant of a thread once; groups add up", None, "Int64",
        term=figures.WALL),
))  # fmt: skip
# Of rows of several inferences, if these are of one phase.
PER_INFERENCE = TableSpec("per_inference", (
    *(ColumnSpec(f"{name}_per_inference_ns", "Int64",
        f"Mean {name} time per inference, rounded down", unit="ns")
        for name in ("total", "self", "wall")),
    ColumnSpec("p50_per_inference_ticks", "float64", "Median self time per inference",
        unit="ticks"),
    ColumnSpec("p50_per_inference_ns", "Int64", "Median self time per inference, rounded down",
        unit="ns"),
))  # fmt: skip
# Of rows by two keys.
THEN = ColumnSpec("then", "string", "The group by the second key", "label")
# Of groups that other clocks timed. Only tables that have such a group have them.
OTHER_CLOCKS = TableSpec("other_clocks", (
    ColumnSpec(DELEGATE_NS, "Int64", "Time on a delegate's own clock, whose rate the user stated",
        "delegate_ns", "ns", "Own clock"),
    ColumnSpec("clock", "category", "Clock that timed it",
        lambda group: group.clock and group.clock.clock),
    ColumnSpec("clock_unit", "category", "Unit of that clock",
        lambda group: group.clock and group.clock.unit),
    ColumnSpec("clock_total", "Int64", "Sum on that clock, in its unit",
        lambda group: group.clock and group.clock.total),
    ColumnSpec("clock_share", "float64", "Share of what that clock timed, 0 to 1",
        lambda group: group.clock and round(group.clock.share, 6), title="% of clock"),
    *(ColumnSpec(f"clock_{name}", "float64", f"{name}, in that unit") for name in LENGTHS),
))  # fmt: skip


def titled_columns(first: Sequence[str], without: Sequence[str] = ()) -> list[ColumnSpec]:
    """Return the columns that a text shows: some first, then all others but those in `without`."""
    every = {c.name: c for c in (*STATISTICS.columns, *OTHER_CLOCKS.columns) if c.title}
    return [every[name] for name in dict.fromkeys((*first, *every)) if name not in without]


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
    rest = table.whole - sum(ticks)
    return dict(zip((*names, UNGROUPED), _adding_up([*ticks, rest], rate), strict=True))


def group_row(
    file: str, rate: Fraction, group: Group, wall: Mapping[str | int, int] | None = None
) -> dict[str, Any]:
    """Return a group's row; `rate` is ns per tick. Units have no self time and no slices.

    wall: `wall_times` of its table; None for a row without wall time.
    """
    row = {"file": file, **STATISTICS.row(group), **in_ticks_and_ns("total", group.total, rate)}
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
                if name in ("mean", "p90"):
                    exact = _exact(name, length, group.spread.count)
                    row[f"{name}_ns"] = tick_to_ns(exact, rate)
        row |= cut_facts(group.spread.zeros, rate)
    if group.wall is not None and wall is not None:
        row |= {"wall_ticks": group.wall, "wall_ns": wall[group.key or group.number]}
    if group.clock is not None and group.is_apart:
        row["total_ticks"] = None
        row["total_ns"] = group.clock.total if group.clock.unit == "ns" else None
    if group.clock is not None or group.delegate_ns is not None:
        clocks = OTHER_CLOCKS.row(group)
        row |= {name: value for name, value in clocks.items() if value is not None}
    return row


def _exact(name: str, ticks: float, count: int) -> Fraction:
    """Return a length of so many slices as the fraction that its float64 is the nearest to.

    A 90th percentile of 655 can be 654.9999999999999, which is not 654 ns.
    """
    if abs(ticks) >= _MOST_EXACT:
        return Fraction(ticks)
    if name == "mean":
        return Fraction(ticks).limit_denominator(count or 1)
    return Fraction(round(ticks * 10), 10)


def per_inference_row(
    row: Mapping[str, Any], base: FigureBase, wall: int | None = None, median: float | None = None
) -> dict[str, Any]:
    """Return the columns of `PER_INFERENCE` of a row of `group_row`.

    wall: the mean wall time in ns, rounded so that those of all rows add up. median: in ticks.
    """
    means: dict[str, Any] = {
        f"{name}_per_inference_ns": tick_to_ns(row[f"{name}_ticks"], base.rate / base.divisor)
        for name in ("total", "self")
        if row.get(f"{name}_ticks") is not None
    }
    if wall is not None:
        means["wall_per_inference_ns"] = wall
    if median is not None:
        means["p50_per_inference_ticks"] = median
        means["p50_per_inference_ns"] = tick_to_ns(Fraction(median), base.rate)
    return means


def median_of(group: Group, listed: float | None) -> float | None:
    """Return the median self time per inference of a group, in ticks.

    listed: that of groups with self time; without it, it is 0. None for what another clock timed,
    and for the rest of a place, whose slices are of no group.
    """
    return None if group.is_apart or group.spread is None else listed or 0.0


def pivot_rows(
    file: str, rate: Fraction, table: PivotTable, wall: Mapping[str | int, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of the first key of a pivot, and those of its cells, with `THEN`.

    wall: `wall_times` of the table of the first key.
    """
    totals, cells, charged = list[dict[str, Any]](), list[dict[str, Any]](), 0
    for pivoted in table.rows:
        group = pivoted.group
        totals.append(group_row(file, rate, group, wall))
        head = {name: totals[-1][name] for name in ("key", "label")}
        ns = {
            "wall": _adding_up([cell.wall or 0 for cell in pivoted.cells], rate, charged),
            "self": _adding_up([cell.self_ticks or 0 for cell in pivoted.cells], rate),
            "total": _adding_up([cell.total for cell in pivoted.cells], rate),
        }
        for i, cell in enumerate(pivoted.cells):
            row = group_row(file, rate, cell, {cell.number: ns["wall"][i]}) | head
            row |= {"self_ns": ns["self"][i], THEN.name: THEN.of(cell)}
            if row["total_ticks"] is not None:
                row["total_ns"] = ns["total"][i]
            cells.append(row)
        charged += group.wall or 0
    return totals, cells


def _adding_up(ticks: Sequence[int], rate: Fraction, before: int = 0) -> list[int]:
    """Return times in ns, each its part of the sum of those before it, rounded down."""
    ends = [tick_to_ns(end, rate) for end in accumulate(ticks, initial=before)]
    return list(map(sub, ends[1:], ends))


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
    if isinstance(ticks, int):
        return {f"{name}_ticks": ticks, f"{name}_ns": tick_to_ns(ticks, rate)}
    ns = ticks // 1 if rate == 1 else Fraction(ticks) * rate // 1
    return {f"{name}_ticks": round(ticks, 3), f"{name}_ns": int(ns)}


def statistics_columns(
    file: str,
    rate: Fraction,
    table: GroupTable,
    groups: Iterable[Group],
    *,
    rest: bool = True,
    base: FigureBase | None = None,
    medians: Mapping[int, float] | None = None,
) -> dict[str, list[Any]]:
    """Return the rows of a profile: column name -> list, of other clocks only if a row has them.

    groups: those of the table, or some of them, in any order. rest: add a row for ungrouped time.
    base: if it is a mean, add the columns of `PER_INFERENCE`, with the medians by group number.
    """
    wall = wall_times(table, rate)
    free = Group(
        table.ungrouped_label,
        table.ungrouped,
        table.ungrouped / (table.whole or 1),
        table.ungrouped,
        table.ungrouped,
        key=UNGROUPED,
    )
    every = [*groups, *([free] if table.ungrouped and rest else [])]
    rows = [group_row(file, rate, group, wall) for group in every]
    if table.ungrouped and rest:
        rows[-1] |= {"key": table.ungrouped_label}
        # What is in no group has no outermost slice.
        for unit in ("ticks", "ns"):
            del rows[-1][f"total_{unit}"]
    more = [name for name in OTHER_CLOCKS.names if any(name in row for row in rows)]
    if base is not None and base.is_mean:
        means = wall_times(table, rate / base.divisor)
        medians = medians or {}
        for group, row in zip(every, rows, strict=True):
            each = None if group.wall is None else means[group.key or group.number]
            row |= per_inference_row(row, base, each, median_of(group, medians.get(group.number)))
        more += PER_INFERENCE.names
    first, *names = (name for name in STATISTICS.names if name != "share_of")
    columns = (first, "by", *names, *more)
    return {
        name: [table.key if name == "by" else row.get(name) for row in rows] for name in columns
    }
