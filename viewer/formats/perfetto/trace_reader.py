"""Reads the packets of a Perfetto file into a trace; `reader.py` lists what is supported."""

from __future__ import annotations

from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Ints, flags_at
from viewer.codecs import large_arrays
from viewer.codecs.memory_budget import allowance
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT
from viewer.codecs.reading import Cancelled, Progress, UnreadableFile, stop_if
from viewer.formats.perfetto.assembly import Assembly
from viewer.formats.perfetto.atrace import Atrace
from viewer.formats.perfetto.damage import DAMAGED, may_be
from viewer.formats.perfetto.ftrace import FtraceEvents, cpu_clocks, sched_slices
from viewer.formats.perfetto.gpu_stages import GpuStages
from viewer.formats.perfetto.packets import Packets, last, packets_of
from viewer.formats.perfetto.perf_samples import PerfSamples
from viewer.formats.perfetto.recording import Recording
from viewer.formats.perfetto.sequences import LATEST, as_text, clock_name, parsed, sum_times
from viewer.formats.perfetto.track_events import TrackEvents
from viewer.model.trace import Trace

# Field numbers of TracePacket.
_FTRACE, _PACKAGES, _GPU_STAGE, _PERF_SAMPLE = 1, 47, 53, 66
(_PROCESS_TREE, _SNAPSHOT, _TIME, _SEQUENCE, _EVENT, _INTERNED, _FLAGS) = (2, 6, 8, 10, 11, 12, 13)
(_CLEARED, _DROPPED, _PROCESS, _THREAD, _CLOCK, _DEFAULTS, _TRACK) = (41, 42, 43, 44, 58, 59, 60)
_CHROME_EVENTS, _ATTRIBUTES = 5, 126
# Packets about the file, the recording or other supported data: not counted as skipped.
_SILENT = frozenset(
    (_FTRACE, _PACKAGES, _GPU_STAGE, _PERF_SAMPLE, _PROCESS_TREE, _SNAPSHOT, _EVENT, _INTERNED,
     _PROCESS, _THREAD, _DEFAULTS, _TRACK, _ATTRIBUTES, 33, 35, 36, 45, 46, 48, 50, 51, 69, 72, 89,
     90, 124)
)  # fmt: skip


_OF_PROCESSES = (_TRACK, _THREAD, _PROCESS, _PROCESS_TREE)
_MOST_NAMES = 5
# What an event takes at the peak, besides 1.4 times its bytes in the file. Measured with RSS, in
# bytes a slice, which has two events: 131 of 39 in the file without arguments, 199 of 67 with two
# columns (1 M slices), 237 of 69 with the arguments of PyTorch (500,000 slices).
_EVENT_MEMORY = 35
# The same if the columns of events and slices are in files: 43 bytes a slice of 39 in the file
# without arguments (100 M slices).
_EVENT_MEMORY_WITH_FILES = 5
_EVENT_DISK = 40  # bytes of these files
# Of an ftrace event or a GPU stage. Not measured: up to 11 columns of 8 bytes, twice.
_SYSTEM_MEMORY = 180


