"""Our own Perfetto exports read back: exported again, they are the same file byte by byte."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from tests.peers.test_trace_processor import random_edges, random_trace
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.export.perfetto.source import FlowEdges, PerfettoBookmark, PerfettoSource
from viewer.export.perfetto.writer import export_perfetto
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Unit
from viewer.workspace.perfetto_export import RANGE, PerfettoJob, PerfettoOptions
from viewer.workspace.snapshot import Snapshot

NO_PROFILE = (
    "BAD_empty.etdp", "BAD_truncated.etdp", "BAD_zip.etdp", "SYN_no_runs.etdp",
)  # fmt: skip
ALONE = sorted(
    str(path.relative_to(DATA))
    for folder in ("etdump", "torq", "table_csv", "chrome_json")
    for path in (DATA / folder).iterdir()
    if path.suffix in (".etdp", ".csv", ".tsv", ".json") and path.name not in NO_PROFILE
)
LINKED = (
    ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"),
    ("etdump/demo_generated_int_x4.etdp", "etrecord/demo_generated_int.etrecord"),
    ("etdump/cnn_xnnpack_x10.etdp", "etrecord/cnn_teal_xnnpack.etrecord"),
    ("etdump/attn_portable_x5.etdp", "etrecord/attn_toedge_portable.etrecord"),
    ("etdump/cond_portable_x5.etdp", "etrecord/cond_toedge_portable.etrecord"),
    (
        "etdump/multi_forward_decode_xnnpack_x3.etdp",
        "etrecord/multi_forward_decode_teal_xnnpack.etrecord",
    ),
)


def exported(paths, to: Path, wish: PerfettoOptions | None = None) -> bytes:
    """Files as the application exports them."""
    workspace = workspace_of(*paths)
    PerfettoJob(Snapshot.of(workspace), wish or PerfettoOptions()).write(
        str(to), no_progress, never_cancelled
    )
    return to.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("files", [*((name,) for name in ALONE), *LINKED], ids=lambda f: f[0])
def test_export_import_export_gives_the_same_bytes(files, tmp_path):
    first = exported([DATA / name for name in files], tmp_path / "first.pftrace")
    assert exported([tmp_path / "first.pftrace"], tmp_path / "again.pftrace") == first
    assert len(pb.Trace.FromString(first).packet) > 3


def test_a_part_of_a_trace_stays_where_it_was(tmp_path):
    """Its times count from the begin of the whole, and nothing takes it for a whole one."""
    whole = open_file(str(DATA / "etdump/cnn_xnnpack_x10.etdp"))
    third = (whole.end - whole.start) // 3
    wish = PerfettoOptions(RANGE, (third, 2 * third))
    first = exported([whole.path], tmp_path / "part.pftrace", wish)
    part = open_file(str(tmp_path / "part.pftrace"))
    assert 0 < len(part.slices) < len(whole.slices)
    assert set(part.slices.start.tolist()) <= set(whole.slices.start.tolist())
    assert part.provenance["range"] == "range"
    assert exported([part.path], tmp_path / "again.pftrace") == first


def test_a_chosen_range_of_an_import_says_so(tmp_path):
    exported([DATA / "etdump/cnn_xnnpack_x10.etdp"], tmp_path / "whole.pftrace")
    wish = PerfettoOptions(RANGE, (0, 1000))
    exported([tmp_path / "whole.pftrace"], tmp_path / "part.pftrace", wish)
    part = open_file(str(tmp_path / "part.pftrace"))
    said = {name: part.provenance[name] for name in ("range", "range_end_ns", "source1.file")}
    assert said == {
        "range": "range", "range_end_ns": 1000, "source1.file": "cnn_xnnpack_x10.etdp",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(50), pytest.param(range(50, 200), marks=pytest.mark.nightly)]
)
def test_random_traces_with_flows_come_back_byte_by_byte(tmp_path, seeds):
    paths = tmp_path / "first.pftrace", tmp_path / "again.pftrace"
    flows = 0
    for number in seeds:
        trace = random_trace(number)
        if not len(trace.slices):
            continue
        edges = random_edges(trace, number)
        export_perfetto(
            [replace(PerfettoSource.of(trace), flows=lambda only, edges=edges: edges)], paths[0]
        )
        found = open_file(str(paths[0]))
        own = FlowEdges(found.flows.producer, found.flows.consumer, 0, 0)
        export_perfetto(
            [replace(PerfettoSource.of(found), flows=lambda only, own=own: own)], paths[1]
        )
        # What was left out of the flows is said of the first file alone.
        a, b = (pb.Trace.FromString(path.read_bytes()) for path in paths)
        for one in (a, b):
            for packet in one.packet:
                for said in (packet.trace_attributes.attribute, packet.chrome_events.metadata):
                    for at in reversed([i for i, s in enumerate(said) if "left_out" in str(s)]):
                        del said[at]
        assert [p.SerializeToString() for p in a.packet] == [
            p.SerializeToString() for p in b.packet
        ], number
        flows += len(found.flows)
    assert flows > 2.5 * len(seeds)


def test_what_was_known_of_an_identity_comes_back_as_it_was(tmp_path):
    files = [DATA / name for name in LINKED[1]]
    exported(files, tmp_path / "first.pftrace")
    trace = open_file(str(tmp_path / "first.pftrace"))
    original = open_file(str(files[0]))
    identifiers = ({(type(i), i) for i in t.keys.identifier.tolist()} for t in (trace, original))
    assert len(set(map(frozenset, identifiers))) == 1
    assert set(trace.keys.instruction.tolist()) == set(original.keys.instruction.tolist())
    assert (trace.clock, trace.start, trace.end) == (original.clock, original.start, original.end)
    operators = {
        trace.slices.columns["operator"].value(i)
        for i in range(len(trace.slices)) if trace.slices.columns["operator"].value(i)
    }  # fmt: skip
    assert any(text.startswith('["aten') for text in operators)


def test_identifiers_that_are_numbers_and_texts_stay_so(tmp_path):
    """5 and "5" are different identifiers, of two delegates of one program."""
    builder = TraceBuilder("mixed.csv", "test", "1", Clock())
    track = builder.track("app", "main")
    for at, identifier in enumerate((5, "5", None, 2**40)):
        builder.add(
            track=track, start=np.array([10 * at]), end=np.array([10 * at + 5]),
            name=builder.intern("event"),
            key=builder.key(KeyKind.DELEGATE_EVENT, "event", identifier=identifier),
        )  # fmt: skip
    export_perfetto([PerfettoSource.of(builder.build())], tmp_path / "a.pftrace")
    found = open_file(str(tmp_path / "a.pftrace"))
    assert found.keys.identifier[found.slices.key].tolist() == [5, "5", None, 2**40]
    export_perfetto([PerfettoSource.of(found)], tmp_path / "b.pftrace")
    assert (tmp_path / "a.pftrace").read_bytes() == (tmp_path / "b.pftrace").read_bytes()


def test_inferences_come_back_as_runs_and_units_as_units(tmp_path):
    original = open_file(str(DATA / "torq/host_h4_latest_2inv.csv"))
    exported([original.path], tmp_path / "first.pftrace")
    trace = open_file(str(tmp_path / "first.pftrace"))
    assert len(trace.slices) == len(original.slices)
    assert [(r.name, r.number, r.total, r.start, r.end) for r in trace.inferences()] == [
        (r.name, r.number, r.total, r.start, r.end) for r in original.inferences()
    ]
    units = {(t.process, t.thread): t.unit for t in trace.tracks}
    assert units == {(t.process, t.thread): t.unit for t in original.tracks}
    assert Unit.NSS in units.values()


def test_an_inference_that_did_not_finish_says_so_and_comes_back(tmp_path):
    original = open_file(str(DATA / "etdump/words_failing_x3.etdp"))
    exported([original.path], tmp_path / "first.pftrace")
    trace = open_file(str(tmp_path / "first.pftrace"))
    (failed,) = trace.inferences()  # Method::execute is a slice of the others
    assert (failed.number, failed.finished) == (1, False)
    first = next(original.inferences())
    assert (failed.start, failed.end) == (first.start, first.end)
    packets = pb.Trace.FromString((tmp_path / "first.pftrace").read_bytes()).packet
    names = {name.name for packet in packets for name in packet.interned_data.event_names}
    names |= {packet.track_event.name for packet in packets}
    assert "Execute · run 1, did not finish" in names
    exported([tmp_path / "first.pftrace"], tmp_path / "again.pftrace")
    (again,) = open_file(str(tmp_path / "again.pftrace")).inferences()
    assert not again.finished


def test_inferences_that_say_nothing_of_use_are_left_out(tmp_path):
    """Another program may have changed the arguments."""
    exported([DATA / "torq/host_h4_latest_2inv.csv"], tmp_path / "first.pftrace")
    file = pb.Trace.FromString((tmp_path / "first.pftrace").read_bytes())
    spoilt = 0
    for packet in file.packet:
        for one in packet.track_event.debug_annotations:
            if one.name == "ticks":
                one.string_value = ("x to y", "9 to 1")[spoilt % 2]
                spoilt += 1
    (tmp_path / "spoilt.pftrace").write_bytes(file.SerializeToString())
    assert spoilt == 2
    trace = open_file(str(tmp_path / "spoilt.pftrace"))
    assert trace.runs == ()
    assert [p.kind for p in trace.problems] == ["inferences without a number or ticks: left out"]


def test_marks_come_back_as_slices_of_a_track(tmp_path):
    """They are the user's own; a file has none."""
    wish = PerfettoOptions(bookmarks=(PerfettoBookmark(10, 500, "slow here", "since Tuesday"),))
    exported([DATA / "table_csv/two_threads.csv"], tmp_path / "marked.pftrace", wish)
    trace = open_file(str(tmp_path / "marked.pftrace"))
    (i,) = [i for i in range(len(trace.slices)) if trace.name(i) == "slow here"]
    assert trace.tracks[trace.slices.track(i)].thread == "Marks"
    assert trace.slices.columns["note"].value(i) == "since Tuesday"


