"""What a view writes, replayed as trace_processor pairs it: stable by time, a stack a track."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.compat.torq_logger.time_chart import (
    TYPE_SLICE_BEGIN,
    TYPE_SLICE_END,
    TimeChartLog,
    TimeChartView,
)


def replayed(path) -> list[tuple[str, str, str, int, int, str]]:
    """(process, thread, name, start, duration, category), lanes told as their threads."""
    processes, tracks, open_slices, found, events = {}, {}, {}, [], []
    for packet in pb.Trace.FromString(Path(path).read_bytes()).packet:
        track = packet.track_descriptor
        if track.HasField("process"):
            processes[track.process.pid] = track.process.process_name
        elif track.HasField("thread"):
            tracks[track.uuid] = processes[track.thread.pid], track.thread.thread_name
        elif packet.HasField("track_descriptor"):
            tracks[track.uuid] = tracks[track.parent_uuid]
            assert track.name == f"{tracks[track.uuid][1]} (overlapping)"
        else:
            events.append((packet.timestamp, packet.track_event))
    for time, event in sorted(events, key=lambda pair: pair[0]):
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((time, event))
        else:
            assert not event.name, "trace_processor would look for a slice of that name"
            start, begun = stack.pop()
            found.append((*tracks[event.track_uuid], begun.name, start, time - start,
                          ",".join(begun.categories)))  # fmt: skip
    assert not any(open_slices.values())
    return sorted(found)


def threads(path) -> list[tuple[str, str]]:
    trace = pb.Trace.FromString(Path(path).read_bytes())
    described = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    names = {d.process.pid: d.process.process_name for d in described if d.HasField("process")}
    return [(names[d.thread.pid], d.thread.thread_name) for d in described if d.HasField("thread")]


spans = st.tuples(
    st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 30), st.integers(0, 9)
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(spans, max_size=12))
def test_every_slice_keeps_its_times_however_they_overlap(tmp_path, items):
    view = TimeChartView(tmp_path / "t.pb")
    logs = [
        TimeChartLog(process, thread, f"f{i}", start, start + length)
        for i, (process, thread, start, length) in enumerate(items)
    ]
    for log in logs:
        view.render(log)
    assert view.flush() == len(logs)
    assert replayed(tmp_path / "t.pb") == sorted(
        (log.process, log.thread, log.function, log.start_time, log.end_time - log.start_time, "")
        for log in logs
    )


def test_a_begin_and_an_end_make_a_slice_and_may_nest(tmp_path):
    outer, inner = (TimeChartLog("host", "main", name, 0, 0) for name in ("outer", "inner"))
    with TimeChartView(tmp_path / "t.pb") as view:
        view.set_track_event(5, TYPE_SLICE_BEGIN, outer)
        view.set_track_event(7, TYPE_SLICE_BEGIN, inner)
        view.set_track_event(9, TYPE_SLICE_END, inner)
        view.set_track_event(20, TYPE_SLICE_END, outer)
    assert replayed(tmp_path / "t.pb") == [
        ("host", "main", "inner", 7, 2, ""), ("host", "main", "outer", 5, 15, "")
    ]  # fmt: skip


def test_what_was_begun_must_end_before_the_file_is_written(tmp_path):
    log = TimeChartLog("host", "main", "wait", 0, 0)
    view = TimeChartView(tmp_path / "t.pb")
    view.set_track_event(5, TYPE_SLICE_BEGIN, log)
    with pytest.raises(ValueError, match="wait: begun on host > main and not ended"):
        view.flush()
    assert not (tmp_path / "t.pb").exists()
    view.set_track_event(6, TYPE_SLICE_END, log)
    assert view.flush() == 1
    with pytest.raises(ValueError, match="without a begin"):
        view.set_track_event(7, TYPE_SLICE_END, log)
    with pytest.raises(ValueError, match="type 3"):
        view.set_track_event(7, 3, log)


def test_no_slice_ends_before_it_begins(tmp_path):
    with pytest.raises(ValueError, match="not a span of time"):
        TimeChartView(tmp_path / "t.pb").render(TimeChartLog("p", "t", "f", 5, 4))


@pytest.mark.parametrize("time", [1.5, "1", None])
def test_times_are_whole_numbers_as_in_the_original(tmp_path, time):
    with pytest.raises(TypeError):
        TimeChartView(tmp_path / "t.pb").render(TimeChartLog("p", "t", "f", 1, time))


def test_a_log_can_be_changed_before_it_is_rendered(tmp_path):
    log = TimeChartLog("p", "t", "f", 5, 5)
    log.end_time = 9
    with TimeChartView(tmp_path / "t.pb") as view:
        view.render(log)
    assert replayed(tmp_path / "t.pb") == [("p", "t", "f", 5, 4, "")]


def test_described_threads_are_shown_without_slices_in_the_order_of_the_calls(tmp_path):
    with TimeChartView(tmp_path / "t.pb") as view:
        view.add_process_descriptor("b")
        view.add_thread_descriptor("a", "1")
        view.render(TimeChartLog("b", "0", "f", 0, 1, "overview"))
    assert threads(tmp_path / "t.pb") == [("b", "0"), ("a", "1")]
    assert replayed(tmp_path / "t.pb")[0][5] == "overview"


def test_times_below_zero_are_counted_from_the_earliest(tmp_path):
    with TimeChartView(tmp_path / "t.pb") as view:
        view.render(TimeChartLog("p", "t", "f", -10, -4))
        view.render(TimeChartLog("p", "t", "g", 3, 4))
    assert [s[2:5] for s in replayed(tmp_path / "t.pb")] == [("f", 0, 6), ("g", 13, 1)]


def test_a_second_flush_writes_the_whole_again(tmp_path):
    view = TimeChartView(tmp_path / "t.pb")
    view.render(TimeChartLog("p", "t", "f", 0, 1))
    assert view.flush() == 1
    view.render(TimeChartLog("p", "t", "g", 1, 2))
    assert view.flush() == 2
    assert len(replayed(tmp_path / "t.pb")) == 2


def test_a_block_that_fails_writes_nothing(tmp_path):
    with pytest.raises(KeyError), TimeChartView(tmp_path / "t.pb"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
