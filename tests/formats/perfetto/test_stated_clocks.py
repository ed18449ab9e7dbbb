"""What the clock snapshots of a Perfetto trace say about system clocks, and of exports."""

from __future__ import annotations

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.builders.clocked_traces import clocked_trace, space_of
from tests.builders.workspaces import export
from viewer.formats import open_file
from viewer.model.trace import Clock, ClockZero

EPOCH = 1_700_000_000_000_000_000
REAL, STEADY, BOOT = 1, 3, 6


@pytest.fixture
def read(tmp_path):
    """Writes a trace of one slice with clock snapshots, and reads it."""

    def made(*snapshots: dict[int, int], primary: int = 0):
        trace = pb.Trace()
        for times in snapshots:
            packet = trace.packet.add(trusted_packet_sequence_id=1)
            packet.clock_snapshot.primary_trace_clock = primary
            for number, ns in times.items():
                packet.clock_snapshot.clocks.add(clock_id=number, timestamp=ns)
        for ns, kind in (
            (5000, pb.TrackEvent.TYPE_SLICE_BEGIN),
            (6000, pb.TrackEvent.TYPE_SLICE_END),
        ):
            event = trace.packet.add(timestamp=ns, trusted_packet_sequence_id=1).track_event
            event.type, event.track_uuid, event.name = kind, 1, "a"
        path = tmp_path / "a.pftrace"
        path.write_bytes(trace.SerializeToString())
        return open_file(str(path))

    return made


def zero(name: str, ns: int, source: str = "clock snapshot", error: int = 0) -> ClockZero:
    return ClockZero(name, ns, source, error)


def test_clocks_at_the_zero_of_the_trace(read):
    trace = read({REAL: EPOCH, STEADY: 700, BOOT: 1000, 64: 5})
    assert trace.clock.zeros == (
        zero("REALTIME", EPOCH - 1000), zero("MONOTONIC", -300), zero("BOOTTIME", 0),
    )  # fmt: skip
    assert trace.start == 5000


def test_the_clock_of_the_trace_may_be_another_one(read):
    trace = read({REAL: EPOCH, STEADY: 700, BOOT: 1000}, primary=STEADY)
    assert trace.clock.zeros == (
        zero("REALTIME", EPOCH - 700), zero("MONOTONIC", 0), zero("BOOTTIME", 300),
    )  # fmt: skip


def test_the_first_snapshot_counts_and_larger_differences_are_told(read):
    trace = read(
        {STEADY: 700, BOOT: 1000},
        {REAL: EPOCH, STEADY: 1_000_700, BOOT: 3_201_000},
        {REAL: EPOCH + 500_000, STEADY: 1_000_800, BOOT: 3_701_100},
    )
    differ = "first of the clock snapshots, which differ by 2.700 ms"
    assert trace.clock.zeros == (
        zero("REALTIME", EPOCH - 3_201_000), zero("MONOTONIC", -300, differ, 2_700_000),
        zero("BOOTTIME", 0),
    )  # fmt: skip


def test_without_snapshots_of_the_clock_of_the_trace_nothing_is_stated(read):
    assert read().clock.zeros == ()
    assert read({REAL: EPOCH, STEADY: 5}).clock.zeros == ()


@pytest.mark.parametrize("unit", ["ns", "us"])
def test_an_export_states_the_same_clocks_again(tmp_path, unit):
    zeros = (zero("REALTIME", EPOCH, "baseTimeNanoseconds"), zero("BOOTTIME", -(10**30)))
    made = Clock(unit, 1 if unit == "ns" else 1000, zeros=zeros)
    space = space_of([clocked_trace("a.json", made, (50, 70), (80, 90))])
    path = str(tmp_path / "out.pftrace")
    export(space, path)
    again = open_file(path)
    assert again.clock.zeros == zeros
    assert (again.start, again.end) == (50, 90)


def test_an_export_of_several_files_states_why_they_are_on_one_axis(tmp_path):
    traces = [clocked_trace(path, Clock(zeros=(zero("REALTIME", ns),)), (0, 5))
              for path, ns in (("a", EPOCH), ("b", EPOCH + 8))]  # fmt: skip
    space = space_of(traces)
    space.share_stated_clock()
    path = str(tmp_path / "out.pftrace")
    export(space, path)
    again = open_file(path)
    assert sorted(again.slices.start.tolist()) == [0, 8]
    facts = {n: again.provenance[f"source{n}.same_clock_shift_ns"] for n in (1, 2)}
    assert facts == {1: 0, 2: 8}
    reason = "both state the time of day: clock snapshot"
    assert again.provenance["source2.same_clock"] == reason
    assert again.clock.zeros == ()
