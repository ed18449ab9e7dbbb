"""Writes slices on the threads of processes so that Perfetto shows every duration unchanged.

Torq's own writer puts every slice on its thread in the order of the rows; if two slices of a thread
overlap, trace_processor then ends the wrong one. Here a thread keeps the slices that nest properly,
overlapping slices go to additional tracks below it ("SLICE 0 (overlapping)"), each in bracket
order, and an END has no name that could match another slice. Times are ns; if one is negative,
which a Perfetto timestamp cannot be, all are relative to the earliest instead.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Codes, Ints
from viewer.codecs.atomic_file import replacing
from viewer.codecs.protobuf.writer import (
    VARINT,
    Blobs,
    Joined,
    Literal,
    Message,
    Picked,
    Piece,
    Varints,
    assemble,
    tag,
    varint,
)
from viewer.dataclasses import dataclass
from viewer.dataclasses import field as made
from viewer.export.perfetto.packets import (
    PACKET,
    SEQUENCE_ID,
    TIME,
    TRACK_EVENT,
    TRACK_UUID,
    BracketOrder,
    clean,
    field,
    framed,
)
from viewer.model.building.nesting import Placed, place_by_time, place_flat

TYPE_SLICE_BEGIN = int(pb.TrackEvent.TYPE_SLICE_BEGIN)
TYPE_SLICE_END = int(pb.TrackEvent.TYPE_SLICE_END)

_SLICES_AT_ONCE = 100_000
_CATEGORY, _NAME = 22, 23  # field numbers of TrackEvent
_BEGIN = tag(9, VARINT) + varint(TYPE_SLICE_BEGIN)
_END = tag(9, VARINT) + varint(TYPE_SLICE_END)
_TRACK = tag(TRACK_UUID, VARINT)

Names = Callable[[Ints], Piece]


@dataclass(slots=True)
class TimeChartLog:
    """One slice of a thread.

    Attributes:
        process: The name of its process.
        thread: The name of its thread.
        function: What ran.
        start_time: In ns.
        end_time: In ns, not before the start.
        category: Perfetto's category, "" for none.
    """

    process: str
    thread: str
    function: str
    start_time: int
    end_time: int
    category: str = ""


@dataclass(frozen=True, slots=True)
class ChartColumns:
    """Many slices of one process: parallel arrays.

    thread: index into `threads`. start, end: int64 ns. names(index): the UTF-8 names of some
    slices. flat: slices of parallel units, never nested whatever their times.
    """

    process: str
    threads: Sequence[str]
    thread: Ints
    start: Ints
    end: Ints
    names: Names
    flat: bool = True
    category: str = ""


@dataclass(slots=True)
class _Logs:
    """Single logs of one process and category, in order of arrival."""

    threads: dict[str, int] = made(default_factory=dict)
    thread: list[int] = made(default_factory=list)
    start: list[int] = made(default_factory=list)
    end: list[int] = made(default_factory=list)
    name: list[bytes] = made(default_factory=list)


class TimeChartView:
    """A Perfetto trace under construction, written to `filename` by `flush`.

    As a context manager, it flushes at the end of the block unless an exception occurred.

    Source:
        The class of the same name in Torq's perfetto_logger.py.
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        """Create an empty trace.

        Args:
            filename: The file to write.
        """
        self._filename = filename
        self._processes: dict[str, dict[str, None]] = {}
        self._columns: list[ChartColumns] = []
        self._logs: dict[tuple[str, str], _Logs] = {}
        self._open: dict[tuple[str, str, str, str], list[int]] = {}

    def __enter__(self) -> TimeChartView:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.flush()

    def add_process_descriptor(self, process_name: str) -> None:
        """Show a process even without slices; the order of calls is preserved.

        Args:
            process_name: Its name.
        """
        self._processes.setdefault(process_name, {})

    def add_thread_descriptor(self, process_name: str, thread_name: str) -> None:
        """Show a thread of a process even without slices.

        Args:
            process_name: The name of the process.
            thread_name: The name of the thread.
        """
        self._processes.setdefault(process_name, {}).setdefault(thread_name)

    def render(self, log: TimeChartLog) -> None:
        """Add one slice, and its process and thread if they are new.

        Args:
            log: The slice; times in ns.

        Raises:
            ValueError: If it ends before it starts, or exceeds 63 bits.
            TypeError: If a time is not a whole number, as from the original.
        """
        start, end = operator.index(log.start_time), operator.index(log.end_time)
        if not -(2**63) <= start <= end < 2**63:
            raise ValueError(f"{log.function}: not a span of time: {start}–{end}")
        self.add_thread_descriptor(log.process, log.thread)
        logs = self._logs.setdefault((log.process, log.category), _Logs())
        logs.thread.append(logs.threads.setdefault(log.thread, len(logs.threads)))
        logs.start.append(start)
        logs.end.append(end)
        logs.name.append(clean(log.function).encode())

    def render_columns(self, columns: ChartColumns) -> None:
        """Add many slices at once.

        Args:
            columns: Parallel arrays, which must not change before `flush`.
        """
        self.add_process_descriptor(columns.process)
        for thread in columns.threads:
            self.add_thread_descriptor(columns.process, thread)
        self._columns.append(columns)

    def set_track_event(self, time: int, event_type: int, event: TimeChartLog) -> None:
        """Start or end the slice of a log.

        An END ends the latest open slice with the same process, thread, function and category.

        Args:
            time: In ns.
            event_type: TYPE_SLICE_BEGIN or TYPE_SLICE_END.
            event: The slice; its own times are ignored.

        Raises:
            ValueError: If no slice is open that it could end, and for other types.
        """
        same = (event.process, event.thread, event.function, event.category)
        if event_type == TYPE_SLICE_BEGIN:
            self.add_thread_descriptor(event.process, event.thread)
            self._open.setdefault(same, []).append(time)
        elif event_type == TYPE_SLICE_END:
            starts = self._open.get(same)
            if not starts:
                raise ValueError(f"{event.function}: ended on {event.thread} without a begin")
            process, thread, function, category = same
            self.render(TimeChartLog(process, thread, function, starts.pop(), time, category))
        else:
            raise ValueError(f"not a begin or end of a slice: type {event_type}")

    def flush(self) -> int:
        """Write everything rendered so far, completely or not at all.

        Returns:
            The number of slices.

        Raises:
            OSError: If the file cannot be written.
            ValueError: If a slice has started but not ended.
        """
        unended = [same for same, starts in self._open.items() if starts]
        if unended:
            process, thread, function, _ = unended[0]
            raise ValueError(f"{function}: begun on {process} > {thread} and not ended")
        charts = [*self._columns, *(_columns(*key, logs) for key, logs in self._logs.items())]
        origin = min((int(c.start.min()) for c in charts if len(c.start)), default=0)
        origin = min(origin, 0)
        tracks = _Tracks(self._processes)
        laid = [(chart, _Layout(chart, tracks)) for chart in charts]
        with replacing(self._filename) as file:
            for descriptor in tracks.descriptors():
                file.write(framed(pb.TracePacket(track_descriptor=descriptor)))
            for chart, layout in laid:
                for first in range(0, len(chart.start), _SLICES_AT_ONCE):
                    last = min(first + _SLICES_AT_ONCE, len(chart.start))
                    file.write(layout.encoded(chart, first, last, origin))
        return sum(len(chart.start) for chart in charts)


