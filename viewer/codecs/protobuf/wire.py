"""The protobuf wire format: wire types, and varints of one to ten bytes.

See https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5


def varint_at(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """One varint and its width; width 0 if it exceeds ten bytes or the data ends inside it."""
    value = 0
    for k in range(min(10, len(data) - position)):
        byte = data[position + k]
        value |= (byte & 0x7F) << (7 * k)
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, k + 1
    return 0, 0


def packed(bits: Words, size: int = 8) -> Words:
    """Join the low seven bits of up to eight bytes of each word, in place."""
    for mask, by in (
        (0x007F007F007F007F, 1),
        (0x00003FFF00003FFF, 2),
        (0x000000000FFFFFFF, 4),
    ):
        if by < size:
            low = np.uint64(mask)
            high = np.uint64((mask << (8 * by)) & 0xFFFFFFFFFFFFFFFF)
            upper = bits & high
            upper >>= np.uint64(by)
            bits &= low
            bits |= upper
    return bits
