"""Logged dumps in the official Inspector of ExecuTorch, with the record of a delegate.

Needs torch and executorch (the `peers` extra); elsewhere it is skipped.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.dumps import Clock, Logged, events_of
from tests.paths import DATA
from viewer.record import EventTracer

# Importing torch warns of much that is not ours.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]

RECORDS = DATA / "etrecord"
NO_PEERS = "the extra `peers` is not installed"
CONV_RELU = ["aten.convolution.default", "aten.relu.default"]
TAN = ["aten.tan.default"]


@pytest.fixture(scope="module")
def devtools():
    return pytest.importorskip("executorch.devtools", reason=NO_PEERS)


def log_runs(path: Path, identifiers: list[int | str], runs: int = 2) -> None:
    """Each run: the delegate's call, in it each identifier for 10 µs, numbered by its metadata."""
    with EventTracer(path, clock=Clock(), unit="us") as tracer:
        for _ in range(runs):
            with (
                tracer.create_event_block("Execute"),
                tracer.start_profiling("Method::execute"),
                tracer.start_profiling("DELEGATE_CALL", 0, 0),
            ):
                for number, identifier in enumerate(identifiers):
                    with tracer.start_profiling_delegate(delegate_debug_id=identifier) as entry:
                        entry.metadata = json.dumps({"number": number})


@pytest.mark.parametrize(
    ("record", "identifiers"),
    [
        ("demo_str", ["Fancy Fusion", "Fancy Fusion 2", "sin:0;a=b", "not registered"]),
        ("demo_generated_int", [0, 1, 2, 7]),
    ],
)
def test_the_inspector_links_what_was_logged(devtools, tmp_path, record, identifiers):
    path = tmp_path / "run.etdp"
    log_runs(path, identifiers)
    inspector = devtools.Inspector(
        etdump_path=str(path), etrecord=str(RECORDS / f"{record}.etrecord")
    )
    (block,) = inspector.event_blocks
    assert block.name == "Execute"
    logged, (call, execute) = block.events[:-2], block.events[-2:]
    assert [event.delegate_debug_identifier for event in logged] == identifiers
    assert [event.op_types for event in logged] == [CONV_RELU, CONV_RELU, TAN, []]
    assert [event.debug_handles for event in logged] == [[1, 2], [3, 4], [5], None]
    assert all(event.is_delegated_op for event in logged)
    for number, event in enumerate(logged):
        assert event.perf_data.raw == pytest.approx([0.01, 0.01])  # ms, of both runs
        assert event.delegate_debug_metadatas == [b'{"number": %d}' % number] * 2
    assert (call.name, call.op_types) == ("DELEGATE_CALL", [*CONV_RELU, *CONV_RELU, *TAN])
    assert call.perf_data.raw == pytest.approx([0.09, 0.09])
    assert (execute.name, execute.perf_data.raw) == (
        "Method::execute",
        pytest.approx([0.11, 0.11]),
    )


def test_its_schema_reads_every_field(tmp_path):
    """Through flatc, which takes a file apart by the schema alone."""
    serialize = pytest.importorskip("executorch.devtools.etdump.serialize", reason=NO_PEERS)
    path = tmp_path / "run.etdp"
    with EventTracer(path, clock=Clock()) as tracer:
        allocators = [tracer.track_allocator(name) for name in ("method", "temporär")]
        for run in range(3):
            tracer.create_event_block(f"run {run}")
            for allocator in allocators[:run]:
                tracer.track_allocation(allocator, 2**40 + run)
            with tracer.start_profiling('日本 "x"', 2, 2**31 - 1):
                tracer.log_profiling_delegate(None, -(2**31), 0, 2**63 - 1, bytes(range(256)))
                tracer.log_profiling_delegate("a\n\U0001f600", None, 5, 5)
    dump = serialize.deserialize_from_etdump_flatcc(path.read_bytes(), size_prefixed=True)
    found = []
    for run in dump.run_data:
        for event in run.events:
            if event.allocation_event is not None:
                own = event.allocation_event
                name = run.allocators[own.allocator_id - 1].name
                found.append(Logged(run.name, name, size=own.allocation_size))
                continue
            own = event.profile_event
            number = own.delegate_debug_id_int
            what = own.name or own.delegate_debug_id_str or number
            assert (number == -1) is (what != number)
            found.append(
                Logged(
                    run.name, what, own.start_time, own.end_time, own.chain_index,
                    own.instruction_id, bytes(own.delegate_debug_metadata or b""),
                )
            )  # fmt: skip
    assert found == events_of(path)
    assert len(found) == 3 * 3 + (0 + 1 + 2)
