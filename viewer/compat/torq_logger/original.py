"""The output of Torq's own perfetto_logger, event by event, for `--compat`.

Four revisions are reproduced, each for the files of its time; `form_of` returns the one that reads
a set of files, if any:

    f63e303  C0 and R0   times as written, taken for ns; a row with a comma in its location is lost;
                         NSS jobs are drawn one duration late; of several files with one base name
                         the last one wins; compile and runtime files of one base name share an
                         overview
    8e135dc  C1 (and C0) as 36d5652, with runtime files of R0: their µs are taken for cycles at 800
             MHz. Only if files of both kinds are given, or if it is named
    36d5652  C1 (and C0) ns at 800 MHz; a location is cut off at a comma, and the rest takes the
                         place of type and bytes; slice units 0 and 1 have no number
    183cae4  C2          ns at 800 MHz, times 1000 in slices but not in the overview; operators from
                         the text of the .mlir file; a location is cut off at a comma and its row
                         has no bytes; rows of one action with equal times are merged

All of them write overlapping slices to one thread, where Perfetto pairs them incorrectly.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.reading import UnreadableFile
from viewer.compat.torq_logger.charts import (
    C1_THREADS,
    C2_THREADS,
    COMPILE_PROCESS,
    LAYERS,
    UNKNOWN_THREAD,
    TorqOverview,
    all_units,
    as_8e135dc,
    layer_name,
    percent,
    runtime_overview,
    runtime_overview_8e135dc,
    short_location,
    two_units,
)
from viewer.dataclasses import dataclass
from viewer.export.perfetto.packets import SEQUENCE, clean, framed
from viewer.model.intervals import Intervals

_OPERATOR = re.compile(r'"?(tosa\.\w+)"?|torch\.operator "([^"]*)"')
_CALLEE_LINE = re.compile(r'callsite\("[^"]*":(\d+):')
# Event of a C2 row -> its thread and its unit.
_C2_UNITS = {
    "DMA In": (C2_THREADS[3], "DMA"), "DMA Out": (C2_THREADS[4], "DMA"),
    "CDMA": (C2_THREADS[5], "CDMA"), "Slice 0": (C2_THREADS[6], "SLICE"),
    "Slice 1": (C2_THREADS[7], "SLICE"), "CSS": (C2_THREADS[8], "CSS"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """One slice; unit is "DMA", "CDMA", "SLICE", "CSS" or ""."""

    thread: str
    start: int
    end: int
    name: str  # up to "dur="
    unit: str
    tail: str = ""
    action: int = -1
    place: str = ""
    operator: str = ""


FORMS = ("f63e303", "8e135dc", "36d5652", "183cae4")


def form_of(compile_generations: Sequence[str], runtime_generations: Sequence[str]) -> str | None:
    """Return the revision that reads these files together; None if there is none."""
    compiled, measured = set(compile_generations), set(runtime_generations)
    if compiled <= {"C0"} and measured <= {"R0"}:
        return "f63e303"
    if compiled <= {"C0", "C1"} and measured == {"R0"}:
        return "8e135dc"
    if compiled <= {"C0", "C1"} and not measured:
        return "36d5652"
    return "183cae4" if compiled == {"C2"} and not measured else None


def can_read(
    form: str, compile_generations: Sequence[str], runtime_generations: Sequence[str]
) -> bool:
    """Whether a revision reads these files."""
    compiled, measured = set(compile_generations), set(runtime_generations)
    of_compiler = {"f63e303": {"C0"}, "183cae4": {"C2"}}.get(form, {"C0", "C1"})
    of_runtime = {"R0"} if form in ("f63e303", "8e135dc") else set()
    return compiled <= of_compiler and measured <= of_runtime


def write(
    form: str,
    compile_paths: Sequence[str],
    runtime_paths: Sequence[str],
    mlir_lines: Sequence[str],
    out: BinaryIO,
) -> str:
    """Write all packets of a form from `form_of`; return the text that it printed.

    mlir_lines: the source that the locations of C2 refer to. Raises OSError, and UnreadableFile for
    files on which the original fails.
    """
    packets = OriginalPackets(out)
    if form in ("f63e303", "8e135dc"):
        return _write_numbered(compile_paths, runtime_paths, packets, form)
    printed = []
    threads: tuple[str, ...]
    for number, path in enumerate(compile_paths, 1):
        prefix = f"{number:02d} " if len(compile_paths) > 1 else ""
        if form == "36d5652":
            title = os.path.basename(path)
            process = prefix + title
            threads, rows = C1_THREADS, list(_c1_rows(path))
        else:
            title, process, threads = path, prefix + COMPILE_PROCESS, C2_THREADS
            rows = _merged(_c2_rows(path, mlir_lines))
        overview = _overview(rows)
        packets.process(process)
        for thread in threads:
            packets.thread(process, thread)
        scale = 1000 if form == "183cae4" else 1
        whole = overview.times["OVERALL"]
        if form == "183cae4":
            rows = [*_layers(rows), *rows]
        _write_rows(packets, process, rows, whole, scale)
        _write_overview(packets, process, overview)
        printed.append(overview.printed(title))
    return "".join(printed)


def _write_numbered(
    compile_paths: Sequence[str], runtime_paths: Sequence[str], packets: OriginalPackets, form: str
) -> str:
    """Write files with numbers in front."""
    compiled = {os.path.basename(path): path for path in compile_paths}
    measured = {os.path.basename(path): path for path in runtime_paths}
    threads: Sequence[str]  # of compile profiles, shown even without rows
    if form == "f63e303":
        threads = ()
        rows = [(name, list(_c0_rows(path))) for name, path in compiled.items()]
        jobs = [(name, list(_r0_rows(path))) for name, path in measured.items()]
        overviews = {
            name: two_units(*(_intervals(file_rows, unit) for unit in (None, "DMA", "SLICE")))
            for name, file_rows in rows
        }
        overviews |= {name: runtime_overview(_intervals(file_rows)) for name, file_rows in jobs}
    else:
        threads = C1_THREADS
        rows = [(name, list(_c1_rows(path))) for name, path in compiled.items()]
        jobs = [(name, list(_r0_rows(path, at_800_mhz=True))) for name, path in measured.items()]
        overviews = {name: as_8e135dc(_overview(file_rows)) for name, file_rows in rows}
        overviews |= {
            name: runtime_overview_8e135dc(_intervals(file_rows)) for name, file_rows in jobs
        }
    for number, (name, file_rows) in enumerate([*rows, *jobs], 1):
        process, overview = f"{number:02d} {name}", overviews[name]
        if number <= len(rows):
            for thread in threads:
                packets.thread(process, thread)
        _write_rows(packets, process, file_rows, _length(file_rows), 1)
        _write_overview(packets, process, overview)
    return "".join(overview.printed(name) for name, overview in overviews.items())


def _write_rows(
    packets: OriginalPackets, process: str, rows: Sequence[_Row], whole: int, scale: int
) -> None:
    for row in rows:
        time = row.end - row.start
        name = f"{row.name}dur={time * scale} ({percent(time, whole)}){row.tail}"
        packets.slice(process, row.thread, name, row.start * scale, row.end * scale)


def _write_overview(packets: OriginalPackets, process: str, overview: TorqOverview) -> None:
    process, start = f"{process} Overview", overview.start
    for thread, name, time, in_category in overview.slices():
        packets.slice(process, thread, name, start, start + time, in_category)


def _intervals(rows: Sequence[_Row], unit: str | None = None) -> Intervals:
    ends = [(row.start, row.end) for row in rows if unit is None or row.unit == unit]
    start, end = np.array(ends, np.int64).reshape(-1, 2).T
    return start, end


def _overview(rows: Sequence[_Row]) -> TorqOverview:
    dma, cdma, slices, css = (_intervals(rows, unit) for unit in ("DMA", "CDMA", "SLICE", "CSS"))
    return all_units(_intervals(rows), dma, cdma, slices, css)


def _length(rows: Sequence[_Row]) -> int:
    return max(row.end for row in rows) - min(row.start for row in rows) if rows else 0


# -- rows, as each revision reads them -----------------------------------------------------------


def _cells(path: str, delimiter: str) -> Iterator[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            yield from csv.reader(file, delimiter=delimiter)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except csv.Error as error:
        raise UnreadableFile(path, f"the original stops at it: {error}") from error


def _timed(path: str, cells: Sequence[str], ns: Callable[[int], int]) -> list[int] | None:
    """Return numbers as times in ns; None for a row that the original skips."""
    try:
        values = [int(cell) for cell in cells]
    except ValueError:
        return None
    # Larger times do not fit its packets, or its division overflows.
    if not all(0 <= value < 2**62 // 1000 for value in values):
        raise UnreadableFile(path, "the original stops at it: a time below 0 or beyond 2^64 ns")
    return [ns(value) for value in values]


def _as_written(time: int) -> int:
    return time


def _at_800_mhz(cycles: int) -> int:
    return int(cycles * 1000 / 800)


def _c0_rows(path: str) -> Iterator[_Row]:
    for cells in _cells(path, ","):
        if len(cells) != 5:
            continue
        event, first, last, place, type = cells
        times = _timed(path, (first, last), _as_written)
        if times is None:
            continue
        thread, unit = UNKNOWN_THREAD, ""
        if event.startswith(("DI", "DO")):
            thread, unit = ("DMA IN" if event.startswith("DI") else "DMA OUT"), "DMA"
        elif event.startswith("S"):
            unit = "SLICE"
            try:
                thread = f"SLICE {int(event[1:]) % 2}"
            except ValueError:
                thread = "SLICE UNKNOWN"
        name = f"{type}, {event}, MLIR - {short_location(place)}, "
        yield _Row(thread, times[0], times[1], name, unit)


def _r0_rows(path: str, *, at_800_mhz: bool = False) -> Iterator[_Row]:
    for cells in _cells(path, ";"):
        if len(cells) < 4 or "id" in cells or (at_800_mhz and len(cells) > 4):
            continue
        times = _timed(path, cells[:3], _as_written)
        if times is not None and at_800_mhz:
            times = [times[0], *map(_at_800_mhz, times[1:])]
        if times is not None:
            job, opened, lasted = times
            name = f"{short_location(cells[3])}, "
            yield _Row(str(job), opened, opened + lasted, name, "")


def _c1_rows(path: str) -> Iterator[_Row]:
    for cells in _cells(path, ","):
        if len(cells) < 5:
            continue
        event, first, last, place, type = cells[:5]
        times = _timed(path, (first, last), _at_800_mhz)
        if times is None:
            continue
        tail = f", bytes={cells[5]}" if len(cells) > 5 and cells[5] else ""
        thread, unit = _c1_unit(event)
        name = f"{type}, {event}, MLIR - {short_location(place)}, "
        yield _Row(thread, times[0], times[1], name, unit, tail)


def _c1_unit(event: str) -> tuple[str, str]:
    dma_in, dma_out, slice_0, slice_1, cdma, css = C1_THREADS
    for start, thread, unit in (
        ("DI", dma_in, "DMA"), ("DO", dma_out, "DMA"), ("CDMA", cdma, "CDMA"), ("CSS", css, "CSS"),
    ):  # fmt: skip
        if event.startswith(start):
            return thread, unit
    match = re.fullmatch(r"S(\d+)(?:_(\d+))?", event, re.A)
    if match is None:
        return UNKNOWN_THREAD, ""
    number = int(match[1]) % 2 if match[2] is None else int(match[2])
    return (slice_0 if number == 0 else slice_1), "SLICE"


def _c2_rows(path: str, mlir_lines: Sequence[str]) -> Iterator[_Row]:
    for cells in _cells(path, ","):
        if len(cells) < 6:
            continue
        times = _timed(path, (cells[2], cells[1]), _as_written)
        if times is None:
            continue
        start, end = _at_800_mhz(times[0]), _at_800_mhz(times[0] + times[1])
        kind = "CDMA" if cells[3].startswith("CDMA") else cells[3]
        thread, unit = _C2_UNITS.get(kind, ("", ""))
        action = int(cells[0]) if re.fullmatch(r" *-?\d{1,18} *", cells[0], re.A) else -1
        if not unit:
            continue
        operator = _operator(cells[4], mlir_lines)
        source = f" | Input: {operator}" if operator else ""
        name = f"{kind}{source} | Action {action} | "
        tail = f" | bytes={cells[5]}" if cells[5].isdecimal() else ""
        yield _Row(thread, start, end, name, unit, tail, action, short_location(cells[4]), operator)


def _operator(place: str, mlir_lines: Sequence[str]) -> str:
    """Return "tosa.conv2d@L11" for the callee of a call site; "" for all other locations."""
    match = _CALLEE_LINE.search(place)
    if match is None or not 0 < int(match[1][:9]) <= len(mlir_lines):
        return ""
    line = int(match[1][:9])
    operator = _OPERATOR.search(mlir_lines[line - 1])
    return f"{operator[1] or operator[2]}@L{line}" if operator else ""


def _merged(rows: Iterator[_Row]) -> list[_Row]:
    merged: dict[tuple[int, int, int], _Row] = {}
    for row in rows:
        merged.setdefault((row.action, row.start, row.end), row)
    return list(merged.values())


def _layers(rows: Sequence[_Row]) -> list[_Row]:
    """Return consecutive rows of one operator, by start, as one slice each."""
    groups: list[list[_Row]] = []
    for row in sorted(rows, key=lambda row: row.start):
        if groups and groups[-1][0].operator == row.operator:
            groups[-1].append(row)
        elif row.operator:
            groups.append([row])
    names = [layer_name(group[0].operator, [row.place for row in group]) for group in groups]
    return [
        _Row(LAYERS, group[0].start, max(row.end for row in group), name, "")
        for group, name in zip(groups, names, strict=True)
    ]


class OriginalPackets:
    """Writes packets to a stream immediately.

    A process or thread is described on first use, with uuids 1, 2, 3 ...; a slice is a BEGIN and
    an END packet that both have the name, in the order of the rows, not of the times. So where
    slices of one thread overlap, Perfetto pairs them incorrectly. `TimeChartView` is the writer
    without this bug.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._uuids: dict[tuple[str, str], int] = {}

    def process(self, name: str) -> int:
        """Return the uuid of a process, also used as its pid; written when new."""
        return self._described(
            (name, ""),
            lambda uuid: pb.TrackDescriptor(
                uuid=uuid,
                process=pb.ProcessDescriptor(pid=uuid, process_name=clean(name)),
                child_ordering=pb.TrackDescriptor.LEXICOGRAPHIC,
            ),
        )

    def thread(self, process: str, name: str) -> int:
        """Return the uuid of a thread, also used as its tid; written when new."""
        pid = self.process(process)
        return self._described(
            (process, f"thread {name}"),
            lambda uuid: pb.TrackDescriptor(
                uuid=uuid, thread=pb.ThreadDescriptor(pid=pid, tid=uuid, thread_name=clean(name))
            ),
        )

    def slice(
        self, process: str, thread: str, name: str, start: int, end: int, overview: bool = False
    ) -> None:
        """Write a BEGIN and an END, in ns from 0 to 2^64 - 1."""
        track = self.thread(process, thread)
        types = pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_SLICE_END
        for type, time in zip(types, (start, end), strict=True):
            packet = pb.TracePacket(timestamp=time, trusted_packet_sequence_id=SEQUENCE)
            event = packet.track_event
            event.type, event.track_uuid, event.name = type, track, clean(name)
            if overview:
                event.categories.append("overview")
            self._out.write(framed(packet))

    def _described(self, key: tuple[str, str], describe: Callable[[int], Any]) -> int:
        uuid = self._uuids.get(key)
        if uuid is None:
            uuid = self._uuids[key] = len(self._uuids) + 1
            self._out.write(framed(pb.TracePacket(track_descriptor=describe(uuid))))
        return uuid
