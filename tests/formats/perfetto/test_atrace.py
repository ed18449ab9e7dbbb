"""What atrace's texts mean, and that their slices live beside track events."""

import pytest

from tests.builders.android_traces import APP, RENDER, AndroidTrace
from viewer.formats import open_file
from viewer.formats.event_pairs import BEGIN, END, POINT
from viewer.formats.perfetto.atrace import mark_of


@pytest.mark.parametrize(
    ("text", "kind", "pid", "name"),
    [
        ("B|12|draw|frame 3\n", BEGIN, 12, "draw|frame 3"),
        ("B|12|", BEGIN, 12, "(unnamed)"),
        ("E|12\n", END, 12, ""),
        ("E", END, -1, ""),
        ("I|12|tick", POINT, 12, "tick"),
        ("S|12|a|b|-7", BEGIN, 12, "a|b"),
        ("F|12|a|b|-7", END, 12, "a|b"),
        ("G|12|net|get|x|3", BEGIN, 12, "get|x"),
        ("N|12|net|ping", POINT, 12, "ping"),
    ],
)
def test_marks(text, kind, pid, name):
    mark = mark_of(text)
    assert (mark.kind, mark.pid, mark.name) == (kind, pid, name)


@pytest.mark.parametrize(
    "text", ["", "hello", "B|x|y", "C|1|a|b", "S|1|a", "E|12|x", "B" * 5000, "C|1|a|" + "9" * 30]
)
def test_other_texts_are_no_marks(text):
    assert mark_of(text).name == ""


def test_a_thread_with_track_events_has_a_second_track(tmp_path):
    made = AndroidTrace()
    made.prints((100, RENDER, f"B|{APP}|draw"), (180, RENDER, "E"))
    packet = made.trace.packet.add(trusted_packet_sequence_id=9, sequence_flags=1)
    packet.track_descriptor.uuid = 5
    packet.track_descriptor.thread.pid, packet.track_descriptor.thread.tid = APP, RENDER
    packet.track_descriptor.thread.thread_name = f"RenderThread {RENDER}"
    for time, kind in ((110, 1), (120, 2)):
        event = made.trace.packet.add(timestamp=time, trusted_packet_sequence_id=9).track_event
        event.track_uuid, event.type, event.name = 5, kind, "own"
    trace = open_file(str(made.save(tmp_path)))
    assert trace.problems == ()
    assert [track.process for track in trace.tracks] == ["com.example.camera"] * 2
    assert sorted(trace.name(i) for i in range(2)) == ["draw", "own"]
