"""Counter tracks, asked back from the real trace_processor: every value and every time."""

import io
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.paths import DATA
from tests.peers.trace_processor import TraceProcessor
from viewer.analysis.torq.unit_counters import unit_counters
from viewer.codecs.atomic_file import WriteCancelled
from viewer.export.perfetto.source import ExportTrack, PerfettoSource
from viewer.export.perfetto.writer import export_perfetto, write_perfetto
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, Unit

COUNTERS = """
    select coalesce(process.name, parent.name), track.name, ts, value
    from counter join track on track.id = counter.track_id
    left join process_counter_track on process_counter_track.id = counter.track_id
    left join process using (upid) left join track parent on parent.id = track.parent_id
    order by counter.id
"""
FAULTS = """
    select name, severity, value from stats where value > 0 and (
        severity in ('error', 'data_loss') or name glob '*skipped*' or name glob '*tokenizer*'
        or name glob '*interned*' or name glob 'misplaced*' or name glob 'unknown_extension*')
"""


def source_of(path, offset=0, rate=None, process=None):
    """A profile with counters, under a name and a clock that may be others than the file's."""
    trace = open_file(str(path))
    plain = PerfettoSource.of(trace)
    tracks = [ExportTrack(process or t.process, t.thread) for t in plain.tracks]
    return replace(
        plain, ns_per_tick=rate or plain.ns_per_tick, offset_ns=offset, tracks=tracks, counters=True
    )


def floored(source, tick):
    ratio = source.ns_per_tick
    return tick * ratio.numerator // ratio.denominator + source.offset_ns


def meant(sources):
    """(process, counter, ns from the earliest slice, value) of every change."""
    origin = min(floored(s, s.trace.start) for s in sources)
    return sorted(
        (
            source.tracks[0].process,
            counter.name,
            floored(source, tick) - origin,
            value / float(source.ns_per_tick) if counter.per_tick else value,
        )
        for source in sources
        for counter in unit_counters(source.trace)
        for tick, value in zip(counter.tick.tolist(), counter.value.tolist(), strict=True)
    )


def written(sources, **options):
    out = io.BytesIO()
    write_perfetto(sources, out, **options)
    return out.getvalue()


def points(data):
    """(name, ns, value) of every counter packet of a file, in its order."""
    names, found = {}, []
    for packet in pb.Trace.FromString(data).packet:
        if packet.track_descriptor.HasField("counter"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
        event = packet.track_event
        if packet.HasField("track_event") and event.type == pb.TrackEvent.TYPE_COUNTER:
            found.append((names[event.track_uuid], packet.timestamp, event.double_counter_value))
    return found


@pytest.fixture(scope="module")
def profiles():
    return [
        source_of(DATA / "torq" / "compile_c3_taskid_mtu.csv", offset=1000, process="first"),
        source_of(DATA / "torq" / "compile_c1_css_cdma.csv", rate=Fraction(10, 3)),
        source_of(DATA / "torq" / "runtime_r0_nss.csv"),
    ]


@pytest.fixture(scope="module")
def peer(profiles, tmp_path_factory):
    path = tmp_path_factory.mktemp("counters") / "counters.pftrace"
    export_perfetto(profiles, path)
    with TraceProcessor(path) as engine:
        yield engine


@pytest.mark.slow
def test_every_value_and_every_time_comes_back(profiles, peer):
    expected = meant(profiles)
    assert len(expected) > 400
    found = sorted(peer.rows(COUNTERS))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected], rel=1e-14)
    assert peer.rows("select count(*) from counter") == [(len(expected),)]


@pytest.mark.slow
def test_the_engine_has_nothing_to_complain_about(peer):
    assert peer.rows(FAULTS) == []


@pytest.mark.slow
def test_tracks_have_the_units_of_their_values(peer):
    units = dict(peer.rows("select name, unit from counter_track"))
    assert units["Concurrent units"] == "count"
    assert units["DMA In bandwidth"] == "GB/s"
    assert units["DMA In bytes"] == "bytes"
    assert units["DMA busy · per 1k cycles"] == "%"
    assert units["NPU busy · per 10\u202fµs"] == "%"


