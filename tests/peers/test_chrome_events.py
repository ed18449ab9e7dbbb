"""Flows, async slices and counters of Chrome JSON beside those of trace_processor.

Each difference is a decision with a name, in `DECISIONS`: there the file says otherwise than
trace_processor, and we follow the file.
"""

import json
from collections import Counter

import pytest

from tests.builders.chrome_cases import event, named, slice_event
from tests.peers.events import events_of_both
from tests.peers.trace_processor import TraceProcessor

pytestmark = pytest.mark.slow

GPU = {"pid": 1, "tid": 4}
FLOW = {"name": "flow", "cat": "ac2g", "pid": 1}


def on_gpu(name, ts, dur, **more):
    return {**slice_event(name, ts, dur, **more), **GPU}


def flow(phase, ts, tid, **more):
    return {**FLOW, "ph": phase, "ts": ts, "tid": tid, "bp": "e", **more}


def load(phase, ts, **more):
    """An async event."""
    return event(phase, "load", ts, **{"cat": "io", **more})


SOME = (
    slice_event("outer", 0, 100), slice_event("x", 10, 10), slice_event("y", 30, 10),
    on_gpu("p", 25, 10), on_gpu("q", 50, 10),
)  # fmt: skip

EQUAL = {
    "bind ids as numbers and hexadecimal texts, through a step, to two ends": [
        slice_event("a", 0, 10, bind_id="0x1f", flow_out=True),
        on_gpu("b", 20, 10, bind_id=31, flow_in=True, flow_out=True),
        on_gpu("c", 40, 10, bind_id="1F", flow_in=True),
        on_gpu("d", 60, 10, bind_id="0x1F", flow_in=True),
    ],
    "bind ids of begin and async events": [
        load("b", 0, id=1, bind_id=5, flow_out=True), load("e", 5, id=1),
        load("n", 6, id=1, bind_id=5, flow_in=True, flow_out=True),
        event("B", "work", 10, bind_id="5", flow_in=True), event("E", "work", 20),
    ],
    "the id of a bind id is not that of flow events": [
        *SOME, flow("s", 12, 2, id=1), flow("f", 26, 4, id=1),
        slice_event("a", 110, 10, bind_id=1, flow_in=True),
    ],
    "a bind id of no flow": [slice_event("a", 0, 10, bind_id=1), slice_event("b", 20, 10)],
    "flow events with an id as number and as text": [
        *SOME, flow("s", 12, 2, id=16), flow("f", 52, 4, id="0x10")
    ],
    "flow events of two categories and two names with one id": [
        *SOME, flow("s", 12, 2, id=1), flow("f", 26, 4, id=1, cat="other"),
        flow("f", 52, 4, id=1, name="other"), flow("f", 53, 4, id=1),
    ],
    "to the next slice": [
        *SOME, flow("s", 12, 2, id=1), flow("f", 36, 4, id=1, bp=""),
        flow("s", 31, 2, id=2), flow("f", 40, 4, id=2, bp=""),
    ],
    "at the very end of a slice": [
        slice_event("x", 10, 10), on_gpu("q", 50, 10), flow("s", 20, 2, id=1),
        flow("f", 52, 4, id=1),
    ],
    "async slices that nest by their id, and an instant": [
        load("b", 1, id="0x1"), event("b", "part", 2, cat="io", id="0x1"),
        event("n", "half", 3, cat="io", id="0x1"), event("e", "part", 4, cat="io", id="0x1"),
        load("e", 9, id="0x1"), load("b", 2, id="0x2"), load("e", 20, id="0x2"),
    ],
    "async slices by category": [
        load("b", 1, id=1), load("b", 2, id=1, cat="net"), load("e", 3, id=1),
        load("e", 6, id=1, cat="net"),
    ],
    "async slices by local and global id": [
        load("b", 1, id2={"local": 1}), load("b", 2, id2={"local": 1}, pid=2),
        load("e", 4, id2={"local": 1}), load("e", 7, id2={"local": 1}, pid=2),
        load("b", 3, id2={"global": "0x1"}), load("e", 9, id2={"global": "0x1"}, pid=2),
        load("b", 30, id=8, id2={"local": 5}), load("e", 35, id=8, id2={"local": 6}),
    ],
    "counters of several series, of an id, and below 0": [
        *SOME, event("C", "memory", 1, args={"used": -1, "free": 2.5}),
        event("C", "memory", 2, args={"used": "3", "free": -2.5}),
        event("C", "queue", 3, id="0x1", args={"length": 4, "bytes": -4}),
        event("C", "queue", 5, id="0x2", args={"length": 1, "bytes": 9}),
    ],
}  # fmt: skip


