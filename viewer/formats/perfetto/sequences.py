"""Data that the packets of a Perfetto file refer to: interned strings, defaults, clocks.

All of it is parsed with the official protos, because such packets are few. Each text has one code
for the whole file; see `TextTable`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Ints
from viewer.codecs.protobuf.fields import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Words,
    varint_at,
)
from viewer.dataclasses import dataclass, field, replace
from viewer.model.times import format_time, plain_spaces
from viewer.model.timing import BOOT, STEADY, TIME_OF_DAY
from viewer.model.trace import ClockZero

Problem = Callable[[str, int, str], None]

GPU_NAMES = "gpu_specifications"
TABLES = (
    "event_names",
    "event_categories",
    "debug_annotation_names",
    "debug_annotation_string_values",
    "correlation_id_str",
)
BOOTTIME = 6
_MONOTONIC = 3
# The clock of legacy times: the monotonic one, or that of the trace if no snapshot relates them.
LEGACY_CLOCK = 0, -_MONOTONIC
_USUAL_DRIFT = 1_000_000  # ns between snapshots
_SYSTEM_CLOCKS = {1: TIME_OF_DAY, _MONOTONIC: STEADY, BOOTTIME: BOOT}


def as_text(value: str | bytes) -> str:
    """A string field, which protobuf returns as bytes if it is not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


class TextTable:
    """The distinct texts of a file with their codes; invalid UTF-8 is replaced."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def code(self, text: str | bytes) -> int:
        """The code of a text; new texts get the next code."""
        return self.codes.setdefault(as_text(text), len(self.codes))

    def all(self) -> list[str]:
        """All texts, indexed by code."""
        return list(self.codes)


class InternedTable:
    """Interned strings of one kind: iid -> text code. The first definition stays."""

    def __init__(self) -> None:
        self._codes: dict[int, int] = {}
        self._dense = np.empty(0, np.int64)
        self._known = 0

    def add(self, iid: int, code: int) -> None:
        """Define an iid."""
        self._codes.setdefault(iid, code)

    def lookup(self, iids: Words) -> Ints:
        """The codes of many iids, -1 if undefined."""
        if self._known != len(self._codes):
            limit = 4 * len(self._codes) + 1000
            self._dense = np.full(limit, -1, np.int64)
            for iid, code in self._codes.items():
                if iid < limit:
                    self._dense[iid] = code
            self._known = len(self._codes)
        if not len(self._dense):
            return np.full(len(iids), -1)
        if not len(iids) or int(iids.max()) < len(self._dense):
            return self._dense[iids.view(np.int64)]
        near = iids < np.uint64(len(self._dense))
        index = self._dense[np.where(near, iids, np.uint64(0)).view(np.int64)]
        if not near.all():
            for i in np.flatnonzero(~near).tolist():
                index[i] = self._codes.get(int(iids[i]), -1)
        return index

    def in_order(self) -> list[int]:
        """The codes sorted by iid."""
        return [self._codes[iid] for iid in sorted(self._codes)]

    def get(self, iid: int) -> int:
        """The code of one iid, -1 if undefined."""
        return self._codes.get(iid, -1)


@dataclass(slots=True)
class CallstackTables:
    """The interned callstacks of a sequence, by iid. The first definition stays.

    callstacks: the iids of frames, outermost first. functions, sources, paths: texts. mappings: the
    iids of the parts of a path.
    """

    callstacks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    frames: dict[int, Any] = field(default_factory=dict)
    mappings: dict[int, tuple[int, ...]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)

    def add(self, interned: Any) -> None:
        """Add what the interned data of a packet defines."""
        for table, texts in (
            (self.functions, interned.function_names), (self.sources, interned.source_paths),
            (self.paths, interned.mapping_paths),
        ):  # fmt: skip
            for text in texts:
                table.setdefault(text.iid, as_text(text.str))
        for text in interned.frames:
            self.frames.setdefault(text.iid, text)
        for text in interned.mappings:
            self.mappings.setdefault(text.iid, tuple(text.path_string_ids))
        for text in interned.callstacks:
            self.callstacks.setdefault(text.iid, tuple(text.frame_ids))

    def mapping_of(self, iid: int) -> str:
        """The path of a mapping, "" if it is not known."""
        return "/".join(self.paths.get(part, "") for part in self.mappings.get(iid, ()))


@dataclass(slots=True)
class SequenceState:
    """Incremental state of a packet sequence, valid until a packet changes it.

    generation: changes when a packet clears the state or reports lost packets. extra, extra_double:
    the uuids of the counters whose values events have by default.
    """

    sequence: int
    is_valid: bool
    tables: dict[str, InternedTable]
    generation: int
    callstacks: CallstackTables = field(default_factory=CallstackTables)
    track: int | None = None
    clock: int = 0
    extra: tuple[int, ...] = ()
    extra_double: tuple[int, ...] = ()


class Sequences:
    """The states of all packet sequences, and the current one of each."""

    def __init__(self, texts: TextTable, problem: Problem) -> None:
        self.states: list[SequenceState] = []
        self._texts = texts
        self._problem = problem
        self._current: dict[int, int] = {}

    def _cleared(self, sequence: int, is_valid: bool) -> int:
        tables = {name: InternedTable() for name in (*TABLES, GPU_NAMES)}
        return self._new(SequenceState(sequence, is_valid, tables, len(self.states)))

    def _new(self, state: SequenceState) -> int:
        self.states.append(state)
        self._current[state.sequence] = len(self.states) - 1
        return len(self.states) - 1

    def current(self, sequence: int) -> int:
        """The number of a sequence's current state."""
        generation = self._current.get(sequence)
        if generation is None:
            generation = self._cleared(sequence, False)
        return generation

    def change(self, sequence: int, *, cleared: bool, dropped: bool, defaults: bytes | None) -> int:
        """The state after a packet that clears state, reports lost packets, or sets defaults."""
        if cleared or dropped:
            self._cleared(sequence, cleared)
        number = self.current(sequence)
        if defaults is not None:
            packet_defaults = parsed(pb.TracePacketDefaults, defaults, self._problem)
            if packet_defaults is not None:
                old = self.states[number]
                event_defaults = packet_defaults.track_event_defaults
                track = event_defaults.track_uuid if event_defaults.HasField("track_uuid") else None
                number = self._new(
                    replace(
                        old,
                        track=track,
                        clock=packet_defaults.timestamp_clock_id,
                        extra=tuple(event_defaults.extra_counter_track_uuids),
                        extra_double=tuple(event_defaults.extra_double_counter_track_uuids),
                    )
                )
        return number

    def intern(self, state: int, data: bytes) -> None:
        """Add the strings of one packet."""
        interned = parsed(pb.InternedData, data, self._problem)
        if interned is None:
            return
        tables = self.states[state].tables
        if (
            interned.callstacks
            or interned.frames
            or interned.function_names
            or interned.mapping_paths
        ):
            self.states[state].callstacks.add(interned)
        for specification in interned.gpu_specifications:
            if specification.iid:
                code = self._texts.code(specification.name)
                tables[GPU_NAMES].add(specification.iid, code)
        for name in TABLES:
            table = tables[name]
            is_name = name in ("event_names", "event_categories", "debug_annotation_names")
            for entry in getattr(interned, name):
                text = entry.name if is_name else entry.str
                if entry.iid:
                    table.add(entry.iid, self._texts.code(text))