def test_what_is_guessed_or_left_out_is_described():
    builder = TraceBuilder("in.csv", "test", "1", Clock("cycle", Fraction(5, 4), assumed=True))
    builder.add(
        track=builder.track("p", "DMA In", unit=Unit.DMA_IN), name=0,
        key=builder.key(KeyKind.PLAIN, ""), start=np.array([0, 9]), end=np.array([9, 9]),
        columns={"bytes": Column(np.array([18, 18]))},
    )  # fmt: skip
    data = written([replace(PerfettoSource.of(builder.build()), counters=True)])
    described = {
        packet.track_descriptor.name: packet.track_descriptor.description
        for packet in pb.Trace.FromString(data).packet
        if packet.track_descriptor.HasField("counter")
    }
    missing = "1 transfer without a length is not included"
    assert described == {
        "DMA busy · per 1 cycle": "",
        "DMA In bandwidth": f"{missing}; assumed clock rate",
        "DMA In bytes": missing,
    }
    assert points(data)[2:] == [
        ("DMA In bandwidth", 0, 1.6), ("DMA In bandwidth", 11, 0), ("DMA In bytes", 0, 18),
        ("DMA In bytes", 11, 0),
    ]  # fmt: skip


def test_the_bytes_are_those_of_the_official_serializer(profiles):
    data = written(profiles)
    assert pb.Trace.FromString(data).SerializeToString() == data


def test_without_units_or_if_not_asked_for_nothing_is_written(profiles, data):
    asked, plain = profiles[:1], [replace(profiles[0], counters=False)]
    assert points(written(plain)) == []
    assert len(written(plain)) < len(written(asked))
    dump = PerfettoSource.of(open_file(str(data / "etdump" / "cnn_portable_x10.etdp")))
    assert written([replace(dump, counters=True)]) == written([dump])


def test_chunks_do_not_show(profiles, monkeypatch):
    whole = written(profiles)
    monkeypatch.setattr("viewer.export.perfetto.writer.CHANGES_AT_ONCE", 7)
    assert written(profiles) == whole


def test_a_cancel_is_heard_among_the_counters(profiles):
    out = io.BytesIO()
    asked = []

    def cancelled():
        asked.append(len(out.getvalue()))
        return len(asked) > 4

    with pytest.raises(WriteCancelled):
        write_perfetto(profiles[:1], out, cancelled=cancelled)
    assert any(name == "Concurrent units" for name, _, _ in points(out.getvalue()))


@pytest.mark.parametrize("span", [(2500, 5000), (2196, 4176), (0, 1), (60_000, 60_001)])
def test_a_range_has_the_steps_that_share_time_with_it_and_what_ends_the_last(data, span):
    source = source_of(data / "torq" / "compile_c3_taskid_mtu.csv", rate=Fraction(1))
    (counter, *_) = unit_counters(source.trace)
    tick = counter.tick.tolist()
    ends = [*tick[1:], source.trace.end + 1]
    kept = [i for i, t in enumerate(tick) if t < span[1] and ends[i] > span[0]]
    kept.append(kept[-1] + 1)
    found = points(written([source], ns_range=span))
    assert [(t, v) for name, t, v in found if name == counter.name] == [
        (tick[i], counter.value[i]) for i in kept if i < len(tick)
    ]


@pytest.mark.parametrize("span", [(-50, 0), (5, 5), (-(2**80), -(2**70)), (10**9, 10**9 + 5)])
def test_a_range_beside_the_trace_has_no_counter(data, span):
    source = source_of(data / "torq" / "compile_c3_taskid_mtu.csv")
    assert points(written([source], ns_range=span)) == []


def test_a_range_beyond_64_bits_has_all(profiles):
    assert points(written(profiles, ns_range=(-(2**80), 2**80))) == points(written(profiles))
