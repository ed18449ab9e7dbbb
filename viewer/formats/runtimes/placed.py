"""Bars for durations that have no start: one after another on their track, in file order.

Their slices have `Timing.PLACED`, so that the legend, Details and tables show that the start is not
measured. Nothing is known of gaps between them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewer.formats.runtimes.rows import add_rows, columns_of
from viewer.model.building.builder import TraceBuilder
from viewer.model.names.layers import DESCRIBING
from viewer.model.timing import Timing
from viewer.model.trace import Column, KeyKind

# Places that need 64 bits are not drawn: a table with such durations is no profile.
_LAST_TICK = 1 << 62
NO_ROOM = "row whose place would not fit 64 bits: left out"


class PlacedBars:
    """Collects the bars of one file; `finish` adds them to its builder."""

    def __init__(self, builder: TraceBuilder, timing: Timing = Timing.PLACED) -> None:
        """timing: what applies to all bars."""
        self.builder = builder
        self._timing = timing
        self._ends: dict[int, int] = {}
        self._bars: list[tuple[int, int, int, int, int, int]] = []
        self._arguments: dict[str, dict[int, str]] = {}

    def __len__(self) -> int:
        return len(self._bars)

    def end_of(self, track: int) -> int:
        """Where the next bar of a track starts, in ticks."""
        return self._ends.get(track, 0)

    def add(
        self,
        track: int,
        name: str,
        length: int,
        line: int,
        arguments: Mapping[str, str],
        start: int | None = None,
        kind: KeyKind = KeyKind.PLAIN,
    ) -> None:
        """Add a bar after the last one of its track, or at a start. length, start: in ticks."""
        begin = self.end_of(track) if start is None else start
        if begin + length > _LAST_TICK:
            self.builder.problem(NO_ROOM, 1, f"line {line}")
            return
        self._ends[track] = max(begin + length, self.end_of(track))
        key = self.builder.key(
            kind,
            name,
            identifier=name if kind == KeyKind.DELEGATE_EVENT else None,
            described=tuple(arguments.get(column, "") for column in DESCRIBING),
        )
        for argument, text in arguments.items():
            if text:
                self._arguments.setdefault(argument, {})[len(self._bars)] = text
        self._bars.append((track, begin, begin + length, self.builder.intern(name), key, line - 1))

    def finish(self, columns: Mapping[str, Column] | None = None) -> None:
        """Add all bars to the builder, with their arguments and further columns."""
        if not self._bars:
            return
        count = len(self._bars)
        arguments = columns_of(self._arguments, count)
        timing = np.full(count, self._timing, np.uint8)
        add_rows(self.builder, self._bars, {**arguments, **(columns or {})}, timing)
