"""What is gathered of a workspace for a Perfetto file: inputs, estimates, parts, marks."""

import hashlib
import shutil
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.clocked_traces import CYCLES, HOST, NS, clocked_trace, space_of
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.memory.plan import planned_counters
from viewer.codecs.atomic_file import NothingToExport, WriteCancelled
from viewer.codecs.file_bytes import CHANGED
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.formats import open_file
from viewer.model.trace import Unit
from viewer.resources import SAMPLES
from viewer.view.derived_tracks import DerivedTrack, derived_trace
from viewer.workspace.perfetto_export import (
    EDGES_WHOLE,
    RANGE,
    SELECTION,
    DerivedSource,
    ExportFlows,
    PerfettoJob,
    PerfettoOptions,
    job_estimates,
)
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace


def opened(key, folder=None):
    workspace = Workspace()
    for path in next(s for s in SAMPLES if s.key == key).paths():
        workspace.open(path if folder is None else shutil.copy(path, folder))
    return workspace


def written(job, path):
    count = job.write(str(path), lambda done, total: None, lambda: False)
    trace = pb.Trace.FromString(path.read_bytes())
    facts = {
        a.key.removeprefix("org.opscope."): a.string_value or a.long_value
        for packet in trace.packet
        for a in packet.trace_attributes.attribute
    }
    return count, facts


def test_a_file_names_its_inputs_and_their_hashes(tmp_path):
    workspace = opened("attention_xnnpack")
    _, facts = written(
        PerfettoJob(Snapshot.of(workspace), PerfettoOptions()), tmp_path / "a.pftrace"
    )
    dump, record = workspace.traces[0].path, workspace.programs[0].path
    assert facts["source1.file"] == Path(dump).name
    assert facts["source1.sha256"] == hashlib.sha256(Path(dump).read_bytes()).hexdigest()
    assert facts["input1.file"] == Path(record).name
    assert facts["input1.sha256"] == hashlib.sha256(Path(record).read_bytes()).hexdigest()
    assert facts["tool"].startswith("Opscope ")
    assert facts["range"] == "whole trace"


def test_an_input_that_changed_after_it_was_read_is_told(tmp_path):
    workspace = opened("plain_csv", tmp_path)
    with open(workspace.traces[0].path, "a", encoding="utf-8") as file:
        file.write("\n")
    _, facts = written(
        PerfettoJob(Snapshot.of(workspace), PerfettoOptions()), tmp_path / "a.pftrace"
    )
    assert "source1.sha256" not in facts
    assert facts["source1.sha256_missing"] == CHANGED
    # A workspace that is copied, as every change in the window makes one, knows it too.
    _, again = written(
        PerfettoJob(Snapshot.of(copy(workspace)), PerfettoOptions()), tmp_path / "b.pftrace"
    )
    assert again == facts


