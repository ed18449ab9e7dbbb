"""Thread times of Chrome trace events: `tts`, and `tdur` of complete events, in µs.

They become the columns `thread_ts` and `thread_dur`, in ns: when a slice began on the clock of its
thread's processor time, and how much of that time it took. A slice of two events took the
difference of their times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.decimal_times import times_of
from viewer.formats.text_rows import GrowingColumn
from viewer.model.trace import Column

START, LENGTH = "tts", "tdur"
THREAD_START, THREAD_LENGTH = "thread_ts", "thread_dur"


class ThreadTimes:
    """The thread times of all events that have some."""

    def __init__(self) -> None:
        self._rows = {name: GrowingColumn(np.uint32) for name in (START, LENGTH)}
        self._ns = {name: GrowingColumn(np.int64) for name in (START, LENGTH)}
        self._count = {START: 0, LENGTH: 0}

    def add(self, name: str, rows: Codes, ns: Ints, ps: NDArray[np.int16]) -> None:
        """Add the times of some rows of the file, rounded to ns."""
        self._rows[name].add(rows, 0)
        self._ns[name].add(ns + (ps >= 500), 0)
        self._count[name] += len(rows)

    def add_raw(self, name: str, rows: Codes, texts: Sequence[bytes | memoryview]) -> Ints:
        """Add times as JSON; returns the rows whose time is not usable."""
        times = times_of(texts)
        self.add(name, rows[times.usable], times.ns[times.usable], times.ps[times.usable])
        return rows[~times.usable].astype(np.int64)

    def columns(self, events: int, begin: Ints, end: Ints) -> dict[str, Column]:
        """The columns of slices, released here.

        events: how many the file has. begin, end: the events of each slice, both the same for one
        that states its duration.
        """
        if not any(self._count.values()):
            return {}
        (start, has_start), (length, has_length) = map(self._all, (START, LENGTH), (events, events))
        is_pair = end != begin
        took = np.where(is_pair, start[end] - start[begin], length[begin])
        has_times = np.where(is_pair, has_start[begin] & has_start[end], has_length[begin])
        columns = {}
        for name, values, valid in (
            (THREAD_START, start[begin], has_start[begin]), (THREAD_LENGTH, took, has_times)
        ):  # fmt: skip
            if valid.any():
                values = np.where(valid, values, 0)
                columns[name] = Column(values, None if valid.all() else valid, unit="ns")
        return columns

    def _all(self, name: str, events: int) -> tuple[Ints, Bools]:
        ns, has = np.zeros(events, np.int64), np.zeros(events, np.bool_)
        rows = self._rows.pop(name).values
        ns[rows], has[rows] = self._ns.pop(name).values, True
        return ns, has
