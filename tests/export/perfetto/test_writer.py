"""Perfetto export, asked back from the real trace_processor and replayed by a stack machine."""

import gzip
import io
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.common.exceptions import PerfettoException
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.peers.trace_processor import TraceProcessor
from viewer.codecs.atomic_file import WriteCancelled
from viewer.export.perfetto.source import (
    ExportTrack,
    KeyFacts,
    PerfettoBookmark,
    PerfettoSource,
    TimesTooFarApart,
    TraceExtras,
)
from viewer.export.perfetto.writer import export_perfetto, size_of_perfetto, write_perfetto
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import preorder
from viewer.model.times import RateOrigin
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace, Unit

SLICES = """
    select process.name, thread.name, thread_track.name is not null, slice.name, ts, dur, depth
    from slice join thread_track on thread_track.id = slice.track_id
    join thread using (utid) join process using (upid)
"""
FAULTS = """
    select name, severity, value from stats where value > 0 and (
        severity in ('error', 'data_loss') or name glob '*skipped*' or name glob '*tokenizer*'
        or name glob '*interned*' or name glob 'misplaced*' or name glob 'unknown_extension*')
"""


def trace_of(*slices, process="p", thread="t", clock=None, levels=None, path="in.csv"):
    """A trace of one track from (name, start, end) in ticks."""
    builder = TraceBuilder(path, "test", "1", clock or Clock())
    builder.add(
        track=builder.track(process, thread),
        start=np.array([s for _, s, _ in slices], np.int64),
        end=np.array([e for _, _, e in slices], np.int64),
        name=builder.intern_all([n for n, _, _ in slices]),
        key=builder.key(KeyKind.PLAIN, ""),
        levels=None if levels is None else np.array(levels, np.int32),
    )
    return builder.build()


def floor_ns(source, tick):
    return tick * source.ns_per_tick.numerator // source.ns_per_tick.denominator + source.offset_ns


def meant(sources, window=None):
    """What must come out, slice by slice: (process, thread, overflow, name, ts, dur, depth)."""
    starts = [floor_ns(s, int(t)) for s in sources for t in s.trace.slices.start]
    # An inference may start before all slices, and is in the file too.
    starts += [floor_ns(s, run.start) for s in sources for run in s.trace.runs]
    origin = min(starts, default=0)
    out = Counter()
    for source in sources:
        trace = source.trace
        slices = trace.slices
        above = {}
        rows = []
        for i in preorder(slices).tolist():
            row = slices.row_of(i)
            place = (int(slices.row_track[row]), int(slices.row_lane[row]))
            depth = int(slices.row_depth[row])
            start = floor_ns(source, int(slices.start[i]))
            end = floor_ns(source, int(slices.end[i]))
            label = trace.name(i)
            if source.labels is not None:
                label = source.label_strings[source.labels[i]] or label
            track = source.tracks[place[0]]
            above[place, depth] = len(rows)
            parent = above[place, depth - 1] if depth else None
            shown = (track.process, track.thread, int(place[1] > 0), label or "(unnamed)")
            rows.append((parent, start, end, (*shown, start - origin, end - start, depth)))
        kept = set()
        for number, (_, start, end, _) in enumerate(rows):
            if window is None or (
                start < window[1] and (end > window[0] or start == end >= window[0])
            ):
                at = number
                while at is not None:
                    kept.add(at)
                    at = rows[at][0]
        out.update(rows[number][3] for number in kept)
    return out


def written(sources, **options) -> bytes:
    out = io.BytesIO()
    write_perfetto(sources, out, **options)
    return out.getvalue()


def replayed(data: bytes):
    """The slices of a file as trace_processor would pair them: stable by time, a stack a track."""
    trace = pb.Trace.FromString(data)
    tracks, processes, threads, names = {}, {}, {}, {}
    events = []
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            if d.HasField("process"):
                processes[d.process.pid] = d.process.process_name
            elif d.HasField("thread"):
                threads[d.uuid] = tracks[d.uuid] = (
                    processes[d.thread.pid], d.thread.thread_name, 0
                )  # fmt: skip
            elif d.parent_uuid:
                tracks[d.uuid] = (*threads[d.parent_uuid][:2], 1)
        names.update({e.iid: e.name for e in packet.interned_data.event_names})
        if packet.HasField("track_event") and packet.track_event.track_uuid in tracks:
            events.append((packet.timestamp, packet.track_event))
    stacks = {uuid: [] for uuid in tracks}
    out = Counter()
    for time, event in sorted(events, key=lambda pair: pair[0]):
        stack = stacks[event.track_uuid]
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((time, names[event.name_iid]))
        else:
            start, name = stack.pop()
            out[(*tracks[event.track_uuid], name, start, time - start, len(stack))] += 1
    assert not any(stacks.values()), "a slice stays open"
    return out


