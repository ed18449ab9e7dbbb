"""Reads Chrome trace events into columns, whatever their phase.

Most events are read as columns (`pieces`), others a block at a time into structs that keep times
and arguments as raw JSON. Events that this cannot parse go one by one to Python's JSON parser
(`parsed_event`). What that cannot parse is damaged, and `event_scanner` finds where events go on.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Container, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.decimal_times import times_of
from viewer.codecs.json_blocks import DAMAGED_START, Blocks, cut
from viewer.codecs.json_pieces import PADDING
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import Cancelled, Progress, stop_if
from viewer.codecs.unpacking import PackedFile, is_partial
from viewer.formats.chrome.event_blocks import BlockReader, ObjectsApart
from viewer.formats.chrome.event_fields import (
    ArgumentColumns,
    Name,
    ThreadTimes,
    flow_number,
    id_of,
    own_id,
    text_of,
)
from viewer.formats.chrome.event_scanner import (
    BEHIND,
    COMMAS,
    FAULTS,
    THREAD_TIMES,
    Event,
    EventScanner,
    KnownEnd,
    State,
    parsed_event,
)
from viewer.formats.chrome.pieces import (
    FLOW,
    INSTANT,
    METADATA,
    METADATA_NAMES,
    SLICE,
    PieceReader,
    ReadEvents,
)
from viewer.formats.chrome.stack_samples import V8_PART, V8_START
from viewer.formats.text_rows import DistinctTexts, GrowingColumn
from viewer.model.building.builder import TraceBuilder

_NO_DIRECTION = "bind_id without flow_in or flow_out: not shown as a flow"
_NO_FLOW_ID = "flow event without an id: left out"
_NO_THREAD_TIME = "thread time that is not a number: left out"
_BESIDE = ("systemTraceEvents", "powerTraceAsString")
_STACKS = "stack frames in events, or of their ends: not shown"
_THREAD_STATE = "thread state (phase 'T' with a duration): not shown"
_OTHER_METADATA = "metadata other than names and order of processes and threads: not shown"
_NO_VALUE = "counter without a number: left out"
# What an event takes at the peak, with a third of its bytes in the file for its arguments, and what
# a distinct text takes. Measured with RSS, in bytes an event: PyTorch 222 of 232 in the file
# (repeated real ones 386 of 295), viztracer 150 of 130, the smallest 177 of 60, begin and end
# events 190 of 52, counters 193 of 63, async events 424 of 77, of which half have an id of their
# own; 801 of 125 with two texts of its own each (500,000 events each).
_EVENT_MEMORY, _BYTES_MEMORY, _TEXT_MEMORY = 120, 3, 250
_NOT_CLOSED = "the file ends before its list of events: the events before the end were read"
SLICES = frozenset("XBE")
INSTANTS = frozenset("iIR")
ASYNC = frozenset("bneSTpF")
_OLD_ASYNC = frozenset("STpF")
FLOWS = frozenset("stf")


# The arguments of these phases are names and values, not arguments of a slice.
_OWN_ARGUMENTS = frozenset("MCP")


_COLUMNS: dict[str, type] = {
    "phase": np.uint32, "name": np.uint32, "cat": np.uint32, "thread": np.uint32, "ns": np.int64,
    "ps": np.int16, "timed": np.bool_, "long_ns": np.int64, "long_ps": np.int16,
    "is_long": np.bool_,
}  # fmt: skip
# The columns of the events that have them, with their rows.
_OF_SOME = {
    "identified": np.uint32, "identity": np.uint32, "stacked": np.uint32, "stack": np.uint32,
    "bound": np.uint32, "bound_flow": np.uint32, "bound_gives": np.bool_, "bound_takes": np.bool_,
}  # fmt: skip
_AT_ONCE = 1 << 16  # bytes that are read one by one, before a block is tried as a whole again
_SEPARATOR = re.compile(rb"[ \t\r\n]*,")
_PART = 1 << 16  # codes that are renumbered at once
_NO_TIMES = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int16)
_KINDS = {
    **dict.fromkeys(SLICES, SLICE),
    **dict.fromkeys(INSTANTS, INSTANT),
    **dict.fromkeys(FLOWS, FLOW),
    "M": METADATA,
}


class _Threads(dict[tuple[Name, Name], int]):
    """Numbers the pairs of pid and tid in order of appearance."""

    def __missing__(self, pair: tuple[Name, Name]) -> int:
        number = self[pair] = len(self)
        return number


class EventColumns:
    """The events of a file as parallel columns; a row is the position of an event in the file.

    phase, name, cat: codes into the texts `phases`, `names`, `cats`. thread: code into `threads`,
    pairs of pid and tid. ns, ps: time in ns and thousandths of it, where `timed`. long_ns, long_ps:
    duration, where `is_long`. identity: for the rows `identified`, a code into `identities`: an
    async event's id, a flow's id with its name and `bp`, or the scope of an instant. bound_flow,
    bound_gives, bound_takes: for the rows `bound`, which have a `bind_id`, a code of it, and
    whether the flow leads out of the slice, and into it. stack: for the rows `stacked`, a code into
    `frame_ids`. v8: name, thread, id and arguments of the events of CPU profiles. metadata: (name,
    pid, tid, arguments).
    """

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self.phases, self.names, self.cats = DistinctTexts(), DistinctTexts(), DistinctTexts()
        self.threads = _Threads()
        self.identities: dict[tuple[str, ...], int] = {}
        self.bind_ids: dict[str, int] = {}
        self.frame_ids: dict[str, int] = {}
        self.v8: list[tuple[str, tuple[Name, Name], str, bytes]] = []
        self.spans: Mapping[str, tuple[int, int]] = {}  # of values next to the events
        self.arguments = ArgumentColumns()
        self.thread_times = ThreadTimes()
        self.metadata: list[tuple[str, Name, Name, dict[str, str]]] = []
        self._named: list[tuple[int, Event]] = []  # the metadata of a block, with their rows
        self.counters: dict[tuple[int, str, str, str], tuple[list[int], list[float]]] = {}
        self.rows = 0
        self._odd: dict[str, tuple[int, int]] = {}  # problems: how often, and the first place
        self._scanner = EventScanner(parsed_event, self._count)
        self._most = 1 << 62  # bytes that are read as one block
        self.integers: Mapping[tuple[str, ...], int] = {}  # those next to the events, by key
        texts = {"ph": self.phases, "name": self.names, "cat": self.cats}
        self._block_reader = BlockReader(PieceReader(texts, self.threads, self.arguments, _KINDS))
        columns = {**_COLUMNS, **_OF_SOME}
        self._grown = {name: GrowingColumn(dtype) for name, dtype in columns.items()}

    def take(self, name: str) -> NDArray[Any]:
        """One column; it is released here."""
        return self._grown.pop(name).values

    def have_any(self, phases: Container[str]) -> bool:
        """Whether an event has one of some phases; `phases` may have others that none has."""
        has = flags_at(len(self.phases), self._grown["phase"].values)
        return any(has[code] and text in phases for text, code in self.phases.items())

    def read(self, source: PackedFile, progress: Progress, cancelled: Cancelled) -> bool:
        """Read a whole file. Returns False if it has no array of events. Raises ReadCancelled."""
        parts = Blocks(source)
        for data in parts.blocks():
            stop_if(cancelled)
            self._block(parts, data, source)
            self._reserve(source)
            progress(min(source.done, source.size), source.size)
        if parts.damaged_start >= 0:
            self._count(DAMAGED_START, 1, parts.damaged_start)
        if parts.unread:
            size = sum(size for _, size in parts.unread)
            self._count(BEHIND.format(size), len(parts.unread), parts.unread[0][0])
        if parts.arrays and not parts.closed and not source.fault and not is_partial():
            if parts.left:
                self._count("the file ends inside an event: left out", 1, parts.position)
            elif not parts.is_bare:
                self._count(_NOT_CLOSED, 1, source.unpacked)
        self._tell(source)
        for key in _BESIDE:
            if key in parts.filled or parts.texts.get(key):
                self._builder.problem(f"{key} next to the events: not shown")
        if source.fault:
            self._builder.problem(f"{source.fault}: the content before it was read")
        self._number_in_file_order()
        self.integers, self.spans = parts.integers, parts.spans
        return parts.arrays > 0

    def _number_in_file_order(self) -> None:
        """Number names and categories in the order of their first events, however these were read.

        Operators are in this order, so the same events written by another tool have the same.
        """
        for name, distinct_texts in (("name", self.names), ("cat", self.cats)):
            codes = self._grown[name].values
            first = np.full(len(distinct_texts), len(codes))
            for begin in reversed(range(0, len(codes), _PART)):
                part = codes[begin : begin + _PART]
                first[part[::-1]] = np.arange(begin + len(part) - 1, begin - 1, -1)
            order = np.argsort(first, kind="stable")
            number = np.empty(len(distinct_texts), np.uint32)
            number[order] = np.arange(len(distinct_texts))
            for begin in range(0, len(codes), _PART):
                codes[begin : begin + _PART] = number[codes[begin : begin + _PART]]
            keys = list(distinct_texts)
            distinct_texts.clear()
            distinct_texts.update((keys[old], new) for new, old in enumerate(order.tolist()))

    def _reserve(self, source: PackedFile) -> None:
        """Reserve the memory for all events. Raises NotEnoughMemory."""
        texts = len(self.names) + len(self.cats) + len(self.identities) + len(self.bind_ids)
        texts += self.arguments.distinct_texts
        taken = self.rows * _EVENT_MEMORY + source.unpacked // _BYTES_MEMORY
        allowance().expect(
            taken,
            source.share,
            source.unpacked,
            fixed=texts * _TEXT_MEMORY,
            ratio=source.ratio,
        )

    # -- one block --------------------------------------------------------------------------------

    def _count(self, kind: str, count: int, place: int) -> None:
        """Count a problem at a byte of the unpacked file."""
        had, first = self._odd.get(kind, (0, place))
        self._odd[kind] = had + count, min(first, place)

    def _tell(self, source: PackedFile) -> None:
        """Tell the counted problems, with their lines."""
        if not self._odd:
            return
        lines = source.lines_at({place for _, place in self._odd.values()})
        for kind, (count, place) in self._odd.items():
            self._builder.problem(kind, count, f"line {lines[place]}, byte {place}")

    def _block(self, parts: Blocks, data: bytes, source: PackedFile) -> None:
        position = parts.position
        # The data after the cut serves as padding; it comes again in the next block.
        end = cut(data, min(len(data) - PADDING, self._most))
        if not end:
            self._scan(parts, data, position)
            return
        try:
            read, rows, events = self._block_reader.read(data, end)
        except FAULTS:
            self._salvage(parts, data, end, position)
            return
        for kind, places in self._block_reader.odd:
            self._count(kind, len(places), position + int(places[0]))
        self._most *= 2
        parts.used = data.index(b",", end) + 1
        share = (position + end) / source.unpacked * source.done / max(source.size, 1)
        count = sum(map(len, read)) + len(events)
        # Two percent more than the events so far suggest.
        expected = int((self.rows + count) * 1.02 / max(share, 1e-9))
        self._add(events, expected, rows, read)

    # -- damaged blocks ---------------------------------------------------------------------------

    def _start(
        self,
        parts: Blocks,
        data: bytes,
        position: int,
        known_end: KnownEnd | None = None,
    ) -> EventScanner:
        self._scanner.start(
            data,
            position,
            is_last=parts.is_last,
            is_bare=parts.is_bare,
            is_behind=parts.is_behind,
            known_end=known_end,
        )
        return self._scanner

    def _finish(self, parts: Blocks, data: bytes, place: int) -> None:
        """Go on behind the events that the scanner read."""
        scanner = self._scanner
        comma = _SEPARATOR.match(data, place) if scanner.state is State.GOES_ON else None
        if comma is not None and scanner.next_event(place) >= 0:
            scanner.follows = False
            place = comma.end()
        parts.used = place
        parts.closed = scanner.state is State.CLOSED or scanner.is_given_up

    def _scan(self, parts: Blocks, data: bytes, position: int) -> None:
        """Read events one by one, as far as it is worth without trying the block as a whole."""
        scanner = self._start(parts, data, position)
        place = 0
        while scanner.state is State.GOES_ON and place < _AT_ONCE:
            place = scanner.step(place)
        self._finish(parts, data, place)
        self._add([event for _, event in scanner.found], 0)

    def _salvage(self, parts: Blocks, data: bytes, block_end: int, position: int) -> None:
        """Read the events of a block that is damaged, or has unusual ones."""
        objects = ObjectsApart(self._block_reader, data, block_end)
        self._scanner.know_length(objects.longest)
        scanner = self._start(parts, data, position, objects.known_end)
        begin, bad = objects.begin, objects.bad
        has_gone = np.zeros(len(begin), np.bool_)
        go_on = 0
        for first in sorted(bad):
            if begin[first] < go_on:
                continue
            go_on = begin[first]
            scanner.follows = False
            while scanner.state is State.GOES_ON and go_on < block_end:
                go_on = scanner.step(go_on)
                place = scanner.next_event(go_on)
                there = bisect_left(begin, place)
                if place >= 0 and there < len(begin) and begin[there] == place and there not in bad:
                    scanner.follows = False
                    go_on = place
                    break
            has_gone[first : bisect_left(begin, go_on)] = True
            if scanner.state is not State.GOES_ON:
                has_gone[bisect_left(begin, go_on) :] = True
                self._most = max(go_on, _AT_ONCE)
                break
        if scanner.state is State.GOES_ON and go_on < block_end:
            parts.used = data.index(b",", block_end) + 1
        else:
            self._finish(parts, data, go_on)
        for kind, place in objects.odd:
            # No comma is missed behind what is damaged.
            if not has_gone[place] and not (kind == COMMAS and has_gone[place - 1]):
                self._count(kind, 1, position + begin[place])
        events, rows, read = objects.remaining(has_gone, scanner.found)
        self._add(events, 0, rows, read)

    def _add(
        self,
        events: Sequence[Event],
        expected: int,
        which: Ints | None = None,
        read: Sequence[ReadEvents] = (),
    ) -> None:
        """Add the events of a block: structs, at the rows `which`, and those read as columns."""
        count = len(events) + sum(map(len, read))
        if not count:
            return
        first = self.rows
        self.rows += count
        rows = np.arange(count) if which is None else which
        parts = [(rows, self._columns(events))] if events else []
        parts += [(read_events.rows, self._columns_read(read_events)) for read_events in read]
        for name, dtype in _COLUMNS.items():
            if len(parts) == 1:
                values = parts[0][1][name]
            else:
                values = np.empty(count, dtype)
                for positions, columns in parts:
                    values[positions] = columns[name]
            self._grown[name].add(values, expected)
        for read_events in read:
            self._add_read((read_events.rows + first).astype(np.uint32), read_events)
        if events:
            self._add_structs((rows + first).astype(np.uint32), events)
        # In the order of the file, because later ones replace earlier ones.
        for row, event in sorted(self._named, key=itemgetter(0)):
            self._metadata(row, event)
        self._named.clear()

    def _add_structs(self, places: Codes, events: Sequence[Event]) -> None:
        """Add what structs have beyond the columns of all events."""
        self._extras(places, events)
        arguments = [e.args for e in events]
        if not {e.ph for e in events} <= SLICES:
            self._special(places.tolist(), events)
            arguments = [None if event.ph in _OWN_ARGUMENTS else event.args for event in events]
        has = [argument for argument in arguments if argument]
        if len(has) < len(events):
            places = places[np.fromiter(map(bool, arguments), np.bool_, len(events))]
        if has:
            self.arguments.add(places, has)

    def _add_read(self, places: Codes, read: ReadEvents) -> None:
        """Add what events read as columns have beyond the columns of all events."""
        for event_rows, kind, index in read.arguments:
            self.arguments.add_kind(kind, places[event_rows], index)
        for name, event_rows, values in read.numbers:
            self.arguments.add_numbers(name, places[event_rows], values)
        for name in THREAD_TIMES:
            if name in read.times:
                event_rows, ns, ps = read.times[name]
                self.thread_times.add(name, places[event_rows], ns, ps)
        if read.bound is not None:
            event_rows, ids, codes, gives, takes = read.bound
            self._bound(places[event_rows], ids, codes, gives, takes)
        identified, identity = [], []
        if read.instants is not None:
            event_rows, scopes, codes = read.instants
            identities = [self._identity((scope or "t",)) for scope in scopes]
            identified.append(places[event_rows])
            identity.append(np.array(identities, np.uint32)[codes])
        if read.flows is not None:
            event_rows, keys = read.flows
            identities = list(map(self._identity, keys))
            identified.append(places[event_rows])
            identity.append(np.array(identities, np.uint32))
        if identified:
            self._grown["identified"].add(np.concatenate(identified), 0)
            self._grown["identity"].add(np.concatenate(identity), 0)
        self._named += zip(places[read.metadata_at].tolist(), read.metadata, strict=True)

    def _columns(self, events: Sequence[Event]) -> dict[str, NDArray[Any]]:
        threads = map(self.threads.__getitem__, map(_PAIR, events))
        time, length = times_of([e.ts for e in events]), times_of([e.dur for e in events])
        return {
            "phase": self.phases.codes([e.ph for e in events]),
            "name": self.names.codes([e.name for e in events]),
            "cat": self.cats.codes([e.cat for e in events]),
            "thread": np.fromiter(threads, np.uint32, len(events)),
            "ns": time.ns,
            "ps": time.ps,
            "timed": time.usable,
            "long_ns": length.ns,
            "long_ps": length.ps,
            "is_long": length.usable,
        }

    def _columns_read(self, read: ReadEvents) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {
            "phase": read.phase, "name": read.name, "cat": read.cat, "thread": read.thread,
        }  # fmt: skip
        for key, ns, ps, has_time in (
            ("ts", "ns", "ps", "timed"),
            ("dur", "long_ns", "long_ps", "is_long"),
        ):
            time_rows, whole, part = read.times.get(key, _NO_TIMES)
            if len(time_rows) == len(read):
                columns |= {ns: whole, ps: part, has_time: np.ones(len(read), np.bool_)}
                continue
            columns |= {name: np.zeros(len(read), _COLUMNS[name]) for name in (ns, ps, has_time)}
            columns[ns][time_rows], columns[ps][time_rows], columns[has_time][time_rows] = (
                whole,
                part,
                True,
            )
        return columns

    def _special(self, places: Sequence[int], events: Sequence[Event]) -> None:
        rows, codes = [], []
        for row, event in zip(places, events, strict=True):
            phase = event.ph
            if phase == "M":
                self._named.append((row, event))
            elif phase == "C":
                self._counter(row, event)
            elif phase == "P" and event.name in (V8_START, V8_PART):
                event_id = own_id(event)
                self.v8.append(
                    (
                        event.name,
                        _PAIR(event),
                        str(event_id[1]) if event_id else "",
                        _object_of(event.args),
                    )
                )
            elif phase in INSTANTS:
                rows.append(row)
                codes.append(self._identity((event.s or "t",)))
            elif phase in _OLD_ASYNC:
                if phase == "T" and event.dur and not own_id(event):
                    self._builder.problem(_THREAD_STATE, 1, f"event {row}")
                    continue
                # Older events are matched by their name and not by their category.
                rows.append(row)
                codes.append(self._identity(("", *id_of(event)[1:], event.name, "old")))
            elif phase in ASYNC:
                rows.append(row)
                codes.append(self._identity(id_of(event)))
            elif phase in FLOWS:
                event_id = own_id(event)
                if event_id is None:
                    self._builder.problem(_NO_FLOW_ID, 1, f"event {row}")
                    continue
                rows.append(row)
                key = *id_of(event)[:3], flow_number(event_id[1]), event.name, event.bp
                codes.append(self._identity(key))
        if rows:
            self._grown["identified"].add(np.array(rows, np.uint32), 0)
            self._grown["identity"].add(np.array(codes, np.uint32), 0)

    def _extras(self, places: Codes, events: Sequence[Event]) -> None:
        """Add what few events have: flows, thread times; count stack frames."""
        bound = [i for i, event in enumerate(events) if event.bind_id is not None]
        if bound:
            ids = [events[i].bind_id for i in bound]
            gives = np.array([events[i].flow_out is True for i in bound])
            takes = np.array([events[i].flow_in is True for i in bound])
            self._bound(places[bound], ids, np.arange(len(ids)), gives, takes)
        timed = [i for i, event in enumerate(events) if event.tts or event.tdur]
        for name in THREAD_TIMES if timed else ():
            index = [i for i in timed if getattr(events[i], name)]
            bad = self.thread_times.add_raw(
                name, places[index], [getattr(events[i], name) for i in index]
            )
            if len(bad):
                self._builder.problem(_NO_THREAD_TIME, len(bad), f"event {int(bad[0])}")
        stacks = [i for i, event in enumerate(events) if event.sf]
        if stacks:
            codes = [
                self.frame_ids.setdefault(_frame_id(events[i].sf), len(self.frame_ids))
                for i in stacks
            ]
            self._grown["stacked"].add(places[stacks], 0)
            self._grown["stack"].add(np.array(codes, np.uint32), 0)
        inline = [i for i, e in enumerate(events) if e.stack or e.esf or e.estack]
        if inline:
            self._builder.problem(_STACKS, len(inline), f"event {int(places[inline[0]])}")

    def _bound(
        self, places: Codes, ids: Sequence[Name], codes: Codes | Ints, gives: Bools, takes: Bools
    ) -> None:
        """Add the flows of slices with a `bind_id`, given as codes into some ids.

        The id alone identifies a flow.
        """
        numbers = [
            self.bind_ids.setdefault(flow_number(bind_id), len(self.bind_ids)) for bind_id in ids
        ]
        flow = np.array(numbers, np.uint32)[codes]
        directed = gives | takes
        if not directed.all():
            first = int(places[np.argmin(directed)])
            self._builder.problem(_NO_DIRECTION, int((~directed).sum()), f"event {first}")
        for name, values in (
            ("bound", places),
            ("bound_flow", flow),
            ("bound_gives", gives),
            ("bound_takes", takes),
        ):
            self._grown[name].add(values[directed], 0)

    def _metadata(self, row: int, event: Event) -> None:
        if event.name not in METADATA_NAMES:
            self._builder.problem(_OTHER_METADATA, 1, f"event {row}")
            return
        texts = {name: text_of(bytes(v)) for name, v in (event.args or {}).items()}
        self.metadata.append((event.name, event.pid, event.tid, texts))

    def _identity(self, key: tuple[str, ...]) -> int:
        return self.identities.setdefault(key, len(self.identities))

    def _counter(self, row: int, event: Event) -> None:
        """Add a counter event. Each of its arguments is a separate series."""
        thread = self.threads[_PAIR(event)]
        ident = id_of(event)[3]
        for name, value in (event.args or {}).items():
            try:
                number = float(bytes(value).strip(b'"'))
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                self._builder.problem(_NO_VALUE, 1, f"event {row}")
                continue
            rows, values = self.counters.setdefault((thread, event.name, ident, name), ([], []))
            rows.append(row)
            values.append(number)


def _frame_id(raw: msgspec.Raw) -> str:
    """The id of a stack frame as text, so that 7 and "7" are the same."""
    try:
        value = _ANY.decode(raw)
    except FAULTS:
        return ""
    return str(value) if type(value) in (int, str) else ""


def _object_of(arguments: Mapping[str, msgspec.Raw] | None) -> bytes:
    """Arguments as JSON again."""
    members = (b"%b:%b" % (_ANY_TEXT(k), bytes(v)) for k, v in (arguments or {}).items())
    return b"{%b}" % b",".join(members)


_ANY = msgspec.json.Decoder()
_ANY_TEXT = msgspec.json.Encoder().encode
_PAIR: Callable[[Event], tuple[Name, Name]] = attrgetter("pid", "tid")
