"""Reads the Torq runtime profile: the NSS jobs of the last dispatch that ran on the device.

The runtime writes it with `--torq_profile=PATH`, with semicolons and without quotes. Generations:

    R0  2025-10  id;time_since_open;time_since_start;location
                 dispatch_id;time_since_open;time_since_start;mlir_loc   (other header, same rows)
    R1  2026-02  id;time_since_open;time_since_start

`time_since_open` is the time at which the job was found to be complete, in µs since the device was
opened; `time_since_start` is how long it had run. So the job spans [open - start, open].
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.arrays import Codes
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.formats import format_of
from viewer.formats.text_rows import (
    MICROSECONDS,
    TWO_ROWS,
    RowCells,
    count_rows,
    first_line,
    read_rows,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.recorded_names import JOB_ID, NSS_JOBS, job_name
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit

CLOCK = Clock("us", Fraction(1000))

_GENERATIONS = {
    "id;time_since_open;time_since_start;location": "R0",
    "dispatch_id;time_since_open;time_since_start;mlir_loc": "R0",
    "id;time_since_open;time_since_start": "R1",
}
_SPELLED = {
    "R0": "id;time_since_open;time_since_start;location",
    "R1": "id;time_since_open;time_since_start",
}
_ROW = re.compile(rf"^{MICROSECONDS};{MICROSECONDS};{MICROSECONDS}(?:;(.*))?$", re.MULTILINE)
# In a location: another row.
_SECOND_ROW = re.compile(r"; *-?[0-9]{1,15} *; *-?[0-9]{1,15} *(?:;|$)")
_NUMBERS = re.compile(r" *-?[0-9]{1,15} *; *-?[0-9]{1,15} *")
_HUGE = re.compile(r"(?:^|;) *-?[0-9]{16,} *(?=;|$)")


def sniff(head: bytes) -> bool:
    """Whether the first line is one of the three headers."""
    return first_line(head, ";") in _GENERATIONS


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per job, at [open - start, open] µs, on one track."""

    def begin(head: bytes) -> tuple[_Jobs, bool] | None:
        generation = _GENERATIONS.get(first_line(head, ";"))
        return None if generation is None else (_Jobs(path, generation), True)

    jobs = read_rows(path, begin, progress, cancelled)
    if jobs is None:
        raise UnreadableFile(
            path,
            "it is not a Torq runtime profile: its header is not " + _SPELLED["R0"],
            where="line 1",
        )
    return jobs.builder.build()


class _Jobs:
    def __init__(self, path: str, generation: str) -> None:
        self.builder = TraceBuilder(path, FORMAT.name, generation, CLOCK)
        self._track = self.builder.track(os.path.basename(path), NSS_JOBS, flat=True, unit=Unit.NSS)
        separator = ";" if generation == "R1" else ""  # which a location may contain
        self._cells = RowCells(_ROW, _HUGE, _SPELLED[generation], self.builder, separator)

    def add(self, line: int, raw: bytes) -> None:
        """Add some whole lines of the file; `line` is the number of the first one."""
        cells, rows = self._cells.take(line, raw)
        of_two = {text for text in {row[3] for row in cells} if self._is_two_rows(text)}
        if of_two:
            is_two = np.array([row[3] in of_two for row in cells], np.bool_)
            count_rows(self.builder, TWO_ROWS, rows[is_two], 2)
            keep = np.flatnonzero(~is_two)
            cells, rows = [cells[index] for index in keep.tolist()], rows[keep]
        if cells:
            self._add_slices(cells, rows)

    def _is_two_rows(self, location: str) -> bool:
        """Whether the rest of a line has another row; R1 has no location."""
        return _SECOND_ROW.search(location) is not None or (
            self.builder.generation == "R1" and _NUMBERS.fullmatch(location) is not None
        )

    def _add_slices(self, cells: Sequence[tuple[str, ...]], rows: Codes) -> None:
        builder, n = self.builder, len(cells)
        ids, end_texts, length_texts, places = zip(*cells, strict=True)
        job = np.fromiter(map(int, ids), np.int64, n)
        end = np.fromiter(map(int, end_texts), np.int64, n)
        start = end - np.fromiter(map(int, length_texts), np.int64, n)
        count_rows(builder, "negative time: kept", rows[(start < 0) | (end < 0)])
        names = [job_name(number) for number in job.tolist()]
        locations = [place.strip() for place in places]
        key = np.fromiter(
            (
                builder.key(KeyKind.LOCATION, name, location=place)
                if place
                else builder.key(KeyKind.JOB, name, instruction=number)
                for name, place, number in zip(names, locations, job.tolist(), strict=True)
            ),
            np.uint32,
            n,
        )
        columns = {JOB_ID: Column(job)}
        if builder.generation == "R0":
            columns["location"] = Column.of_texts(locations)
        builder.add(
            track=self._track,
            start=start,
            end=end,
            name=builder.intern_all(names),
            key=key,
            source_row=rows,
            columns=columns,
        )


FORMAT = format_of("torq.runtime_csv")
