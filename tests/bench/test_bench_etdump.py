"""How long dumps of 50 000 timed and of 200 000 debug events take, next to copying their bytes.

Prints only: `pytest tests/bench/test_bench_etdump.py --benchmark-enable -s`.
"""

from __future__ import annotations

from pathlib import Path

import flatbuffers
import numpy as np
import pytest

from tests.formats.etdump_writer import F32, Run, Tensor, write_dump
from viewer.formats import etdump, never_cancelled, no_progress

RUNS, OPERATORS = 100, 250  # two events per operator: 50 000


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    b = flatbuffers.Builder(1 << 23)

    def vector(offsets: list[int]) -> int:
        b.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            b.PrependUOffsetTRelative(offset)
        return b.EndVector()

    def event(name: str, chain: int, instruction: int, start: int, end: int) -> int:
        text = b.CreateString(name)  # one string per event, as the runtime writes them
        b.StartObject(8)
        b.PrependUOffsetTRelativeSlot(0, text, 0)
        b.PrependInt32Slot(1, chain, 0)
        b.PrependInt32Slot(2, instruction, -1)
        b.PrependUint64Slot(6, start, 0)
        b.PrependUint64Slot(7, end, 0)
        profile = b.EndObject()
        b.StartObject(3)
        b.PrependUOffsetTRelativeSlot(0, profile, 0)
        return b.EndObject()

    def run(number: int) -> int:
        origin = 1_000_000 * number
        events = []
        for i in range(OPERATORS):
            at = origin + 1000 * i + 10
            events.append(event(f"native_call_op_{i % 12}.out", 0, i, at + 50, at + 800))
            events.append(event("OPERATOR_CALL", 0, i, at, at + 900))
        events.append(event("Method::execute", -1, 0, origin, origin + 1000 * OPERATORS))
        listed, name = vector(events), b.CreateString("Execute")
        b.StartObject(4)
        b.PrependUOffsetTRelativeSlot(0, name, 0)
        b.PrependUOffsetTRelativeSlot(3, listed, 0)
        return b.EndObject()

    runs = vector([run(number) for number in range(RUNS)])
    b.StartObject(2)
    b.PrependUOffsetTRelativeSlot(1, runs, 0)
    b.FinishSizePrefixed(b.EndObject(), b"ED00")
    path = tmp_path_factory.mktemp("bench") / "dump.etdp"
    path.write_bytes(bytes(b.Output()))
    return path


def test_read_a_dump(benchmark, dump):
    trace = benchmark(etdump.FORMAT.read, str(dump), no_progress, never_cancelled)
    assert len(trace.slices) == RUNS * (2 * OPERATORS + 1)
    assert trace.problems == ()


DEBUG_RUNS, DEBUG_OPERATORS, OUTPUTS = 50, 1000, 4


@pytest.fixture(scope="module")
def debug_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 000 debug events with a tensor each, before 50 000 calls."""

    def run(number: int) -> Run:
        events = []
        for i in range(DEBUG_OPERATORS):
            at = 10_000_000 * number + 1000 * i
            for output in range(OUTPUTS):
                shape = (1, 8 << i % 3, 16, 16 >> output)
                events.append({"debug": Tensor(F32, shape, 32 * i), "instruction": i})
            call = {"name": "OPERATOR_CALL", "instruction": i, "start": at, "end": at + 900}
            events.append(call)
        return Run("Execute", events)

    path = tmp_path_factory.mktemp("bench") / "debug.etdp"
    return write_dump(path, [run(number) for number in range(DEBUG_RUNS)])


def test_read_a_dump_of_debug_events(benchmark, debug_dump):
    trace = benchmark(etdump.FORMAT.read, str(debug_dump), no_progress, never_cancelled)
    assert len(trace.untimed) == DEBUG_RUNS * DEBUG_OPERATORS * OUTPUTS
    assert (trace.untimed.call >= 0).all()
    assert len(trace.untimed.tensors) == 12
    assert trace.problems == ()


def test_floor_copy_its_bytes(benchmark, dump):
    data = benchmark(lambda: np.frombuffer(dump.read_bytes(), np.uint8).copy())
    assert len(data) == dump.stat().st_size