def parsed(message: Any, data: bytes, problem: Problem) -> Any:
    """Parse a message; None if it is damaged, which is reported.

    It is damaged, too, if it has nothing that is known. Newer versions may add tables of strings
    and defaults, so of these it must have no new field, either.
    """
    try:
        parsed_message = message.FromString(data)
        if parsed_message.ListFields() or not data:
            return parsed_message
        highest = max(field.number for field in message.DESCRIPTOR.fields)
        if message in (pb.InternedData, pb.TracePacketDefaults) and _greatest(data) > highest:
            return parsed_message
    except Exception:  # DecodeError of whichever protobuf runtime; UTF-8 faults of some
        pass
    problem(f"damaged {message.DESCRIPTOR.name}: left out", 1, "")
    return None


def _greatest(data: bytes) -> int:
    """The greatest field number of a message that can be parsed."""
    greatest = position = 0
    while position < len(data):
        tag, width = varint_at(data, position)
        wire, greatest = tag & 7, max(greatest, tag >> 3)
        position += width
        value, width = 0, 8 if wire == FIXED64 else 4
        if wire in (VARINT, LENGTH_DELIMITED):
            value, width = varint_at(data, position)
        elif wire not in (FIXED64, FIXED32):
            break  # a group, which no message of a trace has
        position += width + (value if wire == LENGTH_DELIMITED else 0)
    return greatest


# -- clocks --------------------------------------------------------------------------------------


