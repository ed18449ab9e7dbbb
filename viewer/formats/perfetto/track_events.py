"""Reads the track events of a Perfetto file into columns, in file order."""

from __future__ import annotations

from typing import Any

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints, flags_at, numbers_at, rows_of
from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT, Field, Fields, MessageLayouts
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.formats.event_pairs import BEGIN, COMPLETE, END, POINT
from viewer.formats.perfetto.annotations import EVENT, Annotations, codes_of, interned
from viewer.formats.perfetto.argument_columns import INT, TEXT
from viewer.formats.perfetto.counters import CounterEvents, EventPlaces
from viewer.formats.perfetto.legacy_events import (
    ASYNC,
    FLOW,
    FlowIds,
    LegacyEvents,
    LegacyKinds,
    kinds_of,
)
from viewer.formats.perfetto.opscope_exports import RUN_CATEGORY, UNITS, about_flows
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import INSTRUCTIONS, THREAD_TIME, TIME, Recording
from viewer.formats.perfetto.sequences import LEGACY_CLOCK
from viewer.formats.perfetto.tracks import BUILTIN_COUNTERS
from viewer.formats.text_rows import GrowingColumn
from viewer.model.trace import Unit
from viewer.model.trace_attributes import PREFIX

_ABOUT, _ABOUT_UUID = "Opscope export", 1

# Field numbers of TrackEvent and LegacyEvent.
(_CATEGORY_IID, _ARGUMENT, _LEGACY, _TYPE, _NAME_IID, _UUID) = (3, 4, 6, 9, 10, 11)
(_ABSOLUTE, _DELTA, _CATEGORY, _NAME) = (16, 1, 22, 23)
(_CORRELATION, _CORRELATION_STR, _CORRELATION_IID) = (52, 53, 54)
(_DURATION, _OLD_NAME_IID, _PID, _TID) = (3, 1, 18, 19)
(_THREAD_TIME_DELTA, _INSTRUCTIONS_DELTA, _THREAD_TIME, _INSTRUCTIONS) = (2, 8, 17, 20)
_TAGS = range(8, 1 << 16)
# Fields that are read, of a TrackEvent and of a LegacyEvent.
_READ = frozenset(
    (*range(1, 5), 6, *range(8, 13), 16, 17, 20, 22, 23, 30, 31, 36, 42, *range(44, 49), 52, 53, 54)
)
_READ_LEGACY = frozenset((*range(1, 4), *range(6, 15), 18, 19))
# by TrackEvent.Type; the last entry is for other types
_TYPES = np.array([0, BEGIN, END, POINT, 5, 0], np.uint8)
_COUNTER = 5
_TYPE_NAMES = frozenset(pb.TrackEvent.Type.values())
_LONGEST_STEP = 2.0**51
_RELATIVE_TIMES = "events with times relative to a descriptor that is missing: left out"
_RELATIVE_THREAD_TIMES = "thread times or instructions relative to a missing descriptor: not shown"


