"""A trace: named intervals ("slices") on tracks, as frozen parallel arrays.

One file becomes one `Trace`, which never changes: links, clock rates and offsets are stored in the
workspace. A *track* is one thread of one process. A *row* is one horizontal line of it, identified
by (track, lane, depth). A *lane* is a properly nested subset of a track; slices that overlap
without nesting go to different lanes, with their times unchanged. A *key* is what the file states
about a slice's identity (instruction, delegate debug identifier, location); all slices with the
same identity share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints
from viewer.dataclasses import dataclass, field
from viewer.model.recorded_names import PROFILER_STEP
from viewer.model.trace_attributes import INFERENCE, CallStacks, Counter, WorkUnit, unit_of_series


@dataclass(frozen=True, slots=True)
class ClockZero:
    """What a system clock showed at tick 0 of a file, as the file states it.

    name: of the system clock, as in `viewer.model.timing`. ns: its time then, any integer.
    source: what states it, such as "baseTimeNanoseconds". error_ns: how far the truth may be from
    `ns`, either way; 0 if nothing says so.
    """

    name: str
    ns: int
    source: str
    error_ns: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """How the ticks of one file become time.

    `ns_per_tick` is an exact ratio (800 MHz is 5/4). `assumed` is True if the file does not state
    the rate. Files with the same non-empty `domain` share one clock and one time axis. `unit` names
    one tick: "ns", "us" or "cycle". `zeros`: what system clocks showed at tick 0, one each.
    """

    unit: str = "ns"
    ns_per_tick: Fraction = Fraction(1)
    assumed: bool = False
    domain: str = ""
    zeros: tuple[ClockZero, ...] = field(default=(), repr=False)


class Unit(IntEnum):
    """The part of an NPU system that works on a track; `NONE` if the file is not from an NPU.

    An NPU's compute engine is a *slice unit* here, because a slice is an interval.
    """

    NONE = 0
    DMA_IN = 1
    DMA_OUT = 2
    CDMA = 3
    SLICE = 4
    CSS = 5
    NSS = 6  # jobs of the NPU's sequencer: any of its units may be active in one
    HOST = 7
    HAL = 8


@dataclass(frozen=True, slots=True)
class Track:
    """One thread of one process, in display order. The file states or implies the names."""

    process: str
    thread: str
    unit: Unit = Unit.NONE


@dataclass(frozen=True, slots=True)
class Rank:
    """The process of a distributed job that a file is of. size: of the job, 0 if not stated."""

    number: int
    size: int = 0

    @property
    def text(self) -> str:
        """The rank and the size of the job: "1 of 4"."""
        return f"{self.number} of {self.size}" if self.size else str(self.number)


@dataclass(frozen=True, slots=True)
class Problem:
    """Unexpected data that was kept or left out: what, how often, and where it first occurred."""

    kind: str
    count: int
    first: str


# The name of slices of kind UNATTRIBUTED, in traces and tables.
UNATTRIBUTED = "unattributed"


class KeyKind(IntEnum):
    """The kind of identity of a key; `viewer.analysis.links.link_table` lists which can link."""

    PLAIN = 0  # the file gives no identity
    FRAMEWORK = 1  # a scope of the runtime itself: Method::execute, load (chain index -1)
    CONTROL = 2  # an instruction without an operator: MOVE_CALL, JF_CALL, FREE_CALL
    OPERATOR_CALL = 3
    KERNEL = 4  # native_call_*
    DELEGATE_CALL = 5
    DELEGATE_EVENT = 6  # logged by a delegate under its own debug identifier
    LOCATION = 7  # an MLIR location
    UNATTRIBUTED = 8  # derived: time of a DELEGATE_CALL that its delegate's events do not cover
    ACTION = 9  # an action by its number (`instruction`); the dispatch is the scope
    JOB = 10  # an NSS job by its number; the dispatch is the scope


@dataclass(frozen=True, slots=True)
class InstructionScope:
    """The scope in which instruction ids are unique: the runs of one method, or a whole file.

    `method` is set only if the file names it. ETDumps never do; the linked ETRecord determines it.
    """

    name: str
    method: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The distinct identities of a trace, as columns of equal length.

    name: index into `Trace.strings`. scope: index into `Trace.scopes`. instruction: -1 if none.
    identifier: object array of int, str or None (a delegate debug identifier, exactly as logged).
    location: object array of str or None (MLIR location text).
    """

    kind: NDArray[np.uint8]
    scope: Codes
    name: Codes
    instruction: Ints
    identifier: NDArray[np.object_]
    location: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class Column:
    """One named argument of every slice: numbers, or texts as codes into `strings`.

    `valid` is False where a slice has no value; None means that all slices have one.
    """

    values: NDArray[Any]
    valid: Bools | None = None
    strings: tuple[str, ...] | None = None
    unit: str = ""

    @staticmethod
    def of_texts(texts: Sequence[str | None]) -> Column:
        """Intern texts; None and "" become nulls."""
        table: dict[str, int] = {}
        codes = np.fromiter(
            (table.setdefault(t, len(table)) if t else 0 for t in texts), np.uint32, len(texts)
        )
        valid = np.fromiter((bool(t) for t in texts), np.bool_, len(texts))
        return Column(codes, None if valid.all() else valid, tuple(table))

    @staticmethod
    def of_codes(codes: Codes, strings: Sequence[str], valid: Bools | None = None) -> Column:
        """A column of texts that are already interned."""
        return Column(codes, valid, tuple(strings))

    def is_any(self, texts: tuple[str, ...]) -> Bools:
        """Which slices have one of some texts; all False if it has numbers."""
        if self.strings is None:
            return np.zeros(len(self.values), np.bool_)
        mask: Bools = np.isin(np.array(self.strings or ("",)), texts)[self.values]
        return mask if self.valid is None else mask & self.valid

    def taken(self, index: NDArray[np.integer[Any]] | slice) -> Column:
        """The column for the slices at `index`, in that order."""
        valid = None if self.valid is None else self.valid[index]
        return Column(self.values[index], valid, self.strings, self.unit)

    def value(self, i: int) -> int | float | bool | str | None:
        """The value of slice i as a Python object, or None."""
        if self.valid is not None and not self.valid[i]:
            return None
        if self.strings is not None:
            return self.strings[int(self.values[i])]
        item: int | float | bool = self.values[i].item()
        return item


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRows:
    """The rows of a timeline where they are not those of the exact times.

    A file that rounds starts and durations apart makes neighbors overlap by its resolution. Exact
    times put these in lanes of their own, which all figures and exports keep. A timeline draws them
    in the rows of their neighbors. resolution: of the file, in ticks. index: the slice at each
    position, in the order of (row, start). position: that of each slice. row_ptr: rows + 1 offsets
    into the positions. The others are as in `Slices`.
    """

    resolution: int
    index: Codes
    position: Codes
    row_ptr: Ints
    row_track: Codes
    row_lane: Codes
    row_depth: Codes


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Slices:
    """All slices, sorted by (row, start), and the table of rows.

    start, end: int64 ticks, end >= start. name: index into `Trace.strings`. key: index into
    `Trace.keys`. source_row: the slice's position in its file (event, line or data row, from 0).
    order: rank of the slice in preorder (parents before children, siblings by time; one lane after
    another), which with the depths defines the tree. None if each lane is in preorder by start,
    then depth, as nearly always: `queries.ranks` has both. derived: True for slices that the reader
    computed and the file does not state, or None. timing: a `viewer.model.timing.Timing` per slice;
    None if the file measured all of them. row_ptr: rows + 1 offsets into the arrays. row_track,
    row_lane, row_depth: the track, lane and depth of each row. drawn_rows: the rows of a timeline,
    None if they are these.
    """

    start: Ints
    end: Ints
    name: Codes
    key: Codes
    source_row: Codes
    order: Codes | None
    row_ptr: Ints
    row_track: Codes
    row_lane: Codes
    row_depth: Codes
    derived: Bools | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    timing: NDArray[np.uint8] | None = None
    drawn_rows: DrawnRows | None = None

    def __len__(self) -> int:
        return len(self.start)

    @property
    def rows_drawn(self) -> DrawnRows | Slices:
        """What has `row_ptr`, `row_track`, `row_lane` and `row_depth` of the rows of a timeline."""
        return self if self.drawn_rows is None else self.drawn_rows

    def position_drawn(self, i: int) -> int:
        """The position of slice i in the rows of a timeline."""
        return i if self.drawn_rows is None else int(self.drawn_rows.position[i])

    def drawn_row_of(self, i: int) -> int:
        """The row of a timeline that slice i is in."""
        position = self.position_drawn(i)
        return int(np.searchsorted(self.rows_drawn.row_ptr, position, side="right")) - 1

    def drawn_between(self, first: int, end: int) -> Ints:
        """The slices at some positions in the rows of a timeline."""
        if self.drawn_rows is None:
            return np.arange(first, end)
        return self.drawn_rows.index[first:end].astype(np.int64)

    def row_of(self, i: int) -> int:
        """The row of slice i."""
        return int(np.searchsorted(self.row_ptr, i, side="right")) - 1

    def rows(self) -> Codes:
        """The row of every slice (uint32)."""
        count = np.diff(self.row_ptr)
        return np.repeat(np.arange(len(count), dtype=np.uint32), count)

    def tracks_of(self, index: Ints) -> Codes:
        """The tracks of the slices in `index`; cheaper than `rows` for few slices."""
        tracks: Codes = self.row_track[np.searchsorted(self.row_ptr, index, side="right") - 1]
        return tracks

    def track(self, i: int) -> int:
        """The track of slice i."""
        return int(self.row_track[self.row_of(i)])

    def depth(self, i: int) -> int:
        """The depth of slice i in its lane."""
        return int(self.row_depth[self.row_of(i)])

    @property
    def derived_count(self) -> int:
        """The number of derived slices."""
        return 0 if self.derived is None else int(self.derived.sum())


