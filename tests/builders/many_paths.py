"""The trace of the benches about call trees: 192 threads, nested 8 deep; each name calls one of
two others, so there are at most 510 paths a thread. OPSCOPE_BENCH_SLICES sets the size.
"""

from functools import cache

import numpy as np

from tests.builders import many_slices
from tests.builders.many_slices import SLICES
from viewer.arrays import Ints
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Trace


@cache
def trace(path: str = "/bench/calls.csv", factor: float = 1, *, apart: bool = False) -> Trace:
    """Return the trace.

    factor: how much longer everything takes than by default. apart: whether the outermost calls of
    every thread have a name of their own, so that no two threads have a path in common.
    """
    made = many_slices.columns(SLICES)
    builder = TraceBuilder(path, "Profile CSV", "", Clock("ns"))
    for process, thread in many_slices.track_names():
        builder.track(process, thread)
    tracks = many_slices.track_names() if apart else ()
    names = [f"model.blocks.{i // 2}.part{i % 2}" for i in range(2 * many_slices.DEPTH)]
    names += [f"{process} {thread}" for process, thread in tracks]
    keys = np.array([builder.key(KeyKind.PLAIN, name) for name in names], np.uint32)
    side = np.random.default_rng(3).integers(0, 2, len(made.start))
    name = 2 * made.depth.astype(np.int64) + side
    if apart:
        name = np.where(made.depth == 0, 2 * many_slices.DEPTH + made.track, name)
    builder.add(
        track=made.track, start=_scaled(made.start, factor), end=_scaled(made.end, factor),
        name=builder.intern_all(names)[name], key=keys[name],
    )  # fmt: skip
    return builder.build()


def _scaled(ticks: Ints, factor: float) -> Ints:
    return ticks if factor == 1 else (ticks * factor).astype(np.int64)