def test_a_range_is_told_with_what_becomes_of_its_edges(tmp_path):
    workspace = opened("attention_xnnpack")
    trace = workspace.traces[0]
    span = trace.end - trace.start
    wish = PerfettoOptions(RANGE, (span // 2, span // 2 + span // 100))
    job = PerfettoJob(Snapshot.of(workspace), wish)
    count, facts = written(job, tmp_path / "a.pftrace")
    start, end = trace.slices.start - trace.start, trace.slices.end - trace.start
    t0, t1 = wish.ns_range
    inside = (start < t1) & ((end > t0) | ((start == end) & (start >= t0)))
    assert count == int(inside.sum()) == job.size().slices
    assert job.size().over_edge == int((inside & ((start < t0) | (end > t1))).sum())
    assert (facts["range"], facts["range_start_ns"], facts["range_end_ns"]) == (RANGE, t0, t1)
    assert facts["range_edges"] == EDGES_WHOLE


def test_of_a_selection_only_its_files_are_written(tmp_path):
    workspace = opened("torq_npu")
    wish = PerfettoOptions(SELECTION, (0, 10**6), {1: np.array([2, 3, 40])})
    count, facts = written(PerfettoJob(Snapshot.of(workspace), wish), tmp_path / "a.pftrace")
    assert count == 3
    assert facts["source1.file"] == "compile.csv"
    assert "source2.file" not in facts


def test_marks_are_written_and_switches_leave_things_out(tmp_path):
    workspace = opened("torq_npu")
    mark = PerfettoBookmark(100, 900, "warm-up", "ignore")

    def parts(wish):
        written(PerfettoJob(Snapshot.of(workspace), wish), tmp_path / "a.pftrace")
        packets = pb.Trace.FromString((tmp_path / "a.pftrace").read_bytes()).packet
        events = [p.track_event for p in packets]
        return (
            any(e.flow_ids for e in events),
            any(e.type == pb.TrackEvent.TYPE_COUNTER for e in events),
            any(e.name == "warm-up" and e.debug_annotations[0].string_value == "ignore"
                for e in events),
        )  # fmt: skip

    assert parts(PerfettoOptions(bookmarks=(mark,))) == (True, True, True)
    assert parts(PerfettoOptions(flows=False, counters=False)) == (False, False, False)


def test_jobs_have_the_estimate_of_the_compiler():
    """The cycles of jobs 0 to 3 as `opscope estimates` tells them, at 800 MHz."""
    workspace = opened("torq_npu")
    host = workspace.traces[0]
    found = {
        host.strings[int(host.keys.name[key])]: expected
        for key, expected in job_estimates(Snapshot.of(workspace), host).items()
    }
    assert found == {
        "job 0": (55_002, 68_752.5), "job 1": (70_555, 88_193.75),
        "job 2": (10_491, 13_113.75), "job 3": (30_020, 37_525.0),
    }  # fmt: skip
    units = {host.tracks[t].unit for t in range(len(host.tracks))}
    assert Unit.NSS in units
    assert job_estimates(Snapshot.of(workspace), workspace.traces[1]) == {}


def test_flows_are_looked_up_once_for_the_size_and_the_file(monkeypatch, tmp_path):
    asked = []

    def count(table, only):
        from viewer.export.perfetto.source import flows_among

        asked.append(only)
        return flows_among(table, only)

    monkeypatch.setattr("viewer.workspace.perfetto_export.flows_among", count)
    workspace, flows = opened("attention_xnnpack"), ExportFlows()
    PerfettoJob(Snapshot.of(workspace), PerfettoOptions(), flows).size()
    written(PerfettoJob(Snapshot.of(workspace), PerfettoOptions(), flows), tmp_path / "a.pftrace")
    trace = workspace.traces[0]
    part = PerfettoOptions(RANGE, (0, (trace.end - trace.start) // 3))
    for _ in range(2):
        PerfettoJob(Snapshot.of(workspace), part, flows).size()
    assert len(asked) == 2


def test_a_record_alone_has_no_time():
    workspace = workspace_of(next(s for s in SAMPLES if s.key == "attention_xnnpack").paths()[1])
    workspace.traces = []
    with pytest.raises(NothingToExport, match="no timing data"):
        PerfettoJob(Snapshot.of(workspace), PerfettoOptions())


def test_hashing_and_writing_can_be_cancelled(tmp_path):
    job = PerfettoJob(Snapshot.of(opened("plain_csv")), PerfettoOptions())
    with pytest.raises(WriteCancelled):
        job.write(str(tmp_path / "a.pftrace"), lambda done, total: None, lambda: True)
    assert list(tmp_path.iterdir()) == []


# Two files of one clock from 100 µs on, and two of clocks of their own.
CLOCKS = (
    clocked_trace("host.csv", HOST, (104, 120), (130, 140)),
    clocked_trace("net.etdp", NS, (5_000, 9_000), (9_500, 9_600)),
    clocked_trace("host2.csv", HOST, (100, 150)),
    clocked_trace("npu.csv", CYCLES, (16, 96)),
)
# Slice by slice, as every clock starts at 0.
UNALIGNED = [(4_000, 16_000), (30_000, 10_000), (0, 4_000), (4_500, 100), (0, 50_000), (0, 100)]
# The moment 4 µs of the host's axis is at 6 µs of the network's.
SHIFTS = {
    0: (0, "start of run 1"), 1: (-2_000, "start of run 2"), 2: (0, "start of run 1"),
}  # fmt: skip


def exported(tmp_path, **wish):
    """The (start, duration) of all slices, bookmarks by name, and the metadata."""
    job = PerfettoJob(Snapshot.of(space_of(CLOCKS)), PerfettoOptions(**wish))
    path = tmp_path / "clocks.pftrace"
    count, facts = written(job, path)
    begins, slices, marks = [], [], {}
    for packet in pb.Trace.FromString(path.read_bytes()).packet:
        event = packet.track_event
        if "MARK" in event.categories:
            marks[event.name] = packet.timestamp
        elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            begins.append(packet.timestamp)
        elif event.type == pb.TrackEvent.TYPE_SLICE_END and begins:
            slices.append((begins[-1], packet.timestamp - begins.pop()))
    assert count == len(slices)
    return slices, marks, facts


def bytes_of(tmp_path, **wish):
    job = PerfettoJob(Snapshot.of(space_of(CLOCKS)), PerfettoOptions(**wish))
    written(job, tmp_path / "bytes.pftrace")
    return (tmp_path / "bytes.pftrace").read_bytes()


def test_clocks_that_are_not_aligned_each_start_at_0(tmp_path):
    slices, _, facts = exported(tmp_path)
    assert slices == UNALIGNED
    assert not [name for name in facts if "alignment" in name]
    # One clock alone has nothing to be aligned with.
    alone = {1: np.array([0, 1])}
    assert bytes_of(tmp_path, only=alone, shifts=SHIFTS) == bytes_of(tmp_path, only=alone)
    one = {1: (-2_000, "start of run 2")}
    assert bytes_of(tmp_path, shifts=one) == bytes_of(tmp_path)


def test_aligned_clocks_are_shifted_so_that_their_anchors_meet(tmp_path):
    slices, marks, facts = exported(
        tmp_path,
        shifts=SHIFTS,
        bookmarks=(
            PerfettoBookmark(4_000, 4_000, "host", trace=2),
            PerfettoBookmark(6_000, 6_000, "net", trace=1),
            PerfettoBookmark(0, 100, "npu", trace=3),
        ),
    )
    # The network starts 2 µs before the host, and no time in a file is negative.
    by = [2_000, 2_000, 0, 0, 2_000, 2_000]
    assert slices == [(start + move, dur) for (start, dur), move in zip(UNALIGNED, by, strict=True)]
    assert marks == {"host": 6_000, "net": 6_000, "npu": 2_000}
    assert facts["origin_ns"] == -2_000
    told = ("alignment", "alignment_shift_ns", "offset_ns")
    assert [[facts.get(f"source{n}.{name}") for name in told] for n in (1, 2, 3, 4)] == [
        ["start of run 1", 0, -100_000],
        ["start of run 2", -2_000, -7_000],
        ["start of run 1", 0, -100_000],
        [None, None, -20],
    ]


def test_an_aligned_file_opens_again_on_one_axis(tmp_path):
    slices, _, facts = exported(tmp_path, shifts=SHIFTS)
    again = open_file(str(tmp_path / "clocks.pftrace"))
    found = again.slices
    times = zip(found.start.tolist(), (found.end - found.start).tolist(), strict=True)
    assert sorted(times) == sorted(slices)
    # `written` reads an empty text as 0.
    assert {name: value or 0 for name, value in again.provenance.items()} == facts
    assert again.provenance["source2.alignment"] == "start of run 2"


def test_a_range_is_that_of_each_clock(tmp_path):
    host, net = (3_000, 25_000), (4_400, 6_000)
    ranges = {0: host, 1: net, 2: host, 3: (500, 600)}
    marks = (
        PerfettoBookmark(4_450, 4_450, "inside", trace=1),
        PerfettoBookmark(4_450, 4_450, "in the host's", trace=2),
        PerfettoBookmark(6_000, 7_000, "after", trace=1),
        PerfettoBookmark(550, 550, "npu", trace=3),
        PerfettoBookmark(450, 450, "before", trace=3),
    )
    slices, shown, facts = exported(tmp_path, what=RANGE, ranges=ranges, bookmarks=marks)
    assert slices == [(4_000, 16_000), (4_500, 100), (0, 50_000)]
    assert shown == {"inside": 4_450, "in the host's": 4_450, "npu": 550}
    assert (facts["range"], facts["range_edges"]) == (RANGE, EDGES_WHOLE)
    assert "range_start_ns" not in facts
    stated = [[facts[f"source{n}.range_{end}_ns"] for end in ("start", "end")] for n in (1, 2, 4)]
    assert stated == [[3_000, 25_000], [4_400, 6_000], [500, 600]]
    # The same slices if the clocks are aligned, each at its place.
    slices, shown, facts = exported(
        tmp_path, what=RANGE, ranges=ranges, bookmarks=marks, shifts=SHIFTS
    )
    assert slices == [(6_000, 16_000), (4_500, 100), (2_000, 50_000)]
    assert shown == {"inside": 4_450, "in the host's": 6_450, "npu": 2_550}
    assert facts["source2.range_start_ns"] == 4_400


def test_one_range_for_all_clocks_counts_from_the_start_of_each(tmp_path):
    slices, _, facts = exported(tmp_path, what=RANGE, ns_range=(4_200, 5_000))
    assert slices == [(4_000, 16_000), (4_500, 100), (0, 50_000)]
    assert (facts["range_start_ns"], facts["range_end_ns"]) == (4_200, 5_000)
    slices, _, facts = exported(tmp_path, what=RANGE, ns_range=(4_200, 5_000), shifts=SHIFTS)
    assert slices == [(6_000, 16_000), (4_500, 100), (2_000, 50_000)]
    assert facts["source1.range_start_ns"] == facts["source2.range_start_ns"] == 4_200


def test_a_range_of_one_clock_is_a_fact_of_the_file(tmp_path):
    only = {0: np.array([0]), 2: np.array([0])}
    marks = (PerfettoBookmark(1, 1, "net", trace=1), PerfettoBookmark(5, 5, "host", trace=0))
    ranges = {0: (0, 60_000), 2: (0, 60_000)}
    _, shown, facts = exported(tmp_path, what=SELECTION, only=only, ranges=ranges, bookmarks=marks)
    assert (facts["range_start_ns"], facts["range_end_ns"]) == (0, 60_000)
    assert "source1.range_start_ns" not in facts
    assert shown == {"host": 5}, "bookmarks of clocks that are not in the file have no place"


def test_shifts_that_no_file_can_hold_are_refused():
    far = {0: (0, "a"), 1: (2**63, "b"), 2: (0, "a")}
    job = PerfettoJob(Snapshot.of(space_of(CLOCKS)), PerfettoOptions(shifts=far))
    with pytest.raises(NothingToExport, match="292 years"):
        job.size()


def test_planned_memory_is_written_as_derived_from_the_plan(tmp_path):
    workspace = workspace_of(*(DATA / "pte" / name for name in ("llama.etdp", "llama.pte")))
    path = tmp_path / "a.pftrace"
    written(PerfettoJob(Snapshot.of(workspace), PerfettoOptions()), path)
    packets = pb.Trace.FromString(path.read_bytes()).packet
    (track,) = (one.track_descriptor for one in packets if one.track_descriptor.HasField("counter"))
    assert track.name == "Planned memory in use"
    assert track.description.startswith("derived from the memory plan of the program file")
    values = [
        one.track_event.double_counter_value
        for one in packets
        if one.HasField("track_event") and one.track_event.track_uuid == track.uuid
    ]
    assert values[:5] == [1280, 1536, 1792, 768, 0]
    # What was exported is not derived again.
    again = workspace_of(path, DATA / "pte/llama.pte")
    trace = again.traces[0]
    assert planned_counters(trace, again.links(trace).ran) == ()


def test_derived_tracks_are_processes_of_their_own(tmp_path):
    workspace = opened("attention_xnnpack")
    track = DerivedTrack("gaps", "SELECT 1")
    rows = [("a", 100, 50, "x"), ("b", 120, 10, "x"), ("c", 400, 7, "y")]
    trace = derived_trace(track, ["name", "ts", "dur", "pivot"], rows)
    values = derived_trace(DerivedTrack("v", ""), ["ts", "value"], [(5, 2), (9, 4)])
    plain, derived = PerfettoOptions(), (DerivedSource(0, trace, "SELECT 1"),
                                         DerivedSource(0, values, "SELECT 2"))  # fmt: skip
    snapshot = Snapshot.of(workspace)
    paths = tmp_path / "plain.pftrace", tmp_path / "derived.pftrace"
    count, _ = written(PerfettoJob(snapshot, plain), paths[0])
    job = PerfettoJob(snapshot, replace(plain, derived=derived))
    more, facts = written(job, paths[1])
    assert more == count + len(rows) == job.size().slices
    assert facts["source2.query"] == "SELECT 1"
    columns = "select s.name as n, ts, dur, t.name as thread, p.name as process"
    joined = "from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid)"
    query = f"{columns} {joined} join process p using (upid) order by ts, dur"
    before, after = (rows_of(path, query) for path in paths)
    origin = min(row[1] for row in before)
    own = [row for row in after if row[4] == "Derived by query gaps"]
    assert own == [
        ("a", origin + 100, 50, "x", "Derived by query gaps"),
        ("b", origin + 120, 10, "x", "Derived by query gaps"),
        ("c", origin + 400, 7, "y", "Derived by query gaps"),
    ]
    assert [row for row in after if row not in own] == before
    counters = "select ts, value from counter c join process_counter_track t on c.track_id = t.id"
    assert rows_of(paths[1], f"{counters} where t.name = 'v' order by ts") == [
        (origin + 5, 2.0), (origin + 9, 4.0),
    ]  # fmt: skip
    only = {0: np.array([0])}
    chosen = PerfettoOptions(SELECTION, only=only, derived=derived)
    assert written(PerfettoJob(snapshot, chosen), tmp_path / "c.pftrace")[0] == 1


def rows_of(path: Path, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query of the real trace_processor."""
    with TraceProcessor(path) as processor:
        return processor.rows(query)
