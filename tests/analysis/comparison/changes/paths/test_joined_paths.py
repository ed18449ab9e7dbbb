"""The call trees of several traces as one."""

import numpy as np

from tests.builders.path_arms import arm_of_traces, nested
from viewer.analysis.comparison.changes.paths.joined_paths import joined_paths
from viewer.analysis.comparison.changes.paths.path_names import PathNames
from viewer.analysis.comparison.comparison import Comparison


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
