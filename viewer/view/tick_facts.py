"""Facts that depend only on the slices of a displayed trace and its links, not on rates. No Qt."""

from __future__ import annotations

from functools import cached_property

from viewer.analysis.links.delegate_clocks import clock_names
from viewer.analysis.links.labels import track_name
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.memory.logged_allocations import LoggedAllocations, logged_allocations
from viewer.analysis.memory.run_times import planned_counters
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.render.color_schemes import SCHEMES, LengthRange, lengths_of, why_not
from viewer.render.frames.counter_raster import CounterRaster
from viewer.render.track_table import Busy, TrackTable, busy_of_tracks, table_of


class TickFacts:
    """Facts in ticks, computed on first use.

    All views of one trace at other rates and offsets share them. table: the links of the displayed
    trace.
    """

    def __init__(self, table: LinkTable) -> None:
        self._trace, self._table = table.trace, table
        self._busy: Busy | None = None

    @cached_property
    def counters(self) -> tuple[CounterRaster, ...]:
        """The counters of its NPU units and planned memory: 0.2 s for a million slices."""
        planned = planned_counters(self._trace, self._table.ran)
        counters = (*unit_counters(self._trace), *planned)
        return tuple(CounterRaster.of(counter) for counter in counters)

    @cached_property
    def tracks(self) -> TrackTable:
        """Its tracks and rows, for stacking."""
        tracks = range(len(self._trace.tracks))
        return table_of(self._trace, [track_name(self._table, t) for t in tracks])

    @cached_property
    def allocations(self) -> LoggedAllocations:
        """The logged allocations, by the slice that they follow."""
        return logged_allocations(self._trace)

    @property
    def busy(self) -> Busy:
        """The ticks for which each track has a slice: a second for ten million slices."""
        if self._busy is None:
            self._busy = busy_of_tracks(self._trace)
        return self._busy

    @property
    def busy_is_known(self) -> bool:
        """Whether `busy` is already computed."""
        return self._busy is not None

    @cached_property
    def delegate_clocks(self) -> tuple[str, ...]:
        """The names of its delegates' clocks whose rate can be stated."""
        return clock_names(self._table)

    @cached_property
    def lengths(self) -> LengthRange | None:
        """The shortest and longest slice in ticks, from `lengths_of`; one pass over all slices."""
        return lengths_of(self._trace)

    @cached_property
    def barred(self) -> dict[str, str]:
        """Scheme -> why it does not apply, for the schemes that do not."""
        reasons = {scheme.id: why_not(scheme.id, self._table) for scheme in SCHEMES}
        return {scheme: why for scheme, why in reasons.items() if why}
