"""Total, self time and count by path: what is nested, cut, left out, and counted once."""

import random
from collections import Counter

import numpy as np
import pytest

from tests.builders.call_traces import Paths, counted_one_by_one, trace_of
from tests.builders.chrome_cases import read, slice_event
from tests.paths import DATA
from viewer.analysis.calls import call_tree
from viewer.analysis.calls.call_table import CallTable
from viewer.analysis.calls.call_tree import KEYS, CallTree
from viewer.analysis.calls.paths import FRAMES
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.analysis.profiled_program.program import recorded_links
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.figures import STEADY, WHOLE, TimeScope
from viewer.model.queries import counted_slices, foreign, parent_of
from viewer.model.trace import Clock, KeyKind, RunKind, Trace


def frames(table: CallTable) -> Paths:
    """The figures of all paths of slices."""
    found = {
        tuple(table.path(node)): (
            int(table.total[node]), int(table.self_ticks[node]), int(table.count[node])
        )
        for node in np.flatnonzero(table.depth >= FRAMES).tolist()
    }  # fmt: skip
    assert len(found) == np.count_nonzero(table.depth >= FRAMES)
    return found


def of(trace: Trace, scope: TimeScope = WHOLE) -> Paths:
    return frames(CallTree(unlinked(trace)).table(scope))


def within(first: int, last: int) -> TimeScope:
    return TimeScope(ticks=(first, last))


# -- paths -----------------------------------------------------------------------------------------


def test_a_name_under_different_parents_has_several_nodes():
    trace = trace_of(
        ("t", "a", 0, 50), ("t", "x", 10, 30), ("t", "b", 60, 90), ("t", "x", 60, 65),
        ("t", "x", 70, 75),
    )  # fmt: skip
    assert of(trace) == {
        ("p", "t", "a"): (50, 30, 1),
        ("p", "t", "a", "x"): (20, 20, 1),
        ("p", "t", "b"): (30, 20, 1),
        ("p", "t", "b", "x"): (10, 10, 2),
    }


def test_a_recursion_is_nodes_in_one_another_and_counts_nothing_twice():
    trace = trace_of(("t", "f", 0, 100), ("t", "f", 10, 60), ("t", "f", 20, 30), ("t", "f", 70, 80))
    assert of(trace) == {
        ("p", "t", "f"): (100, 40, 1),
        ("p", "t", "f", "f"): (60, 50, 2),
        ("p", "t", "f", "f", "f"): (10, 10, 1),
    }


def test_threads_have_trees_of_their_own_and_add_up_to_their_process():
    trace = trace_of(("one", "f", 0, 10), ("two", "f", 0, 30), ("two", "g", 5, 10))
    table = CallTree(unlinked(trace)).table()
    assert frames(table) == {
        ("p", "one", "f"): (10, 10, 1),
        ("p", "two", "f"): (30, 25, 1),
        ("p", "two", "f", "g"): (5, 5, 1),
    }
    process, one, two = (table.find(path) for path in (["p"], ["p", "one"], ["p", "two"]))
    assert table.total[[process, one, two]].tolist() == [40, 10, 30]
    assert not table.self_ticks[[process, one, two]].any()
    assert not table.count[[process, one, two]].any()
    assert table.track.tolist() == [-1, 0, 0, 1, 1, 1]


def test_slices_that_overlap_without_nesting_are_two_lanes_and_both_count():
    """As Perfetto has them: on tracks of their own, each nested by itself, first fit."""
    trace = trace_of(("t", "a", 0, 10), ("t", "b", 5, 15), ("t", "c", 11, 14))
    assert int(trace.slices.row_lane.max()) == 1
    assert of(trace) == {
        ("p", "t", "a"): (10, 10, 1),
        ("p", "t", "b"): (10, 10, 1),
        ("p", "t", "c"): (3, 3, 1),
    }


