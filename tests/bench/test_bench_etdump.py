"""How long dumps take: 50 000 timed events, 100 000 distinct ones, 200 000 debug events; a copy.

Also 1,000 small ones. Prints only:
`pytest tests/bench/test_bench_etdump.py --benchmark-enable -s`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.builders.bench_sizes import size
from tests.builders.cpu_times import in_turns
from tests.builders.etdump_writer import F32, Run, Tensor, framework, operator, write_dump
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats import open_file
from viewer.formats.executorch.etdump import reader as etdump

pytestmark = pytest.mark.nightly

RUNS, OPERATORS = size(100, 4), 250  # two events per operator and one around all: 50 100
WIDE = 50_000  # operators of one run, no two events alike: 100 001


def inference(number: int, operators: int) -> Run:
    origin = 1000 * operators * number
    events = []
    for i in range(operators):
        at = origin + 1000 * i
        events.append(operator(f"native_call_op_{i % 12}.out", i, at + 50, at + 800))
        events.append(operator("OPERATOR_CALL", i, at, at + 900))
    return Run(
        "Execute", [*events, framework("Method::execute", origin, origin + 1000 * operators)]
    )


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "dump.etdp"
    return write_dump(path, [inference(number, OPERATORS) for number in range(RUNS)])


def test_read_a_dump(benchmark, dump):
    trace = benchmark(etdump.FORMAT.read, str(dump), no_progress, never_cancelled)
    assert len(trace.slices) == RUNS * (2 * OPERATORS + 1)
    assert trace.problems == ()


def test_read_a_dump_of_events_that_are_all_different(benchmark, tmp_path):
    count = WIDE if benchmark.enabled else 100
    path = write_dump(tmp_path / "wide.etdp", [inference(0, count)])
    trace = benchmark(etdump.FORMAT.read, str(path), no_progress, never_cancelled)
    assert len(trace.keys) == len(trace.slices) == 2 * count + 1


DEBUG_RUNS, DEBUG_OPERATORS, OUTPUTS = size(50, 2), 1000, 4


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


def test_read_a_thousand_small_dumps(tmp_path):
    """Nearly all of their time goes into calls of numpy, and hardly any into events."""
    paths = [
        write_dump(tmp_path / f"{i}.etdp", [inference(run, 4 + i % 12) for run in range(4)])
        for i in range(size(1000, 20))
    ]
    took = in_turns(
        {
            "ours": lambda: [open_file(str(path)) for path in paths],
            "floor": lambda: [path.read_bytes() for path in paths],
        }
    )
    each = {name: 1000 * seconds / len(paths) for name, seconds in took.items()}
    print(
        f"\nsmall dumps: {each['ours']:.2f} ms of processor time each; "
        f"reading their bytes alone {each['floor']:.3f} ms"
    )
    assert each["ours"] > each["floor"]