def _columns(process: str, category: str, logs: _Logs) -> ChartColumns:
    names = Blobs(logs.name)
    return ChartColumns(
        process,
        tuple(logs.threads),
        np.array(logs.thread, np.int64),
        np.array(logs.start, np.int64),
        np.array(logs.end, np.int64),
        lambda rows: Picked(names, rows),
        flat=False,
        category=category,
    )


class _Tracks:
    """The uuid of every process, and of every lane of every thread."""

    def __init__(self, processes: dict[str, dict[str, None]]) -> None:
        self._processes = processes
        self._lanes: dict[tuple[str, str], list[int]] = {}
        self._ids: dict[str, int] = {}
        self._taken: dict[tuple[str, str], int] = {}
        self._next = 1
        for process, threads in processes.items():
            self._ids[process] = self._uuid()
            for thread in threads:
                self._lanes[process, thread] = [self._uuid()]

    def _uuid(self) -> int:
        self._next += 1
        return self._next - 1

    def lanes(self, process: str, thread: str, count: int) -> list[int]:
        """Return the uuids of the next `count` unused lanes of a thread."""
        lanes = self._lanes[process, thread]
        taken = self._taken.setdefault((process, thread), 0)
        self._taken[process, thread] = taken + count
        while len(lanes) < taken + count:
            lanes.append(self._uuid())
        return lanes[taken : taken + count]

    def descriptors(self) -> list[Any]:
        """Return the descriptors of each process, its threads and their additional lanes.

        A process has the ID of its first thread, otherwise trace_processor would create a main
        thread.
        """
        descriptors = []
        for process, threads in self._processes.items():
            lane_lists = [self._lanes[process, thread] for thread in threads]
            pid = lane_lists[0][0] if lane_lists else self._ids[process]
            descriptors.append(
                pb.TrackDescriptor(
                    uuid=self._ids[process],
                    process=pb.ProcessDescriptor(pid=pid, process_name=clean(process)),
                    child_ordering=pb.TrackDescriptor.LEXICOGRAPHIC,
                )
            )
            for thread, (first, *more) in zip(threads, lane_lists, strict=True):
                name = clean(thread)
                descriptors.append(
                    pb.TrackDescriptor(
                        uuid=first,
                        thread=pb.ThreadDescriptor(pid=pid, tid=first, thread_name=name),
                    )
                )
                for lane in more:
                    descriptors.append(
                        pb.TrackDescriptor(
                            uuid=lane,
                            parent_uuid=first,
                            name=f"{name} (overlapping)",
                            sibling_merge_behavior=(
                                pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
                            ),
                            sibling_merge_key_int=first,
                        )
                    )
        return descriptors


