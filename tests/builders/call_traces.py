"""Hand-made traces for call trees, and their figures counted slice by slice."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.queries import foreign, parent_of
from viewer.model.trace import Clock, Column, KeyKind, Trace

# (thread, name, start, end)
Spec = tuple[str, str, int, int]


def trace_of(*slices: Spec, process: str = "p", native: Sequence[int] = ()) -> Trace:
    """A trace of one process, nested by time. native: those that a clock of their own timed."""
    builder = TraceBuilder("calls", "test", "", Clock())
    columns = {}
    for number, (thread, name, start, end) in enumerate(slices):
        if native:
            columns = {"native_dur": Column(np.array([end - start]), np.array([number in native]))}
        builder.add(
            track=builder.track(process, thread), start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name), columns=columns,
        )  # fmt: skip
    return builder.build()


Paths = dict[tuple[str, ...], tuple[int, int, int]]


def counted_one_by_one(trace: Trace, first: int | None = None, last: int | None = None) -> Paths:
    """Total, self time and count by path, of a trace of stated slices."""
    slices, native = trace.slices, set(foreign(trace.slices).tolist())
    total, own, count = Counter[tuple[str, ...]](), Counter[tuple[str, ...]](), Counter()
    for i in range(len(slices)):
        if i in native:
            continue
        track = trace.tracks[slices.track(i)]
        path, at = (trace.name(i),), parent_of(slices, i)
        while at >= 0:
            path = path if at in native else (trace.name(at), *path)
            at = parent_of(slices, at)
        path = (track.process, track.thread, *path)
        start, end = int(slices.start[i]), int(slices.end[i])
        lo = start if first is None else min(max(start, first), last)
        hi = end if last is None else max(min(end, last), first)
        total[path] += hi - lo
        own[path] += hi - lo
        own[path[:-1]] -= hi - lo
        closed = last is not None and (last >= trace.end or first == last)
        ends = last is not None and (start < last or (closed and start == last))
        count[path] += first is None or (first <= start and ends)
    return {
        path: (total[path], own[path], count[path])
        for path in total
        if total[path] or count[path] or any(count[p] for p in count if p[: len(path)] == path)
    }
