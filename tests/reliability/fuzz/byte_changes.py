"""Changes of plain bytes: flipped bits, splices of two files, numbers in place, truncation."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tests.reliability.fuzz.values import Dice

_NUMBERS = (0, 1, 2, 3, 4, 8, 0x7F, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)


def changed(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    """Return other bytes; after a single flipped bit, most files can still be read."""
    made = bytearray(data or b"\0")
    if dice.random() < 0.4:
        made[dice.randrange(len(made))] ^= 1 << dice.randrange(8)
        return bytes(made)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(made))
        how = dice.randrange(7)
        if how == 0:
            for _ in range(dice.choice((1, 4, 40))):
                made[dice.randrange(len(made))] = dice.randrange(256)
        elif how == 1:
            del made[max(at, 8) :]
        elif how == 2:
            other = dice.choice(others) or b"\0"
            begin = dice.randrange(len(other))
            made[at : at + dice.choice((0, 4, 64, 1000))] = other[begin : begin + 400]
        elif how == 3:
            del made[at : at + dice.choice((1, 4, 100))]
        elif how == 4:
            part = made[at : at + dice.choice((1, 8, 64, 400))]
            made[at:at] = part * dice.choice((1, 1, 3))
        else:
            numbers = (*_NUMBERS, len(made), max(len(made) - 4, 0), dice.randrange(len(made)))
            for _ in range(dice.choice((1, 3, 10))):
                place = dice.randrange(max(len(made) // 4, 1)) * 4
                made[place : place + 4] = struct.pack("<I", dice.choice(numbers))
        if not made:
            return b"\0"
    return bytes(made)
