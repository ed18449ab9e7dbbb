"""Names and order of the processes and threads of Chrome traces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.chrome_cases import problems, read, slice_event
from tests.paths import DATA
from viewer.formats import open_file
from viewer.formats.chrome.tracks import TrackNames

PROCESS = "process with several names: its slices are under the last one"
THREAD = "thread with several names: its slices are under the last one"


def said(kind, pid, tid=0, **args):
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def first_of(trace):
    return {p.kind: p.first for p in trace.problems}


def test_two_names_of_one_pid_are_a_problem_that_names_both():
    trace = open_file(str(DATA / "identity/two_names_of_one_pid.json"))
    assert problems(trace) == {PROCESS: 1}
    assert first_of(trace)[PROCESS] == "process 5: 'cargo' and 'query-api'"
    assert {track.process for track in trace.tracks} == {"query-api"}


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0, 1, 3000])
@pytest.mark.parametrize("more", [{}, {"id": "0x1"}])
def test_names_are_compared_wherever_they_are_in_the_file(tmp_path, apart, more):
    """Metadata are read by several parsers, and equal ones of a block are read once."""
    slices = [slice_event("a", 3 * i, 1) | {"pid": 5, "tid": 6} for i in range(apart + 1)]
    events = [
        said("process_name", 5, name="cargo"), said("process_name", 5, name="cargo"),
        said("thread_name", 5, 6, name="main"), said("thread_name", 5, 7, name="other"),
        *slices, said("process_name", 5, name="query-api") | more,
        said("thread_name", 5, 6, name="main2") | more, said("thread_name", 5, 7, name="other"),
        *slices,
    ]  # fmt: skip
    trace = read(tmp_path, *events)
    assert problems(trace) == {PROCESS: 1, THREAD: 1}
    assert first_of(trace) == {
        PROCESS: "process 5: 'cargo' and 'query-api'",
        THREAD: "thread 6 of process 5: 'main' and 'main2'",
    }


def test_a_name_that_comes_back_and_no_name_are_no_other_names(tmp_path):
    slices = [slice_event("a", 1, 1) | {"pid": pid, "tid": 0} for pid in (1, 2, 3)]
    names = [(1, "a"), (1, "b"), (1, "a"), (2, "x"), (2, ""), (2, "x"), (3, ""), (3, "y")]
    trace = read(tmp_path, *slices, *(said("process_name", pid, name=n) for pid, n in names))
    assert problems(trace) == {PROCESS: 1}
    assert first_of(trace)[PROCESS] == "process 1: 'a' and 'b'"


def test_threads_with_one_sort_index_are_by_name():
    trace = open_file(str(DATA / "identity/equal_sort_index.json"))
    assert [track.thread for track in trace.tracks] == ["Apple", "Banana", "Cherry"]


# Of each thread or process: its sort index, None if it states none, and its name.
_TRACKS = st.lists(
    st.tuples(st.none() | st.integers(-2, 2), st.sampled_from(("", "b", "a", "B", "worker 10"))),
    min_size=1,
    max_size=8,
)


@pytest.mark.slow
@given(_TRACKS)
def test_the_order_is_by_sort_index_then_name_then_number(tracks):
    metadata = []
    for number, (index, name) in enumerate(tracks):
        for kind, pid, tid in (("process", number, 0), ("thread", 99, number)):
            if index is not None:
                metadata.append((f"{kind}_sort_index", pid, tid, {"sort_index": str(index)}))
            if name:
                metadata.append((f"{kind}_name", pid, tid, {"name": name}))
    expected = sorted(
        range(len(tracks)),
        key=lambda i: (
            tracks[i][0] or 0, "" if tracks[i][0] is None else tracks[i][1].lower(),
            "" if tracks[i][0] is None else tracks[i][1], i,
        ),
    )  # fmt: skip
    names = TrackNames.of(metadata)
    numbers = [str(number) for number in range(len(tracks))]
    assert list(names.threads("99", numbers)) == [str(i) for i in expected]
    assert list(names.processes(numbers)) == [str(i) for i in expected]


def test_the_order_does_not_depend_on_that_of_the_events(tmp_path):
    events = json.loads((DATA / "identity/equal_sort_index.json").read_text())
    trace = read(tmp_path, *reversed(events))
    assert [track.thread for track in trace.tracks] == ["Apple", "Banana", "Cherry"]
