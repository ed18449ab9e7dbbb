"""Interned strings: few are looked up, many are numbered as a block."""

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.perfetto.packets import MANY, TEXTS_AT_ONCE, InternedStrings


def table(strings: InternedStrings) -> dict[int, str]:
    trace = pb.Trace.FromString(strings.packets())
    entries = [e for p in trace.packet for e in p.interned_data.debug_annotation_string_values]
    assert len({e.iid for e in entries}) == len(entries)
    assert all(p.trusted_packet_sequence_id == 1 for p in trace.packet)
    assert all(p.sequence_flags == pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE for p in trace.packet)
    return {e.iid: e.str.decode() for e in entries}


def test_few_texts_share_their_numbers():
    strings = InternedStrings()
    one = strings.value("b")
    numbers = strings.values(["a", "b", "c"]).tolist()
    assert numbers[1] == one
    known = table(strings)
    assert [known[n] for n in numbers] == ["a", "b", "c"]
    assert table(strings) == {}, "they are written once"


def test_many_texts_have_numbers_that_nothing_else_has():
    strings = InternedStrings()
    first = strings.value("é1")
    texts = [f"é{i}" for i in range(max(MANY, TEXTS_AT_ONCE) + 5)]
    numbers = strings.values(texts).tolist()
    last = strings.value("last")
    known = table(strings)
    assert [known[n] for n in numbers] == texts
    assert (known[first], known[last]) == ("é1", "last")
    assert len(known) == len(texts) + 2
