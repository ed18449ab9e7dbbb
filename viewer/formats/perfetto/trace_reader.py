"""Makes a trace of the packets of a Perfetto file; `reader.py` says what is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.protobuf.layouts import MessageLayouts
from viewer.codecs.protobuf.reader import Field, Fields, PaddedBytes
from viewer.codecs.protobuf.wire import LENGTH_DELIMITED, VARINT
from viewer.codecs.reading import Cancelled, Progress, ReadCancelled
from viewer.formats.perfetto.annotations import INT, TEXT, Annotations, codes_of, interned
from viewer.formats.perfetto.begin_end import (
    BEGIN,
    COMPLETE,
    END,
    POINT,
    Places,
    paired,
    slices_of,
    taken,
)
from viewer.formats.perfetto.counters import CounterEvents
from viewer.formats.perfetto.flows import FlowEvents
from viewer.formats.perfetto.opscope_exports import (
    RUN_CATEGORY,
    UNITS,
    about_flows,
    clipped,
    in_stated_order,
    keys_of,
    own_ticks,
    stated_runs,
    with_units,
)
from viewer.formats.perfetto.packets import Packets, last, packets_of
from viewer.formats.perfetto.sequences import (
    ClockSnapshots,
    Sequences,
    TextTable,
    Tracks,
    as_text,
    clock_name,
    parsed,
)
from viewer.formats.text_rows import GrowingColumn
from viewer.model.building.builder import TraceBuilder
from viewer.model.counter import Counter
from viewer.model.provenance import PREFIX, Provenance, first_ns, is_of_one_file
from viewer.model.times import ns_to_tick
from viewer.model.trace import Clock, Column, KeyKind, Run, Trace, Unit

NO_NAME = "(unnamed)"
UNPAIRED = "unpaired"
_ABOUT, _ABOUT_UUID = "Opscope export", 1
_NO_END = "begin without an end"

# Field numbers of TracePacket.
(_PROCESS_TREE, _SNAPSHOT, _TIME, _SEQUENCE, _EVENT, _INTERNED, _FLAGS) = (2, 6, 8, 10, 11, 12, 13)
(_CLEARED, _DROPPED, _PROCESS, _THREAD, _CLOCK, _DEFAULTS, _TRACK) = (41, 42, 43, 44, 58, 59, 60)
_ATTRIBUTES = 126
# Those that say something about the file, the recording or what else is read: not counted.
_SILENT = frozenset(
    (_PROCESS_TREE, _SNAPSHOT, _EVENT, _INTERNED, _PROCESS, _THREAD, _DEFAULTS, _TRACK,
     _ATTRIBUTES, 33, 35, 36, 45, 46, 48, 50, 51, 69, 72, 89, 90, 124)
)  # fmt: skip
# Field numbers of TrackEvent and LegacyEvent.
(_CATEGORY_IID, _ARGUMENT, _LEGACY, _TYPE, _NAME_IID, _UUID) = (3, 4, 6, 9, 10, 11)
(_ABSOLUTE, _DELTA, _CATEGORY, _NAME) = (16, 1, 22, 23)
(_CORRELATION, _CORRELATION_STR, _CORRELATION_IID) = (52, 53, 54)
(_PHASE, _DURATION, _OLD_NAME_IID) = (2, 3, 1)
_EVENT_TAGS = range(8, 512)
_TYPES = np.array([0, BEGIN, END, POINT, 5, 0], np.uint8)  # by TrackEvent.Type; the last: others
_COUNTER = 5
_PHASES = {ord("B"): BEGIN, ord("E"): END, ord("X"): COMPLETE, ord("I"): POINT, ord("i"): POINT,
           ord("R"): POINT}  # fmt: skip


def read_trace(path: str, format: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """Reads one file. Raises UnreadableFile, ReadCancelled."""
    reading = _Reading(path, format)
    for packets in packets_of(path, progress, cancelled, reading.problem):
        reading.add(packets)
    return reading.trace(cancelled)


class _Reading:
    """What was read so far, as columns in the order of the file."""

    def __init__(self, path: str, format: str) -> None:
        self._path, self._format = path, format
        self._problems: dict[str, tuple[int, str]] = {}
        self._texts = TextTable()
        self._sequences = Sequences(self._texts, self.problem)
        self._clocks = ClockSnapshots()
        self._tracks = Tracks(self.problem)
        self._arguments = Annotations(self._texts, self.problem)
        self._counters = CounterEvents()
        self._layouts = MessageLayouts()
        self._attributes: dict[str, int | str] = {}
        self._uuids: dict[int, int] = {}
        self._clock_numbers: dict[tuple[int, int], int] = {(0, 0): 0}
        self._skipped: dict[int, int] = {}
        self._flows = FlowEvents()
        # Of our own exports: the units and the inferences that tracks are of, and what was said of
        # its sources.
        self._units: dict[int, Unit] = {}
        self._run_tracks: set[int] = set()
        self._spoken_of = 0
        self._events = 0
        self._share = 1.0
        self._time = GrowingColumn(np.int64)
        self._track = GrowingColumn(np.uint32)
        self._kind = GrowingColumn(np.uint8)
        self._name = GrowingColumn(np.int32)
        self._clock = GrowingColumn(np.uint8)
        self._complete: list[tuple[Ints, Ints]] = []

    def problem(self, kind: str, count: int = 1, first: str = "") -> None:
        """Count odd data; the first place stays."""
        if count:
            had, where = self._problems.get(kind, (0, first))
            self._problems[kind] = (had + count, where)

    # -- packets ---------------------------------------------------------------------------------

    def add(self, packets: Packets) -> None:
        """Take in some packets."""
        fields, n, block = packets.fields, len(packets), packets.block
        self._share = max(packets.share, 0.001)
        self.problem("packets that are damaged: left out", len(fields.damaged), "")
        for tag, found in fields.by_tag.items():
            number = tag >> 3
            if tag & 7 == LENGTH_DELIMITED and number not in _SILENT:
                self._skipped[number] = self._skipped.get(number, 0) + len(found)
        sequence = last(fields, _SEQUENCE, n)
        flags = last(fields, _FLAGS, n)
        flags |= last(fields, _CLEARED, n)
        state = self._states(packets, sequence, (flags & np.uint64(1)) != 0)
        spans = fields.get(_EVENT, LENGTH_DELIMITED).sorted()
        if not len(spans):
            self._incremental_times(packets, sequence, state)
            return
        valid = np.array([s.is_valid for s in self._sequences.states])[state]
        no_sequence = sequence[spans.owner] == 0
        lost = ((flags & np.uint64(2)) != 0)[spans.owner] & ~valid[spans.owner] & ~no_sequence
        damaged = np.isin(spans.owner, fields.damaged) if len(fields.damaged) else None
        self.problem("events of no packet sequence: left out", int(no_sequence.sum()), "")
        self.problem(
            "events whose sequence lost the packets that they refer to: left out", int(lost.sum())
        )
        bad = no_sequence | lost
        if damaged is not None:
            bad |= damaged
        if bad.any():
            spans = spans.taken(~bad)
        times, clock = self._incremental_times(packets, sequence, state)
        if not len(spans):
            return
        owner = spans.owner
        self._add_events(block, spans, times[owner], clock[owner], sequence[owner], state[owner])

    def _states(self, packets: Packets, sequence: Any, cleared: Any) -> Ints:
        """The number of the state of every packet; takes in what is interned and described."""
        fields, block = packets.fields, packets.block
        rare: list[tuple[int, int, int, int]] = []
        for number in (_SNAPSHOT, _INTERNED, _DEFAULTS, _TRACK, _THREAD, _PROCESS, _PROCESS_TREE,
                       _ATTRIBUTES):  # fmt: skip
            found = fields.get(number, LENGTH_DELIMITED)
            rare += [
                (owner, -number if number == _DEFAULTS else number, at, end)
                for owner, at, end in zip(
                    found.owner.tolist(), found.at.tolist(), found.end.tolist(), strict=True
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
        begun = sequence[:1] if is_one else np.unique(sequence)
        changes: dict[int, list[tuple[int, int]]] = {
            int(s): [(0, self._sequences.current(int(s)))] for s in begun.tolist()
        }
        for owner, what, at, end in sorted(rare):
            own = int(sequence[owner])
            data = bytes(block.data.data[at:end])
            if what in (-1000, -999, -_DEFAULTS):
                number = self._sequences.change(
                    own, cleared=what == -1000, dropped=what == -999,
                    defaults=data if what == -_DEFAULTS else None,
                )  # fmt: skip
                changes[own].append((owner, number))
            elif what == _INTERNED:
                self._sequences.intern(self._sequences.current(own), data)
            elif what == _TRACK:
                self._tracks.describe(own, data)
            elif what == _SNAPSHOT:
                self._clocks.add(own, data, self.problem)
            elif what == _THREAD:
                self._tracks.thread_of_sequence(own, data)
            elif what == _PROCESS:
                self._tracks.process_of_sequence(data)
            elif what == _PROCESS_TREE:
                self._tracks.process_tree(data)
            else:
                self._attribute(data)
        # The packets of each sequence together, so that many sequences cost no more than one.
        order = np.arange(len(sequence)) if is_one else np.argsort(sequence, kind="stable")
        bounds = np.searchsorted(sequence[order], begun).tolist() if not is_one else [0]
        for own, first, end in zip(
            begun.tolist(), bounds, [*bounds[1:], len(sequence)], strict=True
        ):
            steps = changes[int(own)]
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
        found = parsed(pb.TraceAttributes, data, self.problem)
        for one in found.attribute if found is not None else ():
            value = one.long_value if one.HasField("long_value") else one.string_value
            if not isinstance(value, int):
                value = as_text(value)
            self._attributes.setdefault(as_text(one.key), value)

    def _incremental_times(self, packets: Packets, sequence: Any, state: Ints) -> tuple[Ints, Ints]:
        """Time and clock of every packet; those of an incremental clock are added up."""
        fields, n = packets.fields, len(packets)
        times = last(fields, _TIME, n)
        clock = last(fields, _CLOCK, n)
        defaults = np.array([s.clock for s in self._sequences.states], np.uint64)
        if defaults.any():
            clock = np.where(clock == 0, defaults[state], clock)
        number = np.zeros(n, np.int64)
        out = times.view(np.int64)
        if not clock.any():
            return out, number
        own = np.where((clock >= 64) & (clock < 128), sequence, np.uint64(0))
        pairs, which = np.unique(np.stack([own, clock]), axis=1, return_inverse=True)
        which = which.reshape(-1)
        stated = np.zeros(n, np.bool_)
        stated[fields.get(_TIME, VARINT).owner] = True
        for k, (s, c) in enumerate(pairs.T.tolist()):
            name = clock_name(int(s), int(c)) if c else (0, 0)
            if len(self._clock_numbers) >= 250 and name not in self._clock_numbers:
                name = (0, 0)
            rows = np.flatnonzero(which == k)
            number[rows] = self._clock_numbers.setdefault(name, len(self._clock_numbers))
            if name in self._clocks.incremental:
                base, unit = self._clocks.incremental[name]
                told = rows[stated[rows]]
                if len(told):
                    out[told] = base + np.cumsum(out[told]) * unit
                    self._clocks.incremental[name] = (int(out[told[-1]]), unit)
            elif name in self._clocks.multiplier:
                out[rows] *= self._clocks.multiplier[name]
        return out, number

    # -- events ----------------------------------------------------------------------------------

    def _add_events(
        self, block: PaddedBytes, spans: Field, times: Ints, clock: Ints, sequence: Any, state: Ints
    ) -> None:
        fields, n = block.fields(spans.at, spans.end, _EVENT_TAGS, self._layouts), len(spans)
        states = self._sequences.states
        self.problem("events that are damaged", len(fields.damaged), "")
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
        self.problem(
            "events with a time relative to the one before: left out",
            len(delta := fields.get(_DELTA, VARINT)),
        )
        kind[delta.owner] = 0
        about = self._about(uuid)
        kind[about] = 0
        for row in about.tolist():
            self._spoken_of += 1
            told = about_flows(bytes(block.data.data[int(spans.at[row]) : int(spans.end[row])]))
            for what, value in told.items():
                self._attributes.setdefault(f"{PREFIX}source{self._spoken_of}.{what}", value)
        is_counter = kind == _COUNTER
        track = self._track_numbers(uuid, has_uuid)
        if is_counter.any():
            self._counters.add(block, fields, np.flatnonzero(is_counter), times, clock, track)
        keep = np.flatnonzero((kind > 0) & ~is_counter)
        left_out = n - len(keep) - int(is_counter.sum()) - len(delta) - len(about)
        self.problem("events of a kind that has no place on a track: left out", left_out, "")
        event = np.full(n, -1)
        event[keep] = self._events + np.arange(len(keep))
        more = self._events + len(keep)
        for column, values in (
            (self._time, times), (self._track, track), (self._kind, kind), (self._clock, clock),
            (self._name, name),
        ):  # fmt: skip
            column.add(values[keep] if len(keep) < n else values, int(1.02 * more / self._share))
        if durations is not None:
            rows, lengths = durations
            used = event[rows] >= 0
            self._complete.append((event[rows][used], lengths[used]))
        self._add_arguments(block, fields, event, track, state, states)
        self._flows.add(fields, event)
        self._events = more

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
        """The codes of names, -1 where there is none or its number means nothing."""
        name = np.full(n, -1)
        found = fields.get(iid, VARINT)
        codes = interned(table, found.value, state[found.owner], self._sequences.states)
        name[found.owner] = codes
        self.problem("names that are not in the file", int((codes < 0).sum()), "")
        found = fields.get(inline, LENGTH_DELIMITED)
        name[found.owner] = codes_of(block, found, self._texts)
        return name

    def _uuids_of(self, fields: Fields, n: int, sequence: Any, state: Ints) -> tuple[Any, Any]:
        """The track of every event: its own, the default of its sequence, or its thread's."""
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
        """Small numbers for the uuids, in the order in which they come."""
        changes = np.flatnonzero(np.append(True, uuid[1:] != uuid[:-1]))
        runs = uuid[changes]
        distinct, first, inverse = np.unique(runs, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), np.uint32)
        for i in np.argsort(first).tolist():
            codes[i] = self._uuids.setdefault(int(distinct[i]), len(self._uuids))
        per_run = codes[inverse.reshape(-1)]
        return np.repeat(per_run, np.diff(np.append(changes, len(uuid))))

    def _legacy(
        self, block: PaddedBytes, legacy: Field, kind: Any, name: Ints, state: Ints
    ) -> tuple[Ints, Ints]:
        """Older events that tell their kind by a letter; which of them state a length, and it."""
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
            self._arguments.add(block, spans, own, state[spans.owner], states)
        self._add_categories(block, fields, event, track, state, states)
        found = fields.get(_CORRELATION_IID, VARINT)
        self._put_text(
            "correlation_id", event[found.owner],
            interned("correlation_id_str", found.value, state[found.owner], states),
        )  # fmt: skip
        found = fields.get(_CORRELATION_STR, LENGTH_DELIMITED)
        if len(found):
            codes = codes_of(block, found, self._texts)
            self._put_text("correlation_id", event[found.owner], codes)
        found = fields.get(_CORRELATION, VARINT)
        if len(found):
            own = event[found.owner]
            self._arguments.keep("correlation_id", INT, own[own >= 0],
                                 found.value.view(np.int64)[own >= 0])  # fmt: skip

    def _add_categories(
        self,
        block: PaddedBytes,
        fields: Fields,
        event: Ints,
        track: Codes,
        state: Ints,
        states: Any,
    ) -> None:
        """The categories of events, those of one event joined; ours say what a track is of too."""
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
        if self._is_own:
            texts = self._texts.all()
            special = np.zeros(len(owner), np.bool_)
            for code in np.unique(codes[codes >= 0]).tolist():
                if texts[code] not in UNITS and texts[code] != RUN_CATEGORY:
                    continue
                own = codes == code
                special |= own
                numbers = np.unique(track[owner[own]]).tolist()
                if texts[code] == RUN_CATEGORY:
                    self._run_tracks.update(numbers)
                else:
                    self._units |= dict.fromkeys(numbers, UNITS[texts[code]])
            owner, codes = owner[~special], codes[~special]
        if len(owner) > 1 and (owner[1:] <= owner[:-1]).any():
            owner, codes = self._joined(owner, codes)
        self._put_text("category", event[owner], codes)

    def _joined(self, owner: Ints, codes: Ints) -> tuple[Ints, Ints]:
        """The categories of every event as one text, separated by commas."""
        owner, codes = owner[codes >= 0], codes[codes >= 0]
        order = np.argsort(owner, kind="stable")
        owner, codes = owner[order], codes[order]
        while len(owner) > 1 and (again := owner[1:] == owner[:-1]).any():
            # The second of each event is joined to its first, the next ones in the next turn.
            second = np.flatnonzero(again & np.append(True, ~again[:-1])) + 1
            texts = self._texts.all()
            pairs, which = np.unique(
                np.stack([codes[second - 1], codes[second]]), axis=1, return_inverse=True
            )
            made = [self._texts.code(f"{texts[a]},{texts[b]}") for a, b in pairs.T.tolist()]
            codes[second - 1] = np.array(made)[which.reshape(-1)]
            owner, codes = np.delete(owner, second), np.delete(codes, second)
        return owner, codes

    def _put_text(self, name: str, event: Ints, codes: Ints) -> None:
        known = (codes >= 0) & (event >= 0)
        if known.any():
            self._arguments.keep(name, TEXT, event[known], codes[known])

    # -- the trace -------------------------------------------------------------------------------

    def trace(self, cancelled: Cancelled) -> Trace:
        """What was read, as a trace."""

        def step() -> None:
            if cancelled():
                raise ReadCancelled

        step()
        for number, count in sorted(self._skipped.items()):
            field = pb.TracePacket.DESCRIPTOR.fields_by_number.get(number)
            what = field.name if field else f"field {number}"
            self.problem(
                f"packets of {what}: not track events, which are all that is shown", count, ""
            )
        time, track, kind = self._time.take(), self._track.take(), self._kind.take()
        uuids = list(self._uuids)
        is_own = self._is_own
        keep = self._converted(time)
        if keep is not None:
            kind = np.where(keep, kind, np.uint8(0))
        pairs = paired(track, time, kind)
        step()
        self.problem("end without a begin: left out", pairs.lone_ends, "")
        if keep is not None:
            pairs = pairs.chosen(keep[pairs.begin])
        runs = self._stated_runs(track, pairs.begin)
        if self._run_tracks:
            pairs = pairs.chosen(~np.isin(track[pairs.begin], list(self._run_tracks)))
        begin, level = pairs.begin, pairs.level
        count = len(begin)
        is_open = pairs.end < 0
        self.problem(
            f"{_NO_END}: drawn with no length, as nothing says how long it took",
            int(is_open.sum()), "",
        )  # fmt: skip
        starts = taken(time, begin)
        ends = taken(time, pairs.end)
        if is_open.any():
            ends[is_open] = starts[is_open]
        del time, kind
        slice_of = slices_of(pairs, self._events)
        del pairs
        for event, length in self._complete:
            rows = slice_of[event]
            rows, length = rows[rows >= 0], length[rows >= 0]
            ends[rows] = starts[rows] + np.maximum(length, 0)
        name = taken(self._name.take(), begin)
        its_track = taken(track, begin)
        unleveled = {int(t) for event, _ in self._complete for t in np.unique(track[event])}
        del track
        if count and int(name.min()) < 0:
            name = np.where(name < 0, self._texts.code(NO_NAME), name)
        clock, in_ticks = Clock(), None
        provenance = self._provenance()
        if is_of_one_file(provenance):
            in_ticks = own_ticks(provenance, self._arguments, slice_of, starts, ends, self.problem)
            if in_ticks is not None:
                clock, starts, ends = in_ticks
        derived = None
        if in_ticks is not None:
            derived = self._arguments.flags("derived", slice_of, count)
        builder = TraceBuilder(self._path, self._format, "", clock, levels_are_hints=True)
        texts = self._texts.all()
        used = np.zeros(len(texts), np.bool_)
        used[name] = True
        codes = np.zeros(len(texts), np.uint32)
        codes[used] = builder.intern_all([texts[i] for i in np.flatnonzero(used).tolist()])
        names = taken(codes, name)
        if is_own:
            identifiers = self._arguments.mixed("identifier", slice_of, count)
            instructions = self._arguments.take("instruction_id", INT, slice_of, count)
            columns = with_units(self._arguments.columns(slice_of, count), provenance)
            columns = in_stated_order(columns, self._argument_names())
            keys = keys_of(builder, names, columns, identifiers, instructions)
        else:
            columns = self._arguments.columns(slice_of, count)
            numbers = np.zeros(len(texts), np.uint32)
            numbers[used] = [
                builder.key(KeyKind.PLAIN, texts[i]) for i in np.flatnonzero(used).tolist()
            ]
            keys = taken(numbers, name)
        flows, lone = self._flows.edges(slice_of, starts)
        self.problem("flow arrows that lead to no other slice: left out", lone, "")
        builder.flows(begin[flows[0]], begin[flows[1]])
        del slice_of
        if is_open.any():
            columns[UNPAIRED] = Column.of_codes(np.zeros(count, np.uint32), (_NO_END,), is_open)
        self._pour(
            builder, uuids, its_track, unleveled, starts, ends, names, keys, begin, level,
            columns, derived,
        )  # fmt: skip
        # What the builder holds by now is not needed twice while it works.
        is_own_clock = in_ticks is not None
        del name, names, keys, its_track, begin, level, starts, ends, in_ticks, is_open, columns
        counters = self._stated_counters(uuids, clock if is_own_clock else None, provenance)
        for process in dict.fromkeys(counter.process for counter in counters):
            if not builder.tracks_of(process):
                builder.track(process, "counters")
        placed = self._placed(runs, builder)
        for kind_of, (n, first) in self._problems.items():
            builder.problem(kind_of, n, first)
        return replace(builder.build(step), counters=counters, provenance=provenance, runs=placed)

    def _argument_names(self) -> list[str]:
        """The names of arguments in the order of their numbers; of one sequence, as ours are."""
        texts = self._texts.all()
        tables = {id(s.tables): s.tables for s in self._sequences.states}.values()
        return [texts[c] for t in tables for c in t["debug_annotation_names"].in_order()]

    def _stated_runs(self, track: Codes, begin: Ints) -> list[tuple[int, Run]]:
        """The inferences that our own export drew on tracks of their own, each with its track."""
        if not self._run_tracks:
            return []
        own = begin[np.isin(track[begin], list(self._run_tracks))]
        texts = self._texts.all()
        names = [texts[i] if i >= 0 else NO_NAME for i in self._name.values[own].tolist()]
        numbers, ticks = (self._arguments.at(name, own) for name in ("run", "ticks"))
        found = stated_runs(names, numbers, ticks)
        self.problem("inferences without a number or ticks: left out", found.count(None), "")
        return [(int(track[e]), run) for e, run in zip(own.tolist(), found, strict=True) if run]

    def _placed(self, runs: list[tuple[int, Run]], builder: TraceBuilder) -> tuple[Run, ...]:
        """Inferences on the first track of their process."""
        uuids = list(self._uuids)
        places = self._tracks.names({uuids[track] for track, _ in runs})
        found = []
        for track, run in runs:
            process, thread = places[uuids[track]]
            own = builder.tracks_of(process) or [builder.track(process, thread)]
            found.append(replace(run, track=own[0]))
        return tuple(found)

    def _stated_counters(
        self, uuids: list[int], clock: Clock | None, provenance: Provenance
    ) -> tuple[Counter, ...]:
        """The counters of the file, on the clock of its slices."""
        found = self._counters.counters(uuids, self._tracks, self.problem, self._times_of)
        if clock is None:
            return found
        first = first_ns(provenance)
        if first is None or (not first and clock.ns_per_tick == 1):
            return found
        rate = clock.ns_per_tick
        return tuple(
            replace(c, tick=clipped([ns_to_tick(t + first, rate) for t in c.tick.tolist()]))
            for c in found
        )

    def _times_of(self, clock: int, times: Ints) -> Ints | None:
        return self._clocks.converted(list(self._clock_numbers)[clock], times)

    def _converted(self, time: Ints) -> Any:
        """Puts all times on one clock; which events stay, None for all."""
        keep = None
        clock = self._clock.take()
        if not clock.any():
            return None
        used = np.flatnonzero(np.bincount(clock, minlength=1)).tolist()
        for number in used:
            name = list(self._clock_numbers)[number]
            rows = slice(None) if len(used) == 1 else np.flatnonzero(clock == number)
            found = self._clocks.converted(name, time[rows])
            if found is not None:
                time[rows] = found
            elif len(used) > 1:
                keep = np.ones(len(time), np.bool_) if keep is None else keep
                keep[rows] = False
                self.problem(
                    f"events of clock {name[1]}, which nothing relates to the others: left out",
                    int((~keep).sum()), "",
                )  # fmt: skip
        return keep

    def _about(self, uuid: Any) -> Ints:
        """Which events say about our own export what its attributes say too."""
        found: Ints = np.empty(0, np.int64)
        described = self._tracks.by_uuid.get(_ABOUT_UUID)
        if described is not None and described.name == _ABOUT and self._is_own:
            found = np.flatnonzero(uuid == np.uint64(_ABOUT_UUID))
        return found

    @property
    def _is_own(self) -> bool:
        """Whether Opscope wrote the file."""
        return f"{PREFIX}tool" in self._attributes

    def _provenance(self) -> dict[str, int | str]:
        """What our own export says of itself; nothing of a file of another tool."""
        if not self._is_own:
            return {}
        return {name.removeprefix(PREFIX): value for name, value in self._attributes.items()}

    def _pour(
        self, builder: TraceBuilder, uuids: list[int], track: Codes, unleveled: set[int],
        starts: Ints, ends: Ints, names: Codes, keys: Codes, row: Places,
        level: NDArray[np.int32], columns: dict[str, Column], derived: Bools | None,
    ) -> None:  # fmt: skip
        """Hand the slices to the builder, track by track in the order of the descriptors."""
        # Slices come track by track.
        is_first = np.ones(len(track), np.bool_)
        is_first[1:] = track[1:] != track[:-1]
        first = np.flatnonzero(is_first)
        used = track[first].tolist()
        wanted = {uuids[n] for n in used}
        described = dict.fromkeys(
            u for u, d in self._tracks.by_uuid.items() if u in wanted or d.tid is not None
        )
        order = [*described, *(u for u in (uuids[n] for n in used) if u not in described)]
        places = self._tracks.names(order)
        shared: dict[tuple[str, str], int] = {}
        for uuid in wanted:
            shared[places[uuid]] = shared.get(places[uuid], 0) + 1
        deepest: dict[tuple[str, str], int] = {}
        for n, most in zip(used, np.maximum.reduceat(level, first) if used else (), strict=True):
            place = places[uuids[n]]
            deepest[place] = max(deepest.get(place, 0), int(most))
        number_of = {}
        units = {uuids[number]: unit for number, unit in self._units.items()}
        for uuid in order:
            # Lanes of our own in none of which a slice lies in another one: of a flat track.
            flat = self._is_own and shared.get(places[uuid], 0) > 1 and deepest[places[uuid]] == 0
            unit = units.get(uuid, Unit.NONE)
            number_of[uuid] = builder.track(*places[uuid], flat=flat, unit=unit)
        numbers = np.array([number_of[uuids[n]] for n in used], np.uint32)
        count = np.diff(first, append=len(track))
        for n, a, b in zip(used, first.tolist(), (first + count).tolist(), strict=True):
            if shared[places[uuids[n]]] > 1 or n in unleveled:
                level[a:b] = -1
        builder.add(
            track=np.repeat(numbers, count), start=starts, end=ends, name=names, key=keys,
            source_row=row.astype(np.uint32), levels=level, columns=columns, derived=derived,
        )  # fmt: skip