# -- one file with every difficult shape, loaded once --------------------------------------------

CYCLES = Clock("cycle", Fraction(5, 4), assumed=True)


def difficult_traces() -> list[Trace]:
    return [
        trace_of(("a", 0, 100), ("b", 10, 40), ("c", 20, 30), ("d", 40, 100), process="nested"),
        trace_of(("a", 0, 100), ("b", 0, 60), ("c", 0, 60), ("d", 60, 100), process="equal starts"),
        trace_of(
            ("outer", 0, 100), ("at start", 0, 0), ("one", 0, 50), ("between", 50, 50),
            ("two", 50, 100), ("in one", 25, 25), ("at end", 100, 100), ("far", 300, 300),
            process="zero length",
        ),
        trace_of(
            ("outer", 0, 9), ("x", 5, 5), ("y", 5, 5), ("z", 5, 5), process="zero-length siblings"
        ),
        trace_of(
            ("a", 0, 100), ("b", 50, 150), ("c", 60, 70), ("d", 75, 175), ("e", 100, 120),
            process="overlapping", thread="busy",
        ),
        trace_of(
            ("run", 10, 10), ("call", 10, 10), ("event", 10, 10), ("run", 10, 30),
            ("first", 10, 10), ("last", 30, 30), ("inner", 30, 30), ("run", 30, 30),
            process="levels", levels=[0, 1, 2, 0, 1, 1, 2, 0],
        ),
        trace_of(
            *((f"op{i}", 7 * i + 1, 7 * i + 1 + i % 8) for i in range(200)),
            ("all", 1, 1407), process="odd cycles", clock=CYCLES,
        ),
        trace_of(("far", 2**56 + 1, 2**56 + 4), ("late", 2**56 + 2, 2**56 + 3), process="2^56"),
        trace_of(("early", -1001, -7), ("point", -9, -9), process="negative", clock=CYCLES),
        trace_of(
            ("Größe · 畳み込み 🚀", 0, 8), ("", 1, 2), (" ", 3, 4), ("x" * 5000, 5, 6),
            process="prozeß", thread="线程",
        ),
        trace_of(*((f"level {i}", i, 2000 - i) for i in range(600)), process="deep"),
        trace_of(process="empty"),
    ]  # fmt: skip


@pytest.fixture(scope="session")
def difficult() -> list[PerfettoSource]:
    return [PerfettoSource.of(trace) for trace in difficult_traces()]


@pytest.fixture(scope="session")
def annotated() -> list[PerfettoSource]:
    """Two sources with names, links, columns and clocks of their own."""
    builder = TraceBuilder("/some/where/model.etdp", "ETDump", "ET12", Clock("ns", Fraction(1)))
    call = builder.key(KeyKind.OPERATOR_CALL, "OPERATOR_CALL", instruction=7)
    texts = builder.key(KeyKind.DELEGATE_EVENT, "event", identifier="conv#1")
    numbers = builder.key(KeyKind.DELEGATE_EVENT, "event", identifier=-3)
    located = builder.key(KeyKind.LOCATION, "dma", location='loc("a.mlir":3:4)')
    builder.add(
        track=builder.track("model", "method"),
        start=np.array([1000, 1010, 1020, 1030], np.int64),
        end=np.array([1100, 1015, 1025, 1030], np.int64),
        name=builder.intern_all(["OPERATOR_CALL", "event", "event", "dma"]),
        key=np.array([call, texts, numbers, located], np.uint32),
        derived=np.array([False, False, False, True]),
        columns={
            "unit": Column.of_texts(["mtu", None, "ünit", "mtu"]),
            "bytes": Column(
                np.array([5, 0, -7, 2**62]), np.array([True, False, True, True]), unit="B"
            ),
            "share": Column(np.array([0.5, -1e300, np.inf, np.nan])),
            "hit": Column(np.array([True, False, True, False])),
            "address": Column(np.array([1, 2**63 - 1, 300, 0], np.uint64)),
            "module": Column.of_texts(["file's own", None, None, None]),
        },
    )
    builder.track("model", "load")
    dump = builder.build()
    none = [None, None, None]
    first = PerfettoSource(
        trace=dump,
        ns_per_tick=Fraction(1),
        tracks=(ExportTrack("model", "forward"), ExportTrack("model", "load")),
        offset_ns=500,
        labels=np.array([0, 1, 2, 2], np.uint32),
        label_strings=("features.4 · convolution", "event", ""),
        facts=KeyFacts(
            correlation=["forward/10", *none],
            debug_handles=[(10, 11, 2**64), (), (), ()],
            operators=[("features.4 · convolution", "relu"), ("solo",), (), ()],
            modules=["features.4", *none],
            sources=["model.py:12", *none],
            callers=["train.py:9", *none],
            reasons=["instruction id", "no debug handle map", "", ""],
        ),
    )
    cycles = trace_of(("w", 3, 6), process="model", thread="npu", clock=CYCLES)
    second = PerfettoSource(
        trace=cycles,
        ns_per_tick=Fraction(1, 2),
        tracks=(ExportTrack("model", "npu"),),
        offset_ns=1498,
        rate_origin=RateOrigin.ASSUMED,
    )
    return [first, second]


