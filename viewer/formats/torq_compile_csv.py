"""Torq compile profile: the cycle estimate that torq-compile writes for one dispatch.

Written by ProfilingPass.cpp (`--torq-enable-profiling --torq-dump-profiling=PATH`). Generations:

    C0  2025-10  no header  event,start,end,loc,type           DI0,0,128,loc("m.mlir":2:3),DMA_IN
    C1  2025-12  no header  event,start,end,loc,type[,bytes]   S1_1,2481,11889,loc(...),conv2d
    C2  2026-02  actionIndex, elapsed_time(us), timestamp(us), event, location, bytes
    C3  2026-02  taskId, elapsed_time(us), timestamp(us), event, location, bytes

All times are cycles, whatever the header says; the rate is not in the file (800 MHz is assumed).
Nothing is quoted and a location may hold commas, so a row is split around it: from the first
"loc(" to the last ")", since no other cell holds a parenthesis. Each row is one slice, never lost
unless it is no row at all; those are counted.

C0 has one track for all slice units: its `S<i>` is a running number, not a unit. C1 files have the
unit (`S<i>_<unit>`). Not read: nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.formats import Cancelled, Format, Progress, UnreadableFile
from viewer.formats.text_rows import DistinctTexts, RowCells, chunks_of_lines
from viewer.model.builder import TraceBuilder
from viewer.model.trace import Clock, Codes, Column, Ints, KeyKind, Trace, Unit

CLOCK = Clock("cycle", Fraction(5, 4), assumed=True)

_HEADERS = {
    "actionIndex,elapsed_time(us),timestamp(us),event,location,bytes": "C2",
    "taskId,elapsed_time(us),timestamp(us),event,location,bytes": "C3",
}
_FIRST_COLUMN = {"C2": "action_id", "C3": "task_id"}
_EVENT = r"(?:DI|DO|S|CSS|CDMA_(?:L2D|L2I|D2L))\d+(?:_\d+)?"
_BARE_ROW = re.compile(rf"{_EVENT},-?\d+,-?\d+,loc\(", re.A)

# 18 digits: the sum of two such numbers, and its nanoseconds, still fit int64.
_NUMBER = r" *(-?[0-9]{1,18}) *"
_CELL = r"([^,()\n]*)"
_ROW_C0 = re.compile(
    rf"^{_CELL},{_NUMBER},{_NUMBER},(loc\(.*\)),{_CELL}(?:,{_CELL})?$", re.MULTILINE
)
_ROW_C2 = re.compile(rf"^{_NUMBER},{_NUMBER},{_NUMBER},{_CELL},(loc\(.*\)),{_CELL}$", re.MULTILINE)
_HUGE = re.compile(r"(?:^|,) *-?[0-9]{19,} *(?=,)")
_SPELLED = {
    "C0": "event,start,end,loc(...),type",
    "C2": "actionIndex,elapsed,timestamp,event,loc(...),bytes",
    "C3": "taskId,elapsed,timestamp,event,loc(...),bytes",
}

_NAMES = {
    "DMA_IN": "DMA In",
    "DMA_OUT": "DMA Out",
    "CDMA_LRAM_TO_DTCM": "CDMA LRAM to DTCM",
    "CDMA_LRAM_TO_ITCM": "CDMA LRAM to ITCM",
    "CDMA_DTCM_TO_LRAM": "CDMA DTCM to LRAM",
}
# More units than any chip has would only fill the window with tracks.
_UNIT = re.compile(
    r"(?P<DMA_In>DI\d+|DMA In)|(?P<DMA_Out>DO\d+|DMA Out)|(?P<CDMA>CDMA[_ ].*)"
    r"|(?:S\d+_|Slice )(?P<Slice_unit>\d{1,2})|(?P<Slice_units>S\d+)|(?P<CSS>CSS\d*)",
    re.A,
)
_UNITS = {
    "DMA In": Unit.DMA_IN, "DMA Out": Unit.DMA_OUT, "CDMA": Unit.CDMA, "CSS": Unit.CSS
}  # fmt: skip
_DISPLAY_ORDER = ("DMA In", "DMA Out", "CDMA", "Slice units", "Slice unit", "CSS", "Other")


def sniff(head: bytes) -> bool:
    """Whether line 1 is the header of C2 or C3, or one of the first lines a row of C0 or C1."""
    lines = head.decode("utf-8-sig", "replace").split("\n")
    return _generation(lines) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice a row, in cycles; see the module's text for the generations."""
    rows: _Rows | None = None
    for line, raw in chunks_of_lines(path, progress, cancelled):
        if rows is None:
            generation = _generation([part.decode("utf-8", "replace") for part in raw[:3]])
            if generation is None:
                break
            rows = _Rows(path, generation)
            if generation != "C0":
                line, raw = 2, raw[1:]
        rows.add(line, raw)
    if rows is None:
        raise UnreadableFile(
            path,
            "it is no Torq compile profile, by its header and its first rows",
            where="line 1",
            remedy="Write one with torq-compile --torq-enable-profiling --torq-dump-profiling=FILE",
        )
    return rows.trace()


def _generation(lines: Sequence[str]) -> str | None:
    header = ",".join(cell.strip() for cell in lines[0].split(","))
    if header in _HEADERS:
        return _HEADERS[header]
    if any(_BARE_ROW.match(line) for line in lines[:3]):
        return "C0"
    return None


