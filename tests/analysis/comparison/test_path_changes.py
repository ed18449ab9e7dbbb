"""The changes of call paths: joined over threads and sessions, tested, and true to the slices."""

import numpy as np
import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.call_traces import counted_one_by_one
from tests.builders.compare_sessions import arm, write_session
from tests.builders.path_arms import arm_of_traces, nested, steps
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.analysis.comparison.arms import Noise
from viewer.analysis.comparison.comparison import Comparison, Doubt, Verdict
from viewer.analysis.comparison.levels import CALLS, MODULE, PATH
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.path_changes import (
    PathComparison,
    comparison_by,
    has_records,
    path_changes,
)

SPREAD = (1.0, 1.001, 1.003)
BASE = {"main": {"load": 2_000, "run": {"conv": 5_000, "add": 1_000, "self": 500}}}
SLOW = {"main": {"load": 2_000, "run": {"conv": 7_500, "add": 1_000, "self": 500}}}


def changes_of(a, b, by="best", noise=None):
    calls = Comparison(a, b)
    rows = {"best": calls if has_records(calls) else None, "module": Comparison(a, b, MODULE)}
    return path_changes(calls, rows[by], noise)


def sessions(name, calls):
    return arm_of_traces(*(nested(f"{name}{i}", calls, scale=by) for i, by in enumerate(SPREAD)))


def by_names(changes):
    """The figures of every path by its names."""
    return {tuple(changes.names_of(i)): changes.compared(i) for i in range(len(changes))}


def every(changes):
    """The figures of all paths, and of the inference."""
    return [*map(changes.compared, range(len(changes))), changes.inference]


def test_only_what_is_slower_has_that_verdict():
    found = by_names(changes_of(sessions("a", BASE), sessions("b", SLOW)))
    assert {path: one.verdict for path, one in found.items()} == {
        ("main",): Verdict.SLOWER,
        ("main", "load"): Verdict.NO_CHANGE,
        ("main", "run"): Verdict.SLOWER,
        ("main", "run", "conv"): Verdict.SLOWER,
        ("main", "run", "add"): Verdict.NO_CHANGE,
    }
    assert found["main", "run", "conv"].change == pytest.approx(0.5, abs=0.001)


def test_swapped_arms_negate_changes():
    a, b = sessions("a", BASE), sessions("b", SLOW)
    there, back = changes_of(a, b), changes_of(b, a)
    assert there.change_ns.tolist() == (-back.change_ns).tolist()
    assert {one.verdict for one in every(back)} == {Verdict.FASTER, Verdict.NO_CHANGE}


def test_without_a_change_there_is_none():
    found = changes_of(sessions("a", BASE), sessions("b", BASE))
    assert {one.verdict for one in every(found)} == {Verdict.NO_CHANGE}


def test_paths_are_joined_over_all_threads():
    a = arm_of_traces(nested("a", {"work": {"f": 300}}, {"work": {"f": 500, "g": 100}}))
    b = arm_of_traces(nested("b", {"work": {"f": 400}}))
    changes = changes_of(a, b)
    found = by_names(changes)
    assert list(found) == [("work",), ("work", "f"), ("work", "g")]
    assert (found["work",].a_ns, found["work",].b_ns) == (900, 400)
    assert (found["work", "f"].a_ns, found["work", "f"].b_ns) == (800, 400)


def test_paths_of_one_arm_are_kept_and_say_so():
    a = arm_of_traces(nested("a", {"main": {"old": {"deep": 300}, "same": 500}}))
    b = arm_of_traces(nested("b", {"main": {"new": 200, "same": 500}}))
    changes = changes_of(a, b)
    names = [tuple(changes.names_of(i)) for i in range(len(changes))]
    only_a, only_b = (
        {name for name, own in zip(names, some.tolist(), strict=True) if own}
        for some in changes.only
    )
    assert only_a == {("main", "old"), ("main", "old", "deep")}
    assert only_b == {("main", "new")}
    assert changes.grade(names.index(("main", "old"))) == (Grade.ONLY_A, "only in A")
    assert by_names(changes)["main", "new"].doubt is Doubt.ONLY_IN_ONE
    assert by_names(changes)["main",].change_ns == -100


def test_figures_are_those_of_the_slices():
    trace = nested("a", {"x": {"y": {"x": 30, "self": 7}, "z": 11, "self": 5}}, {"y": {"z": 8}})
    changes = changes_of(arm_of_traces(trace), arm_of_traces(nested("b", {"x": 1})))
    counted = counted_one_by_one(trace)
    expected: dict[tuple[str, ...], tuple[int, int]] = {}
    for path, (total, own, _) in counted.items():
        if path[2:]:
            before = expected.get(path[2:], (0, 0))
            expected[path[2:]] = before[0] + total, before[1] + own
    found = {
        tuple(changes.names_of(i)): (changes.total_ns[0][i], changes.own_ns[0][i])
        for i in range(len(changes))
    }
    assert found == expected


