"""Arms of hand-made traces of nested slices, for comparisons by call path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from viewer.analysis.comparison.arms import Arm
from viewer.model.building.builder import TraceBuilder
from viewer.model.timing import Timing
from viewer.model.trace import Clock, KeyKind, RunKind, Trace
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace

# Calls inside calls: a name and what is in it, or its ns. "self" comes last.
Calls = Mapping[str, "Calls | int"]


def arm_of_traces(*traces: Trace) -> Arm:
    """The arm of some traces."""
    workspace = Workspace()
    for trace in traces:
        workspace.add(trace)
    return arm_of(workspace)


def nested(
    path: str,
    *threads: Calls,
    scale: float = 1.0,
    estimated: str = "",
) -> Trace:
    """A trace without inferences: the calls of every thread, with all times multiplied by `scale`.

    estimated: the name of the slices whose times are only estimated.
    """
    builder = TraceBuilder(path, "test", "", Clock())
    for number, calls in enumerate(threads):
        track = builder.track("p", f"{path} {number}")
        for name, start, end in _slices(calls, 0, scale):
            timing = Timing.ESTIMATED if name == estimated else Timing.MEASURED
            _add_slice(builder, track, name, start, end, timing)
    return builder.build()


def _slices(calls: Calls, start: int, scale: float) -> list[tuple[str, int, int]]:
    """Calls one after another from a tick on, each before those in it.

    "self" is time of the call around, and no slice.
    """
    found: list[tuple[str, int, int]] = []
    for name, inside in calls.items():
        if isinstance(inside, int):
            end, below = start + round(inside * scale), []
        else:
            below = _slices(inside, start, scale)
            rest = inside.get("self", 0)
            assert isinstance(rest, int)
            end = max(end for _, _, end in below) + round(rest * scale)
        if name != "self":
            found += [(name, start, end), *below]
        start = end
    return found


def _add_slice(
    builder: TraceBuilder, track: int, name: str, start: int, end: int,
    timing: Timing = Timing.MEASURED,
) -> None:  # fmt: skip
    builder.add(
        track=track, start=np.array([start]), end=np.array([end]),
        name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        timing=np.array([timing], np.uint8),
    )  # fmt: skip


def steps(path: str, times: Sequence[int], rest: int = 10) -> Trace:
    """A trace of steps in one call of "main": each is an inference with "work" of some ns.

    Every step is a slice with its number, and has `rest` ns before its work.
    """
    builder = TraceBuilder(path, "test", "", Clock())
    track, scope = builder.track("p", "t"), builder.scope("steps")
    starts = np.cumsum([100, *(rest + ns for ns in times)]).tolist()
    _add_slice(builder, track, "main", 0, starts[-1] + 100)
    for number, (start, end) in enumerate(pairwise(starts), 2):
        _add_slice(builder, track, f"step#{number}", start, end)
        _add_slice(builder, track, "work", start + rest, end)
        builder.run(
            RunKind.INFERENCE, f"step#{number}", track, scope, start, end, number=number,
            all_tracks=True,
        )  # fmt: skip
    return builder.build()
