"""Sampled profiles of every form: the same stacks give the same call tree, slices and counts."""

import gzip
import json
from itertools import accumulate

import numpy as np
import pytest

from tests.builders import sampled
from tests.paths import DATA
from viewer.analysis.calls.call_tree import CallTree
from viewer.analysis.links.linker import unlinked
from viewer.codecs.memory_budget import MemoryBudget, NotEnoughMemory
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.samples.stacks import Frame, SampledSlices, StackTree
from viewer.model.building.builder import TraceBuilder
from viewer.model.building.nesting import MAX_DEPTH
from viewer.model.timing import Timing, is_sampled, timings
from viewer.model.trace import Clock

US = 1000
SEEDS = range(8)


def opened(folder, data: bytes, name="profile.json"):
    path = folder / name
    path.write_bytes(data)
    return open_file(str(path))


def calls(trace):
    """Total, self and count of each path below its thread."""
    table = CallTree(unlinked(trace)).table()
    return {
        tuple(table.path(i)[2:]): (
            int(table.total[i]), int(table.self_ticks[i]), int(table.count[i])
        )
        for i in np.flatnonzero(table.depth >= 2).tolist()
    }  # fmt: skip


def paths(trace):
    """Path, start and end of all slices, by path."""
    slices, found = trace.slices, []
    open_: list[int] = []
    rows = slices.rows()
    order = np.lexsort((slices.row_depth[rows], slices.start, slices.row_track[rows]))
    for i in order.tolist():
        del open_[slices.depth(i) :]
        open_.append(i)
        path = tuple(trace.name(k) for k in open_)
        found.append((path, int(slices.start[i]), int(slices.end[i])))
    return sorted(found)


def problems(trace):
    return {problem.kind: problem.count for problem in trace.problems}


# -- the same stacks in every form -----------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("unit", "factor"), [("nanoseconds", 1), ("microseconds", US)])
def test_sampled_profiles_of_speedscope_have_the_time_of_their_weights(
    tmp_path, seed, unit, factor
):
    stacks = sampled.random_stacks(seed)
    weights = [1 + i % 5 for i in range(len(stacks))]
    trace = opened(tmp_path, sampled.speedscope(stacks, weights, unit))
    ticks = [factor * weight for weight in weights]
    assert calls(trace) == sampled.sums(stacks, ticks)
    assert paths(trace) == sampled.slices(stacks, list(accumulate(ticks, initial=0)))
    assert set(timings(trace.slices).tolist()) == {Timing.SAMPLED}
    assert is_sampled(trace.slices)
    assert trace.problems == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_evented_profiles_of_speedscope_have_measured_slices(tmp_path, seed):
    stacks = sampled.random_stacks(seed)
    times = list(accumulate([1 + i % 3 for i in range(len(stacks))], initial=7))
    trace = opened(tmp_path, sampled.evented(stacks, times, "microseconds"))
    meant = sampled.slices(stacks, [US * time for time in times])
    assert paths(trace) == meant
    assert not timings(trace.slices).any()
    assert trace.problems == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("packed", [False, True])
def test_collapsed_stacks_count_samples_and_have_no_times(tmp_path, seed, packed):
    stacks = sampled.random_stacks(seed)
    weights = [1 + i % 5 for i in range(len(stacks))]
    data = sampled.collapsed(stacks, weights)
    trace = opened(tmp_path, gzip.compress(data) if packed else data, "a.txt")
    meant = {
        path: (total, own, total) for path, (total, own, _) in sampled.sums(stacks, weights).items()
    }
    assert calls(trace) == meant
    assert (trace.clock.unit, trace.clock.assumed) == ("sample", True)
    assert set(timings(trace.slices).tolist()) == {Timing.SAMPLED | Timing.PLACED}
    assert trace.problems == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("with_parents", [False, True])