def test_totals_add_up():
    for edit in ("02_module_renamed", "06_portable_vs_xnnpack", "10_blocks_6_to_8"):
        changes = changes_of(*arms(edit))
        for total, own in zip(changes.total_ns, changes.own_ns, strict=True):
            inside = np.zeros(len(changes))
            has = changes.paths.parent >= 0
            np.add.at(inside, changes.paths.parent[has], np.nan_to_num(total[has]))
            assert np.nan_to_num(total) == pytest.approx(inside + np.nan_to_num(own))


def test_a_call_and_the_only_one_in_it_are_one_test():
    only = {"main": {"step": {"run": {"conv": 5_000}}, "load": 2_000}}
    changes = changes_of(sessions("a", only), sessions("b", only))
    assert len(changes) == 5
    assert len(changes.figures) == 3 + 1  # step, run and conv are one; the inference
    assert len(set(changes.test.tolist())) == 3


def test_estimated_times_enter_no_verdict():
    a, b = (
        arm_of_traces(
            *(nested(f"{name}{i}", calls, scale=by, estimated="conv")
              for i, by in enumerate(SPREAD))
        )
        for name, calls in (("a", BASE), ("b", SLOW))
    )  # fmt: skip
    found = by_names(changes_of(a, b))
    for path in (("main", "run", "conv"), ("main", "run"), ("main",)):
        assert found[path].doubt is Doubt.NOT_MEASURED
    assert found["main", "load"].verdict is Verdict.NO_CHANGE


def test_one_session_proves_nothing_but_noise_gives_an_interval():
    a, b = arm_of_traces(nested("a", BASE)), arm_of_traces(nested("b", SLOW))
    plain = by_names(changes_of(a, b))["main", "run", "conv"]
    assert (plain.verdict, plain.interval) == (Verdict.CANNOT_TELL, None)
    known = by_names(changes_of(a, b, noise=Noise(7, 0.01, {})))["main", "run", "conv"]
    low, high = known.interval
    assert 0.4 < low < 0.5 < high < 0.6


def test_operators_of_renamed_modules_are_the_same_path():
    changes = changes_of(*arms("02_module_renamed"))
    assert not changes.only[0].any()
    assert not changes.only[1].any()
    moved = [i for i in range(len(changes)) if changes.grade(i)[0] is Grade.MOVED]
    assert moved
    assert all(changes.row_of(i).a and changes.row_of(i).b for i in moved)


@pytest.mark.slow
def test_the_change_of_an_operator_is_that_of_its_row(tmp_path):
    source = DATA / "compare/02_module_renamed"
    a = write_arm(tmp_path, "a", source)
    b = write_arm(tmp_path, "b", source, {"blocks.1.dw": 2.0})
    record = source / "a.etrecord"
    changes = changes_of(arm(*a, record), arm(*b, record))
    compared = dict(zip(changes.calls.rows, changes.calls.compared, strict=True))
    slower = [i for i in range(len(changes)) if changes.compared(i).verdict is Verdict.SLOWER]
    assert [changes.names_of(i)[-1] for i in slower] == [
        "Method::execute", "blocks.1.dw · convolution"
    ]  # fmt: skip
    row = changes.row_of(slower[1])
    assert changes.compared(slower[1]).sessions_b == compared[row].sessions_b


def test_kernels_and_the_delegate_call_that_replaces_them_are_one_path():
    changes = changes_of(*arms("06_portable_vs_xnnpack"))
    calls = changes.calls
    rows = [changes.row_of(i) for i in range(len(changes))]
    shared = [i for i, row in enumerate(rows) if row is not None and row.grade is Grade.GROUP]
    assert shared
    for i in shared:
        a, b = (float(ns[i]) for ns in changes.total_ns)
        one = calls.compared[calls.rows.index(rows[i])]
        assert a == pytest.approx(one.a_ns)
        assert b == pytest.approx(one.b_ns)


def test_by_module_renamed_ones_are_the_same_path():
    changes = changes_of(*arms("02_module_renamed"), by="module")
    assert not changes.only[0].any()
    assert not changes.only[1].any()
    names = {changes.names_of(i)[-1] for i in range(len(changes))}
    assert {"blocks.0.dw", "stem"} <= names


def test_files_that_only_warm_up_have_no_path_without_time():
    a, b = arms("02_module_renamed")
    changes = changes_of(a, b)
    assert np.isfinite(np.fmax(*changes.total_ns)).all()
    (own,) = [of for path, of in changes.of_file.items() if path.endswith("a.etdp")]
    assert own.max() <= len(changes)


