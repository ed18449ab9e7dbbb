"""The functions of a Python profile as operators: viztracer names slices "leaf (sums.py:5)"."""

from __future__ import annotations

import numpy as np

from viewer.analysis.recorded.frames import frame_of
from viewer.analysis.recorded.recorded_call import RecordedCall
from viewer.model.trace import Trace
from viewer.program.program import GraphNode

CALLS = "calls"
# A trace of another kind may have a name that looks like a function by chance.
_LEAST_SHARE = 0.5
# Linking takes 5 µs per name, and no program has so many functions.
_MOST_NAMES = 200_000


def function_calls(trace: Trace) -> list[RecordedCall | None]:
    """Return the function of every key; empty unless most names of the trace are functions."""
    if not 0 < len(trace.keys) <= _MOST_NAMES:
        return []
    found: list[RecordedCall | None] = []
    for number in trace.keys.name.tolist():
        name = trace.strings[number]
        frame = frame_of(name)
        node = None if frame is None else GraphNode(name, name, -1, (frame,), (), name)
        found.append(None if node is None else RecordedCall(CALLS, node))
    is_function = np.array([call is not None for call in found])
    slices = np.bincount(trace.slices.key, minlength=len(found))
    enough = slices[is_function].sum() >= _LEAST_SHARE * len(trace.slices)
    return found if enough and is_function.any() else []