class RunKind(IntEnum):
    """What an event block of the runtime contains."""

    LOAD = 0
    INFERENCE = 1


NOT_FINISHED = ", did not finish"  # follows the number of such an inference


@dataclass(frozen=True, slots=True)
class Run:
    """A load, or an inference, numbered from 1 in its scope: an event block of an ETDump, a step of
    a PyTorch profile, or a run of ONNX Runtime.

    number: 0 for a load. bundled_input: index of its input in a bundled program, -1 if not stated.
    total: number of inferences in its scope, 0 for a load. count: the number of runs it represents;
    more than 1 for a mean. first_row: the `source_row` of its first event, if the file lists events
    run by run, else -1. finished: False for an inference that failed or was cut short: it lacks the
    Method::execute that others have, and counts in no median, mean or sum over the whole trace.
    warms_up: whether its times are not typical yet (`viewer.model.warm_up` decides). all_tracks:
    whether it covers what every track did in its time, and not only its own track, which shows it.
    load: where the runs of its scope may be of several methods that nothing distinguishes, the
    number of the load, from 1, whose method it ran; -1 if it may have run any of them. 0 where they
    are of one method. is_apart: of a load that a file lists next to its inferences: it counts in no
    figure of the whole trace. phase: which phase of its method it is in, "decode"; "" if there is
    only one (the file states it, `viewer.analysis.sequence.phases` decides, or the user). counts:
    False for inferences of other series in a view of one
    (`viewer.model.inference_views.of_series`). tokens: how many it processed, 0 if the
    file does not state it. sampling: how many of its ticks chose tokens, 0 if that is not stated.
    """

    kind: RunKind
    number: int
    name: str
    track: int
    scope: int
    start: int
    end: int
    bundled_input: int = -1
    total: int = 0
    count: int = 1
    first_row: int = -1
    finished: bool = True
    warms_up: bool = False
    all_tracks: bool = False
    load: int = 0
    is_apart: bool = False
    phase: str = ""
    counts: bool = True
    tokens: int = 0
    sampling: int = 0

    @property
    def part(self) -> int:
        """Which runs of its scope are of its method: those with an equal part.

        A run that may be of several methods is alone.
        """
        return -self.number if self.load < 0 else self.load

    @property
    def series(self) -> str:
        """Its name without the number of a step: "ProfilerStep" of "ProfilerStep#3"."""
        series, _, number = self.name.rpartition("#")
        return series if series and number.isdecimal() else self.name

    @property
    def is_later_step(self) -> bool:
        """Whether it is a step of PyTorch that others preceded: the first one has number 0."""
        series, _, number = self.name.rpartition("#")
        return series == PROFILER_STEP and number.strip("0") != ""

    @property
    def unit(self) -> WorkUnit:
        """What its file calls it: a step of PyTorch, else an inference."""
        return unit_of_series(self.series)

    @property
    def label(self) -> str:
        """Its name in tracks and files: "run 2, did not finish" of an inference, or "step 2"."""
        return f"{self.unit.label} {self.number}{self.label_ending}"

    @property
    def text(self) -> str:
        """Its number, and whether it did not finish: "inference 2, did not finish"."""
        return f"{self.unit.noun} {self.number}{self.label_ending}"

    @property
    def label_ending(self) -> str:
        """`NOT_FINISHED`, or "" if it finished."""
        return "" if self.finished else NOT_FINISHED


