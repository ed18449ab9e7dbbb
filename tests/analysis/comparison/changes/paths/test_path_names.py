"""What slices are called in paths, the same in two processes."""

from tests.builders.compare_sessions import arm
from tests.builders.path_arms import arm_of_traces, nested, steps
from tests.paths import DATA
from viewer.analysis.comparison.changes.paths.path_changes import path_changes
from viewer.analysis.comparison.comparison import Comparison


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