class _Layout:
    """The order of one chart's slices in the file, and the lane of each."""

    def __init__(self, chart: ChartColumns, tracks: _Tracks) -> None:
        n = len(chart.start)
        place = place_flat if chart.flat else place_by_time
        order = np.lexsort((chart.end, chart.start, chart.thread))
        lane, depth = np.zeros(n, np.int64), np.zeros(n, np.int64)
        start, end, thread = chart.start[order], chart.end[order], chart.thread[order]
        bounds = np.searchsorted(thread, np.arange(len(chart.threads) + 1))
        # On most threads, no slices overlap; only the other threads need a layout.
        meets = (start[1:] < end[:-1]) & (thread[1:] == thread[:-1])
        crowded = np.unique(thread[1:][meets])
        count = np.ones(len(chart.threads), np.int64)
        for number in crowded.tolist():
            span = slice(int(bounds[number]), int(bounds[number + 1]))
            placed: Placed = place(start[span], end[span])
            order[span] = order[span][placed.index]
            lane[span], depth[span] = placed.lane, placed.depth
            count[number] = int(placed.lane.max()) + 1
        uuids = [
            uuid
            for thread_name, lanes in zip(chart.threads, count.tolist(), strict=True)
            for uuid in tracks.lanes(chart.process, thread_name, lanes)
        ]
        first_lane = np.cumsum(count) - count
        self._order: Codes = order.astype(np.uint32)
        self._brackets = BracketOrder(depth)
        self._lane = np.empty(n, np.int64)  # by slice, not by position in the order
        self._lane[order] = first_lane[thread] + lane
        category = clean(chart.category).encode()
        if category:
            category = field(_CATEGORY, category)
        self._begin = Blobs([_BEGIN + _TRACK + varint(uuid) + category for uuid in uuids])
        self._end = Blobs(
            [SEQUENCE_ID + field(TRACK_EVENT, _END + _TRACK + varint(uuid)) for uuid in uuids]
        )

    def encoded(self, chart: ChartColumns, first: int, last: int, origin: int) -> bytes:
        """Return the packets of slices first .. last-1 in file order, and their ENDs."""
        begin_at, end_at, owner = self._brackets.part(first, last)
        rows = self._order[first:last].astype(np.int64)
        ended = self._order[owner].astype(np.int64)
        begin = Joined(
            Varints(chart.start[rows] - origin, lambda size: TIME),
            Literal(SEQUENCE_ID, len(rows)),
            Message(
                TRACK_EVENT,
                Joined(Picked(self._begin, self._lane[rows]), Message(_NAME, chart.names(rows))),
            ),
        )
        end = Joined(
            Varints(chart.end[ended] - origin, lambda size: TIME),
            Picked(self._end, self._lane[ended]),
        )
        return assemble([(begin_at, Message(PACKET, begin)), (end_at, Message(PACKET, end))])
