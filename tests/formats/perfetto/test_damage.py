"""A damaged packet costs itself, and at most one more; it is counted with its byte."""

import gzip
import random
import zlib

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.formats.perfetto.test_reader import CLEARED, INSTANT, NEEDS, Writer
from viewer.codecs.protobuf.fields import varint_at
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.formats import open_file
from viewer.formats.perfetto import damage, packets
from viewer.formats.perfetto.damage import DAMAGED, REST_LOST, packet_at
from viewer.formats.perfetto.reader import sniff

FIRST = 5  # packets before the events


def trace(count: int, seed: int = 1) -> pb.Trace:
    """A trace of instants with names of their own, with arguments and interned data."""
    dice = random.Random(seed)
    w = Writer()
    w.thread(11, 5, 6, "main", "app")
    w.packet(1, sequence_flags=CLEARED | NEEDS)
    packet = w.packet(1, sequence_flags=NEEDS)
    w.packet(2, sequence_flags=CLEARED)
    for iid in range(1, 9):
        packet.interned_data.debug_annotation_names.add(iid=iid, name=f"argument {iid}")
    for number in range(count):
        packet = w.packet(1, timestamp=100 * number + 1, sequence_flags=NEEDS)
        event = packet.track_event
        event.type, event.track_uuid, event.name = INSTANT, 11, f"e{number}"
        for _ in range(dice.randrange(3)):
            argument = event.debug_annotations.add(name_iid=dice.randrange(1, 9))
            argument.string_value = "\n\4text" * dice.randrange(20)
    return w.trace


def spans(data: bytes) -> list[tuple[int, int]]:
    """Where each packet starts and ends."""
    found, at = [], 0
    while at < len(data):
        length, width = varint_at(data, at + 1)
        found.append((at, at + 1 + width + length))
        at = found[-1][1]
    return found


def names(path) -> set[str]:
    opened = open_file(str(path))
    return {opened.name(i) for i in range(len(opened.slices))}


def count_of(path) -> int:
    return len(open_file(str(path)).slices)


def problems(path) -> dict[str, tuple[int, str]]:
    return {p.kind: (p.count, p.first) for p in open_file(str(path)).problems}


def events_of(data: bytes) -> set[str]:
    """The names of the events of a sound file, from the official parser."""
    return {p.track_event.name for p in pb.Trace.FromString(data).packet if p.track_event.name}


def most_events_of(data: bytes) -> int:
    """How many events a file has, if the official parser can read it."""
    try:
        return sum(p.HasField("track_event") for p in pb.Trace.FromString(data).packet)
    except DecodeError:
        return len(data)


@st.composite
def damages(draw):
    """A trace, and the same with one packet damaged: its bytes, and the name of that packet."""
    data = trace(draw(st.integers(3, 40)), draw(st.integers(0, 5))).SerializeToString()
    places = spans(data)
    which = draw(st.integers(FIRST + 1, len(places) - 1))
    start, end = places[which]
    untouched = data[:start] + data[end:]
    head = start + 1 + varint_at(data, start + 1)[1]
    kind = draw(st.sampled_from(("tag", "length", "body", "insert", "delete", "cut")))
    first, last = {"tag": (start, start), "length": (start + 1, head - 1)}.get(
        kind, (start, end - 1)
    )
    at = draw(st.integers(first, last))
    bad = bytearray(data)
    if kind in ("tag", "length", "body"):
        bad[at] = draw(st.integers(0, 255).filter(lambda value: value != data[at]))
    elif kind == "insert":
        bad[at:at] = draw(st.binary(min_size=1, max_size=30))
    elif kind == "delete":
        del bad[at : min(at + draw(st.integers(1, 30)), end)]
    else:
        del bad[at:]
    return kind, bytes(bad), untouched, which, (start, end), events_of(data)


@pytest.mark.slow
@given(damages(), st.sampled_from((1 << 8, 1 << 12, 1 << 20)), st.booleans())
def test_damage_costs_one_packet_and_is_counted(tmp_path_factory, case, block, is_packed):
    kind, bad, untouched, which, (start, end), everything = case
    path = tmp_path_factory.mktemp("damage") / "made.pftrace"
    path.write_bytes(gzip.compress(bad) if is_packed else bad)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packets, "BLOCK", block)
        left, count, counted = names(path), count_of(path), problems(path)
    lost = everything - left
    expected = events_of(untouched)
    if kind == "cut":
        following = {f"e{n}" for n in range(which - FIRST, 99)}
        assert lost == everything & following
        assert (REST_LOST in counted) == (bad != untouched[:start])
    elif kind in ("tag", "length"):
        # A packet without its last field can be read. In tiny blocks, the next one may be lost.
        beside = {f"e{which - FIRST + 1}"} if block < 1 << 12 else set()
        assert lost <= (everything - expected) | beside
        place = counted[DAMAGED if DAMAGED in counted else REST_LOST][1]
        assert start <= int(place.split()[1]) < end
    else:
        assert len(lost) <= 2
        assert lost <= {f"e{which - FIRST + beside}" for beside in (-1, 0, 1)}
        # Nothing says that a whole packet is missing, or became part of a text.
        assert counted or count >= min(len(everything), most_events_of(bad))


@pytest.mark.slow
@pytest.mark.parametrize("step", [23, pytest.param(7, marks=pytest.mark.nightly)])
def test_no_byte_of_the_head_of_a_packet_loses_an_event_in_silence(tmp_path, step):
    data = trace(6).SerializeToString()
    path = tmp_path / "made.pftrace"
    everything = events_of(data)
    silent = []
    for start, _ in spans(data)[FIRST + 1 : FIRST + 3]:
        for at in range(start, start + 12):
            for value in range(0, 256, step):
                path.write_bytes(data[:at] + bytes([value]) + data[at + 1 :])
                opened = open_file(str(path))
                if len(opened.slices) < len(everything) and not opened.problems:
                    silent.append((at - start, value))
    assert silent == []