class TrackEvents:
    """All events that start or end a slice, with their arguments, counters and flows.

    `count` events are in the columns time, track (index of `uuids`), kind, name (text code, -1 if
    none) and clock (of `Recording.clock_numbers`). complete: events that state a duration, and the
    duration. units, run_tracks: for Opscope exports, the unit of a track, and the tracks with
    inferences.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._problem = recording.problem
        self._texts, self._sequences = recording.texts, recording.sequences
        self._tracks, self._attributes = recording.tracks, recording.attributes
        self._layouts = MessageLayouts(EVENT)
        self._spoken_of = 0
        self.arguments = Annotations(recording.texts, recording.problem)
        self.counters = CounterEvents()
        self.flows = FlowIds()
        self.legacy = LegacyEvents(recording)
        self.uuids: dict[int, int] = {}
        self.units: dict[int, Unit] = {}
        self.run_tracks: set[int] = set()
        self.count = 0
        self.bytes = 0  # of all events in the file
        self._in_file = 0
        self._overrides: dict[tuple[int, int], int] = {}
        self._thread_counters: dict[tuple[int, int], int] = {}
        self.time = GrowingColumn(np.int64)
        self.track = GrowingColumn(np.uint32)
        self.kind = GrowingColumn(np.uint8)
        self.name = GrowingColumn(np.int32)
        self.clock = GrowingColumn(np.uint8)
        self.complete: list[tuple[Ints, Ints]] = []

    def add(
        self,
        block: PaddedBytes,
        spans: Field,
        times: Ints,
        clock: Ints,
        sequence: Any,
        state: Ints,
        packet: Ints,
        share: float,
    ) -> None:
        """Add the events at some positions of a block.

        times, clock, sequence, state: those of each event's packet; packet: its number in the file.
        share: how much of the file has been read.
        """
        n = len(spans)
        fields = spans.inside or block.fields_alike(spans.at, spans.end, self._layouts)
        states = self._sequences.states
        self.bytes += int((spans.end - spans.at).sum())
        order = self._in_file + np.arange(n)
        self._in_file += n
        self._count("damaged events", order, fields.damaged)
        self._unread(fields, _READ, pb.TrackEvent.DESCRIPTOR, order)
        kind = _TYPES[np.minimum(last(fields, _TYPE, n), np.uint64(len(_TYPES) - 1)).view(np.int64)]
        name = self._named(block, fields, _NAME_IID, _NAME, "event_names", n, state)
        uuid = self._uuids_of(fields, n, state, packet)
        legacy = fields.get(_LEGACY, LENGTH_DELIMITED)
        inner, kinds, phase = None, None, np.zeros(n, np.uint8)
        if len(legacy):
            inner = block.fields(legacy.at, legacy.end, _TAGS)
            self._unread(
                inner, _READ_LEGACY, pb.TrackEvent.LegacyEvent.DESCRIPTOR, order[legacy.owner]
            )
            kinds = self._legacy(inner, legacy, kind, phase, name, state)
            self._of_threads(legacy.owner[phase[legacy.owner] > 0], uuid, sequence, packet)
            self._override(inner, legacy, uuid, sequence, packet)
        lost = self._legacy_times(fields, times, clock, sequence, packet)
        self._count(_RELATIVE_TIMES, order, lost)
        kind[lost] = 0
        about = self._about(uuid)
        kind[about] = 0
        for row in about.tolist():
            self._spoken_of += 1
            facts = about_flows(bytes(block.data.data[int(spans.at[row]) : int(spans.end[row])]))
            for what, value in facts.items():
                self._attributes.setdefault(f"{PREFIX}source{self._spoken_of}.{what}", value)
        is_counter, is_flow = kind == _COUNTER, kind == FLOW
        track = self._track_numbers(uuid)
        event_places = EventPlaces(order, times, clock, state)
        if is_counter.any():
            self.counters.add(fields, np.flatnonzero(is_counter), event_places, track)
        self.counters.add_further(fields, event_places, states, self._track_numbers, self._problem)
        self._thread_times(fields, event_places, track, sequence, packet)
        keep = np.flatnonzero((kind > 0) & ~is_counter & ~is_flow)
        is_told = kind > 0
        is_told[lost] = is_told[about] = True
        self._left_out(fields, phase, order, np.flatnonzero(~is_told))
        event = numbers_at(n, keep, self.count + np.arange(len(keep)), -1)
        more = self.count + len(keep)
        for column, values in (
            (self.time, times),
            (self.track, track),
            (self.kind, kind),
            (self.clock, clock),
            (self.name, name),
        ):
            column.add(values[keep] if len(keep) < n else values, int(1.02 * more / share))
        self._add_arguments(block, fields, event, kind == END, state, states)
        owner, codes = self._categories(block, fields, track, state, states)
        self._put_text("category", event[owner], codes)
        self.flows.add(fields, event)
        if inner is not None and kinds is not None:
            lengths = last(inner, _DURATION, len(legacy)).view(np.int64) * 1000
            event_rows = event[legacy.owner]
            used = (event_rows >= 0) & (kind[legacy.owner] == COMPLETE)
            self.complete.append((event_rows[used], lengths[used]))
            category = numbers_at(n, owner, codes, -1)
            self.legacy.add(
                block, legacy, inner, kinds, event, event_places, track, name, category, self.flows
            )
        self.count = more

    def _count(self, kind: str, order: Ints, rows: Ints) -> None:
        """Count events by their rows; order: the place of each in the file."""
        if len(rows):
            self._problem(kind, len(rows), f"event {int(order[rows].min())}")

    def _unread(self, fields: Fields, read: frozenset[int], message: Any, order: Ints) -> None:
        """Count the fields of messages that are not read."""
        for tag, field in fields.by_tag.items():
            if tag >> 3 not in read and len(field):
                descriptor = message.fields_by_number.get(tag >> 3)
                what = descriptor.name if descriptor else f"number {tag >> 3}"
                self._count(f"field {what} of {message.name}: not shown", order, field.owner)

    def _left_out(self, fields: Fields, phase: Any, order: Ints, rows: Ints) -> None:
        """Count the events that cannot be shown, by phase or type."""
        if not len(rows):
            return
        types = last(fields, _TYPE, len(phase))[rows]
        for letter in np.unique(phase[rows]).tolist():
            if chr(letter) in ASYNC:
                continue  # without an id: counted with the others
            phase_rows = rows[phase[rows] == letter]
            if letter:
                self._count(f"track event of phase {chr(letter)!r}: not shown", order, phase_rows)
                continue
            for number in np.unique(types[phase[rows] == 0]).tolist():
                kind = pb.TrackEvent.Type.Name(number) if number in _TYPE_NAMES else str(number)
                which = phase_rows[types[phase[rows] == 0] == number]
                self._count(f"track event of type {kind}: not shown", order, which)

    def _legacy_times(
        self, fields: Fields, times: Ints, clock: Ints, sequence: Any, packet: Ints
    ) -> Ints:
        """Set the times of events that state theirs in µs, or as a difference.

        Returns the events that have no time because nothing states what it is relative to.
        """
        absolute, delta = fields.get(_ABSOLUTE, VARINT), fields.get(_DELTA, VARINT)
        if not len(absolute) and not len(delta):
            return np.empty(0, np.int64)
        numbers = self._recording.clock_numbers
        legacy = numbers.setdefault(LEGACY_CLOCK, len(numbers)) if len(numbers) < 250 else 0
        times[absolute.owner] = absolute.value.view(np.int64) * 1000
        reached, has_reference = self._resolved(TIME, delta, 1000, sequence, packet)
        times[delta.owner] = reached
        clock[absolute.owner] = clock[delta.owner] = legacy
        lost: Ints = delta.owner[~has_reference]
        return lost

    def _resolved(
        self, which: int, delta: Field, scale: int, sequence: Any, packet: Ints
    ) -> tuple[Ints, Bools]:
        """What differences reach, in the unit of the reference, and which have a reference."""
        steps = delta.value.view(np.int64)
        is_usual = np.abs(steps.astype(np.float64)) < _LONGEST_STEP
        times, has_reference = self._recording.relative_times.resolved(
            which, sequence[delta.owner], packet[delta.owner], np.where(is_usual, steps, 0) * scale
        )
        return times, has_reference & is_usual

    def _thread_times(
        self, fields: Fields, event_places: EventPlaces, track: Codes, sequence: Any, packet: Ints
    ) -> None:
        """Add thread times (µs in the file) and instruction counts as counters of their tracks."""
        for number, relative, which, type, scale in (
            (_THREAD_TIME, _THREAD_TIME_DELTA, THREAD_TIME, 1, 1000),
            (_INSTRUCTIONS, _INSTRUCTIONS_DELTA, INSTRUCTIONS, 2, 1),
        ):
            field, delta = fields.get(number, VARINT), fields.get(relative, VARINT)
            if not len(field) and not len(delta):
                continue
            reached, has_reference = self._resolved(which, delta, scale, sequence, packet)
            self._count(_RELATIVE_THREAD_TIMES, event_places.order, delta.owner[~has_reference])
            owner = np.concatenate([field.owner, delta.owner[has_reference]])
            value = np.concatenate(
                [field.value.view(np.int64).astype(np.float64) * scale, reached[has_reference]]
            )
            tracks, of = np.unique(track[owner], return_inverse=True)
            uuids = list(self.uuids)
            numbers = [
                self._thread_counter(track_number, type, uuids[track_number])
                for track_number in tracks.tolist()
            ]
            counter = np.array(numbers, np.uint32)[of.reshape(-1)]
            self.counters.put(counter, rows_of(event_places, owner), value)

    def _thread_counter(self, track: int, type: int, parent: int) -> int:
        """The number of the counter with a track's times or instructions; parent: its uuid."""
        number = self._thread_counters.get((track, type))
        if number is None:
            described = self._tracks.below(BUILTIN_COUNTERS[type], parent)
            described.counter = pb.CounterDescriptor(type=type)
            number = self.uuids.setdefault(described.uuid, len(self.uuids))
            self._thread_counters[track, type] = number
        return number

    def _of_threads(self, phased: Ints, uuid: Any, sequence: Any, packet: Ints) -> None:
        """Set the tracks of events with a phase that state track 0: their sequence's threads."""
        rows = phased[uuid[phased] == 0]
        uuid[rows] = self._tracks.threads_of_sequences(sequence[rows], packet[rows])

    def _override(
        self, inner: Fields, legacy: Field, uuid: Any, sequence: Any, packet: Ints
    ) -> None:
        """Set the tracks of legacy events that name another process or thread."""
        n, none = len(legacy), 1 << 62
        stated = [last(inner, field, n, default=none).view(np.int64) for field in (_PID, _TID)]
        rows = np.flatnonzero((stated[0] != none) | (stated[1] != none))
        if not len(rows):
            return
        owner = legacy.owner[rows]
        pid, tid = (column[rows] for column in stated)
        place = self._tracks.threads_of_sequences(sequence[owner], packet[owner])
        process = self._tracks.numbers_of_processes(place)
        has_pid = pid != none
        process[has_pid] = self._tracks.processes.stated_before(
            pid[has_pid], packet[owner[has_pid]]
        )
        keys, which = np.unique(np.stack([process, tid]), axis=1, return_inverse=True)
        which = which.reshape(-1)
        for k, key in enumerate(map(tuple, keys.T.tolist())):
            if key[0] < 0:
                continue
            if key not in self._overrides:
                of = self._tracks.processes.all[key[0]]
                self._overrides[key] = (
                    self._tracks.below_process("", of)
                    if key[1] == none
                    else self._tracks.made_thread(of, key[1])
                )
            members = np.flatnonzero(which == k)
            events = owner[members]
            # An event that names its track stays there.
            free = (uuid[events] == 0) | (uuid[events] == place[members])
            uuid[events[free]] = np.uint64(self._overrides[key])

    def _named(
        self,
        block: PaddedBytes,
        fields: Fields,
        iid: int,
        inline: int,
        table: str,
        n: int,
        state: Ints,
    ) -> Ints:
        """The codes of names, -1 if there is none or its iid is undefined."""
        name = np.full(n, -1)
        field = fields.get(iid, VARINT)
        codes = interned(table, field.value, state[field.owner], self._sequences.states)
        name[field.owner] = codes
        self._problem("missing names", int((codes < 0).sum()), "")
        field = fields.get(inline, LENGTH_DELIMITED)
        name[field.owner] = codes_of(block, field, self._texts)
        return name

    def _uuids_of(self, fields: Fields, n: int, state: Ints, packet: Ints) -> Any:
        """The track of every event: its own, its sequence's default, or its thread's."""
        uuid = last(fields, _UUID, n)
        has = flags_at(n, fields.get(_UUID, VARINT).owner)
        if not has.all():
            for number in np.unique(state[~has]).tolist():
                rows = np.flatnonzero(~has & (state == number))
                of = self._sequences.states[number]
                if of.track is None:
                    sequences = np.full(len(rows), of.sequence, np.uint64)
                    uuid[rows] = self._tracks.threads_of_sequences(sequences, packet[rows])
                else:
                    uuid[rows] = np.uint64(of.track % 2**64)
        return uuid

    def _track_numbers(self, uuid: Any) -> Codes:
        """Number the uuids in order of appearance."""
        changes = np.flatnonzero(np.append(True, uuid[1:] != uuid[:-1]))
        runs = uuid[changes]
        distinct, first, inverse = np.unique(runs, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), np.uint32)
        for i in np.argsort(first).tolist():
            codes[i] = self.uuids.setdefault(int(distinct[i]), len(self.uuids))
        per_run = codes[inverse.reshape(-1)]
        return np.repeat(per_run, np.diff(np.append(changes, len(uuid))))

    def _legacy(
        self, inner: Fields, legacy: Field, kind: Any, phase: Any, name: Ints, state: Ints
    ) -> LegacyKinds:
        """Set the kinds, phases and names of legacy events, whose kind is a letter.

        Returns what they are.
        """
        kinds = kinds_of(inner, len(legacy))
        phase[legacy.owner] = kinds.phase
        is_phased = (phase[legacy.owner] > 0) & (kind[legacy.owner] != _COUNTER)
        kind[legacy.owner[is_phased]] = kinds.kind[is_phased]
        field = inner.get(_OLD_NAME_IID, VARINT)
        owners = legacy.owner[field.owner]
        missing = name[owners] < 0
        codes = interned("event_names", field.value, state[owners], self._sequences.states)
        name[owners[missing]] = codes[missing]
        return kinds

    def _add_arguments(
        self,
        block: PaddedBytes,
        fields: Fields,
        event: Ints,
        late: Bools,
        state: Ints,
        states: Any,
    ) -> None:
        spans = fields.get(_ARGUMENT, LENGTH_DELIMITED)
        self.arguments.add(block, spans, event, late, state, states)
        field = fields.get(_CORRELATION_IID, VARINT)
        self._put_text(
            "correlation_id",
            event[field.owner],
            interned("correlation_id_str", field.value, state[field.owner], states),
        )
        field = fields.get(_CORRELATION_STR, LENGTH_DELIMITED)
        if len(field):
            codes = codes_of(block, field, self._texts)
            self._put_text("correlation_id", event[field.owner], codes)
        field = fields.get(_CORRELATION, VARINT)
        if len(field):
            event_rows = event[field.owner]
            self.arguments.keep(
                "correlation_id",
                INT,
                event_rows[event_rows >= 0],
                field.value.view(np.int64)[event_rows >= 0],
            )

    def _categories(
        self, block: PaddedBytes, fields: Fields, track: Codes, state: Ints, states: Any
    ) -> tuple[Ints, Ints]:
        """The events with categories, and the codes of these, joined per event.

        In Opscope exports, some categories describe the track: its NPU unit, or that it has
        inferences.
        """
        field = fields.get(_CATEGORY_IID, VARINT)
        owners, iids = [field.owner], [field.value]
        packed = fields.get(_CATEGORY_IID, LENGTH_DELIMITED)
        if len(packed):
            owner, values = block.varint_lists(packed)
            owners.append(owner)
            iids.append(values)
        owner = np.concatenate(owners)
        codes = interned("event_categories", np.concatenate(iids), state[owner], states)
        inline = fields.get(_CATEGORY, LENGTH_DELIMITED)
        if len(inline):
            owner = np.concatenate([owner, inline.owner])
            codes = np.concatenate([codes, codes_of(block, inline, self._texts)])
        if not len(owner):
            return owner, codes
        if self._recording.is_own:
            texts = self._texts.all()
            special = np.zeros(len(owner), np.bool_)
            # The last entry is for those without a text. Sorting takes ten times as long.
            used = flags_at(len(texts) + 1, codes)
            for code in np.flatnonzero(used[:-1]).tolist():
                if texts[code] not in UNITS and texts[code] != RUN_CATEGORY:
                    continue
                has_code = codes == code
                special |= has_code
                numbers = np.unique(track[owner[has_code]]).tolist()
                if texts[code] == RUN_CATEGORY:
                    self.run_tracks.update(numbers)
                else:
                    self.units |= dict.fromkeys(numbers, UNITS[texts[code]])
            owner, codes = owner[~special], codes[~special]
        if len(owner) > 1 and (owner[1:] <= owner[:-1]).any():
            owner, codes = self._joined(owner, codes)
        return owner, codes

    def _joined(self, owner: Ints, codes: Ints) -> tuple[Ints, Ints]:
        """Join the categories of every event into one text, separated by commas."""
        owner, codes = owner[codes >= 0], codes[codes >= 0]
        order = np.argsort(owner, kind="stable")
        owner, codes = owner[order], codes[order]
        while len(owner) > 1 and (again := owner[1:] == owner[:-1]).any():
            # Append the second text of each event to its first; the next iteration appends the
            # next.
            second = np.flatnonzero(again & np.append(True, ~again[:-1])) + 1
            texts = self._texts.all()
            pairs, which = np.unique(
                np.stack([codes[second - 1], codes[second]]), axis=1, return_inverse=True
            )
            joined_codes = [self._texts.code(f"{texts[a]},{texts[b]}") for a, b in pairs.T.tolist()]
            codes[second - 1] = np.array(joined_codes)[which.reshape(-1)]
            owner, codes = np.delete(owner, second), np.delete(codes, second)
        return owner, codes

    def _put_text(self, name: str, event: Ints, codes: Ints) -> None:
        is_valid = (codes >= 0) & (event >= 0)
        if is_valid.any():
            self.arguments.keep(name, TEXT, event[is_valid], codes[is_valid])

    def _about(self, uuid: Any) -> Ints:
        """The events of an earlier Opscope export that repeat its attributes."""
        rows: Ints = np.empty(0, np.int64)
        described = self._tracks.by_uuid.get(_ABOUT_UUID)
        if described is not None and described.name == _ABOUT and self._recording.is_own:
            rows = np.flatnonzero(uuid == np.uint64(_ABOUT_UUID))
        return rows
