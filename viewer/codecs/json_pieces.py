"""Splits JSON objects of a few kinds at the numbers that change from object to object.

What a program writes by the million differs mostly in numbers: times, lengths, counts. The text
between them repeats. This module finds objects, their numbers and the pieces of text between, as
columns. A piece then needs to be parsed only once, and a number is parsed next to all others.
Nothing is assumed: objects, numbers and pieces are guesses until whoever reads the pieces has
parsed them, and a number that is not plain is reported as such.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints
from viewer.dataclasses import dataclass

PADDING = 512  # bytes after a block, so that a text can be read in words
MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], np.uint64)  # of the first bytes of a word
_OPEN, _CLOSE = b"{}"
_LONGEST_GAP = 64
_JOINT = re.compile(rb"\}([ \t\r\n]*,[ \t\r\n]*)\{")
_BEFORE = re.compile(rb"[ \t\r\n]*\{")

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


class Objects:
    """A text split into objects, probably.

    It is split wherever a brace closes and another opens, with the same text in between as at the
    first such place. begin, end: of each object. `is_plain` is False if the text does not start and
    end as objects do. A parser must prove that each is an object: a split in a string or a nested
    list makes two that are not, and other text in between makes one of two.
    """

    def __init__(self, text: bytes, size: int | None = None) -> None:
        """Split the first `size` bytes of `text` (default: all); copies it if it is not padded."""
        self.size = len(text) if size is None else size
        if len(text) < self.size + PADDING:
            text = text[: self.size] + bytes(PADDING)
        self.text = text
        self.data: Bytes = np.frombuffer(text, np.uint8)
        self.begin: Ints = np.empty(0, np.int64)
        self.end: Ints = self.begin
        self.is_plain = self._find()

    def __len__(self) -> int:
        return len(self.begin)

    def _find(self) -> bool:
        text, size = self.text, self.size
        before = _BEFORE.match(text, 0, size)
        if before is None or text[size - 1] != _CLOSE:
            return False
        joint = _JOINT.search(text, 0, size)
        gap = joint[1] if joint is not None else b","
        if len(gap) > _LONGEST_GAP:
            return False
        opened = np.flatnonzero(self.data[:size] == _OPEN)[1:]
        begins = opened[self.is_there(np.maximum(opened - len(gap) - 1, 0), b"}" + gap)]
        self.begin = np.concatenate([[before.end() - 1], begins])
        self.end = np.concatenate([begins - len(gap), [size]])
        return True

    def is_there(self, positions: Ints, text: bytes) -> Bools:
        """Whether `text` is at each of the positions."""
        words = words_at(self.data, positions, len(text))
        padded = np.frombuffer(text.ljust(8 * len(words), b"\0"), "<u8")
        same = np.ones(len(positions), np.bool_)
        for k, word in enumerate(words):
            same &= (word & MASKS[min(len(text) - 8 * k, 8)]) == padded[k]
        return same


def words_at(data: Bytes, positions: Ints, size: int) -> list[Words]:
    """`size` bytes from each position on, as 8-byte words; the last word may extend further."""
    item = np.dtype(f"V{max(-(-size // 8), 1) * 8}")
    window: NDArray[Any] = np.ndarray(
        (len(data) - item.itemsize + 1,), item, data.data, strides=(1,)
    )
    return list(window[positions].view("<u8").reshape(len(positions), item.itemsize // 8).T)


_QUOTE, _COLON, _SPACE, _ZERO, _NINE, _POINT, _MINUS = b'": 09.-'
_MOST_DIGITS = 18
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)
_NUMBER = re.compile(rb"-?[0-9.eE+-]*")
_SAMPLE = 512
_FEW = 8  # numbers that are no more than text
_SCANNED = 1 << 17  # bytes that are looked at together, so that they stay in the processor's cache

_DIGITS = np.uint64(0x3030303030303030)
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
_TO_HIGH = np.uint64(0x4646464646464646)  # sets the high bit of bytes above "9"
_HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_QUOTES = np.uint64(0x2222222222222222)
_JOINS = tuple(
    (np.uint64(10 ** (by // 8)), np.uint64(by), np.uint64(mask))
    for by, mask in ((8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF), (32, 0x00000000FFFFFFFF))
)


def _word_at(data: Bytes, positions: Ints) -> Words:
    window: Words = np.ndarray((len(data) - 7,), "<u8", data.data, strides=(1,))
    return window[positions]


@dataclass(frozen=True, slots=True)
class NumberMembers:
    """The members of objects that are numbers: where each starts, and the 8 bytes before its colon.

    These are the end of its key and a quote; before a short key, another quote and other text.
    """

    start: Ints
    key: Words

    @staticmethod
    def of(objects: Objects) -> NumberMembers:
        """All of them in some objects, nested ones too."""
        data, size = objects.data, objects.size
        colons = []
        # A quote, a colon, a space if there is one, and "-", a digit, or what is between these.
        for first in range(0, size, _SCANNED):
            before = max(first - 3, 0)
            text = data[before : min(first + _SCANNED, size)]
            is_number = text - np.uint8(_MINUS) <= _NINE - _MINUS
            is_member = text[:-2] == _QUOTE
            is_member &= text[1:-1] == _COLON
            spaced = text[2:-1] == _SPACE
            spaced &= is_number[3:]
            spaced |= is_number[2:-1]
            spaced &= is_member[:-1]
            colons.append(np.flatnonzero(spaced) + (before + 1))
        colon = np.concatenate(colons) if colons else np.empty(0, np.int64)
        colon = colon[np.searchsorted(colon, 8) :]
        return NumberMembers(
            colon + 1 + (data.take(colon + 1) == _SPACE), _word_at(data, colon - 8)
        )

    def with_keys(self, keys: Collection[int]) -> Ints:
        """The starts of the numbers that have one of some keys, given by `key_end`."""
        mask = np.zeros(len(self.start), np.bool_)
        for key in keys:
            unused = np.uint64(((key & -key).bit_length() - 1) // 8 * 8)
            mask |= (self.key >> unused) == np.uint64(key) >> unused
        return self.start[mask]

    def changing(self, objects: Objects) -> dict[int, float]:
        """How many of its numbers differ, as a share of them, for each key that has several."""
        shares = {}
        # The lowest bytes, up to the quote before a short key, are removed.
        quote = (self.key << np.uint64(8)) ^ _QUOTES
        quote = (quote - _ONES) & ~quote & _HIGH
        for by in (8, 16, 32):
            quote |= quote >> np.uint64(by)
        quote >>= np.uint64(16)
        ends = self.key & ~(quote | (quote - (quote >> np.uint64(7))))
        by_key = np.argsort(ends, kind="stable")
        keys, first, count = np.unique(ends[by_key], return_index=True, return_counts=True)
        for i in np.flatnonzero(count > _FEW).tolist():
            sample = self.start[by_key[first[i] : first[i] + count[i]]]
            sample = sample[
                np.linspace(0, len(sample) - 1, min(_SAMPLE, len(sample))).astype(np.int64)
            ]
            numbers = {_NUMBER.match(objects.text, start)[0] for start in sample.tolist()}  # type: ignore[index]
            if len(numbers) > _FEW:
                shares[int(keys[i])] = len(numbers) / len(sample)
        return shares


def key_end(key: str) -> int:
    """The end of a key in quotes: its last 8 bytes as a number, the lowest of a short one 0."""
    return int.from_bytes(f'"{key}"'.encode()[-8:].rjust(8, b"\0"), "little")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of a text, in parts.

    end: where each ends. whole, part: its digits before the point and behind it; places: how many
    are behind it, -1 if it has no point. minus: whether it is negative. good: whether this is all
    of the number, and it is one of JSON. What follows may still be part of it, as an exponent.
    """

    end: Ints
    whole: Ints
    part: Ints
    places: Ints
    minus: Bools
    good: Bools

    @staticmethod
    def at(data: Bytes, start: Ints) -> Numbers:
        """Those that start at some positions: at most 18 digits, and eight behind the point."""
        first = data[start]
        minus = first == _MINUS
        if minus.any():
            start = start + minus
            first = data[start]
        whole, length = _leading_number(data, start)
        good = (length > 0) & (length <= _MOST_DIGITS) & ((first != _ZERO) | (length == 1))
        end = start + length
        part, places = np.zeros(len(start), np.int64), np.full(len(start), -1)
        has_point = np.flatnonzero(data[end] == _POINT)
        if len(has_point):
            behind = end[has_point] + 1
            part[has_point], digits = _eight_digits(_word_at(data, behind))
            places[has_point] = digits
            end[has_point] = behind + digits
            good[has_point] &= digits > 0
        return Numbers(end, whole, part, places, minus, good)

    def some(self, which: NDArray[Any] | slice) -> Numbers:
        """Some of them, by position or mask, or as views."""
        return Numbers(
            self.end[which], self.whole[which], self.part[which],
            self.places[which], self.minus[which], self.good[which],
        )  # fmt: skip

    def integers(self) -> Ints:
        """Their values, of those without a point."""
        return np.where(self.minus, -self.whole, self.whole) if self.minus.any() else self.whole

    def are_exact(self) -> Bools:
        """Whether float64 holds the nearest value of each, as `fractions` returns it."""
        exact: Bools = self.whole < _POWERS[15 - np.maximum(self.places, 0)]
        return exact

    def fractions(self) -> NDArray[np.float64]:
        """Their values as the nearest float64."""
        power = _POWERS[np.maximum(self.places, 0)]
        # Both are exact in float64, so that their quotient is the nearest one.
        values = (self.whole * power + self.part) / power.astype(np.float64)
        return np.where(self.minus, -values, values)

    def are_times(self, most: int) -> Bools:
        """Whether they are at least 0, less than some whole number, and have at most 6 decimals."""
        return (self.whole < most) & (self.places <= 6) & ~self.minus

    def thousandths(self) -> tuple[Ints, NDArray[np.int16]]:
        """Whole thousandths, and the rest in thousandths of these; of times, see `are_times`."""
        places = np.maximum(self.places, 0)
        if int(places.max(initial=0)) <= 3:
            return self.whole * 1000 + self.part * _POWERS[3 - places], np.zeros(
                len(places), np.int16
            )
        more, rest = np.divmod(self.part * _POWERS[6 - places], 1000)
        return self.whole * 1000 + more, rest.astype(np.int16)


