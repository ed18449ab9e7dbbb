"""Whether a profile has anything to show; if not, what is missing and how to record it."""

from __future__ import annotations

from viewer.codecs.reading import UnreadableFile
from viewer.model.text import one_line
from viewer.model.trace import Trace

_NO_ROWS = "a header and no rows", "Record it again with profiling on"
_MISSING = {
    "ETDump": (
        "no events",
        "Record it again: build the runtime with its event tracer, run the model, then write the "
        "ETDump",
    ),
    "Perfetto trace": (
        "no slices, instants or counters",
        "Record it again with track events enabled, while the model runs",
    ),
    "Chrome trace": (
        "no event with a time",
        "Record it again, with the profiler active while the model runs",
    ),
}


def require_contents(trace: Trace) -> None:
    """Raise UnreadableFile for a profile that has nothing to show, with its most frequent problem.

    Instants are slices. Values and allocations without a time are contents too.
    """
    if len(trace.slices) or len(trace.untimed) or any(len(c.tick) for c in trace.counters):
        return
    missing, remedy = _MISSING.get(trace.format, _NO_ROWS)
    if not trace.problems:
        raise UnreadableFile(trace.path, f"this {trace.format} has {missing}", remedy=remedy)
    worst = max(trace.problems, key=lambda problem: problem.count)
    first = f", first: {one_line(worst.first)}" if worst.first else ""
    raise UnreadableFile(
        trace.path,
        f"nothing in this {trace.format} can be shown: {worst.count} x {worst.kind}{first}",
        remedy="Correct the file, or record it again",
    )
