"""What is gathered of a workspace for a Perfetto file: inputs, estimates, parts, marks."""

import hashlib
import shutil
from copy import copy
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.codecs.atomic_file import NothingToExport, WriteCancelled
from viewer.codecs.file_stamps import CHANGED
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.model.trace import Unit
from viewer.resources import SAMPLES
from viewer.workspace.perfetto_export import (
    EDGES_WHOLE,
    RANGE,
    SELECTION,
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
    span = workspace.clocks.span_ns()
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

    assert parts(PerfettoOptions(marks=(mark,))) == (True, True, True)
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
        from viewer.export.perfetto.flows import flows_among

        asked.append(only)
        return flows_among(table, only)

    monkeypatch.setattr("viewer.workspace.perfetto_export.flows_among", count)
    workspace, flows = opened("attention_xnnpack"), ExportFlows()
    PerfettoJob(Snapshot.of(workspace), PerfettoOptions(), flows).size()
    written(PerfettoJob(Snapshot.of(workspace), PerfettoOptions(), flows), tmp_path / "a.pftrace")
    part = PerfettoOptions(RANGE, (0, workspace.clocks.span_ns() // 3))
    for _ in range(2):
        PerfettoJob(Snapshot.of(workspace), part, flows).size()
    assert len(asked) == 2


def test_a_record_alone_has_no_time():
    workspace = Workspace()
    workspace.open(next(s for s in SAMPLES if s.key == "attention_xnnpack").paths()[1])
    workspace.traces = []
    with pytest.raises(NothingToExport, match="no timing data"):
        PerfettoJob(Snapshot.of(workspace), PerfettoOptions())


def test_hashing_and_writing_can_be_cancelled(tmp_path):
    job = PerfettoJob(Snapshot.of(opened("plain_csv")), PerfettoOptions())
    with pytest.raises(WriteCancelled):
        job.write(str(tmp_path / "a.pftrace"), lambda done, total: None, lambda: True)
    assert list(tmp_path.iterdir()) == []
