"""Groups of slices in a panel: their table rows, how they add up, and selecting one.

Shared by all panels that show a `GroupTable`, so that a figure is the same in each.
"""

from __future__ import annotations

from dataclasses import replace

from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.figure_terms import FigureTerm
from viewer.analysis.statistics.group_table import GroupTable, Spread, clock_title
from viewer.gui.panels.base.cost_footer import CostFooter, whole_text
from viewer.gui.panels.base.operator_tables.contents import (
    OperatorContents,
    TableRow,
    term_heading,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.tables.columns import ColumnKind, Heading, column_of
from viewer.model.scope import LeftOut
from viewer.model.times import (
    NARROW_SPACE,
    format_bounded,
    format_time,
    group_digits,
    percent_digits,
    tick_to_ns,
)
from viewer.model.timing import ROUNDING_TICKS
from viewer.tables.statistics import DELEGATE_NS, OTHER_CLOCKS, STATISTICS
from viewer.view.open_trace import OpenTrace

# 5,000 rows take 0.2 s to create and stay instant to sort and filter; a million would take 40 s.
MOST_ROWS = 5_000
_WHOLE = "All rows and the time without a row add up to the whole."
_INFERENCES = "How many inferences are counted."
_OWN_CLOCK = (
    "Sum of the durations on a delegate's clock. Their calls already count this time, so it is not "
    "part of Self, Total or the share. It can be more than the calls took."
)


def group_contents(shown: OpenTrace, table: GroupTable, title: str) -> OperatorContents:
    """Return the rows of other groups: self, wall and total time, and statistics of the slices.

    At most `MOST_ROWS`, the first groups of the table.

    What a delegate's own clock timed has a column of its own, if there is any; so has wall time
    where it differs from self time.
    """
    rate = shown.axis.ns_per_tick
    groups = tuple(table.groups[:MOST_ROWS])
    most = max((group.wall or 0 for group in groups), default=0)
    # Usually the two are the same.
    has_wall = any(group.wall != group.self_ticks for group in groups)
    main = STATISTICS["wall_ns" if has_wall else "self_ns"]
    has_apart = any(group.delegate_ns is not None or group.clock for group in groups)
    counts = STATISTICS["count"]
    if table.key == "inference":
        counts = replace(counts, term=FigureTerm("Runs", _INFERENCES))
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        # The first column of figures sorts: what the shares are of.
        column_of(main, 92, _WHOLE),
        # Beside the time, because a narrow panel hides its last columns.
        *((column_of(OTHER_CLOCKS[DELEGATE_NS], 92, tip=_OWN_CLOCK),) if has_apart else ()),
        term_heading(figure_terms.share(table.share_of), ColumnKind.SHARE, 132),
        *((column_of(STATISTICS["self_ns"], 92),) if has_wall else ()),
        column_of(STATISTICS["total_ns"], 96),
        column_of(counts, 64),
        *(column_of(STATISTICS[f"{name}_ns"], 92) for name in ("mean", "p50", "p90", "min", "max")),
    )
    rows = []
    for group in groups:
        ns, total = tick_to_ns(group.self_ticks or 0, rate), tick_to_ns(group.total, rate)
        spread = group.spread
        assert spread is not None  # only units have none
        ticks = (spread.mean, spread.p50, spread.p90, spread.min, spread.max)
        durations = [float(t * (1 if spread.in_ns or spread.unit else rate)) for t in ticks]
        if not spread.count:
            durations = [-1.0] * len(ticks)
        wall = tick_to_ns(group.wall or 0, rate)
        has_time = not group.is_apart
        has_wall_time = has_time and group.is_counted
        is_cut = bool(spread.zeros) and not total  # all that the file has of it
        cut, zeros = float(ROUNDING_TICKS * rate), spread.zeros if is_cut else 0
        texts: tuple[str, ...] = (
            "",
            format_bounded(wall, zeros, cut) if has_wall_time else MISSING,
            percent_digits(group.share) if has_wall_time and not is_cut else MISSING,
            *((format_bounded(ns, zeros, cut) if has_time else MISSING,) if has_wall else ()),
            MISSING if group.is_apart else format_bounded(total, spread.zeros, cut),
            group_digits(spread.count),
            *(_length_text(ns, spread, cut) if ns >= 0 else MISSING for ns in durations),
        )
        keys: tuple[float | str, ...] = (
            group.label.lower(),
            wall,
            group.share,
            *((ns,) if has_wall else ()),
            total,
            spread.count,
            *durations,
        )
        if has_apart:
            clock = group.clock
            apart = group.delegate_ns if clock is None else clock.total
            unit = "" if clock is None else clock.unit
            own = MISSING if apart is None else own_clock_text(apart, unit)
            texts = (*texts[:2], own, *texts[2:])
            keys = (*keys[:2], -1 if apart is None else apart, *keys[2:])
        operators = shown.table.sets[group.number] if table.key == "operator" else ()
        module, dot, name = group.label.partition(" · ")
        if not (operators and dot):
            module, name = "", group.label
        part = (group.wall or 0) / most if most else 0.0
        rows.append(
            TableRow(operators, module, name, "", texts, keys, part, "accent", group=group.number)
        )
    return OperatorContents(headings, tuple(rows))


def own_clock_text(length: float, unit: str) -> str:
    """Return a length on another clock: a time, or "50 000 cycles" of an unknown rate."""
    if unit in ("", "ns"):
        return format_time(length)
    return f"{group_digits(round(length))}{NARROW_SPACE}{unit}"


def clocks_text(table: GroupTable) -> str:
    """Return what other clocks timed of the kernels: "22.320 ms on the clock of VulkanBackend"."""
    return ", ".join(
        f"{own_clock_text(one.total, one.unit)} on {clock_title(one.clock, one.unit)}"
        for one in table.clocks
    )


def show_whole(footer: CostFooter, shown: OpenTrace, table: GroupTable, uncounted: LeftOut) -> None:
    """Show in a footer how the self times of the groups add up to the total.

    Each part is rounded down, as in the table, so their sum can be a few ns less than the total.
    """
    rate = shown.axis.ns_per_tick
    parts = (
        ("Grouped", "accent", table.whole - table.ungrouped),
        (table.ungrouped_label[1:-1].capitalize(), "", table.ungrouped),
    )
    footer.show_parts(
        tuple((name, tone, tick_to_ns(ticks, rate)) for name, tone, ticks in parts),
        tick_to_ns(table.whole, rate),
        _whole_of(shown, table),
        uncounted,
    )


def _whole_of(shown: OpenTrace, table: GroupTable) -> str:
    if table.share_of == figure_terms.BUSY_TIME:
        return "Busy time"
    return whole_text(shown.trace, "Total") if table.ungrouped else "Total"


def _length_text(length: float, spread: Spread, cut: float) -> str:
    """Format a duration of a group on the clock that timed it. cut: the bound of zeros in ns."""
    if spread.unit:
        return own_clock_text(length, spread.unit)
    return format_bounded(length, min(spread.zeros, 1), cut)
