"""Table rows of groups: the hierarchy of NPU units, or any other groups by cost."""

from __future__ import annotations

from viewer.analysis.statistics import figure_terms
from viewer.analysis.statistics.figure_terms import FigureTerm
from viewer.analysis.statistics.group_table import GroupTable
from viewer.gui.panels.base.operator_contents import (
    ColumnKind,
    Heading,
    OperatorContents,
    TableRow,
    term_heading,
)
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.model.times import format_time, group_digits, percent_digits, tick_to_ns
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
    "only_dma": "Transfers are active, no slice unit and no CSS",
    "only_compute": "Slice units or CSS are active, no transfer",
    "overlap": "Transfers are active at the same time as slice units or CSS",
    "nss": "A job of the sequencer is active: any of the NPU's units may be active",
    "host": "All work of the processor in the runtime, except waiting",
    "host_programs": "Programs that run on the processor, a part of Host",
    "host_copy": "Copies by the processor, a part of Host",
    "hal": "What the HAL does itself, outside the dispatches that it calls",
    "busy": "Any of the rows above is active",
    "idle": "Nothing is active; a waiting host does not count",
    "overall": "From the earliest start to the latest end",
}
_WHOLE = "All rows and the time without a row add up to the whole."
_INFERENCES = "How many inferences are counted."
_OWN_CLOCK = (
    "Sum of the durations on a delegate's clock. They are inside calls whose time is already "
    "counted, so no other column includes them."
)
_ORDER = {key: number for number, key in enumerate(_PLACES)}


def unit_contents(shown: OpenTrace, table: GroupTable, title: str) -> OperatorContents:
    """Return the rows of NPU units, nested, with cycles if the clock counts cycles."""
    rate = shown.axis.ns_per_tick
    cycles = shown.trace.clock.unit == "cycle"
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        Heading("Time", ColumnKind.TIME, 92, "Time in which the unit is active."),
        term_heading(figure_terms.share(table.share_of, "Time"), ColumnKind.SHARE, 200),
        *((Heading("Cycles", ColumnKind.NUMBER, 92),) if cycles else ()),
    )
    rows = []
    for group in sorted(table.groups, key=lambda group: (_ORDER[_place(group.key)], group.key)):
        indent, tone = _PLACES[_place(group.key)]
        ns = tick_to_ns(group.total, rate)
        texts: tuple[str, ...] = ("", format_time(ns), percent_digits(group.share))
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
    has_apart = any(group.delegate_ns is not None for group in table.groups)
    is_inference = table.key == "inference"
    counted = FigureTerm("Runs", _INFERENCES) if is_inference else figure_terms.COUNT
    headings = (
        Heading(title, ColumnKind.NAME, 0),
        term_heading(figure_terms.SELF, ColumnKind.TIME, 92, _WHOLE),
        # Beside the time, because a narrow panel hides its last columns.
        *((Heading("Own clock", ColumnKind.TIME, 92, _OWN_CLOCK),) if has_apart else ()),
        term_heading(figure_terms.share(table.share_of), ColumnKind.SHARE, 132),
        term_heading(figure_terms.TOTAL, ColumnKind.TIME, 96),
        term_heading(counted, ColumnKind.NUMBER, 64),
        *(
            term_heading(term, ColumnKind.TIME, 92)
            for term in (
                figure_terms.MEAN,
                figure_terms.MEDIAN,
                figure_terms.P90,
                figure_terms.MIN,
                figure_terms.MAX,
            )
        ),
    )
    rows = []
    for group in table.groups:
        self_ticks = group.self_ticks or 0
        ns, total = tick_to_ns(self_ticks, rate), tick_to_ns(group.total, rate)
        spread = group.spread
        assert spread is not None  # only units have none
        ticks = (spread.mean, spread.p50, spread.p90, spread.min, spread.max)
        durations = [float(t * (1 if spread.in_ns else rate)) for t in ticks]
        if not spread.count:
            durations = [-1.0] * len(ticks)
        texts: tuple[str, ...] = (
            "",
            MISSING if group.is_apart else format_time(ns),
            MISSING if group.is_apart else percent_digits(group.share),
            MISSING if group.is_apart else format_time(total),
            group_digits(spread.count),
            *(format_time(ns) if ns >= 0 else MISSING for ns in durations),
        )
        keys: tuple[float | str, ...] = (
            group.label.lower(),
            ns,
            group.share,
            total,
            spread.count,
            *durations,
        )
        if has_apart:
            apart = group.delegate_ns
            texts = (*texts[:2], MISSING if apart is None else format_time(apart), *texts[2:])
            keys = (*keys[:2], -1 if apart is None else apart, *keys[2:])
        operators = shown.table.sets[group.number] if table.key == "operator" else ()
        module, dot, name = group.label.partition(" · ")
        if not (operators and dot):
            module, name = "", group.label
        part = self_ticks / most if most else 0.0
        rows.append(
            TableRow(operators, module, name, "", texts, keys, part, "accent", group=group.number)
        )
    return OperatorContents(headings, tuple(rows))
