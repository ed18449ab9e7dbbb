"""Which inferences warm up: the first ones after a load, whose times are not typical.

Caches, allocators and delegates settle in them. Figures per inference (costs of operators and
modules, medians, findings) leave them out unless the user includes them; statistics of slices keep
them. This module is the only place that decides which they are, and which inferences count.
"""

from __future__ import annotations

from viewer.model.times import counted
from viewer.model.trace import Run, RunKind, Trace

MOST = 3  # inferences that warm up after one load
_PART = 4  # at most one in so many warms up, so few inferences keep most of their figures


def warm_up_inferences(trace: Trace) -> frozenset[Run]:
    """Return the first min(3, n // 4) of each n inferences of a scope that follow a load.

    An inference that did not finish neither counts nor warms up. A view of the inferences of a
    trace (`viewer.model.inference_views`) has no loads: its runs state what the trace decided.
    """
    loads = 0
    stated = []
    groups: dict[tuple[int, int], list[Run]] = {}
    for run in trace.runs:
        if run.kind is RunKind.LOAD:
            loads += 1
        elif run.warms_up is not None:
            stated += [run] * run.warms_up
        elif run.finished:
            groups.setdefault((run.scope, loads), []).append(run)
    decided = (run for own in groups.values() for run in own[: min(MOST, len(own) // _PART)])
    return frozenset((*stated, *decided))


def counted_inferences(trace: Trace, *, warm_up: bool = True) -> list[Run]:
    """Return the inferences that figures over a whole trace cover: those that finished.

    warm_up: whether those that warm up count. If no inference finished, all are returned, because
    then there is nothing else to show.
    """
    finished = list(trace.finished_inferences())
    if not finished:
        return list(trace.inferences())
    warm = frozenset() if warm_up else warm_up_inferences(trace)
    return [run for run in finished if run not in warm]


def included_text(trace: Trace, *, warm_up: bool = False) -> str:
    """Return what figures per inference cover: "9 inferences, without 3 that warm up"."""
    left_out = 0 if warm_up else len(warm_up_inferences(trace))
    text = counted(len(list(trace.finished_inferences())) - left_out, "inference")
    if not left_out:
        return text
    return f"{text}, without {left_out} that {'warms' if left_out == 1 else 'warm'} up"
