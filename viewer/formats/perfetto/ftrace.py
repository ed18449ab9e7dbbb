"""Reads ftrace events of Android and Linux traces: prints, the scheduler, the clocks of CPUs.

A packet has a bundle of events of one CPU (`FtraceEventBundle`): each with a time and a thread, or
packed lists of them (`compact_sched`). Times are on the clock of the trace unless the bundle names
another. Layouts: ftrace_event_bundle.proto, ftrace_event.proto, sched.proto and power.proto of
protos/perfetto/trace/ftrace.

From a switch on, a CPU runs a thread until its next switch. The idle thread (0) is a gap. A thread
is in the state that the switch states from the moment it stops until it runs again; a wakeup makes
it runnable. Threads before their first switch, and whatever has no end, are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Codes, Ints, groups_of
from viewer.codecs.protobuf.fields import (
    LENGTH_DELIMITED,
    VARINT,
    Field,
    Fields,
    MessageLayouts,
    Wanted,
)
from viewer.codecs.protobuf.reader import PaddedBytes, signed
from viewer.dataclasses import dataclass, field, replace
from viewer.formats.perfetto.annotations import codes_of
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import Recording
from viewer.model.trace import Column
from viewer.model.trace_attributes import Counter, stated_counter

# Field numbers of FtraceEventBundle, FtraceEvent and its events.
_CPU, _EVENT, _COMPACT, _CLOCK = 1, 2, 4, 5
_TIME, _TID, _PRINT, _SWITCH = 1, 2, 3, 4
_WAKEUPS = (20, 17, 114)  # sched_waking, sched_wakeup, sched_wakeup_new
_FREQUENCY, _KHZ, _OF_CPU = 11, 1, 2
_TEXT = 2
_PREV_STATE, _NEXT_COMM, _NEXT_TID = 4, 5, 6
_PREV_TID, _WOKEN = 2, 2
_SWITCH_TIMES, _SWITCH_STATES, _SWITCH_TIDS, _SWITCH_NAMES, _NAMES = 1, 2, 3, 6, 5
_WAKING_TIMES, _WAKING_TIDS = 7, 8
_BUNDLE_TAGS = frozenset(
    (_CPU << 3, _EVENT << 3 | LENGTH_DELIMITED, _COMPACT << 3 | LENGTH_DELIMITED, _CLOCK << 3)
)
_EVENT_TAGS = frozenset(
    (_TIME << 3, _TID << 3,
     *(number << 3 | LENGTH_DELIMITED for number in (_PRINT, _SWITCH, _FREQUENCY, *_WAKEUPS)))
)  # fmt: skip
_ALL = range(8, 128)
_MONO_RAW, _BUILTIN_RAW = 4, 5
_DAMAGED = "damaged FtraceEventBundle: left out"
_NOT_SHOWN = "ftrace events other than prints, switches, wakeups and CPU clocks: not shown"
_OTHER_CLOCKS = {1: "an unknown clock", 2: "the global clock", 3: "the local clock"}


@dataclass(frozen=True, slots=True)
class SystemSlices:
    """Slices that a file implies: (process, thread) of each track, and parallel arrays.

    name: codes of texts. levels: None if the times determine the depth. flat: see TraceBuilder.
    """

    places: list[tuple[str, str]]
    track: Codes
    start: Ints
    end: Ints
    name: Ints
    levels: NDArray[np.int32] | None = None
    flat: bool = False
    columns: dict[str, Column] = field(default_factory=dict)
    timing: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.start)


class _Rows:
    """Columns that grow block by block."""

    def __init__(self, *names: str) -> None:
        self._parts: dict[str, list[Ints]] = {name: [] for name in names}
        self.count = 0

    def add(self, **columns: Any) -> None:
        """Add rows; all columns have the same length."""
        for name, values in columns.items():
            self._parts[name].append(np.asarray(values, np.int64))
        self.count += len(self._parts[next(iter(columns))][-1])

    def __getitem__(self, name: str) -> Ints:
        parts = self._parts[name]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)


class FtraceEvents:
    """The events of all bundles so far.

    prints: time, tid, text. switches: time, cpu, tid and name (a text code, -1 for none) of the
    thread that runs from then on, tid and state of the one that stops (tid -1: the last one on that
    CPU). wakeups: time, tid. frequencies: time, cpu, and the kHz of its clock from then on.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._texts = recording.texts
        self._layouts = MessageLayouts(Wanted(_EVENT_TAGS))
        self.prints = _Rows("time", "tid", "text")
        self.switches = _Rows("time", "cpu", "tid", "name", "prev_tid", "prev_state")
        self.wakeups = _Rows("time", "tid")
        self.frequencies = _Rows("time", "cpu", "khz")
        self.bytes = 0

    @property
    def count(self) -> int:
        """The number of events that are used."""
        rows = self.prints, self.switches, self.wakeups, self.frequencies
        return sum(each.count for each in rows)

    def add(self, block: PaddedBytes, spans: Field, first: str) -> None:
        """Add the bundles at some positions of a block. first: the place of the first one."""
        n = len(spans)
        self.bytes += int((spans.end - spans.at).sum())
        bundles = block.fields(spans.at, spans.end, _BUNDLE_TAGS)
        cpu = last(bundles, _CPU, n).view(np.int64)
        strange = np.ones(n, np.bool_)  # each bundle of a recorder has a CPU
        strange[bundles.get(_CPU, VARINT).owner] = False
        strange[bundles.get(_EVENT, LENGTH_DELIMITED).owner] = False
        self._recording.problem(_DAMAGED, int((strange & (spans.value > 0)).sum()), first)
        self._recording.problem(_DAMAGED, len(bundles.damaged), first)
        shift_of = self._clocks(bundles, n, first)
        compact = bundles.get(_COMPACT, LENGTH_DELIMITED)
        for owner, begin, end in zip(
            compact.owner.tolist(), compact.at.tolist(), compact.end.tolist(), strict=True
        ):
            self._add_compact(block, int(begin), int(end), int(cpu[owner]), int(shift_of[owner]))
        events = bundles.get(_EVENT, LENGTH_DELIMITED)
        m = len(events)
        if not m:
            return
        fields = block.fields_alike(events.at, events.end, self._layouts)
        time = self._converted(last(fields, _TIME, m).view(np.int64), shift_of[events.owner])
        tid = last(fields, _TID, m).view(np.int64)
        used = self._add_prints(block, fields, time, tid)
        used += self._add_switches(block, fields, time, cpu[events.owner])
        used += self._add_wakeups(block, fields, time)
        used += self._add_frequencies(block, fields, time)
        self._recording.problem(_NOT_SHOWN, max(m - used, 0), first)

    def _clocks(self, bundles: Fields, n: int, first: str) -> Ints:
        """The clock of each bundle's times: 0 for that of the trace, else an id of a clock."""
        stated = last(bundles, _CLOCK, n).view(np.int64)
        for number, name in _OTHER_CLOCKS.items():
            count = int((stated == number).sum())
            self._recording.problem(
                f"ftrace events on {name}: times are not converted", count, first
            )
        return np.where(stated == _MONO_RAW, _BUILTIN_RAW, 0)

    def _converted(self, time: Ints, clock: Ints) -> Ints:
        rows = np.flatnonzero(clock)
        if len(rows):
            converted = self._recording.clocks.converted((0, _BUILTIN_RAW), time[rows])
            if converted is None:
                self._recording.problem(
                    "ftrace events on a clock that no snapshot relates: times are not converted",
                    len(rows),
                    "",
                )
            else:
                time = time.copy()
                time[rows] = converted
        return time

    def _add_prints(self, block: PaddedBytes, fields: Fields, time: Ints, tid: Ints) -> int:
        prints = fields.get(_PRINT, LENGTH_DELIMITED)
        if not len(prints):
            return 0
        texts = block.fields(prints.at, prints.end, _ALL).get(_TEXT, LENGTH_DELIMITED)
        event_rows = prints.owner[texts.owner]
        self.prints.add(
            time=time[event_rows], tid=tid[event_rows], text=codes_of(block, texts, self._texts)
        )
        return len(prints)

    def _add_switches(self, block: PaddedBytes, fields: Fields, time: Ints, cpu: Ints) -> int:
        switches = fields.get(_SWITCH, LENGTH_DELIMITED)
        n = len(switches)
        if not n:
            return 0
        inner = block.fields(switches.at, switches.end, _ALL)
        name = np.full(n, -1)
        comm = inner.get(_NEXT_COMM, LENGTH_DELIMITED)
        name[comm.owner] = codes_of(block, comm, self._texts)
        self.switches.add(
            time=time[switches.owner],
            cpu=cpu[switches.owner],
            tid=last(inner, _NEXT_TID, n).view(np.int64),
            name=name,
            prev_tid=last(inner, _PREV_TID, n).view(np.int64),
            prev_state=last(inner, _PREV_STATE, n).view(np.int64),
        )
        return n

    def _add_wakeups(self, block: PaddedBytes, fields: Fields, time: Ints) -> int:
        used = 0
        for number in _WAKEUPS:
            wakeups = fields.get(number, LENGTH_DELIMITED)
            n = len(wakeups)
            if n:
                inner = block.fields(wakeups.at, wakeups.end, _ALL)
                tid = last(inner, _WOKEN, n).view(np.int64)
                self.wakeups.add(time=time[wakeups.owner], tid=tid)
                used += n
        return used

    def _add_frequencies(self, block: PaddedBytes, fields: Fields, time: Ints) -> int:
        changes = fields.get(_FREQUENCY, LENGTH_DELIMITED)
        n = len(changes)
        if n:
            inner = block.fields(changes.at, changes.end, _ALL)
            khz, cpu = (last(inner, number, n).view(np.int64) for number in (_KHZ, _OF_CPU))
            self.frequencies.add(time=time[changes.owner], cpu=cpu, khz=khz)
        return n

    def _add_compact(self, block: PaddedBytes, begin: int, end: int, cpu: int, clock: int) -> None:
        """Add the packed lists of one bundle. Times are differences."""
        bundle = np.array([begin]), np.array([end])
        inner = block.fields(*bundle, _ALL)
        names = codes_of(block, inner.get(_NAMES, LENGTH_DELIMITED), self._texts)
        times, states, tids, index, waking, woken = (
            self._packed(block, inner, number)
            for number in (_SWITCH_TIMES, _SWITCH_STATES, _SWITCH_TIDS, _SWITCH_NAMES,
                           _WAKING_TIMES, _WAKING_TIDS)
        )  # fmt: skip
        n = min(map(len, (times, states, tids, index)))
        m = min(map(len, (waking, woken)))
        lost = max(map(len, (times, states, tids, index))) - n + max(map(len, (waking, woken))) - m
        self._recording.problem("packed ftrace lists of unequal length: cut", lost, "")
        if n:
            has_name = (index[:n] >= 0) & (index[:n] < len(names))
            name = np.where(has_name, np.append(names, -1)[np.where(has_name, index[:n], -1)], -1)
            clocks = np.full(n, clock)
            self.switches.add(
                time=self._converted(np.cumsum(times[:n]), clocks),
                cpu=np.full(n, cpu),
                tid=tids[:n],
                name=name,
                prev_tid=np.full(n, -1),
                prev_state=states[:n],
            )
        if m:
            clocks = np.full(m, clock)
            self.wakeups.add(time=self._converted(np.cumsum(waking[:m]), clocks), tid=woken[:m])

    @staticmethod
    def _packed(block: PaddedBytes, inner: Fields, number: int) -> Ints:
        """The numbers of a list, packed or not."""
        plain = signed(inner.get(number, VARINT).value)
        spans = inner.get(number, LENGTH_DELIMITED)
        lists = [
            packed_varints(block.data[a:b])
            for a, b in zip(spans.at.tolist(), spans.end.tolist(), strict=True)
        ]
        return np.concatenate([plain, *lists]) if lists else plain