def test_a_cpu_profile_of_v8_has_the_time_to_the_next_sample(tmp_path, seed, with_parents):
    stacks = sampled.random_stacks(seed)
    deltas = [100 + i % 7 for i in range(len(stacks))]
    data = sampled.cpu_profile(stacks, deltas, with_parents=with_parents)
    trace = opened(tmp_path, data, "a.cpuprofile")
    usual = int(np.median(deltas[1:]) * US)
    times = [1000 * US + US * t for t in accumulate(deltas)]
    times.append(times[-1] + usual)
    assert paths(trace) == sampled.slices(stacks, times)
    assert calls(trace) == sampled.sums(stacks, np.diff(times).tolist())
    assert trace.slices.columns["line"].value(0) == 5


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("is_shared", "with_deltas"), [(False, False), (True, True)])
def test_a_profile_of_firefox_has_the_time_to_the_next_sample(
    tmp_path, seed, is_shared, with_deltas
):
    stacks = sampled.random_stacks(seed)
    times = [10 + 2 * i for i in range(len(stacks))]
    data = sampled.firefox(stacks, times, is_shared=is_shared, with_deltas=with_deltas)
    trace = opened(tmp_path, data)
    ns = [time * 10**6 for time in (*times, times[-1] + 2)]
    assert paths(trace) == sampled.slices(stacks, ns)
    assert trace.slices.columns["file"].value(0) == "a.cpp"
    assert (trace.tracks[0].process, trace.tracks[0].thread) == ("app", "main")
    assert trace.problems == ()


def test_a_pause_of_a_thread_is_no_time_of_the_stack_before_it(tmp_path):
    stacks = [("main", "f")] * 10
    deltas = [100] * 5 + [100_000] + [100] * 4
    trace = opened(tmp_path, sampled.cpu_profile(stacks, deltas))
    assert calls(trace) == {("main",): (10**6, 0, 10), ("main", "f"): (10**6, 10**6, 10)}
    assert len(trace.slices) == 4


def test_counts_and_bytes_of_speedscope_are_no_times(tmp_path):
    stacks = sampled.random_stacks(1)
    weights = [3] * len(stacks)
    for unit, tick, samples in (("none", "sample", 3), ("bytes", "byte", 1)):
        trace = opened(tmp_path, sampled.speedscope(stacks, weights, unit))
        assert (trace.clock.unit, trace.clock.assumed) == (tick, True)
        sums = sampled.sums(stacks, weights)
        assert calls(trace) == {
            path: (total, own, samples * count) for path, (total, own, count) in sums.items()
        }


# -- files as people bring them --------------------------------------------------------------------


def test_the_profile_of_the_field_has_its_right_values():
    trace = open_file(str(DATA / "samples/p01.speedscope.json"))
    assert [track.thread for track in trace.tracks] == ["simple", "MainThread"]
    by_thread = {}
    for i in range(len(trace.slices)):
        span = int(trace.slices.start[i]), int(trace.slices.end[i])
        by_thread[trace.tracks[trace.slices.track(i)].thread, trace.name(i)] = span
    assert by_thread["simple", "main"] == (0, 14 * US)
    assert by_thread["simple", "load"] == (2 * US, 7 * US)
    table = CallTree(unlinked(trace)).table()
    main = table.find(["speedscope", "MainThread", "main"])
    load = table.find(["speedscope", "MainThread", "main", "load"])
    assert int(table.total[main]) == 30 * 10**6
    assert int(table.self_ticks[main]) == 20 * 10**6
    assert int(table.total[load]) == 10 * 10**6


def test_the_collapsed_stacks_of_the_field_have_their_right_values():
    assert calls(open_file(str(DATA / "samples/p02_collapsed.txt"))) == {
        ("main",): (44, 2, 44), ("main", "load"): (12, 0, 12),
        ("main", "load", "read"): (12, 12, 12), ("main", "compute"): (30, 30, 30),
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "name;start 1\na;2\nb;3\n",
        "a 1\nb 2\n",
        "name;start;duration\nconv;0;12\nrelu;12;13\n",
        "0.5;1.5 3\n0.6;1.7 4\n",
        "conv;0 12\n",
        "main;load\tread 12\n",
    ],
)
def test_a_table_is_no_list_of_stacks(tmp_path, text):
    try:
        trace = opened(tmp_path, text.encode(), "a.csv")
    except UnreadableFile:
        return
    assert trace.format != "Sampled profile"


