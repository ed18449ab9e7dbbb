"""Samples of stacks: `perf_sample`, which Perfetto's data source linux.perf writes.

A sample has a thread, a CPU and an interned callstack, whose frames are interned, too: outermost
first, each with a function, or without symbols with an address in a mapping. The time of the packet
is that of the sample; it stands for the time to the next one of its thread. Each sampled thread has
a track of its own. Layouts: protos/perfetto/trace/profiling/profile_packet.proto and
profile_common.proto.
"""

from __future__ import annotations

import os

import numpy as np

from viewer.arrays import Ints, flags_at, groups_of
from viewer.codecs.protobuf.fields import VARINT, Field
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import Recording
from viewer.formats.perfetto.sequences import CallstackTables
from viewer.formats.samples.stacks import Frame, SampledSlices, StackTree, until_the_next
from viewer.model.building.builder import TraceBuilder

_PID, _TID, _CALLSTACK, _SKIPPED = 2, 3, 4, 18
_TAGS = range(8, 1 << 8)
_NO_STACK = "samples whose callstack is missing: left out"
_SKIPPED_KIND = "samples without a callstack, which the recorder skipped: left out"
_OTHER_CLOCK = "samples on a clock that no snapshot relates: times are not converted"


class PerfSamples:
    """The samples so far."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._parts: list[tuple[Ints, ...]] = []
        self._tree = StackTree()
        self._frames: dict[Frame, int] = {}
        self._known: dict[tuple[int, int], int] = {}  # stack by table and number
        self.count = 0
        self.bytes = 0

    def add(self, block: PaddedBytes, spans: Field, times: Ints, clock: Ints, state: Ints) -> None:
        """Add samples; times, clock and state are those of their packets."""
        n = len(spans)
        self.bytes += int((spans.end - spans.at).sum())
        fields = block.fields(spans.at, spans.end, _TAGS)
        stack = last(fields, _CALLSTACK, n).view(np.int64)
        is_skipped = flags_at(n, fields.get(_SKIPPED, VARINT).owner)
        self._recording.problem(_SKIPPED_KIND, int((is_skipped & (stack == 0)).sum()))
        keep = np.flatnonzero(~is_skipped | (stack != 0))
        node = np.array(
            [
                self._node(*key)
                for key in zip(state[keep].tolist(), stack[keep].tolist(), strict=True)
            ],
            np.int64,
        )
        self._recording.problem(_NO_STACK, int((node < 0).sum()))
        pid, tid = (last(fields, number, n).view(np.int64)[keep] for number in (_PID, _TID))
        self._parts.append((times[keep], clock[keep], pid, tid, node))
        self.count += len(keep)

    def _node(self, state: int, iid: int) -> int:
        """The stack with a number in the tables of a state, -1 if a part of it is missing."""
        tables = self._recording.sequences.states[state].callstacks
        key = id(tables), iid
        # What is missing may still come.
        if self._known.get(key, -1) < 0:
            frames = self._frames_of(tables, iid)
            self._known[key] = -1 if frames is None else self._tree.stack(frames)
        return self._known[key]

    def _frames_of(self, tables: CallstackTables, iid: int) -> tuple[int, ...] | None:
        frames = list[int]()
        for number in tables.callstacks.get(iid, ()):
            interned_frame = tables.frames.get(number)
            if interned_frame is None:
                return None
            mapping = os.path.basename(tables.mapping_of(interned_frame.mapping_id))
            name = tables.functions.get(interned_frame.function_name_id, "")
            name = name or f"{mapping or 'unknown'}+{interned_frame.rel_pc:#x}"
            frame = Frame(
                name,
                tables.sources.get(interned_frame.source_path_iid, ""),
                interned_frame.line_number,
            )
            frames.append(self._frames.setdefault(frame, len(self._frames)))
        return tuple(frames) or None

    def add_slices(self, builder: TraceBuilder, row: int) -> None:
        """Add the slices of all samples; row: the source row of the first sample."""
        if not self.count:
            return
        time, clock, pid, tid, node = (np.concatenate(c) for c in zip(*self._parts, strict=True))
        builder.problem(_OTHER_CLOCK, len(self._recording.to_trace_clock(time, clock)))
        processes = self._recording.tracks.processes
        which, lives = processes.lives(tid, time, pid)
        tree = self._tree
        slices = SampledSlices(builder, list(self._frames), tree.parent, tree.frame)
        in_order = np.argsort(time, kind="stable")
        for number, places in groups_of(which[in_order]):
            rows = in_order[places]
            process, thread = processes.place(lives[number])
            stop, is_apart = until_the_next(time[rows])
            slices.add(
                builder.track(process, f"{thread} · samples"), node[rows], time[rows], stop,
                is_apart=is_apart, source_row=(row + rows).astype(np.uint32),
            )  # fmt: skip