def test_a_forged_export_is_read_all_the_same(tmp_path):
    """Texts that are no JSON, estimates that are no numbers: kept as they are."""
    exported([DATA / name for name in LINKED[0]], tmp_path / "first.pftrace")
    file = pb.Trace.FromString((tmp_path / "first.pftrace").read_bytes())
    for packet in file.packet:
        event = packet.track_event
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            for name, value in (("operator", "[1, {"), ("debug_handles", "{}"), ("run", "soon"),
                                ("estimate_ticks", "many"), ("estimate_ns", "some")):  # fmt: skip
                event.debug_annotations.add(name=name, string_value=value)
        for attribute in packet.trace_attributes.attribute:
            if attribute.key.endswith(("origin_ns", "ns_per_tick")):
                attribute.string_value = "a while"
    (tmp_path / "forged.pftrace").write_bytes(file.SerializeToString())
    trace = open_file(str(tmp_path / "forged.pftrace"))
    assert len(trace.slices) == len(open_file(str(DATA / LINKED[0][0])).slices)
    assert exported([tmp_path / "forged.pftrace"], tmp_path / "again.pftrace")


@pytest.mark.parametrize("tick", [-(2**63), -(2**63) + 1, -1, 2**63 - 2])
def test_the_first_and_the_last_tick_of_64_bits_come_back(tick, tmp_path):
    builder = TraceBuilder("x", "test", "", Clock("ns"))
    builder.add(
        track=builder.track("p", "t"), start=np.array([tick]), end=np.array([tick]),
        name=builder.intern("n"), key=builder.key(KeyKind.PLAIN, "n"),
    )  # fmt: skip
    path = tmp_path / "edge.pftrace"
    export_perfetto([PerfettoSource.of(builder.build())], path)
    assert open_file(str(path)).slices.start.tolist() == [tick]