@pytest.fixture(scope="session")
def peers(tmp_path_factory, difficult, annotated):
    """Both files in the real engine; a query goes to one of them."""
    folder = tmp_path_factory.mktemp("perfetto")
    export_perfetto(difficult, folder / "difficult.pftrace")
    export_perfetto(annotated, folder / "annotated.pftrace.gz")
    with (
        TraceProcessor(folder / "difficult.pftrace") as first,
        TraceProcessor(folder / "annotated.pftrace.gz") as second,
    ):
        yield {"difficult": first, "annotated": second}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["difficult", "annotated"])
def test_every_slice_comes_back_with_its_place_time_and_depth(name, peers, request):
    sources = request.getfixturevalue(name)
    found = Counter(peers[name].rows(SLICES))
    assert found == meant(sources)
    assert peers[name].rows("select count(*) from slice") == [(found.total(),)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["difficult", "annotated"])
def test_the_engine_has_nothing_to_complain_about(name, peers):
    assert peers[name].rows(FAULTS) == []
    assert peers[name].rows("select name from slice where dur < 0 or name is null") == []


@pytest.mark.slow
def test_threads_have_ids_in_display_order_and_no_unnamed_one_is_invented(peers, annotated):
    threads = peers["annotated"].rows(
        "select pid, tid, thread.name, process.name from thread left join process "
        "using (upid) where tid > 0 order by tid"
    )
    assert threads == [
        (1, 1, "forward", "model"), (1, 2, "load", "model"), (3, 3, "npu", "model"),
    ]  # fmt: skip


@pytest.mark.slow
def test_all_further_lanes_of_a_thread_are_drawn_as_one_track(peers):
    lanes = peers["difficult"].rows(
        "select track.name, thread.name, track_group_id from track join thread_track using (id) "
        "join thread using (utid) where track.name glob '* (overlapping)' order by 1"
    )
    assert [lane[:2] for lane in lanes] == [
        ("busy (overlapping)", "busy"), ("busy (overlapping)", "busy"), ("t (overlapping)", "t"),
    ]  # fmt: skip
    assert lanes[0][2] == lanes[1][2] != lanes[2][2]


def arguments(peer, name):
    """Every argument of the one slice of that name and time: key -> value."""
    rows = peer.rows(
        "select slice.name, key, coalesce(int_value, string_value, real_value) from slice "
        "join args using (arg_set_id) order by slice.ts, slice.depth"
    )
    return {
        key.removeprefix("debug."): value
        for slice_name, key, value in rows
        if slice_name == name and "legacy" not in key
    }


@pytest.mark.slow
def test_arguments_of_a_linked_slice_come_back(peers):
    assert arguments(peers["annotated"], "features.4 · convolution") == {
        "event": "OPERATOR_CALL",
        "operator[0]": "features.4 · convolution",
        "operator[1]": "relu",
        "debug_handles[0]": 10,
        "debug_handles[1]": 11,
        "debug_handles[2]": str(2**64),
        "module": "features.4",
        "source": "model.py:12",
        "called_from": "train.py:9",
        "link_reason": "instruction id",
        "instruction_id": 7,
        "unit": "mtu",
        "bytes": 5,
        "share": 0.5,
        "hit": 1,
        "address": 1,
        "column module": "file's own",
        "correlation_id": "forward/10",
    }


@pytest.mark.slow
def test_identifiers_nulls_and_derived_slices_come_back(peers):
    peer = peers["annotated"]
    rows = peer.rows(
        "select ts, extract_arg(arg_set_id, 'debug.identifier'), "
        "extract_arg(arg_set_id, 'debug.location'), extract_arg(arg_set_id, 'debug.bytes'), "
        "extract_arg(arg_set_id, 'debug.unit'), extract_arg(arg_set_id, 'debug.address'), "
        "extract_arg(arg_set_id, 'debug.share'), extract_arg(arg_set_id, 'debug.derived'), "
        "extract_arg(arg_set_id, 'debug.event') "
        "from slice where name in ('event', 'dma') order by ts"
    )
    assert rows == [
        (11, "conv#1", None, None, None, 2**63 - 1, -1e300, None, None),
        (21, -3, None, -7, "ünit", 300, float("inf"), None, None),
        (31, None, 'loc("a.mlir":3:4)', 2**62, "mtu", 0, None, 1, None),
    ]


