"""Gathers over flatbuffer tables agree with scalar reads and never leave the file."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.codecs import flatbuffer
from viewer.codecs.flatbuffer import Buffer, Malformed, Tables, distinct_texts, elements


def buffer_of(data: bytes) -> Buffer:
    return Buffer(np.frombuffer(data, np.uint8))


def at(*positions: int) -> np.ndarray:
    return np.array(positions, np.int64)


def file_of_texts(texts: list[bytes], gap: int = 0) -> tuple[Buffer, np.ndarray]:
    """Length-prefixed texts behind 8 bytes, aligned to 4 and then moved by `gap`."""
    data, places = bytearray(8 + gap), []
    for text in texts:
        places.append(len(data))
        data += struct.pack("<I", len(text)) + text + b"\0"
        data += b"\xee" * (-(len(data) - gap) % 4)  # what pads texts must not be compared
    return buffer_of(bytes(data)), at(*places)


short_texts = st.lists(st.binary(max_size=10) | st.binary(min_size=60, max_size=70), max_size=30)


@pytest.mark.slow
@given(short_texts, st.integers(0, 3))
def test_texts_are_numbered_by_first_appearance(texts, gap):
    buffer, places = file_of_texts(texts, gap)
    for few in (0, len(texts)):  # by words, and one by one
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(flatbuffer, "_FEW", few)
            codes, distinct = distinct_texts(buffer, places, "texts")
        assert distinct == list(dict.fromkeys(texts))
        assert [distinct[c] for c in codes] == texts


def test_absent_texts_have_code_minus_one():
    buffer, places = file_of_texts([b"a", b"b"])
    codes, distinct = distinct_texts(buffer, np.insert(places, 1, 0), "texts")
    assert codes.tolist() == [0, -1, 1]
    assert distinct == [b"a", b"b"]


def test_equal_hashes_do_not_make_texts_equal(monkeypatch):
    monkeypatch.setattr(flatbuffer, "ODD", np.uint64(0))
    monkeypatch.setattr(flatbuffer, "_FEW", 0)
    texts = [random.Random(i % 5).randbytes(3 + i % 5) for i in range(20)]
    buffer, places = file_of_texts(texts)
    codes, distinct = distinct_texts(buffer, places, "texts")
    assert [distinct[c] for c in codes] == texts


def test_long_texts_that_overlap_are_refused():
    """Ten texts inside each other would claim ten times the file."""
    data = struct.pack("<I", 1000) * 10 + bytes(1000)
    with pytest.raises(Malformed, match="overlap"):
        distinct_texts(buffer_of(bytes(8) + data), at(*range(8, 48, 4)), "texts")


@pytest.mark.parametrize("offset", range(8))
def test_numbers_are_read_at_any_alignment(offset):
    data = bytes(range(1, 40))
    buffer, places = buffer_of(data), at(offset, offset + 9, 31)
    for width, values in ((2, buffer.u2), (4, buffer.u4), (8, buffer.u8)):
        expected = [int.from_bytes(data[p : p + width], "little") for p in places.tolist()]
        assert values(places).tolist() == expected


def table(fields: bytes, *slots: int) -> bytes:
    """A vtable and, behind it, its table."""
    vtable = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), 4 + len(fields), *slots)
    vtable += bytes(-len(vtable) % 4)
    return vtable + struct.pack("<i", len(vtable)) + fields


def test_fields_that_a_table_lacks_have_their_default():
    first = table(struct.pack("<iQ", -7, 1 << 40), 4, 0, 8)
    second = table(struct.pack("<i", 9), 4)
    buffer = buffer_of(first + second)
    tables = Tables(buffer, at(12, len(first) + 8), "table")
    assert tables.numbers(0, np.int32, 5).tolist() == [-7, 9]
    assert tables.numbers(1, np.int32, 5).tolist() == [5, 5]
    assert tables.numbers(2, np.uint64, 3).tolist() == [1 << 40, 3]
    assert tables.numbers(100, np.int32, 1).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("data", "byte", "reason"),
    [
        (table(b"", 0)[:-1], 8, "table is outside the file"),
        (struct.pack("<ii", 0, 1000), 8, "table is outside the file"),
        (bytes(8) + struct.pack("<i", 1000), 8, "table has its vtable outside the file"),
        (bytes(8) + struct.pack("<i", -1000), 8, "table has its vtable outside the file"),
        (struct.pack("<HHHHi", 500, 4, 0, 0, 8), 0, "vtable of table is outside the file"),
        (table(b"", 400), 408, "slot 0 of table is outside the file"),
    ],
)
def test_what_leads_out_of_the_file_is_named(data, byte, reason):
    with pytest.raises(Malformed, match=reason) as caught:
        Tables(buffer_of(data), at(8), "table").numbers(0, np.int32, 0)
    assert caught.value.byte == byte


def test_lists_give_their_elements_in_order():
    buffer = buffer_of(struct.pack("<8I", 0, 2, 8, 12, 1, 4, 77, 88))
    first, length = buffer.vectors(at(4, 0, 16), 4, "lists")
    assert length.tolist() == [2, 0, 1]
    assert elements(buffer, first, length, "lists", 8).tolist() == [8 + 8, 12 + 12, 20 + 4]


def test_a_list_that_is_longer_than_the_file_is_named():
    with pytest.raises(Malformed, match="lists is outside the file") as caught:
        buffer_of(struct.pack("<3I", 0, 3, 0)).vectors(at(4), 4, "lists")
    assert caught.value.byte == 4
    first, length = at(4), at(1)
    with pytest.raises(Malformed, match="lists points outside the file"):
        elements(buffer_of(struct.pack("<2I", 0, 40)), first, length, "lists", 4)


def test_tables_with_a_vtable_each_are_read_like_those_that_share_a_few(monkeypatch):
    """More vtables than are decoded in Python, and vtables that are too long for it."""
    chance = random.Random(3)
    parts, places, size = [], [], 0
    for i in range(200):
        has = [chance.random() < 0.7 for _ in range(5)]
        slots, fields = [], b""
        for is_there in has:
            slots.append(4 + len(fields) if is_there else 0)
            fields += struct.pack("<i", chance.randrange(1 << 20)) if is_there else b""
        slots += [0] * (300 if i == 7 else i % 3)
        one = table(fields, *slots)
        places.append(size + len(one) - 4 - len(fields))
        parts.append(one)
        size += len(one)
    buffer = buffer_of(b"".join(parts))

    def read() -> list[list[int]]:
        tables = Tables(buffer, at(*places), "tables")
        return [
            [*tables.numbers(slot, np.int32, -5).tolist(), *tables.fields(slot).tolist()]
            for slot in range(7)
        ]

    by_numpy = read()
    monkeypatch.setattr(flatbuffer, "_FEW_VTABLES", 1000)
    monkeypatch.setattr(flatbuffer, "_SHORT_VTABLE", 1000)
    assert read() == by_numpy
    assert any(number == -5 for number in by_numpy[0])