# -- hostile files ---------------------------------------------------------------------------------


def test_what_is_wrong_in_a_profile_is_a_problem_each(tmp_path):
    data = {
        "shared": {"frames": [{"name": "a", "line": "x"}, {}, 3]},
        "profiles": [
            {"type": "sampled", "unit": "seconds", "startValue": "x",
             "samples": [[0], [7, 0], "x", [0, True], [1]], "weights": [1, 2, None, -4, 2e300, 5]},
            {"type": "evented", "unit": "seconds", "endValue": 9,
             "events": [{"type": "O", "frame": 0, "at": 1}, {"type": "C", "frame": 1, "at": 2},
                        {"type": "O", "frame": 5, "at": 3}, {"type": "C", "at": None}, 4]},
            {"type": "sampled", "unit": "bytes", "samples": [[0]], "weights": [1]},
            None,
        ],
    }  # fmt: skip
    trace = opened(tmp_path, json.dumps(data).encode())
    assert sum(problems(trace).values()) == 15
    assert "frame that is opened and not closed: drawn to the end of its profile" in problems(trace)
    (open_one,) = np.flatnonzero(timings(trace.slices) == Timing.UNFINISHED).tolist()
    assert int(trace.slices.end[open_one]) == 9 * 10**9


def test_stacks_are_cut_at_the_depth_that_can_be_shown(tmp_path):
    deep = tuple(f"f{i}" for i in range(3 * MAX_DEPTH))
    for data, name in (
        (sampled.speedscope([deep, deep[:-1]], [1, 2], "seconds"), "a.json"),
        (sampled.collapsed([deep[:2], deep, deep[:-1]], [1, 1, 2]), "a.txt"),
        (sampled.cpu_profile([deep, deep[:-1]], [1, 2]), "a.cpuprofile"),
    ):
        trace = opened(tmp_path, data, name)
        assert len(trace.slices) == MAX_DEPTH
        assert list(problems(trace).values()) == [2]
        assert trace.slices.columns["samples"].values.min() >= 2


def test_a_weight_that_is_too_long_leaves_no_slice_outside_of_its_caller(tmp_path):
    stacks = [("a", "b"), ("a", "c")]
    trace = opened(tmp_path, sampled.speedscope(stacks, [7199254741038, 1], "none"))
    depth = trace.slices.row_depth[trace.slices.rows()]
    assert {trace.name(i): int(depth[i]) for i in range(3)}["c"] == 0
    assert sum(problems(trace).values()) == 3  # a and b, and what contradicts their levels


def test_cycles_and_missing_parents_of_stacks_are_left_out():
    builder = TraceBuilder("a", "b", "", Clock())
    frames = [Frame(name) for name in "abcdef"]
    # b and c are in a cycle, d is below them, the parent of e is missing, f is below a.
    parent = np.array([-1, 2, 1, 2, -2, 0])
    slices = SampledSlices(builder, frames, parent, np.arange(6))
    nodes, time = np.array([0, 1, 3, 4, 5, -1]), np.arange(6)
    slices.add(builder.track("p", "t"), nodes, time, time + 1)
    trace = builder.build()
    assert paths(trace) == [(("a",), 0, 1), (("a",), 4, 5), (("a", "f"), 4, 5)]
    assert list(problems(trace).values()) == [3]


def test_slices_reserve_their_memory_before_they_are_made():
    """Two deep stacks in turn: a small tree, and as many slices as samples times frames."""
    tree = StackTree()
    nodes = [tree.stack(tuple(range(k, k + 400))) for k in (0, 1000)]
    builder = TraceBuilder("a", "b", "", Clock())
    slices = SampledSlices(builder, [Frame("f")] * 1400, tree.parent, tree.frame)
    node = np.tile(np.array(nodes), 5000)
    budget = MemoryBudget()
    budget.limit(100 << 20)
    with budget.reading(), pytest.raises(NotEnoughMemory):
        slices.add(builder.track("p", "t"), node, np.arange(10000), np.arange(1, 10001))
