"""Torq profiles as perfetto_logger charts them, corrected: threads, names, numbers and overviews.

The bugs of the original are fixed: every row is present, whatever its location contains; slices are
drawn in ns, at 800 MHz for the cycles of compile profiles (5/4 ns each, ends rounded down); NSS
jobs are at [time_since_open - time_since_start, time_since_open]; slice units 0 and 1 have numbers.
`dur=` and the overview use the original's units: cycles for C0 and µs for NSS jobs, as in their
files; from C1 on ns, the floor of the end minus that of the start. Unlike the original, names state
this unit.

Threads and names are those of the revision at the time of a generation: C0 and R0 (and R1) as
f63e303, C1 as 36d5652, C2 (and C3, whose first number is a task) as 183cae4. So is the overview,
which says how long each unit was busy, alone and with others:

* `TWO_UNITS` (f63e303): DMA and SLICE, DMA alone, both at once, idle, overall.
* `EIGHT_UNITS` (8e135dc): as `ALL_UNITS`, without the slice units by number.
* `ALL_UNITS` (36d5652, 183cae4): DMA and CDMA together are "DMA", slice units and CSS together are
  "compute"; each part is also listed by itself.

Every number is the length of a set of time, so nothing is counted twice: DMA = DMA_ONLY + overlap,
and busy + IDLE = OVERALL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, numbers_at
from viewer.codecs.protobuf.writer import Blobs, Decimals, Joined, Literal, Picked, Piece, Where
from viewer.compat.torq_logger.time_chart import ChartColumns, Names
from viewer.dataclasses import dataclass, replace
from viewer.export.perfetto.packets import clean
from viewer.model.building.chunks import distinct_codes
from viewer.model.intervals import Intervals, intersect, length, subtract
from viewer.model.queries import units_of
from viewer.model.recorded_names import ACTION_ID, BYTES, JOB_ID, TASK_ID, job_name
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Column, Trace, Unit
from viewer.program.mlir.locations import (
    CallSite,
    FilePosition,
    FusedLocation,
    Location,
    NameLocation,
    parse_location,
)
from viewer.program.mlir.operations import OperationPlaces

COMPILE_PROCESS = "Compile Profile"  # of 183cae4
UNKNOWN_THREAD = "UNKNOWN"
# The threads of 36d5652 and of 183cae4; all of them are shown for any file.
C1_THREADS = ("0_DMA_IN", "1_DMA_OUT", "2_SLICE_0", "3_SLICE_1", "4_CDMA", "5_CSS")
C2_THREADS = (
    "00_Input_Layer", "01_Torq_Operations", "02_Host", "03_DMA_In", "04_DMA_Out", "05_CDMA",
    "06_Slice_0", "07_Slice_1", "08_CSS",
)  # fmt: skip
LAYERS = C2_THREADS[0]

_CALL_SITE = re.compile(r'callsite\("([^"]*)":(\d+):(\d+)')
_MLIR_FILE = re.compile(r'\.mlir":(\d+):(\d+)')
_SHOWN_PLACES = 3


def short_location(text: str) -> str:
    """Return the first place in a location without its folder, "m.mlir:11:10"."""
    if match := _CALL_SITE.search(text):
        return f"{_file(match[1])}:{match[2]}:{match[3]}"
    if match := _MLIR_FILE.search(text):
        path = text[: match.start()].rpartition('"')[2]
        return f"{_file(path)}.mlir:{match[1]}:{match[2]}"
    inner = text.strip()
    if inner.startswith("loc(") and inner.endswith(")"):
        inner = inner[4:-1]
    return _file(inner.replace('"', ""))


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def percent(part: int, whole: int) -> str:
    """Format a share: "12.50%", or "0.00%" if the total is 0."""
    return f"{part / whole * 100 if whole else 0:.2f}%"


def duration_text(ns: int) -> str:
    """Format ns in a fitting unit: "1.234s", "456.789ms", "123.456µs", "123ns"."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if ns >= size:
            return f"{ns / size:.3f}{unit}"
    return f"{ns}ns"