def test_only_the_level_of_paths_has_rows_of_paths():
    a, b = sessions("a", BASE), sessions("b", SLOW)
    assert type(comparison_by(a, b, CALLS)) is Comparison
    compared = comparison_by(a, b, PATH)
    assert [row.label for row in compared.rows] == [
        "main", "main > load", "main > run", "main > run > conv", "main > run > add"
    ]  # fmt: skip
    assert {row.level for row in compared.rows} == {PATH}
    assert {row.grade for row in compared.rows} == {Grade.BY_NAME}


def test_the_waterfall_counts_every_call_once():
    a = arm_of_traces(nested("a", {"main": {"old": {"deep": 300}, "same": {"x": 500}}}))
    b = arm_of_traces(nested("b", {"main": {"new": 200, "same": {"x": 600}}}))
    fall = PathComparison(a, b).waterfall
    assert (fall.pairs, fall.only_a, fall.only_b) == (100, -300, 200)
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == fall.b


def test_the_inference_is_that_of_the_other_levels():
    a, b = sessions("a", BASE), sessions("b", SLOW)
    by_path, by_call = PathComparison(a, b).inference, Comparison(a, b).inference
    assert (by_path.a_ns, by_path.b_ns) == (by_call.a_ns, by_call.b_ns)


def test_a_side_has_the_operators_of_its_row():
    compared = PathComparison(*arms("02_module_renamed"))
    row = next(row for row in compared.rows if row.label.endswith("blocks.0.dw · convolution"))
    for side, parts in ((compared.a, row.a), (compared.b, row.b)):
        (part,) = (side.parts[number] for number in parts)
        (operator,) = part.operators
        assert side.program.operators[operator].op == "convolution"


def test_rows_of_one_arm_have_no_other_side():
    a = arm_of_traces(nested("a", {"main": {"old": 300}}))
    b = arm_of_traces(nested("b", {"main": {"new": 200}}))
    sides = {row.label: (len(row.a), len(row.b)) for row in PathComparison(a, b).rows}
    assert sides == {"main": (1, 1), "main > old": (1, 0), "main > new": (0, 1)}


@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "16_methods_swapped"])
def test_all_levels_can_be_compared_of_recorded_edits(edit):
    compared = PathComparison(*arms(edit))
    assert len(compared.compared) == len(compared.rows)
    assert len({row.label for row in compared.rows}) == len(compared.rows)


def test_paths_drift_within_sessions():
    """The second half of the steps has longer work, and so do the calls around it."""
    a = arm_of_traces(steps("a", [90] * 4 + [140] * 4), steps("a2", [90] * 4 + [140] * 4))
    b = arm_of_traces(steps("b", [90] * 8))
    compared = PathComparison(a, b)
    drifts = {row.label: drift for row, drift in zip(compared.rows, compared.drifts, strict=True)}
    assert drifts == {
        "main": pytest.approx(0.5),
        "main > step": pytest.approx(0.5),
        "main > step > work": pytest.approx(50 / 90),
    }
    assert compared.inference_drift == pytest.approx(0.5)
    assert PathComparison(b, b).drifts == (0.0, 0.0, 0.0)


def test_a_few_inferences_have_no_halves():
    one = arm_of_traces(steps("a", [90] * 3))
    assert set(PathComparison(one, one).drifts) == {None}


def test_a_path_drifts_as_its_call(tmp_path):
    """Also relative to the inference."""
    hot = {"add.out": [20_000] * 7 + [24_000] * 5, "mul.out": [30_000] * 12}
    a, b = (arm(write_session(tmp_path / f"{name}.etdp", hot)) for name in "ab")
    for relative in (False, True):
        calls, paths = (comparison_by(a, b, level, relative=relative) for level in (CALLS, PATH))
        of_call, of_path = (
            {
                row.label.rpartition(" > ")[2]: drift
                for row, drift in zip(one.rows, one.drifts, strict=True)
            }
            for one in (calls, paths)
        )
        assert of_call["add.out"] not in (None, 0)
        assert of_path["native_call_add.out"] == pytest.approx(of_call["add.out"], abs=0.01)


def test_paths_are_relative_to_the_inference():
    a, b = arms("06_portable_vs_xnnpack")
    absolute, relative = PathComparison(a, b), comparison_by(a, b, PATH, relative=True)
    factor = relative.common_factor
    assert relative.is_relative
    assert factor == absolute.common_factor != 1
    for one, other in zip(absolute.compared, relative.compared, strict=True):
        if one.change is not None:
            assert 1 + other.change == pytest.approx((1 + one.change) / factor)
    fall = relative.waterfall
    parts = fall.a, fall.common, fall.pairs, fall.only_a, fall.only_b, fall.rest
    assert sum(parts) == pytest.approx(fall.b)
    assert absolute.inference_drift == Comparison(a, b).inference_drift != 0
