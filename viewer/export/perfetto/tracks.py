"""The tracks of a Perfetto file: processes with threads, and groups of plain tracks.

A process whose tracks are all NPU units has no threads: it becomes a plain track with a plain track
for each unit, in explicit order. Any other process is a Perfetto process, and each of its tracks is
a thread. `writer.py` documents IDs, ranks and lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.analysis.memory.plan import planned_counters
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.export.perfetto.counters import counter_descriptor
from viewer.export.perfetto.packets import clean
from viewer.export.perfetto.source import PerfettoSource
from viewer.model.counter import Counter
from viewer.model.times import RateOrigin
from viewer.model.trace import Unit

MARKS_TRACK, RUNS_TRACK = "Marks", "Inferences"
# Earlier exports have a track 1 of their own facts, which the reader leaves out by its name.
_FIRST_UUID = 2

_NO_UNITS = {Unit.NONE, Unit.HOST, Unit.HAL}
_EXPLICIT = pb.TrackDescriptor.EXPLICIT
_BY_KEY = pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
_ALONE = pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE


class TrackDescriptors:
    """All tracks that packets refer to, and their descriptors.

    uuids: per source the uuid of each (track, lane). counters: per source its counters with their
    uuids. runs: per source the uuids of the lanes of its RUNS_TRACK; marks: those of MARKS_TRACK.
    """

    def __init__(
        self,
        sources: Sequence[PerfettoSource],
        order: Sequence[tuple[int, int]] = (),
        run_lanes: Sequence[int] = (),
        mark_lanes: int = 0,
    ) -> None:
        """run_lanes: the number of lanes for each source's runs; mark_lanes: for bookmarks."""
        self.descriptors: list[Any] = [
            pb.TrackDescriptor(
                uuid=0,
                process_ordering=pb.TrackDescriptor.PROCESS_ORDERING_EXPLICIT,
                thread_ordering=pb.TrackDescriptor.THREAD_ORDERING_EXPLICIT,
                child_ordering=_EXPLICIT,
            )
        ]
        self.uuids: list[dict[tuple[int, int], int]] = [{} for _ in sources]
        self.counters: list[list[tuple[Counter, int]]] = [[] for _ in sources]
        self.runs: list[list[int]] = [[] for _ in sources]
        self._sources = sources
        self._next = _FIRST_UUID
        self._tid = 0
        self._groups = 0
        self._parents: dict[tuple[int, int], int] = {}  # (source, track) -> uuid of its process
        plotted = [
            (*unit_counters(source.trace), *planned_counters(source.trace, source.ran))
            if source.counters
            else ()
            for source in sources
        ]
        lanes = [_lanes(source) for source in sources]
        for number, process, members in _in_order(sources, order):
            self._place(number, process, members, lanes[number], plotted[number])
        for number, count in enumerate(run_lanes):
            if count:
                run = next(sources[number].trace.inferences())
                parent = self._parents[number, run.track]
                self.runs[number] = self._plain(RUNS_TRACK, count, parent, 0)
        self.marks = self._plain(MARKS_TRACK, mark_lanes, 0, self._groups)

    def _uuid(self) -> int:
        self._next += 1
        return self._next - 1

    def _place(
        self,
        number: int,
        process: str,
        members: Sequence[int],
        lanes: list[int],
        counters: Sequence[Counter],
    ) -> None:
        source = self._sources[number]
        parent, pid = self._uuid(), self._tid + 1
        is_unit = all(source.trace.tracks[track].unit not in _NO_UNITS for track in members)
        group = pb.TrackDescriptor(uuid=parent, sibling_order_rank=self._groups)
        self._groups += 1
        if is_unit:
            group.name, group.child_ordering = clean(process), _EXPLICIT
            group.sibling_merge_behavior = _ALONE
        else:
            group.process.pid, group.process.process_name = pid, clean(process)
        self.descriptors.append(group)
        for rank, track in enumerate(members):
            name = clean(source.tracks[track].thread)
            if is_unit:
                track_uuids = self._plain(name, lanes[track] + 1, parent, rank)
            else:
                track_uuids = self._thread(name, lanes[track] + 1, pid, rank)
            self._parents[number, track] = parent
            for lane, uuid in enumerate(track_uuids):
                self.uuids[number][track, lane] = uuid
        processes = {source.trace.tracks[track].process for track in members}
        for counter in counters:
            if counter.process in processes:
                self._place_counter(number, counter, parent, len(members))

    def _thread(self, name: str, lanes: int, pid: int, rank: int) -> list[int]:
        self._tid += 1
        thread = self._uuid()
        self.descriptors.append(
            pb.TrackDescriptor(
                uuid=thread,
                thread=pb.ThreadDescriptor(pid=pid, tid=self._tid, thread_name=name),
                sibling_order_rank=rank,
            )
        )
        further = [self._uuid() for _ in range(lanes - 1)]
        for uuid in further:
            self.descriptors.append(
                pb.TrackDescriptor(
                    uuid=uuid,
                    parent_uuid=thread,
                    name=f"{name} (overlapping)",
                    sibling_merge_behavior=_BY_KEY,
                    sibling_merge_key_int=thread,
                )
            )
        return [thread, *further]

    def _plain(self, name: str, lanes: int, parent: int, rank: int) -> list[int]:
        """Add a plain track; several lanes are siblings that the UI merges by their key."""
        uuids = [self._uuid() for _ in range(lanes)]
        for uuid in uuids:
            descriptor = pb.TrackDescriptor(uuid=uuid, name=name, sibling_order_rank=rank)
            if parent:
                descriptor.parent_uuid = parent
            descriptor.sibling_merge_behavior = _BY_KEY if lanes > 1 else _ALONE
            if lanes > 1:
                descriptor.sibling_merge_key_int = uuids[0]
            self.descriptors.append(descriptor)
        return uuids

    def _place_counter(self, number: int, counter: Counter, parent: int, tracks: int) -> None:
        assumed = self._sources[number].rate_origin is RateOrigin.ASSUMED
        placed = self.counters[number]
        placed.append((counter, self._uuid()))
        descriptor = counter_descriptor(counter, placed[-1][1], parent, assumed=assumed)
        descriptor.sibling_order_rank = tracks + len(placed)
        self.descriptors.append(descriptor)


def _lanes(source: PerfettoSource) -> list[int]:
    """Return the last lane of every track."""
    lanes = np.zeros(len(source.tracks), np.int64)
    slices = source.trace.slices
    np.maximum.at(lanes, slices.row_track.astype(np.int64), slices.row_lane.astype(np.int64))
    lane_list: list[int] = lanes.tolist()
    return lane_list


def _in_order(
    sources: Sequence[PerfettoSource], order: Sequence[tuple[int, int]]
) -> list[tuple[int, str, list[int]]]:
    """Return (source, process, its tracks) in display order."""
    every = [(n, track) for n, source in enumerate(sources) for track in range(len(source.tracks))]
    pairs = set(every)
    groups: dict[tuple[int, str], list[int]] = {}
    for number, track in dict.fromkeys((*(pair for pair in order if pair in pairs), *every)):
        process = sources[number].tracks[track].process
        groups.setdefault((number, process), []).append(track)
    return [(number, process, tracks) for (number, process), tracks in groups.items()]
