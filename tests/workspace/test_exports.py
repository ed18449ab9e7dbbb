"""Every real file, linked and exported: read back by the real engine, and by our own CSV reader.

What must come out is worked out here from the file's own columns, slice by slice.
"""

import csv
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.flows.slice_flows import FlowIndex
from viewer.analysis.links.labels import slice_labels, track_name
from viewer.export.perfetto.writer import export_perfetto
from viewer.model.queries import ranks
from viewer.model.times import RateOrigin
from viewer.model.trace import Trace
from viewer.resources import SAMPLES
from viewer.workspace.exports import TABLES, NothingToExport
from viewer.workspace.perfetto_export import ExportFlows, perfetto_source
from viewer.workspace.snapshot import Snapshot, process_name
from viewer.workspace.workspace import Workspace

PAIRS = {
    "demo_str_x4": "demo_str",
    "demo_manual_int_x4": "demo_manual_int",
    "demo_generated_int_x4": "demo_generated_int",
    "demo_portable_x3": "demo_portable",
    "cnn_portable_x10": "cnn_toedge_portable",
    "cnn_xnnpack_x10": "cnn_teal_xnnpack",
    "cond_portable_x5": "cond_toedge_portable",
    "multi_forward_decode_portable_x3": "multi_forward_decode_toedge_portable",
}
FAULTS = """
    select name, severity, value from stats where value > 0 and (
        severity in ('error', 'data_loss') or name glob '*skipped*' or name glob '*tokenizer*'
        or name glob '*interned*' or name glob 'misplaced*' or name glob 'unknown_extension*')
"""
SLICES = """
    select coalesce(process.name, parent.name), coalesce(thread.name, track.name), slice.name,
        ts, dur, depth
    from slice join track on track.id = slice.track_id
    left join thread_track on thread_track.id = track.id left join thread using (utid)
    left join process using (upid) left join track parent on parent.id = track.parent_id
    where (process.name is not null or parent.name is not null)
        and coalesce(slice.category, '') not in ('INFERENCE', 'MARK')
"""
FLOWS = """
    select a.name, a.ts, b.name, b.ts from flow join slice a on a.id = flow.slice_out
    join slice b on b.id = flow.slice_in
"""


def everything() -> Workspace:
    """All real and synthetic profiles and all records at once, paired where they fit."""
    workspace = Workspace()
    refused = ("BAD_", "SYN_no_runs")
    files = [p for p in DATA.glob("etdump/*.etdp") if not p.name.startswith(refused)]
    for sort in ("compile", "runtime", "annotated", "host"):
        files += DATA.glob(f"torq/{sort}_*.csv")
    files += DATA.glob("table_csv/*.?sv")
    files += [DATA / "torq/tiny_cnn.mlir"]
    files += [DATA / "etrecord" / f"{record}.etrecord" for record in PAIRS.values()]
    for path in sorted(files):
        workspace.open(str(path))
    for dump, record in PAIRS.items():
        paths = [p for p in workspace.paths if Path(p).stem in (dump, record)]
        workspace.pair(*sorted(paths, key=lambda p: p.endswith(".etrecord")))
    return workspace


def floored(workspace: Workspace, trace: Trace, tick: int) -> int:
    ratio = workspace.clocks.ns_per_tick(trace)
    return tick * ratio.numerator // ratio.denominator + workspace.clocks.offset_ns(trace)


@pytest.fixture(scope="module")
def opened() -> Workspace:
    return everything()


@pytest.fixture(scope="module")
def engine(opened, tmp_path_factory):
    path = tmp_path_factory.mktemp("all") / "all.pftrace"
    assert export(opened, str(path)) == sum(len(t.slices) for t in opened.traces)
    with TraceProcessor(path) as peer:
        yield peer


