"""Perfetto import beside the real trace_processor, and our own exports read back."""

import gzip
import io
import json
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.workspaces import workspace_of
from tests.export.perfetto.test_writer import difficult_traces
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.codecs.reading import UnreadableFile
from viewer.export.perfetto.writer import PerfettoSource, export_perfetto, write_perfetto
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.workspace.perfetto_export import perfetto_source
from viewer.workspace.snapshot import Snapshot

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS = 1, 2
PLACED = """
    select process.name, thread.name, slice.name, ts, dur, depth
    from slice join thread_track on thread_track.id = slice.track_id
    join thread using (utid) join process using (upid)
"""


class Writer:
    """A trace put together with the official protos."""

    def __init__(self) -> None:
        self.trace = pb.Trace()

    def packet(self, sequence: int = 1, **fields) -> pb.TracePacket:
        packet = self.trace.packet.add(trusted_packet_sequence_id=sequence, **fields)
        return packet

    def thread(self, uuid: int, pid: int, tid: int, name: str = "", process: str = "") -> None:
        if process:
            d = self.packet(9).track_descriptor
            d.uuid = 1000 + pid
            d.process.pid, d.process.process_name = pid, process
        d = self.packet(9).track_descriptor
        d.uuid = uuid
        d.thread.pid, d.thread.tid = pid, tid
        if name:
            d.thread.thread_name = name

    def event(self, ts: int, type: int, track: int, name: str = "", sequence: int = 1, **more):
        packet = self.packet(sequence, timestamp=ts)
        event = packet.track_event
        event.type, event.track_uuid = type, track
        if name:
            event.name = name
        for key, value in more.items():
            setattr(event, key, value)
        return event

    def save(self, folder: Path, name: str = "made.pftrace") -> Path:
        path = folder / name
        path.write_bytes(self.trace.SerializeToString())
        return path


def slices_of(trace: Trace) -> Counter:
    """(process, thread, name, start, length, depth) of all slices."""
    s = trace.slices
    out = Counter()
    for i in range(len(s)):
        track = trace.tracks[s.track(i)]
        out[
            track.process, track.thread, trace.name(i), int(s.start[i]),
            int(s.end[i] - s.start[i]), s.depth(i),
        ] += 1  # fmt: skip
    return out


def arguments(trace: Trace, name: str) -> dict:
    i = trace.slices.name.tolist().index(trace.strings.index(name))
    found = {n: c.value(i) for n, c in trace.slices.columns.items()}
    return {n: v for n, v in found.items() if v is not None}


