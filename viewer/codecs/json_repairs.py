"""Repairs what writers get wrong in the strings and numbers of JSON objects, many at once.

It makes of a text of objects what `viewer.codecs.json_damage.Repair` makes of the text of one:
backslashes that nobody escaped are doubled, and numbers that are not finite are stood in for. It
also escapes control characters in strings and replaces bytes that are not UTF-8. Where a byte must
change, it is marked with a byte that UTF-8 never has; each mark is then replaced in one pass.

A backslash before a quote may escape it, or end a string. Strings are told for each object, so that
an object that is damaged in another way costs no other one its repair.
"""

from __future__ import annotations

import re

import numpy as np

from viewer.arrays import Bools, Ints, flags_at
from viewer.codecs.json_columns.objects import Bytes, Objects
from viewer.codecs.json_damage import INFINITE, NAN, NUMBER

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
        """Repair some objects."""
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