def test_an_earlier_export_with_a_track_of_facts_opens_as_a_new_one_does(tmp_path):
    """The file was written by the version whose facts were an instant on the track 1."""
    earlier = open_file(str(DATA / "regress/perfetto/earlier_export.pftrace"))
    exported([DATA / name for name in LINKED[0]], tmp_path / "new.pftrace")
    new = open_file(str(tmp_path / "new.pftrace"))
    assert [track.thread for track in earlier.tracks] == [track.thread for track in new.tracks]
    assert len(earlier.slices) == len(new.slices)
    for name in ("start", "end", "row_ptr"):
        assert (getattr(earlier.slices, name) == getattr(new.slices, name)).all()
    assert [earlier.name(i) for i in range(len(earlier.slices))] == [
        new.name(i) for i in range(len(new.slices))
    ]
    assert earlier.clock == new.clock
    assert earlier.provenance["source1.sha256"] == new.provenance["source1.sha256"]
    assert earlier.problems == new.problems == ()


def test_an_export_with_names_of_the_file_gives_the_same_bytes_again(tmp_path):
    wish = PerfettoOptions(own_names=True)
    files = [DATA / name for name in LINKED[0]]
    first = exported(files, tmp_path / "first.pftrace", wish)
    assert exported([tmp_path / "first.pftrace"], tmp_path / "again.pftrace", wish) == first
    original, found = open_file(str(files[0])), open_file(str(tmp_path / "first.pftrace"))
    assert set(map(found.name, range(len(found.slices)))) == {
        original.name(i) for i in range(len(original.slices))
    }
