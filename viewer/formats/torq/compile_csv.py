"""Reads the Torq compile profile: the cycle estimate that torq-compile writes per dispatch.

ProfilingPass.cpp writes it (`--torq-enable-profiling --torq-dump-profiling=PATH`). Generations:

    C0  2025-10  no header  event,start,end,loc,type           DI0,0,128,loc("m.mlir":2:3),DMA_IN
    C1  2025-12  no header  event,start,end,loc,type[,bytes]   S1_1,2481,11889,loc(...),conv2d
    C2  2026-02  actionIndex, elapsed_time(us), timestamp(us), event, location, bytes
    C3  2026-02  taskId, elapsed_time(us), timestamp(us), event, location, bytes

All times are cycles, whatever the header states; 800 MHz is assumed. Nothing is quoted and a
location may contain commas, so a row is split around it: from the first "loc(" to the last ")",
because no other cell contains a parenthesis. C0 has one track for all slice units: its `S<i>` is a
running number, not a unit. C1 files state the unit (`S<i>_<unit>`).

The rows of long files are parsed by pyarrow, with a separator instead of the commas that are not in
locations: that takes half of the time of matching each. Those that it would read differently are
matched, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import format_of
from viewer.formats.text_rows import (
    TWO_ROWS,
    DistinctTexts,
    RowCells,
    TextColumn,
    count_rows,
    distinct_texts,
    read_rows,
)
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.chunks import distinct_codes
from viewer.model.recorded_names import ACTION_ID, BYTES, TASK_ID
from viewer.model.timing import Timing
from viewer.model.trace import Clock, Column, KeyKind, Trace, Unit


@dataclass(frozen=True, slots=True)
class CellBlock:
    """The cells of some rows.

    numbers: the number columns before the location, in order. shape: events of one shape differ
    only in their running numbers, so they are on the same unit (uint32).
    """

    numbers: tuple[Ints, ...]
    event: TextColumn
    shape: Codes
    location: TextColumn
    kind: TextColumn | None  # only C0 and C1
    size: TextColumn

    def __len__(self) -> int:
        return len(self.event.codes)

    def taken(self, rows: Ints) -> CellBlock:
        """Some of the rows."""

        def cells(column: TextColumn) -> TextColumn:
            return TextColumn(column.codes[rows], column.distinct)

        return CellBlock(
            tuple(numbers[rows] for numbers in self.numbers),
            cells(self.event),
            np.unique(self.shape[rows], return_inverse=True)[1].astype(np.uint32),
            cells(self.location),
            None if self.kind is None else cells(self.kind),
            cells(self.size),
        )


# Rows that are matched before pyarrow is imported, which takes about as long.
_MATCHED_ROWS = 20_000
_SEPARATOR = b"\x01"
# Bytes that pyarrow reads differently: it takes tabs for spaces, and 0x10 for a number.
_NOT_PLAIN = (_SEPARATOR, b"\r", b"\0", b"\t")
_HEXADECIMAL = ((b"x", b"0x"), (b"X", b"0X"))  # looking for the first is a tenth of the work
# A number below `_PLAIN_MOST` with more digits than `_NUMBER` allows has such zeros.
_PLAIN_MOST, _MANY_ZEROS = 10**12, b"0" * 7
_RUNNING_NUMBER = r"^(DI|DO|S|CSS)\d+"


def parsed_block(raw: bytes, has_ids: bool) -> CellBlock | None:
    """The cells of whole lines; None unless every row is plain.

    has_ids: rows of C2 and C3, `id,elapsed,start,event,loc(...),bytes`; else those of C0 and C1,
    `event,start,end,loc(...),type[,bytes]`.
    """
    if not raw.endswith(b"\n"):
        raw += b"\n"
    if (
        not raw.isascii()
        or _MANY_ZEROS in raw
        or any(each in raw for each in _NOT_PLAIN)
        or any(letter in raw and start in raw for letter, start in _HEXADECIMAL)
    ):
        return None
    text = _separated(raw, 4 if has_ids else 3)
    return None if text is None else _block_of(text, has_ids)


def _separated(raw: bytes, count: int) -> bytes | None:
    """Lines with a separator instead of the commas that are not in a location or behind its end.

    count: the cells before the location. None if a line has too few, or no location.
    """
    data = np.frombuffer(raw, np.uint8).copy()
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    closes = np.append(-1, np.flatnonzero(data == ord(")")))
    close = closes[np.searchsorted(closes, ends) - 1]  # the last one of each line
    commas = np.append(np.flatnonzero(data == ord(",")), np.full(count, len(data)))
    first = np.searchsorted(commas, starts)
    if (commas[first + count - 1] > close).any() or (data[close + 1] != ord(",")).any():
        return None
    for k in range(count):
        data[commas[first + k]] = _SEPARATOR[0]
    data[close + 1] = _SEPARATOR[0]
    return data.tobytes()


def _block_of(text: bytes, has_ids: bool) -> CellBlock | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    numbers = ["id", "elapsed", "start"] if has_ids else ["start", "end"]
    names = [*numbers, "event"] if has_ids else ["event", *numbers]
    names += ["location", "rest"]
    codes = pa.dictionary(pa.int32(), pa.string())
    try:
        table = csv.read_csv(
            pa.py_buffer(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            csv.ParseOptions(delimiter=_SEPARATOR.decode(), quote_char=False),
            csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.int64() if name in numbers else codes for name in names},
                null_values=[],
                strings_can_be_null=False,
            ),
        ).combine_chunks()
    except pa.ArrowInvalid:
        return None
    cells = {name: table.column(name).chunk(0) for name in names}
    event, location, rest = (
        TextColumn(
            cells[name].indices.to_numpy().view(np.uint32), cells[name].dictionary.to_pylist()
        )
        for name in ("event", "location", "rest")
    )
    values = tuple(cells[name].to_numpy() for name in numbers)
    if (
        any(int(np.abs(value).max()) >= _PLAIN_MOST for value in values)
        or any("(" in each or ")" in each for each in (*event.distinct, *rest.distinct))
        or not all(each.startswith("loc(") for each in location.distinct)
        or any(each.count(",") > (not has_ids) for each in rest.distinct)
    ):
        return None
    stems = pc.replace_substring_regex(cells["event"].dictionary, _RUNNING_NUMBER, r"\10")
    shape = stems.dictionary_encode().indices.to_numpy().view(np.uint32)[event.codes]
    if has_ids:
        return CellBlock(values, event, shape, location, None, rest)
    kinds, _, sizes = zip(*(each.partition(",") for each in rest.distinct), strict=True)
    kind, size = (TextColumn(rest.codes, list(texts)) for texts in (kinds, sizes))
    return CellBlock(values, event, shape, location, kind, size)


CLOCK = Clock("cycle", Fraction(5, 4), assumed=True)

_HEADERS = {
    "actionIndex,elapsed_time(us),timestamp(us),event,location,bytes": "C2",
    "taskId,elapsed_time(us),timestamp(us),event,location,bytes": "C3",
}
_FIRST_COLUMN = {"C2": ACTION_ID, "C3": TASK_ID}
_EVENT = r"(?:DI|DO|S|CSS|CDMA_(?:L2D|L2I|D2L))\d+(?:_\d+)?"
_BARE_ROW = re.compile(rf"{_EVENT},-?\d+,-?\d+,loc\(", re.A)

# 18 digits: the sum of two such numbers, in nanoseconds, still fits int64.
_NUMBER = r" *(-?[0-9]{1,18}) *"
_SIZE = re.compile(r" *[0-9]{1,18} *")
_CELL = r"([^,()\n]*)"
_ROW_C0 = re.compile(
    rf"^{_CELL},{_NUMBER},{_NUMBER},(loc\(.*\)),{_CELL}(?:,{_CELL})?$", re.MULTILINE
)
_ROW_C2 = re.compile(rf"^{_NUMBER},{_NUMBER},{_NUMBER},{_CELL},(loc\(.*\)),{_CELL}$", re.MULTILINE)
# In a location: another row begins after the first ")".
_SECOND_ROW = re.compile(r"\),.{0,200}?[0-9] *, *-?[0-9]+ *,(?:[^,()]*,)? *loc\(")
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
    """Whether line 1 is the header of C2 or C3, or one of the first lines is a row of C0 or C1."""
    lines = head.decode("utf-8-sig", "replace").split("\n")
    return _generation(lines) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """One slice per row, in cycles; the module docstring describes the generations."""

    def begin(head: bytes) -> tuple[_Rows, bool] | None:
        generation = _generation(head.decode("utf-8", "replace").split("\n"))
        if generation is None:
            return None
        return _Rows(path, generation), generation != "C0"

    rows = read_rows(path, begin, progress, cancelled)
    if rows is None:
        raise UnreadableFile(
            path,
            "its header and first rows are not those of a Torq compile profile",
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
    """The rows read so far, as columns; `trace` converts them to slices."""

    def __init__(self, path: str, generation: str) -> None:
        self._builder = TraceBuilder(path, FORMAT.name, generation, CLOCK)
        self._has_header = generation != "C0"
        pattern = _ROW_C2 if self._has_header else _ROW_C0
        self._cells = RowCells(pattern, _HUGE, _SPELLED[generation], self._builder)
        self._events: list[str] = []  # distinct only within each block
        self._types, self._locations, self._threads = (
            DistinctTexts(),
            DistinctTexts(),
            DistinctTexts(),
        )
        self._ints: dict[str, list[Ints]] = {}
        self._codes: dict[str, list[Codes]] = {}

    def add(self, line: int, raw: bytes) -> None:
        """Add some whole lines of the file; `line` is the number of the first one."""
        is_long = self._cells.count >= _MATCHED_ROWS
        block = parsed_block(raw, self._has_header) if is_long else None
        if block is not None:
            row = np.arange(self._cells.count, self._cells.count + len(block), dtype=np.uint32)
            self._cells.count += len(block)
        else:
            matches, row = self._cells.take(line, raw)
            block = self._block(matches)
        if len(block):
            self._add_block(block, row)

    def trace(self) -> Trace:
        """The slices of all rows added."""
        builder = self._builder
        generation, c0 = builder.generation, builder.generation == "C0"
        if not self._codes:
            return builder.build()
        ints = {name: np.concatenate(parts) for name, parts in self._ints.items()}
        codes = {name: np.concatenate(parts) for name, parts in self._codes.items()}
        types, locations, threads = (*self._types,), (*self._locations,), (*self._threads,)
        events, codes["event"] = _distinct(self._events, codes["event"])
        has_bytes = ints["bytes"] >= 0
        units = {name.rpartition(" ")[0] for name in threads} | {*threads}
        if c0 and (has_bytes.any() or units & {"Slice unit", "CDMA", "CSS"}):
            builder.generation = "C1"
        process = os.path.basename(builder.path)
        number = {
            t: builder.track(process, t, flat=True, unit=_unit(t))
            for t in sorted(threads, key=_rank)
        }
        track_of = np.array([number[name] for name in threads], np.uint32)

        names = [_NAMES.get(t, t) or "unknown" for t in types] if c0 else events
        named = codes["type"] if c0 else codes["event"]
        pairs, pair = distinct_codes(
            named.astype(np.int64) * len(locations) + codes["location"],
            len(names) * len(locations),
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
            BYTES: Column(np.maximum(ints["bytes"], 0), has_bytes, unit="B"),
        }
        if c0:
            columns["type"] = Column.of_codes(codes["type"], types)
        else:
            columns[_FIRST_COLUMN[generation]] = Column(ints["id"])
        builder.add(
            track=track_of[codes["thread"]],
            start=ints["start"],
            end=ints["end"],
            name=builder.intern_all(names)[named],
            key=keys[pair],
            source_row=codes["row"],
            columns=columns,
            timing=np.full(len(ints["start"]), Timing.ESTIMATED, np.uint8),
        )
        return builder.build()

    def _block(self, matches: Sequence[tuple[str, ...]]) -> CellBlock:
        cells = list(zip(*matches, strict=True)) or [()] * 6
        numbers, kind = cells[1:3], None
        if self._has_header:
            numbers, (event, location, size) = cells[:3], cells[3:]
        else:
            event, location, size = cells[0], cells[3], cells[5]
            kind = distinct_texts(cells[4])
        events = distinct_texts(event)
        return CellBlock(
            tuple(np.fromiter(map(int, texts), np.int64, len(matches)) for texts in numbers),
            events,
            events.codes,
            distinct_texts(location),
            kind,
            distinct_texts(size),
        )

    def _add_block(self, block: CellBlock, row: Codes) -> None:
        two = [_SECOND_ROW.search(text) is not None for text in block.location.distinct]
        if any(two):
            is_two = np.array(two, np.bool_)[block.location.codes]
            count_rows(self._builder, TWO_ROWS, row[is_two], 2)
            rows = np.flatnonzero(~is_two)
            block, row = block.taken(rows), row[rows]
            if not len(block):
                return
        n = len(block)
        if self._has_header:
            ids, elapsed, starts = block.numbers
            ends = starts + elapsed
        else:
            starts, ends = block.numbers
            ids = np.zeros(n, np.int64)
        count_rows(self._builder, "negative time: kept", row[(starts < 0) | (ends < 0)])
        sizes = self._sizes(block.size, row)
        ints = {"start": starts, "end": ends, "id": ids, "bytes": sizes}
        for name, values in ints.items():
            self._ints.setdefault(name, []).append(values)
        codes = {
            "row": row,
            "event": block.event.codes + np.uint32(len(self._events)),
            "thread": self._threads_of(block),
            "location": self._locations.codes_of(block.location),
            "type": np.zeros(n, np.uint32)
            if block.kind is None
            else self._types.codes_of(block.kind),
        }
        for name, numbers in codes.items():
            self._codes.setdefault(name, []).append(numbers)
        self._events += block.event.distinct

    def _sizes(self, cells: TextColumn, row: Codes) -> Ints:
        """Sizes in bytes, -1 if not stated."""
        codes = cells.codes
        sizes = np.full(len(cells.distinct), -1, np.int64)
        invalid = []
        for i, cell in enumerate(cells.distinct):
            if _SIZE.fullmatch(cell):
                sizes[i] = int(cell)
            elif cell.strip():
                invalid.append(i)
        if invalid:
            kind = "byte count that is not a number: left out"
            count_rows(self._builder, kind, row[np.isin(codes, invalid)])
        return sizes[codes]

    def _threads_of(self, block: CellBlock) -> Codes:
        """The thread of each row, as codes; looked up once per event shape."""
        _, first, count = np.unique(block.shape, return_index=True, return_counts=True)
        events = (block.event.distinct[i] for i in block.event.codes[first].tolist())
        of_shape = [self._thread(event, n) for event, n in zip(events, count.tolist(), strict=True)]
        return self._threads.codes(of_shape)[block.shape]

    def _thread(self, event: str, count: int) -> str:
        match = _UNIT.fullmatch(event)
        if match is None or match.lastgroup is None:
            self._builder.problem('event of an unknown unit: on track "Other"', count, repr(event))
            return "Other"
        if match.lastgroup == "Slice_unit":
            return f"Slice unit {int(match['Slice_unit'])}"
        return match.lastgroup.replace("_", " ")


def _distinct(texts: Sequence[str], codes: Codes) -> tuple[tuple[str, ...], Codes]:
    """Remove repeated texts, and update the codes that refer to them."""
    if len(set(texts)) == len(texts):
        return tuple(texts), codes
    text_column = distinct_texts(texts)
    return tuple(text_column.distinct), text_column.codes[codes]


def _rank(thread: str) -> tuple[int, int]:
    kind, _, unit = thread.rpartition(" ")
    if kind == "Slice unit" and unit.isdigit():
        return _DISPLAY_ORDER.index(kind), int(unit)
    return _DISPLAY_ORDER.index(thread), 0


def _unit(thread: str) -> Unit:
    if thread.startswith("Slice unit"):
        return Unit.SLICE
    return _UNITS.get(thread, Unit.NONE)


FORMAT = format_of("torq.compile_csv")