def _leading_number(data: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """The digits from each position on as a number, and how many there are, if at most 18."""
    value, count = _eight_digits(_word_at(data, positions))
    more = np.flatnonzero(count == 8)
    for _ in range(2):
        if not len(more):
            break
        eight, digits = _eight_digits(_word_at(data, positions[more] + count[more]))
        fits = count[more] + digits <= _MOST_DIGITS
        value[more] = np.where(fits, value[more] * _POWERS[digits] + eight, 0)
        count[more] += digits
        more = more[(digits == 8) & fits]
    return value, count


def _eight_digits(word: Words) -> tuple[Ints, Ints]:
    """The digits at the start of each word as a number, and how many there are.

    Neighboring digits are merged into numbers below 100, those into numbers below 10^4, and so on.
    """
    # The lowest byte that is no digit is marked; a borrow can only mark later ones.
    other = ((word + _TO_HIGH) | (word - _DIGITS) | word) & _HIGH
    first = other & (~other + np.uint64(1))
    count = ((((first - np.uint64(1)) >> np.uint64(7)) & _ONES) * _ONES) >> np.uint64(56)
    # Zeros before the digits instead of other bytes behind them; a shift by 64 gives 0.
    rest = (word & _LOW) << (np.uint64(64) - (count << np.uint64(3)))
    for ten, by, mask in _JOINS:
        rest = (rest * ten + (rest >> by)) & mask
    return rest.view(np.int64), count.view(np.int64)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The text around the numbers of some objects.

    begin, end: of each piece. first: the first piece of each object; it starts with the object, and
    the last one ends with it. number: the piece before each number.
    """

    begin: Ints
    end: Ints
    first: Ints
    number: Ints

    @staticmethod
    def of(objects: Objects, start: Ints, end: Ints) -> Pieces:
        """Those around numbers, given in order."""
        before = _first_in_each(objects, start)
        first = before + np.arange(len(objects))
        number = np.arange(len(start)) + np.repeat(
            np.arange(len(objects)), np.diff(before, append=len(start))
        )
        begins = np.empty(len(objects) + len(start), np.int64)
        ends = np.empty(len(begins), np.int64)
        begins[first], begins[number + 1] = objects.begin, end
        ends[np.append(first[1:], len(begins)) - 1], ends[number] = objects.end, start
        return Pieces(begins, ends, first, number)


def _first_in_each(objects: Objects, start: Ints) -> Ints:
    """The first number in each object, or after it, of the numbers that start at some positions."""
    each, more = divmod(len(start), max(len(objects), 1))
    if each and not more:  # in most files, objects have equally many: no search is needed then
        rows = start.reshape(-1, each)
        if (rows[:, 0] > objects.begin).all() and (rows[:, -1] < objects.end).all():
            return np.arange(0, len(start), each)
    return np.searchsorted(start, objects.begin)


class ShortTexts:
    """Finds the codes of texts of similar sizes in a block without an object for each.

    Half of the words are those from a text's start on, the others those up to its end: they overlap
    where the text has fewer bytes, so that no byte of others needs to be masked. Texts are hashed
    into a table that holds one text in each place. Others that belong there are not found, so that
    a dictionary must have all of them.
    """

    def __init__(self, count: int) -> None:
        """count: words of 8 bytes, a power of 2. Texts have as many bytes at most, and over half.

        Those of one word may have fewer.
        """
        self._count = count
        self._place = np.zeros(1 << 16, np.int32)
        self._words = np.zeros((1 << 6, count), np.uint64)
        self._size = np.full(1 << 6, -1)  # the first entry is of no text
        self._code = np.full(1 << 6, -1)
        self._entries = 1

    def find(self, data: Bytes, begin: Ints, size: Ints) -> Ints:
        """The code of each text, given its place and size; -1 if it is not known."""
        codes = np.empty(len(begin), np.int64)
        for begin_of_part in range(0, len(begin), _AT_ONCE):
            part = slice(begin_of_part, begin_of_part + _AT_ONCE)
            words = self._words_at(data, begin[part], size[part])
            entry = self._place.take(_hashes(words))
            other = self._words.take(entry, axis=0) ^ words
            different = other[:, 0]
            for k in range(1, other.shape[1]):
                different |= other[:, k]
            same = (different == 0) & (self._size.take(entry) == size[part])
            codes[part] = np.where(same, self._code.take(entry), -1)
        return codes

    def add(self, data: Bytes, begin: Ints, size: Ints, codes: Ints) -> None:
        """Add distinct texts with their codes; when the table is full, it remains as it is."""
        count = min(len(begin), _MOST_SHORT - self._entries)
        words = self._words_at(data, begin[:count], size[:count])
        added = slice(self._entries, self._entries + count)
        if added.stop > len(self._size):
            self._words = np.resize(self._words, (2 * added.stop, self._count))
            self._size, self._code = (
                np.resize(values, 2 * added.stop) for values in (self._size, self._code)
            )
        self._words[added], self._size[added], self._code[added] = (
            words,
            size[:count],
            codes[:count],
        )
        self._place[_hashes(words)] = np.arange(added.start, added.stop)
        self._entries += count

    def _words_at(self, data: Bytes, begin: Ints, size: Ints) -> Words:
        if self._count == 1:
            return (_word_at(data, begin) & MASKS.take(size))[:, None]
        half = 4 * self._count
        window: NDArray[Any] = np.ndarray(
            (len(data) - half + 1,), np.dtype(f"V{half}"), data.data, strides=(1,)
        )
        words = np.empty((len(begin), 2), window.dtype)
        words[:, 0] = window[begin]
        words[:, 1] = window[begin + size - half]
        return words.view("<u8")


_MOST_SHORT = 1 << 13
_AT_ONCE = 1 << 12  # texts: what is made of them fits in the processor's cache
_FACTORS = np.array(
    [pow(0x9E3779B97F4A7C15, 2 * k + 1, 1 << 64) for k in range(PADDING // 8)], np.uint64
)


def _hashes(words: Words) -> NDArray[np.uint16]:
    count = words.shape[1]
    mixed = words @ _FACTORS[:count] if count > 1 else words[:, 0] * _FACTORS[0]
    mixed ^= mixed >> np.uint64(32)
    mixed *= _FACTORS[1]
    hashes: NDArray[np.uint16] = (mixed >> np.uint64(48)).astype(np.uint16)
    return hashes