@pytest.mark.slow
def test_clock_and_origin_are_metadata_that_the_engine_shows(peers):
    rows = peers["annotated"].rows("select name, coalesce(str_value, int_value) from metadata")
    found = {name.removeprefix("cr-org.opscope."): value for name, value in rows}
    assert found["origin_ns"] == 1499
    facts = ("file", "offset_ns", "clock_unit", "ns_per_tick", "clock_rate", "unit_of_bytes")
    assert {tuple(found.get(f"source{n}.{fact}") for fact in facts) for n in (1, 2)} == {
        ("in.csv", 1498, "cycle", "1/2", "assumed", None),
        ("model.etdp", 500, "ns", "1", "stated", "B"),
    }


# -- the file itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["difficult", "annotated"])
def test_the_bytes_are_those_of_the_official_serializer(name, request):
    data = written(request.getfixturevalue(name))
    assert pb.Trace.FromString(data).SerializeToString() == data


def test_times_and_clocks_are_trace_attributes_too(annotated):
    trace = pb.Trace.FromString(written(annotated))
    attributes = {
        a.key: a.long_value if a.HasField("long_value") else a.string_value
        for packet in trace.packet
        for a in packet.trace_attributes.attribute
    }
    assert attributes["org.opscope.origin_ns"] == 1499
    assert attributes["org.opscope.source1.file"] == "model.etdp"
    assert attributes["org.opscope.source2.ns_per_tick"] == "1/2"
    assert attributes["org.opscope.source2.clock_rate"] == "assumed"


def test_order_is_explicit_for_newer_interfaces(difficult):
    descriptors = [
        p.track_descriptor
        for p in pb.Trace.FromString(written(difficult)).packet
        if p.HasField("track_descriptor")
    ]
    root = next(d for d in descriptors if d.uuid == 0)
    assert root.process_ordering == pb.TrackDescriptor.PROCESS_ORDERING_EXPLICIT
    assert root.thread_ordering == pb.TrackDescriptor.THREAD_ORDERING_EXPLICIT
    ranked = [(d.sibling_order_rank, d.process.process_name) for d in descriptors if d.process.pid]
    assert ranked == list(enumerate(s.tracks[0].process for s in difficult))


def test_gzip_holds_the_same_bytes_and_no_time(tmp_path, annotated):
    raw, packed = tmp_path / "a.pftrace", tmp_path / "a.pftrace.gz"
    assert export_perfetto(annotated, raw) == export_perfetto(annotated, packed) == 5
    assert gzip.decompress(packed.read_bytes()) == raw.read_bytes() == written(annotated)
    assert packed.read_bytes()[3:8] == bytes(5)


def test_chunks_do_not_show(difficult, monkeypatch):
    whole = written(difficult)
    monkeypatch.setattr("viewer.export.perfetto.writer.SLICES_AT_ONCE", 3)
    assert written(difficult) == whole


def test_nothing_at_all_is_still_a_file_that_parses():
    assert write_perfetto([], io.BytesIO()) == 0
    assert replayed(written([])) == replayed(written([PerfettoSource.of(trace_of())])) == Counter()


def test_two_tracks_with_one_name_stay_two_threads():
    builder = TraceBuilder("a", "test", "1", Clock())
    key = builder.key(KeyKind.PLAIN, "")
    for thread in ("one", "two"):
        builder.add(
            track=builder.track("p", thread), start=np.array([0]), end=np.array([9]),
            name=builder.intern(thread), key=key,
        )  # fmt: skip
    source = PerfettoSource(builder.build(), Fraction(1), (ExportTrack("p", "forward"),) * 2)
    packets = pb.Trace.FromString(written([source])).packet
    assert [p.track_descriptor.thread.tid for p in packets if p.track_descriptor.thread.tid] == [
        1, 2,
    ]  # fmt: skip
    assert replayed(written([source])) == meant([source])


def test_names_that_are_not_utf8_are_kept_as_far_as_they_go():
    source = PerfettoSource.of(trace_of(("bad\udcff", 0, 1), process="p\udcff"))
    assert set(replayed(written([source]))) == {("p?", "t", 0, "bad?", 0, 1, 0)}


