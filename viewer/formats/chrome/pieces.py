"""Reads the usual events of a Chrome trace as columns, a block at a time.

Events differ mostly in their numbers. `viewer.codecs.json_pieces` splits them there, and the text
between numbers repeats: each *piece* of it is parsed once, as JSON together with what must come
before and after it, however many events contain it. The numbers are parsed together. The pieces of
an event are valid together if each begins in the state in which the one before ended. Only what
`event_scanner` would read identically is read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Codes, Ints, flags_at, numbers_at
from viewer.codecs.decimal_times import TIME_LIMIT
from viewer.codecs.json_pieces import NumberMembers, Numbers, Objects, Pieces, ShortTexts, key_end
from viewer.dataclasses import dataclass, field
from viewer.formats.chrome.event_fields import ArgumentColumns, Name
from viewer.formats.chrome.event_scanner import FAULTS, STACKS, Event
from viewer.formats.text_rows import DistinctTexts

# Where a piece begins and ends: at an event's start or end, or at a number that is a member of the
# event or of its arguments. A piece that begins BAD cannot be read.
START, TOP, ARGS, END, BAD = range(5)
NONE = -1
TIMES, IDS = ("ts", "dur", "tts", "tdur"), ("pid", "tid")
ID, BIND_ID, FLOW_IN, FLOW_OUT = "id", "bind_id", "flow_in", "flow_out"
ARGUMENTS = "args"
_TEXTS = ("ph", "name", "cat", "s", "bp")
_NOT_READ = ("id2", "scope")
# Bits of the keys that matter for how an event is read; the other keys share the other bits.
KEY_BITS = {
    key: 1 << i
    for i, key in enumerate(
        (*TIMES, *IDS, *_TEXTS, *STACKS, ID, BIND_ID, FLOW_IN, FLOW_OUT, ARGUMENTS)
    )
}
_MOST_BITS = 56  # so that the sum of the bits of a hundred pieces fits in 64
_WORDS = (1, 2, 4, 8, 16)  # of 8 bytes, of pieces that are looked up together
_WORDS_OF = np.repeat(np.array([*_WORDS, 0], np.uint8), (9, 8, 16, 32, 64, 1))  # by size
_MOST_KEYS = 255  # of numbers, so that a byte holds them
_CODES = (*_TEXTS, *IDS, BIND_ID, "number", "kind", "index")
_DEFAULTS: dict[str, np.generic] = {
    "begins": np.uint8(BAD), "ends": np.uint8(BAD), "keys": np.uint64(0),
    **dict.fromkeys((FLOW_IN, FLOW_OUT), np.bool_(False)),
    **dict.fromkeys(_CODES, np.int32(NONE)),
}  # fmt: skip
_BEFORE = {START: b"", TOP: b'{" ":null', ARGS: b'{" ":null,"args":{" ":null'}
_AFTER = {END: b"", TOP: b"0}", ARGS: b"0}}"}
_EARLIER = " "  # the key that stands for the members before the piece

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)
_NAME = msgspec.json.Decoder(Name)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """One piece: its members, those of its arguments, and the key of the number behind it."""

    top: Mapping[str, bytes]
    arguments: Mapping[str, bytes]
    number: tuple[int, str] | None


class PieceTable(dict[bytes, int]):
    """Distinct pieces with their codes, and columns of the values in each, by code.

    begins, ends: states. keys: bits of all its keys, as in `KEY_BITS`. number: the key of the
    number behind it, a code in `number_keys`. ph, name, cat, s, bp, pid, tid, bind_id: codes of
    their values in `texts` or `ids`. flow_in, flow_out: whether they are true. stack: whether it
    has stack frames. kind, index: its arguments, see `ArgumentColumns.kind_of`. Codes are NONE
    where it has no value.
    """

    def __init__(self, texts: Mapping[str, DistinctTexts], arguments: ArgumentColumns) -> None:
        """texts: the tables of the values of ph, name, cat, s and bp."""
        super().__init__()
        self.texts = texts
        self.words: dict[str, dict[int, str]] = {key: {} for key in _TEXTS}  # by code
        self.ids: dict[tuple[type, Name], int] = {}
        self.number_keys: dict[tuple[int, str], int] = {}
        self.filled: set[str] = set()  # columns in which any piece has a value
        self.size = 0  # bytes of the pieces that have been parsed
        self.arguments = arguments
        self._bits: dict[tuple[int, str], int] = {(TOP, k): bit for k, bit in KEY_BITS.items()}
        self._columns = {name: np.full(1 << 10, value) for name, value in _DEFAULTS.items()}
        self._short = tuple(map(ShortTexts, _WORDS))
        self._parsed = 0

    def __missing__(self, piece: bytes) -> int:
        code = self[piece] = len(self)
        return code

    def column(self, name: str) -> NDArray[Any]:
        """One of the columns; it may be longer than the table."""
        return self._columns[name]

    @property
    def fresh(self) -> int:
        """How many pieces have not been parsed."""
        return len(self) - self._parsed

    def forget(self) -> None:
        """Remove the pieces that have not been parsed."""
        for piece in list(islice(self, self._parsed, None)):
            del self[piece]

    def codes(self, objects: Objects, pieces: Pieces) -> Ints:
        """The codes of the pieces of some objects; new pieces are added, but not parsed."""
        begin, size = pieces.begin, pieces.end - pieces.begin
        codes = np.full(len(begin), NONE, np.int64)
        for texts, rows in self._by_size(size):
            codes[rows] = texts.find(objects.data, begin[rows], size[rows])
        rest = np.flatnonzero(codes == NONE)
        text, get = objects.text, self.get
        spans = zip(begin[rest].tolist(), pieces.end[rest].tolist(), strict=True)
        # A list of all texts would take twice the time: each is freed at once.
        codes[rest] = [get(text[a:b], NONE) for a, b in spans]
        rest = rest[codes[rest] == NONE]
        spans = zip(begin[rest].tolist(), pieces.end[rest].tolist(), strict=True)
        codes[rest] = [self[text[a:b]] for a, b in spans]
        return codes

    def parse(self, objects: Objects, pieces: Pieces, codes: Ints, is_first: Bools) -> None:
        """Parse new pieces, given the pieces of a block; is_first: whether they start an event."""
        if not self.fresh:
            return
        parsed_count = self._parsed
        fresh = np.flatnonzero(codes >= parsed_count)
        first_piece = numbers_at(self.fresh, codes[fresh[::-1]] - parsed_count, fresh[::-1])
        if len(self) > len(self._columns["begins"]):
            for name, value in _DEFAULTS.items():
                more = np.full(2 * len(self), value)
                more[:parsed_count] = self._columns[name][:parsed_count]
                self._columns[name] = more
        ends = self._columns["ends"]
        for piece, position in zip(
            islice(self, parsed_count, None), first_piece.tolist(), strict=True
        ):
            before = int(ends[codes[position - 1]])
            if is_first[position]:
                begins: Sequence[int] = (START,)
            else:
                begins = (before,) if before in (TOP, ARGS) else (TOP, ARGS)
            self._add(piece, begins)
        size = pieces.end[first_piece] - pieces.begin[first_piece]
        for texts, rows in self._by_size(size):
            texts.add(
                objects.data,
                pieces.begin[first_piece[rows]],
                size[rows],
                codes[first_piece[rows]],
            )

    def _by_size(self, size: Ints) -> Iterator[tuple[ShortTexts, Ints]]:
        """The tables for pieces of some sizes, and the pieces that each is for."""
        of_size = _WORDS_OF.take(np.minimum(size, len(_WORDS_OF) - 1))
        for count, texts in zip(_WORDS, self._short, strict=True):
            rows = np.flatnonzero(of_size == count)
            if len(rows):
                yield texts, rows

    def id_code(self, value: Name) -> int:
        """The code of a pid, tid or bind_id; 1 and "1" differ."""
        return self.ids.setdefault((type(value), value), len(self.ids))

    def text_code(self, key: str, text: str) -> int:
        """The code of a value of ph, name, cat, s or bp."""
        code = self.texts[key][text]
        self.words[key][code] = text
        return code

    def _add(self, piece: bytes, begins: Sequence[int]) -> None:
        code, self._parsed = self._parsed, self._parsed + 1
        self.size += len(piece)
        for state in begins:
            for ends in _ends(piece, state):
                parsed = _parsed(piece, state, ends)
                if parsed is not None:
                    values = self._values(parsed)
                    if values is not None:
                        self.filled.update(values)
                        for name, value in values.items():
                            self._columns[name][code] = value
                        self._columns["begins"][code] = state
                        self._columns["ends"][code] = ends
                        return
                    break

    def _values(self, parsed: _Parsed) -> dict[str, int] | None:
        """The values in a piece, by column; None if it cannot be read as columns."""
        values: dict[str, int] = {}
        keys = 0
        try:
            for key, raw in parsed.top.items():
                keys |= self._bit(TOP, key)
                if key in _TEXTS:
                    values[key] = self.text_code(key, _TEXT.decode(raw))
                elif key in IDS or (key == BIND_ID and raw != b"null"):
                    values[key] = self.id_code(_NAME.decode(raw))
                elif key in (FLOW_IN, FLOW_OUT):
                    values[key] = raw == b"true"
                elif key in TIMES or key in _NOT_READ or key == ID or key in STACKS:
                    return None
            for key in parsed.arguments:
                keys |= self._bit(ARGS, key)
            if parsed.arguments:
                values["kind"], values["index"] = self.arguments.kind_of(parsed.arguments)
        except (*FAULTS, ValueError):
            return None
        if parsed.number is not None:
            state, key = parsed.number
            if state == TOP and (key in _TEXTS or key in _NOT_READ or key in STACKS):
                return None
            keys |= self._bit(state, key)
            if len(self.number_keys) >= _MOST_KEYS and parsed.number not in self.number_keys:
                return None
            values["number"] = self.number_keys.setdefault(parsed.number, len(self.number_keys))
        return values | {"keys": keys}

    def _bit(self, state: int, key: str) -> int:
        reserved = len(KEY_BITS)
        bit = 1 << reserved + (len(self._bits) - reserved) % (_MOST_BITS - reserved)
        return self._bits.setdefault((state, key), bit)


def _ends(piece: bytes, begins: int) -> tuple[int, ...]:
    """The states in which a piece may end, the likelier one first."""
    if piece.endswith(b"}"):
        return (END,)
    return (ARGS, TOP) if begins == ARGS or b'"args"' in piece else (TOP, ARGS)


def _parsed(piece: bytes, begins: int, ends: int) -> _Parsed | None:
    """One piece between two states; None if it is not between these, or has a key twice."""
    whole = _BEFORE[begins] + piece + _AFTER[ends]
    try:
        top = {key: bytes(raw) for key, raw in _OBJECT.decode(whole).items()}
        arguments_text = top.get(ARGUMENTS, b"null")
        has_arguments = arguments_text[:1] == b"{"
        arguments = (
            {key: bytes(raw) for key, raw in _OBJECT.decode(arguments_text).items()}
            if has_arguments
            else {}
        )
    except FAULTS:
        return None
    if not has_arguments and (arguments_text != b"null" or ARGS in (begins, ends)):
        return None
    # The object that a piece ends in may be another one than the arguments.
    if ends == ARGS and next(reversed(top)) != ARGUMENTS:
        return None
    if begins != START and top.pop(_EARLIER, b"") != b"null":
        return None
    if begins == ARGS:
        if arguments.pop(_EARLIER, b"") != b"null":
            return None
        del top[ARGUMENTS]
    keys = list(top) + list(arguments)
    # With a backslash, a key may occur in two spellings.
    is_single = piece.count(b":") == len(keys) or (
        b"\\" not in piece and all(piece.count(b'"%b"' % key.encode()) == 1 for key in keys)
    )
    if not is_single and _repeats_key(whole):
        return None
    number = None
    if ends == TOP:
        number = TOP, next(reversed(top))
        del top[number[1]]
    elif ends == ARGS:
        number = ARGS, next(reversed(arguments))
        del arguments[number[1]]
    return _Parsed(top, arguments, number)


def _repeats_key(text: bytes) -> bool:
    """Whether a key occurs twice in an object or in one within it."""
    repeats = False

    def pairs(members: list[tuple[str, object]]) -> None:
        nonlocal repeats
        repeats = repeats or len(dict(members)) < len(members)

    json.loads(text, object_pairs_hook=pairs)
    return repeats


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
