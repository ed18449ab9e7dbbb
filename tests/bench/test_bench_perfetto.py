"""Speed of the Perfetto export beside the official protos, and of tables; -s shows the figures."""

import time

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.export.perfetto_trace import PerfettoSource, write_perfetto
from viewer.export.tables import write_table
from viewer.model.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, Trace

SLICES = 1_000_000
TRACKS = 16


class Counted:
    """A stream that only counts."""

    size = 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        return len(data)


def generated(slices: int, *, columns: bool = False) -> Trace:
    """Groups of five slices, two levels deep, on 16 tracks."""
    random = np.random.default_rng(7)
    builder = TraceBuilder("generated.csv", "test", "1", Clock())
    names = builder.intern_all([f"op {i}" for i in range(500)])
    keys = np.array([builder.key(KeyKind.KERNEL, f"op {i}") for i in range(500)], np.uint32)
    for number in range(TRACKS):
        groups = slices // TRACKS // 5
        first = np.cumsum(random.integers(600, 4000, groups)) * 10
        code = random.integers(0, 500, groups * 5)
        builder.add(
            track=builder.track(f"process {number % 3}", f"thread {number}"),
            start=np.concatenate([first + d for d in (0, 100, 1000, 1100, 3000)]),
            end=np.concatenate([first + d for d in (5000, 900, 2000, 1500, 4000)]),
            name=names[code],
            key=keys[code],
            columns={
                "bytes": Column(code * 1000),
                "unit": Column.of_codes(code % 3, ("dma", "mtu", "css")),
            }
            if columns
            else None,
        )  # fmt: skip
    return builder.build()


def with_official_protos(trace: Trace) -> int:
    """The same begins and ends, an object at a time; returns the bytes."""
    size = 0
    packet = pb.TracePacket(trusted_packet_sequence_id=1, sequence_flags=2)
    event = packet.track_event
    for start, end, name in zip(
        trace.slices.start.tolist(), trace.slices.end.tolist(), trace.slices.name.tolist(),
        strict=True,
    ):  # fmt: skip
        for kind, ticks in ((pb.TrackEvent.TYPE_SLICE_BEGIN, start), (2, end)):
            packet.timestamp = ticks
            event.Clear()
            event.type = kind
            event.track_uuid = 3
            if kind == pb.TrackEvent.TYPE_SLICE_BEGIN:
                event.name_iid = name + 1
                event.debug_annotations.add(name_iid=1, int_value=start)
                event.debug_annotations.add(name_iid=2, int_value=end - start)
            size += len(packet.SerializeToString())
    return size


def seconds(function, *arguments) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def test_columns_are_encoded_many_times_faster_than_objects():
    few = generated(20_000)
    official = len(few.slices) / seconds(with_official_protos, few)
    speed = {}
    for columns in (False, True):
        trace = generated(SLICES, columns=columns)
        out = Counted()
        took = seconds(write_perfetto, [PerfettoSource.of(trace)], out)
        speed[columns] = len(trace.slices) / took
        kind = "two columns" if columns else "no columns"
        print(
            f"\nperfetto export, {kind}: {speed[columns] / 1e6:.2f} M slices/s, "
            f"{out.size / len(trace.slices):.1f} B/slice"
        )
    print(f"official protos: {official / 1e6:.2f} M slices/s; {speed[False] / official:.1f} times")
    assert speed[False] > 3 * official
    assert speed[False] > 0.5e6


def test_a_million_rows_of_a_table_take_seconds(tmp_path):
    rows = 1_000_000
    texts = [f"op {i % 500}" for i in range(rows)]
    columns = [texts, integers(rows), np.arange(rows) / 7, integers(rows)]
    took = seconds(write_table, tmp_path / "a.csv", list("abcd"), columns)
    print(f"\ntable: {rows / took / 1e6:.2f} M rows/s of four columns")
    assert took < 10


def integers(rows: int) -> np.ndarray:
    return np.arange(rows, dtype=np.int64) * 1_000
