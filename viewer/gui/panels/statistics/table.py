"""Table rows of groups: the hierarchy of NPU units, or any other groups by cost."""

from __future__ import annotations

from viewer.analysis.statistics.group_table import GroupTable
from viewer.gui.panels.base.operator_table import ColumnKind, Heading, OperatorContents, TableRow
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.model.times import format_in, group_digits, tick_to_ns, unit_for
from viewer.view.open_trace import OpenTrace

# Nesting level and color token of each row. Numbered slice units use "slice_unit".
_PLACES: dict[str, tuple[int, str]] = {
    "dma_cdma": (0, "unit_dma"),
    "dma": (1, "unit_dma"),
    "dma_in": (2, "unit_dma"),
    "dma_out": (2, "unit_dma"),
    "cdma": (1, "unit_dma"),
    "compute": (0, "unit_compute"),
    "slice": (1, "unit_compute"),
    "slice_unit": (2, "unit_compute"),
    "css": (1, "unit_compute"),
    "only_dma": (0, "unit_dma"),
    "only_compute": (0, "unit_compute"),
    "overlap": (0, "unit_both"),
    "nss": (0, "unit_compute"),
    "host": (0, "unit_host"),
    "host_programs": (1, "unit_host"),
    "host_copy": (1, "unit_host"),
    "hal": (0, "unit_host"),
    "busy": (0, "text3"),
    "idle": (0, "slab"),
    "overall": (0, "slab"),
}
# Tooltips of the rows whose name does not explain what they count.
_MEANINGS = {
    "dma_cdma": "DMA In, DMA Out and CDMA together; an instant counts once",
    "dma": "DMA In and DMA Out together; an instant counts once",
    "compute": "Slice units and CSS together; an instant counts once",
    "slice": "All slice units together; an instant counts once",
    "only_dma": "Transfers are under way, no slice unit and no CSS is at work",
    "only_compute": "Slice units or CSS are at work, no transfer is under way",
    "overlap": "Transfers are under way while slice units or CSS are at work",
    "nss": "A job of the sequencer is under way: any of the NPU's units may be at work",
    "host": "All that the processor does in the runtime, but for waiting",
    "host_programs": "Programs that run on the processor, a part of Host",
    "host_copy": "Copies by the processor, a part of Host",
    "hal": "What the HAL does itself, outside the dispatches that it calls",
    "busy": "Any of the rows above is at work",
    "idle": "Nothing is at work; a host that waits is not",
    "overall": "From the earliest start to the latest end",
}
_ORDER = {key: number for number, key in enumerate(_PLACES)}


def unit_contents(shown: OpenTrace, table: GroupTable, title: str) -> OperatorContents:
    """Return the rows of NPU units, nested, with cycles if the clock counts cycles."""
    rate = shown.axis.ns_per_tick
    unit, factor = unit_for(tick_to_ns(table.whole, rate))
    cycles = shown.trace.clock.unit == "cycle"
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        Heading(f"Time, {unit}", ColumnKind.BAR, 240),
        Heading("Share, %", ColumnKind.NUMBER, 76),
        *((Heading("Cycles", ColumnKind.NUMBER, 92),) if cycles else ()),
    )
    rows = []
    for group in sorted(table.groups, key=lambda group: (_ORDER[_place(group.key)], group.key)):
        indent, tone = _PLACES[_place(group.key)]
        ns = tick_to_ns(group.total, rate)
        texts: tuple[str, ...] = ("", format_in(ns, factor), f"{100 * group.share:.1f}")
        keys: tuple[float | str, ...] = (group.label, ns, group.share)
        if cycles:
            texts, keys = (*texts, group_digits(group.total)), (*keys, group.total)
        rows.append(
            TableRow(
                (),
                "",
                group.label,
                "",
                texts,
                keys,
                group.share,
                tone,
                indent=indent,
                detail=_MEANINGS.get(group.key, ""),
            )
        )
    return OperatorContents(headings, tuple(rows))


def _place(key: str) -> str:
    return "slice_unit" if key.startswith("slice_unit_") else key


def group_contents(shown: OpenTrace, table: GroupTable, title: str) -> OperatorContents:
    """Return the rows of other groups: self and total time, and statistics of the slices.

    What a delegate's own clock timed has a column of its own, if there is any.
    """
    rate = shown.axis.ns_per_tick
    most = max((group.self_ticks or 0 for group in table.groups), default=0)
    largest = max((group.total for group in table.groups), default=0)
    apart = [group.delegate_ns for group in table.groups if group.delegate_ns is not None]
    unit, factor = unit_for(max(tick_to_ns(largest, rate), *apart, 0))
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        Heading(f"Self, {unit}", ColumnKind.BAR, 172),
        # Beside the time, because a narrow panel hides its last columns.
        *((Heading("Own clock", ColumnKind.NUMBER, 80),) if apart else ()),
        Heading(f"% of {table.share_of}", ColumnKind.NUMBER, 132),
        Heading(f"Total, {unit}", ColumnKind.NUMBER, 88),
        Heading("Slices" if table.key != "inference" else "Runs", ColumnKind.NUMBER, 60),
        Heading("Mean", ColumnKind.NUMBER, 76),
        Heading("p50", ColumnKind.NUMBER, 76),
        Heading("p90", ColumnKind.NUMBER, 76),
        Heading("Min", ColumnKind.NUMBER, 76),
        Heading("Max", ColumnKind.NUMBER, 76),
    )
    rows = []
    for group in table.groups:
        own_ticks = group.self_ticks or 0
        ns, total = tick_to_ns(own_ticks, rate), tick_to_ns(group.total, rate)
        spread = group.spread
        assert spread is not None  # only units have none
        ticks = (spread.mean, spread.p50, spread.p90, spread.min, spread.max)
        durations = [float(t * (1 if spread.in_ns else rate)) for t in ticks]
        if not spread.count:
            durations = [-1.0] * len(ticks)
        texts: tuple[str, ...] = (
            "",
            MISSING if group.is_apart else format_in(ns, factor),
            MISSING if group.is_apart else f"{100 * group.share:.1f}",
            MISSING if group.is_apart else format_in(total, factor),
            group_digits(spread.count),
            *(format_in(ns, factor) if ns >= 0 else MISSING for ns in durations),
        )
        keys: tuple[float | str, ...] = (
            group.label.lower(),
            ns,
            group.share,
            total,
            spread.count,
            *durations,
        )
        if apart:
            own = group.delegate_ns
            texts = (*texts[:2], MISSING if own is None else format_in(own, factor), *texts[2:])
            keys = (*keys[:2], -1 if own is None else own, *keys[2:])
        operators = shown.table.sets[group.number] if table.key == "operator" else ()
        module, dot, name = group.label.partition(" · ")
        if not (operators and dot):
            module, name = "", group.label
        part = own_ticks / most if most else 0.0
        rows.append(
            TableRow(operators, module, name, "", texts, keys, part, "accent", group=group.number)
        )
    return OperatorContents(headings, tuple(rows))
