"""Checks exports with Perfetto's own trace_processor: many traces in one file, one query."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.export.perfetto.test_writer import FAULTS, meant
from tests.peers.test_trace_processor import SLICES
from tests.peers.trace_processor import TraceProcessor
from viewer.export.perfetto.source import ExportTrack, PerfettoSource
from viewer.export.perfetto.writer import export_perfetto
from viewer.model.times import tick_to_ns
from viewer.model.trace import Trace

# trace_processor needs half a second to start, and 1 ms for a small trace.
AT_ONCE = 100
_LONGEST = 2**61  # ns; the sum of a timestamp and a duration must fit 64 bits
_MOST_SLICES = 5000


class Engine:
    """Collects traces, and asks the engine when there are many."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sources: list[PerfettoSource] = []
        self.asked = 0

    def add(self, trace: Trace) -> None:
        """Take a trace, moved to time 0, unless it is too long for the engine."""
        rate = trace.clock.ns_per_tick
        is_long = (trace.end - trace.start) * rate > _LONGEST or abs(trace.start) * rate > _LONGEST
        if not 0 < len(trace.slices) <= _MOST_SLICES or is_long:
            return
        source = PerfettoSource.of(trace)
        # The engine takes an empty name for none, and ends names at a zero byte.
        tracks = tuple(
            ExportTrack(f"{len(self._sources)} {i}", f"thread {i}")
            for i in range(len(trace.tracks))
        )
        self._sources.append(
            replace(source, tracks=tracks, offset_ns=-tick_to_ns(trace.start, rate))
        )

    @property
    def is_full(self) -> bool:
        """Whether it is time to ask."""
        return len(self._sources) >= AT_ONCE

    def ask(self) -> str:
        """Ask about all traces taken; returns what differs, "" for nothing."""
        sources, self._sources = self._sources, []
        if not sources:
            return ""
        difference = self._difference(sources)
        if not difference:
            self.asked += len(sources)
            return ""
        for source in sources:
            if found := self._difference([source]):
                return f"{source.trace.path}: {found}"
        return difference

    def _difference(self, sources: list[PerfettoSource]) -> str:
        export_perfetto(sources, self._path)
        wanted = Counter(_plain(row) for row in meant(sources).elements())
        with TraceProcessor(self._path) as peer:
            found = Counter(_plain(row) for row in peer.rows(SLICES))
            faults = peer.rows(FAULTS)
        if faults:
            return f"trace_processor reports {faults[0]}"
        if found != wanted:
            lost, more = list((wanted - found).elements()), list((found - wanted).elements())
            return f"trace_processor: {len(lost)} slices differ: {lost[:1]}, not {more[:1]}"
        return ""


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    # Without the third cell, whether it is a further lane: those of NPU units have no such mark.
    cells = (*row[:2], *row[3:])
    return tuple(cell.partition("\0")[0] if isinstance(cell, str) else cell for cell in cells)