def packed_varints(data: NDArray[np.uint8]) -> Ints:
    """The varints of a packed list; one that is not finished at the end is left out."""
    ends = np.flatnonzero(data < 0x80)
    if not len(ends):
        return np.empty(0, np.int64)
    starts = np.append(0, ends[:-1] + 1)
    whole = data[: int(ends[-1]) + 1]
    place = np.arange(len(whole)) - np.repeat(starts, ends - starts + 1)
    bits = np.where(place < 10, whole & 0x7F, 0).astype(np.uint64)
    shifted = bits << (np.minimum(place, 9) * 7).astype(np.uint64)
    return signed(np.add.reduceat(shifted, starts))


CPUS = "CPUs"
# The states of `prev_state` that are one bit, by that bit; 0 is runnable.
_RUNNING, _RUNNABLE, _PREEMPTED = "Running", "Runnable", "Runnable (preempted)"
_BITS = ("Sleeping", "Uninterruptible sleep", "Stopped", "Traced", "Dead", "Zombie")
_STATES = (_RUNNING, _RUNNABLE, _PREEMPTED, *_BITS, "Other state")
_FIRST_BIT, _OTHER = 3, len(_STATES) - 1
_RUNS, _STOPS, _WAKES = range(3)
_NO_END = "last thread on each CPU, whose end is not in the trace: left out"


