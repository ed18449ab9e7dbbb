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
        self._inputs: list[bytes] = []
        self.asked = 0

    def add(self, trace: Trace, data: bytes) -> None:
        """Take a trace and its file, moved to time 0, unless it is too long for the engine."""
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
        self._inputs.append(data)

    @property
    def is_full(self) -> bool:
        """Whether it is time to ask."""
        return len(self._sources) >= AT_ONCE

    def ask(self) -> tuple[str, bytes]:
        """Ask about all traces taken; returns what differs ("" for nothing), and in which file."""
        sources, self._sources = self._sources, []
        inputs, self._inputs = self._inputs, []
        self.asked += len(sources)
        if not sources or not (difference := self._difference(sources)):
            return "", b""
        for source, data in zip(sources, inputs, strict=True):
            if found := self._difference([source]):
                return found, data
        return f"only together: {difference}", inputs[0]

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