def read_trace(path: str, format: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Read one file. Raises UnreadableFile, ReadCancelled."""
    recording = Recording(path, format)
    reading = _Reading(recording)
    for packets in packets_of(path, progress, cancelled, recording.problem):
        reading.add(packets)
    return reading.trace(cancelled)


class _Reading:
    """Reads the packets of one file block by block."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._events = TrackEvents(recording)
        self._ftrace = FtraceEvents(recording)
        self._gpu = GpuStages(recording)
        self._samples = PerfSamples(recording)
        self._skipped: dict[int, tuple[int, str]] = {}
        self._packets = 0
        self._are_in_files = False
        self._latest = 0  # the latest time of a packet so far

    def add(self, packets: Packets) -> None:
        """Add some packets."""
        self._add(packets)
        self._packets += len(packets)
        events = self._events
        system = self._ftrace.count + self._gpu.count + self._samples.count
        expected = int(events.count / max(packets.share, 0.001))
        # Once the columns are in files, these take the space that was free before.
        self._are_in_files |= large_arrays.are_possible(expected, expected * _EVENT_DISK)
        each = _EVENT_MEMORY_WITH_FILES if self._are_in_files else _EVENT_MEMORY
        taken = events.count * each + events.bytes * 7 // 5
        of_system = self._ftrace.bytes + self._gpu.bytes + self._samples.bytes
        taken += system * _SYSTEM_MEMORY + of_system * 2
        allowance().expect(taken, packets.share, packets.read, ratio=packets.ratio)
        large_arrays.let_go()

    def _add(self, packets: Packets) -> None:
        fields, n, block = packets.fields, len(packets), packets.block
        share = max(packets.share, 0.001)
        if len(fields.damaged):
            place = packets.byte(int(fields.damaged.min()))
            self._recording.problem(DAMAGED, len(fields.damaged), place)
        for tag, field in fields.by_tag.items():
            number = tag >> 3
            if len(field) and not may_be(tag):
                place = packets.byte(int(field.owner.min()))
                self._recording.problem("fields that no packet has: left out", len(field), place)
            elif tag & 7 == LENGTH_DELIMITED and number not in _SILENT and len(field):
                place = f"packet {self._packets + int(field.owner.min())}"
                count, first = self._skipped.get(number, (0, place))
                self._skipped[number] = count + len(field), first
        sequence = last(fields, _SEQUENCE, n)
        flags = last(fields, _FLAGS, n)
        flags |= last(fields, _CLEARED, n)
        state = self._states(packets, sequence, (flags & np.uint64(1)) != 0)
        times, clock, too_late = self._incremental_times(packets, sequence, state)
        builtin_times = times[clock == 0] if clock.any() else times
        self._latest = max(self._latest, int(builtin_times.max(initial=0)))
        bundles = fields.get(_FTRACE, LENGTH_DELIMITED).sorted()
        if len(bundles):
            first = f"packet {self._packets + int(bundles.owner.min())}"
            self._ftrace.add(block, bundles, first)
        stages = fields.get(_GPU_STAGE, LENGTH_DELIMITED).sorted()
        if len(stages):
            owners = stages.owner
            self._gpu.add(block, stages, times[owners], clock[owners], state[owners])
        samples = fields.get(_PERF_SAMPLE, LENGTH_DELIMITED).sorted()
        if len(samples):
            owners = samples.owner
            self._samples.add(block, samples, times[owners], clock[owners], state[owners])
        spans = fields.get(_EVENT, LENGTH_DELIMITED).sorted()
        if not len(spans):
            return
        bad = flags_at(n, fields.damaged)
        no_sequence = sequence == 0
        if no_sequence.any():
            self._count(
                "events without a packet sequence: left out", spans.owner[no_sequence[spans.owner]]
            )
            bad |= no_sequence
        valid = np.array([s.is_valid for s in self._recording.sequences.states])
        if not valid.all():
            is_lost = ((flags & np.uint64(2)) != 0) & ~valid[state] & ~no_sequence
            self._count(
                "events that refer to lost packets: left out", spans.owner[is_lost[spans.owner]]
            )
            bad |= is_lost
        if bad.any() and (of_bad := bad[spans.owner]).any():
            spans = spans.taken(~of_bad)
        if too_late.any():
            late = too_late[spans.owner]
            self._count("events whose times do not fit 64 bits: left out", spans.owner[late])
            spans = spans.taken(~late)
        if not len(spans):
            return
        if len(spans) < n or not spans.is_single:  # else each packet is an event
            owner = spans.owner
            times, clock = times[owner], clock[owner]
            sequence, state = sequence[owner], state[owner]
        packet = self._packets + spans.owner
        self._events.add(block, spans, times, clock, sequence, state, packet, share)

    def _count(self, kind: str, packets: Ints) -> None:
        """Count packets of the current block."""
        if len(packets):
            first = f"packet {self._packets + int(packets.min())}"
            self._recording.problem(kind, len(packets), first)

    def _states(self, packets: Packets, sequence: Any, cleared: Any) -> Ints:
        """The state number of every packet; adds interned and described data."""
        fields, block = packets.fields, packets.block
        rare: list[tuple[int, int, int, int]] = []
        for number in (
            _SNAPSHOT,
            _INTERNED,
            _DEFAULTS,
            _TRACK,
            _THREAD,
            _PROCESS,
            _PROCESS_TREE,
            _PACKAGES,
            _ATTRIBUTES,
        ):
            field = fields.get(number, LENGTH_DELIMITED)
            rare += [
                (owner, -number if number == _DEFAULTS else number, start, end)
                for owner, start, end in zip(
                    field.owner.tolist(), field.at.tolist(), field.end.tolist(), strict=True
                )
            ]
        for owner in np.flatnonzero(cleared).tolist():
            rare.append((owner, -1000, 0, 0))
        dropped = fields.get(_DROPPED, VARINT)
        for owner in dropped.owner[dropped.value != 0].tolist():
            if not cleared[owner]:
                rare.append((owner, -999, 0, 0))
        state = np.empty(len(sequence), np.int64)
        is_one = bool((sequence == sequence[0]).all())
        distinct = sequence[:1] if is_one else np.unique(sequence)
        changes: dict[int, list[tuple[int, int]]] = {
            int(s): [(0, self._recording.sequences.current(int(s)))] for s in distinct.tolist()
        }
        stated = self._times_of_processes(packets)
        for owner, what, begin, end in sorted(rare):
            seq = int(sequence[owner])
            data = bytes(block.data.data[begin:end])
            self._recording.here = packets.byte(owner)
            if stated is not None and what in _OF_PROCESSES:
                self._recording.tracks.processes.reach(int(stated[owner]), self._packets + owner)
            if what in (-1000, -999, -_DEFAULTS):
                number = self._recording.sequences.change(
                    seq,
                    cleared=what == -1000,
                    dropped=what == -999,
                    defaults=data if what == -_DEFAULTS else None,
                )
                changes[seq].append((owner, number))
                if what != -_DEFAULTS:
                    self._recording.relative_times.stop(seq, self._packets + owner)
            elif what == _INTERNED:
                self._recording.sequences.intern(self._recording.sequences.current(seq), data)
            elif what == _TRACK:
                self._recording.tracks.describe(seq, data)
            elif what == _SNAPSHOT:
                self._recording.clocks.add(seq, data, self._recording.problem_here)
            elif what == _THREAD:
                reference = self._recording.tracks.thread_of_sequence(seq, data)
                if reference is not None:
                    packet = self._packets + owner
                    self._recording.relative_times.start(seq, packet, reference)
            elif what == _PROCESS:
                self._recording.tracks.process_of_sequence(data)
            elif what == _PROCESS_TREE:
                self._recording.tracks.process_tree(data)
            elif what == _PACKAGES:
                self._recording.tracks.packages_list(data)
            else:
                self._attribute(data)
        # Process the packets of each sequence together, so that many sequences cost no more than
        # one.
        order = np.arange(len(sequence)) if is_one else np.argsort(sequence, kind="stable")
        bounds = np.searchsorted(sequence[order], distinct).tolist() if not is_one else [0]
        for seq, first, end in zip(
            distinct.tolist(), bounds, [*bounds[1:], len(sequence)], strict=True
        ):
            steps = changes[int(seq)]
            if is_one and len(steps) == 1:
                state[:] = steps[0][1]
                break
            rows = order[first:end]
            if len(steps) == 1:
                state[rows] = steps[0][1]
            else:
                places = np.array([p for p, _ in steps])
                numbers = np.array([s for _, s in steps])
                state[rows] = numbers[np.searchsorted(places, rows, side="right") - 1]
        return state

    def _attribute(self, data: bytes) -> None:
        attributes = parsed(pb.TraceAttributes, data, self._recording.problem)
        for attribute in attributes.attribute if attributes is not None else ():
            value = (
                attribute.long_value if attribute.HasField("long_value") else attribute.string_value
            )
            if not isinstance(value, int):
                value = as_text(value)
            self._recording.attributes.setdefault(as_text(attribute.key), value)

    def _times_of_processes(self, packets: Packets) -> Ints | None:
        """The time of each packet on the clock of the trace, or the latest one before it.

        None if no packet of the block states a process or thread.
        """
        fields, n = packets.fields, len(packets)
        if not any(len(fields.get(number, LENGTH_DELIMITED)) for number in _OF_PROCESSES):
            return None
        times = last(fields, _TIME, n).view(np.int64)
        clock = last(fields, _CLOCK, n)
        is_timed = (clock == 0) | (clock == np.uint64(self._recording.clocks.primary))
        is_timed &= times > 0
        latest = np.maximum.accumulate(np.where(is_timed, times, self._latest))
        stated: Ints = np.where(is_timed, times, latest)
        return stated

    def _incremental_times(
        self, packets: Packets, sequence: Any, state: Ints
    ) -> tuple[Ints, Ints, Bools]:
        """Time and clock of every packet, and whether its time does not fit 64 bits.

        Times of incremental clocks are summed up, and those of clocks with another unit are in ns.
        """
        fields, n = packets.fields, len(packets)
        times = last(fields, _TIME, n)
        clock = last(fields, _CLOCK, n)
        defaults = np.array([s.clock for s in self._recording.sequences.states], np.uint64)
        if defaults.any():
            clock = np.where(clock == 0, defaults[state], clock)
        number, too_late = np.zeros(n, np.int64), np.zeros(n, np.bool_)
        out = times.view(np.int64)
        if not clock.any():
            return out, number, too_late
        clock_sequence = np.where((clock >= 64) & (clock < 128), sequence, np.uint64(0))
        pairs, which = np.unique(np.stack([clock_sequence, clock]), axis=1, return_inverse=True)
        which = which.reshape(-1)
        stated = flags_at(n, fields.get(_TIME, VARINT).owner)
        for k, (s, c) in enumerate(pairs.T.tolist()):
            name = clock_name(int(s), int(c)) if c else (0, 0)
            if (
                len(self._recording.clock_numbers) >= 250
                and name not in self._recording.clock_numbers
            ):
                name = (0, 0)
            rows = np.flatnonzero(which == k)
            number[rows] = self._recording.clock_numbers.setdefault(
                name, len(self._recording.clock_numbers)
            )
            if name in self._recording.clocks.incremental:
                base, unit = self._recording.clocks.incremental[name]
                timed_rows = rows[stated[rows]]
                summed = sum_times(out[timed_rows], base, unit)
                if len(summed):
                    out[timed_rows[: len(summed)]] = summed
                    self._recording.clocks.incremental[name] = (int(summed[-1]), unit)
                too_late[timed_rows[len(summed) :]] = True
            elif name in self._recording.clocks.multiplier:
                unit = self._recording.clocks.multiplier[name]
                fits = (out[rows] >= 0) & (out[rows] <= LATEST // unit)
                out[rows[fits]] *= np.int64(min(unit, LATEST))
                too_late[rows[~fits]] = True
        return out, number, too_late

    def trace(self, cancelled: Cancelled) -> Trace:
        """Build the trace. Raises ReadCancelled."""

        def step() -> None:
            stop_if(cancelled)

        step()
        names = {n: _packet_name(n) for n in sorted(self._skipped)}
        events = self._events
        atrace = Atrace(self._recording, self._ftrace)
        counters = [*cpu_clocks(self._ftrace), *atrace.counters()]
        system = [
            *sched_slices(self._recording, self._ftrace),
            *atrace.slices(),
            *self._gpu.slices(),
        ]
        step()
        has_events = events.count or len(events.counters) or system or counters
        has_events = has_events or self._samples.count
        is_empty = not has_events and not self._recording.is_own
        if is_empty and names:
            first_names = ", ".join(list(names.values())[:_MOST_NAMES])
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            raise UnreadableFile(
                self._recording.path,
                "it is a Perfetto trace without events that Opscope shows: it has "
                f"{first_names}{more}",
                remedy="Opscope reads track events, atrace, the scheduler, samples of stacks and "
                "stages of GPUs. Record with the data source track_event, linux.perf or "
                "linux.ftrace, or open the file in ui.perfetto.dev",
            )
        if self._recording.is_own:
            names.pop(_CHROME_EVENTS, None)  # metadata that repeats the attributes
        for number, name in names.items():
            count, first = self._skipped[number]
            self._recording.problem(f"packets of {name}: not shown", count, first)
        assembly = Assembly(self._recording, self._events, system, counters, self._samples)
        return assembly.trace(step)


def _packet_name(number: int) -> str:
    field = pb.TracePacket.DESCRIPTOR.fields_by_number.get(number)
    return field.name if field else f"field {number}"
