"""Bundles of ftrace events: packed lists, clocks, and what is not shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.android_traces import APP, AndroidTrace
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.perfetto.ftrace import packed_varints


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_packed_lists_are_those_of_protobuf(values):
    data = pb.FtraceEventBundle.CompactSched(switch_prev_state=values).SerializeToString()
    if values:
        body = np.frombuffer(data, np.uint8)
        header = 1 + next(i for i in range(1, 9) if body[i] < 0x80)
        assert packed_varints(body[header:]).tolist() == values


@given(data=st.binary(max_size=40))
def test_any_bytes_are_read(data):
    assert len(packed_varints(np.frombuffer(data, np.uint8))) == sum(b < 0x80 for b in data)


def problems(trace):
    return {p.kind: p.count for p in trace.problems}


def test_other_events_are_counted(tmp_path):
    made = AndroidTrace()
    made.prints((1, APP, f"B|{APP}|a"), (2, APP, "E"))
    made.bundle().event.add(timestamp=5, pid=1).cpu_idle.state = 7
    kind = "ftrace events other than prints, switches, wakeups and CPU clocks: not shown"
    assert problems(open_file(str(made.save(tmp_path)))) == {kind: 1}


def test_a_trace_with_none_that_is_shown_says_what_it_has(tmp_path):
    made = AndroidTrace()
    made.trace.packet.add(trusted_packet_sequence_id=1).sys_stats.meminfo.add()
    with pytest.raises(UnreadableFile, match="without events that Opscope shows: it has sys_stats"):
        open_file(str(made.save(tmp_path)))


def test_times_on_another_clock_are_converted_or_reported(tmp_path):
    made = AndroidTrace()
    made.prints((1000, APP, f"B|{APP}|a"), (1200, APP, "E"))
    made.trace.packet[-1].ftrace_events.ftrace_clock = pb.FTRACE_CLOCK_MONO_RAW
    assert "no snapshot relates" in " ".join(problems(open_file(str(made.save(tmp_path)))))
    snapshot = pb.TracePacket(trusted_packet_sequence_id=1)
    for clock, time in ((6, 5000), (5, 1000)):
        snapshot.clock_snapshot.clocks.add(clock_id=clock, timestamp=time)
    made.trace.packet.insert(0, snapshot)
    trace = open_file(str(made.save(tmp_path)))
    assert (trace.start, trace.end) == (5000, 5200)
    assert trace.problems == ()


def test_packed_lists_of_unequal_length_are_cut(tmp_path):
    made = AndroidTrace()
    made.compact((105, 0, APP), (140, 1, 0))
    made.trace.packet[-1].ftrace_events.compact_sched.switch_next_pid.append(7)
    trace = open_file(str(made.save(tmp_path)))
    assert problems(trace)["packed ftrace lists of unequal length: cut"] == 1
    assert trace.name(0) == f"t{APP} {APP}"