@pytest.mark.slow
def test_every_duration_and_depth_of_every_file_is_the_engines(opened, engine):
    meant: Counter[tuple[str, str, str, int, int, int]] = Counter()
    for trace in opened.traces:
        table = opened.links(trace)
        labels, strings = slice_labels(table)
        for i in range(len(trace.slices)):
            track = trace.slices.track(i)
            start, end = (
                floored(opened, trace, int(t[i])) for t in (trace.slices.start, trace.slices.end)
            )
            meant[
                process_name(opened.traces, trace, trace.tracks[track].process),
                track_name(table, track),
                strings[labels[i]], start, end - start, trace.slices.depth(i),
            ] += 1  # fmt: skip
    assert len(opened.traces) > 30
    assert Counter(engine.rows(SLICES)) == meant


@pytest.mark.slow
def test_the_engine_finds_nothing_open_unnamed_or_odd(engine):
    assert engine.rows("select count(*) from slice where dur < 0 or name is null") == [(0,)]
    assert engine.rows(FAULTS) == []


@pytest.mark.slow
def test_one_operator_has_one_correlation_id(opened, engine):
    """Handle 5 of the demo model is the operator tan: three identifiers, twelve slices."""
    found = engine.rows(
        "select slice.name, count(*) from slice join args using (arg_set_id) "
        "join thread_track on thread_track.id = slice.track_id join thread using (utid) "
        "join process using (upid) where process.name = 'demo_str_x4.etdp' "
        "and args.string_value = 'forward/5' group by 1 order by 1"
    )
    assert found == [("cos/1", 4), ("div", 4), ("sin:0;a=b", 4)]


@pytest.mark.slow
def test_flows_join_the_slices_that_the_window_joins(opened, engine):
    meant: Counter[tuple[str, int, str, int]] = Counter()
    for trace in opened.traces:
        linked = opened.links(trace)
        index, (labels, strings) = FlowIndex(linked), slice_labels(linked)

        def end(i: int, trace=trace, labels=labels, strings=strings) -> tuple[str, int]:
            return strings[labels[i]], floored(opened, trace, int(trace.slices.start[i]))

        order = ranks(trace.slices)
        for consumer in range(len(trace.slices)):
            for one in index.flows(consumer).inputs:
                before, after = end(one.slice), end(consumer)
                in_file = (before[1], order[one.slice]) < (after[1], order[consumer])
                if (one.is_job or not one.overlaps) and in_file:
                    meant[(*before, *after)] += 1
    assert meant.total() > 700
    assert Counter(engine.rows(FLOWS)) == meant
    assert engine.rows("select name, value from stats where name glob 'flow*' and value > 0") == []


@pytest.mark.slow
def test_the_bytes_of_every_file_and_sample_are_those_of_the_official_serializer(opened, tmp_path):
    path = tmp_path / "a.pftrace"
    export(opened, str(path))
    data = path.read_bytes()
    assert pb.Trace.FromString(data).SerializeToString() == data
    for sample in SAMPLES:
        workspace = workspace_of(*sample.paths())
        export(workspace, str(path))
        data = path.read_bytes()
        assert pb.Trace.FromString(data).SerializeToString() == data


@pytest.mark.slow
def test_every_sample_comes_back_from_the_engine(tmp_path):
    """All samples in one file, each paired for itself; what is meant is told slice by slice."""
    sources, meant = [], Counter()
    for sample in SAMPLES:
        workspace = workspace_of(*sample.paths())
        for number, trace in enumerate(workspace.traces):
            made = perfetto_source(Snapshot.of(workspace), number)
            named = [replace(t, process=f"{sample.key} {t.process}") for t in made.tracks]
            linked = workspace.links(trace)
            sources.append(replace(made, tracks=named, flows=ExportFlows().of(linked)))
            labels, strings = slice_labels(linked)
            for i in range(len(trace.slices)):
                track = trace.slices.track(i)
                start, end = (
                    floored(workspace, trace, int(t[i]))
                    for t in (trace.slices.start, trace.slices.end)
                )
                meant[
                    named[track].process, track_name(linked, track), strings[labels[i]], start,
                    end - start, trace.slices.depth(i),
                ] += 1  # fmt: skip
    path = tmp_path / "samples.pftrace"
    export_perfetto(sources, path)
    with TraceProcessor(path) as peer:
        assert Counter(peer.rows(SLICES)) == meant
        assert peer.rows(FAULTS) == []
        assert peer.rows("select count(*) from slice where dur < 0 or name is null") == [(0,)]
        assert peer.rows("select count(*) from flow") == [(535 + 16 + 16 + 38 + 20,)]


