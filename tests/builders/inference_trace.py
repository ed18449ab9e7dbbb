"""A trace of inferences in ns, each of the same operators one after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind, Trace


def inference_trace(
    path: str,
    runs: Sequence[tuple[int, Sequence[tuple[str, int]]]],
    *,
    domain: str = "",
    load: int = 0,
    method: str = "forward",
) -> Trace:
    """Return a trace of runs given as start and operators (name, ns); load: ns of a load at 0.

    Each operator starts where the one before it ends. Without operators, an inference takes 1 ns.
    """
    builder = TraceBuilder(path, "test", "", Clock(domain=domain))
    track, scope = builder.track("p", "t"), builder.scope(method)

    def add(name: str, start: int, end: int) -> None:
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip

    if load:
        add("init", 0, load)
        builder.run(RunKind.LOAD, method, track, scope, 0, load)
    for start, operators in runs:
        at = start
        for name, length in operators:
            add(name, at, at + length)
            at += length
        builder.run(RunKind.INFERENCE, method, track, scope, start, max(at, start + 1))
    return builder.build()