class UntimedKind(IntEnum):
    """The kind of an event without a time."""

    ALLOCATION = 0  # memory allocated from an allocator
    DEBUG = 1  # a value: an argument, an output, or an intermediate output of a delegate


class ValueType(IntEnum):
    """The type of a debug event's value."""

    NONE = 0  # no value, as in every allocation
    NULL = 1
    INT = 2
    BOOL = 3
    FLOAT = 4  # 32 bits
    DOUBLE = 5
    TENSOR = 6
    TENSOR_LIST = 7
    STRING = 8
    COUNT = 9  # several values, of which the file states only the number


@dataclass(frozen=True, slots=True, eq=False)
class UntimedEvents:
    """Events without a time whose position in their run is known, in file order.

    kind: an `UntimedKind`. block: index into `blocks`, the names of the file's event blocks. run:
    index into `Trace.runs`, -1 if nothing in the block has a time. source_row: position among all
    events of the file, including those of slices. after: the slice of the nearest earlier timed
    event in the block, -1 if none. call: the slice of the call or delegate event that the value
    belongs to, -1 if none.

    name: the allocator, or the runtime's name of the value. size: bytes allocated, or bytes of a
    tensor if its dtype is known (uint64). chain, instruction: as logged; null for allocations.
    identifier: index into `identifiers`, -1 if none. type: a `ValueType`. value: an int or bool;
    the bits of a float64; for tensors, an index into `tensors` ("f32 1 × 8"); for COUNT, the number
    of values. output: whether it is an output of the method. offset: of a tensor's data in the
    debug buffer, which is a separate file; -1 for a tensor without data.
    """

    kind: NDArray[np.uint8]
    block: Codes
    run: NDArray[np.int32]
    source_row: Codes
    after: NDArray[np.int32]
    call: NDArray[np.int32]
    name: Column
    size: Column
    chain: Column
    instruction: Column
    identifier: NDArray[np.int32]
    type: NDArray[np.uint8]
    value: Ints
    output: Bools
    offset: Column
    blocks: tuple[str, ...] = ()
    identifiers: tuple[int | str, ...] = ()
    tensors: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kind)

    def count(self, kind: UntimedKind) -> int:
        """The number of events of a kind."""
        return int((self.kind == kind).sum())

    @staticmethod
    def empty(blocks: tuple[str, ...] = ()) -> UntimedEvents:
        """No events in some blocks."""
        i4, nothing = np.empty(0, np.int32), Column(np.empty(0, np.int64))
        u1, u4 = np.empty(0, np.uint8), np.empty(0, np.uint32)
        return UntimedEvents(
            kind=u1, block=u4, run=i4, source_row=u4, after=i4, call=i4, name=Column(u4, None, ()),
            size=nothing, chain=nothing, instruction=nothing, identifier=i4, type=u1,
            value=nothing.values, output=np.empty(0, np.bool_), offset=nothing, blocks=blocks,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Data flows that the file states, as parallel producer and consumer slices.

    They are in the order in which the file numbers the flows.
    """

    producer: Ints
    consumer: Ints

    def __len__(self) -> int:
        return len(self.producer)

    @staticmethod
    def none() -> Flows:
        """No flows."""
        return Flows(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Trace:
    """One profile file. Times are ticks of its `clock`. A trace never changes.

    identifier_column: the column whose values were used as delegate debug identifiers in `keys`,
    although the file does not call them that; "" if none. counters, flows: those that the file
    states; each counter belongs to the process of a track. provenance: for a file exported by
    Opscope, its metadata about itself and its sources, by name (`source1.file`). calls: those
    around its slices, if recorded. lane_starts: in a view of inferences, the first lane of each
    thread on a track, (0,) for one; else empty. is_part: only the first part of the file was read.
    stated: what the file states about itself as a whole, as texts: "Initialization" -> "11.3 ms".
    rank: its place in a distributed job, if stated. only_inferences: that figures of the whole
    trace cover nothing else, in the view that `inference_views.only_inferences` makes.
    """

    path: str
    format: str
    generation: str
    clock: Clock
    tracks: tuple[Track, ...]
    strings: tuple[str, ...]
    scopes: tuple[InstructionScope, ...]
    keys: Keys
    slices: Slices
    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()
    untimed: UntimedEvents = field(default_factory=UntimedEvents.empty)
    identifier_column: str = ""
    counters: tuple[Counter, ...] = ()
    flows: Flows = field(default_factory=Flows.none)
    provenance: Mapping[str, int | str] = field(default_factory=dict)
    calls: CallStacks | None = None
    lane_starts: tuple[int, ...] = ()
    is_part: bool = False
    stated: Mapping[str, str] = field(default_factory=dict)
    rank: Rank | None = None
    only_inferences: bool = False

    @property
    def start(self) -> int:
        """The earliest tick of any slice, 0 for an empty trace."""
        slices = self.slices
        # A row is sorted, so its first slice starts first. With ten million rows, this takes 5 ms.
        first = slices.row_ptr[:-1][np.diff(slices.row_ptr) > 0]
        return int(slices.start[first].min()) if len(first) else 0

    @property
    def end(self) -> int:
        """The latest tick of any slice, 0 for an empty trace."""
        slices = self.slices
        # Slices of a row do not overlap, so its last one ends last. With ten million rows, this
        # takes 3 ms.
        last = slices.row_ptr[1:][np.diff(slices.row_ptr) > 0] - 1
        return int(slices.end[last].max()) if len(last) else 0

    def name(self, i: int) -> str:
        """The name of slice i as the file gives it."""
        return self.strings[int(self.slices.name[i])]

    def run_at(self, track: int, tick: int) -> int | None:
        """The index of the run that contains a tick on a track, or None.

        Where two runs touch, the tick belongs to the later one.
        """
        run_number = None
        for number, run in enumerate(self.runs):
            is_here = run.all_tracks or run.track == track
            if is_here and run.start <= tick <= self.last_start(run):
                run_number = number
        return run_number

    def runs_at(self, ticks: Ints, numbers: Sequence[int]) -> Ints:
        """The index of the run, one of `numbers`, in which each slice starts (int64); else -1.

        ticks: the starts of the slices. The runs are those of a track, or cover all tracks.
        """
        runs = self.runs
        spans = sorted((runs[i].start, self.last_start(runs[i]), i) for i in numbers)
        first, last, number = np.array(spans, np.int64).reshape(-1, 3).T
        place = np.searchsorted(first, ticks, "right") - 1
        inside = (place >= 0) & (ticks <= np.append(last, 0)[place])
        return np.where(inside, np.append(number, -1)[place], -1)

    def last_start(self, run: Run) -> int:
        """The last tick at which a slice may start in a run.

        What other tracks start at its end is not in it, as in a range (`starts_between`).
        """
        return run.end - 1 if run.all_tracks and run.start < run.end < self.end else run.end

    @property
    def unit(self) -> WorkUnit:
        """What the file calls its inferences: all of a file are of one kind."""
        first = next(self.inferences(), None)
        return INFERENCE if first is None else first.unit

    def inferences(self) -> Iterator[Run]:
        """The inference runs in file order."""
        return (run for run in self.runs if run.kind is RunKind.INFERENCE)

    def finished_inferences(self) -> Iterator[Run]:
        """The inference runs that completed, in file order."""
        return (run for run in self.inferences() if run.finished)
