"""Speed of the Perfetto import beside the official parser and reading alone; -s shows the figures.

OPSCOPE_BENCH_IMPORT=10000000 makes the file larger.
"""

import random
import tracemalloc
from time import perf_counter

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.bench.test_bench_perfetto import generated
from tests.builders.bench_sizes import size
from tests.builders.cpu_times import in_turns
from viewer.codecs.protobuf.reader import PaddedBytes, padded
from viewer.export.perfetto.writer import PerfettoSource, export_perfetto
from viewer.formats import open_file
from viewer.formats.perfetto import trace_reader as perfetto_reading

pytestmark = pytest.mark.nightly

SLICES = size(200_000, 60_000, "OPSCOPE_BENCH_IMPORT")


def damaged(data: bytes, every: int) -> bytes:
    """The same with some bytes replaced, one in about `every`."""
    dice = random.Random(1)
    bad = bytearray(data)
    for _ in range(len(data) // every):
        bad[dice.randrange(2000, len(bad))] = dice.randrange(256)
    return bytes(bad)


@pytest.mark.parametrize("every", [1 << 20, 1 << 15])
def test_a_damaged_file_beside_a_sound_one(tmp_path, every):
    path, bad = tmp_path / "large.pftrace", tmp_path / "damaged.pftrace"
    export_perfetto([PerfettoSource.of(generated(SLICES, columns=True))], path)
    bad.write_bytes(damaged(path.read_bytes(), every))
    took = in_turns({"sound": lambda: open_file(str(path)), "bad": lambda: open_file(str(bad))})
    count = len(open_file(str(bad)).slices)
    print(f"\na byte of {every} damaged: {took['bad'] / took['sound']:.2f} times, {count} slices")
    assert count > 0.99 * SLICES


def with_official_protos(data: bytes, most: int) -> int:
    """Begins and ends paired by a stack, an object a packet; returns the slices."""
    begin, end, _ = PaddedBytes(padded(data)).records()
    found, stacks = [], {}
    for a, b in zip(begin.tolist(), end.tolist(), strict=True):
        packet = pb.TracePacket.FromString(data[a:b])
        event = packet.track_event
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            ticks = [one.int_value for one in event.debug_annotations]
            stacks.setdefault(event.track_uuid, []).append(
                (packet.timestamp, event.name_iid, ticks)
            )
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            found.append((*stacks[event.track_uuid].pop(), packet.timestamp))
            if len(found) >= most:
                break
    return len(found)


def test_columns_are_read_many_times_faster_than_objects(tmp_path):
    assert perfetto_reading  # the official protos are loaded before the clock runs
    for columns in (False, True):
        path = tmp_path / "large.pftrace"
        export_perfetto([PerfettoSource.of(generated(SLICES, columns=columns))], path)
        data = path.read_bytes()
        few = with_official_protos(data, 50_000)
        took = in_turns(
            {"official": lambda data=data: with_official_protos(data, 50_000),
             "ours": lambda path=path: open_file(str(path)),
             "floor": path.read_bytes}
        )  # fmt: skip
        began = perf_counter()
        open_file(str(path))
        wall = perf_counter() - began
        tracemalloc.start()
        count = len(open_file(str(path)).slices)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        official_speed, speed = few / took["official"], count / took["ours"]
        kind = "two columns" if columns else "no columns"
        print(
            f"\nperfetto import, {kind}: {speed / 1e6:.2f} M slices/s of processor time, "
            f"{count / wall / 1e6:.2f} M/s on the clock, "
            f"{len(data) / count:.1f} B/slice in the file, {peak / count:.0f} B/slice at most; "
            f"reading alone {count / max(took['floor'], 1e-9) / 1e6:.0f} M/s; "
            f"official protos {official_speed / 1e6:.2f} M/s, {speed / official_speed:.1f} times"
        )
        assert count == SLICES
        assert speed > 1.5 * official_speed
        assert peak / count < 500