def test_slices_without_a_length_are_counted():
    trace = trace_of(
        ("t", "a", 0, 10), ("t", "now", 5, 5), ("t", "now", 5, 5), ("t", "now", 20, 20)
    )
    assert of(trace) == {
        ("p", "t", "a"): (10, 10, 1),
        ("p", "t", "a", "now"): (0, 0, 2),
        ("p", "t", "now"): (0, 0, 1),
    }


def test_an_empty_trace_has_no_tree():
    with pytest.raises(ValueError, match="The trace has no slices"):
        CallTree(unlinked(TraceBuilder("none", "test", "", Clock()).build()))


def test_an_unknown_key_is_an_error():
    with pytest.raises(ValueError, match="'line' is not a key: use one of name, operator"):
        CallTree(unlinked(trace_of(("t", "a", 0, 1))), "line")


@pytest.mark.slow
def test_a_very_deep_trace_takes_no_recursion():
    """Beyond 500 levels a trace has further lanes; these join the paths of the first."""
    count = 100_000
    builder = TraceBuilder("deep", "test", "", Clock())
    at = np.arange(count)
    builder.add(
        track=builder.track("p", "t"), start=at, end=3 * count - at,
        name=builder.intern("f"), key=builder.key(KeyKind.PLAIN, "f"),
    )  # fmt: skip
    trace = builder.build()
    table = CallTree(unlinked(trace)).table()
    lanes = int(trace.slices.row_lane.max()) + 1
    assert len(table) == FRAMES + int(trace.slices.row_depth.max()) + 1
    assert int(table.count.sum()) == count
    assert int(table.count[FRAMES]) == lanes
    assert int(table.total[FRAMES]) == int(table.self_ticks.sum())


# -- scopes ----------------------------------------------------------------------------------------


def test_a_range_cuts_slices_and_counts_those_that_start_in_it():
    trace = trace_of(
        ("t", "a", 0, 100), ("t", "x", 10, 40), ("t", "x", 50, 90), ("t", "z", 120, 130),
    )  # fmt: skip
    assert of(trace, within(30, 60)) == {
        ("p", "t", "a"): (30, 10, 0),
        ("p", "t", "a", "x"): (20, 20, 1),
    }
    assert of(trace, within(100, 120)) == {}
    assert of(trace, within(100, 130)) == {("p", "t", "z"): (10, 10, 1)}


def random_trace(seed: int) -> Trace:
    dice = random.Random(seed)
    slices = []
    for _ in range(120):
        start = dice.randrange(1000)
        end = start + dice.choice([0, 1, 5, 40, 300])
        slices.append((dice.choice("st"), dice.choice("abc"), start, end))
    native = [i for i in range(len(slices)) if dice.random() < 0.1]
    return trace_of(*slices, native=native)


@pytest.mark.parametrize("seed", range(6))
def test_random_slices_are_what_they_are_one_by_one(seed):
    trace = random_trace(seed)
    assert of(trace) == counted_one_by_one(trace)
    for first, last in ((100, 700), (0, 1), (333, 333), (500, 5000)):
        expected = counted_one_by_one(trace, first, last)
        assert of(trace, within(first, last)) == expected


def test_an_inference_counts_its_own_track_alone():
    trace = open_file(str(DATA / "etdump" / "cnn_portable_x10.etdp"))
    run = list(trace.inferences())[3]
    found = of(trace, TimeScope(run))
    root = ("cnn_portable_x10.etdp", "Execute", "Method::execute")
    assert found[root][0] == run.end - run.start
    assert found[root][2] == 1
    assert found == of(trace, within(run.start, run.end))


def test_an_inference_that_did_not_finish_is_left_out_of_the_whole():
    trace = open_file(str(DATA / "pte" / "mix_str_failed.etdp"))
    assert counted_slices(trace) is not None
    found = of(trace)
    stated = {g.label: g for g in Grouping(unlinked(trace)).by("name").groups}
    for name in stated:
        assert sum(n for path, (_, _, n) in found.items() if path[-1] == name) == (
            stated[name].spread.count
        )
    (failed,) = [run for run in trace.inferences() if not run.finished]
    assert of(trace, TimeScope(failed))


