"""Which inferences warm up: the first ones after a load, whose times are not typical.

Caches, allocators and delegates settle in them. Figures per inference (a median over inferences)
leave them out and say so; sums over all slices keep them. This module is the only place that
decides which they are.
"""

from __future__ import annotations

from viewer.model.times import counted
from viewer.model.trace import Run, RunKind, Trace

MOST = 3  # inferences that warm up after one load
_PART = 4  # at most one in so many warms up, so few inferences keep most of their figures


def warm_up_inferences(trace: Trace) -> frozenset[Run]:
    """Return the first min(3, n // 4) of each n inferences of a scope that follow a load.

    An inference that did not finish neither counts nor warms up.
    """
    loads = 0
    groups: dict[tuple[int, int], list[Run]] = {}
    for run in trace.runs:
        if run.kind is RunKind.LOAD:
            loads += 1
        elif run.finished:
            groups.setdefault((run.scope, loads), []).append(run)
    return frozenset(run for own in groups.values() for run in own[: min(MOST, len(own) // _PART)])


def steady_inferences(trace: Trace) -> list[Run]:
    """Return what figures per inference cover: what finished, without the warm-up."""
    warm = warm_up_inferences(trace)
    return [run for run in trace.finished_inferences() if run not in warm]


def included_text(trace: Trace) -> str:
    """Return what figures per inference cover: "9 inferences, without 3 that warm up"."""
    left_out = len(warm_up_inferences(trace))
    text = counted(len(steady_inferences(trace)), "inference")
    if not left_out:
        return text
    return f"{text}, without {left_out} that {'warms' if left_out == 1 else 'warm'} up"