@pytest.mark.parametrize(
    ("ticks", "ratio"),
    [
        ((2**62, 2**62 + 3), Fraction(5, 4)),
        ((-(2**63), -(2**63) + 5), Fraction(1, 3)),
        ((2**63 - 9, 2**63 - 1), Fraction(1_000_000)),
    ],
)
def test_ticks_whose_ns_exceed_64_bits_are_exact(ticks, ratio):
    source = PerfettoSource.of(trace_of(("a", *ticks), clock=Clock("cycle", ratio)))
    assert replayed(written([source])) == meant([source])


@pytest.mark.parametrize(
    ("ticks", "ratio"), [((-(2**63), 2**63 - 1), Fraction(1, 9)), ((0, 2**62), Fraction(2))]
)
def test_times_that_no_timestamp_can_hold_are_refused(ticks, ratio, tmp_path):
    instants = [("a", tick, tick) for tick in ticks]
    source = PerfettoSource.of(trace_of(*instants, clock=Clock("cycle", ratio)))
    with pytest.raises(TimesTooFarApart):
        export_perfetto([source], tmp_path / "out.pftrace")
    assert os.listdir(tmp_path) == []


# -- a range -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_range_keeps_whole_slices_and_those_around_them(tmp_path):
    source = PerfettoSource.of(
        trace_of(
            ("run", 0, 1000), ("before", 10, 100), ("over the edge", 90, 210), ("inside", 110, 120),
            ("point", 130, 130), ("to the end", 140, 900), ("after", 900, 950),
        )
    )  # fmt: skip
    path = tmp_path / "range.pftrace"
    assert export_perfetto([source], path, ns_range=(100, 140)) == 4
    with TraceProcessor(path) as peer:
        assert sorted(row[3] for row in peer.rows(SLICES)) == [
            "inside", "over the edge", "point", "run",
        ]  # fmt: skip
        assert Counter(peer.rows(SLICES)) == meant([source], (100, 140))
        assert peer.rows(FAULTS) == []


def test_a_point_at_the_start_of_a_range_brings_the_slice_that_ends_there():
    trace = trace_of(("outer", 0, 100), ("inner", 50, 100), ("point", 100, 100), levels=[0, 1, 2])
    source = PerfettoSource.of(trace)
    kept = replayed(written([source], ns_range=(100, 200)))
    assert sorted(row[3:] for row in kept) == [
        ("inner", 50, 50, 1), ("outer", 0, 100, 0), ("point", 100, 0, 2),
    ]  # fmt: skip
    alone = PerfettoSource.of(trace_of(("outer", 0, 100)))
    assert not replayed(written([alone], ns_range=(100, 200)))


def test_a_range_without_slices_and_one_beyond_64_bits():
    source = PerfettoSource.of(trace_of(("a", 0, 5), ("b", 8, 9)))
    assert write_perfetto([source], io.BytesIO(), ns_range=(5, 8)) == 0
    assert write_perfetto([source], io.BytesIO(), ns_range=(-(2**80), 2**80)) == 2


# -- order of events, for any intervals ----------------------------------------------------------


@st.composite
def by_time(draw):
    """Slices that may nest, touch, overlap or have no length."""
    times = st.integers(0, 12)
    pairs = draw(st.lists(st.tuples(times, times), max_size=14))
    return trace_of(*((f"s{i}", min(p), max(p)) for i, p in enumerate(pairs)))


@st.composite
def by_level(draw):
    """A tree in preorder whose nodes, parents included, often have no length."""
    nodes, levels = [], []

    def grow(low, high, level):
        cuts = sorted(draw(st.lists(st.integers(low, high), max_size=6)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            nodes.append((f"n{len(nodes)}", start, end))
            levels.append(level)
            if level < 3:
                grow(start, end, level + 1)

    grow(0, 10, 0)
    return trace_of(*nodes, levels=levels)


@pytest.mark.slow
@given(
    trace=by_time() | by_level(),
    ratio=st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(1, 3), Fraction(1000)]),
    offset=st.integers(-20, 20),
    window=st.none() | st.tuples(st.integers(-20, 30), st.integers(0, 15)),
)
def test_a_stack_machine_rebuilds_slices_and_depths(trace, ratio, offset, window):
    span = None if window is None else (window[0], window[0] + window[1])
    source = PerfettoSource(trace, ratio, PerfettoSource.of(trace).tracks, offset_ns=offset)
    assert replayed(written([source], ns_range=span)) == meant([source], span)


# -- giving up -----------------------------------------------------------------------------------


def test_a_cancelled_export_leaves_the_old_file(tmp_path, difficult):
    path = tmp_path / "a.pftrace"
    path.write_bytes(b"old")
    for suffix in ("", ".gz"):
        with pytest.raises(WriteCancelled):
            export_perfetto(difficult, f"{path}{suffix}", cancelled=lambda: True)
    assert [p.name for p in tmp_path.iterdir()] == ["a.pftrace"]
    assert path.read_bytes() == b"old"


