"""Call paths as the rows of a comparison."""

import pytest

from tests.analysis.comparison.changes.paths.test_path_changes import BASE, SLOW, sessions
from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, write_session
from tests.builders.path_arms import arm_of_traces, nested, steps
from viewer.analysis.comparison.arms import CALLS, PATH
from viewer.analysis.comparison.changes.paths.path_rows import PathComparison, comparison_by
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.operator_pairs import Grade


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
