"""Reads flows, and what only legacy events have: async slices, scopes, and flow events.

Nestable async events (b, e, n) with the same id and category are on one track, older ones (S, T, p,
F) with the same id and name. An id is valid in its process if it is local, and belongs to its
`id_scope`. If there are more than a hundred such tracks, those of one name share one. An end with a
name ends the innermost begin with that name. Flow events (s, t, f) with the same id, category and
name belong to the innermost slice on their track at their time, or to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at, joined, rows_of
from viewer.codecs.protobuf.fields import FIXED64, LENGTH_DELIMITED, VARINT, Field, Fields, Words
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.dataclasses import dataclass
from viewer.formats.event_pairs import BEGIN, COMPLETE, END, POINT, FlowEvents, slices_at
from viewer.formats.perfetto.annotations import codes_of
from viewer.formats.perfetto.counters import EventPlaces
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import Recording
from viewer.formats.text_rows import combined_codes
from viewer.model.trace import Flows, Slices

# Field numbers of TrackEvent, and whether the flow ends there.
_FIELDS = ((36, VARINT, False), (47, FIXED64, False), (42, VARINT, True), (48, FIXED64, True))


class FlowIds:
    """Collects the flow ids of events, legacy or not.

    An id connects each of its events to the next one in time. A terminating event ends the flow;
    later events with that id start a new one. Each edge of an id without a direction leads from the
    slice that starts first.
    """

    def __init__(self) -> None:
        self._events: list[Ints] = []
        self._ids: list[Ints] = []
        # whether it gives, takes and closes the flow, and states a direction
        self._does: list[Bools] = []

    def add(self, fields: Fields, event: Ints) -> None:
        """Add the ids of some events; event: the number of each, -1 if it is left out."""
        for number, wire, ends in _FIELDS:
            field = fields.get(number, wire)
            if len(field):
                does = np.array([not ends, True, ends, False])
                self._put(event[field.owner], field.value, np.tile(does, (len(field), 1)))

    def add_bound(self, event: Ints, ids: Words, gives: Bools, takes: Bools) -> None:
        """Add events with a `bind_id`."""
        no, yes = np.zeros(len(ids), np.bool_), np.ones(len(ids), np.bool_)
        self._put(event, ids, np.stack([gives, takes, no, yes], axis=1))

    def _put(self, event: Ints, ids: Words, does: Bools) -> None:
        self._events.append(event)
        self._ids.append(ids.view(np.int64))
        self._does.append(does)

    def times(self, time: Ints) -> Ints:
        """The times of the events, given those of all."""
        if not self._events:
            return np.empty(0, np.int64)
        event = np.concatenate(self._events)
        return np.where(event >= 0, time[event], 0) if len(time) else np.zeros(len(event), np.int64)

    def edges(self, slice_of: Ints, start: Ints, times: Ints) -> tuple[tuple[Ints, Ints], int]:
        """Producers and consumers in order of the ids, and the number of unconnected events.

        slice_of: the slice of every event, -1 if none. start: the start of every slice. times: see
        the method.
        """
        none: Ints = np.empty(0, np.int64)
        if not self._events or not len(slice_of):
            return (none, none), sum(map(len, self._events))
        event, ids = np.concatenate(self._events), np.concatenate(self._ids)
        does = np.concatenate(self._does)
        # If an event ends a flow and starts another with the same id, the end comes first.
        order = np.lexsort((~does[:, 2], event))
        event, ids, does, times = event[order], ids[order], does[order], times[order]
        slice_index = np.where(event >= 0, slice_of[event], -1).astype(np.int64)
        _, flow = np.unique(ids.view(np.uint64), return_inverse=True)
        giver, taker, lone = FlowEvents(slice_index, times, flow.reshape(-1), *does.T[:3]).edges()
        producer, consumer = slice_index[giver], slice_index[taker]
        turned = ~does[taker, 3] & (start[producer] > start[consumer])
        return (
            np.where(turned, consumer, producer),
            np.where(turned, producer, consumer),
        ), len(lone)


# Field numbers of LegacyEvent.
_PHASE, _ID, _SCOPE, _BIND_ID = 2, 6, 7, 8
_LOCAL_ID, _GLOBAL_ID, _ENCLOSING, _DIRECTION, _INSTANT_SCOPE = 10, 11, 12, 13, 14
_IN, _OUT, _INOUT = 1, 2, 3
_GLOBAL, _PROCESS = 1, 2
_MOST_ASYNC_TRACKS = 100
PROCESS_INSTANTS, GLOBAL_INSTANTS = "process instants", "global instants"
_NO_FLOW_ID = "flow events without an id: left out"
_NO_DIRECTION = "bind_id without a direction: not shown as a flow"
_NO_ID = "async events without an id: left out"
FLOW = 6
ASYNC, FLOWS, _OLD_ASYNC = "bneSTpF", "stf", "STpF"
KINDS = np.zeros(256, np.uint8)
for _phase, _kind in (
    *((each, BEGIN) for each in "BbS"),
    *((each, END) for each in "EeF"),
    *((each, POINT) for each in "IiRnTp"),
    *((each, FLOW) for each in "stf"),
    ("X", COMPLETE),
):
    KINDS[ord(_phase)] = _kind
_PHASES = NDArray[np.uint8]


def is_of(phase: _PHASES, phases: str) -> Bools:
    """Which phases are among some letters."""
    return np.isin(phase, np.frombuffer(phases.encode(), np.uint8))


@dataclass(frozen=True, slots=True)
class LegacyKinds:
    """What legacy events are: parallel columns.

    kind: see `KINDS`, 0 for those that cannot be shown. phase: a letter. has_id: whether they have
    an id of any kind.
    """

    kind: NDArray[np.uint8]
    phase: _PHASES
    has_id: Bools


def kinds_of(inner: Fields, count: int) -> LegacyKinds:
    """What each legacy event is; inner: their fields."""
    phase = np.minimum(last(inner, _PHASE, count), np.uint64(255)).astype(np.uint8)
    kind, has_id = KINDS[phase], np.zeros(count, np.bool_)
    for number in (_LOCAL_ID, _GLOBAL_ID, _ID):
        has_id[inner.get(number, VARINT).owner] = True
    kind[is_of(phase, ASYNC) & ~has_id] = 0
    return LegacyKinds(kind, phase, has_id)


@dataclass(frozen=True, slots=True)
class _Identities:
    """What events are matched by: parallel columns of int64.

    id: the number. is_local: whether it is one of a process. scope, category, name: text codes, -1
    if none. track: of the event.
    """

    id: Ints
    is_local: Ints
    scope: Ints
    category: Ints
    name: Ints
    track: Ints


@dataclass(frozen=True, slots=True)
class _Phased:
    """Async events or flow events, in file order.

    event: their numbers, for flow events their order in the file. time, clock: of flow events.
    is_enclosing: whether an f belongs to the slice around it.
    """

    event: Ints
    phase: _PHASES
    identity: _Identities
    time: Ints
    clock: Ints
    is_enclosing: Bools


class LegacyEvents:
    """The legacy events of a file that are more than slices on their tracks.

    flat: the numbers of the tracks that many async slices share.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._async: list[_Phased] = []
        self._flows: list[_Phased] = []
        self._scoped: list[tuple[Ints, Ints]] = []
        self.flat: set[int] = set()

    # -- reading ----------------------------------------------------------------------------------

    def add(
        self,
        block: PaddedBytes,
        legacy: Field,
        inner: Fields,
        kinds: LegacyKinds,
        event: Ints,
        event_places: EventPlaces,
        track: Codes,
        name: Ints,
        category: Ints,
        flow_ids: FlowIds,
    ) -> None:
        """Add legacy events.

        legacy, inner, kinds: their positions, fields and kinds. event: the number of every event,
        -1 if it is no slice. at, track, name, category: those of every event.
        """
        problem, owner, n = self._recording.problem, legacy.owner, len(legacy)
        phase, has_id = kinds.phase, kinds.has_id
        self._bound(inner, event, owner, event_places, flow_ids)
        identity = np.zeros(n, np.int64)
        is_local = np.zeros(n, np.int64)
        # A plain id comes before a global one, and that before a local one.
        for number in (_LOCAL_ID, _GLOBAL_ID, _ID):
            field = inner.get(number, VARINT)
            identity[field.owner] = field.value.view(np.int64)
            is_local[field.owner] = number == _LOCAL_ID
        scope = np.full(n, -1)
        field = inner.get(_SCOPE, LENGTH_DELIMITED)
        if len(field):
            scope[field.owner] = codes_of(block, field, self._recording.texts)
        is_enclosing = last(inner, _ENCLOSING, n) != 0
        of = _Identities(
            identity, is_local, scope, category[owner], name[owner], track[owner].astype(np.int64)
        )
        for phases, into, lost in (
            (ASYNC, self._async, _NO_ID), (FLOWS, self._flows, _NO_FLOW_ID)
        ):  # fmt: skip
            chosen = is_of(phase, phases)
            without = owner[chosen & ~has_id]
            if len(without):
                problem(lost, len(without), f"event {int(event_places.order[without].min())}")
            rows = np.flatnonzero(chosen & has_id)
            if phases == ASYNC:
                rows = rows[event[owner[rows]] >= 0]
            if len(rows):
                places = rows_of(event_places, owner[rows])
                numbers = event[owner[rows]] if phases == ASYNC else places.order
                into.append(
                    _Phased(
                        numbers, phase[rows], rows_of(of, rows), places.times, places.clock,
                        is_enclosing[rows],
                    )
                )  # fmt: skip
        instant = last(inner, _INSTANT_SCOPE, n).astype(np.int64)
        rows = np.flatnonzero(is_of(phase, "iI") & np.isin(instant, (_GLOBAL, _PROCESS)))
        rows = rows[event[owner[rows]] >= 0]
        if len(rows):
            self._scoped.append((event[owner[rows]], instant[rows]))

    def _bound(
        self, inner: Fields, event: Ints, owner: Ints, event_places: EventPlaces, flow_ids: FlowIds
    ) -> None:
        field = inner.get(_BIND_ID, VARINT)
        if not len(field):
            return
        direction = last(inner, _DIRECTION, len(owner)).astype(np.int64)[field.owner]
        takes, gives = np.isin(direction, (_IN, _INOUT)), np.isin(direction, (_OUT, _INOUT))
        is_bound = takes | gives
        if not is_bound.all():
            first = int(event_places.order[owner[field.owner[~is_bound]]].min())
            self._recording.problem(_NO_DIRECTION, int((~is_bound).sum()), f"event {first}")
        event_rows = event[owner[field.owner]]
        flow_ids.add_bound(
            event_rows[is_bound], field.value[is_bound], gives[is_bound], takes[is_bound]
        )

    # -- tracks -----------------------------------------------------------------------------------

    def place(self, track: Codes, kind: _PHASES, name: Ints, uuids: dict[int, int]) -> Codes:
        """The track of every event, with async slices and scoped instants on tracks of their own.

        track, kind, name: those of every event; uuids: the numbers of tracks, to which it adds.
        """
        if not self._async and not self._scoped:
            return track
        track, tracks, uuid_list = track.copy(), self._recording.tracks, list(uuids)

        def made(name: str, process: int) -> int:
            of = None if process < 0 else tracks.processes.all[process]
            return uuids.setdefault(tracks.below_process(name, of), len(uuids))

        processes = self._processes(uuid_list)
        for event, scope in self._scoped:
            process = np.where(scope == _PROCESS, processes[track[event]], -1)
            for number in np.unique(process).tolist():
                name_of = GLOBAL_INSTANTS if number < 0 else PROCESS_INSTANTS
                track[event[process == number]] = made(name_of, number)
        self._scoped.clear()
        if not self._async:
            return track
        events = joined(self._async)
        event, phase, of = events.event, events.phase, events.identity
        self._async.clear()
        is_old = is_of(phase, _OLD_ASYNC)
        columns = (
            of.id, np.where(of.is_local != 0, _owner(processes, of.track), -1), of.scope,
            np.where(is_old, -1, of.category), np.where(is_old, of.name, -2),
        )  # fmt: skip
        which, first = _combinations(columns)
        texts = self._recording.texts.all()
        labels = [texts[c] if c >= 0 else "async" for c in of.name[first].tolist()]
        if len(first) <= _MOST_ASYNC_TRACKS:
            ids = of.id[first].view(np.uint64).tolist()
            labels = [f"{label} · {id:#x}" for label, id in zip(labels, ids, strict=True)]
        # A nameless end may end any begin of its id. All others are matched with their name, too.
        nameless = flags_at(len(first), which[(kind[event] == END) & (name[event] < 0)])
        apart = np.where(nameless[which], -1, name[event])
        group, pair = _combinations([which, apart])
        process_of = processes[of.track[first]].tolist()
        numbers = [made(labels[i], process_of[i]) for i in which[pair].tolist()]
        if len(first) > _MOST_ASYNC_TRACKS:
            self.flat.update(numbers)
        track[event] = np.array(numbers, np.uint32)[group]
        return track

    def _processes(self, uuids: list[int]) -> Ints:
        """The number of the process of tracks, -1 if none."""
        return self._recording.tracks.numbers_of_processes(np.array(uuids, np.uint64))

    # -- flows ------------------------------------------------------------------------------------

    def flows(
        self,
        slices: Slices,
        uuids: dict[int, int],
        track_of: Callable[[int], int],
    ) -> tuple[Flows, Ints]:
        """The flows of flow events, and the places in the file of those that lead nowhere.

        track_of: the track of the trace with a uuid, -1 if it has no slices.
        """
        if not self._flows:
            return Flows.none(), np.empty(0, np.int64)
        events = joined(self._flows)
        phase, time, of = events.phase, events.time, events.identity
        is_next = is_of(phase, "f") & ~events.is_enclosing
        self._flows.clear()
        uuid_list = list(uuids)
        used, which = np.unique(of.track, return_inverse=True)
        number = np.array([track_of(uuid_list[i]) for i in used.tolist()], np.int64)[
            which.reshape(-1)
        ]
        number[self._recording.to_trace_clock(time, events.clock)] = -1
        processes = self._processes(uuid_list)
        columns = (
            of.id, np.where(of.is_local != 0, _owner(processes, of.track), -1), of.scope,
            of.category, of.name,
        )  # fmt: skip
        flow, _ = _combinations(columns)
        row_track = np.where(number < 0, np.iinfo(np.uint32).max, number).astype(np.uint32)
        slice_index = slices_at(slices, row_track, time, is_next)
        no_end = np.zeros(len(slice_index), np.bool_)
        giver, taker, lone = FlowEvents(
            slice_index, time, flow, ~is_of(phase, "f"), ~is_of(phase, "s"), no_end
        ).edges()
        return Flows(slice_index[giver], slice_index[taker]), events.event[lone]


def _combinations(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """A number for each distinct combination, in ascending order, and the first row of each."""
    codes = (np.unique(column, return_inverse=True)[1] for column in columns)
    return combined_codes([code.reshape(-1).astype(np.uint32) for code in codes])


def _owner(processes: Ints, track: Ints) -> Ints:
    """The owner of local ids: the process of a track, or the track if it has none."""
    track_process = processes[track]
    return np.where(track_process >= 0, track_process, -2 - track)