def test_a_failing_export_leaves_nothing(tmp_path, difficult):
    def fail(done, total):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        export_perfetto(difficult, tmp_path / "a.pftrace.gz", progress=fail)
    assert list(tmp_path.iterdir()) == []


def test_progress_ends_at_all_slices(difficult):
    seen = []
    written(difficult, progress=lambda done, total: seen.append((done, total)))
    total = sum(len(s.trace.slices) for s in difficult)
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)


# -- the peer itself -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_peer_says_why_it_cannot_answer(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        TraceProcessor(tmp_path / "missing.pftrace")
    (tmp_path / "noise").write_bytes(b"\xff this is no trace\n" * 1000)
    with pytest.raises(PerfettoException, match="type"):
        TraceProcessor(tmp_path / "noise")


@pytest.mark.slow
def test_the_peer_passes_on_what_the_engine_says_about_a_query(peers):
    with pytest.raises(PerfettoException, match="nothing_such"):
        peers["difficult"].rows("select * from nothing_such")
    assert peers["difficult"].rows("select 1 as a, 2.5 as a, null, 'x'") == [(1, 2.5, None, "x")]


@pytest.mark.slow
def test_an_engine_is_asked_about_one_trace_after_another(difficult, annotated, tmp_path):
    export_perfetto(difficult, tmp_path / "difficult")
    export_perfetto(annotated, tmp_path / "annotated")

    def asked(name: str) -> tuple[int, int]:
        with TraceProcessor(tmp_path / name) as peer:
            ((count,),) = peer.rows("select count(*) from slice")
            peer.rows("create perfetto table seen as select * from slice")  # once in a trace
            return peer.pid, count

    first, second, third = (asked(name) for name in ("difficult", "annotated", "difficult"))
    assert first == third
    assert first[0] == second[0]
    assert first[1] > second[1] > 0


@pytest.mark.slow
def test_an_engine_that_was_asked_something_wrong_is_not_asked_again(annotated, tmp_path):
    export_perfetto(annotated, tmp_path / "annotated")
    with TraceProcessor(tmp_path / "annotated") as peer:
        first = peer.pid
        with pytest.raises(PerfettoException, match="nothing_such"):
            peer.rows("select * from nothing_such")
    with TraceProcessor(tmp_path / "annotated") as peer:
        assert peer.pid != first


def test_node_of_the_wheel_is_found_without_one_on_the_path(monkeypatch, tmp_path):
    from tests.peers import trace_processor

    monkeypatch.setenv("PATH", str(tmp_path))
    found = Path(trace_processor.node_path())
    assert found.is_file()
    assert os.access(found, os.X_OK)


# -- tracks, categories, marks, parts --------------------------------------------------------------


def packets(data):
    return pb.Trace.FromString(data).packet


def named_slices(data):
    """(name, categories, arguments by name, track uuid, time) of every BEGIN and instant."""
    texts = {"event_names": {}, "event_categories": {}, "debug_annotation_names": {}}
    found = []
    for packet in packets(data):
        for table, known in texts.items():
            known.update({e.iid: e.name for e in getattr(packet.interned_data, table)})
        event = packet.track_event
        if event.type in (pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_INSTANT):
            found.append((
                event.name or texts["event_names"][event.name_iid],
                [*event.categories, *(texts["event_categories"][i] for i in event.category_iids)],
                {a.name or texts["debug_annotation_names"][a.name_iid]: a
                 for a in event.debug_annotations},
                event.track_uuid,
                packet.timestamp,
            ))  # fmt: skip
    return found


def descriptors(data):
    return [p.track_descriptor for p in packets(data) if p.HasField("track_descriptor")]


def test_categories_are_the_kinds_of_slices(annotated):
    kinds = {name: categories for name, categories, *_ in named_slices(written(annotated))}
    assert kinds["features.4 · convolution"] == ["OPERATOR_CALL"]
    assert kinds["event"] == ["DELEGATE_EVENT"]
    assert kinds["dma"] == ["LOCATION"]
    assert kinds["w"] == []  # the file says nothing of it


def test_ticks_are_written_where_the_time_does_not_tell_them(annotated):
    of = {name: arguments for name, _, arguments, *_ in named_slices(written(annotated))}
    assert (of["w"]["start_ticks"].int_value, of["w"]["dur_ticks"].int_value) == (3, 3)
    assert "start_ticks" not in of["features.4 · convolution"]


