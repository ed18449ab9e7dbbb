"""The described tracks of a Perfetto file, with their names, their processes, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Ints, groups_of
from viewer.codecs.protobuf.fields import Words
from viewer.dataclasses import dataclass
from viewer.formats.perfetto.processes import Process, Processes, Thread
from viewer.formats.perfetto.sequences import Problem, as_text, parsed

_MADE = 2**64 - 2**33  # uuids below this are those of tracks that the file implies
# by CounterDescriptor.BuiltinCounterType
BUILTIN_COUNTERS = {1: "thread_time", 2: "thread_instruction_count"}
_LATEST_US = 1 << 51
MOST_ABOVE = 64  # number of ancestors that contribute to a track's name
_ROOT = 0  # the uuid of what is above all tracks


@dataclass(slots=True)
class Described:
    """One described track: its names, its parent, and the process or thread that it is.

    waits: for a thread whose parent is not described yet, its pid, tid and name. ordering, rank,
    sort_index: the order of its children, its place among its siblings, and that of older files.
    is_made: the file only implies the track.
    """

    uuid: int
    name: str = ""
    parent: int = 0
    process: Process | None = None
    thread: Thread | None = None
    waits: tuple[int, int, str] | None = None
    counter: Any = None
    merge_key: str = ""
    stays_alone: bool = False
    note: str = ""
    ordering: int = 0
    rank: int = 0
    sort_index: int = 0
    is_made: bool = False


class Tracks:
    """The described tracks, and names of processes and threads from any packet.

    process_ordering, thread_ordering: whether processes and threads are in order of their ranks.
    """

    def __init__(self, problem: Problem) -> None:
        self.processes = Processes()
        self.by_uuid: dict[int, Described] = {}
        self._of_sequence: dict[int, list[tuple[int, int]]] = {}
        self.process_ordering = self.thread_ordering = False
        self._made_processes: dict[int, int] = {}
        self._waiting: dict[int, list[Described]] = {}
        self._made = 0
        self._problem = problem

    # -- statements, in file order ---------------------------------------------------------------

    def describe(self, sequence: int, data: bytes) -> None:
        """Add one TrackDescriptor; the first name of a track stays."""
        stated = parsed(pb.TrackDescriptor, data, self._problem)
        if stated is None:
            return
        track = self.by_uuid.setdefault(stated.uuid, Described(stated.uuid))
        track.name = track.name or as_text(stated.name or stated.static_name or stated.atrace_name)
        track.parent = track.parent or stated.parent_uuid
        track.note = track.note or as_text(stated.description)
        track.ordering = track.ordering or stated.child_ordering
        track.rank = track.rank or stated.sibling_order_rank
        if stated.HasField("thread"):
            self._describe_thread(track, stated.thread)
            self._now_of(sequence, stated.uuid)
        elif stated.HasField("process"):
            self._describe_process(track, stated.process)
        if stated.HasField("counter"):
            track.counter = stated.counter
            track.name = track.name or BUILTIN_COUNTERS.get(stated.counter.type, "")
        behavior = pb.TrackDescriptor
        if stated.sibling_merge_behavior == behavior.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY:
            track.merge_key = as_text(stated.sibling_merge_key) or str(stated.sibling_merge_key_int)
        track.stays_alone = stated.sibling_merge_behavior == behavior.SIBLING_MERGE_BEHAVIOR_NONE
        if stated.uuid == _ROOT:
            explicit = behavior.PROCESS_ORDERING_EXPLICIT, behavior.THREAD_ORDERING_EXPLICIT
            self.process_ordering |= stated.process_ordering == explicit[0]
            self.thread_ordering |= stated.thread_ordering == explicit[1]

    def _describe_process(self, track: Described, stated: Any) -> None:
        if track.process is None:
            track.process = self.processes.described_process(track.uuid, stated.pid)
        track.process.name = track.process.name or _name_of(stated)
        track.sort_index = track.sort_index or stated.legacy_sort_index
        for thread in self._waiting.pop(track.uuid, ()):
            self._resolve(thread)

    def _describe_thread(self, track: Described, stated: Any) -> None:
        track.sort_index = track.sort_index or stated.legacy_sort_index
        name = as_text(stated.thread_name)
        if track.thread is not None:
            track.thread.name = track.thread.name or name
            return
        if track.waits is not None:
            name = track.waits[2] or name
        track.waits = stated.pid, stated.tid, name
        if track.parent and track.parent not in self.by_uuid:
            self._waiting.setdefault(track.parent, []).append(track)
        else:
            self._resolve(track)

    def _resolve(self, track: Described) -> None:
        """Find the thread of a track: in the process above it, else in the last one of its pid."""
        if track.waits is None:
            return
        (pid, tid, name), track.waits = track.waits, None
        above = self.by_uuid.get(track.parent)
        process = above.process if above is not None and above.thread is None else None
        if process is None or process.pid != pid:
            process = self.processes.process(pid)
        track.thread = self.processes.described_thread(track.uuid, process, tid)
        track.thread.name = track.thread.name or name
        track.process = process

    def thread_of_sequence(self, sequence: int, data: bytes) -> tuple[int, int, int] | None:
        """Add a legacy ThreadDescriptor: the track of a sequence that names none.

        Returns what its events are relative to: time and thread time in ns, and instructions.
        """
        stated = parsed(pb.ThreadDescriptor, data, self._problem)
        if stated is None:
            return None
        process = self.processes.process(stated.pid)
        thread = self.processes.thread(process, stated.tid)
        thread.name = thread.name or as_text(stated.thread_name)
        uuid = 2**64 - 1 - sequence
        described = self.by_uuid.get(uuid)
        if described is not None and described.thread is not thread:
            uuid = self._new_uuid()
        self.by_uuid[uuid] = Described(
            uuid, process=process, thread=thread, sort_index=stated.legacy_sort_index
        )
        self._now_of(sequence, uuid)
        most = _LATEST_US
        time, thread_time = stated.reference_timestamp_us, stated.reference_thread_time_us
        instructions = stated.reference_thread_instruction_count
        if max(map(abs, (time, thread_time, instructions))) > most:
            return None
        return time * 1000, thread_time * 1000, instructions

    def _now_of(self, sequence: int, uuid: int) -> None:
        """Note the thread that a sequence is of, from the packet that is read."""
        uuids = self._of_sequence.setdefault(sequence, [])
        if not uuids or uuids[-1][1] != uuid:
            uuids.append((self.processes.packet, uuid))

    def threads_of_sequences(self, sequences: Words, packets: Ints) -> Words:
        """The track of the thread that a sequence is of at each packet, 0 if none is stated."""
        uuids = np.zeros(len(sequences), np.uint64)
        for sequence, rows in groups_of(sequences):
            if stated := self._of_sequence.get(sequence):
                since, of = zip(*stated, strict=True)
                place = np.searchsorted(since, packets[rows], side="right") - 1
                uuids[rows] = np.array(of, np.uint64)[np.maximum(place, 0)]
        return uuids

    def numbers_of_processes(self, uuids: Words) -> Ints:
        """The number of the process of each track, -1 for none."""
        distinct, which = np.unique(uuids, return_inverse=True)
        processes = [self.process_of(uuid) for uuid in distinct.tolist()]
        numbers = np.array([-1 if of is None else of.number for of in processes], np.int64)
        return numbers[which.reshape(-1)]

    def process_of_sequence(self, data: bytes) -> None:
        """Add a legacy ProcessDescriptor."""
        stated = parsed(pb.ProcessDescriptor, data, self._problem)
        if stated is not None:
            process = self.processes.process(stated.pid)
            process.name = process.name or _name_of(stated)

    def process_tree(self, data: bytes) -> None:
        """Add the names of processes and threads from a tracing service."""
        stated = parsed(pb.ProcessTree, data, self._problem)
        if stated is None:
            return
        for process in stated.processes:
            name = as_text(process.cmdline[0]) if process.cmdline else ""
            described = self.processes.process_in_tree(
                process.pid, process.ppid, process.process_start_from_boot, name
            )
            described.user = described.user or process.uid
            self.processes.thread_in_tree(described, process.pid)
        for thread in stated.threads:
            of = self.processes.thread_in_tree(self.processes.process(thread.tgid), thread.tid)
            of.name = of.name or as_text(thread.name)

    def packages_list(self, data: bytes) -> None:
        """Add the names of Android's packages by their users."""
        stated = parsed(pb.PackagesList, data, self._problem)
        for package in stated.packages if stated is not None else ():
            self.processes.packages.setdefault(package.uid, as_text(package.name))

    # -- tracks that the file implies ------------------------------------------------------------

    def below(self, name: str, parent: int) -> Described:
        """Describe a track below another one."""
        uuid = self._new_uuid()
        track = self.by_uuid[uuid] = Described(uuid, name, parent, is_made=True)
        return track

    def below_process(self, name: str, process: Process | None) -> int:
        """Describe a track of a process, or of none, and return its uuid."""
        if process is None:
            return self.below(name, 0).uuid
        if process.number not in self._made_processes:
            uuid = self._made_processes[process.number] = self._new_uuid()
            self.by_uuid[uuid] = Described(uuid, process=process, is_made=True)
        return self.below(name, self._made_processes[process.number]).uuid

    def made_thread(self, process: Process, tid: int) -> int:
        """Describe the last thread of a process with a tid and return the uuid of the track."""
        uuid = self._new_uuid()
        thread = self.processes.thread(process, tid)
        self.by_uuid[uuid] = Described(uuid, process=process, thread=thread, is_made=True)
        return uuid

    def _new_uuid(self) -> int:
        self._made += 1
        return _MADE - self._made

    # -- what tracks are of ----------------------------------------------------------------------

    def process_of(self, uuid: int) -> Process | None:
        """The process of a track, None if it has none."""
        return next((t.process for t in self.above(uuid) if t.process is not None), None)

    def above(self, uuid: int) -> list[Described]:
        """A track and those above it."""
        chain: list[Described] = []
        seen: set[int] = set()
        here: Described | None = self.by_uuid.get(uuid)
        while here is not None and here.uuid not in seen and len(chain) < MOST_ABOVE:
            self._resolve(here)
            seen.add(here.uuid)
            chain.append(here)
            here = self.by_uuid.get(here.parent) if here.parent else None
        return chain

    def names(self, uuids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Process and thread names of some tracks. Different threads never share a name."""
        owners: dict[tuple[str, str], object] = {}
        places = {}
        for uuid in uuids:
            process, thread, identity = self._place(uuid)
            number = 2
            name = thread
            while owners.setdefault((process, name), identity) != identity:
                tid = identity.tid if isinstance(identity, Thread) else 0
                name = f"{thread} {tid}" if number == 2 and tid else f"{thread} #{number}"
                number += 1
            places[uuid] = process, name
        return places

    def place_of_counter(self, counter: Described) -> tuple[str, str]:
        """The process and name of a counter, including its thread if it has one."""
        process, path, _ = self._place(counter.uuid)
        return process, path

    def _place(self, uuid: int) -> tuple[str, str, object]:
        """Process, thread, and an identity that distinguishes it from others of the same name."""
        chain = self.above(uuid)
        if not chain:
            return "Trace", "events without a track" if not uuid else f"track {uuid}", uuid
        track = chain[0]
        if track.thread is not None:
            process = self.processes.label(track.thread.process)
            return process, _thread_name(track.thread), track.thread
        top = next((k for k, t in enumerate(chain) if t.process is not None), None)
        if top is None:
            path = [t.name or f"track {t.uuid}" for t in reversed(chain)]
            process, path = (path[0], path[1:]) if len(path) > 1 else ("Trace", path)
            return process, " › ".join(path), track.uuid if track.stays_alone else None
        anchor = chain[top]
        assert anchor.process is not None
        process = self.processes.label(anchor.process)
        path = [t.name or f"track {t.uuid}" for t in reversed(chain[:top])]
        if anchor.thread is not None:
            name = _thread_name(anchor.thread)
            if track.merge_key and track.name == f"{name} (overlapping)":
                return process, name, anchor.thread  # one of its lanes
            path.insert(0, name)
        if not path:
            path = [anchor.process.name or "process events"]
        return process, " › ".join(path), track.uuid if track.stays_alone else None


def _thread_name(thread: Thread) -> str:
    return thread.name or f"thread {thread.tid}"


def _name_of(stated: Any) -> str:
    return as_text(stated.process_name or (stated.cmdline[0] if stated.cmdline else ""))


_EXPLICIT = pb.TrackDescriptor.EXPLICIT
_CHRONOLOGICAL = pb.TrackDescriptor.CHRONOLOGICAL
_ROOT_NODE = "root", 0
# The parts of a tree: ("track", uuid), or ("process", number) for a process with all its tracks.
_Node = tuple[str, int]
_PROCESS, _THREAD, _PLAIN, _OTHER = range(4)


def tracks_in_order(
    tracks: Tracks, uuids: Sequence[int], first_times: Mapping[int, int], *, is_ranked: bool
) -> list[int]:
    """Tracks in the order that the file states; what is below a track follows it.

    Siblings that are plain tracks are in the order that their parent asks for (`child_ordering`):
    by `sibling_order_rank`, by name (also if it asks for none, as in the Perfetto UI), or by the
    time of their first event, where a track without events is first. Processes and threads are by
    rank if the root says so (`process_ordering`, `thread_ordering`), else by the sort index of
    older files, else, and among equals, in the order of the descriptors.

    uuids: in the order of their descriptors. first_times: of the first event of each track that has
    any. is_ranked: what does not state an order of its children ranks them.
    """
    tree = _Tree(tracks, first_times, is_ranked=is_ranked)
    for place, uuid in enumerate(uuids):
        tree.add(uuid, place)
    return tree.in_order()


class _Tree:
    """The tracks and those above them."""

    def __init__(self, tracks: Tracks, first_times: Mapping[int, int], *, is_ranked: bool) -> None:
        self._tracks, self._first_times, self._is_ranked = tracks, first_times, is_ranked
        self._children: dict[_Node, list[_Node]] = {_ROOT_NODE: []}
        self._place: dict[_Node, int] = {}  # of the first track in it
        self._tracks_of: dict[_Node, list[int]] = {}
        self._process_tracks: dict[_Node, Described] = {}
        for track in tracks.by_uuid.values():
            if track.process is not None and track.thread is None and not track.is_made:
                self._process_tracks.setdefault(("process", track.process.number), track)

    def add(self, uuid: int, place: int) -> None:
        """Add a track with its place among all."""
        path = self._path(uuid)
        self._tracks_of.setdefault(path[0], []).append(uuid)
        for node, parent in zip(path, [*path[1:], _ROOT_NODE], strict=True):
            if node in self._place:
                break
            self._place[node] = place
            self._children.setdefault(parent, []).append(node)

    def _path(self, uuid: int) -> list[_Node]:
        """A track and what is above it, innermost first."""
        path: list[_Node] = []
        for track in self._tracks.above(uuid):
            if track.thread is not None:
                return [*path, ("track", track.uuid), ("process", track.thread.process.number)]
            if track.process is not None:
                return [*path, ("process", track.process.number)]
            path.append(("track", track.uuid))
        return path or [("track", uuid)]

    def in_order(self) -> list[int]:
        """All tracks that were added."""
        order: list[int] = []
        todo = self._sorted(_ROOT_NODE)[::-1]
        while todo:
            node = todo.pop()
            order += self._tracks_of.get(node, ())
            todo += self._sorted(node)[::-1]
        return order

    def _sorted(self, parent: _Node) -> list[_Node]:
        """The children of a node. Each kind of them keeps the places that it has among all."""
        children = sorted(self._children.get(parent, ()), key=self._place.__getitem__)
        kinds = [self._kind(node) for node in children]
        for kind in set(kinds) - {_OTHER}:
            places = [i for i, of in enumerate(kinds) if of == kind]
            members = [children[i] for i in places]
            for i, node in zip(places, self._siblings(parent, kind, members), strict=True):
                children[i] = node
        return children

    def _siblings(self, parent: _Node, kind: int, members: list[_Node]) -> list[_Node]:
        """Sort children of one kind; equal ones stay in order."""
        if kind != _PLAIN:
            is_stated = (
                self._tracks.process_ordering if kind == _PROCESS else self._tracks.thread_ordering
            )
            of = {node: self._described(node) for node in members}
            return sorted(
                members,
                key=lambda node: (
                    (track.rank if is_stated else 0, track.sort_index)
                    if (track := of[node])
                    else (0, 0)
                ),
            )
        above = self._tracks.by_uuid.get(0) if parent == _ROOT_NODE else self._described(parent)
        ordering = above.ordering if above else 0
        if ordering == _EXPLICIT or (self._is_ranked and not ordering):
            return sorted(members, key=lambda node: self._plain(node).rank)
        if ordering == _CHRONOLOGICAL:
            return sorted(members, key=lambda node: self._first_times.get(node[1], -(2**63)))
        return sorted(members, key=lambda node: self._plain(node).name)

    def _kind(self, node: _Node) -> int:
        if node[0] == "process":
            return _PROCESS
        track = self._described(node)
        if track is None or track.is_made:
            return _OTHER
        return _PLAIN if track.thread is None else _THREAD

    def _described(self, node: _Node) -> Described | None:
        if node[0] == "process":
            return self._process_tracks.get(node)
        return self._tracks.by_uuid.get(node[1])

    def _plain(self, node: _Node) -> Described:
        return self._tracks.by_uuid[node[1]]
