"""Finds the objects of a damaged JSON array of trace events, and repairs what writers get wrong.

Damage says nothing about where it ends: a lost quote turns strings and the text between them
around. What lies between two events cannot be told by brackets then, but the next event can be
found: an object that begins with a key of events, where an object of the array may begin.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum

import numpy as np

from viewer.arrays import Bools, Ints, flags_at
from viewer.codecs.json_pieces import Bytes, Objects

_BLANKS = rb"[ \t\r\n]*"
_WHITE = b" \t\r\n"
_LEXEMES = {
    is_escaped: re.compile(
        _BLANKS + rb'(?:("' + string + rb'")|([{}\[\],:])|([^ \t\r\n"{}\[\],:]+))', re.DOTALL
    )
    for is_escaped, string in ((True, rb'[^"\\]*(?:\\.[^"\\]*)*'), (False, rb'[^"]*'))
}
_KEYS = (
    b"ph|name|cat|ts|dur|pid|tid|args|id|id2|scope|s|bp|bind_id|flow_in|flow_out|tts|tdur|sf|stack"
    b"|esf|estack|cname|ver"
)
_START = re.compile(rb"\{" + _BLANKS + rb'"(' + _KEYS + rb')"' + _BLANKS + rb":")
_PHASE = re.compile(rb'"ph"' + _BLANKS + rb":")
_LONGEST_SEPARATOR = 256
_LONGEST = 1 << 16
# What may come before a string, before anything else that is no bracket, and before a bracket.
_MAY_PRECEDE_STRING, _BEFORE_WORD = frozenset(b"{[,:"), frozenset(b"[,:")
_BEFORE_OPEN = {ord("{"): frozenset(b":"), ord("["): frozenset(b"[,")}
_CLOSES = {ord("}"): ord("{"), ord("]"): ord("[")}
_STRING, _WORD = 0, 1


class Walk(Enum):
    """How an object ends: with its bracket, not within the text, or it is damaged before."""

    CLOSED = 0
    OPEN = 1
    BROKEN = 2


def walk(data: bytes, position: int, limit: int, *, is_escaped: bool = True) -> tuple[int, Walk]:
    """Follow an object or list to its end, and return the position behind it.

    Only what may stand next to what is checked, to notice lost quotes and brackets. limit: no
    further than this position. is_escaped: whether a backslash in a string escapes.
    """
    stack = bytearray()
    before = 0
    match = _LEXEMES[is_escaped].match
    while (token := match(data, position, limit)) is not None:
        position = token.end()
        kind = token.lastindex
        if kind == 1:
            if before not in _MAY_PRECEDE_STRING:
                return position, Walk.BROKEN
            before = _STRING
        elif kind == 3:
            if before not in _BEFORE_WORD:
                return position, Walk.BROKEN
            before = _WORD
        else:
            char = data[position - 1]
            if char in _BEFORE_OPEN:
                if stack and before not in _BEFORE_OPEN[stack[-1]]:
                    return position, Walk.BROKEN
                stack.append(char)
            elif char in _CLOSES:
                if stack.pop() != _CLOSES[char]:
                    return position, Walk.BROKEN
                if not stack:
                    return position, Walk.CLOSED
            before = char
    return position, Walk.OPEN


def starts(data: bytes, position: int, end: int, *, is_inner: bool = False) -> Iterator[int]:
    """Where an event of the array may begin between two positions.

    is_inner: also where an object is a value of another one.
    """
    for match in _START.finditer(data, position, end):
        if is_inner or _may_start(data, match.start()):
            yield match.start()


def _may_start(data: bytes, position: int) -> bool:
    """Whether the text before an object is such as between two objects of an array."""
    gap = data[max(0, position - _LONGEST_SEPARATOR) : position]
    before = gap.rstrip(_WHITE)
    if not before or before[-1] in b",}]{[":
        return True
    return before[-1] != ord(":") and b"\n" in gap[len(before) :]


def count_events(text: bytes) -> int:
    """About how many events a damaged text has: most events of a file begin with the same key."""
    phases = sum(1 for _ in _PHASE.finditer(text))
    keys = Counter(match[1] for match in _START.finditer(text) if _may_start(text, match.start()))
    return max(phases, *keys.values(), 0)


def has_phase(text: bytes) -> bool:
    """Whether a text has the key that all events have."""
    return _PHASE.search(text) is not None


def members(text: bytes) -> set[str]:
    """The keys of an object; empty if it cannot be read."""
    try:
        value = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def is_event_at(data: bytes, position: int) -> bool:
    """Whether a whole event is at a position: an object with the key that all events have."""
    if _START.match(data, position) is None:
        return False
    end, ended = walk(data, position, position + _LONGEST)
    if ended is not Walk.CLOSED:
        return False
    try:
        value = json.loads(data[position:end].decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return isinstance(value.get("ph"), str)


# Numbers that no writer writes stand for those that are not finite, which JSON cannot tell.
NAN, INFINITE = "9e9999999999990", "9e9999999999991"
NOT_FINITE = {NAN: "NaN", INFINITE: "Infinity", f"-{INFINITE}": "-Infinity"}
_NUMBER = (
    r"(?<=[:,\[\s])(?P<sign>[-+]?)"
    r"(?:(?P<nan>nan(?:\([^()\"]*\))?|1\.#(?:ind|q?nan)\d*)|inf(?:inity)?|1\.#inf\d*)"
    r"(?=[\s,}\]])"
)
NUMBER = re.compile(_NUMBER.encode(), re.IGNORECASE)
# A string that does not end goes to the end of the text: otherwise, each quote in it would be
# taken for the beginning of one, and searched for an end.
_TEXT_OR_NUMBER = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|' + _NUMBER, re.DOTALL | re.IGNORECASE | re.ASCII
)
_PLAIN_TEXT = re.compile(r'"[^"]*"')
_WRONG_ESCAPE = re.compile(r'\\(?:\\|["/bfnrt]|u[0-9a-fA-F]{4}|(?P<wrong>))')
_SUSPECT = re.compile(r"[\\\0-\x1f]|nan|inf|1\.#", re.IGNORECASE | re.ASCII)
_CONTROL = re.compile(r"[\0-\x1f]")


class Repair:
    """A JSON text with other numbers that are not finite, and strings that nobody escaped.

    `text` is valid JSON, if nothing else is wrong. `has_backslashes` tells whether a string has
    backslashes that are no escapes: in such a string, all are kept as they are. `has_controls`:
    whether one has control characters. `is_respelled`: whether a number is spelled otherwise than
    in JavaScript.
    """

    def __init__(self, text: str, *, is_escaped: bool = True) -> None:
        """is_escaped: whether a backslash before a quote keeps it in the string."""
        self.has_backslashes = not is_escaped
        self.has_controls = self.is_respelled = False
        if not is_escaped:
            text = _PLAIN_TEXT.sub(lambda match: match[0].replace("\\", "\\\\"), text)
        self.text = _TEXT_OR_NUMBER.sub(self._repaired, text)

    @staticmethod
    def may_help(text: str) -> bool:
        """Whether a text has anything that could be repaired."""
        return _SUSPECT.search(text) is not None

    def _repaired(self, match: re.Match[str]) -> str:
        text = match[0]
        if not text.startswith('"'):
            self.is_respelled |= text not in NOT_FINITE.values()
            return NAN if match["nan"] else f"-{INFINITE}" if match["sign"] == "-" else INFINITE
        if "\\" in text and any(
            escape["wrong"] is not None for escape in _WRONG_ESCAPE.finditer(text)
        ):
            self.has_backslashes = True
            text = re.sub(r'\\(?!")', r"\\\\", text)
        if _CONTROL.search(text) is not None:
            self.has_controls = True
            text = _CONTROL.sub(lambda char: json.dumps(char[0])[1:-1], text)
        return text


_QUOTE, _BACKSLASH, _PRINTABLE, _HIGH = b'"\\ \x80'
_DOUBLED, _TAB, _NEWLINE, _RETURN, _REPLACED, _REMOVED, _NAN, _INFINITE = range(0xF8, 256)
_OUTSIDE = 0xF7
_MARK_OF = {b"\t"[0]: _TAB, b"\n"[0]: _NEWLINE, b"\r"[0]: _RETURN}
_WRITTEN = {
    _DOUBLED: rb"\\",
    _TAB: rb"\t",
    _NEWLINE: rb"\n",
    _RETURN: rb"\r",
    _REPLACED: "\ufffd".encode(),
    _REMOVED: b"",
    _NAN: NAN.encode(),
    _INFINITE: INFINITE.encode(),
    # In strings, other control characters are their own marks.
    **{char: b"\\u%04x" % char for char in range(_PRINTABLE) if char not in _MARK_OF},
    ord("\b"): rb"\b",
    ord("\f"): rb"\f",
}
_SUSPECTS = bytes((*range(_PRINTABLE), _BACKSLASH))
_GROWS = np.array([len(_WRITTEN.get(byte, b" ")) - 1 for byte in range(256)])
_WINDOW = 1 << 10  # bytes decoded at once
_LONGEST_GAP = 64  # of the space around a string that ends with a backslash


def _bytes_of(chars: bytes) -> Bools:
    """Whether each byte is one of some."""
    return np.isin(np.arange(256), np.frombuffer(chars, np.uint8))


_SPACE = _bytes_of(b" \t\r\n")
_BEFORE_STRING, _BEHIND_STRING = _bytes_of(b"{[,:"), _bytes_of(b",:}]")
_SIGNS, _BEFORE_SIGN = _bytes_of(b"+-"), _bytes_of(b":,[ \t\r\n\x0b\x0c")
_BEFORE_NUMBER, _BEHIND_NUMBER = _SIGNS | _BEFORE_SIGN, _bytes_of(b",}] \t\r\n\x0b\x0c")
_LOWER = np.uint8(0x20)  # makes letters lowercase
_ESCAPES, _HEX = _bytes_of(b'\\"/bfnrtu'), _bytes_of(b"0123456789abcdefABCDEF")
_BRACKETS, _OPENS = _bytes_of(b"{}[]"), _bytes_of(b"{[")


class RepairedObjects:
    """Objects without faults in strings and numbers, and where the faults were.

    objects: the repaired ones. backslashes, controls, not_utf8, respelled: the positions of such
    faults in the text before. is_changed: whether there are any. has_plain: whether a backslash
    before a quote escapes it in some objects only.
    """

    def __init__(self, before: Objects) -> None:
        self._data: Bytes = before.data[: before.size]
        self._text, self._begin = before.text, before.begin
        self._strings = strings = _Strings(before)
        self._marked = self._data.copy()
        self.backslashes = strings.doubled
        self._marked[self.backslashes] = _DOUBLED
        self.controls = self._controls(before)
        self.not_utf8 = self._not_utf8(before)
        self.respelled = self._numbers()
        edits = np.flatnonzero(_GROWS.take(self._marked))
        grown = np.cumsum(_GROWS[self._marked[edits]])
        self._behind, self._grown = edits + 1 + grown, np.append(0, grown)
        text = self._marked.tobytes()
        for mark in np.flatnonzero(np.bincount(self._marked[edits])).tolist():
            text = text.replace(bytes((mark,)), _WRITTEN[mark])
        text = text.replace(bytes((_OUTSIDE,)), b"\0")
        self.is_changed = bool(len(edits))
        self.has_plain = bool(strings.are_plain.any())
        self.objects = Objects(text) if self.is_changed else before
        del self._marked

    def before(self, positions: Ints) -> Ints:
        """The positions that some positions in the repaired text had before."""
        original: Ints = positions - self._grown[np.searchsorted(self._behind, positions, "right")]
        return original

    def outermost(self) -> Ints:
        """Where the outermost objects began, if none is damaged; none if this cannot be told."""
        brackets = np.flatnonzero(_BRACKETS[self._data])
        brackets = brackets[~self._strings.include(brackets)]
        opens = _OPENS[self._data[brackets]]
        depth = np.cumsum(np.where(opens, 1, -1))
        outer: Ints = brackets[opens & (depth == 1)]
        # Backslashes were told for each object, which may be a part of one, or several.
        is_certain = not self.has_plain or np.array_equal(outer, self._begin)
        return outer if is_certain else outer[:0]

    def _controls(self, before: Objects) -> Ints:
        """Mark control characters in strings."""
        positions = np.flatnonzero(self._data < _PRINTABLE)
        is_inside = self._strings.include(positions)
        outside = positions[~is_inside]
        self._marked[outside[~_SPACE[self._data[outside]]]] = _OUTSIDE
        positions = positions[is_inside]
        for char, mark in _MARK_OF.items():
            self._marked[positions[self._data[positions] == char]] = mark
        return positions

    def _not_utf8(self, before: Objects) -> Ints:
        """Mark bytes that are not UTF-8, as Python replaces them."""
        text = before.text[: before.size]
        try:
            require_utf8(text)
            return np.empty(0, np.int64)
        except UnicodeDecodeError:
            pass
        high = np.flatnonzero(self._data >= _HIGH)
        is_first = np.append(True, high[1:] != high[:-1] + 1)
        begin, end = high[is_first], high[np.append(is_first[1:], True)] + 1
        is_alone = end - begin == 1
        replaced, removed = begin[is_alone].tolist(), list[int]()
        invalid = _Invalid()
        for first, last in zip(begin[~is_alone].tolist(), end[~is_alone].tolist(), strict=True):
            for start, behind in invalid[text[first:last]]:
                replaced.append(first + start)
                removed += range(first + start + 1, first + behind)
        self._marked[replaced] = _REPLACED
        self._marked[removed] = _REMOVED
        return np.array(replaced, np.int64)

    def _numbers(self) -> Ints:
        """Mark numbers that are not finite; where they are spelled otherwise than in JavaScript."""
        data, text = self._data, self._text
        positions = _words(data, text)
        positions = positions[_BEFORE_NUMBER[data[positions - 1]]]
        positions = positions[self._strings.exclude(positions)]
        begin = positions - _SIGNS[data[positions - 1]]
        size = np.zeros(len(positions), np.int64)
        is_nan = data[positions] | _LOWER == ord("n")
        is_odd = np.ones(len(positions), np.bool_)
        for word in (b"NaN", b"inf", b"Infinity"):
            chars = np.array(
                [self._data.take(positions + i, mode="clip") for i in range(len(word))]
            )
            letters = np.frombuffer(word, np.uint8)[:, None]
            is_word = (chars | _LOWER == letters | _LOWER).all(axis=0)
            is_word &= _BEHIND_NUMBER[data.take(positions + len(word), mode="clip")]
            size[is_word] = len(word)
            is_odd &= ~(is_word & (chars == letters).all(axis=0) & (word != b"inf"))
        for i in np.flatnonzero(size == 0).tolist():
            if (match := NUMBER.match(text, int(begin[i]))) is not None:
                size[i] = match.end() - positions[i]
                is_nan[i] = match["nan"] is not None
        is_number = (size > 0) & _BEFORE_SIGN[data[begin - 1]]
        positions, begin, size = positions[is_number], begin[is_number], size[is_number]
        is_nan, is_odd = is_nan[is_number], is_odd[is_number]
        sign = data[begin]
        is_odd |= (sign == ord("+")) | ((sign == ord("-")) & is_nan)
        removed = np.concatenate(
            [
                np.empty(0, np.int64),
                *((positions + i)[size > i] for i in range(int(size.max(initial=0)))),
            ]
        )
        self._marked[removed] = self._marked[begin] = _REMOVED
        self._marked[begin[sign == ord("-")]] = ord("-")
        self._marked[positions] = np.where(is_nan, _NAN, _INFINITE)
        self._marked[begin[is_nan & (begin < positions)]] = _REMOVED
        return begin[is_odd]


def _words(data: Bytes, text: bytes) -> Ints:
    """Where numbers may be that are not finite, behind their signs."""
    lower = data | _LOWER
    is_n = lower == ord("n")
    is_there = lower[:-2] == ord("i")
    is_there &= is_n[1:-1]
    is_there &= lower[2:] == ord("f")
    is_nan = lower[1:-1] == ord("a")
    is_nan &= is_n[:-2]
    is_nan &= is_n[2:]
    is_there |= is_nan
    positions = np.flatnonzero(is_there)
    if b"#" not in text:
        return positions
    others = [match.start() for match in re.finditer(rb"1\.#", text[: len(data)])]
    return np.append(positions, np.array(others, np.int64))


class _Strings:
    """Where the strings of objects are, and which backslashes in them must be doubled."""

    def __init__(self, objects: Objects) -> None:
        self._data, self._begin = objects.data, objects.begin
        data = objects.data[: objects.size]
        quotes = np.flatnonzero(data == _QUOTE)
        backslashes = np.flatnonzero(data == _BACKSLASH)
        is_first = self._data[backslashes - 1] != _BACKSLASH
        is_last = self._data[backslashes + 1] != _BACKSLASH
        last = backslashes[is_last]
        escapes = last[(last - backslashes[is_first]) & 1 == 0]
        is_escaped = np.zeros(len(quotes), np.bool_)
        is_quote = self._data[escapes + 1] == _QUOTE
        is_escaped[np.searchsorted(quotes, escapes[is_quote] + 1)] = True
        wrong = self._wrong(escapes[~is_quote])
        behind_backslash = last[self._data[last + 1] == _QUOTE]
        self.are_plain = np.zeros(len(objects), np.bool_)
        if len(behind_backslash):
            self._find_plain(behind_backslash, quotes, is_escaped, wrong)
            if self.are_plain.any():
                escaped = np.flatnonzero(is_escaped)
                is_escaped[escaped[self.are_plain[self._object_of(quotes[escaped])]]] = False
        self._quotes, self._are_paired = quotes[~is_escaped], np.ones(len(objects), np.bool_)
        self._keep_paired()
        self.doubled = self._doubled(backslashes, wrong)

    def include(self, positions: Ints) -> Bools:
        """Whether some positions are in strings."""
        return (np.searchsorted(self._quotes, positions) & 1).astype(np.bool_)

    def exclude(self, positions: Ints) -> Bools:
        """Whether some positions are in none, but in objects whose strings are known."""
        is_outside = ~self.include(positions)
        if not self._are_paired.all():
            is_outside &= self._are_paired[self._object_of(positions)]
        return is_outside

    def _object_of(self, positions: Ints) -> Ints:
        return np.maximum(np.searchsorted(self._begin, positions, "right") - 1, 0)

    def _wrong(self, escapes: Ints) -> Ints:
        """Those backslashes that begin no escape of JSON."""
        data = self._data
        char = data[escapes + 1]
        is_wrong = ~_ESCAPES[char]
        unicode = np.flatnonzero(char == ord("u"))
        for i in range(2, 6):
            is_wrong[unicode] |= ~_HEX[data[escapes[unicode] + i]]
        return escapes[is_wrong]

    def _counts(self, quotes: Ints) -> Ints:
        """How many quotes each object has."""
        return np.diff(np.searchsorted(quotes, self._begin), append=len(quotes))

    def _keep_paired(self) -> None:
        """Leave out the quotes of objects that do not begin with a key, or miss a quote.

        They are damaged, or parts of an object that was split in a string.
        """
        quotes, counts = self._quotes, self._counts(self._quotes)
        has = np.flatnonzero(counts > 1)
        first = (np.cumsum(counts) - counts)[has]
        data = self._data
        is_key = data[self._filled(quotes[first] - 1, -1)] == ord("{")
        is_key &= data[self._filled(quotes[first + 1] + 1, 1)] == ord(":")
        self._are_paired = counts & 1 == 0
        self._are_paired[has] &= is_key
        if not self._are_paired.all():
            self._quotes = quotes[np.repeat(self._are_paired, counts)]

    def _find_plain(self, last: Ints, quotes: Ints, is_escaped: Bools, wrong: Ints) -> None:
        """Find the objects in whose strings no backslash escapes, as else they are not valid.

        last: the backslashes before quotes. is_escaped: which quotes are, if backslashes escape.
        wrong: backslashes that begin no escape.
        """
        is_asked = flags_at(len(self._begin), self._object_of(last))
        is_bad = is_asked & ~self._are_valid(quotes[~is_escaped], is_asked, wrong)
        if is_bad.any():
            self.are_plain = is_bad & self._are_valid(quotes, is_bad, wrong[:0])

    def _are_valid(self, quotes: Ints, which: Bools, wrong: Ints) -> Bools:
        """Whether each of some objects has valid strings between some quotes."""
        data = self._data
        counts = self._counts(quotes)
        are_valid: Bools = which & (counts & 1 == 0)
        quotes = quotes[np.repeat(are_valid, counts)]
        begin, end = quotes[::2], quotes[1::2]
        is_bad = ~_BEFORE_STRING[data[self._filled(begin - 1, -1)]]
        is_bad |= ~_BEHIND_STRING[data[self._filled(end + 1, 1)]]
        # There, the last backslash would not be doubled, but others.
        quotes_before = np.searchsorted(quotes, wrong)
        has_wrong = flags_at(len(begin) + 1, quotes_before[quotes_before & 1 == 1] >> 1)
        is_bad |= has_wrong[:-1] & (data[end - 1] == _BACKSLASH)
        are_valid[self._object_of(begin[is_bad])] = False
        return are_valid

    def _filled(self, positions: Ints, step: int) -> Ints:
        """The next positions that have no space, in one direction."""
        for _ in range(_LONGEST_GAP):
            is_space = _SPACE[self._data[positions]]
            if not is_space.any():
                break
            positions = positions + step * is_space
        return positions

    def _doubled(self, backslashes: Ints, wrong: Ints) -> Ints:
        """The backslashes that must be doubled: all in a string in which one begins no escape.

        But a quote stays escaped, unless no backslash of the object escapes.
        """
        if not len(wrong) and not self.are_plain.any():
            return np.empty(0, np.int64)
        quotes = self._quotes
        quotes_before = np.searchsorted(quotes, wrong)
        has_wrong = flags_at(len(quotes) // 2 + 1, quotes_before[quotes_before & 1 == 1] >> 1)
        quotes_before = np.searchsorted(quotes, backslashes)
        is_doubled = has_wrong[quotes_before >> 1] & (self._data[backslashes + 1] != _QUOTE)
        if self.are_plain.any():
            is_doubled |= self.are_plain[self._object_of(backslashes)]
        doubled: Ints = backslashes[is_doubled & (quotes_before & 1 == 1)]
        return doubled


def require_utf8(text: bytes) -> None:
    """Raise UnicodeDecodeError if a text is not UTF-8."""
    if not text.isascii():
        text.decode()


def may_be_repaired(text: bytes) -> bool:
    """Whether a text has anything that can be repaired."""
    if not text.isascii() or len(text.translate(None, _SUSPECTS)) < len(text):
        return True
    lower = text.lower()
    return any(word in lower for word in (b"nan", b"inf", b"1.#"))


class _Invalid(dict[bytes, list[tuple[int, int]]]):
    """The parts of texts that are not UTF-8."""

    def __missing__(self, text: bytes) -> list[tuple[int, int]]:
        ranges = self[text] = list[tuple[int, int]]()
        position = 0
        while position < len(text):
            part = text[position : position + _WINDOW]
            try:
                part.decode()
                position += len(part)
            except UnicodeDecodeError as error:
                # What the part may have cut begins the next one.
                if error.start == 0 or error.end < len(part):
                    ranges.append((position + error.start, position + error.end))
                    position += error.end
                else:
                    position += error.start
        return ranges
