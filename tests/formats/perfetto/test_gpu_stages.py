"""Stages of a GPU: names that are interned or listed once, durations, other clocks."""

from tests.builders.android_traces import AndroidTrace
from viewer.formats import open_file


def found(trace):
    s = trace.slices
    return [
        (trace.tracks[s.row_track[row]].thread, trace.name(i), int(s.start[i]), int(s.end[i]))
        for i, row in enumerate(s.rows().tolist())
    ]


def test_queues_are_tracks_and_stages_are_names(tmp_path):
    made = AndroidTrace()
    made.gpu((300, 40, 1, 3), (310, 100, 2, 4), (345, 60, 1, 4))
    trace = open_file(str(made.save(tmp_path)))
    assert found(trace) == [
        ("graphics", "Vertex", 300, 340), ("graphics", "Fragment", 345, 405),
        ("compute", "Fragment", 310, 410),
    ]  # fmt: skip
    assert {track.process for track in trace.tracks} == {"GPU"}
    assert trace.slices.columns["submission_id"].value(0) == 7


def test_older_traces_list_names_once_in_an_event_without_a_stage(tmp_path):
    made = AndroidTrace()
    listed = made.trace.packet.add(timestamp=1, trusted_packet_sequence_id=3)
    specifications = listed.gpu_render_stage_event.specifications
    specifications.hw_queue.add(name="3D")
    specifications.stage.add(name="Binning")
    for start, stage in ((10, 0), (20, 5)):
        packet = made.trace.packet.add(timestamp=start, trusted_packet_sequence_id=3)
        event = packet.gpu_render_stage_event
        event.event_id, event.duration, event.hw_queue_id, event.stage_id = start, 4, 0, stage
    assert found(open_file(str(made.save(tmp_path)))) == [
        ("3D", "Binning", 10, 14), ("3D", "stage 5", 20, 24)
    ]  # fmt: skip


def test_a_duration_beyond_64_bits_is_an_instant(tmp_path):
    made = AndroidTrace()
    made.gpu((300, 2**64 - 1, 1, 3))
    trace = open_file(str(made.save(tmp_path)))
    assert found(trace) == [("graphics", "Vertex", 300, 300)]
    assert "unusable duration" in trace.problems[0].kind
