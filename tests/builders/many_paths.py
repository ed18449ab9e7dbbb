"""The trace of the benches about call trees: 192 threads, nested 8 deep; each name calls one of
two others, so there are at most 510 paths a thread. OPSCOPE_BENCH_SLICES sets the size.
"""

from functools import cache

import numpy as np

from tests.builders import many_slices
from tests.builders.many_slices import SLICES
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace


@cache
def trace() -> Trace:
    made = many_slices.columns(SLICES)
    builder = TraceBuilder("/bench/calls.csv", "Profile CSV", "", Clock("ns"))
    for process, thread in many_slices.track_names():
        builder.track(process, thread)
    names = [f"model.blocks.{i // 2}.part{i % 2}" for i in range(2 * many_slices.DEPTH)]
    keys = np.array([builder.key(KeyKind.PLAIN, name) for name in names], np.uint32)
    side = np.random.default_rng(3).integers(0, 2, len(made.start))
    name = 2 * made.depth.astype(np.int64) + side
    builder.add(
        track=made.track, start=made.start, end=made.end,
        name=builder.intern_all(names)[name], key=keys[name],
    )  # fmt: skip
    return builder.build()