class _Rows:
    """The rows read so far, as columns; `trace` makes slices of them."""

    def __init__(self, path: str, generation: str) -> None:
        self._builder = TraceBuilder(path, FORMAT.name, generation, CLOCK)
        self._cells = RowCells(
            _ROW_C0 if generation == "C0" else _ROW_C2, _HUGE, _SPELLED[generation], self._builder
        )
        self._has_header = generation != "C0"
        self._events, self._types, self._locations = (
            DistinctTexts(),
            DistinctTexts(),
            DistinctTexts(),
        )
        self._ints: dict[str, list[Ints]] = {}
        self._codes: dict[str, list[Codes]] = {}

    def add(self, line: int, raw: list[bytes]) -> None:
        """Take in some whole lines of the file; `line` is the number of the first one."""
        self._add_columns(*self._cells.take(line, raw))

    def trace(self) -> Trace:
        """The slices of all rows added."""
        builder = self._builder
        generation, c0 = builder.generation, builder.generation == "C0"
        if not self._codes:
            return builder.build()
        ints = {name: np.concatenate(parts) for name, parts in self._ints.items()}
        codes = {name: np.concatenate(parts) for name, parts in self._codes.items()}
        events, types, locations = tuple(self._events), tuple(self._types), tuple(self._locations)
        has_bytes = ints["bytes"] >= 0
        threads = self._threads(events)
        units = {thread.rpartition(" ")[0] for thread in threads} | {*threads}
        if c0 and (has_bytes.any() or units & {"Slice unit", "CDMA", "CSS"}):
            builder.generation = "C1"
        process = os.path.basename(builder.path)
        number = {
            t: builder.track(process, t, flat=True, unit=_unit(t))
            for t in sorted(set(threads), key=_rank)
        }
        track_of = np.array([number[thread] for thread in threads], np.uint32)

        names = [_NAMES.get(t, t) or "unknown" for t in types] if c0 else events
        named = codes["type"] if c0 else codes["event"]
        pairs, pair = np.unique(
            named.astype(np.int64) * len(locations) + codes["location"], return_inverse=True
        )
        keys = np.fromiter(
            (
                builder.key(KeyKind.LOCATION, names[n], location=locations[place])
                for n, place in (divmod(both, len(locations)) for both in pairs.tolist())
            ),
            np.uint32,
            len(pairs),
        )
        columns = {
            "event": Column.of_codes(codes["event"], events),
            "location": Column.of_codes(codes["location"], locations),
            "bytes": Column(np.maximum(ints["bytes"], 0), has_bytes, unit="B"),
        }
        if c0:
            columns["type"] = Column.of_codes(codes["type"], types)
        else:
            columns[_FIRST_COLUMN[generation]] = Column(ints["id"])
        builder.add(
            track=track_of[codes["event"]],
            start=ints["start"],
            end=ints["end"],
            name=builder.intern_all(names)[named],
            key=keys[pair],
            source_row=codes["row"],
            columns=columns,
        )
        return builder.build()

    def _add_columns(self, found: list[tuple[str, ...]], row: Codes) -> None:
        if not found:
            return
        n = len(found)
        if self._has_header:
            first, elapsed, start, event, location, size = zip(*found, strict=True)
            starts = _ints(start, n)
            ends = starts + _ints(elapsed, n)
            ids = _ints(first, n)
            types = np.zeros(n, np.uint32)
        else:
            event, start, end, location, kind, size = zip(*found, strict=True)
            starts, ends = _ints(start, n), _ints(end, n)
            ids = np.zeros(n, np.int64)
            types = self._types.codes(kind)
        negative = np.flatnonzero((starts < 0) | (ends < 0))
        if len(negative):
            self._builder.problem(
                "negative time: kept", len(negative), f"row {int(row[negative[0]]) + 1}"
            )
        ints = {"start": starts, "end": ends, "id": ids, "bytes": self._sizes(size, row)}
        for name, values in ints.items():
            self._ints.setdefault(name, []).append(values)
        codes = {
            "row": row, "type": types, "event": self._events.codes(event),
            "location": self._locations.codes(location),
        }  # fmt: skip
        for name, numbers in codes.items():
            self._codes.setdefault(name, []).append(numbers)

    def _sizes(self, cells: Sequence[str], row: Codes) -> Ints:
        """Bytes, -1 where none are given."""
        texts = DistinctTexts()
        codes = texts.codes(cells)
        sizes = np.full(len(texts), -1, np.int64)
        for i, cell in enumerate(texts):
            if re.fullmatch(r" *[0-9]{1,18} *", cell):
                sizes[i] = int(cell)
            elif cell.strip():
                odd = np.flatnonzero(codes == i)
                self._builder.problem(
                    "bytes that are no number: left out", len(odd), f"row {int(row[odd[0]]) + 1}"
                )
        return sizes[codes]

    def _threads(self, events: Sequence[str]) -> list[str]:
        """The thread of each distinct event."""
        threads = []
        for event in events:
            match = _UNIT.fullmatch(event)
            if match is None or match.lastgroup is None:
                self._builder.problem('event of no known unit: on track "Other"', 1, repr(event))
                threads.append("Other")
            elif match.lastgroup == "Slice_unit":
                threads.append(f"Slice unit {int(match['Slice_unit'])}")
            else:
                threads.append(match.lastgroup.replace("_", " "))
        return threads


def _ints(texts: Sequence[str], count: int) -> Ints:
    return np.fromiter(map(int, texts), np.int64, count)


def _rank(thread: str) -> tuple[int, int]:
    kind, _, unit = thread.rpartition(" ")
    if kind == "Slice unit" and unit.isdigit():
        return _DISPLAY_ORDER.index(kind), int(unit)
    return _DISPLAY_ORDER.index(thread), 0


def _unit(thread: str) -> Unit:
    if thread.startswith("Slice unit"):
        return Unit.SLICE
    return _UNITS.get(thread, Unit.NONE)


FORMAT = Format("Torq compile profile", (".csv",), "trace", sniff, read)
