"""What the tables of the Python API take: time and memory of the slices of large traces.

Prints: `OPSCOPE_BENCH_SLICES=10000000 pytest tests/bench/test_bench_api.py --benchmark-enable -s`.
Memory is asserted, at most 10 bytes per slice more than the trace itself.
"""

import os
import time
import tracemalloc

import numpy as np
import pytest

from tests.builders import many_slices
from tests.builders.bench_sizes import size
from viewer.api.profile import Profile
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

COUNT = size(1_000_000, 100_000, "OPSCOPE_BENCH_SLICES")
PER_SLICE = 10  # bytes
FIXED = 4_000_000  # names, identities and modules that are imported


def with_inferences(count: int):
    """Inferences of 1,000 operators on one thread, each with an identity of its own."""
    builder = TraceBuilder("/bench/inferences.etdp", "ETDump", "", Clock("ns"))
    track = builder.track("inferences.etdp", "forward")
    scope = builder.scope("Execute")
    operators = 1000
    keys = np.array(
        [
            builder.key(KeyKind.OPERATOR_CALL, f"OPERATOR_CALL {i}", scope=scope, instruction=i)
            for i in range(operators)
        ],
        np.uint32,
    )
    name = builder.intern_all([f"OPERATOR_CALL {i}" for i in range(operators)])
    inferences = max(count // operators, 1)
    which = np.tile(np.arange(operators), inferences)
    start = np.arange(len(which)) * 100
    builder.add(
        track=np.full(len(which), track, np.uint32), start=start, end=start + 90,
        name=name[which], key=keys[which],
    )  # fmt: skip
    for i in range(inferences):
        first = i * operators * 100
        builder.run(RunKind.INFERENCE, "Execute", track, scope, first, first + operators * 100 - 10)
    return builder.build()


def rss() -> int:
    """The memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    "make", [many_slices.trace, with_inferences], ids=["threads", "inferences"]
)
def test_the_slices_of_a_large_trace_are_views(make):
    import pandas as pd  # noqa: F401  its own memory does not count

    import viewer.api.frames

    assert viewer.api.frames
    workspace = Workspace()
    workspace.add(make(COUNT))
    profile = Profile(workspace)
    (one,) = profile._snapshot.traces
    count = len(one.trace.slices)
    before = rss()
    tracemalloc.start()
    began = time.perf_counter()
    slices = profile.slices
    took = time.perf_counter() - began
    added, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown = rss() - before
    print(
        f"\n{count:,} slices, {len(slices.columns)} columns: {took:.3f} s, "
        f"{added / 1e6:.1f} MB added, {peak / 1e6:.1f} MB at most, resident {grown / 1e6:+.1f} MB"
    )
    assert added <= PER_SLICE * count + FIXED
    assert np.shares_memory(slices["start_ns"].to_numpy(), one.trace.slices.start)
    for name, work in {
        "by thread": lambda: slices.groupby("thread", observed=True)["dur_ns"].sum(),
        "by name": lambda: slices.groupby("name", observed=True)["dur_ns"].sum(),
        "by operators": lambda: slices.groupby("operators", observed=True)["dur_ns"].sum(),
        "longest 100": lambda: slices.nlargest(100, "dur_ns"),
        "head": lambda: str(slices.head()),
        "to Arrow": lambda: profile.to_arrow("slices"),
    }.items():
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
        print(f"  {name}: {took:.3f} s, resident {(rss() - before) / 1e6:+.1f} MB")
