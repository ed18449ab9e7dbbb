"""The overview panel: how long each unit of an NPU was busy, alone, beside others, or not at all.

Of the whole trace, of the picked run, or of the range that is selected on the timeline. The bar
below adds up to all of it; the rows overlap, as `viewer.model.unit_overview` defines them.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from viewer.background import Latest
from viewer.model.times import format_in, format_time, group_digits, tick_to_ns, unit_for
from viewer.model.unit_overview import OverviewRow, UnitOverview, has_units
from viewer.opening import OpenTrace
from viewer.panels.cost_footer import CostFooter
from viewer.panels.operator_table import Contents, Heading, Kind, OperatorModel, TableRow
from viewer.panels.operators import OperatorView
from viewer.panels.slice_facts import operator_run_text
from viewer.panels.widgets import ElidedLabel, EmptyPlace
from viewer.session import Session, display_name
from viewer.theme import Theme

NOTHING = (
    "Open a Torq profile to see how long each unit of the NPU was busy. Other profiles say which "
    "operator ran, not which unit."
)
# Up to here the sets are made in less than 20 ms: no thread, and no flicker of old figures.
AT_ONCE = 50_000
# What stands under what, and in which colour. Slice units are numbered: under "slice".
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
_ORDER = {key: number for number, key in enumerate(_PLACES)}


class OverviewPanel(QWidget):
    """The units of the current trace in the selected range, the picked run, or the whole."""

    def __init__(self, session: Session, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._units: tuple[OpenTrace, UnitOverview] | None = None
        self.model = OperatorModel(self)
        self.table = OperatorView(self.model, theme, "Overview of units")
        self.subtitle = ElidedLabel("", theme, "caption", "text2")
        self.subtitle.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.footer = CostFooter(theme)
        page = QWidget()
        head = QHBoxLayout()
        head.setContentsMargins(theme.px(12), theme.px(8), theme.px(12), theme.px(8))
        head.addWidget(self.subtitle, 1)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        column.addWidget(self.footer)
        self._stack = QStackedWidget()
        self._stack.addWidget(page)
        self._stack.addWidget(EmptyPlace(NOTHING, theme))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self._stack)
        self._latest = Latest(self)
        self._latest.answered.connect(self._take)
        for signal in (session.opened, session.selected, session.run_picked, theme.changed):
            signal.connect(self.refresh)
        self.refresh()

    @property
    def is_empty(self) -> bool:
        """Whether a sentence stands in place of the table."""
        return self._stack.currentIndex() == 1

    @Slot()
    def refresh(self) -> None:
        """Show the units of the current trace in what is selected now."""
        number = self._session.current_trace
        shown = None if number is None else self._session.traces[number]
        if shown is None or not has_units(shown.trace):
            self._latest.cancel()
            self._units = None
            self._stack.setCurrentIndex(1)
        elif self._units is not None and self._units[0] is shown:
            self._show(*self._units)
        elif len(shown.trace.slices) <= AT_ONCE:
            self._take(_units_of(shown))
        else:
            self._latest.submit(_units_of, shown)

    @Slot(object)
    def _take(self, made: _Made) -> None:
        self._units = made.shown, made.units
        self._show(made.shown, made.units)

    def _show(self, shown: OpenTrace, units: UnitOverview) -> None:
        number = self._session.number_of(shown)
        if number is None:
            return
        first, last, what = self._range(shown, number)
        rows = units.rows(first, last)
        self.table.show_contents(_contents(shown, rows), sorted_by=-1)
        _add_up(self.footer, shown, rows)
        name = display_name(shown.trace.path)
        overlap = "units at work at once each count in full"
        self.subtitle.setText(f"{what} · {name} · {overlap}")
        self._stack.setCurrentIndex(0)

    def _range(self, shown: OpenTrace, number: int) -> tuple[int | None, int | None, str]:
        """First and last tick of what is selected, and what it is called."""
        area = self._session.state.area
        if area is not None:
            first, last = (shown.axis.to_ticks_floor(ns) for ns in (area.t0, area.t1))
            return first, last, f"selected range, {format_time(area.t1 - area.t0)}"
        ticks = self._session.run_ticks(number)
        if ticks is not None:
            assert self._session.state.run is not None
            run = shown.trace.runs[self._session.state.run[1]]
            return *ticks, operator_run_text(shown, run)
        return None, None, "the whole trace"


@dataclass(frozen=True, slots=True)
class _Made:
    shown: OpenTrace
    units: UnitOverview


def _units_of(shown: OpenTrace) -> _Made:
    return _Made(shown, UnitOverview(shown.trace))


def _place(key: str) -> str:
    return "slice_unit" if key.startswith("slice_unit_") else key


def _contents(shown: OpenTrace, rows: tuple[OverviewRow, ...]) -> Contents:
    """The rows under their headings, what is a part of another below it."""
    rate, clock = shown.axis.ns_per_tick, shown.trace.clock.unit
    most = max((tick_to_ns(row.ticks, rate) for row in rows), default=0)
    unit, factor = unit_for(most)
    cycles = clock == "cycle"
    headings = (
        Heading("Unit", Kind.NAME, 0),
        Heading(f"Time, {unit}", Kind.BAR, 240),
        Heading("Share, %", Kind.NUMBER, 76),
        *((Heading("Cycles", Kind.NUMBER, 92),) if cycles else ()),
    )
    told = []
    for row in sorted(rows, key=lambda row: (_ORDER[_place(row.key)], row.key)):
        indent, tone = _PLACES[_place(row.key)]
        ns = tick_to_ns(row.ticks, rate)
        texts: tuple[str, ...] = ("", format_in(ns, factor), f"{100 * row.share:.1f}")
        keys: tuple[float | str, ...] = (row.label, ns, row.share)
        if cycles:
            texts, keys = (*texts, group_digits(row.ticks)), (*keys, row.ticks)
        told.append(TableRow((), "", row.label, "", texts, keys, row.share, tone, indent))
    return Contents(headings, tuple(told))


def _add_up(footer: CostFooter, shown: OpenTrace, rows: tuple[OverviewRow, ...]) -> None:
    """The bar of parts that add up: units alone, together, what else was at work, and idle time."""
    rate = shown.axis.ns_per_tick
    ticks = {row.key: row.ticks for row in rows}
    told = [
        (name, tone, ticks[key])
        for key, name, tone in (
            ("only_dma", "Only DMA", "unit_dma"),
            ("overlap", "Both", "unit_both"),
            ("only_compute", "Only compute", "unit_compute"),
        )
        if key in ticks
    ] or [("NSS jobs", "unit_compute", ticks.get("nss", 0))]
    rest = ticks["busy"] - sum(part for _, _, part in told)
    if rest:
        told.append(("Host and HAL alone" if "host" in ticks else "Other work", "unit_host", rest))
    told.append(("Idle", "", ticks["idle"]))
    # Floored one by one, as in the table: their sum may miss the whole by a few ns, no row its own.
    parts = [(name, tone, tick_to_ns(part, rate)) for name, tone, part in told]
    whole = tick_to_ns(ticks["overall"], rate)
    footer.show_parts(tuple(parts), whole, "Overall")
