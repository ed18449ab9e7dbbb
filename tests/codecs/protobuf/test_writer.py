"""The column encoder against the official protobuf serializer."""

import numpy as np
import pytest
from google.protobuf.internal import encoder as official
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.protobuf.writer import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Blobs,
    Decimals,
    Doubles,
    Joined,
    Literal,
    Message,
    Picked,
    Varints,
    Where,
    assemble,
    tag,
    varint,
    varint_lengths,
)

EDGES = sorted({0, 1, 2**63, 2**64 - 1} | {2**b + d for b in range(7, 64, 7) for d in (-1, 0)})


def alone(piece) -> bytes:
    return assemble([(np.arange(len(piece.length)), piece)])


def official_varint(value: int) -> bytes:
    out = []
    official._EncodeVarint(out.append, value)
    return b"".join(out)


@pytest.mark.parametrize("value", EDGES)
def test_one_varint_at_every_change_of_length(value):
    expected = official_varint(value)
    assert varint(value) == expected
    column = np.array([value], np.uint64)
    assert varint_lengths(column).tolist() == [len(expected)]
    assert alone(Varints(column, lambda size: b"")) == expected


def test_tags():
    assert tag(1, LENGTH_DELIMITED) == b"\x0a"
    assert tag(17, VARINT) == b"\x88\x01"
    assert tag(5, FIXED64) == b"\x29"


def test_the_head_of_a_number_may_depend_on_its_length():
    piece = Varints(np.array([5, 300, 6]), lambda size: b"<%d" % size)
    assert alone(piece) == b"<1\x05<2\xac\x02<1\x06"


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_negative_numbers_are_int64(dtype):
    event = pb.DebugAnnotation(int_value=-3)
    assert alone(Varints(np.array([-3], dtype), lambda size: b"\x20")) == event.SerializeToString()


def test_bools_are_numbers():
    assert alone(Varints(np.array([True, False]), lambda size: b"\x10")) == b"\x10\x01\x10\x00"


@pytest.mark.parametrize("value", [0.5, -0.0, 1e300, np.inf])
def test_doubles(value):
    expected = pb.DebugAnnotation(name_iid=1, double_value=value).SerializeToString()
    head = tag(1, VARINT) + varint(1) + tag(5, FIXED64)
    assert alone(Doubles(np.array([value]), head)) == expected


def test_a_float32_column_is_written_as_doubles():
    assert alone(Doubles(np.array([0.5], np.float32), b"")) == np.float64(0.5).tobytes()


@pytest.mark.slow
@given(
    st.lists(st.binary(max_size=300), min_size=1, max_size=30).flatmap(
        lambda blobs: st.tuples(
            st.just(blobs), st.lists(st.integers(0, len(blobs) - 1), max_size=60)
        )
    )
)
def test_picked_blobs_of_any_length_come_in_order(case):
    blobs, codes = case
    piece = Picked(Blobs(blobs), np.array(codes, np.int64))
    assert alone(piece) == b"".join(blobs[i] for i in codes)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans()), max_size=40))
def test_a_masked_piece_is_there_or_not(rows):
    values = np.array([v for v, _ in rows], np.int64)
    mask = np.array([m for _, m in rows], np.bool_)
    piece = Joined(
        Literal(b"<", len(rows)), Where(mask, Varints(values[mask], lambda size: b"")),
        Literal(b">", len(rows)),
    )  # fmt: skip
    assert alone(piece) == b"".join(
        b"<" + (official_varint(v % 2**64) if m else b"") + b">" for v, m in rows
    )


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2)),
        max_size=40,
    )
)
def test_nested_messages_equal_the_official_bytes(rows):
    time = np.array([r[0] for r in rows], np.uint64)
    uuid = np.array([r[1] for r in rows], np.uint64)
    categories = ["", "x" * 100, "y" * 20_000]
    blobs = Blobs([pb.TrackEvent(categories=[c]).SerializeToString() for c in categories])
    body = Joined(
        Varints(uuid, lambda size: tag(11, VARINT)),
        Picked(blobs, np.array([r[2] for r in rows], np.int64)),
    )
    packet = Message(1, Joined(Varints(time, lambda size: tag(8, VARINT)), Message(11, body)))
    trace = pb.Trace()
    for ts, track, category in rows:
        event = pb.TrackEvent(track_uuid=track, categories=[categories[category]])
        trace.packet.add(timestamp=ts, track_event=event)
    assert alone(packet) == trace.SerializeToString()


def test_parts_are_interleaved_by_position():
    parts = [
        (np.array([0, 3]), Varints(np.array([1, 1000]), lambda size: b"a")),
        (np.array([2, 1]), Literal(b"long", 2)),
    ]
    assert assemble(parts) == b"a\x01longlonga\xe8\x07"


def test_no_messages_are_no_bytes():
    assert assemble([]) == b""
    assert alone(Message(1, Varints(np.empty(0, np.int64), lambda size: b"x"))) == b""


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_decimals_are_what_str_gives(values):
    piece = Decimals(np.array(values, np.int64))
    assert alone(piece) == "".join(map(str, values)).encode()


def test_decimals_at_every_change_of_length():
    values = [10**k + d for k in range(19) for d in (-1, 0)] + [2**63 - 1]
    assert alone(Decimals(np.array(values))) == "".join(map(str, values)).encode()


@pytest.mark.slow
@given(st.lists(st.text()))
def test_blobs_of_texts_are_their_utf8(texts):
    picked = Picked(Blobs.of_texts(texts), np.arange(len(texts)))
    assert alone(picked) == "".join(texts).encode()


def test_lone_surrogates_do_not_stop_a_text():
    texts = ["a\udcffb", "é\udcff"]
    assert alone(Picked(Blobs.of_texts(texts), np.arange(2))) == "a?bé?".encode()