# The latest time of a clock in ns, 146 years. Adding a shift of 2**62 to it fits int64, even if
# rounding floats made it look smaller by 512 ns for each of 2**31 steps.
LATEST = 2**62 - 2**40


@dataclass(slots=True)
class ClockSnapshots:
    """Snapshots of clocks. A clock is (sequence, id); sequence 0 for clocks that all share."""

    snapshots: list[dict[tuple[int, int], int]] = field(default_factory=list)
    primary: int = BOOTTIME
    incremental: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    multiplier: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, sequence: int, data: bytes, problem: Problem) -> None:
        """Add one snapshot."""
        snapshot = parsed(pb.ClockSnapshot, data, problem)
        if snapshot is None:
            return
        if snapshot.primary_trace_clock:
            self.primary = snapshot.primary_trace_clock
        times = {}
        for clock in snapshot.clocks:
            name = clock_name(sequence, clock.clock_id)
            unit = clock.unit_multiplier_ns or 1
            if clock.unit_multiplier_ns:
                self.multiplier[name] = unit
            times[name] = clock.timestamp * unit
            if clock.is_incremental:
                self.incremental[name] = (times[name], unit)
        self.snapshots.append(times)

    def converted(self, clock: tuple[int, int], times: Ints) -> Ints | None:
        """Convert times to the clock of the trace; None if no snapshots relate the clocks."""
        if clock == LEGACY_CLOCK:
            monotonic = self.converted((0, _MONOTONIC), times)
            return times if monotonic is None else monotonic
        goal = (0, self.primary)
        if clock == goal or clock == (0, 0):
            return times
        path = self._path(clock, goal)
        if path is None:
            return None
        for clock_before, other in pairwise(path):
            both = sorted(
                (s[clock_before], s[other])
                for s in self.snapshots
                if clock_before in s and other in s
            )
            clock_times = np.array([a for a, _ in both], object)
            base = np.array([min(max(int(a), -(2**62)), 2**62) for a in clock_times], np.int64)
            shift = np.array([min(max(b - a, -(2**62)), 2**62) for a, b in both], np.int64)
            which = np.maximum(np.searchsorted(base, times, side="right") - 1, 0)
            times = times + shift[which]
        return times

    def zeros(self) -> tuple[ClockZero, ...]:
        """What system clocks show at 0 of the trace's clock, by the first snapshot with both."""
        goal, clock_zeros = (0, self.primary), []
        for number, name in _SYSTEM_CLOCKS.items():
            clock = (0, number)
            both = [s[clock] - s[goal] for s in self.snapshots if clock in s and goal in s]
            if not both:
                continue
            source, drift = "clock snapshot", max(both) - min(both)
            if drift > _USUAL_DRIFT:  # the device slept, or its time was set
                text = plain_spaces(format_time(drift))
                source = f"first of the clock snapshots, which differ by {text}"
            # Both count the same seconds, so snapshots differ by how long one takes.
            error = drift if name == STEADY else 0
            clock_zeros.append(ClockZero(name, both[0], source, error))
        return tuple(clock_zeros)

    def _path(self, clock: tuple[int, int], goal: tuple[int, int]) -> list[tuple[int, int]] | None:
        """The shortest path between two clocks that share snapshots."""
        related: dict[tuple[int, int], set[tuple[int, int]]] = {}
        for names in {frozenset(s) for s in self.snapshots}:
            for name in names:
                related.setdefault(name, set()).update(names)
        paths = {clock: [clock]}
        todo = [clock]
        for here in todo:
            for other in sorted(related.get(here, ())):
                if other not in paths:
                    paths[other] = [*paths[here], other]
                    todo.append(other)
        return paths.get(goal)


def sum_times(steps: Ints, base: int, unit: int) -> Ints:
    """Sum up the steps of an incremental clock from a base, in ns; unit: the ns of one step.

    Stops before the first time that is beyond `LATEST`: those after it are unknown.
    """
    reached = float(base) + np.cumsum(steps.astype(np.float64)) * float(unit)
    fits = np.logical_and.accumulate((steps >= 0) & (reached <= float(LATEST)))
    steps_in_range = steps[fits]
    if not len(steps_in_range) or not steps_in_range.any():
        return np.full(len(steps_in_range), min(base, LATEST), np.int64)
    times: Ints = np.int64(base) + np.cumsum(steps_in_range) * np.int64(unit)
    return times


def clock_name(sequence: int, clock: int) -> tuple[int, int]:
    """The key of a clock: ids 64 to 127 belong to a sequence."""
    return (sequence if 64 <= clock < 128 else 0, clock)