def table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("dump", "record"), PAIRS.items())
def test_a_table_opens_again_as_the_same_trace(dump, record, tmp_path):
    """Exported, read back with the same record and exported again: not one cell differs."""
    record_path = str(DATA / "etrecord" / f"{record}.etrecord")
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    for source, out in ((DATA / "etdump" / f"{dump}.etdp", first), (first, second)):
        workspace = workspace_of(source, record_path)
        workspace.pair(str(source), record_path)
        export(workspace, str(out))
    assert table(second) == table(first)
    assert len(table(first)) > 20


def test_fancy_fusion_is_the_operators_that_the_map_gives(tmp_path):
    sample = next(s for s in SAMPLES if s.key == "delegate_handle_map")
    workspace = workspace_of(*sample.paths())
    export(workspace, str(tmp_path / "s.csv"))
    rows = table(tmp_path / "s.csv")
    fused = [row for row in rows if row["identifier"] == "Fancy Fusion"]
    assert len(fused) == 4
    assert {row["debug_handles"] for row in fused} == {"[1, 2]"}
    assert {row["operators"] for row in fused} == {
        json.dumps(["aten.convolution.default", "aten.relu.default"])
    }
    assert {row["link_reason"] for row in rows if row["identifier"] == "not in map"} == {
        "identifier not in the debug handle map"
    }
    outside = [row for row in rows if not row["instruction_id"]]
    assert {row["operators"] for row in outside} == {"[]"}


def test_a_record_alone_has_operators_and_no_time(tmp_path):
    workspace = workspace_of(DATA / "etrecord" / "demo_str.etrecord")
    assert export(workspace, str(tmp_path / "o.csv")) == 5
    assert [row["operator"] for row in table(tmp_path / "o.csv")] == [
        "convolution", "relu", "convolution", "relu", "tan"
    ]  # fmt: skip
    with pytest.raises(NothingToExport, match="This file has no timing data"):
        export(workspace, str(tmp_path / "o.pftrace"))
    assert not (tmp_path / "o.pftrace").exists()


def test_files_with_unrelated_clocks_each_count_from_their_start(tmp_path):
    workspace = Workspace()
    for name in ("compile_c0_callsite.csv", "runtime_r0_nss.csv"):
        workspace.open(str(DATA / "torq" / name))
    export(workspace, str(tmp_path / "t.csv"))
    first: dict[str, int] = {}
    for row in table(tmp_path / "t.csv"):
        first[row["process"]] = min(int(row["start_ns"]), first.get(row["process"], 1 << 62))
    assert set(first.values()) == {0}


def test_a_chosen_clock_rate_is_exported_with_the_same_ticks(tmp_path):
    workspace = workspace_of(DATA / "torq" / "compile_c3_taskid_mtu.csv")
    workspace.set_clock(workspace.traces[0].path, Fraction(10))
    source = perfetto_source(Snapshot.of(workspace), 0)
    assert (source.ns_per_tick, source.rate_origin) == (10, RateOrigin.CHOSEN)
    export(workspace, str(tmp_path / "t.csv"))
    for row in table(tmp_path / "t.csv"):
        assert int(row["start_ns"]) == 10 * int(row["start_ticks"])
        assert int(row["dur_ns"]) == 10 * int(row["dur_ticks"])
    export(workspace, str(tmp_path / "t.pftrace"))
    assert b"clock_rate" in (tmp_path / "t.pftrace").read_bytes()
    assert b"chosen" in (tmp_path / "t.pftrace").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "table"), [("a.pftrace", "slices"), *((f"{t}.csv", t) for t in TABLES)]
)
def test_a_program_file_alone_has_no_times_to_export(name, table, tmp_path):
    workspace = workspace_of(DATA / "pte" / "part_x.pte")
    with pytest.raises(NothingToExport, match="Also open its ETDump"):
        export(workspace, str(tmp_path / name), table=table)
    assert list(tmp_path.iterdir()) == []
