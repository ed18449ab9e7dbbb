"""Reads the usual events of a Chrome trace as columns, a block at a time.

Events differ mostly in their numbers. `viewer.codecs.json_columns.pieces` splits them there, and
the text between numbers repeats: each piece of it is parsed once, however many events contain it.
The numbers are parsed together. Only what the structs of `events` would read identically is read
here: slices, instants, flows and metadata with plain numbers. They read everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_columns.objects import Objects
from viewer.codecs.json_columns.pieces import NumberMembers, Numbers, Pieces, key_end
from viewer.formats.chrome.arguments import ArgumentColumns
from viewer.formats.chrome.event_structs import Event
from viewer.formats.chrome.ids import Name
from viewer.formats.chrome.piece_table import (
    ARGS,
    BIND_ID,
    END,
    FLOW_IN,
    FLOW_OUT,
    ID,
    IDS,
    KEY_BITS,
    NONE,
    START,
    TIMES,
    TOP,
    PieceTable,
)
from viewer.formats.text_rows import DistinctTexts


@dataclass(slots=True)
class ReadEvents:
    """Events of a block as columns; `rows` are the objects that they are.

    phase, name, cat: codes of their texts. thread: code into the threads. times: ts, dur, tts and
    tdur: which events have them (positions), ns and thousandths. arguments: events, kind, and rows
    of the kind. numbers: argument, events and values. bound: events, distinct bind_ids, codes into
    these, whether the flow leads out, and in.
    instants: events, distinct values of `s`, and codes into these. flows: events and the keys of
    their flows. metadata: the events at `metadata_at`, of equal ones only the last.
    """

    rows: Ints
    phase: Ints | Codes
    name: Ints | Codes
    cat: Ints | Codes
    thread: Codes
    times: dict[str, tuple[Ints, Ints, NDArray[np.int16]]] = field(default_factory=dict)
    arguments: list[tuple[Ints, int, Codes]] = field(default_factory=list)
    numbers: list[tuple[str, Ints, NDArray[np.int64] | NDArray[np.float64]]] = field(
        default_factory=list
    )
    bound: tuple[Ints, Sequence[Name], Ints | Codes, Bools, Bools] | None = None
    instants: tuple[Ints, list[str], Ints] | None = None
    flows: tuple[Ints, list[tuple[str, ...]]] | None = None
    metadata_at: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    metadata: list[Event] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)


SLICE, INSTANT, FLOW, METADATA, OTHER = range(5)
# The keys that an event of each kind must have, and those that it must not have.
_MUST = {SLICE: ("ts",), INSTANT: ("ts",), FLOW: ("ts", ID), METADATA: ()}
_MUST_NOT = {SLICE: (ID, "s", "bp"), INSTANT: (ID, "bp"), FLOW: ("s",), METADATA: (ID, "s", "bp")}
METADATA_NAMES = frozenset(
    ("process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index")
)
_EVENT = msgspec.json.Decoder(Event)
_CHANGING = 1 / 8  # the share of distinct numbers from which it pays to split at them
_CHANGING_IDS = 1 / 2
_MOST_CHANGING = 100  # keys of such numbers: finding each takes a pass over all numbers of a block
_FRESH = 1 / 16  # the share of new pieces from which other numbers are looked for
# A piece takes 20 times as long to parse as to find again.
_MOST_FRESH = 3 / 4  # new pieces an event
_MANY_PIECES, _MOST_PIECES = 1 << 14, 1 << 18
_SOME_PIECES = 100  # those of a few events
# Of long pieces, a file has few events, and most of them a text of their own: no piece helps then.
_MOST_BYTES = 1 << 25
_LARGEST = TIME_LIMIT // 1000


@dataclass(slots=True)
class _Cut:
    """Events of a block, cut at their numbers: the code of each piece, and where it belongs.

    first: the first piece of each event. of_piece: the event of each piece. numbers: sorted by
    their keys; of_number: the event of each. keys: which numbers have each key.
    """

    codes: Ints
    first: Ints
    of_piece: Ints
    numbers: Numbers
    of_number: Ints
    keys: dict[tuple[int, str], slice]

    def of_events(self, good: Bools) -> _Cut:
        """The pieces and numbers of some events."""
        is_kept = good[self.of_piece]
        has = good[self.of_number]
        moved, event = np.cumsum(is_kept) - 1, np.cumsum(good) - 1
        ends = np.append(0, np.cumsum(has)).tolist()
        return _Cut(
            self.codes[is_kept],
            moved[self.first[good]],
            event[self.of_piece[is_kept]],
            self.numbers.some(has),
            event[self.of_number[has]],
            {
                key: slice(ends[key_slice.start], ends[key_slice.stop])
                for key, key_slice in self.keys.items()
            },
        )


class PieceReader:
    """The pieces of a file's events, kept from block to block."""

    def __init__(
        self,
        texts: Mapping[str, DistinctTexts],
        threads: dict[tuple[Name, Name], int],
        arguments: ArgumentColumns,
        kind_of: Mapping[str, int],
    ) -> None:
        """Start without pieces.

        texts: the tables for the values of ph, name and cat. kind_of: of phases; else OTHER.
        """
        self.texts = {**{key: DistinctTexts() for key in ("s", "bp")}, **texts}
        self.table = PieceTable(self.texts, arguments)
        self._threads = threads
        self._kind_of = kind_of
        self._times = {key_end(key) for key in TIMES}
        self._changing = self._times | {key_end(ID)}
        self._deep: set[int] = set()
        self._kinds = np.empty(0, np.uint8)  # by code of the phase
        self._no_id = self.table.id_code(None)
        self._pairs: dict[int, int] = {}
        self._events_seen = 0

    def read(self, objects: Objects) -> tuple[list[ReadEvents], Ints] | None:
        """The events of a block, and the remaining objects; None if too few can be read."""
        members = NumberMembers.of(objects)
        while True:
            cut = self._cut(objects, members)
            if cut is None:
                return None
            good = self._good(cut)
            rows, left = np.flatnonzero(good), np.flatnonzero(~good)
            if 2 * len(rows) > len(objects):
                break
            # A number deep inside of an argument is no place to split at.
            if self._changing <= self._times:
                return None
            self._deep |= self._changing - self._times
            self._changing &= self._times
        if len(left):
            cut = cut.of_events(good)
        return [self._events(objects, cut, rows)], left

    def anew(self) -> PieceReader:
        """A reader of the same file that knows no pieces and no numbers to split at."""
        return PieceReader(self.texts, self._threads, self.table.arguments, self._kind_of)

    # -- pieces -------------------------------------------------------------------------------

    def _cut(self, objects: Objects, members: NumberMembers) -> _Cut | None:
        table = self.table
        for is_last in (False, True):
            start = members.with_keys(self._changing)
            numbers = Numbers.at(objects.data, start)
            pieces = Pieces.of(objects, start, numbers.end)
            codes = table.codes(objects, pieces)
            if is_last or table.fresh <= len(objects) * _FRESH or not self._learn(members, objects):
                break
            table.forget()
        self._events_seen += len(objects)
        most = min(_MANY_PIECES + self._events_seen // 8, _MOST_PIECES)
        too_many = table.fresh > len(objects) * _MOST_FRESH + _SOME_PIECES or len(table) > most
        if too_many or table.size > _MOST_BYTES:
            table.forget()
            return None
        is_first = flags_at(len(codes), pieces.first)
        table.parse(objects, pieces, codes, is_first)
        of_piece = np.cumsum(is_first) - 1
        key = table.column("number")[codes[pieces.number]].astype(np.uint8)
        order = np.argsort(key, kind="stable")  # by radix
        ends = np.cumsum(np.bincount(key, minlength=len(table.number_keys))).tolist()
        keys = {
            name: slice(begin, end)
            for name, begin, end in zip(table.number_keys, [0, *ends], ends, strict=False)
            if end > begin
        }
        return _Cut(
            codes,
            pieces.first,
            of_piece,
            numbers.some(order),
            of_piece[pieces.number[order]],
            keys,
        )

    def _learn(self, members: NumberMembers, objects: Objects) -> bool:
        """Find more numbers that change from event to event; whether there are any."""
        ids = {key_end(key) for key in IDS}
        codes = [
            key
            for key, share in members.changing(objects).items()
            if share > (_CHANGING_IDS if key in ids else _CHANGING)
            and key not in self._deep | self._changing
        ]
        del codes[_MOST_CHANGING - len(self._changing) :]
        self._changing.update(codes)
        return bool(codes)

    def _good(self, cut: _Cut) -> Bools:
        """Which events can be read as columns."""
        table, codes, first, numbers = self.table, cut.codes, cut.first, cut.numbers
        ends = table.column("ends")[codes]
        fits = np.empty(len(codes), np.bool_)
        begins = table.column("begins")[codes]
        np.equal(begins[1:], ends[:-1], out=fits[1:])
        # The piece before a first one must end an event, and the last one, too.
        fits[first] = begins[first] == START
        last = np.append(first[1:], len(codes)) - 1
        fits[last] &= ends[last] == END
        good = ~flags_at(len(first), cut.of_piece[~fits])
        good[cut.of_number[~numbers.good]] = False
        keys = table.column("keys")[codes]
        every = np.bitwise_or.reduceat(keys, first)
        good &= every == np.add.reduceat(keys, first)  # no key twice
        kind = self._kind(self._of_events(cut, "ph"))
        for wanted_kind, must in _MUST.items():
            bits, wanted = (
                np.uint64(sum(KEY_BITS[key] for key in some_keys))
                for some_keys in ((*must, *_MUST_NOT[wanted_kind]), must)
            )
            good &= (kind != wanted_kind) | ((every & bits) == wanted)
        good &= kind != OTHER
        for (state, name), key_slice in cut.keys.items():
            number_events, key_numbers = cut.of_number[key_slice], numbers.some(key_slice)
            if state == TOP and name in TIMES:
                good[number_events[~key_numbers.are_times(_LARGEST)]] = False
                continue
            good[number_events[kind[number_events] == METADATA]] = False
            is_fraction = key_numbers.places >= 0
            if state == ARGS:
                is_fraction &= ~key_numbers.are_exact()
            good[number_events[is_fraction]] = False
        return good

    def _kind(self, phase: Ints) -> NDArray[np.uint8]:
        phases = self.texts["ph"]
        if len(self._kinds) < len(phases):
            self._kinds = np.array([self._kind_of.get(p, OTHER) for p in phases], np.uint8)
        return self._kinds[phase]

    def _of_events(self, cut: _Cut, name: str) -> Ints:
        """The code of one text or id of each event; the code of an empty one if it has none."""
        column = self.table.column(name)
        codes = column[cut.codes[cut.first]]
        if (codes == NONE).any():
            every = column[cut.codes]
            index = np.flatnonzero(every != NONE)
            codes[cut.of_piece[index]] = every[index]
            codes[codes == NONE] = self._no_id if name in IDS else self.table.text_code(name, "")
        return codes

    # -- columns ------------------------------------------------------------------------------

    def _events(self, objects: Objects, cut: _Cut, rows: Ints) -> ReadEvents:
        table = self.table
        ids = {key: self._of_events(cut, key) for key in IDS}
        phase = self._of_events(cut, "ph")
        name, cat = self._of_events(cut, "name"), self._of_events(cut, "cat")
        events = ReadEvents(rows, phase, name, cat, np.empty(0, np.uint32))
        kind = self._kind(phase)
        identity = np.zeros(len(rows), np.int64)
        bound = np.full(len(rows), NONE, np.int64)
        if BIND_ID in table.filled:
            bind = table.column(BIND_ID)[cut.codes]
            index = np.flatnonzero(bind != NONE)
            bound[cut.of_piece[index]] = bind[index]
        for (state, key), key_slice in cut.keys.items():
            index, numbers = cut.of_number[key_slice], cut.numbers.some(key_slice)
            if state == ARGS:
                events.numbers += _argument(key, index, numbers)
            elif key in TIMES:
                events.times[key] = (index, *numbers.thousandths())
            elif key in IDS:
                ids[key][index] = self._id_codes(numbers.integers())
            elif key == BIND_ID:
                bound[index] = self._id_codes(numbers.integers())
            elif key == ID:
                identity[index] = numbers.integers()
        events.thread = self._thread(ids["pid"], ids["tid"])
        self._add_arguments(events, cut, kind)
        self._add_bound(events, cut, bound)
        index = np.flatnonzero(kind == INSTANT)
        if len(index):
            codes = self._of_events(cut, "s")[index]
            events.instants = index, list(self.texts["s"]), codes
        index = np.flatnonzero(kind == FLOW)
        if len(index):
            events.flows = (
                index,
                self._flow_keys(
                    cat[index], name[index], self._of_events(cut, "bp")[index], identity[index]
                ),
            )
        index = np.flatnonzero(kind == METADATA)
        if len(index):
            events.metadata_at = self._distinct_metadata(cut, index, name)
            text, chosen = objects.text, rows[events.metadata_at]
            events.metadata = [
                _EVENT.decode(text[a:b])
                for a, b in zip(
                    objects.begin[chosen].tolist(), objects.end[chosen].tolist(), strict=True
                )
            ]
        return events

    def _flow_keys(self, cat: Ints, name: Ints, bp: Ints, ids: Ints) -> list[tuple[str, ...]]:
        cats, names, bps = (
            list(map(self.table.words[key].__getitem__, codes.tolist()))
            for key, codes in (("cat", cat), ("name", name), ("bp", bp))
        )
        return [
            (of, "", "", str(flow_id), title, binding)
            for of, flow_id, title, binding in zip(cats, ids.tolist(), names, bps, strict=True)
        ]

    def _distinct_metadata(self, cut: _Cut, index: Ints, name: Ints) -> Ints:
        """The last one of equal events; of events that are only counted, all."""
        last = np.append(cut.first[1:], len(cut.codes))[index] - 1
        first = cut.first[index]
        words = self.table.words["name"]
        names = name[index]
        counted = [code for code in np.unique(names).tolist() if words[code] not in METADATA_NAMES]
        is_alone = np.isin(names, counted) | (last - first > 1)
        paired = np.flatnonzero(~is_alone)[::-1]
        pair = (cut.codes[first[paired]] << 32) | cut.codes[last[paired]]
        chosen = paired[np.unique(pair, return_index=True)[1]]
        last_events: Ints = index[np.sort(np.concatenate([chosen, np.flatnonzero(is_alone)]))]
        return last_events

    def _id_codes(self, values: Ints) -> Ints:
        distinct, which = np.unique(values, return_inverse=True)
        codes = np.array([self.table.id_code(value) for value in distinct.tolist()], np.int64)
        id_codes: Ints = codes[which]
        return id_codes

    def _thread(self, pid: Ints, tid: Ints) -> Codes:
        pair = (pid.astype(np.int64) << 32) | tid
        changes = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
        if 4 * len(changes) > len(pair):
            distinct, which = np.unique(pair, return_inverse=True)
            return self._numbered(distinct)[which]
        return np.repeat(self._numbered(pair[changes]), np.diff(changes, append=len(pair)))

    def _numbered(self, pairs: Ints) -> Codes:
        """The threads of pairs of pid and tid."""
        thread_of = self._pairs
        threads = [thread_of.get(pair, NONE) for pair in pairs.tolist()]
        if NONE in threads:
            names = [name for _, name in self.table.ids]
            for pair in pairs.tolist():
                if pair not in thread_of:
                    thread_of[pair] = self._threads[names[pair >> 32], names[pair & 0xFFFFFFFF]]
            threads = [thread_of[pair] for pair in pairs.tolist()]
        return np.array(threads, np.uint32)

    def _add_arguments(self, events: ReadEvents, cut: _Cut, kind: NDArray[np.uint8]) -> None:
        group = self.table.column("kind")[cut.codes]
        piece_rows = np.flatnonzero(group != NONE)
        if (kind == METADATA).any():
            piece_rows = piece_rows[kind[cut.of_piece[piece_rows]] != METADATA]
        group, event_index = group[piece_rows].astype(np.uint16), cut.of_piece[piece_rows]
        index = self.table.column("index")[cut.codes[piece_rows]].astype(np.uint32)
        order = np.argsort(group, kind="stable")
        count = np.bincount(group)
        done = 0
        for number in np.flatnonzero(count).tolist():
            group_order = order[done : done + int(count[number])]
            events.arguments.append((event_index[group_order], number, index[group_order]))
            done += len(group_order)

    def _add_bound(self, events: ReadEvents, cut: _Cut, bound: Ints) -> None:
        index = np.flatnonzero(bound != NONE)
        if not len(index):
            return
        flags = []
        for name in (FLOW_OUT, FLOW_IN):
            flag = flags_at(len(bound), cut.of_piece[self.table.column(name)[cut.codes]])
            flags.append(flag[index])
        codes, which = np.unique(bound[index], return_inverse=True)
        ids = [name for _, name in self.table.ids]
        events.bound = index, [ids[code] for code in codes.tolist()], which, flags[0], flags[1]


def _argument(
    name: str, event_index: Ints, numbers: Numbers
) -> list[tuple[str, Ints, NDArray[np.int64] | NDArray[np.float64]]]:
    """One argument of some events: its integers and its fractions."""
    is_whole = numbers.places < 0
    if is_whole.all():
        return [(name, event_index, numbers.integers())]
    whole, rest = np.flatnonzero(is_whole), np.flatnonzero(~is_whole)
    return [
        (name, event_index[whole], numbers.some(whole).integers()),
        (name, event_index[rest], numbers.some(rest).fractions()),
    ]