@pytest.mark.slow
def test_slices_of_threads_are_those_of_the_engine(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    w.thread(12, 5, 7, "other")
    for ts, type, track, name in (
        (100, BEGIN, 11, "outer"), (110, BEGIN, 11, "inner"), (110, BEGIN, 11, "inmost"),
        (120, END, 11, ""), (120, INSTANT, 11, "mark"), (130, END, 11, ""), (200, END, 11, ""),
        (200, BEGIN, 11, "next"), (200, END, 11, ""), (250, BEGIN, 11, "last"), (300, END, 11, ""),
        (150, BEGIN, 12, "beside"), (260, END, 12, ""), (300, END, 12, ""),
        (90, BEGIN, 12, "early"), (95, END, 12, ""),
    ):  # fmt: skip
        w.event(ts, type, track, name)
    path = w.save(tmp_path)
    with TraceProcessor(path) as peer:
        expected = Counter(peer.rows(PLACED))
    trace = open_file(str(path))
    assert slices_of(trace) == expected
    assert [(p.kind, p.count) for p in trace.problems] == [
        ("end event without a begin event: left out", 1)
    ]


@pytest.mark.slow
def test_interned_texts_are_those_of_their_sequence_and_its_last_clearing(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for sequence, first, names in ((1, 0, "abc"), (2, 1000, "xyz"), (1, 2000, "def")):
        packet = w.packet(sequence, sequence_flags=CLEARED | NEEDS)
        for iid, name in enumerate(names, 1):
            packet.interned_data.event_names.add(iid=iid, name=name)
            packet.interned_data.debug_annotation_names.add(iid=iid, name=f"arg {name}")
            packet.interned_data.debug_annotation_string_values.add(
                iid=iid, str=f"text {name}".encode()
            )
            packet.interned_data.event_categories.add(iid=iid, name=f"cat {name}")
        for iid in (1, 2, 3):
            packet = w.packet(sequence, timestamp=first + 10 * iid, sequence_flags=NEEDS)
            event = packet.track_event
            event.type, event.track_uuid, event.name_iid = BEGIN, 11, iid
            event.category_iids.append(iid)
            event.debug_annotations.add(name_iid=iid, string_value_iid=iid)
            w.event(first + 10 * iid + 5, END, 11, sequence=sequence)
    w.packet(3, timestamp=5000, sequence_flags=NEEDS).track_event.type = BEGIN  # never cleared
    path = w.save(tmp_path)
    with TraceProcessor(path) as peer:
        expected = Counter(peer.rows(PLACED))
    trace = open_file(str(path))
    assert slices_of(trace) == expected
    assert arguments(trace, "y") == {"arg y": "text y", "category": "cat y"}
    assert arguments(trace, "d") == {"arg d": "text d", "category": "cat d"}
    assert [p.count for p in trace.problems] == [1]


def test_arguments_of_every_type(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    event = w.event(10, BEGIN, 11, "a")
    add = event.debug_annotations.add
    add(name="flag", bool_value=True)
    add(name="size", uint_value=2**63 + 5)
    add(name="delta", int_value=-7)
    add(name="share", double_value=0.25)
    add(name="text", string_value="Größe")
    add(name="where", pointer_value=0xFF)
    add(name="json", legacy_json_value='{"k": [1]}')
    tree = add(name="tree")
    tree.dict_entries.add(name="one", int_value=1)
    tree.dict_entries.add(name="deep").dict_entries.add(name="two", string_value="zwei")
    values = add(name="list").array_values
    values.add(int_value=1)
    values.add(string_value="x")
    w.event(20, END, 11).debug_annotations.add(name="at end", int_value=3)
    trace = open_file(str(w.save(tmp_path)))
    assert arguments(trace, "a") == {
        "flag": True, "size": 2**63 + 5, "delta": -7, "share": 0.25, "text": "Größe",
        "where": 255, "json": '{"k": [1]}', "tree.one": 1, "tree.deep.two": "zwei",
        "list": '[1, "x"]', "at end": 3,
    }  # fmt: skip


@pytest.mark.slow
def test_defaults_give_the_track_and_the_clock(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    snapshot = w.packet(9).clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=1000)
    snapshot.clocks.add(clock_id=3, timestamp=200)
    packet = w.packet(1, sequence_flags=CLEARED | NEEDS)
    packet.trace_packet_defaults.track_event_defaults.track_uuid = 11
    packet.trace_packet_defaults.timestamp_clock_id = 3
    for ts, type in ((300, BEGIN), (350, END)):
        event = w.packet(1, timestamp=ts, sequence_flags=NEEDS).track_event
        event.type = type
        if type == BEGIN:
            event.name = "a"
    path = w.save(tmp_path)
    with TraceProcessor(path) as peer:
        expected = Counter(peer.rows(PLACED))
    assert slices_of(open_file(str(path))) == expected == {("app", "worker", "a", 1100, 50, 0): 1}


@pytest.mark.slow
def test_an_incremental_clock_adds_up_in_its_unit(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    packet = w.packet(1, sequence_flags=CLEARED | NEEDS, timestamp_clock_id=64)
    packet.clock_snapshot.clocks.add(clock_id=6, timestamp=5000)
    packet.clock_snapshot.clocks.add(
        clock_id=64, timestamp=3, is_incremental=True, unit_multiplier_ns=1000
    )
    for delta, type in ((1, BEGIN), (2, BEGIN), (0, END), (4, END)):
        packet = w.packet(1, timestamp=delta, timestamp_clock_id=64, sequence_flags=NEEDS)
        packet.track_event.type, packet.track_event.track_uuid = type, 11
        if type == BEGIN:
            packet.track_event.name = "ab"[delta - 1]
    path = w.save(tmp_path)
    with TraceProcessor(path) as peer:
        expected = Counter(peer.rows(PLACED))
    assert slices_of(open_file(str(path))) == expected
    assert expected["app", "worker", "a", 6000, 6000, 0] == 1


def test_plain_tracks_are_called_by_their_path(tmp_path):
    w = Writer()
    for uuid, parent, name in ((1, 0, "NPU"), (2, 1, "DMA"), (3, 2, "in"), (4, 2, "in"),
                               (5, 0, "alone")):  # fmt: skip
        d = w.packet().track_descriptor
        d.uuid, d.name = uuid, name
        if parent:
            d.parent_uuid = parent
    for uuid in (2, 3, 4, 5):
        w.event(10 * uuid, BEGIN, uuid, f"on {uuid}")
        w.event(35 + 10 * uuid, END, uuid)
    trace = open_file(str(w.save(tmp_path)))
    assert slices_of(trace) == {
        ("NPU", "DMA", "on 2", 20, 35, 0): 1,
        ("NPU", "DMA › in", "on 3", 30, 35, 0): 1,
        ("NPU", "DMA › in", "on 4", 40, 35, 0): 1,  # overlaps the other: a lane, of its full length
        ("Trace", "alone", "on 5", 50, 35, 0): 1,
    }
    assert sorted(trace.slices.row_lane.tolist()) == [0, 0, 0, 1]


def test_threads_of_one_name_stay_apart(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    w.thread(12, 5, 7, "worker")
    w.thread(13, 8, 9, "worker", "app")
    for uuid in (11, 12, 13):
        w.event(10, BEGIN, uuid, str(uuid))
        w.event(20, END, uuid)
    trace = open_file(str(w.save(tmp_path)))
    assert {(t.process, t.thread) for t in trace.tracks} == {
        ("app", "worker"), ("app", "worker 7"), ("app 8", "worker"),
    }  # fmt: skip


def test_legacy_events_of_the_phases_that_have_a_place(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for ts, phase, name, duration in ((10, "X", "x", 30), (15_000, "B", "b", 0),
                                      (20_000, "E", "", 0), (25_000, "I", "i", 0),
                                      (30_000, "S", "async", 0)):  # fmt: skip
        packet = w.packet(timestamp=ts)
        event = packet.track_event
        event.track_uuid = 11
        if name:
            event.name = name
        event.legacy_event.phase = ord(phase)
        if duration:
            event.legacy_event.duration_us = duration
    trace = open_file(str(w.save(tmp_path)))
    assert slices_of(trace) == {
        ("app", "worker", "x", 10, 30_000, 0): 1,
        ("app", "worker", "b", 15_000, 5_000, 1): 1,
        ("app", "worker", "i", 25_000, 0, 1): 1,
    }
    assert [p.count for p in trace.problems] == [1]


def test_what_is_no_track_event_is_counted(tmp_path):
    w = Writer()
    w.event(10, BEGIN, 3, "open")
    for ts in (1, 2, 3):
        w.packet(timestamp=ts).sys_stats.meminfo.add()
    trace = open_file(str(w.save(tmp_path)))
    assert {p.kind: p.count for p in trace.problems} == {
        "packets of sys_stats: not shown": 3,
        "begin event without an end event: drawn to the end of its process, and lasts at least so "
        "long": 1,
    }
    assert arguments(trace, "open")["unpaired"] == "begin event without an end event"


def test_packed_files_are_the_same_trace(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for i in range(100):
        w.event(10 * i, BEGIN, 11, f"n{i % 7}")
        w.event(10 * i + 5, END, 11)
    path = w.save(tmp_path)
    expected = slices_of(open_file(str(path)))
    data = path.read_bytes()
    (tmp_path / "a.gz").write_bytes(gzip.compress(data[:700]) + gzip.compress(data[700:]))
    packed = pb.Trace()
    packed.packet.add(compressed_packets=zlib.compress(data))
    (tmp_path / "b.pftrace").write_bytes(packed.SerializeToString())
    for name in ("a.gz", "b.pftrace"):
        trace = open_file(str(tmp_path / name))
        assert slices_of(trace) == expected
        assert trace.format == "Perfetto trace"


def test_a_file_that_is_cut_off_keeps_what_came_before(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    w.event(10, BEGIN, 11, "a")
    w.event(20, END, 11)
    whole = w.trace.SerializeToString()
    path = tmp_path / "cut.pftrace"
    path.write_bytes(whole + b"\x0a\x7f" + b"x" * 9)
    trace = open_file(str(path))
    assert slices_of(trace) == {("app", "worker", "a", 10, 10, 0): 1}
    assert [(p.count, p.first) for p in trace.problems] == [(1, f"byte {len(whole)}")]


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 30), st.sampled_from((BEGIN, BEGIN, END, END, INSTANT)),
        st.sampled_from((11, 12)), st.sampled_from("abc"), st.integers(1, 2),
    ), max_size=60,
)  # fmt: skip


def replayed(events) -> Counter:
    """A stack a track, as the engine pairs; an open slice lasts to the end of the process here."""
    last = max((ts for ts, *_ in events), default=0)
    out, stacks = Counter(), {11: [], 12: []}
    for ts, type, track, name, _ in sorted(events, key=lambda e: e[0]):
        stack = stacks[track]
        if type == BEGIN:
            stack.append((name, ts))
        elif type == INSTANT:
            out["app", f"t{track}", name, ts, 0] += 1
        elif stack:
            opened, at = stack.pop()
            out["app", f"t{track}", opened, at, ts - at] += 1
    for track, stack in stacks.items():
        out.update(("app", f"t{track}", name, at, last - at) for name, at in stack)
    return out


@pytest.mark.slow
@given(EVENTS)
def test_any_stream_of_events_is_paired_as_by_a_stack(tmp_path_factory, events):
    w = Writer()
    w.thread(11, 5, 6, "t11", "app")
    w.thread(12, 5, 7, "t12")
    for ts, type, track, name, sequence in events:
        w.event(ts, type, track, name if type != END else "", sequence=sequence)
    path = str(w.save(tmp_path_factory.mktemp("any")))
    expected = replayed(events)
    if not expected:
        with pytest.raises(UnreadableFile):
            open_file(path)
        return
    trace = open_file(path)
    found = Counter()
    for slice, count in slices_of(trace).items():
        found[slice[:5]] += count
    assert found == expected


@pytest.mark.parametrize("number", range(12))
def test_our_own_exports_come_back(number, tmp_path):
    original = difficult_traces()[number]
    path = tmp_path / "own.pftrace"
    export_perfetto([PerfettoSource.of(original)], path)
    if not len(original.slices):
        with pytest.raises(UnreadableFile, match="has no slices, instants or counters"):
            open_file(str(path))
        return
    trace = open_file(str(path))
    expected = Counter()
    for slice, count in slices_of(original).items():
        expected[(*slice[:2], slice[2] or "(unnamed)", *slice[3:])] += count
    assert slices_of(trace) == expected
    assert trace.clock == original.clock
    assert not trace.problems
    out = io.BytesIO()
    write_perfetto([PerfettoSource.of(trace)], out)
    assert without_names_of_the_file(out.getvalue()) == without_names_of_the_file(path.read_bytes())


def without_names_of_the_file(data: bytes) -> list[bytes]:
    """The packets but for those that name the file and its format."""
    trace = pb.Trace.FromString(data)
    return [
        p.SerializeToString() for p in trace.packet
        if not p.HasField("trace_attributes") and p.track_event.track_uuid != 1
    ]  # fmt: skip


def test_json_is_no_perfetto_trace(tmp_path):
    path = tmp_path / "a.pftrace"
    path.write_bytes(json.dumps({"traceEvents": [{"ph": "X", "name": "a", "ts": 1}]}).encode())
    assert open_file(str(path)).format == "Chrome trace"


def test_counters_have_their_values_and_units(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "worker", "app")
    for uuid, name, unit in ((21, "memory", "B"), (22, "power", "W"), (23, "steps", "")):
        d = w.packet().track_descriptor
        d.uuid, d.parent_uuid, d.name = uuid, 1005, name
        d.counter.unit_name = unit
        if unit == "B":
            d.counter.unit = pb.CounterDescriptor.UNIT_SIZE_BYTES
            d.counter.unit_multiplier = 1024
        d.counter.is_incremental = name == "steps"
    w.event(5, BEGIN, 11, "a")
    w.event(90, END, 11)
    for ts, value in ((10, 3), (20, 3), (30, -1)):
        w.event(ts, COUNTER, 21, counter_value=value)
        w.event(ts, COUNTER, 22, double_counter_value=value / 4)
        w.event(ts, COUNTER, 23, counter_value=value)
    w.event(40, COUNTER, 22, double_counter_value=float("nan"))
    trace = open_file(str(w.save(tmp_path)))
    found = {
        c.name: (c.process, c.unit, c.tick.tolist(), c.value.tolist()) for c in unit_counters(trace)
    }
    assert found == {
        "memory": ("app", "B", [10, 30], [3072, -1024]),
        "power": ("app", "W", [10, 30], [0.75, -0.25]),
        "steps": ("app", "", [10, 20, 30], [3, 6, 5]),
    }
    assert trace.counters[1].text(0.75, trace.clock.ns_per_tick) == "0.75\u202fW"
    assert [p.count for p in trace.problems] == [1]


def exported(path: Path) -> pb.Trace:
    """A file as the application exports it."""
    workspace = workspace_of(path)
    out = io.BytesIO()
    sources = [perfetto_source(Snapshot.of(workspace), i) for i in range(len(workspace.traces))]
    write_perfetto(sources, out)
    return pb.Trace.FromString(out.getvalue())


def test_ticks_that_another_program_left_behind_do_not_count(tmp_path):
    """A tool that stretches a trace changes its times and not our arguments."""
    first = exported(DATA / "torq/compile_c3_taskid_mtu.csv")
    for packet in first.packet:
        if packet.track_event.type in (BEGIN, END):
            packet.timestamp *= 2
    path = tmp_path / "stretched.pftrace"
    path.write_bytes(first.SerializeToString())
    trace, original = open_file(str(path)), open_file(str(DATA / "torq/compile_c3_taskid_mtu.csv"))
    rate = original.clock.ns_per_tick
    lengths = sorted(int(n * rate) for n in original.slices.end - original.slices.start)
    found = sorted((trace.slices.end - trace.slices.start).tolist())
    assert trace.clock.ns_per_tick == 1
    assert all(abs(f - 2 * n) <= 2 for f, n in zip(found, lengths, strict=True))
    assert any("another program changed them" in problem.kind for problem in trace.problems)


FLOW_EDGES = """
    select a.name, b.name from flow join slice a on a.id = flow.slice_out
    join slice b on b.id = flow.slice_in
"""


@pytest.mark.slow
def test_flows_lead_as_in_the_engine(tmp_path):
    """Two takers of one giver, a chain of one id, an id that is used again after its end, one that
    leads nowhere, and both ages of the fields."""
    w = Writer()
    w.thread(11, 5, 6, "t11", "app")
    w.thread(12, 5, 7, "t12")
    places = {}
    for number, (track, name) in enumerate(((11, "a"), (12, "b"), (11, "c"), (12, "d"), (11, "e"),
                                            (12, "f"))):  # fmt: skip
        places[name] = w.event(100 * number, BEGIN, track, name)
        w.event(100 * number + 50, END, track)
    places["a"].flow_ids.extend([1, 2, 3, 9])
    places["b"].terminating_flow_ids.append(1)
    places["c"].terminating_flow_ids.append(2)
    places["c"].flow_ids.append(1)
    places["d"].flow_ids.append(3)
    places["e"].terminating_flow_ids.extend([3, 1])
    places["e"].flow_ids_old.append(4)
    places["f"].terminating_flow_ids_old.append(4)
    path = w.save(tmp_path)
    trace = open_file(str(path))
    found = Counter(
        (trace.name(a), trace.name(b))
        for a, b in zip(trace.flows.producer, trace.flows.consumer, strict=True)
    )
    with TraceProcessor(path) as peer:
        assert found == Counter(peer.rows(FLOW_EDGES))
    assert found == Counter(
        [("a", "b"), ("a", "c"), ("a", "d"), ("d", "e"), ("c", "e"), ("e", "f")]
    )
    assert [(p.kind, p.count) for p in trace.problems] == [
        ("flow events without a slice, or without a destination: left out", 1)
    ]


@pytest.mark.slow
def test_categories_of_other_tools_stay_categories(tmp_path):
    w = Writer()
    w.thread(11, 5, 6, "t11", "app")
    for number, categories in enumerate((["gpu"], ["gpu", "kernel", "slow"], [], ["a", "b"])):
        event = w.event(10 * number, BEGIN, 11, f"s{number}")
        event.categories.extend(categories)
        w.event(10 * number + 5, END, 11)
    trace = open_file(str(w.save(tmp_path)))
    column = trace.slices.columns["category"]
    assert [column.value(i) for i in range(4)] == ["gpu", "gpu,kernel,slow", None, "a,b"]
    again = tmp_path / "again.pftrace"
    export_perfetto([PerfettoSource.of(trace)], again)
    with TraceProcessor(again) as peer:
        rows = peer.rows("select name, category from slice where name like 's%' order by ts")
    assert [category for _, category in rows] == ["gpu", "gpu,kernel,slow", None, "a,b"]
