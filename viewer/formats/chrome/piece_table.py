"""The values in each distinct piece of text between the numbers of Chrome trace events.

A piece is a part of one event: from its start, or from a number on, to the next number or to the
event's end. It is parsed as JSON together with what must come before and after it. The pieces of an
event are valid together if each begins in the state in which the one before ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints, numbers_at
from viewer.codecs.json_columns.objects import Objects
from viewer.codecs.json_columns.pieces import Pieces, ShortTexts
from viewer.formats.chrome.arguments import ArgumentColumns
from viewer.formats.chrome.event_structs import FAULTS, STACKS
from viewer.formats.chrome.ids import Name
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
