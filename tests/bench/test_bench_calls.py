"""What the call tree takes for 10 million slices with 100,000 distinct paths.

Prints only: `OPSCOPE_BENCH_SLICES=10000000 pytest tests/bench/test_bench_calls.py
--benchmark-enable -s`. Two floors: one sort by path of as many slices, and the least that a scope
needs, one sum over all durations by path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.builders import many_paths
from tests.builders.bench_sizes import rounds
from viewer.analysis.calls.call_tree import CallTree, bottom_up
from viewer.analysis.links.linker import unlinked
from viewer.model.figures import TimeScope

pytestmark = pytest.mark.nightly


def told(what: str, work: Callable[[], Any], times: int = 3) -> Any:
    """Print the least CPU and wall time of some calls; returns the last answer."""
    took = []
    for _ in range(rounds(times)):
        wall, cpu = time.perf_counter(), time.process_time()
        answer = work()
        took.append((time.process_time() - cpu, time.perf_counter() - wall))
    print(f"\n{what}: {min(took)[0]:.3f} s of CPU, {min(took)[1]:.3f} s", end="")
    return answer


def test_call_tree_of_a_large_trace():
    trace = many_paths.trace()
    links, slices = unlinked(trace), trace.slices
    made = [CallTree(links) for _ in range(rounds(3))]
    tree = made[0]
    table = told("the first table", lambda: made.pop().table())
    print(f"\n{len(slices)} slices, {len(table)} paths", end="")
    tree.table()
    told("another scope: the whole trace", tree.table)
    span = TimeScope(ticks=(trace.start + 1000, trace.end - 1000))
    part = told("another scope: a range", lambda: tree.table(span))
    told("sorted by total", lambda: table.sorted_by(table.total))
    inverted = told("bottom-up", lambda: bottom_up(table))
    print(f"\n{len(inverted)} nodes bottom-up", end="")
    path = np.random.default_rng(1).integers(0, len(table), len(slices))
    sums = np.zeros(len(table), np.int64)
    told("floor: np.unique of a path per slice", lambda: np.unique(path, return_inverse=True))
    told("floor: a sum by path", lambda: np.add.at(sums, path, slices.end - slices.start))
    print()
    assert table.count.sum() == len(slices)
    assert part.count.sum() <= len(slices)
    outermost = slices.row_depth[slices.rows()] == 0
    whole = int((slices.end - slices.start)[outermost].sum())
    assert int(table.total[table.depth == 0].sum()) == whole
    assert int(inverted.self_ticks[inverted.depth == 0].sum()) == whole