def both(tmp_path, events):
    """What is read and what trace_processor has: flows, slices and counters."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([*named(1, "app", t2="main", t4="gpu"), *events]))
    return events_of_both(path, lambda name: name.replace(" · ", " ").replace("0x", "id: 0x"))


@pytest.mark.parametrize("case", EQUAL)
def test_as_in_the_engine(tmp_path, case):
    _, ours, theirs = both(tmp_path, EQUAL[case])
    assert ours == theirs
    assert any(ours[:1] + ours[2:]) or "async" in case or "no flow" in case


DECISIONS = {
    "a flow whose id is used again leads from its own begin": (
        [*SOME, flow("s", 12, 2, id=1), flow("f", 26, 4, id=1),
         flow("s", 32, 2, id=1), flow("f", 52, 4, id=1)],
        [("x", "p"), ("y", "q")],
        [("x", "p"), ("x", "q")],
    ),
    "a flow leads from its s to its f, also into a slice that starts earlier": (
        [*SOME, flow("s", 31, 2, id=1), flow("f", 33, 4, id=1)], [("y", "p")], [("p", "y")],
    ),
    "a step whose begin the file lost still leads on": (
        [*SOME, flow("t", 12, 2, id=1), flow("f", 52, 4, id=1)], [("x", "q")], [],
    ),
    "any text is an id": (
        [*SOME, flow("s", 12, 2, id="step x"), flow("f", 52, 4, id="step x")], [("x", "q")], [],
    ),
    "id2 is an id of flows too": (
        [*SOME, flow("s", 12, 2, id2={"global": 1}), flow("f", 52, 4, id2={"global": 1})],
        [("x", "q")],
        [],
    ),
    "flows of two scopes are two flows": (
        [*SOME, flow("s", 12, 2, id=1, scope="A"), flow("f", 52, 4, id=1, scope="B")],
        [],
        [("x", "q")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("decision", DECISIONS)
def test_where_the_file_says_otherwise_than_the_engine(tmp_path, decision):
    events, we, they = DECISIONS[decision]
    _, ours, theirs = both(tmp_path, events)
    assert (ours[0], theirs[0]) == (Counter(we), Counter(they))


def test_async_slices_of_two_scopes_or_that_do_not_nest_keep_their_lengths(tmp_path):
    """trace_processor ignores the scope, and cuts what does not nest."""
    scoped = [load("b", 1, id=3, scope="A"), load("b", 2, id=3, scope="B"),
              load("e", 3, id=3, scope="A"), load("e", 7, id=3, scope="B")]  # fmt: skip
    _, ours, theirs = both(tmp_path, scoped)
    assert ours[1] == Counter([("load", 1000, 2000), ("load", 2000, 5000)])
    assert theirs[1] == Counter([("load", 1000, 6000), ("load", 2000, 1000)])
    crossing = [load("b", 1, id=3), event("b", "other", 2, cat="io", id=3), load("e", 4, id=3),
                event("e", "other", 9, cat="io", id=3)]  # fmt: skip
    _, ours, theirs = both(tmp_path, crossing)
    assert ours[1] == Counter([("load", 1000, 3000), ("other", 2000, 7000)])
    assert theirs[1] == Counter([("load", 1000, 3000), ("other", 2000, 2000)])


def test_older_async_events_that_the_engine_skips_in_json(tmp_path):
    events = [load("S", 1, id=1), load("T", 2, id=1, args={"step": "one"}),
              load("p", 3, id=1, args={"step": "two"}), load("F", 9, id=1, cat="other"),
              event("S", "send", 1, id=1), event("F", "send", 4, id=1)]  # fmt: skip
    _, ours, theirs = both(tmp_path, events)
    assert theirs[1] == Counter()
    assert ours[1] == Counter(
        [("load", 1000, 8000), ("load", 2000, 0), ("load", 3000, 0), ("send", 1000, 3000)]
    )


def test_counters_with_a_number_as_id_are_counters_of_their_own(tmp_path):
    """trace_processor takes only texts as ids of counters."""
    events = [*SOME, event("C", "memory", 1, id=7, args={"used": 1}),
              event("C", "memory", 2, id=8, args={"used": 2}),
              event("C", "memory", 3, id2={"local": "0x9"}, args={"used": 3})]  # fmt: skip
    trace, _, theirs = both(tmp_path, events)
    assert [(c.name, c.value.tolist()) for c in trace.counters] == [
        ("memory 7", [1]), ("memory 8", [2]), ("memory 0x9", [3])
    ]  # fmt: skip
    assert {name for name, _, _ in theirs[2]} == {"memory used"}


def test_thread_times_are_those_of_the_engine(tmp_path):
    events = [
        slice_event("a", 1, 5, tts=100, tdur=2.5), slice_event("no length", 10, 5, tts=7),
        event("B", "b", 20, tts=200.25), event("E", "b", 30, tts=204.5),
        event("B", "c", 40, tts=300), event("E", "c", 50), event("i", "mark", 60, s="t", tts="400"),
        slice_event("none", 70, 5),
    ]  # fmt: skip
    trace, _, _ = both(tmp_path, events)
    columns = [trace.slices.columns[name] for name in ("thread_ts", "thread_dur")]
    ours = [(trace.name(i), *(c.value(i) for c in columns)) for i in range(len(trace.slices))]
    with TraceProcessor(tmp_path / "trace.json") as peer:
        assert Counter(peer.rows("select name, thread_ts, thread_dur from slice")) == Counter(ours)
    assert ("b", 200_250, 4_250) in ours
    assert trace.slices.columns["thread_dur"].unit == "ns"
    assert trace.problems == ()


def test_what_is_not_shown_is_counted_with_its_first_place(tmp_path):
    events = [
        *SOME, slice_event("a", 110, 1, bind_id=1), flow("s", 12, 2), flow("f", 52, 4, id=9),
        event("T", "Running", 5, dur=4, args={"cpu": 1}),
        {"ph": "M", "name": "num_cpus", "pid": 1, "args": {"number": 8}},
        slice_event("b", 120, 1, sf=3), slice_event("c", 120, 1, tts="soon"),
    ]  # fmt: skip
    trace, _, _ = both(tmp_path, events)
    assert {p.kind: (p.count, p.first) for p in trace.problems} == {
        "bind_id without flow_in or flow_out: not shown as a flow": (1, "event 8"),
        "flow event without an id: left out": (1, "event 9"),
        "flow events without a slice, or without a destination: left out": (1, "event 10"),
        "thread state (phase 'T' with a duration): not shown": (1, "event 11"),
        "metadata other than names and order of processes and threads: not shown": (1, "event 12"),
        "stack frame that stackFrames does not define: left out": (1, "event 13"),
        "thread time that is not a number: left out": (1, "event 14"),
    }