def test_units_of_an_npu_are_plain_tracks_in_order_and_their_lanes_are_one(tmp_path):
    builder = TraceBuilder("npu.csv", "test", "1", Clock())
    key = builder.key(KeyKind.LOCATION, "x", location='loc("a.mlir":1:1)')
    for unit, starts in ((Unit.SLICE, [0, 5]), (Unit.DMA_IN, [0, 20]), (Unit.CSS, [3, 30])):
        builder.add(
            track=builder.track("npu.csv", unit.name, unit=unit),
            start=np.array(starts), end=np.array(starts) + 10, name=builder.intern("work"), key=key,
        )  # fmt: skip
    source = PerfettoSource.of(builder.build())
    data = written([source], trace_extras=TraceExtras(order=[(0, 2), (0, 0)]))
    group = next(d for d in descriptors(data) if d.name == "npu.csv")
    assert group.child_ordering == pb.TrackDescriptor.EXPLICIT
    assert not any(d.HasField("thread") or d.HasField("process") for d in descriptors(data))
    tracks = [d for d in descriptors(data) if d.parent_uuid == group.uuid]
    assert [(d.name, d.sibling_order_rank) for d in tracks] == [
        ("CSS", 0), ("SLICE", 1), ("SLICE", 1), ("DMA_IN", 2),
    ]  # fmt: skip
    assert [d.sibling_merge_key_int for d in tracks] == [0, tracks[1].uuid, tracks[1].uuid, 0]
    assert [c for _, c, *_ in named_slices(data)[0:2]] == [["LOCATION", "SLICE"]] * 2


def test_tracks_stand_in_the_order_that_is_given(annotated):
    data = written(annotated, trace_extras=TraceExtras(order=[(1, 0), (0, 1), (9, 9)]))
    threads = [d.thread.thread_name for d in descriptors(data) if d.HasField("thread")]
    assert threads == ["npu", "load", "forward"]
    assert [d.thread.tid for d in descriptors(data) if d.HasField("thread")] == [1, 2, 3]


@pytest.mark.slow
def test_marks_are_a_track_of_their_own(tmp_path):
    source = PerfettoSource.of(trace_of(("a", 100, 200)))
    marks = [
        PerfettoBookmark(110, 150, "slow", "why?"), PerfettoBookmark(120, 180, "overlapping"),
        PerfettoBookmark(130, 130, "moment"), PerfettoBookmark(40, 60, ""),
    ]  # fmt: skip
    path = tmp_path / "marks.pftrace"
    export_perfetto([source], path, trace_extras=TraceExtras(bookmarks=marks))
    with TraceProcessor(path) as peer:
        rows = peer.rows(
            "select slice.name, ts, dur, category, extract_arg(slice.arg_set_id, 'debug.note') "
            "from slice join track on track.id = track_id where track.name = 'Marks' order by ts"
        )
        assert peer.rows(FAULTS) == []
        assert peer.rows("select ts from slice where name = 'a'") == [(60,)]
    # The file begins with the earliest mark.
    assert rows == [
        ("(unnamed)", 0, 20, "MARK", None), ("slow", 70, 40, "MARK", "why?"),
        ("overlapping", 80, 60, "MARK", None), ("moment", 90, 0, "MARK", None),
    ]  # fmt: skip
    shown = {n for n, *_ in named_slices(written([source], ns_range=(160, 170),
             trace_extras=TraceExtras(bookmarks=marks)))}  # fmt: skip
    assert shown == {"a", "overlapping"}


def test_chosen_slices_stand_at_the_depth_that_they_have_among_themselves(tmp_path):
    trace = trace_of(
        ("run", 0, 100), ("call", 10, 90), ("kernel", 20, 30), ("other", 40, 50), ("end", 95, 99)
    )
    chosen = [i for i in range(5) if trace.name(i) in ("run", "kernel", "end")]
    source = replace(PerfettoSource.of(trace), only=np.array(chosen))
    kept = replayed(written([source], ns_range=(0, 5)))
    assert sorted(row[3:] for row in kept) == [
        ("end", 95, 4, 1), ("kernel", 20, 10, 1), ("run", 0, 100, 0),
    ]  # fmt: skip
    alone = replace(source, only=np.array([i for i in chosen if trace.name(i) != "run"]))
    assert sorted(row[3:] for row in replayed(written([alone]))) == [
        ("end", 95, 4, 0), ("kernel", 20, 10, 0),
    ]  # fmt: skip


@pytest.mark.slow
@given(trace=by_time() | by_level(), seed=st.integers(0, 2**32))
def test_any_choice_of_slices_nests_as_they_do(trace, seed):
    mask = np.random.default_rng(seed).random(len(trace.slices)) < 0.5
    source = replace(PerfettoSource.of(trace), only=np.flatnonzero(mask))
    found = Counter(row[3:6] for row in replayed(written([source])).elements())
    start, end, origin = trace.slices.start, trace.slices.end, trace.start
    assert found == Counter(
        (trace.name(i), int(start[i]) - origin, int(end[i] - start[i]))
        for i in np.flatnonzero(mask).tolist()
    )


