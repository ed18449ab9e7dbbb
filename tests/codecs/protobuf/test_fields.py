"""Messages of numbers that are read layout by layout, beside the same messages one by one."""

import numpy as np
import pytest

from viewer.codecs.protobuf.fields import LENGTH_DELIMITED, VARINT, MessageLayouts, Wanted
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.codecs.protobuf.writer import tag, varint

ARGUMENT = 4 << 3 | LENGTH_DELIMITED
INNER = Wanted(range(8, 4000))
WANTED = Wanted(INNER.tags, {ARGUMENT: INNER}, (ARGUMENT,))


def message(number: int, body: bytes) -> bytes:
    return tag(number, LENGTH_DELIMITED) + varint(len(body)) + body


def argument(*numbers: tuple[int, int], text: bytes = b"") -> bytes:
    body = b"".join(tag(number, VARINT) + varint(value) for number, value in numbers)
    return message(4, body + (message(6, text) if text else b""))


@pytest.mark.parametrize("seed", range(4))
def test_alike_messages_and_the_others_are_all_messages(seed):
    dice = np.random.default_rng(seed)
    bodies, expected = [], {}
    for i in range(2000):
        kind = int(dice.integers(0, 6))
        name, value = (
            int(dice.integers(1, 90)),
            int(dice.integers(0, 10 ** int(dice.integers(1, 9)))),
        )
        inside = [
            [],
            [{1: name, 4: value}],
            [{1: name, 4: value}, {1: 3, 4: value + 1}],
            [{1: name}],
            None,  # with a text
            None,  # with a number twice
        ][kind]
        body = tag(9, VARINT) + varint(i % 100)
        for numbers in inside or ():
            body += argument(*numbers.items())
        if kind == 4:
            body += argument((1, name), text=b"ab")
        elif kind == 5:
            body += argument((1, name), (1, 5))
        elif inside:
            expected[i] = inside
        bodies.append(body)
    block = PaddedBytes(padded(b"".join(message(1, body) for body in bodies)))
    begin, end, _ = block.records()
    found = block.fields_alike(begin, end, MessageLayouts(WANTED)).by_tag[ARGUMENT]
    assert found.alike
    read = {}
    for alike in found.alike:
        for row, owner in enumerate(alike.owner.tolist()):
            read[owner] = [
                {number >> 3: int(values[row]) for number, values in inside.items()}
                for inside in alike.inside
            ]
    assert {owner: expected[owner] for owner in read} == read
    # The others are where messages have a text or a number twice, or a layout that few have.
    others = found.owner.tolist()
    assert set(others).isdisjoint(read)
    assert set(others) | set(read) == {i for i, body in enumerate(bodies) if len(body) > 2}
    assert len(read) > 0.2 * len(expected)
