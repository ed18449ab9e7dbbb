"""The slice packets of a Perfetto file, encoded by columns; `perfetto_trace` says what they mean.

Everything that slices share (names, texts, what is known about a key) is encoded once, with the
official protos; what differs from slice to slice (times, ticks, columns) is encoded by numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.protobuf.writer import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Blobs,
    Doubles,
    Fixed64s,
    Joined,
    Literal,
    Message,
    Picked,
    Piece,
    Varints,
    Where,
    assemble,
    tag,
    varint,
)
from viewer.export.perfetto.bookmarks import UNNAMED
from viewer.export.perfetto.packets import SEQUENCE, InternedStrings, field
from viewer.export.perfetto.passthrough import stated
from viewer.export.perfetto.source import FlowEdges, PerfettoSource
from viewer.model.queries import run_of_slices
from viewer.model.times import tick_to_ns, ticks_to_ns
from viewer.model.trace import Column, KeyKind, Unit

# Arguments with a meaning of their own: a column of a file that has such a name is renamed, since
# of two arguments with one name trace_processor keeps the last.
RESERVED = frozenset(
    (
        "start_ticks", "dur_ticks", "event", "operator", "debug_handles", "module", "source",
        "identifier", "instruction_id", "location", "link_reason", "derived", "run",
        "estimate_ticks", "estimate_ns",
    )
)  # fmt: skip

_AT_ONCE = 1 << 18  # slices whose codes are looked through at once

# Field numbers of Trace, TracePacket, TrackEvent and DebugAnnotation.
PACKET = 1
TRACK_EVENT, TRACK_UUID = 11, 11
_ANNOTATION = 4
_ARG_NAME_IID, _ARG_BOOL, _ARG_UINT, _ARG_INT, _ARG_DOUBLE, _ARG_TEXT_IID = 1, 2, 3, 4, 5, 17

TIME = tag(8, VARINT)
SEQUENCE_ID = tag(10, VARINT) + varint(SEQUENCE)
_FLAGS = tag(13, VARINT) + varint(pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
_BEGIN = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_SLICE_BEGIN) + tag(10, VARINT)  # + name iid
_FLOWS, _TERMINATING_FLOWS = tag(47, FIXED64), tag(48, FIXED64)
_END = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_SLICE_END)


def _table(used: Sequence[int], size: int, number: Callable[[int], int]) -> Ints:
    """number(code) at every used code, -1 elsewhere."""
    table = np.full(size, -1)
    table[used] = [number(code) for code in used]
    return table


def _set(argument: Any, value: int | str, strings: InternedStrings) -> None:
    """Give an argument its value; an int that no int64 holds goes as text."""
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        argument.int_value = value
    else:
        argument.string_value_iid = strings.value(str(value))


def _in_order_of_use(own: Codes, size: int, codes_of: Callable[[Codes], NDArray[Any]]) -> list[int]:
    """The codes 0 .. size-1 that slices have, by the first slice that has each.

    Texts are numbered in this order, whatever the order of a reader's tables: so the same slices
    give the same bytes. codes_of: those of some slices, in their order; some may have none.
    """
    first = np.full(size, len(own))
    for begin in reversed(range(0, len(own), _AT_ONCE)):
        codes = codes_of(own[begin : begin + _AT_ONCE])
        # Of equal indexes the last assignment stays: that of the first slice.
        first[codes[::-1]] = np.arange(begin + len(codes) - 1, begin - 1, -1)
    used = np.flatnonzero(first < len(own))
    found: list[int] = used[np.argsort(first[used])].tolist()
    return found


class BracketOrder:
    """Where the BEGIN and the END of every slice stand in the file, from preorder depths alone.

    After BEGIN i come the ENDs of the slices at depth[i], depth[i] - 1, ... down to the depth of
    slice i + 1: `closes[i]` of them. The m-th END at a depth ends the m-th slice of that depth.
    `depth` covers whole lanes one after another, each beginning at depth 0.
    """

    def __init__(self, depth: NDArray[Any]) -> None:
        n = len(depth)
        depth = depth.astype(np.int16)  # at most 500 levels; 16 bits are sorted by radix
        self.closes = depth + np.int16(1)
        self.closes[:-1] -= depth[1:]
        self.ends_before: Ints = np.zeros(n + 1, np.int64)
        np.cumsum(self.closes, out=self.ends_before[1:])
        nth = np.arange(n) - np.repeat(self.ends_before[:-1], self.closes)
        end_depth = (np.repeat(depth, self.closes) - nth).astype(np.int16)
        self.owner: Codes = np.empty(n, np.uint32)
        self.owner[np.argsort(end_depth, kind="stable")] = np.argsort(depth, kind="stable")

    def part(self, first: int, last: int) -> tuple[Ints, Ints, Codes]:
        """Positions of BEGINs first .. last-1, of the ENDs among and after them, whose ENDs."""
        m = np.arange(self.ends_before[first], self.ends_before[last])
        i = np.arange(first, last)
        origin = first + self.ends_before[first]
        begins = i + self.ends_before[first:last] - origin
        ends = m + np.repeat(i, self.closes[first:last]) + 1 - origin
        return begins, ends, self.owner[m]

    def after_subtree(self) -> Ints:
        """For every slice the preorder number after its last descendant."""
        n = len(self.owner)
        after = np.empty(n, np.int64)
        after[self.owner] = np.repeat(np.arange(n), self.closes) + 1
        return after


class Timestamps:
    """Turns ticks of a source into the ns of a file: the floor, from the file's origin on."""

    def __init__(self, source: PerfettoSource, origin: int) -> None:
        ratio = self._ratio = source.ns_per_tick
        # A multiple of the denominator can be taken off before flooring without changing a result;
        # what is left is small and cannot overflow.
        self._base = source.trace.start // ratio.denominator * ratio.denominator
        self._shift = tick_to_ns(self._base, ratio) + source.offset_ns - origin

    def __call__(self, ticks: Ints) -> Ints:
        """The ns of ticks between the start and the end of the trace."""
        # Modular on purpose: the base may lie below int64, the differences never do.
        rest = (ticks.view(np.uint64) - np.uint64(self._base % 2**64)).view(np.int64)
        return ticks_to_ns(rest, self._ratio) + np.int64(self._shift)


