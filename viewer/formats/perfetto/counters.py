"""Reads the counters of a Perfetto file as step functions.

A counter event has one value. Any event may have further values, of the counters that it names or
that are the default of its sequence. An incremental counter states differences, which are summed
for each sequence in file order, from 0 after its state was cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from viewer.arrays import Bools, Codes, Floats, Ints, flags_at, groups_of, joined, rows_of
from viewer.codecs.protobuf.fields import FIXED64, VARINT, Field, Fields, Words
from viewer.dataclasses import dataclass
from viewer.formats.perfetto.recording import Recording
from viewer.formats.perfetto.sequences import Problem, SequenceState, as_text
from viewer.model.trace_attributes import Counter, stated_changes

# Field numbers of TrackEvent.
_INT, _DOUBLE = 30, 44
_EXTRA, _EXTRA_UUIDS, _EXTRA_DOUBLE, _EXTRA_DOUBLE_UUIDS = 12, 31, 46, 45
_UNITS = {0: "", 1: "ns", 2: "", 3: "B"}  # by CounterDescriptor.Unit
_THREAD_TIME = 1  # CounterDescriptor.BuiltinCounterType
_NO_VALUE = "counter values that are not numbers, or on an unknown clock: left out"
_TOO_LARGE = "counter values that become too large: left out"
_NO_TRACK = "further counter values of events without a counter: left out"


@dataclass(frozen=True, slots=True)
class EventPlaces:
    """Where and when the events of a block are: parallel columns.

    order: in the file. clock: of `Recording.clock_numbers`. state: of their packets' sequences.
    """

    order: Ints
    times: Ints
    clock: Ints
    state: Ints


@dataclass(frozen=True, slots=True)
class _Values:
    """Counter values: their tracks, places, and whether they are integers."""

    track: Codes
    at: EventPlaces
    value: Floats
    is_whole: Bools


class CounterEvents:
    """All counter values of a file."""

    def __init__(self) -> None:
        self._parts: list[_Values] = []

    def __len__(self) -> int:
        return sum(len(part.value) for part in self._parts)

    def add(self, fields: Fields, rows: Ints, event_places: EventPlaces, track: Codes) -> None:
        """Add the counter events at `rows`; a value is an int or a double."""
        n = len(event_places.times)
        value, is_whole = np.full(n, np.nan), np.zeros(n, np.bool_)
        field = fields.get(_DOUBLE, FIXED64)
        value[field.owner] = field.value.view(np.float64)
        field = fields.get(_INT, VARINT)
        value[field.owner] = field.value.view(np.int64)
        is_whole[field.owner] = True
        self._parts.append(
            _Values(track[rows], rows_of(event_places, rows), value[rows], is_whole[rows])
        )

    def add_further(
        self,
        fields: Fields,
        event_places: EventPlaces,
        states: Sequence[SequenceState],
        numbered: Callable[[Words], Codes],
        problem: Problem,
    ) -> None:
        """Add the further values of any events. numbered: gives the numbers of track uuids."""
        for number, wire, uuids, is_double in (
            (_EXTRA, VARINT, _EXTRA_UUIDS, False),
            (_EXTRA_DOUBLE, FIXED64, _EXTRA_DOUBLE_UUIDS, True),
        ):
            field = fields.get(number, wire).sorted()
            if not len(field):
                continue
            uuid, has_uuid = _uuids(
                field, fields.get(uuids, VARINT).sorted(), event_places, states, is_double
            )
            if not has_uuid.all():
                first = int(event_places.order[field.owner[np.argmin(has_uuid)]])
                problem(_NO_TRACK, int((~has_uuid).sum()), f"event {first}")
            if not has_uuid.any():
                continue
            value = field.value.view(np.float64 if is_double else np.int64).astype(np.float64)
            self.put(
                numbered(uuid[has_uuid]),
                rows_of(event_places, field.owner[has_uuid]),
                value[has_uuid],
                is_double,
            )

    def put(
        self, track: Codes, event_places: EventPlaces, value: Floats, is_double: bool = False
    ) -> None:
        """Add values of some tracks."""
        self._parts.append(_Values(track, event_places, value, np.full(len(value), not is_double)))

    def counters(self, uuids: Sequence[int], recording: Recording) -> dict[int, Counter]:
        """One counter per track described as one, by its uuid; invalid values are left out."""
        if not self._parts:
            return {}
        problem, tracks = recording.problem, recording.tracks
        every = joined(self._parts)
        value, order, time = every.value, every.at.order, every.at.times
        states = recording.sequences.states
        generation = np.array([s.generation for s in states])[every.at.state]
        self._parts.clear()
        is_number = np.isfinite(value)
        is_timed = ~flags_at(len(time), recording.to_trace_clock(time, every.at.clock))
        lost = np.flatnonzero(~(is_number & is_timed))
        if len(lost):
            problem(_NO_VALUE, len(lost), f"event {int(order[lost].min())}")
        in_order = np.argsort(order, kind="stable")
        in_order = in_order[is_number[in_order]]
        counters: dict[int, Counter] = {}
        for number, places in groups_of(every.track[in_order]):
            rows, uuid = in_order[places], uuids[number]
            described = tracks.by_uuid.get(uuid)
            if described is None or described.counter is None:
                problem(
                    "counter values on a track that is not a counter: left out",
                    len(rows),
                    f"event {int(order[rows[0]])}",
                )
                continue
            of = described.counter
            with np.errstate(over="ignore", invalid="ignore"):
                values = value[rows] * max(of.unit_multiplier, 1)
                if of.is_incremental:
                    values = _sums(values, generation[rows])
            if every.is_whole[rows].all() and np.abs(values).max() < 2.0**53:
                values = values.astype(np.int64)
            in_range = np.isfinite(values)
            problem(_TOO_LARGE, int((~in_range).sum()), described.name)
            usable = np.flatnonzero(is_timed[rows] & in_range)
            usable = usable[np.argsort(time[rows[usable]], kind="stable")]
            if not len(usable):
                continue
            ticks, steps = stated_changes(time[rows[usable]], values[usable])
            unit = as_text(of.unit_name) or _UNITS.get(of.unit, "")
            if of.type == _THREAD_TIME:
                unit = "ns"
            process, thread = tracks.place_of_counter(described)
            counters[uuid] = Counter(process, thread, unit, ticks, steps, note=described.note)
        return counters


def _uuids(
    values: Field,
    field: Field,
    event_places: EventPlaces,
    states: Sequence[SequenceState],
    is_double: bool,
) -> tuple[Words, Bools]:
    """The track uuid of each further value, and which have one.

    field: the uuids in the events; an event without any has those of its sequence.
    """
    owner = values.owner
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    count = np.bincount(field.owner, minlength=len(event_places.times))
    first = np.cumsum(count) - count
    uuid, has_uuid = np.zeros(len(owner), np.uint64), place < count[owner]
    uuid[has_uuid] = field.value[(first[owner] + place)[has_uuid]]
    by_default = np.flatnonzero(count[owner] == 0)
    of = event_places.state[owner[by_default]]
    for number in np.unique(of).tolist():
        state = states[number]
        default = np.array(state.extra_double if is_double else state.extra, np.uint64)
        rows = by_default[of == number]
        rows = rows[place[rows] < len(default)]
        uuid[rows], has_uuid[rows] = default[place[rows]], True
    return uuid, has_uuid & (uuid != 0)


def _sums(values: Floats, generation: Ints) -> Floats:
    """Sums of values in file order, each generation of a sequence on its own."""
    sums = np.empty(len(values))
    for _, rows in groups_of(generation):
        sums[rows] = np.cumsum(values[rows])
    return sums
