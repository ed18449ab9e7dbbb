"""Changes of protobuf messages, without their schema: fields that repeat, move, go away or change.

A message is a list of [field number, wire type, value]; what parses as a message is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.reliability.fuzz.values import EDGES, NAMES, Dice
from viewer.codecs.protobuf.writer import varint

_Fields = list[list[Any]]
_DEEPEST = 6
_MOST = (1 << 64) - 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}


def changed(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    """Return another message. Raises ValueError if the data is none."""
    tree = parsed(data)
    if tree is None:
        raise ValueError("this is no message")
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        messages = [one for one in _messages(tree) if one]
        if not messages:
            break
        _change_one(dice.choice(messages), dice.choice(messages), dice)
    if dice.random() < 0.15:
        other = parsed(dice.choice(others))
        if other:
            first = dice.randrange(len(other))
            at = dice.randrange(len(tree) + 1)
            tree[at:at] = other[first : first + dice.choice((1, 3, 10))]
    return written(tree)


def parsed(data: bytes, depth: int = 0) -> _Fields | None:
    """Return the fields of a message, None if the data is no message."""
    fields: _Fields = []
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        kind, field = tag & 7, tag >> 3
        if at < 0 or not 0 < field < 1 << 29:
            return None
        if kind == _VARINT:
            value, at = _varint(data, at)
            if at < 0:
                return None
            fields.append([field, kind, value])
        elif kind in _SIZES:
            size = _SIZES[kind]
            if at + size > end:
                return None
            fields.append([field, kind, int.from_bytes(data[at : at + size], "little")])
            at += size
        elif kind == _BYTES:
            size, at = _varint(data, at)
            if at < 0 or at + size > end:
                return None
            part = data[at : at + size]
            inner = parsed(part, depth + 1) if size > 1 and depth < _DEEPEST else None
            fields.append([field, kind, inner or part])
            at += size
        else:
            return None
    return fields


def written(fields: _Fields) -> bytes:
    """Return the bytes of a message."""
    out = bytearray()
    for field, kind, value in fields:
        out += varint(field << 3 | kind)
        if kind == _VARINT:
            out += varint(value & _MOST)  # negative numbers too
        elif kind in _SIZES:
            size = _SIZES[kind]
            out += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        else:
            part = written(value) if isinstance(value, list) else value
            out += varint(len(part)) + part
    return bytes(out)


def _change_one(message: _Fields, other: _Fields, dice: Dice) -> None:
    at, how = dice.randrange(len(message)), dice.random()
    one = message[at]
    if how < 0.15:
        del message[at]
    elif how < 0.3:
        message[dice.randrange(len(message)) : 0] = [_copy(one)] * dice.choice((1, 1, 2, 20))
    elif how < 0.4:
        message.insert(dice.randrange(len(message)), message.pop(at))
    elif how < 0.5:
        message.insert(at, _copy(dice.choice(other)))
    elif how < 0.6:
        one[0] = dice.choice((1, 2, 3, 5, 8, 9, 11, 12, 22, 45, 60, one[0] + 1))
    elif isinstance(one[2], int):
        one[2] = dice.choice((*EDGES, one[2] + 1, max(one[2] - 1, 0), one[2] ^ 1 << 63))
    elif isinstance(one[2], bytes):
        one[2] = dice.choice(NAMES).encode()
    else:
        one[2] = dice.choice((b"", b"\xff", one[2][: len(one[2]) // 2]))


def _copy(one: list[Any]) -> list[Any]:
    value = one[2]
    return [*one[:2], [_copy(part) for part in value] if isinstance(value, list) else value]


def _messages(tree: _Fields) -> Iterator[_Fields]:
    todo = [tree]
    while todo:
        one = todo.pop()
        yield one
        todo += [field[2] for field in one if isinstance(field[2], list)]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    return 0, -1