def sched_slices(recording: Recording, events: FtraceEvents) -> list[SystemSlices]:
    """The slices of CPUs, and the states of threads."""
    if not events.switches.count:
        return []
    names = ("time", "cpu", "tid", "name", "prev_tid", "prev_state")
    time, cpu, tid, name, prev_tid, state = (events.switches[column] for column in names)
    order = np.lexsort((time, cpu))
    time, cpu, tid, name, prev_tid, state = (
        column[order] for column in (time, cpu, tid, name, prev_tid, state)
    )
    is_last = np.append(cpu[1:] != cpu[:-1], True)
    before = np.where(np.append(True, is_last[:-1]), -1, np.append(-1, tid[:-1]))
    prev_tid = np.where(prev_tid < 0, before, prev_tid)
    end = np.append(time[1:], 0)
    recording.problem(_NO_END, int((is_last & (tid != 0)).sum()), "")
    processes = recording.tracks.processes
    texts = recording.texts.all()
    for thread, first in _first_names(tid, name):
        processes.names_of_threads.setdefault(thread, texts[first])
    running = np.flatnonzero(~is_last & (tid != 0))
    cpus, track = np.unique(cpu[running], return_inverse=True)
    which, lives = processes.lives(tid[running], time[running])
    code = np.array([recording.texts.code(processes.label_of_thread(life)) for life in lives])
    parts = [
        SystemSlices(
            [(CPUS, f"CPU {number}") for number in cpus.tolist()],
            track.astype(np.uint32),
            time[running],
            end[running],
            code[which] if len(code) else np.empty(0, np.int64),
            flat=True,
        ),
        _states(recording, events, time, tid, prev_tid, state),
    ]
    return [part for part in parts if len(part)]


