"""The slice packets of a Perfetto file, encoded by columns; `writer.py` documents them.

Everything that slices share (names, texts, facts about a key) is encoded once, with the official
protos; what varies by slice (times, ticks, columns) is encoded by numpy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.protobuf.writer import (
    FIXED64,
    VARINT,
    Blobs,
    Fixed64s,
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
from viewer.export.perfetto.arguments import SliceArguments, stated
from viewer.export.perfetto.packets import (
    FLAGS,
    PACKET,
    SEQUENCE_ID,
    TIME,
    TRACK_EVENT,
    TRACK_UUID,
    BracketOrder,
    InternedStrings,
    Timestamps,
    field,
    in_order_of_use,
    with_value,
)
from viewer.export.perfetto.source import FlowEdges, PerfettoSource
from viewer.export.perfetto.tracks import UNNAMED
from viewer.model.queries import preorder
from viewer.model.trace import Column, KeyKind, Unit

# Fields of TrackEvent.
_BEGIN = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_SLICE_BEGIN) + tag(10, VARINT)  # + name iid
_FLOWS, _TERMINATING_FLOWS = tag(47, FIXED64), tag(48, FIXED64)
_END = tag(9, VARINT) + varint(pb.TrackEvent.TYPE_SLICE_END)


def _limited(window: tuple[int, int]) -> tuple[int, int]:
    """Clamp a window to int64."""
    first, last = (min(max(t, -(2**63)), 2**63 - 1) for t in window)
    return first, last


class SlicePackets:
    """All slices of one source to write, to be encoded in chunks.

    `count`: slices to write. `first_ns`: the earliest start, 0 if there are none. `uuids`: of each
    (track, lane). Strings are added to `strings`, whose packets must be written first. `over_edge`:
    how many cross an edge of the window. `tracks`: how many tracks they are on. `flows`: the flows
    found among them; `flows_written`: how many of these have IDs, from `flow_id` on.
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
        self._preorder: Codes = preorder(slices).astype(np.uint32)
        self._brackets = BracketOrder(slices.row_depth[self._row[self._preorder]])
        self.over_edge = 0
        if source.only is not None:
            chosen = flags_at(len(slices), source.only)
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
        """Drop all other slices; descendants of a dropped slice move up a level."""
        count_before = np.cumsum(keep)
        ended = np.cumsum(np.bincount(self._brackets.after_subtree()[keep], minlength=len(keep)))
        depth = (count_before - 1 - ended[: len(keep)])[keep]
        self._preorder = self._preorder[keep]
        self._brackets = BracketOrder(depth)

    def _connect(self, flow_id: int) -> None:
        """Assign an ID to every flow; it starts at its producer and ends at its consumer.

        The engine follows an ID in order of time, and of the file for equal times. So a consumer
        before its producer would end a flow that has not started.
        """
        source, slices = self._source, self._slices
        self.flows, self.flows_written = FlowEdges.none(), 0
        self._flow_ends: list[tuple[bytes, Ints, NDArray[np.uint64]]] = []
        if source.flows is None or not self.count:
            return
        whole = self.count == len(slices)
        self.flows = flow_edges = source.flows(
            None if whole else np.sort(self._preorder).astype(np.int64)
        )
        if not len(flow_edges.producer):
            return
        place = np.empty(len(slices), np.uint32)
        place[self._preorder] = np.arange(self.count, dtype=np.uint32)
        sides = flow_edges.producer, flow_edges.consumer
        ends = [place[side].astype(np.int64) for side in sides]
        times = [self._ns(slices.start[side]) for side in sides]
        is_valid = (times[0] < times[1]) | ((times[0] == times[1]) & (ends[0] < ends[1]))
        self.flows_written = int(is_valid.sum())
        ids = np.arange(flow_id, flow_id + self.flows_written, dtype=np.uint64)
        for head, end in zip((_FLOWS, _TERMINATING_FLOWS), ends, strict=True):
            end_ranks = end[is_valid]
            order = np.argsort(end_ranks, kind="stable")
            self._flow_ends.append((head, end_ranks[order], ids[order]))

    def _inside(self, first: int, last: int) -> Bools:
        """Return which slices, in preorder, overlap [first, last), and their ancestors."""
        start = self._ns(self._slices.start[self._preorder])
        end = self._ns(self._slices.end[self._preorder])
        low, high = _limited((first, last))
        keep: Bools = (start < high) & ((end > low) | ((start == end) & (start >= low)))
        # A slice that ends where the range starts may contain a zero-length slice at that time.
        kept_before = np.append(0, np.cumsum(keep))
        after = self._brackets.after_subtree()
        keep |= kept_before[after] > kept_before[1:]
        return keep

    # -- what slices share ---------------------------------------------------------------------

    def _intern(self, uuids: dict[tuple[int, int], int]) -> None:
        source, slices = self._source, self._slices
        lanes = list(uuids)
        numbers = {lane: i for i, lane in enumerate(lanes)}
        places = zip(slices.row_track.tolist(), slices.row_lane.tolist(), strict=True)
        self._lane_of_row = np.array([numbers[place] for place in places], np.int64)
        of_lane = [varint(uuids[lane]) for lane in lanes]
        self._lane_category: Blobs | None = None
        units = [source.trace.tracks[track].unit for track, _ in lanes]
        if any(units):
            self._lane_category = Blobs([self._category(unit) for unit in units])
        track = tag(TRACK_UUID, VARINT)
        self._begin_track = Blobs([track + uuid for uuid in of_lane])
        self._end_tail = Blobs(
            [SEQUENCE_ID + field(TRACK_EVENT, _END + track + uuid) + FLAGS for uuid in of_lane]
        )

        self._intern_names()
        arguments = SliceArguments(source, self._stated, self._preorder, self._strings)
        self._intern_keys(arguments)
        self._category_of_slice = self._text_of_slice(self._stated.category, self._categories)
        self._correlation_of_slice = self._text_of_slice(
            self._stated.correlation, self._correlation_id
        )
        self._arguments: list[Callable[[Codes], Piece]] = []
        if source.annotations and self.count:
            renamed = None if self._label_iid is None else self._is_renamed
            self._arguments = arguments.of_slices(self._key_args, renamed)

    def _intern_names(self) -> None:
        """Intern the names of slices: their labels, or else their own names."""
        source, slices, strings, rows = self._source, self._slices, self._strings, self._preorder
        names, labels = source.trace.strings, source.label_strings
        of = None if source.own_names else source.labels
        count = len(names)
        if of is None:
            used = in_order_of_use(rows, count, lambda part: slices.name[part])
        else:
            has_text = np.array([bool(label) for label in labels], np.bool_)

            def shown(part: Codes) -> Ints:
                label = of[part].astype(np.int64)
                return np.where(has_text[label], label + count, slices.name[part])

            used = in_order_of_use(rows, count + len(labels), shown)
        # The number of a name without written slices is -1.
        self._name_iid = np.full(count, -1)
        self._label_iid = None if of is None else np.zeros(len(labels), np.int64)
        for code in used:
            if code < count:
                self._name_iid[code] = strings.event_name(names[code] or UNNAMED)
            elif self._label_iid is not None:
                self._label_iid[code - count] = strings.event_name(labels[code - count])

    def _intern_keys(self, of: SliceArguments) -> None:
        """Encode category, arguments and correlation ID of every key that is written."""
        keys, slices = self._source.trace.keys, self._slices
        used = in_order_of_use(self._preorder, len(keys), lambda part: slices.key[part])
        arguments, correlations, categories = ([b""] * len(keys) for _ in range(3))
        for key in used:
            correlations[key] = self._correlation(key)
            categories[key] = self._category(KeyKind(keys.kind[key]))
            if self._source.annotations:
                arguments[key] = of.of_key(key)
        self._key_args = Blobs(arguments)
        self._key_correlation = Blobs(correlations)
        self._key_category = Blobs(categories)
        several = {categories[key] for key in used}
        # If all slices have one category, no lookup per slice is needed.
        self._one_category = several.pop() if len(several) == 1 else None

    def _category(self, kind: KeyKind | Unit) -> bytes:
        """Return the encoded kind or unit of slices; empty if the file does not have it."""
        return self._categories(kind.name) if kind else b""

    def _categories(self, text: str) -> bytes:
        """Encode categories, which an import may separate by commas."""
        numbers = [self._strings.category(category) for category in text.split(",")]
        return bytes(pb.TrackEvent(category_iids=numbers).SerializeToString())

    def _text_of_slice(
        self, column: Column | None, encode: Callable[[str], bytes]
    ) -> Callable[[Codes], Piece] | None:
        """Return an encoder of a field from a column of texts, None without texts."""
        if column is None or column.strings is None:
            return None
        present = with_value(self._preorder, column)
        blobs = [b""] * len(column.strings)
        for code in in_order_of_use(present, len(blobs), lambda part: column.values[part]):
            blobs[code] = encode(column.strings[code])
        table, valid = Blobs([*blobs, b""]), column.valid
        if valid is None:
            return lambda rows: Picked(table, column.values[rows])
        return lambda rows: Picked(table, np.where(valid[rows], column.values[rows], len(blobs)))

    def _correlation(self, key: int) -> bytes:
        """Return the encoded correlation ID that all slices of a key share."""
        facts = self._stated.facts
        same = facts.correlation[key] if facts is not None else None
        return self._correlation_id(same) if same else b""

    def _correlation_id(self, text: str) -> bytes:
        number = self._strings.correlation(text)
        return bytes(pb.TrackEvent(correlation_id_str_iid=number).SerializeToString())

    # -- what differs from slice to slice -------------------------------------------------------

    def encoded(self, first: int, last: int) -> bytes:
        """Return the packets of slices first .. last-1 in preorder, with their ENDs.

        These are the ENDs among and directly after the BEGINs.
        """
        begin_at, end_at, owner = self._brackets.part(first, last)
        rows = self._preorder[first:last]
        return assemble(
            [(begin_at, self._begins(rows, first)), (end_at, self._ends(self._preorder[owner]))]
        )

    def _shown(self, codes: Codes) -> Ints:
        """Return the numbers of the names under which slices are written."""
        names = self._name_iid[self._slices.name[codes]]
        if self._label_iid is None or self._source.labels is None:
            return names
        label = self._label_iid[self._source.labels[codes]]
        return np.where(label == 0, names, label)

    def _is_renamed(self, codes: Codes) -> Bools:
        """Return which slices are written under another name than in their file."""
        differs: Bools = self._shown(codes) != self._name_iid[self._slices.name[codes]]
        return differs

    def _begins(self, codes: Codes, first: int) -> Piece:
        slices, n = self._slices, len(codes)
        start, key = slices.start[codes], slices.key[codes]
        pieces: list[Piece] = []
        if self._one_category is None:
            pieces.append(Picked(self._key_category, key))
        elif self._one_category:
            pieces.append(Literal(self._one_category, n))
        if self._category_of_slice is not None:
            pieces.append(self._category_of_slice(codes))
        lane = self._lane_of_row[self._row[codes]]
        if self._lane_category is not None:
            pieces.append(Picked(self._lane_category, lane))
        pieces += [argument(codes) for argument in self._arguments]
        pieces += [
            Varints(self._shown(codes), lambda size: _BEGIN),
            Picked(self._begin_track, lane),
        ]
        for head, ranks, ids in self._flow_ends:
            span = slice(*np.searchsorted(ranks, [first, first + n]).tolist())
            if span.start < span.stop:
                pieces.append(Fixed64s(n, ranks[span] - first, ids[span], head))
        pieces.append(Picked(self._key_correlation, key))
        if self._correlation_of_slice is not None:
            pieces.append(self._correlation_of_slice(codes))
        packet = Joined(
            Varints(self._ns(start), lambda size: TIME),
            Literal(SEQUENCE_ID, n),
            Message(TRACK_EVENT, Joined(*pieces)),
            Literal(FLAGS, n),
        )
        return Message(PACKET, packet)

    def _ends(self, codes: Codes) -> Piece:
        packet = Joined(
            Varints(self._ns(self._slices.end[codes]), lambda size: TIME),
            Picked(self._end_tail, self._lane_of_row[self._row[codes]]),
        )
        return Message(PACKET, packet)
