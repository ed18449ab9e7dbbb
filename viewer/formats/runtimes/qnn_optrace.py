"""Reads QNN's optrace: the Chrome trace of the HTP that `qnn-profile-viewer` writes, in cycles.

`qnn-profile-viewer --reader libQnnHtpOptraceProfilingReader.so --schematic S --output X.json` of
Qualcomm's SDK writes it. The writer is not public; public converters and decoders of optraces, such
as `gdn_trace_to_chrometrace.py`, state the layout: an object with `header` (its `artifact_type` is
OP_TRACE) and `traceEvents`; threads are named "Core:0 Type: HMX Tid: 256". `ts` and `dur` are
cycles of the HTP, not µs, unless the argument "Duration (cycles)" contradicts this. The clock rate
is not stated: 1 GHz is assumed.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from viewer.arrays import Ints
from viewer.codecs.reading import Cancelled, Progress
from viewer.dataclasses import replace
from viewer.formats import format_of
from viewer.formats.chrome import reader
from viewer.model.trace import Clock, Problem, Trace

_MARK = re.compile(rb'"artifact_type"\s*:\s*"OP_TRACE"|"QNN Op Name"\s*:|"HTP Op Type"\s*:')
_DURATION = "Duration (cycles)"
CLOCK = Clock("cycle", Fraction(1), assumed=True)


def sniff(head: bytes) -> bool:
    """Whether it is JSON with the header or an argument of an optrace near its start."""
    return reader.sniff(head) and _MARK.search(head) is not None


def read(path: str, progress: Progress, cancelled: Cancelled) -> Trace:
    """The slices of the file in cycles. Raises UnreadableFile, ReadCancelled."""
    trace = reader.read(path, progress, cancelled)
    per_cycle = int(1000 / trace.clock.ns_per_tick)  # ticks of a Chrome trace per unit of the file
    if _is_in_us(trace, per_cycle):
        return replace(trace, format=FORMAT.name)
    slices = trace.slices
    uneven = int(((slices.start % per_cycle) != 0).sum() + ((slices.end % per_cycle) != 0).sum())
    problems = trace.problems
    if uneven:
        problems = (*problems, Problem("time with a fraction of a cycle: rounded down", uneven, ""))

    def cycles(ticks: Ints) -> Ints:
        counts = ticks // per_cycle
        counts.flags.writeable = False
        return counts

    return replace(
        trace,
        format=FORMAT.name,
        clock=CLOCK,
        slices=replace(
            slices,
            start=cycles(slices.start),
            end=cycles(slices.end),
            columns={name: c for name, c in slices.columns.items() if name != _DURATION},
        ),
        counters=tuple(replace(counter, tick=cycles(counter.tick)) for counter in trace.counters),
        runs=tuple(
            replace(run, start=run.start // per_cycle, end=run.end // per_cycle)
            for run in trace.runs
        ),
        problems=problems,
    )


def _is_in_us(trace: Trace, per_unit: int) -> bool:
    """Whether stated cycles contradict durations in most slices that have both."""
    column = trace.slices.columns.get(_DURATION)
    if column is None or column.strings is not None:
        return False
    length = trace.slices.end - trace.slices.start
    has = np.ones(len(length), np.bool_) if column.valid is None else column.valid
    has = has & (column.values > 0)
    agrees = (column.values == length // per_unit) & (length % per_unit == 0)
    return bool(has.any()) and int((agrees & has).sum()) * 2 < int(has.sum())


FORMAT = format_of("runtimes.qnn_optrace")