def _limited(window: tuple[int, int]) -> tuple[int, int]:
    """The same in what an int64 can hold."""
    first, last = (min(max(t, -(2**63)), 2**63 - 1) for t in window)
    return first, last


class SlicePackets:
    """All slices of one source that are to be written, ready to be encoded a span at a time.

    `count`: slices to write. `first_ns`: the earliest of them, 0 if there are none. `uuids`: of
    each (track, lane). Strings are added to `strings`, whose packets must be written first.
    `over_edge`: how many reach over an edge of the window. `tracks`: how many tracks they are on.
    `flows`: the flows among them that were found; `flows_written`: how many of these have ids, from
    `flow_id` on.
    """

    def __init__(
        self,
        source: PerfettoSource,
        origin: int,
        window: tuple[int, int] | None,
        uuids: dict[tuple[int, int], int],
        strings: InternedStrings,
        flow_id: int = 1,
    ) -> None:
        self._source = source
        self._slices = slices = source.trace.slices
        self._strings = strings
        self._stated = stated(source.trace, source.facts)
        self._ns = Timestamps(source, origin)
        self._row = slices.rows()
        self._preorder: Codes = np.empty(len(slices), np.uint32)
        self._preorder[slices.order] = np.arange(len(slices), dtype=np.uint32)
        self._brackets = BracketOrder(slices.row_depth[self._row[self._preorder]])
        self.over_edge = 0
        if source.only is not None:
            chosen = np.zeros(len(slices), np.bool_)
            chosen[source.only] = True
            self._keep(chosen[self._preorder])
        elif window is not None:
            self._keep(self._inside(*window))
        if window is not None:
            low, high = _limited(window)
            start, end = (self._ns(t[self._preorder]) for t in (slices.start, slices.end))
            self.over_edge = int(((start < low) | (end > high)).sum())
        self.count = len(self._preorder)
        derived = slices.derived
        self.computed = 0 if derived is None else int(derived[self._preorder].sum())
        self.first_ns = int(self._ns(slices.start[self._preorder]).min()) if self.count else 0
        written_rows = np.bincount(self._row[self._preorder], minlength=len(slices.row_track))
        self.tracks = len(np.unique(slices.row_track[written_rows > 0]))
        self._intern(uuids)
        self._connect(flow_id)

    def _keep(self, keep: Bools) -> None:
        """Leave out all other slices; those inside one that is left out come up a level."""
        kept = np.cumsum(keep)
        ended = np.cumsum(np.bincount(self._brackets.after_subtree()[keep], minlength=len(keep)))
        depth = (kept - 1 - ended[: len(keep)])[keep]
        self._preorder = self._preorder[keep]
        self._brackets = BracketOrder(depth)

    def _connect(self, flow_id: int) -> None:
        """Give every flow an id: one that begins at its producer and ends at its consumer.

        The engine follows an id in the order of time, and of the file among equal times, so a
        consumer that stands before its producer would end a flow that has not begun.
        """
        source, slices = self._source, self._slices
        self.flows, self.flows_written = FlowEdges.none(), 0
        self._flow_ends: list[tuple[bytes, Ints, NDArray[np.uint64]]] = []
        if source.flows is None or not self.count:
            return
        whole = self.count == len(slices)
        self.flows = found = source.flows(
            None if whole else np.sort(self._preorder).astype(np.int64)
        )
        if not len(found.producer):
            return
        place = np.empty(len(slices), np.uint32)
        place[self._preorder] = np.arange(self.count, dtype=np.uint32)
        ends = [place[side].astype(np.int64) for side in (found.producer, found.consumer)]
        times = [self._ns(slices.start[side]) for side in (found.producer, found.consumer)]
        good = (times[0] < times[1]) | ((times[0] == times[1]) & (ends[0] < ends[1]))
        self.flows_written = int(good.sum())
        ids = np.arange(flow_id, flow_id + self.flows_written, dtype=np.uint64)
        for head, end in zip((_FLOWS, _TERMINATING_FLOWS), ends, strict=True):
            at = end[good]
            order = np.argsort(at, kind="stable")
            self._flow_ends.append((head, at[order], ids[order]))

    def _inside(self, first: int, last: int) -> Bools:
        """Which slices, in preorder, share time with [first, last), and those around them."""
        start = self._ns(self._slices.start[self._preorder])
        end = self._ns(self._slices.end[self._preorder])
        low, high = _limited((first, last))
        keep: Bools = (start < high) & ((end > low) | ((start == end) & (start >= low)))
        # A slice that ends where the range begins may hold a zero-length slice at that time.
        kept_before = np.append(0, np.cumsum(keep))
        after = self._brackets.after_subtree()
        keep |= kept_before[after] > kept_before[1:]
        return keep

    # -- what slices share ---------------------------------------------------------------------

    def _intern(self, uuids: dict[tuple[int, int], int]) -> None:
        source, slices = self._source, self._slices
        lanes = list(uuids)
        numbers = {lane: i for i, lane in enumerate(lanes)}
        self._lane_of_row = np.array(
            [
                numbers[place]
                for place in zip(slices.row_track.tolist(), slices.row_lane.tolist(), strict=True)
            ],
            np.int64,
        )
        of_lane = [varint(uuids[lane]) for lane in lanes]
        self._lane_category: Blobs | None = None
        units = [source.trace.tracks[track].unit for track, _ in lanes]
        if any(units):
            self._lane_category = Blobs([self._category(unit) for unit in units])
        track = tag(TRACK_UUID, VARINT)
        self._begin_track = Blobs([track + uuid for uuid in of_lane])
        self._end_tail = Blobs(
            [SEQUENCE_ID + field(TRACK_EVENT, _END + track + uuid) + _FLAGS for uuid in of_lane]
        )

        self._intern_names()
        self._intern_keys()
        self._category_of_slice = self._text_of_slice(self._stated.category, self._categories)
        self._correlation_of_slice = self._text_of_slice(
            self._stated.correlation, self._correlation_id
        )
        self._arguments: list[Callable[[Codes], Piece]] = []
        if source.annotations and self.count:
            self._intern_arguments()

    def _intern_names(self) -> None:
        """The names under which slices are written: their labels, or else their own."""
        source, slices, strings, own = self._source, self._slices, self._strings, self._preorder
        names, labels, of = source.trace.strings, source.label_strings, source.labels
        count = len(names)
        if of is None:
            used = _in_order_of_use(own, count, lambda part: slices.name[part])
        else:
            has_text = np.array([bool(label) for label in labels], np.bool_)

            def shown(part: Codes) -> Ints:
                label = of[part].astype(np.int64)
                return np.where(has_text[label], label + count, slices.name[part])

            used = _in_order_of_use(own, count + len(labels), shown)
        of_text = [
            (code, strings.event_name((names[code] or UNNAMED) if code < count
                                      else labels[code - count]))
            for code in used
        ]  # fmt: skip
        # A name under which no slice is written has no number: -1.
        self._name_iid = np.full(count, -1)
        self._label_iid = None if of is None else np.zeros(len(labels), np.int64)
        for code, number in of_text:
            if code < count:
                self._name_iid[code] = number
            elif self._label_iid is not None:
                self._label_iid[code - count] = number

    def _intern_keys(self) -> None:
        """Category, arguments and correlation id of every key that is written."""
        keys, slices = self._source.trace.keys, self._slices
        used = _in_order_of_use(self._preorder, len(keys), lambda part: slices.key[part])
        arguments, correlations, categories = ([b""] * len(keys) for _ in range(3))
        for key in used:
            correlations[key] = self._correlation(key)
            categories[key] = self._category(KeyKind(keys.kind[key]))
            if self._source.annotations:
                arguments[key] = self._key(key)
        self._key_args = Blobs(arguments)
        self._key_correlation = Blobs(correlations)
        self._key_category = Blobs(categories)
        several = {categories[key] for key in used}
        # Where all slices are of one kind nothing has to be looked up for each.
        self._one_category = several.pop() if len(several) == 1 else None

    def _category(self, kind: KeyKind | Unit) -> bytes:
        """What sort of slice it is, or of which unit; nothing where the file does not say."""
        if not kind:
            return b""
        return self._categories(kind.name)

    def _categories(self, text: str) -> bytes:
        """Categories, separated by commas where an import has several."""
        numbers = [self._strings.category(one) for one in text.split(",")]
        return bytes(pb.TrackEvent(category_iids=numbers).SerializeToString())

    def _text_of_slice(
        self, column: Column | None, encode: Callable[[str], bytes]
    ) -> Callable[[Codes], Piece] | None:
        """The field of slices that a column of texts gives, None if it gives none."""
        if column is None or column.strings is None:
            return None
        present = self._with_value(column)
        blobs = [b""] * len(column.strings)
        for code in _in_order_of_use(present, len(blobs), lambda part: column.values[part]):
            blobs[code] = encode(column.strings[code])
        table, valid = Blobs([*blobs, b""]), column.valid
        if valid is None:
            return lambda own: Picked(table, column.values[own])
        return lambda own: Picked(table, np.where(valid[own], column.values[own], len(blobs)))

    def _with_value(self, column: Column) -> Codes:
        """The slices to be written that have a value, in their order."""
        own = self._preorder
        return own if column.valid is None else own[column.valid[own]]

    def _intern_arguments(self) -> None:
        """The arguments that differ from slice to slice, in the order in which they stand."""
        source, slices = self._source, self._slices
        # A tick that lasts 1 ns is the timestamp itself, but for the origin of the file.
        if source.ns_per_tick != 1:
            start_arg = self._number_arg("start_ticks", _ARG_INT)
            dur_arg = self._number_arg("dur_ticks", _ARG_INT)
            self._arguments += [
                lambda own: Varints(slices.start[own], start_arg),
                lambda own: Varints(slices.end[own] - slices.start[own], dur_arg),
            ]
        self._intern_events()
        self._arguments.append(lambda own: Picked(self._key_args, slices.key[own]))
        self._intern_run()
        taken = set(RESERVED)
        for name, column in slices.columns.items():
            if name in self._stated.names or not len(present := self._with_value(column)):
                continue
            shown = name or "column"
            while shown in taken:
                shown = f"column {shown}"
            taken.add(shown)
            self._arguments.append(self._column(shown, column, present))
        if (is_derived := slices.derived) is not None and is_derived[self._preorder].any():
            flag = self._number_arg("derived", _ARG_BOOL)(1) + b"\1"

            def derived(own: Codes) -> Piece:
                mask = is_derived[own]
                return Where(mask, Literal(flag, int(mask.sum())))

            self._arguments.append(derived)

    def _intern_events(self) -> None:
        """The names in the input of slices that are shown under another one."""
        source, slices, own = self._source, self._slices, self._preorder
        names, strings = source.trace.strings, self._strings
        if self._stated.event is not None:
            self._arguments.append(self._stated_argument("event", self._stated.event))
        if self._label_iid is None:
            return

        def other(part: Codes) -> Bools:
            differs: Bools = self._shown(part) != self._name_iid[slices.name[part]]
            if self._stated.event is not None:
                valid = self._stated.event.valid
                differs &= False if valid is None else ~valid[part]
            return differs

        used = _in_order_of_use(own, len(names), lambda part: slices.name[part[other(part)]])
        if not used:
            return
        event_iid = _table(used, len(names), lambda i: strings.value(names[i]))
        event_arg = self._text_arg("event")

        def event(part: Codes) -> Piece:
            at = other(part)
            return Where(at, Varints(event_iid[slices.name[part[at]]], event_arg))

        self._arguments.append(event)

    def _intern_run(self) -> None:
        """The number of the inference in which a slice begins."""
        trace = self._source.trace
        if self._stated.run is not None:
            self._arguments.append(self._stated_argument("run", self._stated.run))
        elif any(trace.inferences()):
            numbers = np.array([*(run.number for run in trace.runs), 0], np.uint32)
            of_slice = numbers[run_of_slices(trace)]  # those of no run are of the last, 0
            if not of_slice[self._preorder].any():
                return
            run_arg = self._number_arg("run", _ARG_INT)

            def run(own: Codes) -> Piece:
                number = of_slice[own]
                return Where(number > 0, Varints(number[number > 0], run_arg))

            self._arguments.append(run)

    def _key(self, key: int) -> bytes:
        """The arguments that all slices of a key have."""
        strings, keys, facts = self._strings, self._source.trace.keys, self._stated.facts
        event = pb.TrackEvent()

        def add(name: str) -> Any:
            return event.debug_annotations.add(name_iid=strings.argument(name))

        def text(name: str, value: str | None) -> None:
            if value:
                add(name).string_value_iid = strings.value(value)

        if facts is not None:
            if facts.operators[key]:
                values = add("operator").array_values
                for operator in facts.operators[key]:
                    values.add(string_value_iid=strings.value(operator))
            if facts.debug_handles[key]:
                values = add("debug_handles").array_values
                for handle in facts.debug_handles[key]:
                    _set(values.add(), handle, strings)
            text("module", facts.modules[key])
            text("source", facts.sources[key])
            text("link_reason", facts.reasons[key])
            if key in facts.estimates:
                ticks, ns = facts.estimates[key]
                _set(add("estimate_ticks"), ticks, strings)
                add("estimate_ns").double_value = ns
        identifier = keys.identifier[key]
        if identifier is not None:
            _set(add("identifier"), identifier, strings)
        if keys.instruction[key] >= 0:
            add("instruction_id").int_value = int(keys.instruction[key])
        locations = self._stated.locations
        text("location", keys.location[key] or (locations[key] if locations else None))
        return bytes(event.SerializeToString())

    def _correlation(self, key: int) -> bytes:
        """The correlation id that all slices of a key have."""
        facts = self._stated.facts
        same = facts.correlation[key] if facts is not None else None
        return self._correlation_id(same) if same else b""

    def _correlation_id(self, text: str) -> bytes:
        """The correlation id of a text."""
        number = self._strings.correlation(text)
        return bytes(pb.TrackEvent(correlation_id_str_iid=number).SerializeToString())

    def _number_arg(self, name: str, number: int) -> Callable[[int], bytes]:
        """The bytes of an argument before a varint value of a given length."""
        inner = tag(_ARG_NAME_IID, VARINT) + varint(self._strings.argument(name))
        inner += tag(number, VARINT)
        heads = [
            tag(_ANNOTATION, LENGTH_DELIMITED) + varint(len(inner) + size) + inner
            for size in range(11)
        ]
        return heads.__getitem__

    def _text_arg(self, name: str) -> Callable[[int], bytes]:
        return self._number_arg(name, _ARG_TEXT_IID)

    def _stated_argument(self, name: str, column: Column) -> Callable[[Codes], Piece]:
        """An argument whose values an import states."""
        return self._column(name, column, self._with_value(column))

    def _column(self, name: str, column: Column, present: Codes) -> Callable[[Codes], Piece]:
        """Encodes the values of given slices; nulls become nothing. present: all that have one."""
        values, valid = column.values, column.valid
        encode: Callable[[NDArray[Any]], Piece]
        if column.strings is not None:
            head, table = self._text_arg(name), column.strings
            used = _in_order_of_use(present, len(table), lambda part: values[part])
            iid = np.zeros(len(table), np.int64)
            iid[used] = self._strings.values([table[i] for i in used])
            encode = lambda codes: Varints(iid[codes], head)  # noqa: E731
        elif values.dtype.kind == "f":
            inner = tag(_ARG_NAME_IID, VARINT) + varint(self._strings.argument(name))
            inner += tag(_ARG_DOUBLE, FIXED64)
            double = tag(_ANNOTATION, LENGTH_DELIMITED) + varint(len(inner) + 8) + inner
            encode = lambda numbers: Doubles(numbers, double)  # noqa: E731
        else:
            number = {"b": _ARG_BOOL, "u": _ARG_UINT}.get(values.dtype.kind, _ARG_INT)
            head = self._number_arg(name, number)
            encode = lambda numbers: Varints(numbers, head)  # noqa: E731

        def piece(own: Codes) -> Piece:
            if valid is None:
                return encode(values[own])
            mask = valid[own]
            return Where(mask, encode(values[own[mask]]))

        return piece

    # -- what differs from slice to slice -------------------------------------------------------

    def encoded(self, first: int, last: int) -> bytes:
        """The packets of slices first .. last-1 in preorder, and of the ENDs among and after."""
        begin_at, end_at, owner = self._brackets.part(first, last)
        own = self._preorder[first:last]
        return assemble(
            [(begin_at, self._begins(own, first)), (end_at, self._ends(self._preorder[owner]))]
        )

    def _shown(self, own: Codes) -> Ints:
        """The numbers of the names under which slices are written."""
        names = self._name_iid[self._slices.name[own]]
        if self._label_iid is None or self._source.labels is None:
            return names
        label = self._label_iid[self._source.labels[own]]
        return np.where(label == 0, names, label)

    def _begins(self, own: Codes, first: int) -> Piece:
        slices, n = self._slices, len(own)
        start, key = slices.start[own], slices.key[own]
        pieces: list[Piece] = []
        if self._one_category is None:
            pieces.append(Picked(self._key_category, key))
        elif self._one_category:
            pieces.append(Literal(self._one_category, n))
        if self._category_of_slice is not None:
            pieces.append(self._category_of_slice(own))
        lane = self._lane_of_row[self._row[own]]
        if self._lane_category is not None:
            pieces.append(Picked(self._lane_category, lane))
        pieces += [argument(own) for argument in self._arguments]
        pieces += [
            Varints(self._shown(own), lambda size: _BEGIN),
            Picked(self._begin_track, lane),
        ]
        for head, at, ids in self._flow_ends:
            some = slice(*np.searchsorted(at, [first, first + n]).tolist())
            if some.start < some.stop:
                pieces.append(Fixed64s(n, at[some] - first, ids[some], head))
        pieces.append(Picked(self._key_correlation, key))
        if self._correlation_of_slice is not None:
            pieces.append(self._correlation_of_slice(own))
        packet = Joined(
            Varints(self._ns(start), lambda size: TIME),
            Literal(SEQUENCE_ID, n),
            Message(TRACK_EVENT, Joined(*pieces)),
            Literal(_FLAGS, n),
        )
        return Message(PACKET, packet)

    def _ends(self, own: Codes) -> Piece:
        packet = Joined(
            Varints(self._ns(self._slices.end[own]), lambda size: TIME),
            Picked(self._end_tail, self._lane_of_row[self._row[own]]),
        )
        return Message(PACKET, packet)