def with_worker() -> Trace:
    """Four inferences on a thread, of which the first warms up, and a worker beside them."""
    builder = TraceBuilder("calls", "test", "", Clock())
    main, worker = builder.track("p", "main"), builder.track("p", "worker")
    scope = builder.scope("Execute")
    builder.run(RunKind.LOAD, "Execute", main, scope, 0, 10)
    for n in range(1, 5):
        builder.run(RunKind.INFERENCE, "Execute", main, scope, 100 * n, 100 * n + 100)
    for track, name, start, end in (
        (main, "run", 100, 200), (main, "run", 200, 300), (main, "run", 300, 400),
        (main, "run", 400, 500), (worker, "loop", 150, 450), (worker, "job", 160, 190),
        (worker, "job", 230, 260),
    ):  # fmt: skip
        builder.add(
            track=track, start=np.array([start]), end=np.array([end]), name=builder.intern(name),
            key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    return builder.build()


def test_without_warm_up_what_counts_inside_a_slice_that_does_not_is_its_total():
    trace = with_worker()
    assert [run.warms_up for run in trace.inferences()] == [True, False, False, False]
    assert of(trace) == {
        ("p", "main", "run"): (400, 400, 4),
        ("p", "worker", "loop"): (300, 240, 1),
        ("p", "worker", "loop", "job"): (60, 60, 2),
    }
    assert of(trace, STEADY) == {
        ("p", "main", "run"): (300, 300, 3),
        ("p", "worker", "loop"): (30, 0, 0),
        ("p", "worker", "loop", "job"): (30, 30, 1),
    }


@pytest.mark.parametrize("seed", range(4))
def test_time_that_counts_is_in_every_node_around_it(monkeypatch, seed):
    """Self time of a slice that counts is what is in no other inside it that counts."""
    trace = random_trace(seed)
    slices, native = trace.slices, set(foreign(trace.slices).tolist())
    mask = np.random.default_rng(seed).random(len(slices)) < 0.6
    monkeypatch.setattr(call_tree, "counted_slices", lambda *_, **__: mask)
    total, own, count = Counter(), Counter(), Counter()
    for i in np.flatnonzero(mask).tolist():
        if i in native:
            continue
        around, duration = [i], int(slices.end[i] - slices.start[i])
        while (above := parent_of(slices, around[-1])) >= 0:
            around.append(above)
        around = [at for at in around if at not in native]
        track = trace.tracks[slices.track(i)]
        names = (track.process, track.thread, *(trace.name(at) for at in around[::-1]))
        count[names] += 1
        own[names] += duration
        total[names] += duration
        for up, at in enumerate(around[1:], 1):
            if mask[at]:
                own[names[:-up]] -= duration
                break
            total[names[:-up]] += duration
    found = of(trace)
    assert +Counter({path: figures[0] for path, figures in found.items()}) == +total
    assert +Counter({path: figures[1] for path, figures in found.items()}) == +own
    assert +Counter({path: figures[2] for path, figures in found.items()}) == +count


# -- what has no node ------------------------------------------------------------------------------


def test_slices_on_a_clock_of_their_own_are_self_time_of_what_is_around_them():
    trace = trace_of(
        ("t", "call", 0, 100), ("t", "native", 10, 60), ("t", "inner", 20, 30), native=[1]
    )  # fmt: skip
    tree = CallTree(unlinked(trace))
    assert frames(tree.table()) == {
        ("p", "t", "call"): (100, 90, 1),
        ("p", "t", "call", "inner"): (10, 10, 1),
    }
    assert tree.left_out.sum() == 1


def test_derived_slices_are_in_no_node():
    """Jobs of an NPU are derived from the host's slices; unattributed time is the call's own."""
    host = open_file(str(DATA / "torq" / "host_h4_latest.csv"))
    tree = CallTree(unlinked(host))
    assert np.array_equal(tree.left_out, host.slices.derived)
    assert not any(path[-1].startswith("job") for path in frames(tree.table()))
    dump = open_file(str(DATA / "etdump" / "attn_xnnpack_x5.etdp"))
    assert dump.slices.derived_count
    assert not any("unattributed" in path for path in of(dump))


def test_if_all_slices_are_derived_they_are_what_there_is():
    builder = TraceBuilder("means", "test", "", Clock())
    builder.add(
        track=builder.track("p", "t"), start=np.array([0]), end=np.array([10]),
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"), derived=np.array([True]),
    )  # fmt: skip
    assert of(builder.build()) == {("p", "t", "a"): (10, 10, 1)}


# -- other keys ------------------------------------------------------------------------------------


def linked(profile: str, program: str) -> LinkTable:
    return link(open_file(str(DATA / profile)), open_file(str(DATA / program)))


def test_a_kernel_is_part_of_the_call_of_its_operator():
    links = linked("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
    groups = Grouping(links).by("operator")
    found = frames(CallTree(links, "operator").table())
    by_label = {path[-1]: figures for path, figures in found.items() if len(path) == 4}
    for group in groups.groups:
        assert by_label[group.label] == (group.total, group.self_ticks, group.spread.count)
    assert {path[2] for path in found} == {"Method::execute", "Program::load_method"}


@pytest.mark.parametrize("key", [key for key in KEYS if key != "name"])
def test_operators_modules_and_types_have_the_totals_of_statistics(key):
    links = linked("etdump/cnn_xnnpack_x10.etdp", "etrecord/cnn_teal_xnnpack.etrecord")
    found = frames(CallTree(links, key).table())
    groups = Grouping(links).by(key).groups
    assert groups
    for group in groups:
        own = [figures for path, figures in found.items() if path[-1] == group.label]
        assert sum(self_ticks for _, self_ticks, _ in own) == group.self_ticks
        assert sum(count for _, _, count in own) == group.spread.count


def test_without_a_group_a_slice_belongs_to_the_nearest_one_around_it():
    """An event that no map has is time of its call; what is in no group has its name."""
    table = linked("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord")
    by_name = frames(CallTree(table).table())
    found = {
        path[2:]: figures for path, figures in frames(CallTree(table, "operator").table()).items()
    }
    call = ("Method::execute", "2 convolution + 2 relu + tan")
    own = by_name["demo_str_x4.etdp", "forward", "Method::execute", "DELEGATE_CALL"]
    event = by_name["demo_str_x4.etdp", "forward", "Method::execute", "DELEGATE_CALL", "not in map"]
    assert found[call] == (own[0], own[1] + event[1], own[2])
    assert found[*call, "tan"] == (480759, 480759, 12)
    assert found["Program::load_method", "Method::init", "DEMO_INIT"] == (5117, 5117, 1)


def test_slices_of_a_node_are_those_that_it_counts():
    trace = trace_of(("t", "a", 0, 50), ("t", "x", 10, 30), ("t", "a", 60, 90), ("t", "x", 70, 75))
    tree = CallTree(unlinked(trace))
    table = tree.table(within(40, 90))
    node = table.find(["p", "t", "a", "x"])
    number = int(table.number[node])
    starts = trace.slices.start
    assert starts[tree.slices_of(number)].tolist() == [10, 70]
    assert starts[tree.slices_of(number, within(40, 90))].tolist() == [70]
    assert len(tree.slices_of(int(table.number[0]))) == 0
    both = np.array([number, int(table.number[table.find(["p", "t", "a"])])])
    assert sorted(starts[tree.slices_of(both)].tolist()) == [0, 10, 60, 70]


def test_a_slice_has_the_number_of_its_node():
    trace = trace_of(("t", "a", 0, 50), ("t", "x", 10, 30), ("t", "x", 60, 65), native=(1,))
    tree = CallTree(unlinked(trace))
    table = tree.table()
    paths = {int(number): table.path(node)[2:] for node, number in enumerate(table.number)}
    found = {start: tree.number_of(i) for i, start in enumerate(trace.slices.start.tolist())}
    # What another clock timed has no node: its time is that of the call around it.
    assert {start: paths[number] for start, number in found.items()} == {
        0: ["a"], 10: ["a"], 60: ["x"],
    }  # fmt: skip
    inner = trace.slices.start.tolist().index(10)
    assert [number == len(tree) for number in tree.numbers.tolist()] == [
        i == inner for i in range(3)
    ]


def test_durations_of_counted_slices_are_not_cut_at_the_edges():
    trace = trace_of(("t", "a", 0, 50), ("t", "a", 60, 90), ("t", "x", 70, 75))
    tree = CallTree(unlinked(trace))
    table = tree.table(within(40, 70))
    node = table.find(["p", "t", "a"])
    assert (int(table.total[node]), int(table.count[node])) == (20, 1)
    assert int(tree.uncut(within(40, 70))[table.number[node]]) == 30


@pytest.mark.parametrize(
    "name",
    [
        "etdump/cnn_portable_x10.etdp",
        "etdump/SYN_qnn_like.etdp",
        "table_csv/two_threads.csv",
        "chrome_json/kineto_cpu.json",
        "torq/host_h2_dispatch.csv",
        "torq/compile_c3_taskid.csv",
    ],
)
def test_self_times_add_up_to_the_whole(name):
    trace = open_file(str(DATA / name))
    table = CallTree(unlinked(trace)).table()
    inner = table.parent >= 0
    outer = np.zeros(len(table), np.int64)
    np.add.at(outer, table.parent[inner], table.total[inner])
    assert np.array_equal(table.total - outer, table.self_ticks)
    assert (table.self_ticks >= 0).all()
    assert int(table.self_ticks.sum()) == int(table.total[table.depth == 0].sum()) > 0


# -- PyTorch ---------------------------------------------------------------------------------------


def annotated(folder, *others):
    """A profile whose annotation starts inside a Python call and ends after it."""
    trace = read(
        folder,
        slice_event("a.py(1): enter", 0, 10, cat="python_function"),
        slice_event("forward", 5, 45, cat="user_annotation"),
        slice_event("a.py(5): run", 12, 30, cat="python_function"),
        slice_event("aten::add", 15, 5, cat="cpu_op"),
        *others,
    )
    return recorded_links(trace)


def test_annotations_on_a_lane_of_their_own_do_not_count_the_time_of_calls_again(tmp_path):
    span = {"cat": "Trace", "pid": "Spans", "tid": "PyTorch Profiler"}
    table = annotated(tmp_path, {**slice_event("PyTorch Profiler (0)", 0, 60), **span})
    tree = CallTree(table)
    found = tree.table()
    assert {path[2:]: figures for path, figures in frames(found).items()} == {
        ("a.py(1): enter",): (10_000, 10_000, 1),
        ("a.py(5): run",): (30_000, 25_000, 1),
        ("a.py(5): run", "aten::add"): (5_000, 5_000, 1),
    }
    assert {table.trace.name(i) for i in tree.annotations.tolist()} == {
        "forward", "PyTorch Profiler (0)",
    }  # fmt: skip


def test_annotations_that_nest_are_calls(tmp_path):
    trace = read(
        tmp_path,
        slice_event("forward", 0, 50, cat="user_annotation"),
        slice_event("aten::add", 15, 5, cat="cpu_op"),
    )
    found = frames(CallTree(recorded_links(trace)).table())
    assert {path[2:] for path in found} == {("forward",), ("forward", "aten::add")}
