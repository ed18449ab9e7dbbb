"""Groups of slices in a panel: their table rows, how they add up, and selecting one.

Shared by all panels that show a `GroupTable`, so that a figure is the same in each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from viewer.analysis.statistics.group_table import Group, GroupTable, Spread, clock_title
from viewer.dataclasses import dataclass, replace
from viewer.gui.panels.base.cost_painting import CostFooter, whole_text, whole_title
from viewer.gui.panels.base.operator_model import (
    Cell,
    OperatorContents,
    RowColumns,
    TableRow,
    cells_of,
    headings_of,
    median_heading,
    summed_heading,
    term_heading,
    width_of_counts,
    width_of_title,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.table import ColumnKind, Heading, column_of
from viewer.model import figures
from viewer.model.figures import FigureBase, FigureTerm, LeftOut, TimeScope
from viewer.model.times import (
    NARROW_SPACE,
    format_bounded,
    format_time,
    group_digits,
    percent_digits,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.tables.columns import ColumnSpec
from viewer.tables.statistics import DELEGATE_NS, OTHER_CLOCKS, STATISTICS
from viewer.view.open_trace import OpenTrace

# 5,000 rows take 0.2 s to create and stay instant to sort and filter; a million would take 40 s.
MOST_ROWS = 5_000
_NO_SLICES = Spread(0, 0.0, 0, 0, 0.0, 0.0)
_WHOLE = "All rows and the time without a row add up to the whole."
_INFERENCES = "How many inferences are counted."
# What adds up over rows, and what all their slices have in common: not their medians.
_ADDED, _OF_ALL = ("wall_ns", "self_ns", "count"), ("mean_ns", "min_ns", "max_ns")
_FROM_START = "from the start of the profile"
STARTS = (
    Heading("First start", ColumnKind.TIME, 92, f"When its first slice starts, {_FROM_START}.",
        "first_start"),
    Heading("Last start", ColumnKind.TIME, 92, f"When its last slice starts, {_FROM_START}.",
        "last_start"),
)  # fmt: skip
_OWN_CLOCK = (
    "Sum of the durations on a delegate's clock. Their calls already count this time, so it is not "
    "part of Self, Total or the share. It can be more than the calls took."
)


@dataclass(frozen=True, slots=True)
class Starts:
    """When the first and the last slice of groups start, in ticks, by their numbers.

    cells: by the numbers of their group and their own.
    """

    groups: Mapping[int, tuple[int, int]]
    cells: Mapping[tuple[int, int], tuple[int, int]]


def group_contents(
    open_trace: OpenTrace,
    table: GroupTable,
    title: str,
    base: FigureBase | None = None,
    cells: Sequence[Sequence[Group]] = (),
    medians: Mapping[int, float] | None = None,
    cell_medians: Mapping[tuple[int, int], float] | None = None,
    starts: Starts | None = None,
) -> OperatorContents:
    """Return the rows of other groups: self, wall and total time, and statistics of the slices.

    base: what the times are per; by default they are sums, which their titles do not say. cells:
    what each group is divided into, as rows below it; the group of the first one is -2, of the next
    one -3, and so on. medians: per inference, of each group by its number; without them, there is
    no such column. cell_medians: those of cells, by the numbers of their group and their own.
    starts: without them, there are no such columns.

    About `MOST_ROWS`, the first groups of the table.

    What a delegate's own clock timed has a column of its own, if there is any; so has wall time
    where it differs from self time.
    """
    rate = open_trace.axis.ns_per_tick
    base = base or FigureBase(rate, unit=open_trace.file.unit)
    groups = tuple(table.groups[:MOST_ROWS])
    most = max((group.wall or 0 for group in groups), default=0)
    most_counted = max((_spread(group).count for group in groups), default=0)
    # Usually the two are the same.
    has_wall = any(group.wall != group.self_ticks for group in groups)
    main = STATISTICS["wall_ns" if has_wall else "self_ns"]
    has_apart = any(group.delegate_ns is not None or group.clock for group in groups)
    counts = STATISTICS["count"]
    if table.key == "inference":
        unit = open_trace.file.unit
        counts = replace(
            counts, term=FigureTerm(unit.plural.capitalize(), unit.worded(_INFERENCES))
        )
    cut = float(ROUNDING_TICKS * rate)

    def is_cut(group: Group) -> bool:
        """Whether the file cuts all of its time to 0."""
        return bool(_spread(group).zeros) and not tick_to_ns(group.total, rate)

    def time(ticks: int | None, group: Group, *, is_known: bool) -> Cell:
        zeros = _spread(group).zeros if is_cut(group) else 0
        return base.text(ticks or 0, zeros) if is_known else MISSING, base.ns(ticks or 0)

    def has_wall_time(group: Group) -> bool:
        return group.is_counted and not group.is_apart

    def share(group: Group) -> Cell:
        is_known = has_wall_time(group) and not is_cut(group)
        return percent_digits(group.share) if is_known else MISSING, group.share

    def total(group: Group) -> Cell:
        text = MISSING if group.is_apart else base.text(group.total, _spread(group).zeros)
        return text, base.ns(group.total)

    def summed(group: Group) -> Cell:
        text = MISSING if group.is_apart else base.sum_text(group.total, _spread(group).zeros)
        return text, base.ns_of_one(group.total)

    of_cell: dict[int, float | None] = {}
    start_of = dict[int, tuple[int, int]]()  # by the identity of a group
    zero = open_trace.trace.start

    def start(end: int) -> Callable[[Group], Cell]:
        def cell(group: Group) -> Cell:
            if group.is_apart or id(group) not in start_of:  # on a clock of its own
                return MISSING, -1
            ns = tick_to_ns(start_of[id(group)][end] - zero, rate)
            return format_time(ns), ns

        return cell

    has_medians = any(not group.is_apart for group in groups) and bool(medians)

    def median(group: Group) -> Cell:
        ticks = of_cell[id(group)] if id(group) in of_cell else (medians or {}).get(group.number)
        if group.is_apart:
            ticks = None
        return (MISSING, -1) if ticks is None else (base.median_text(ticks), base.ns_of_one(ticks))

    def apart(group: Group) -> Cell:
        clock = group.clock
        length = group.delegate_ns if clock is None else clock.total
        if length is None:
            return MISSING, -1
        each = length / base.divisor if base.divisor > 1 else length
        return own_clock_text(each, "" if clock is None else clock.unit), each

    def length(name: str) -> Callable[[Group], Cell]:
        def cell(group: Group) -> Cell:
            spread = _spread(group)
            if not spread.count:
                return MISSING, -1.0
            own = spread.in_ns or spread.unit
            ns = float(getattr(spread, name) * (1 if own else rate))
            return _length_text(ns, spread, cut), ns

        return cell

    columns: RowColumns[Group] = (
        # The first column of figures sorts: what the shares are of.
        (_with_base(base, main, 92, _WHOLE), lambda g: time(g.wall, g, is_known=has_wall_time(g))),
        # Beside the time, because a narrow panel hides its last columns.
        *(((_with_base(base, OTHER_CLOCKS[DELEGATE_NS], 92, tip=_OWN_CLOCK), apart),)
            if has_apart else ()),
        (term_heading(figures.share(table.share_of, of=base), ColumnKind.SHARE, 132), share),
        *(((_with_base(base, STATISTICS["self_ns"], 92),
            lambda g: time(g.self_ticks, g, is_known=not g.is_apart)),) if has_wall else ()),
        *(((median_heading(base), median),) if has_medians else ()),
        (_with_base(base, STATISTICS["total_ns"], 96), total),
        (replace(column_of(counts, width_of_counts(
                most_counted, width_of_title(base.summed(counts.title), 64))),
            title=base.summed(counts.title)),
            lambda g: (group_digits(_spread(g).count), _spread(g).count)),
        *((column_of(STATISTICS[f"{name}_ns"], 92), length(name))
            for name in ("mean", "p50", "p90", "min", "max")),
        # The share is above. Others with a title whose value a group states.
        *((column_of(spec, 92), partial(_stated, spec)) for spec in STATISTICS.columns
            if spec.title and spec.value and spec.name != "share"),
        *((heading, start(end)) for end, heading in enumerate(STARTS) if starts is not None),
        *(((summed_heading(base, figures.TOTAL, ColumnKind.TIME, 92), summed),)
            if base.is_mean else ()),
    )  # fmt: skip
    rows, number = list[TableRow](), -2
    for place, group in enumerate(groups):
        if len(rows) >= MOST_ROWS:
            break
        operators = open_trace.table.sets[group.number] if table.key == "operator" else ()
        module, dot, name = group.label.partition(" · ")
        if not (operators and dot):
            module, name = "", group.label
        part = (group.wall or 0) / most if most else 0.0
        if starts is not None and group.number in starts.groups:
            start_of[id(group)] = starts.groups[group.number]
        texts = cells_of(columns, group, group.label.lower())
        rows.append(
            TableRow(operators, module, name, "", *texts, part, "accent", group=group.number)
        )
        for cell in cells[place] if cells else ():
            of_cell[id(cell)] = (cell_medians or {}).get((group.number, cell.number))
            part = max((cell.wall or 0) / most, 0.0) if most else 0.0
            if starts is not None and (group.number, cell.number) in starts.cells:
                start_of[id(cell)] = starts.cells[group.number, cell.number]
            texts = cells_of(columns, cell, cell.label.lower())
            rows.append(TableRow((), "", cell.label, "", *texts, part, "text3", 1, group=number))
            number -= 1
    by_number = {group.number: group for group in groups}

    def summed_texts(rows: Sequence[TableRow]) -> tuple[str, ...]:
        listed = [by_number[row.group] for row in rows if not row.indent]
        sum_row, has_spread = _sum_of(listed)
        texts, _ = cells_of(columns, sum_row, "")
        names = [heading.key or heading.title for heading, _ in columns]
        return ("", *(
            text if name in _ADDED or (has_spread and name in _OF_ALL) or heading.kind is
            ColumnKind.SHARE else ""
            for text, name, (heading, _) in zip(texts[1:], names, columns, strict=True)
        ))  # fmt: skip

    return OperatorContents(
        headings_of(title, columns), tuple(rows), is_nested=bool(cells), total=summed_texts
    )


def _sum_of(groups: Sequence[Group]) -> tuple[Group, bool]:
    """Return all groups as one, and whether its durations are of one clock."""
    timed = [group for group in groups if not group.is_apart]
    spreads = [group.spread for group in groups if group.spread and group.spread.count]
    count = sum(spread.count for spread in spreads)
    on_delegates = [group.delegate_ns for group in groups if group.delegate_ns is not None]
    spread = Spread(
        count,
        sum(spread.mean * spread.count for spread in spreads) / (count or 1),
        min((spread.min for spread in spreads), default=0),
        max((spread.max for spread in spreads), default=0),
        0.0,
        0.0,
    )
    group = Group(
        "",
        0,
        sum(group.share for group in timed if group.is_counted),
        sum(group.self_ticks or 0 for group in timed),
        sum(group.wall or 0 for group in timed if group.is_counted),
        spread,
        delegate_ns=sum(on_delegates) if on_delegates else None,
    )
    is_of_one_clock = not any(spread.in_ns or spread.unit or spread.zeros for spread in spreads)
    return group, is_of_one_clock


def _with_base(
    base: FigureBase, spec: ColumnSpec, width: int, more: str = "", tip: str = ""
) -> Heading:
    """Return the column of a time with its base in the title."""
    column = column_of(spec, width, " ".join(filter(None, (more, base.explanation))))
    column = replace(column, tip=tip) if tip else column
    title = base.titled(spec.title)
    return replace(column, title=title, width=width_of_title(title, width))


def _spread(group: Group) -> Spread:
    return group.spread or _NO_SLICES  # units, and the rest of a place, have none


def _stated(spec: ColumnSpec, group: Group) -> Cell:
    value = spec.of(group)
    if value is None:
        return MISSING, "" if spec.is_text else -1
    if spec.unit == "ns":
        return format_time(value), value
    return group_digits(value) if isinstance(value, int) else str(value), value


def own_clock_text(length: float, unit: str) -> str:
    """Return a length on another clock: a time, or "50 000 cycles" of an unknown rate."""
    if unit in ("", "ns"):
        return format_time(length)
    return f"{group_digits(round(length))}{NARROW_SPACE}{unit}"


def clocks_text(table: GroupTable, divisor: int = 1) -> str:
    """Return what other clocks timed of the kernels: "22.320 ms on the clock of VulkanBackend".

    divisor: of what is per inference, how many there are.
    """
    return ", ".join(
        f"{own_clock_text(one.total / divisor, one.unit)} on {clock_title(one.clock, one.unit)}"
        for one in table.clocks
    )


def show_whole(
    footer: CostFooter,
    shown: OpenTrace,
    table: GroupTable,
    uncounted: LeftOut,
    scope: TimeScope,
    base: FigureBase | None = None,
) -> None:
    """Show in a footer how the self times of the groups add up to the total.

    Of a sum, each part is rounded down, as in the table, so that their sum can be a few ns less
    than the total. base: as for `group_contents`.
    """
    base = base or FigureBase(shown.axis.ns_per_tick, unit=shown.file.unit)
    what = whole_text(shown.trace, "Total") if table.ungrouped else "Total"
    if table.share_of == figures.BUSY_TIME:
        what = whole_title(shown.trace, scope)
    parts = (
        ("Grouped", "accent", table.whole - table.ungrouped),
        (table.ungrouped_label[1:-1].capitalize(), "", table.ungrouped),
    )
    footer.show_parts(
        tuple((name, tone, base.ns(ticks)) for name, tone, ticks in parts),
        base.ns(table.whole),
        what,
        uncounted,
        base,
    )


def _length_text(length: float, spread: Spread, cut: float) -> str:
    """Format a duration of a group on the clock that timed it. cut: the bound of zeros in ns."""
    if spread.unit:
        return own_clock_text(length, spread.unit)
    return format_bounded(length, min(spread.zeros, 1), cut)
