"""Two hundred random traces in one file, read by the real engine: slices, depths and flows.

Each has overlaps, equal times, zero lengths, nesting by time or by stated levels, on threads or on
units of an NPU, some of it deep, in names of any script, or at times around 2^62.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.export.perfetto.test_writer import FAULTS, floor_ns, meant, written
from tests.peers.trace_processor import TraceProcessor
from viewer.export.perfetto.source import FlowEdges, PerfettoSource
from viewer.export.perfetto.writer import export_perfetto
from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import ranks
from viewer.model.trace import Clock, KeyKind, Trace, Unit

pytestmark = pytest.mark.slow

TRACES = 200
SLICES = """
    select coalesce(process.name, parent.name), coalesce(thread.name, track.name),
        thread_track.name is not null, slice.name, ts, dur, depth
    from slice join track on track.id = slice.track_id
    left join thread_track on thread_track.id = track.id left join thread using (utid)
    left join process using (upid) left join track parent on parent.id = track.parent_id
    where process.name is not null or parent.name is not null
"""
FLOWS = """
    select a.name, b.name from flow join slice a on a.id = flow.slice_out
    join slice b on b.id = flow.slice_in
"""
WORDS = ("畳み込み", "größe", "🚀", "a'b\"c", "\t", "x" * 300, "%s{0}", "conv2d")
UNITS = (Unit.NONE, Unit.NONE, Unit.HOST, Unit.SLICE, Unit.DMA_IN)


def by_time(random: Random, base: int) -> list[tuple[int, int, int]]:
    """(start, end, -1): intervals of a few different times."""
    times = [base + random.randrange(14) for _ in range(2 * random.randrange(1, 16))]
    return [(min(p), max(p), -1) for p in zip(times[::2], times[1::2], strict=True)]


def by_level(random: Random, base: int) -> list[tuple[int, int, int]]:
    """(start, end, level) in preorder; parents too may have no length."""
    nodes: list[tuple[int, int, int]] = []

    def grow(low: int, high: int, level: int) -> None:
        cuts = sorted(random.randint(low, high) for _ in range(random.randrange(6)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            nodes.append((base + start, base + end, level))
            if level < 4:
                grow(start, end, level + 1)

    grow(0, 12, 0)
    return nodes


def random_trace(number: int) -> Trace:
    random = Random(number)
    clock = Clock("cycle", Fraction(5, 4), assumed=True) if number % 3 == 0 else Clock()
    base = 2**62 + number if number % 7 == 0 and number % 3 else 10 * number
    builder = TraceBuilder(f"{number}.csv", "test", "1", clock)
    unit = random.choice(UNITS)
    for thread in range(random.randint(1, 3)):
        stated = random.random() < 0.5
        found = (by_level if stated else by_time)(random, base)
        if number % 50 == 1:
            found = [(base + i, base + 2000 - i, -1) for i in range(700)]
            stated = False
        if not found:
            continue
        names = [f"{number}/{thread}/{i} {random.choice(WORDS)}" for i in range(len(found))]
        builder.add(
            track=builder.track(f"process {number}", f"{random.choice(WORDS)} {thread}", unit=unit),
            start=np.array([s for s, _, _ in found], np.int64),
            end=np.array([e for _, e, _ in found], np.int64),
            name=builder.intern_all(names),
            key=builder.key(random.choice([KeyKind.PLAIN, KeyKind.KERNEL]), "k"),
            levels=np.array([level for _, _, level in found], np.int32) if stated else None,
        )
    return builder.build()


def random_edges(trace: Trace, number: int) -> FlowEdges:
    """Pairs of any slices, by consumer, each once."""
    random, count = Random(number), len(trace.slices)
    pairs = {(random.randrange(count), random.randrange(count)) for _ in range(min(count, 12))}
    found = sorted((b, a) for a, b in pairs if a != b)
    columns = np.array(found, np.int64).reshape(len(found), 2)
    return FlowEdges(columns[:, 1].copy(), columns[:, 0].copy(), count, count)


@pytest.fixture(scope="module")
def sources() -> list[PerfettoSource]:
    made = []
    for number in range(TRACES):
        trace = random_trace(number)
        if not len(trace.slices):
            continue
        edges = random_edges(trace, number)
        made.append(replace(PerfettoSource.of(trace), flows=lambda only, edges=edges: edges))
    return made


@pytest.fixture(scope="module")
def engine(sources, tmp_path_factory):
    path = tmp_path_factory.mktemp("random") / "random.pftrace"
    export_perfetto(sources, path)
    with TraceProcessor(path) as peer:
        yield peer


def test_every_slice_of_every_random_trace_comes_back(sources, engine):
    tracks = {track.process: track.unit for s in sources for track in s.trace.tracks}
    expected = Counter()
    for (process, thread, lane, *rest), count in meant(sources).items():
        # All lanes of a plain track are tracks of one name.
        is_plain = tracks[process] in (Unit.SLICE, Unit.DMA_IN)
        expected[process, thread, 0 if is_plain else lane, *rest] += count
    assert expected.total() > 4000
    assert Counter(engine.rows(SLICES)) == expected
    assert max(row[4] for row in expected) > 2**61


def test_nothing_stays_open_and_the_engine_complains_of_nothing(engine):
    assert engine.rows("select count(*) from slice where dur < 0 or name is null") == [(0,)]
    assert engine.rows(FAULTS) == []
    assert engine.rows("select name, value from stats where name glob 'flow*' and value > 0") == []


def test_flows_lead_from_every_slice_to_the_one_that_begins_after_it(sources, engine):
    """Of two slices that begin at one ns the one that stands first in the file gives."""
    expected, given = Counter(), 0
    for source in sources:
        slices, edges = source.trace.slices, source.flows(None)
        rank = ranks(slices)
        given += len(edges.producer)
        for a, b in zip(edges.producer.tolist(), edges.consumer.tolist(), strict=True):
            first, second = ((floor_ns(source, int(slices.start[i])), int(rank[i])) for i in (a, b))
            if first < second:
                expected[source.trace.name(a), source.trace.name(b)] += 1
    assert 500 < expected.total() < given
    assert Counter(engine.rows(FLOWS)) == expected


def test_each_flow_has_an_id_of_its_own_that_ends_once(sources):
    begun, ended = Counter(), Counter()
    for packet in pb.Trace.FromString(written(sources)).packet:
        begun.update(packet.track_event.flow_ids)
        ended.update(packet.track_event.terminating_flow_ids)
    assert begun == ended
    assert set(begun.values()) == {1}
    assert sorted(begun) == list(range(1, len(begun) + 1))


def test_the_bytes_are_those_of_the_official_serializer(sources):
    data = written(sources)
    assert pb.Trace.FromString(data).SerializeToString() == data
    assert written(sources) == data
