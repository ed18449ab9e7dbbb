"""Reads CSV reports of Nsight Systems: `nsys stats --format csv --report NAME`.

Scripts that come with Nsight Systems (`host-linux-x64/reports/*.py`) name the columns:

* `cuda_gpu_trace` (before 2023 `gputrace`): `Start (ns)`, `Duration (ns)`, `CorrId`, sizes,
  `Device`, `Ctx`, `Strm`, `Name`; `cuda_api_trace` has `Pid` and `Tid`; `nvtx_pushpop_trace` has
  `PID`, `TID`, `RangeId`. Tracks are streams of a device, or threads of a process.
* `cuda_gpu_kern_sum` (`gpukernsum`), `cuda_gpu_mem_time_sum`, `cuda_api_sum` and other summaries:
  `Time (%)`, `Total Time (ns)`, `Instances` (`Count`, `Num Calls`), `Avg (ns)` ..., `Name`
  (`Operation`, `Range`). They have totals: one bar each, placed in order.

The header states the unit of times: `Start(nsec)`, `Duration (us)`. Lines before a header are those
that `nsys stats` prints about its work. A file can contain several reports.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import format_of
from viewer.formats.runtimes.rows import NO_TIME, PlacedBars, add_rows, columns_of, ticks_of
from viewer.formats.text_rows import TableRows, header_row, lines_of_head
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace

_HEADING = re.compile(r"(.*?) ?\((ns|nsec|us|usec|ms|msec|s|sec)\)")
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_TRACE_MARKS = frozenset(("CorrId", "CorrID", "RangeId"))
_COUNTS = ("Instances", "Count", "Num Calls", "Operations")
_NAMES = ("Name", "Operation", "Range")
_DEVICE, _STREAM = "Device", "Strm"
_PROCESSES, _THREADS = ("Pid", "PID"), ("Tid", "TID")


@dataclass(frozen=True, slots=True)
class _Report:
    """The columns of one report: their names, places and units of time."""

    names: Sequence[str]  # without units
    units: Sequence[int]  # ns, 0 for what is no time
    headings: Sequence[str]
    is_trace: bool

    def at(self, *names: str) -> int:
        """The place of the first of some columns, -1 if there is none."""
        return next((self.names.index(name) for name in names if name in self.names), -1)


def sniff(head: bytes) -> bool:
    """Whether one of the first lines is the header of a report."""
    return any(_report(header_row(line)) is not None for line in lines_of_head(head)[:40])


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """A slice per row. Raises UnreadableFile, ReadCancelled."""
    builder = TraceBuilder(path, FORMAT.name, "", Clock())
    rows = TableRows(path, builder, progress, cancelled)
    reading = _Reading(path, builder, rows)
    for line, row in rows:
        reading.add(line, row)
    if not reading.reports:
        raise UnreadableFile(
            path,
            "it has no header of a report",
            where="line 1",
            remedy="Write one with nsys stats --report cuda_gpu_trace --format csv",
        )
    reading.finish()
    return builder.build()


def _report(cells: Sequence[str]) -> _Report | None:
    """The report that a row is the header of, None if it is none."""
    if len(cells) < 4 or not any(name in cells for name in _NAMES):
        return None
    names, units = [], []
    for cell in cells:
        match = _HEADING.fullmatch(cell)
        names.append(match[1] if match else cell)
        units.append(_NS[match[2].removesuffix("ec")] if match else 0)
    timed = {name for name, unit in zip(names, units, strict=True) if unit}
    if timed >= {"Start", "Duration"} and _TRACE_MARKS.intersection(names):
        return _Report(names, units, cells, True)
    if "Total Time" in timed and set(names).intersection(_COUNTS):
        return _Report(names, units, cells, False)
    return None


class _Reading:
    def __init__(self, path: str, builder: TraceBuilder, rows: TableRows) -> None:
        self.reports = 0
        self._builder, self._rows = builder, rows
        self._file = os.path.basename(path)
        self._report: _Report | None = None
        self._bars = PlacedBars(builder)
        self._slices: list[tuple[int, int, int, int, int, int]] = []
        self._arguments: dict[str, dict[int, str]] = {}

    def add(self, line: int, row: list[str]) -> None:
        """Add one row."""
        if (report := _report(row)) is not None:
            self._report, self.reports = report, self.reports + 1
            self._rows.header = row
            return
        report = self._report
        if report is None:
            self._rows.skip(line, row)
            return
        if not self._rows.fits(line, row):
            return
        name = row[report.at(*_NAMES)] or "(no name)"
        if report.is_trace:
            self._add_slice(report, line, row, name)
            return
        column = report.at("Total Time")
        length = ticks_of(row[column], report.units[column])
        if length is None:
            self._builder.problem(NO_TIME, 1, f"line {line}")
            return
        count = next(name for name in _COUNTS if name in report.names)
        thread = f"placed · totals of report {self.reports} by {count}"
        if self.reports == 1:
            thread = "placed · totals"
        track = self._builder.track(self._file, thread, flat=True)
        self._bars.add(
            track, name, length, line, _others(report, row, (column, report.at(*_NAMES)))
        )

    def _add_slice(self, report: _Report, line: int, row: list[str], name: str) -> None:
        begin, length = report.at("Start"), report.at("Duration")
        start = ticks_of(row[begin], report.units[begin])
        duration = ticks_of(row[length], report.units[length])
        if start is None or duration is None:
            self._builder.problem(NO_TIME, 1, f"line {line}")
            return
        builder = self._builder
        key = builder.key(KeyKind.PLAIN, name)
        track = self._track(report, row)
        left_out = (begin, length, report.at(*_NAMES))
        for argument, text in _others(report, row, left_out).items():
            self._arguments.setdefault(argument, {})[len(self._slices)] = text
        self._slices.append((track, start, start + duration, builder.intern(name), key, line - 1))

    def _track(self, report: _Report, row: list[str]) -> int:
        device, stream = report.at(_DEVICE), report.at(_STREAM)
        if device >= 0:
            context = report.at("Ctx")
            thread = f"stream {row[stream]}" if stream >= 0 and row[stream] else "no stream"
            if context >= 0 and row[context] not in ("", "1"):
                thread += f", context {row[context]}"
            return self._builder.track(row[device] or self._file, thread, flat=True)
        process, thread_at = report.at(*_PROCESSES), report.at(*_THREADS)
        return self._builder.track(
            f"process {row[process]}" if process >= 0 else self._file,
            f"thread {row[thread_at]}" if thread_at >= 0 else "events",
        )

    def finish(self) -> None:
        """Add all slices to the builder."""
        self._bars.finish()
        if self._slices:
            columns = columns_of(self._arguments, len(self._slices))
            add_rows(self._builder, self._slices, columns)


def _others(report: _Report, row: Sequence[str], used: tuple[int, ...]) -> dict[str, str]:
    return {
        report.headings[column]: cell
        for column, cell in enumerate(row)
        if cell and column not in used
    }


FORMAT = format_of("runtimes.nsys_stats")
