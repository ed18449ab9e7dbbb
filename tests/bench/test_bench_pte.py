"""How long program files take: one with 100 MB of weights, and one of 20,000 instructions.

Prints only: `pytest tests/bench/test_bench_pte.py --benchmark-enable -s`. The floor copies the
weights once, which the reader never does; the peer is ExecuTorch's own parser, where installed.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from tests.builders.bench_sizes import rounds, size
from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program, xnnpack_graph
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.pte import reader as pte
from viewer.program.executables import Executable

pytestmark = pytest.mark.nightly

WEIGHTS = size(100_000_000, 1_000_000)  # bytes
INSTRUCTIONS = size(20_000, 500)


def read(path: Path) -> Executable:
    return pte.FORMAT.read(str(path), no_progress, never_cancelled)


def print_peak(path: Path) -> None:
    """The most memory that reading takes, beside the mapped file."""
    tracemalloc.start()
    read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n{path.stat().st_size / 1e6:.1f} MB on disk, {peak / 1e6:.1f} MB at most in memory")


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose delegate has its nodes before 100 MB of weights."""
    method = Method(
        instructions=[(DELEGATE, 0, [0])],
        tensors=[(6, [1, 64], (1, 0, 0))],
        delegates=[("XnnpackBackend", True, 0)],
    )
    prepared = xnnpack_graph([(7, i) for i in range(50)]) + bytes(WEIGHTS)
    return write_program(
        tmp_path_factory.mktemp("bench") / "heavy.pte", method, segments=[prepared]
    )


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of many instructions and tensors, and 200 XNNPACK delegates of 50 nodes."""
    method = Method(
        instructions=[(KERNEL, i % 40, [i, i + 1, i + 1]) for i in range(INSTRUCTIONS)],
        operators=[(f"aten::operator_{i}", "out") for i in range(40)],
        tensors=[(6, [1, 64, i % 100 + 1], (1, 64 * i, 0)) for i in range(INSTRUCTIONS + 1)],
        delegates=[("XnnpackBackend", True, i) for i in range(200)],
        memories=[0, 1 << 30],
    )
    graphs = [xnnpack_graph([(7, 50 * i + n) for n in range(50)]) for i in range(200)]
    return write_program(tmp_path_factory.mktemp("bench") / "long.pte", method, segments=graphs)


def test_read_a_program_with_100_mb_of_weights(benchmark, heavy):
    found = benchmark.pedantic(read, (heavy,), rounds=rounds(20))
    assert found.problems == ()
    assert len(found.methods[0].delegates[0].nodes) == 50
    print_peak(heavy)


def test_floor_copy_the_weights(benchmark, heavy):
    assert len(benchmark.pedantic(heavy.read_bytes, rounds=rounds(5))) > WEIGHTS


def test_read_20_000_instructions_and_200_delegates(benchmark, long):
    found = benchmark.pedantic(read, (long,), rounds=rounds(10))
    assert found.problems == ()
    assert len(found.methods[0].instructions) == INSTRUCTIONS
    assert sum(len(delegate.nodes) for delegate in found.methods[0].delegates) == 10_000
    print_peak(long)


@pytest.mark.filterwarnings("ignore")  # importing torch warns of many things
def test_the_peer_reads_20_000_instructions(benchmark, long):
    peer = pytest.importorskip(
        "executorch.exir._serialize._program", reason="the peers extra is not installed"
    )
    data = long.read_bytes()
    found = benchmark.pedantic(peer.deserialize_pte_binary, (data,), rounds=1)
    plan = getattr(found, "program", found).execution_plan[0]
    assert len(plan.chains[0].instructions) == INSTRUCTIONS
