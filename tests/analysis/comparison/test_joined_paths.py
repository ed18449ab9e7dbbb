"""The call trees of several traces as one."""

import numpy as np

from tests.builders.compare_sessions import arm
from tests.builders.path_arms import arm_of_traces, nested, steps
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.path_changes import (
    PathNames,
    joined_paths,
    path_changes,
    times_of_paths,
)


def joined(*calls):
    arm = arm_of_traces(*(nested(f"t{i}", own) for i, own in enumerate(calls)))
    names = PathNames(Comparison(arm, arm), None)
    return joined_paths([(session, 0) for session in arm.sessions], names), arm


def names_of(paths, path):
    found = []
    while path >= 0:
        found.append(paths.labels[paths.name[path]])
        path = paths.parent[path]
    return tuple(found[::-1])


def test_equal_paths_of_two_traces_are_one():
    paths, arm = joined({"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "d": {"b": 4}}})
    assert [names_of(paths, i) for i in range(len(paths))] == [
        ("a",), ("a", "b"), ("a", "c"), ("a", "d"), ("a", "d", "b")
    ]  # fmt: skip
    for session, own in zip(arm.sessions, paths.of_slice, strict=True):
        trace = session.table.trace
        for i, path in enumerate(own.tolist()):
            assert names_of(paths, path)[-1] == trace.name(i)


def test_a_subtree_follows_its_root():
    paths, _ = joined({"a": {"b": {"c": 1}}, "d": 2})
    assert paths.size.tolist() == [3, 2, 1, 1]


def test_sums_over_subtrees_keep_what_did_not_run_apart():
    paths, _ = joined({"a": {"b": {"c": 1}}, "d": 2})
    rolled = paths.rolled(np.array([[1.0, 2.0, 4.0, np.nan], [np.nan, 1.0, np.nan, 0.0]]))
    assert rolled[0, :3].tolist() == [7, 6, 4]
    assert np.isnan(rolled[0, 3])
    assert rolled[1, :2].tolist() == [1, 1]
    assert np.isnan(rolled[1, 2])
    assert rolled[1, 3] == 0


def test_some_paths_keep_their_parents():
    paths, _ = joined({"a": {"b": 1, "c": {"d": 2}}})
    some = paths.only(np.array([0, 2, 3]))
    assert [names_of(some, i) for i in range(len(some))] == [("a",), ("a", "c"), ("a", "c", "d")]
    assert sorted(some.of_slice[0].tolist()) == [0, 1, 2, 3]  # b, now without a path, is 3


def paths_of(a, b, rows=None):
    changes = path_changes(Comparison(a, b), rows)
    return [tuple(changes.names_of(i)) for i in range(len(changes))], changes


def test_addresses_of_objects_do_not_tell_paths_apart():
    a, b = (
        arm_of_traces(nested(name, {f"<method items of dict object at {address}>": 100}))
        for name, address in (("a", "0x7f0e4703d0c0"), ("b", "0x55d0c0aa"))
    )
    names, changes = paths_of(a, b)
    assert names == [("<method items of dict object>",)]
    assert changes.total_ns[0][0] == changes.total_ns[1][0] == 100


def test_steps_are_one_path():
    names, _ = paths_of(arm_of_traces(steps("a", [300, 310])), arm_of_traces(steps("b", [320])))
    assert names == [("main",), ("main", "step"), ("main", "step", "work")]


def test_equal_labels_of_several_rows_have_a_number():
    a, b = (arm(DATA / f"compare/02_module_renamed/{side}.etdp") for side in "ab")
    calls = Comparison(a, b)
    names, _ = paths_of(a, b, calls)
    labels = [row.label for row in calls.rows]
    assert len(set(labels)) < len(labels)
    assert len({path[-1] for path in names if path[1:]}) == len(calls.rows)


def test_every_method_has_paths_of_its_own():
    a, b = (
        arm(*(DATA / f"compare/16_methods_swapped/{side}.{end}" for end in ("etrecord", "etdp")))
        for side in "ab"
    )
    calls = Comparison(a, b)
    names, changes = paths_of(a, b, calls)
    roots = {path[0] for path in names}
    assert roots == {f"Method::execute ({method})" for method in calls.a.methods[0]}
    assert not changes.only[0].any()
    assert not changes.only[1].any()


def times_of(trace):
    """The self time of every path of a trace, by its name."""
    arm = arm_of_traces(trace)
    names = PathNames(Comparison(arm, arm), None)
    paths = joined_paths([(arm.sessions[0], 0)], names)
    times = times_of_paths(arm.sessions[0], paths, paths.of_slice[0])
    return {paths.labels[n]: ns for n, ns in zip(paths.name.tolist(), times.own, strict=True)}


def test_the_time_of_a_step_is_the_median_over_steps():
    assert times_of(steps("a", [700, 300, 500])) == {"main": 0, "step": 10, "work": 500}


def test_an_even_number_of_steps_has_the_mean_of_the_two_in_the_middle():
    assert times_of(steps("a", [700, 300, 500, 400]))["work"] == 450


def test_the_call_around_all_steps_counts_with_its_part_in_each():
    found = times_of(steps("a", [100, 100], rest=60))
    assert found["main"] == 0
    assert found["step"] == 60


def test_paths_outside_of_inferences_have_no_time():
    arm = arm_of_traces(steps("a", [100, 100]))
    names = PathNames(Comparison(arm, arm), None)
    paths = joined_paths([(arm.sessions[0], 0)], names)
    times = times_of_paths(arm.sessions[0], paths, np.full_like(paths.of_slice[0], len(paths)))
    assert np.isnan(times.own).all()
