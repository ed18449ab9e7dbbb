"""The messages that scripts import under the name of Torq's generated module."""

import viewer.compat.perfetto_api as perfetto_api


def test_a_script_of_the_original_can_write_a_track_event():
    trace = perfetto_api.Trace()
    event = trace.packet.add(timestamp=5).track_event
    event.type, event.name = perfetto_api.TrackEvent.TYPE_SLICE_BEGIN, "tan"
    (packet,) = perfetto_api.Trace.FromString(trace.SerializeToString()).packet
    assert (packet.timestamp, packet.track_event.name) == (5, "tan")
