"""Protobuf read by columns, beside the official parser and a walk by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.protobuf.fields import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Fields,
    MessageLayouts,
    Wanted,
)
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.codecs.protobuf.writer import tag, varint

ANY = Wanted(range(8, 4000))
INNER = Wanted(ANY.tags, {4 << 3 | LENGTH_DELIMITED: ANY, 1 << 3 | LENGTH_DELIMITED: ANY})
DEEP = Wanted(ANY.tags, {number << 3 | LENGTH_DELIMITED: INNER for number in (1, 2, 11)})

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1), st.text(max_size=150),
        st.lists(st.integers(1, 2**64 - 1), max_size=3),
    ), min_size=1, max_size=120,
)  # fmt: skip


@pytest.mark.slow
@given(EVENTS)
def test_fields_are_those_of_the_official_parser(events):
    trace = pb.Trace()
    for time, value, text, flows in events:
        packet = trace.packet.add(timestamp=time)
        packet.interned_data.event_categories.add(name=text)
        packet.track_event.counter_value = value
        packet.track_event.flow_ids.extend(flows)
    block = PaddedBytes(padded(trace.SerializeToString()))
    begin, end, stop = block.records()
    assert stop == block.size
    packets = block.fields(begin, end, range(8, 2000))
    assert packets.get(8, VARINT).value.tolist() == [time for time, *_ in events]
    texts = packets.get(12, LENGTH_DELIMITED).sorted()
    spans = zip(texts.at.tolist(), texts.end.tolist(), strict=True)
    assert [block.data[a:b].tobytes() for a, b in spans] == [
        packet.interned_data.SerializeToString() for packet in trace.packet
    ]
    spans = packets.get(11, LENGTH_DELIMITED).sorted()
    inner = block.fields(spans.at, spans.end, range(8, 2000))
    assert inner.get(30, VARINT).sorted().value.view(np.int64).tolist() == [e[1] for e in events]
    flows = inner.get(47, FIXED64).sorted()
    assert list(zip(flows.owner.tolist(), flows.value.tolist(), strict=True)) == [
        (i, flow) for i, event in enumerate(events) for flow in event[3]
    ]
    assert not len(packets.damaged)
    assert not len(inner.damaged)


def walked(data: bytes) -> tuple[list[tuple[int, int]], int]:
    """The same by hand: bodies of field 1, and where they end."""
    found, at = [], 0
    while at < len(data):
        number, here = 0, at
        parts = []
        for _ in range(2):
            value = shift = 0
            while True:
                if here >= len(data) or shift > 63:
                    return found, at
                byte = data[here]
                value |= (byte & 127) << shift
                here, shift = here + 1, shift + 7
                if byte < 128:
                    break
            parts.append(value)
        number, length = parts
        if number != 10 or here + length > len(data):
            return found, at
        found.append((here, here + length))
        at = here + length
    return found, at


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from((1,) * 40 + (2,)), st.binary(max_size=40) | st.just(b"\n\1\n\0" * 60)
        ),
        max_size=200,
    ),
    st.integers(0, 20),
    st.lists(st.floats(0, 1), max_size=5),
)
def test_messages_are_found_up_to_what_is_none_and_among_texts_that_look_like_them(
    parts, cut, places
):
    data = b"".join(tag(n, LENGTH_DELIMITED) + varint(len(b)) + b for n, b in parts)
    data = data[: len(data) - cut]
    block = PaddedBytes(padded(data))
    for first in (0, *(int(place * len(data)) for place in places)):
        begin, end, stop = block.records(first)
        expected, at = walked(data[first:])
        assert [(a - first, b - first) for a, b in zip(begin, end, strict=True)] == expected
        assert stop - first == at


def test_a_damaged_message_is_told_and_the_others_are_read():
    good = varint(8) + varint(7)
    bodies = [good, varint(9) + b"\1", b"\x0b", good, b"\x08" + b"\xff" * 11, b"\x12\x7f"] * 20
    data = b"".join(tag(1, LENGTH_DELIMITED) + varint(len(b)) + b for b in bodies)
    block = PaddedBytes(padded(data))
    begin, end, _ = block.records()
    fields = block.fields(begin, end, range(2000))
    assert sorted(set(fields.damaged.tolist())) == [
        i for i, body in enumerate(bodies) if body != good
    ]
    assert fields.get(1, VARINT).value.tolist() == [7] * 40


def test_messages_of_few_layouts_are_read_as_one_by_one():
    """Two programs write 400 messages each, whose numbers are of one to ten bytes; 40 others have
    a field twice, or are damaged."""
    numbers = [0, 127, 128, 2**14, 2**35, 2**49, 2**56, 2**63, 2**64 - 1]
    bodies = [
        body
        for i in range(400)
        for n in (numbers[i * len(numbers) // 400],)
        for body in (
            tag(1, VARINT) + varint(n) + tag(300, VARINT) + varint(i % 128),
            tag(2, LENGTH_DELIMITED) + varint(3) + b"%03d" % i + tag(1, VARINT) + varint(i % 100),
        )
    ]
    bodies += [tag(1, VARINT) + varint(7) + tag(1, VARINT) + varint(i) for i in range(40)]
    bodies += [tag(1, VARINT) + b"\xff" * 3] * 5
    bodies = [bodies[i] for i in np.random.default_rng(2).permutation(len(bodies))]
    data = b"".join(tag(1, LENGTH_DELIMITED) + varint(len(b)) + b for b in bodies)
    block, layouts = PaddedBytes(padded(data)), MessageLayouts(ANY)
    begin, end, _ = block.records()
    for _ in range(2):  # with layouts that are known, too
        found = block.fields_alike(begin, end, layouts)
        assert_same(block, found, block.fields(begin, end, ANY.tags), ANY)
        assert len(found.damaged) == 5


def assert_same(block: PaddedBytes, found: Fields, expected: Fields, wanted: Wanted) -> None:
    """The same fields, also of the messages in fields that were looked into."""
    assert sorted(found.damaged.tolist()) == sorted(expected.damaged.tolist())
    used = {number for number, field in expected.by_tag.items() if len(field)}
    assert {number for number, field in found.by_tag.items() if len(field)} == used
    for number in used:
        one, other = found.by_tag[number], expected.by_tag[number].sorted()
        if one.inside is not None:
            inner = wanted.inside[number]
            again = block.fields(one.at, one.end, inner.tags)
            assert_same(block, one.inside, again, inner)
        one = one.sorted()
        assert one.owner.tolist() == other.owner.tolist()
        assert one.value.tolist() == other.value.tolist()
        if number & 7 == LENGTH_DELIMITED:
            assert one.at.tolist() == other.at.tolist()


def test_messages_in_messages_are_read_with_the_layouts_of_those_around_them():
    """Events in packets, with arguments: one, two, a damaged one, an empty one, or no event."""

    def message(number: int, body: bytes) -> bytes:
        return tag(number, LENGTH_DELIMITED) + varint(len(body)) + body

    def argument(i: int) -> bytes:
        return message(4, tag(1, VARINT) + varint(i % 90) + tag(4, VARINT) + varint(i * 7))

    bodies = []
    for i in range(4000):
        event = message(11, tag(9, VARINT) + varint(1) + argument(i) + argument(i + 1) * (i % 2))
        if i % 97 == 0:
            event = (message(11, b"\xff\xff\xff"), message(11, b""), b"")[i % 3]
        elif i % 31 == 0:
            event += message(11, argument(i))
        bodies.append(tag(8, VARINT) + varint(1000 * i) + event + tag(10, VARINT) + varint(1))
    data = b"".join(message(1, body) for body in bodies)
    block = PaddedBytes(padded(data))
    begin, end, _ = block.records()
    found = block.fields_alike(begin, end, MessageLayouts(DEEP))
    events = found.by_tag[11 << 3 | LENGTH_DELIMITED]
    assert events.inside is not None
    assert events.inside.by_tag[4 << 3 | LENGTH_DELIMITED].inside is not None
    assert_same(block, found, block.fields(begin, end, DEEP.tags), DEEP)


@pytest.mark.slow
@given(
    st.lists(st.binary(max_size=12), min_size=1, max_size=6), st.binary(max_size=3),
    st.integers(0, 2**32),
)  # fmt: skip
def test_hostile_messages_are_read_alike_with_layouts_and_without(kinds, more, seed):
    random = np.random.default_rng(seed)
    bodies = [kinds[i] for i in random.integers(0, len(kinds), 900)] + [more] * 3
    data = b"".join(tag(1, LENGTH_DELIMITED) + varint(len(b)) + b for b in bodies)
    block = PaddedBytes(padded(data))
    begin, end, _ = block.records()
    for wanted in (ANY, DEEP):
        found = block.fields_alike(begin, end, MessageLayouts(wanted))
        assert_same(block, found, block.fields(begin, end, wanted.tags), wanted)
