"""Protobuf read by columns, beside the official parser and a walk by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.protobuf.layouts import MessageLayouts
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.codecs.protobuf.wire import FIXED64, LENGTH_DELIMITED, VARINT
from viewer.codecs.protobuf.writer import tag, varint

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1), st.text(max_size=150),
        st.lists(st.integers(1, 2**64 - 1), max_size=3),
    ), min_size=1, max_size=120,
)  # fmt: skip


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
    """The same by hand: bodies of field 1, and where it ends."""
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
        if number not in (10, 18) or here + length > len(data):
            return found, at
        if number == 10:
            found.append((here, here + length))
        at = here + length
    return found, at


@given(
    st.lists(
        st.tuples(
            st.sampled_from((1, 1, 1, 2)), st.binary(max_size=40) | st.just(b"\n\1\n\0" * 60)
        ),
        max_size=200,
    ),
    st.integers(0, 20),
)
def test_messages_are_found_among_others_and_texts_that_look_like_them(parts, cut):
    data = b"".join(tag(n, LENGTH_DELIMITED) + varint(len(b)) + b for n, b in parts)
    data = data[: len(data) - cut]
    begin, end, stop = PaddedBytes(padded(data)).records()
    expected, at = walked(data)
    assert list(zip(begin.tolist(), end.tolist(), strict=True)) == expected
    assert stop == at


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
    block, layouts = PaddedBytes(padded(data)), MessageLayouts()
    begin, end, _ = block.records()
    for _ in range(2):  # with layouts that are known, too
        one, other = (block.fields(begin, end, range(8, 4000), known) for known in (None, layouts))
        assert sorted(other.damaged.tolist()) == sorted(one.damaged.tolist())
        assert len(one.damaged) == 5
        for field, wire in ((1, VARINT), (300, VARINT), (2, LENGTH_DELIMITED)):
            expected, found = one.get(field, wire).sorted(), other.get(field, wire).sorted()
            assert found.owner.tolist() == expected.owner.tolist()
            assert found.value.tolist() == expected.value.tolist()
            if wire == LENGTH_DELIMITED:
                assert found.at.tolist() == expected.at.tolist()


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
    one, other = (
        block.fields(begin, end, range(8, 4000), known) for known in (None, MessageLayouts())
    )
    assert sorted(other.damaged.tolist()) == sorted(one.damaged.tolist())
    assert {t for t, f in one.by_tag.items() if len(f)} == {
        t for t, f in other.by_tag.items() if len(f)
    }
    for number, field in one.by_tag.items():
        expected, found = field.sorted(), other.by_tag.get(number, field).sorted()
        assert found.owner.tolist() == expected.owner.tolist()
        assert found.value.tolist() == expected.value.tolist()
