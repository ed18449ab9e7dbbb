"""Flows, slices and counter values of a file, as read and as trace_processor has them."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.peers.trace_processor import TraceProcessor
from viewer.formats import open_file
from viewer.model import trace as model

FLOWS = """
    select a.name, b.name from flow join slice a on a.id = flow.slice_out
    join slice b on b.id = flow.slice_in
"""
SLICES = "select name, ts, dur from slice"
COUNTERS = """
    select track.name, ts, value from counter join track on track.id = counter.track_id
"""
_STEP = re.compile(r"ProfilerStep#\d+")
Events = tuple[Counter, Counter, Counter]


def name_of_group(name: str) -> str:
    """The name of a slice in figures by name: there, all steps of PyTorch have one."""
    return "ProfilerStep" if _STEP.fullmatch(name) else name


def events_of_both(
    path: Path, counter_name: Callable[[str], str] = str
) -> tuple[model.Trace, Events, Events]:
    """The trace, its events, and those of trace_processor: flows, slices and counter values.

    counter_name: trace_processor's name of a counter that has another one here.
    """
    trace = open_file(str(path))
    assert isinstance(trace, model.Trace)
    with TraceProcessor(path) as peer:
        flows, slices, counters = (Counter(peer.rows(sql)) for sql in (FLOWS, SLICES, COUNTERS))
    s = trace.slices
    lead = zip(trace.flows.producer.tolist(), trace.flows.consumer.tolist(), strict=True)
    ours = (
        Counter((trace.name(a), trace.name(b)) for a, b in lead),
        Counter(
            (trace.name(i), int(s.start[i]), int(s.end[i] - s.start[i])) for i in range(len(s))
        ),
        Counter(
            (counter_name(one.name), tick, value)
            for one in trace.counters
            for tick, value in zip(one.tick.tolist(), one.value.tolist(), strict=True)
        ),
    )
    return trace, ours, (flows, slices, counters)
