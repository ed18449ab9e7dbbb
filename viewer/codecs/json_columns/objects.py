"""Splits a text of JSON objects into these, and reads bytes of it as words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viewer.arrays import Bools, Ints

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
