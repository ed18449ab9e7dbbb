"""Rows that are no slices by themselves: begins, ends and marks, and samples of counters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Ints
from viewer.formats.begin_end import paired_by_name
from viewer.formats.table.column_names import BEGIN, END, PHASE_OF
from viewer.formats.table.layout import is_no_value
from viewer.formats.table.slice_rows import SliceRows
from viewer.formats.table.time_cells import Numbers
from viewer.formats.text_rows import GrowingColumn, TextColumn, combined_codes
from viewer.model.building.builder import TraceBuilder
from viewer.model.counter import Counter, stated_counter

_NO_END = "start without an end: drawn as an instant"
_NO_BEGIN = "end without a start: left out"
_BACKWARDS = "end before its start: drawn as an instant"
_THREAD = "counters"
_EXACT = 2**53
_PERCENT = ("percent", "pct", "%", "%]", "%)")


def phases_of(texts: TextColumn) -> NDArray[np.int8]:
    """What each row is: BEGIN, END or MARK; -1 if its text says none."""
    kinds = [PHASE_OF.get(text.strip().casefold(), -1) for text in texts.distinct]
    found: NDArray[np.int8] = np.array(kinds, np.int8)[texts.codes]
    return found


def joined_pairs(
    slices: SliceRows, builder: TraceBuilder, phase: NDArray[np.int8], time: Ints
) -> tuple[Ints, Ints, Ints]:
    """The rows that begin a slice or mark an instant, with start and end; the rest is counted."""
    codes = [slices.codes(name) for name in ("process", "thread")]
    name = slices.codes("name")
    stack = combined_codes(codes)[0] if len(name) else np.empty(0, np.int64)
    events = np.flatnonzero((phase == BEGIN) | (phase == END))
    nameless = slices.code("name", "")
    is_end = phase == END
    pairs = paired_by_name(stack[events], time[events], is_end[events], name[events], nameless)
    builder.problem(_NO_END, len(pairs.lone_begin))
    builder.problem(_NO_BEGIN, len(pairs.lone_end))
    end = time.copy()
    begin, last = events[pairs.begin], events[pairs.end]
    builder.problem(_BACKWARDS, int(np.count_nonzero(time[last] < time[begin])))
    end[begin] = np.maximum(time[last], time[begin])
    kept = np.flatnonzero(~is_end)
    return kept, time[kept], end[kept]


class CounterRows:
    """The samples of counters: one time for each row, and a value for some of the columns."""

    def __init__(self, names: Mapping[int, str], numbers: Numbers) -> None:
        """names: of the columns."""
        self._names, self._numbers = names, numbers
        self._values = {column: GrowingColumn(np.float64) for column in names}
        self._meanings = {column: GrowingColumn(np.int8) for column in names}
        self._processes = GrowingColumn(np.uint32)
        self._known: dict[str, int] = {}

    def add(
        self,
        columns: Mapping[int, TextColumn],
        process: TextColumn,
        keep: Ints | slice,
        expected: int,
    ) -> int:
        """Add the rows `keep`. Returns how many of their values are no numbers."""
        bad = 0
        codes = [self._known.setdefault(text, len(self._known)) for text in process.distinct]
        self._processes.add(np.array(codes, np.uint32)[process.codes][keep], expected)
        for column in self._names:
            texts = columns[column]
            value, meaning = self._numbers.amounts(texts.distinct)
            no_value = np.array([is_no_value(text) for text in texts.distinct], np.bool_)
            rows = texts.codes[keep]
            self._values[column].add(value[rows], expected)
            self._meanings[column].add(meaning[rows], expected)
            bad += int(np.count_nonzero((np.isnan(value) & ~no_value)[rows]))
        return bad

    def finish(self, builder: TraceBuilder, tick: Ints) -> None:
        """Add the counters of each process to the builder. tick: of the rows."""
        of_row, known = self._processes.take(), list(self._known)
        for column, name in self._names.items():
            value, meaning = self._values[column].take(), self._meanings[column].take()
            self._numbers.settle_amounts(value, meaning)
            for code, process in enumerate(known):
                at = np.flatnonzero((of_row == code) & np.isfinite(value))
                if len(at):
                    if not builder.tracks_of(process):
                        builder.track(process, _THREAD)
                    builder.counter(_counter(process, name, tick[at], value[at]))


def _counter(process: str, name: str, tick: Ints, value: NDArray[np.float64]) -> Counter:
    is_whole = bool((value == np.trunc(value)).all() and (np.abs(value) < _EXACT).all())
    found = stated_counter(process, name, tick, value.astype(np.int64) if is_whole else value)
    if name.casefold().rstrip().endswith(_PERCENT):
        return Counter(found.process, name, "%", found.tick, found.value)
    return found