def test_several_damages_are_found_and_all_others_read(tmp_path):
    data = trace(200).SerializeToString()
    bad, lost = bytearray(data), {FIRST + 3, FIRST + 50, FIRST + 51, FIRST + 150}
    for which in lost:
        bad[spans(data)[which][0]] = 0xFF
    path = tmp_path / "made.pftrace"
    path.write_bytes(bad)
    assert events_of(data) - names(path) == {f"e{which - FIRST}" for which in lost}
    first = spans(data)[FIRST + 3]
    # Of two damaged packets in a row, nothing says that they are two.
    assert problems(path)[DAMAGED] == (3, f"byte {first[0]} to {first[1]}")


def test_a_packet_that_takes_in_whole_others_gives_them_back(tmp_path):
    data = trace(30).SerializeToString()
    places = spans(data)
    start = places[FIRST + 9][0]
    head = start + 1 + varint_at(data, start + 1)[1]
    length = places[FIRST + 13][1] - head
    width = bytes([length & 0x7F | 0x80, length >> 7])
    path = tmp_path / "made.pftrace"
    path.write_bytes(data[: start + 1] + width + data[head:])
    assert events_of(data) - names(path) == {"e9"}
    assert problems(path)[DAMAGED] == (1, f"byte {start}")


def test_damage_in_compressed_packets_costs_one_of_them(tmp_path):
    data = trace(30).SerializeToString()
    bad, places = bytearray(data), spans(data)
    bad[places[FIRST + 9][0] + 1] = 0x70
    outer = pb.Trace()
    outer.packet.add(trusted_packet_sequence_id=7, timestamp=1)
    outer.packet.add(compressed_packets=zlib.compress(bytes(bad)))
    path = tmp_path / "made.pftrace"
    path.write_bytes(outer.SerializeToString())
    assert events_of(data) - names(path) == {"e9"}
    byte = spans(outer.SerializeToString())[1][0]
    assert problems(path)[DAMAGED] == (1, f"byte {byte}")


def test_a_file_whose_first_packets_are_damaged_is_recognized(tmp_path):
    data = trace(30).SerializeToString()
    for place in (0, 1, 5):
        bad = bytearray(data)
        bad[place] = 0xFF
        assert sniff(bytes(bad[:4096]))
    assert not sniff(b"\n\4text" * 900)
    assert not sniff(bytes(range(256)) * 16)


def test_zeros_at_the_end_are_no_damage(tmp_path):
    path = tmp_path / "made.pftrace"
    data = trace(3).SerializeToString()
    for block in (1 << 10, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packets, "BLOCK", block)
            path.write_bytes(data + bytes(5000))
            assert not problems(path)
            path.write_bytes(data + bytes(5000) + data)
            places = f"byte {len(data)} to {len(data) + 5000}"
            assert problems(path)[DAMAGED] == (1, places)


def test_a_packet_of_a_newer_version_is_no_damage(tmp_path):
    data = trace(3).SerializeToString()
    newer = b"\xe2\x09\3abc" + b"\x50\7"  # field 156
    path = tmp_path / "made.pftrace"
    path.write_bytes(data + b"\n" + bytes([len(newer)]) + newer + data)
    assert not any("damage" in kind or "lost" in kind for kind in problems(path))


def test_packets_that_are_found_and_dropped_again_count_as_work(tmp_path, monkeypatch):
    """After each packet inside an impossible one, all the following ones come again."""
    monkeypatch.setattr(damage, "MOST_CHECKS", 3000)
    nested = b"\n\t\x0b\n\2\x50\1\n\2\x50\1"
    path = tmp_path / "made.pftrace"
    path.write_bytes(trace(5).SerializeToString() + nested * 1000 + b"\xff" * 9)
    calls, records = [], PaddedBytes.records

    def counted(block, first=0):
        calls.append(first)
        return records(block, first)

    monkeypatch.setattr(PaddedBytes, "records", counted)
    assert names(path) >= {f"e{n}" for n in range(5)}
    assert len(calls) < 10


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"\n\2\x50\1", 4),
        (b"\n\0", 2),
        (b"\n\4\x50\1", 6),  # not all of it is there
        (b"\x0b\2\x50\1", -1),
        (b"\n\2\x51\1", -1),  # a sequence of another type
        (b"\n\3\x50\x80\1", 5),
        (b"\n\3\x50\1\1", -1),
        (b"\n\4\n\0\n\0", -1),  # two kinds of data
        (b"\n\4\x62\0\n\0", 6),  # interned data beside them
    ],
)
def test_a_packet_has_known_fields_that_fill_it(data, end):
    assert packet_at(data + bytes(24), 0, len(data))[0] == end


def test_the_work_on_damage_is_bounded(tmp_path, monkeypatch):
    """Most places that look like a packet are not looked at twice; then the rest is lost."""
    monkeypatch.setattr(damage, "MOST_CHECKS", 100)
    data = trace(20).SerializeToString()
    middle = spans(data)[FIRST + 10][0]
    path = tmp_path / "made.pftrace"
    path.write_bytes(data[:middle] + b"\xff" + b"\n\4\x50\1\x50" * 5000 + data[middle:])
    assert events_of(data) - names(path) == {f"e{n}" for n in range(10, 20)}
    assert problems(path)[REST_LOST] == (1, f"byte {middle}")
