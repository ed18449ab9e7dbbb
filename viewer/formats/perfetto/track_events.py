"""Reads the track events of a Perfetto file into columns, in file order."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewer.arrays import Codes, Ints
from viewer.codecs.protobuf.layouts import MessageLayouts
from viewer.codecs.protobuf.reader import Field, Fields, PaddedBytes
from viewer.codecs.protobuf.wire import LENGTH_DELIMITED, VARINT
from viewer.formats.perfetto.annotations import INT, TEXT, Annotations, codes_of, interned
from viewer.formats.perfetto.begin_end import BEGIN, COMPLETE, END, POINT
from viewer.formats.perfetto.counters import CounterEvents
from viewer.formats.perfetto.flows import FlowEvents
from viewer.formats.perfetto.opscope_exports import RUN_CATEGORY, UNITS, about_flows
from viewer.formats.perfetto.packets import last
from viewer.formats.perfetto.recording import Recording
from viewer.formats.text_rows import GrowingColumn
from viewer.model.provenance import PREFIX
from viewer.model.trace import Unit

_ABOUT, _ABOUT_UUID = "Opscope export", 1

# Field numbers of TrackEvent and LegacyEvent.
(_CATEGORY_IID, _ARGUMENT, _LEGACY, _TYPE, _NAME_IID, _UUID) = (3, 4, 6, 9, 10, 11)
(_ABSOLUTE, _DELTA, _CATEGORY, _NAME) = (16, 1, 22, 23)
(_CORRELATION, _CORRELATION_STR, _CORRELATION_IID) = (52, 53, 54)
(_PHASE, _DURATION, _OLD_NAME_IID) = (2, 3, 1)
_EVENT_TAGS = range(8, 512)
# by TrackEvent.Type; the last entry is for other types
_TYPES = np.array([0, BEGIN, END, POINT, 5, 0], np.uint8)
_COUNTER = 5
_PHASES = {ord("B"): BEGIN, ord("E"): END, ord("X"): COMPLETE, ord("I"): POINT, ord("i"): POINT,
           ord("R"): POINT}  # fmt: skip


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
        self._layouts = MessageLayouts()
        self._spoken_of = 0
        self.arguments = Annotations(recording.texts, recording.problem)
        self.counters = CounterEvents()
        self.flows = FlowEvents()
        self.uuids: dict[int, int] = {}
        self.units: dict[int, Unit] = {}
        self.run_tracks: set[int] = set()
        self.count = 0
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
        share: float,
    ) -> None:
        """Add the events at some positions of a block.

        times, clock, sequence, state: those of each event's packet. share: how much of the file has
        been read.
        """
        fields, n = block.fields(spans.at, spans.end, _EVENT_TAGS, self._layouts), len(spans)
        states = self._sequences.states
        self._problem("damaged events", len(fields.damaged), "")
        kind = _TYPES[np.minimum(last(fields, _TYPE, n), np.uint64(len(_TYPES) - 1)).view(np.int64)]
        name = self._named(block, fields, _NAME_IID, _NAME, "event_names", n, state)
        uuid, has_uuid = self._uuids_of(fields, n, sequence, state)
        legacy = fields.get(_LEGACY, LENGTH_DELIMITED)
        durations = None
        if len(legacy):
            durations = self._legacy(block, legacy, kind, name, state)
        for number, scale in ((_ABSOLUTE, 1000),):
            found = fields.get(number, VARINT)
            times[found.owner] = found.value.view(np.int64) * scale
        self._problem(
            "events with relative times: left out",
            len(delta := fields.get(_DELTA, VARINT)),
        )
        kind[delta.owner] = 0
        about = self._about(uuid)
        kind[about] = 0
        for row in about.tolist():
            self._spoken_of += 1
            facts = about_flows(bytes(block.data.data[int(spans.at[row]) : int(spans.end[row])]))
            for what, value in facts.items():
                self._attributes.setdefault(f"{PREFIX}source{self._spoken_of}.{what}", value)
        is_counter = kind == _COUNTER
        track = self._track_numbers(uuid, has_uuid)
        if is_counter.any():
            self.counters.add(block, fields, np.flatnonzero(is_counter), times, clock, track)
        keep = np.flatnonzero((kind > 0) & ~is_counter)
        left_out = n - len(keep) - int(is_counter.sum()) - len(delta) - len(about)
        self._problem("events of a kind that cannot be shown: left out", left_out, "")
        event = np.full(n, -1)
        event[keep] = self.count + np.arange(len(keep))
        more = self.count + len(keep)
        for column, values in (
            (self.time, times),
            (self.track, track),
            (self.kind, kind),
            (self.clock, clock),
            (self.name, name),
        ):
            column.add(values[keep] if len(keep) < n else values, int(1.02 * more / share))
        if durations is not None:
            rows, lengths = durations
            used = event[rows] >= 0
            self.complete.append((event[rows][used], lengths[used]))
        self._add_arguments(block, fields, event, track, state, states)
        self.flows.add(fields, event)
        self.count = more

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
        found = fields.get(iid, VARINT)
        codes = interned(table, found.value, state[found.owner], self._sequences.states)
        name[found.owner] = codes
        self._problem("missing names", int((codes < 0).sum()), "")
        found = fields.get(inline, LENGTH_DELIMITED)
        name[found.owner] = codes_of(block, found, self._texts)
        return name

    def _uuids_of(self, fields: Fields, n: int, sequence: Any, state: Ints) -> tuple[Any, Any]:
        """The track of every event: its own, its sequence's default, or its thread's."""
        uuid = last(fields, _UUID, n)
        has = np.zeros(n, np.bool_)
        has[fields.get(_UUID, VARINT).owner] = True
        if not has.all():
            for number in np.unique(state[~has]).tolist():
                rows = np.flatnonzero(~has & (state == number))
                own = self._sequences.states[number]
                default = own.track
                if default is None:
                    default = self._tracks.of_sequence.get(own.sequence, 0)
                uuid[rows] = np.uint64(default % 2**64)
        return uuid, has

    def _track_numbers(self, uuid: Any, has_uuid: Any) -> Codes:
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
        self, block: PaddedBytes, legacy: Field, kind: Any, name: Ints, state: Ints
    ) -> tuple[Ints, Ints]:
        """Read legacy events, whose kind is a letter; returns those with a duration, and it."""
        inner = block.fields(legacy.at, legacy.end, range(8, 256))
        n = len(legacy)
        phase = np.minimum(last(inner, _PHASE, n), np.uint64(255)).view(np.int64)
        kinds = np.array([_PHASES.get(k, 0) for k in range(256)], np.uint8)[phase]
        untyped = (kind[legacy.owner] == 0) & (phase > 0)
        rows = legacy.owner[untyped]
        kind[rows] = kinds[untyped]
        lengths = last(inner, _DURATION, n).view(np.int64)[untyped]
        is_complete = kinds[untyped] == COMPLETE
        found = inner.get(_OLD_NAME_IID, VARINT)
        at = legacy.owner[found.owner]
        missing = name[at] < 0
        codes = interned("event_names", found.value, state[at], self._sequences.states)
        name[at[missing]] = codes[missing]
        return rows[is_complete], lengths[is_complete] * 1000

    def _add_arguments(
        self,
        block: PaddedBytes,
        fields: Fields,
        event: Ints,
        track: Codes,
        state: Ints,
        states: Any,
    ) -> None:
        spans = fields.get(_ARGUMENT, LENGTH_DELIMITED)
        if len(spans):
            own = event[spans.owner]
            if (own < 0).any():
                spans, own = spans.taken(own >= 0), own[own >= 0]
            self.arguments.add(block, spans, own, state[spans.owner], states)
        self._add_categories(block, fields, event, track, state, states)
        found = fields.get(_CORRELATION_IID, VARINT)
        self._put_text(
            "correlation_id",
            event[found.owner],
            interned("correlation_id_str", found.value, state[found.owner], states),
        )
        found = fields.get(_CORRELATION_STR, LENGTH_DELIMITED)
        if len(found):
            codes = codes_of(block, found, self._texts)
            self._put_text("correlation_id", event[found.owner], codes)
        found = fields.get(_CORRELATION, VARINT)
        if len(found):
            own = event[found.owner]
            self.arguments.keep(
                "correlation_id", INT, own[own >= 0], found.value.view(np.int64)[own >= 0]
            )

    def _add_categories(
        self,
        block: PaddedBytes,
        fields: Fields,
        event: Ints,
        track: Codes,
        state: Ints,
        states: Any,
    ) -> None:
        """Add the categories of events, joined per event.

        In Opscope exports, some categories describe the track: its NPU unit, or that it has
        inferences.
        """
        found = fields.get(_CATEGORY_IID, VARINT)
        owners, iids = [found.owner], [found.value]
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
            return
        if self._recording.is_own:
            texts = self._texts.all()
            special = np.zeros(len(owner), np.bool_)
            for code in np.unique(codes[codes >= 0]).tolist():
                if texts[code] not in UNITS and texts[code] != RUN_CATEGORY:
                    continue
                own = codes == code
                special |= own
                numbers = np.unique(track[owner[own]]).tolist()
                if texts[code] == RUN_CATEGORY:
                    self.run_tracks.update(numbers)
                else:
                    self.units |= dict.fromkeys(numbers, UNITS[texts[code]])
            owner, codes = owner[~special], codes[~special]
        if len(owner) > 1 and (owner[1:] <= owner[:-1]).any():
            owner, codes = self._joined(owner, codes)
        self._put_text("category", event[owner], codes)

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
        known = (codes >= 0) & (event >= 0)
        if known.any():
            self.arguments.keep(name, TEXT, event[known], codes[known])

    def _about(self, uuid: Any) -> Ints:
        """The events of an Opscope export that repeat its attributes."""
        found: Ints = np.empty(0, np.int64)
        described = self._tracks.by_uuid.get(_ABOUT_UUID)
        if described is not None and described.name == _ABOUT and self._recording.is_own:
            found = np.flatnonzero(uuid == np.uint64(_ABOUT_UUID))
        return found
