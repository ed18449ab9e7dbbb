"""Small traces on clocks of the test's choice, without files."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.view.clock_groups import ClockGroups, clock_groups
from viewer.view.open_trace import OpenTrace, views_of
from viewer.workspace.workspace import Workspace

NS = Clock()
HOST = Clock("us", Fraction(1000), domain="torq host")
CYCLES = Clock("cycle", Fraction(5, 4), assumed=True)


def clocked_trace(path: str, clock: Clock, *slices: tuple[int, int]) -> Trace:
    """A trace of one track "p/t" from (start, end) in ticks."""
    builder = TraceBuilder(path, "test", "1", clock)
    times = np.array(slices, np.int64).reshape(-1, 2)
    builder.add(
        track=builder.track("p", "t"), start=times[:, 0], end=times[:, 1],
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


def profile(path: str, tracks: int, length: int, clock: Clock = NS, names: str = "abcde") -> Trace:
    """A trace of some tracks "t0", "t1"..., each with five slices of equal length.

    length: from the first start to the last end, in ticks.
    """
    builder = TraceBuilder(path, "test", "1", clock)
    times = np.arange(6, dtype=np.int64) * (length // 5)
    for number in range(tracks):
        track = builder.track("p", f"t{number}")
        for start, end, name in zip(times[:-1], times[1:], names, strict=True):
            builder.add(
                track=track, start=np.array([start]), end=np.array([end]),
                name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
            )  # fmt: skip
    return builder.build()


def space_of(traces: Sequence[Trace]) -> Workspace:
    """A workspace of some traces."""
    space = Workspace()
    for trace in traces:
        space.add(trace)
    return space


def shown_traces(*traces: Trace) -> list[OpenTrace]:
    """The window's data on some traces, opened in this order."""
    space = space_of(traces)
    views = views_of(space, {Inferences.AS_RUN}, {})
    return [views[trace, Inferences.AS_RUN] for trace in space.traces]


def groups_of(*traces: Trace) -> tuple[ClockGroups, list[OpenTrace]]:
    """The clock groups of some traces, opened in this order, and the window's data on them."""
    shown = shown_traces(*traces)
    return clock_groups(shown), shown
