"""Samples and stacks of Chrome traces: of events, next to them, and of V8 in parts."""

import json
import random
from itertools import accumulate, pairwise

import pytest

from tests.builders import sampled
from tests.builders.chrome_cases import arguments, event, problems, read, slice_event
from tests.formats.samples.test_reader import SEEDS, US, calls, paths
from tests.paths import DATA
from viewer.formats import open_file
from viewer.formats.chrome.stack_samples import MOST_SHOWN
from viewer.model.building.nesting import MAX_DEPTH


def frames_of(nodes):
    """The value of stackFrames for the nodes of a tree."""
    return {
        f"f{number}": {"name": name, **({} if parent < 0 else {"parent": f"f{parent}"})}
        for number, (parent, name) in enumerate(nodes)
    }


def opened(folder, events, **more):
    return read(folder, text=json.dumps({**more, "traceEvents": events}))


def by_thread(trace):
    """(thread, name, start, end) of all slices in µs."""
    s = trace.slices
    return sorted(
        (trace.tracks[s.track(i)].thread, trace.name(i), int(s.start[i]) // US, int(s.end[i]) // US)
        for i in range(len(s))
    )


def test_the_trace_of_the_field_has_its_right_values():
    trace = open_file(str(DATA / "samples/j22_samples.json"))
    assert trace.problems == ()
    assert arguments(trace, "run")["stack"] == "main > load > read"
    found = by_thread(trace)
    assert ("thread 1", "run", 0, 100) in found
    for source, first in (("samples", 10), ("cycles:HG", 1000)):
        of = f"thread 1 · {source}"
        assert [row[1:] for row in found if row[0] == of] == [
            ("load", first, first + 20), ("main", first, first + 20), ("read", first, first + 10),
        ]  # fmt: skip
    assert {path: count for path, (_, _, count) in calls(trace).items()} == {
        ("run",): 1, ("main",): 2, ("main", "load"): 2, ("main", "load", "read"): 1,
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["P", "list", "V8"])
def test_samples_have_the_time_to_the_next_one(tmp_path, seed, form):
    stacks = sampled.random_stacks(seed)
    times = list(accumulate([10 + i % 3 for i in range(len(stacks))], initial=100))[:-1]
    times.append(times[-1] + sorted(b - a for a, b in pairwise(times))[30])
    nodes, of = sampled.tree_of(stacks)
    if form == "P":
        events = [
            event("P", "s", ts, **({} if node < 0 else {"sf": f"f{node}"}))
            for ts, node in zip(times, of, strict=False)
        ]
        random.Random(seed).shuffle(events)
        stacks = [stack or ("s",) for stack in stacks]  # without a stack, it is the name
        trace = opened(tmp_path, events, stackFrames=frames_of(nodes))
    elif form == "list":
        given = [
            {"tid": 2, "ts": ts, "name": "cycles", **({} if node < 0 else {"sf": f"f{node}"})}
            for ts, node in zip(times, of, strict=False)
        ]
        trace = opened(tmp_path, [], samples=given, stackFrames=frames_of(nodes))
    else:
        deltas = [b - a for a, b in zip([50, *times], times[:-1], strict=False)]
        events = [event("P", "Profile", 1, id="0x1", args={"data": {"startTime": 50}})]
        for first in range(0, len(of), 20):
            part = slice(first, first + 20)
            new = range(max(of[: first + 1], default=-1) + 1 if first else 0, len(nodes))
            inner = {
                "nodes": [
                    {"id": n, "callFrame": {"functionName": nodes[n][1], "url": "a.js"},
                     **({} if nodes[n][0] < 0 else {"parent": nodes[n][0]})}
                    for n in new
                ] if not first else [],
                "samples": of[part],
            }  # fmt: skip
            data = {"cpuProfile": inner, "timeDeltas": deltas[part]}
            events.append(event("P", "ProfileChunk", 2, id="0x1", tid=9, args={"data": data}))
        trace = opened(tmp_path, events)
    assert paths(trace) == sampled.slices(stacks, [US * ts for ts in times])
    thread = {"P": "samples", "list": "cycles", "V8": "CPU profile"}[form]
    assert {track.thread for track in trace.tracks} == {f"thread 2 · {thread}"}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_stacks_of_slices_are_a_column(tmp_path, before, packed):
    events = [
        slice_event("a", 1, 1, sf=2), slice_event("b", 3, 1, sf="1"), slice_event("c", 5, 1),
        slice_event("d", 7, 1, sf=7), event("B", "e", 9, sf=1), event("E", "e", 10, sf=2),
    ]  # fmt: skip
    frames = {"1": {"name": "main"}, "2": {"name": "load", "parent": 1}}
    beside = [("traceEvents", events), ("stackFrames", frames), ("x", [{"stackFrames": 1}])]
    text = json.dumps(dict(reversed(beside) if before else beside))
    trace = read(tmp_path, text=text, packed=packed)
    found = [arguments(trace, name).get("stack") for name in "abcde"]
    assert found == ["main > load", "main", None, None, "main"]
    assert problems(trace) == {"stack frame that stackFrames does not define: left out": 1}


def test_stacks_in_utf_16_are_read_as_well(tmp_path):
    text = json.dumps(
        {"traceEvents": [slice_event("a", 1, 1, sf=1)], "stackFrames": {"1": {"name": "main"}}}
    )
    trace = read(tmp_path, text=text.encode("utf-16"))
    assert arguments(trace, "a") == {"stack": "main"}


def test_an_argument_keeps_its_name_unless_samples_have_it(tmp_path):
    one = slice_event("a", 1, 1, args={"samples": "x", "stack": 5})
    assert arguments(read(tmp_path, one), "a") == {"samples": "x", "stack": 5}
    both = arguments(read(tmp_path, one, event("P", "s", 1)), "a")
    assert both == {"argument samples": "x", "stack": 5}


def test_deep_stacks_and_cycles_are_cut(tmp_path):
    deep = [(number - 1, f"n{number}") for number in range(4 * MAX_DEPTH)]
    frames = frames_of(deep) | {
        "c": {"name": "c", "parent": "d"},
        "d": {"name": "d", "parent": "c"},
    }
    events = [
        event("P", "s", 1, sf=f"f{len(deep) - 1}"), event("P", "s", 2, sf="c"),
        slice_event("deep", 3, 1, sf=f"f{len(deep) - 1}"), slice_event("c", 5, 1, sf="c"),
    ]  # fmt: skip
    trace = opened(tmp_path, events, stackFrames=frames)
    assert len(trace.slices) == MAX_DEPTH + 2
    assert arguments(trace, "deep")["stack"].count(" > ") == MOST_SHOWN
    assert arguments(trace, "deep")["stack"].startswith("… > ")
    assert sum(problems(trace).values()) == 2


@pytest.mark.parametrize(
    ("beside", "count"),
    [
        ({"stackFrames": [1, 2], "samples": {"a": 1}}, 1),
        (
            {"stackFrames": {"1": 5, "2": {"name": 3, "parent": []}}, "samples": [None, {"ts": 1}]},
            2,
        ),
        ({"samples": [{"tid": 1, "ts": "x"}, {"tid": [], "ts": 1}, {"tid": 1, "ts": 1e400}]}, 4),
    ],
)
def test_what_is_wrong_next_to_the_events_costs_itself(tmp_path, beside, count):
    trace = opened(tmp_path, [slice_event("a", 1, 1, sf=9)], **beside)
    assert by_thread(trace) == [("thread 2", "a", 1, 2)]
    assert sum(problems(trace).values()) >= count


def test_a_truncated_value_next_to_the_events_is_a_problem(tmp_path):
    text = (
        '{"traceEvents": [{"ph":"X","ts":1,"dur":1,"name":"a","sf":1}], "stackFrames": {"1": {"na'
    )
    trace = read(tmp_path, text=text)
    assert len(trace.slices) == 1
    assert arguments(trace, "a") == {}
