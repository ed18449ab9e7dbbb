"""Changes of FlatBuffers in place, by their tables: fields absent, swapped, repeated or changed.

Tables are found by their structure, without a schema: an offset back to a vtable whose sizes fit.
"""

from __future__ import annotations

import struct

from tests.reliability.fuzz.values import EDGES, Dice

_MOST_TABLES = 2000


def changed(data: bytes, dice: Dice) -> bytes:
    """Return the buffer with some fields of its tables changed. ValueError if it has no table."""
    made = bytearray(data)
    places = tables(data)
    if not places:
        raise ValueError("there is no table")
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        _change_one(made, dice.choice(places), dice.choice(places), dice)
    return bytes(made)


def tables(data: bytes) -> list[tuple[int, int, int]]:
    """Return what looks like a table: its offset, that of its vtable, and its number of slots."""
    found = []
    for at in range(4, len(data) - 4, 4):
        (back,) = struct.unpack_from("<i", data, at)
        vtable = at - back
        if back == 0 or not 0 <= vtable <= len(data) - 4 or vtable % 2:
            continue
        size, length = struct.unpack_from("<HH", data, vtable)
        if size % 2 or not 4 <= size <= 60 or not 4 <= length <= 200 or vtable + size > len(data):
            continue
        slots = struct.unpack_from(f"<{(size - 4) // 2}H", data, vtable + 4)
        if at + length <= len(data) and all(slot < length for slot in slots):
            found.append((at, vtable, len(slots)))
            if len(found) == _MOST_TABLES:
                break
    return found


def _change_one(
    made: bytearray, table: tuple[int, int, int], other: tuple[int, int, int], dice: Dice
) -> None:
    at, vtable, slots = table
    if not slots:
        return
    slot = vtable + 4 + 2 * dice.randrange(slots)
    (field,) = struct.unpack_from("<H", made, slot)
    place, how = at + field, dice.randrange(8)
    if how == 0:
        struct.pack_into("<H", made, slot, 0)
    elif how == 1:
        second = vtable + 4 + 2 * dice.randrange(slots)
        made[slot : slot + 2], made[second : second + 2] = (
            made[second : second + 2], made[slot : slot + 2],
        )  # fmt: skip
    elif how == 2 and place + 4 <= len(made):
        # The field points at another table: shared by two, or of another type.
        struct.pack_into("<I", made, place, (other[0] - place) % 2**32)
    elif how == 3 and at + 4 <= len(made):
        struct.pack_into("<i", made, at, at - other[1])
    elif how == 4 and place + 8 <= len(made):
        struct.pack_into("<Q", made, place, dice.choice(EDGES))
    elif how == 5 and place + 4 <= len(made):
        # The length of the vector or text that the field points to.
        (offset,) = struct.unpack_from("<I", made, place)
        if place + offset + 4 <= len(made):
            size = dice.choice((0, 1, 2, 3, 7, 100, len(made), 2**31 - 1, 2**32 - 1))
            struct.pack_into("<I", made, place + offset, size)
    elif how == 6 and place < len(made):
        made[place] = dice.choice((0, 1, 2, 3, 5, 8, 9, 127, 128, 255))
    elif place + 4 <= len(made):
        struct.pack_into("<I", made, place, dice.choice(EDGES) % 2**32)