def cpu_clocks(events: FtraceEvents) -> list[Counter]:
    """The clock of each CPU, in MHz, from its first change on."""
    rows = events.frequencies
    return [
        replace(
            stated_counter(
                CPUS, f"CPU {cpu} clock", rows["time"][which], rows["khz"][which] / 1000
            ),
            unit="MHz",
        )
        for cpu, which in groups_of(rows["cpu"])
    ]


def _first_names(tid: Ints, name: Ints) -> list[tuple[int, int]]:
    """The first name that switches state for each thread."""
    rows = np.flatnonzero((name >= 0) & (tid != 0))
    tids, first = np.unique(tid[rows], return_index=True)
    return list(zip(tids.tolist(), name[rows][first].tolist(), strict=True))


def _states(
    recording: Recording, events: FtraceEvents, time: Ints, tid: Ints, prev_tid: Ints, state: Ints
) -> SystemSlices:
    """What each thread does from one of its events to the next."""
    runs, stops = np.flatnonzero(tid > 0), np.flatnonzero(prev_tid > 0)
    processes, waking = recording.tracks.processes, events.wakeups
    when = np.concatenate([time[runs], time[stops], waking["time"]])
    who = np.concatenate([tid[runs], prev_tid[stops], waking["tid"]])
    sort = np.repeat([_RUNS, _STOPS, _WAKES], [len(runs), len(stops), waking.count])
    what = np.concatenate(
        [np.zeros(len(runs), np.int64), _state_codes(state[stops]), np.ones(waking.count, np.int64)]
    )
    of_threads = np.flatnonzero(who > 0)
    who, when, sort, what = who[of_threads], when[of_threads], sort[of_threads], what[of_threads]
    who, lives = processes.lives(who, when)
    # A thread stops, is woken and runs, in this order, if all is at one time.
    rank = np.array([2, 0, 1])[sort]
    order = np.lexsort((rank, when, who))
    when, who, sort, what = when[order], who[order], sort[order], what[order]
    for _ in range(2):  # a wakeup counts once, and only while the thread sleeps
        same = np.append(False, who[1:] == who[:-1])
        is_asleep = same & (np.append(_RUNS, sort[:-1]) == _STOPS)
        is_asleep &= np.append(0, what[:-1]) > 2
        keep = (sort != _WAKES) | is_asleep | ~same
        when, who, sort, what = when[keep], who[keep], sort[keep], what[keep]
    has_next = np.append(who[1:] == who[:-1], False)
    rows = np.flatnonzero(has_next)
    numbers, track = np.unique(who[rows], return_inverse=True)
    places = []
    for number in numbers.tolist():
        process, thread = processes.place(lives[number])
        places.append((process, f"{thread} · state"))
    codes = np.array([recording.texts.code(text) for text in _STATES])
    return SystemSlices(
        places, track.astype(np.uint32), when[rows], when[rows + 1], codes[what[rows]], flat=True
    )


def _state_codes(state: Ints) -> Ints:
    """The place in `_STATES` of values of `prev_state`."""
    codes = np.full(len(state), _OTHER)
    low = state & 0x3F
    for bit in range(len(_BITS)):
        codes[low == 1 << bit] = _FIRST_BIT + bit
    is_runnable = (state & 0xFF) == 0
    codes[is_runnable] = 1
    codes[is_runnable & ((state & 0x700) != 0)] = 2
    return codes