def layer_name(operator: str, places: Sequence[str]) -> str:
    """Return the name of an input-layer slice up to its duration, with at most three places."""
    distinct = list(dict.fromkeys(places))
    more = len(distinct) - _SHOWN_PLACES
    place_text = ", ".join(distinct[:_SHOWN_PLACES]) + (f" (+{more} more)" if more > 0 else "")
    return f"{operator} | {place_text} | "


NO_TIME: Intervals = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class OverviewForm:
    """One generation of the overview.

    rows: (key, thread that shows it, label of its slice). printed: the keys in print order. text:
    formats a time in ns for a slice's name.
    """

    rows: tuple[tuple[str, str, str], ...]
    printed: tuple[str, ...]
    text: Callable[[int], str]


TWO_UNITS = OverviewForm(
    (
        ("DMA", "00 OVERVIEW DMA", "DMA total"),
        ("SLICE", "01 OVERVIEW SLICE", "SLICE total"),
        ("DMA_ONLY", "02 OVERVIEW DMA ONLY", "DMA ONLY (exclusive)"),
        ("DMA_SLICE_OVERLAP", "03 OVERVIEW DMA+SLICE OVERLAP", "DMA & SLICE overlap"),
        ("IDLE", "04 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "05 OVERALL", "OVERALL"),
    ),
    ("DMA", "SLICE", "DMA_ONLY", "DMA_SLICE_OVERLAP", "IDLE", "OVERALL"),
    str,
)
EIGHT_UNITS = OverviewForm(
    (
        ("DMA_COMBINED", "00 OVERVIEW DMA COMBINED", "DMA+CDMA total"),
        ("COMPUTE_COMBINED", "01 OVERVIEW COMPUTE COMBINED", "SLICE+CSS total"),
        ("DMA", "02 OVERVIEW DMA", "DMA total"),
        ("CDMA", "03 OVERVIEW CDMA", "CDMA total"),
        ("SLICE", "04 OVERVIEW SLICE", "SLICE total"),
        ("CSS", "05 OVERVIEW CSS", "CSS total"),
        ("DMA_ONLY", "06 OVERVIEW DMA ONLY", "DMA ONLY (exclusive)"),
        ("COMPUTE_ONLY", "07 OVERVIEW COMPUTE ONLY", "COMPUTE ONLY (exclusive)"),
        ("IDLE", "08 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "09 OVERALL", "OVERALL"),
    ),
    (
        "DMA_COMBINED", "COMPUTE_COMBINED", "DMA_ONLY", "COMPUTE_ONLY", "IDLE", "OVERALL", "DMA",
        "SLICE", "CDMA", "CSS", "DMA_COMPUTE_OVERLAP",
    ),
    str,
)  # fmt: skip
ALL_UNITS = OverviewForm(
    (
        ("DMA_COMBINED", "00 OVERVIEW DMA COMBINED", "DMA+CDMA union"),
        ("COMPUTE_COMBINED", "01 OVERVIEW COMPUTE COMBINED", "SLICE+CSS union"),
        ("DMA", "02 OVERVIEW DMA", "DMA total"),
        ("CDMA", "03 OVERVIEW CDMA", "CDMA total"),
        ("SLICE", "04 OVERVIEW SLICE", "SLICE 0 + 1 union"),
        ("SLICE_0", "05 OVERVIEW SLICE 0", "SLICE 0 total"),
        ("SLICE_1", "06 OVERVIEW SLICE 1", "SLICE 1 total"),
        ("CSS", "07 OVERVIEW CSS", "CSS total"),
        ("DMA_ONLY", "08 OVERVIEW DMA ONLY", "DMA/CDMA ONLY (no compute)"),
        ("COMPUTE_ONLY", "09 OVERVIEW COMPUTE ONLY", "COMPUTE ONLY (no DMA/CDMA)"),
        ("DMA_COMPUTE_OVERLAP", "10 OVERVIEW DMA COMPUTE OVERLAP", "DMA/CDMA<->COMPUTE overlap"),
        ("IDLE", "11 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "12 OVERALL", "OVERALL"),
    ),
    (
        "OVERALL", "DMA_COMPUTE_OVERLAP", "SLICE", "COMPUTE_COMBINED", "CSS", "COMPUTE_ONLY",
        "DMA_COMBINED", "DMA_ONLY", "DMA", "CDMA", "IDLE",
    ),
    duration_text,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TorqOverview:
    """The times of one file in its unit, and the start of its first slice.

    A key that is not in `times` is drawn with zero length and without a share, and is not printed.
    unit: what numbers in names count, where the form does not state it; the originals had none.
    """

    form: OverviewForm
    start: int
    times: Mapping[str, int]
    unit: str = ""

    def slices(self) -> list[tuple[str, str, int, bool]]:
        """Return (thread, name, length, whether its category is "overview") for each slice.

        All start at `start`.
        """
        slices = []
        for figure, thread, label in self.form.rows:
            time = self.times.get(figure, 0)
            name = f"{label}: {self.form.text(time)}"
            if self.unit and self.form.text is str:
                name += f" {self.unit}"
            if figure != "OVERALL" and figure in self.times:
                name += f" ({percent(time, self.times['OVERALL'])})"
            slices.append((thread, name, time, "OVERVIEW" in thread))
        return slices

    def printed(self, title: str) -> str:
        """Return the summary as it is printed: an empty line, a heading, a line per key."""
        lines = ["", f"=== Overview ({title}) ==="]
        for figure in self.form.printed:
            if figure not in self.times:
                continue
            share = percent(self.times[figure], self.times["OVERALL"])
            tail = "" if figure == "OVERALL" else f" ({share})"
            lines.append(f"{figure} time: {self.times[figure]}{tail}")
        return "\n".join(lines) + "\n"


def two_units(everything: Intervals, dma: Intervals, slices: Intervals) -> TorqOverview:
    """Return the overview of f63e303. everything: all rows of any unit."""
    start, overall = _extent(everything)
    times = {
        "DMA": length(*dma),
        "SLICE": length(*slices),
        "DMA_ONLY": _sum(subtract(dma, slices)),
        "DMA_SLICE_OVERLAP": _sum(intersect(dma, slices)),
        "IDLE": max(overall - length(*_both(dma, slices)), 0),
        "OVERALL": overall,
    }
    return TorqOverview(TWO_UNITS, start, times)


def runtime_overview(jobs: Intervals) -> TorqOverview:
    """Return the overview of f63e303 for NSS jobs, whose units are unknown."""
    whole = two_units(jobs, NO_TIME, NO_TIME)
    return replace(whole, times={**whole.times, "IDLE": whole.times["OVERALL"] - length(*jobs)})


def as_8e135dc(overview: TorqOverview) -> TorqOverview:
    """Return the overview of 8e135dc from that of 36d5652."""
    return replace(overview, form=EIGHT_UNITS)


def runtime_overview_8e135dc(jobs: Intervals) -> TorqOverview:
    """Return the overview of 8e135dc for NSS jobs."""
    whole = runtime_overview(jobs)
    stated = {name: whole.times[name] for name in ("IDLE", "OVERALL")}
    printed = (name for name in EIGHT_UNITS.printed if name not in ("CDMA", "CSS"))
    return TorqOverview(EIGHT_UNITS, whole.start, dict.fromkeys(printed, 0) | stated)


def all_units(
    everything: Intervals,
    dma: Intervals,
    cdma: Intervals,
    slices: Intervals,
    css: Intervals,
    of_slice: Mapping[int, Intervals] | None = None,
) -> TorqOverview:
    """Return the overview of 36d5652 and 183cae4.

    of_slice: the busy times of slice units 0 and 1, if known.
    """
    start, overall = _extent(everything)
    moves, computes = _both(dma, cdma), _both(slices, css)
    times = {
        "DMA_COMBINED": length(*moves),
        "COMPUTE_COMBINED": length(*computes),
        "DMA": length(*dma),
        "CDMA": length(*cdma),
        "SLICE": length(*slices),
        "CSS": length(*css),
        "DMA_ONLY": _sum(subtract(moves, computes)),
        "COMPUTE_ONLY": _sum(subtract(computes, moves)),
        "DMA_COMPUTE_OVERLAP": _sum(intersect(moves, computes)),
        "IDLE": max(overall - length(*_both(moves, computes)), 0),
        "OVERALL": overall,
    }
    times |= {f"SLICE_{unit}": length(*busy) for unit, busy in (of_slice or {}).items()}
    return TorqOverview(ALL_UNITS, start, times)


def _extent(everything: Intervals) -> tuple[int, int]:
    """Return the first start, and the time from there to the last end; 0 for no rows."""
    start, end = everything
    if not len(start):
        return 0, 0
    first = int(start.min())
    return first, int(end.max()) - first


def _both(a: Intervals, b: Intervals) -> Intervals:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _sum(parts: Intervals) -> int:
    lengths: Ints = parts[1] - parts[0]
    return int(lengths.sum())


_NOT_SOURCE = ("func", "builtin")
_TWO_UNIT_THREADS = {Unit.DMA_IN: "DMA IN", Unit.DMA_OUT: "DMA OUT"}
# Slice units have a thread each, by their number.
_C1_UNITS = {
    Unit.DMA_IN: C1_THREADS[0], Unit.DMA_OUT: C1_THREADS[1], Unit.CDMA: C1_THREADS[4],
    Unit.CSS: C1_THREADS[5],
}  # fmt: skip
_C2_UNITS = {
    Unit.DMA_IN: C2_THREADS[3], Unit.DMA_OUT: C2_THREADS[4], Unit.CDMA: C2_THREADS[5],
    Unit.CSS: C2_THREADS[8],
}  # fmt: skip
_CYCLES, _MICROSECONDS, _NANOSECONDS = "cycles", "µs", "ns"


@dataclass(frozen=True, slots=True)
class TorqChart:
    """One profile as columns for a view, and its overview. threads: shown even without slices.

    ns_per_figure: the unit of the overview's numbers and of every `dur=`. The oldest original
    showed cycles and µs as in the file (and drew them as if they were ns), later ones ns.
    """

    columns: tuple[ChartColumns, ...]
    threads: tuple[str, ...]
    overview: TorqOverview
    ns_per_figure: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class MlirSource:
    """The text that locations refer to: the file's base name, and its operations."""

    name: str
    places: OperationPlaces


def compile_chart(
    trace: Trace, process: str, num_slices: int = 2, source: MlirSource | None = None
) -> TorqChart:
    """Return the chart of a compile profile.

    num_slices: the number of threads for C0's numbered slices. Raises ValueError if it is below 1.
    """
    if num_slices < 1:
        raise ValueError(f"num_slices must be 1 or more, not {num_slices}")
    return _CompileRows(trace, num_slices).chart(process, source)


def runtime_chart(trace: Trace, process: str) -> TorqChart:
    """Return the chart of a runtime profile: a thread per job ID, in order of first rows."""
    slices = trace.slices
    start, end = _ns(trace)
    job = slices.columns[JOB_ID].values if len(slices) else np.empty(0, np.int64)
    ids, first, thread = np.unique(job, return_index=True, return_inverse=True)
    location = slices.columns.get("location")
    places = _places(location)
    place = np.zeros(len(start), np.int64) if location is None else _codes(location)
    # A job without a location is named by its number.
    named = np.array([bool(text) for text in places])[place]
    heads = Blobs([f"{text}, ".encode() for text in (*places, *map(job_name, ids.tolist()))])
    head = np.where(named, place, len(places) + thread)
    duration = _Durations(slices.start, slices.end, _MICROSECONDS)
    threads = tuple(map(str, ids.tolist()))

    def names(rows: Ints) -> Piece:
        return Joined(Picked(heads, head[rows]), duration.piece(rows))

    columns = ChartColumns(process, threads, thread.astype(np.int64), start, end, names)
    in_order = tuple(threads[i] for i in np.argsort(slices.source_row[first]).tolist())
    figures = replace(runtime_overview((slices.start, slices.end)), unit=_MICROSECONDS)
    return TorqChart((columns,), in_order, figures, trace.clock.ns_per_tick)


def _ns(trace: Trace) -> Intervals:
    rate = trace.clock.ns_per_tick
    return ticks_to_ns(trace.slices.start, rate), ticks_to_ns(trace.slices.end, rate)


def _codes(column: Column) -> Ints:
    """Return the codes of a string column, with one additional code for nulls."""
    assert column.strings is not None
    codes = column.values.astype(np.int64)
    if column.valid is not None:
        codes = np.where(column.valid, codes, len(column.strings))
    return codes


def _places(location: Column | None) -> list[str]:
    """Return the short form of every distinct location, "" for the code of nulls."""
    texts = () if location is None else location.strings or ()
    return [*(clean(short_location(text)) for text in texts), ""]


class _Durations:
    """The end of a name, "dur=1470 ns (0.89%)", encoded once per distinct duration."""

    def __init__(self, start: Ints, end: Ints, unit: str) -> None:
        """unit: what the times count."""
        whole = int(end.max()) - int(start.min()) if len(start) else 0
        lasted = end - start
        lengths, self._code = distinct_codes(lasted, int(lasted.max(initial=0)) + 1)
        self._texts = Blobs(
            [f"dur={time} {unit} ({percent(time, whole)})".encode() for time in lengths.tolist()]
        )

    def piece(self, rows: Ints) -> Piece:
        return Picked(self._texts, self._code[rows])


class _CompileRows:
    """The rows of a compile profile by unit, with the names of its generation."""

    def __init__(self, trace: Trace, num_slices: int) -> None:
        self._trace = trace
        self._num_slices = num_slices
        self._start, self._end = _ns(trace)
        slices = trace.slices
        track = slices.row_track[slices.rows()]
        self._unit = units_of(trace)
        self._number = self._slice_numbers(track)

    def chart(self, process: str, source: MlirSource | None) -> TorqChart:
        generation = self._trace.generation
        if generation == "C0":
            # Names and overview use cycles; drawing always uses ns.
            cycles = self._trace.slices.start, self._trace.slices.end
            names = self._typed_names(_Durations(*cycles, _CYCLES))
            columns = self._columns(process, self._c0_thread, names)
            threads = self._in_file_order(columns)
            rate = self._trace.clock.ns_per_tick
            figures = replace(self._two_units(*cycles), unit=_CYCLES)
            return TorqChart((columns,), threads, figures, rate)
        if generation == "C1":
            names = self._typed_names(_Durations(self._start, self._end, _NANOSECONDS))
            columns = self._columns(process, self._c1_thread, names)
            return TorqChart((columns,), C1_THREADS, self._all_units())
        operators = self._operators(source)
        layers = self._layers(process, operators)
        columns = self._columns(process, self._c2_thread, self._operator_names(operators))
        return TorqChart((layers, columns), C2_THREADS, self._all_units())

    # -- units and overview --------------------------------------------------------------------

    def _slice_numbers(self, track: Codes) -> Ints:
        """Return the slice unit of every row that has one, else 0."""
        trace = self._trace
        if trace.generation != "C0":
            named = [re.search(r"Slice unit (\d+)$", t.thread) for t in trace.tracks]
            numbers = np.array([int(match[1]) if match else 0 for match in named], np.int64)
            return numbers[track] if len(numbers) else np.empty(0, np.int64)
        number = np.zeros(len(track), np.int64)
        on_slices = np.flatnonzero(self._unit == Unit.SLICE)
        if len(on_slices):
            events = trace.slices.columns["event"]
            texts, codes = events.strings or (), events.values[on_slices]
            used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
            index = numbers_at(
                len(texts), used, _numbered([texts[i] for i in used.tolist()]) % self._num_slices
            )
            number[on_slices] = index[codes]
        return number

    def _of(self, *units: Unit) -> Intervals:
        mask = np.isin(self._unit, units)
        return self._start[mask], self._end[mask]

    def _two_units(self, start: Ints, end: Ints) -> TorqOverview:
        dma = np.isin(self._unit, (Unit.DMA_IN, Unit.DMA_OUT))
        is_slice = self._unit == Unit.SLICE
        return two_units((start, end), (start[dma], end[dma]), (start[is_slice], end[is_slice]))

    def _all_units(self) -> TorqOverview:
        units = (Unit.DMA_IN, Unit.DMA_OUT), (Unit.CDMA,), (Unit.SLICE,), (Unit.CSS,)
        slices = (self._unit == Unit.SLICE) & (self._number == np.array([[0], [1]]))
        busy = {number: (self._start[mask], self._end[mask]) for number, mask in enumerate(slices)}
        dma, cdma, both_slices, css = (self._of(*of) for of in units)
        return all_units((self._start, self._end), dma, cdma, both_slices, css, busy)

    # -- threads -------------------------------------------------------------------------------

    @staticmethod
    def _c0_thread(unit: Unit, number: int) -> str:
        return f"SLICE {number}" if unit is Unit.SLICE else _TWO_UNIT_THREADS[unit]

    @staticmethod
    def _c1_thread(unit: Unit, number: int) -> str:
        # Further units sort after unit 1 and before CDMA.
        return f"{min(2 + number, 3)}_SLICE_{number}" if unit is Unit.SLICE else _C1_UNITS[unit]

    @staticmethod
    def _c2_thread(unit: Unit, number: int) -> str:
        if unit is Unit.SLICE:
            return f"{min(6 + number, 7):02d}_Slice_{number}"
        return _C2_UNITS[unit]

    def _columns(
        self, process: str, thread_of: Callable[[Unit, int], str], names: Names
    ) -> ChartColumns:
        both, thread = np.unique(self._unit * 1000 + self._number, return_inverse=True)
        threads = [
            UNKNOWN_THREAD if unit == Unit.NONE else thread_of(Unit(unit), number)
            for unit, number in (divmod(code, 1000) for code in both.tolist())
        ]
        return ChartColumns(
            process, threads, thread.astype(np.int64), self._start, self._end, names
        )

    def _in_file_order(self, columns: ChartColumns) -> tuple[str, ...]:
        """Return the threads by their first rows."""
        first = np.full(len(columns.threads), len(self._start), np.int64)
        np.minimum.at(first, columns.thread, self._trace.slices.source_row.astype(np.int64))
        return tuple(columns.threads[i] for i in np.argsort(first, kind="stable").tolist())

    # -- names ---------------------------------------------------------------------------------

    def _typed_names(self, duration: _Durations) -> Names:
        """Return a function for names like "conv2d, S0, MLIR - m.mlir:11:10, dur=9408 (7.73%)"."""
        columns = self._trace.slices.columns
        if not columns:
            return _nameless
        types, events = columns["type"], columns["event"]
        type_text = Blobs([*(f"{clean(text)}, ".encode() for text in types.strings or ()), b""])
        event_text = Blobs.of_texts((*(events.strings or ()), ""))
        places = Blobs([f", MLIR - {place}, ".encode() for place in _places(columns["location"])])
        type, event, place = map(_codes, (types, events, columns["location"]))
        size = self._sizes(", bytes=")
        return lambda rows: Joined(
            Picked(type_text, type[rows]),
            Picked(event_text, event[rows]),
            Picked(places, place[rows]),
            duration.piece(rows),
            size(rows),
        )

    def _operator_names(self, operators: list[str]) -> Names:
        """Return a function for names like "DMA In | Input: tosa.conv2d@L11 | Action 4 | dur=7"."""
        columns = self._trace.slices.columns
        if not columns:
            return _nameless
        events, places = columns["event"], _codes(columns["location"])
        kinds = ["CDMA" if e.startswith("CDMA") else clean(e) for e in events.strings or ()]
        kind_text = Blobs([*(kind.encode() for kind in kinds), b""])
        inputs = Blobs([f" | Input: {clean(o)}".encode() if o else b"" for o in operators])
        first = ACTION_ID if ACTION_ID in columns else TASK_ID
        ids = _number_text(columns[first].values)
        word = f" | {first.partition('_')[0].title()} ".encode()
        kind = _codes(events)
        duration = _Durations(self._start, self._end, _NANOSECONDS)
        size = self._sizes(" | bytes=")
        return lambda rows: Joined(
            Picked(kind_text, kind[rows]),
            Picked(inputs, places[rows]),
            Literal(word, len(rows)),
            ids(rows),
            Literal(b" | ", len(rows)),
            duration.piece(rows),
            size(rows),
        )

    def _sizes(self, before: str) -> Names:
        column = self._trace.slices.columns[BYTES]
        valid: Bools = (
            np.ones(len(column.values), np.bool_) if column.valid is None else column.valid
        )
        head, sizes = before.encode(), _number_text(column.values)

        def piece(rows: Ints) -> Piece:
            sized = rows[valid[rows]]
            return Where(valid[rows], Joined(Literal(head, len(sized)), sizes(sized)))

        return piece

    # -- operators of the source -----------------------------------------------------------------

    def _operators(self, source: MlirSource | None) -> list[str]:
        """Return the operators of every distinct location, "" if unknown; one more for nulls."""
        location = self._trace.slices.columns.get("location")
        texts = () if location is None else location.strings or ()
        if source is None:
            return [""] * (len(texts) + 1)
        return [*(_operators_at(parse_location(text), source) for text in texts), ""]

    def _layers(self, process: str, operators: list[str]) -> ChartColumns:
        """Return consecutive rows of one operator, by start, as one slice each."""
        column = self._trace.slices.columns.get("location")
        number = {text: i for i, text in enumerate(dict.fromkeys(["", *operators]))}
        of_place = np.array([number[text] for text in operators], np.int64)
        place = np.empty(0, np.int64) if column is None else _codes(column)
        order = np.lexsort((self._trace.slices.source_row, self._start))
        order = order[of_place[place[order]] > 0]
        operator, place = of_place[place[order]], place[order]
        opens = np.append(True, operator[1:] != operator[:-1])[: len(operator)]
        first = np.flatnonzero(opens)
        start = self._start[order[first]]
        end = np.maximum.reduceat(self._end[order], first) if len(first) else start
        # The distinct places of each group, in order of appearance.
        group, places = np.cumsum(opens) - 1, _places(column)
        index = np.sort(np.unique(group * len(places) + place, return_index=True)[1])
        bounds = np.searchsorted(group[index], np.arange(len(first) + 1)).tolist()
        place_list = [places[i] for i in place[index].tolist()]
        texts = [clean(text) for text in number]
        whole = int(self._end.max()) - int(self._start.min()) if len(self._end) else 0
        names = []
        for i, operator_number in enumerate(operator[first].tolist()):
            time = int(end[i] - start[i])
            head = layer_name(texts[operator_number], place_list[bounds[i] : bounds[i + 1]])
            names.append(f"{head}dur={time} {_NANOSECONDS} ({percent(time, whole)})".encode())
        blobs = Blobs(names)
        threads = np.zeros(len(first), np.int64)
        picked = partial(Picked, blobs)
        return ChartColumns(process, (LAYERS,), threads, start, end, picked)


def _numbered(events: list[str]) -> Ints:
    """Parse the numbers of "S12" etc.; only the first 18 digits of an overlong one."""
    if max(map(len, events)) > 19:
        events = [event[:19] for event in events]
    return np.fromstring("".join(events).replace("S", " "), np.int64, sep=" ")


def _number_text(values: Ints) -> Names:
    """Return numbers as text; negative ones, which no compiler writes, through a slow path."""
    if int(values.min(initial=0)) >= 0:
        return lambda rows: Decimals(values[rows])
    distinct, code = np.unique(values, return_inverse=True)
    texts = Blobs.of_texts([str(value) for value in distinct.tolist()])
    return lambda rows: Picked(texts, code[rows])


def _nameless(rows: NDArray[np.int64]) -> Piece:
    return Picked(Blobs([b""]), np.zeros(len(rows), np.int64))


def _operators_at(location: Location, source: MlirSource) -> str:
    """Return "tosa.conv2d@L11 + tosa.clamp@L13": the operations inlined at a location, by line.

    Callers are left out, since they show where a function was called, not what ran; so are
    functions.
    """
    operations: dict[int, str] = {}
    pending: list[Location] = [location]
    while pending:
        match pending.pop():
            case FilePosition() as place if place.file.rpartition("/")[2] == source.name:
                operation = source.places.at(place.line, place.col)
                if operation is not None and operation.name.split(".")[0] not in _NOT_SOURCE:
                    operations[operation.line] = f"{operation.name}@L{operation.line}"
            case NameLocation(_, child) if child is not None:
                pending.append(child)
            case CallSite(callee, _):
                pending.append(callee)
            case FusedLocation(members):
                pending += members
    return " + ".join(operations[line] for line in sorted(operations))