def test_without_annotations_names_kinds_and_colors_stay(annotated):
    bare = [replace(source, annotations=False) for source in annotated]
    data = written(bare)
    assert replayed(data) == meant(bare)
    slices = named_slices(data)
    assert not any(arguments for _, _, arguments, *_ in slices)
    assert slices[0][1] == ["OPERATOR_CALL"]
    assert b"forward/10" in data
    assert b"model.py:12" not in data


def test_slices_of_an_inference_have_its_number_and_runs_without_a_slice_get_one(tmp_path):
    builder = TraceBuilder("host.csv", "test", "1", Clock())
    track = builder.track("p", "host")
    builder.add(
        track=track, start=np.array([0, 10, 25, 50]), end=np.array([5, 20, 30, 60]),
        name=builder.intern_all(["load", "a", "b", "c"]), key=builder.key(KeyKind.PLAIN, ""),
    )  # fmt: skip
    scope = builder.scope("host")
    for kind, start, end in (
        (RunKind.LOAD, 0, 5), (RunKind.INFERENCE, 10, 30), (RunKind.INFERENCE, 50, 60),
    ):  # fmt: skip
        builder.run(kind, "infer", track, scope, start, end)
    data = written([PerfettoSource.of(builder.build())])
    run = {name: arguments.get("run") for name, _, arguments, *_ in named_slices(data)}
    assert run["load"] is None
    assert [run[name].int_value for name in "abc"] == [1, 1, 2]
    # The slice c is all of the second inference; the first is spanned by none.
    spans = [(n, t) for n, c, _, _, t in named_slices(data) if c == ["INFERENCE"]]
    assert spans == [("infer · run 1", 10)]


def test_estimates_are_arguments_of_their_slices(annotated):
    first = annotated[0]
    facts = replace(first.facts, estimates={0: (55_002, 68_752.5)})
    of = {n: a for n, _, a, *_ in named_slices(written([replace(first, facts=facts)]))}
    linked = of["features.4 · convolution"]
    assert linked["estimate_ticks"].int_value == 55_002
    assert linked["estimate_ns"].double_value == 68_752.5
    assert "estimate_ns" not in of["event"]


# -- how large -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["difficult", "annotated"])
def test_the_size_of_a_small_file_is_exact(name, request):
    sources = request.getfixturevalue(name)
    size = size_of_perfetto(sources)
    assert size.raw == len(written(sources))
    assert size.slices == sum(len(s.trace.slices) for s in sources)


@pytest.mark.slow
def test_the_size_of_a_large_file_is_told_from_a_sample():
    random = np.random.default_rng(3)
    start = np.cumsum(random.integers(1, 2000, 300_000))
    builder = TraceBuilder("big.csv", "test", "1", Clock())
    names = builder.intern_all([f"op {i}" for i in range(300)])
    builder.add(
        track=builder.track("p", "t"), start=start, end=start + random.integers(0, 900, 300_000),
        name=names[random.integers(0, 300, 300_000)], key=builder.key(KeyKind.KERNEL, "k"),
    )  # fmt: skip
    source = PerfettoSource.of(builder.build())
    size, data = size_of_perfetto([source]), written([source])
    assert size.raw == pytest.approx(len(data), rel=0.05)
    assert size.packed == pytest.approx(len(gzip.compress(data, 6)), rel=0.2)
    part = size_of_perfetto([source], ns_range=(int(start[1000]), int(start[200_000])))
    assert part.slices == write_perfetto(
        [source], io.BytesIO(), ns_range=(int(start[1000]), int(start[200_000]))
    )


def test_slices_over_an_edge_are_counted():
    source = PerfettoSource.of(
        trace_of(("over both", 0, 100), ("over one", 10, 40), ("in", 50, 60), ("out", 90, 95))
    )
    size = size_of_perfetto([source], ns_range=(30, 80))
    assert (size.slices, size.over_edge, size.tracks) == (3, 2, 1)


def test_slices_keep_the_names_of_their_file_and_have_the_label_as_an_argument(annotated):
    kept = [replace(source, own_names=True) for source in annotated]
    names = {name for source in annotated for name in source.trace.strings}
    found = named_slices(written(kept))
    assert {name for name, *_ in found} <= names | {"(unnamed)"}
    labels = {label for source in annotated for label in source.label_strings if label}
    assert any("label" in arguments for _, _, arguments, *_ in found)
    assert not any("event" in arguments for _, _, arguments, *_ in found)
    data = written(kept)
    assert all(label.encode() in data for label in labels)
