"""Reads the counters of a Perfetto file as step functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.codecs.protobuf.reader import Fields, PaddedBytes
from viewer.codecs.protobuf.wire import FIXED64, VARINT
from viewer.formats.perfetto.sequences import Problem, Tracks, as_text
from viewer.model.counter import Counter, changes

_INT, _DOUBLE = 30, 44
_UNITS = {0: "", 1: "ns", 2: "", 3: "B"}  # by CounterDescriptor.Unit


class CounterEvents:
    """Tracks, times, clocks and values of all counter events in file order."""

    def __init__(self) -> None:
        self.parts: list[tuple[Codes, Ints, Ints, Any, Any]] = []

    def add(
        self, block: PaddedBytes, fields: Fields, rows: Ints, times: Ints, clock: Ints, track: Codes
    ) -> None:
        """Add the events at `rows`; a value is an int or a double."""
        n = len(times)
        whole, real = np.zeros(n, np.int64), np.full(n, np.nan)
        found = fields.get(_INT, VARINT)
        whole[found.owner] = found.value.view(np.int64)
        is_whole = np.zeros(n, np.bool_)
        is_whole[found.owner] = True
        found = fields.get(_DOUBLE, FIXED64)
        real[found.owner] = found.value.view(np.float64)
        value = np.where(is_whole, whole.astype(np.float64), real)
        self.parts.append((track[rows], times[rows], clock[rows], value[rows], is_whole[rows]))

    def counters(
        self,
        uuids: Sequence[int],
        tracks: Tracks,
        problem: Problem,
        converted: Callable[[int, Ints], Ints | None],
    ) -> tuple[Counter, ...]:
        """One counter per track that is described as one, by time; invalid values are left out.

        converted(clock, times): converts times to the clock of the trace, None if not possible.
        """
        if not self.parts:
            return ()
        track, time, clock, value, is_whole = (
            np.concatenate(part) for part in zip(*self.parts, strict=True)
        )
        self.parts.clear()
        time = time.copy()
        known = np.isfinite(value)
        for number in np.unique(clock).tolist():
            rows = np.flatnonzero(clock == number)
            found = converted(number, time[rows])
            if found is None:
                known[rows] = False
            else:
                time[rows] = found
        problem(
            "counter values that are not numbers, or on an unknown clock: left out",
            int((~known).sum()),
            "",
        )
        order = np.lexsort((time, track))
        order = order[known[order]]
        own = track[order]
        if not len(own):
            return ()
        bounds = np.flatnonzero(np.append(True, own[1:] != own[:-1])).tolist()
        counters = []
        for a, b in zip(bounds, [*bounds[1:], len(own)], strict=True):
            rows = order[a:b]
            described = tracks.by_uuid.get(uuids[int(own[a])])
            if described is None or described.counter is None:
                problem("counter values on a track that is not a counter: left out", b - a, "")
                continue
            of = described.counter
            values = value[rows] * (of.unit_multiplier or 1)
            if of.is_incremental:
                values = np.cumsum(values)
            if is_whole[rows].all() and np.abs(values).max() < 2.0**53:
                values = values.astype(np.int64)
            ticks, steps = changes(time[rows], values)
            unit = as_text(of.unit_name) or _UNITS.get(of.unit, "")
            process, thread = tracks.place_of_counter(described)
            counters.append(Counter(process, thread, unit, ticks, steps, note=described.note))
        return tuple(counters)
