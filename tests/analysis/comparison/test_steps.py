"""The steps from A to B add up, and each changed row has one."""

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE, sessions
from tests.analysis.comparison.test_rows import arms
from viewer.analysis.comparison.comparison import Comparison, Verdict
from viewer.analysis.comparison.steps import MOST_STEPS, steps_of


def test_a_changed_row_comes_first_and_the_rest_is_summed(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    b = sessions(tmp_path, "b", {**BASE, "add.out": 26_000, "new.out": 7_000})
    found = steps_of(Comparison(a, b))
    labels = [step.label for step in found.steps]
    assert labels[0] == "add.out"
    assert found.steps[0].verdict is Verdict.SLOWER
    assert "no change" in labels
    assert labels[-1] == "only in B"
    assert found.steps[-1].ns == pytest.approx(7_000, rel=0.05)


@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "12_wrapped", "20_bn_folded"])
def test_the_steps_add_up_to_the_sum_of_the_rows_of_b(edit):
    comparison = Comparison(*arms(edit))
    found = steps_of(comparison)
    rows = zip(comparison.rows, comparison.compared, strict=True)
    calls = [one for row, one in rows if row.level != "delegate_event"]
    assert found.a_ns == pytest.approx(sum(one.a_ns or 0 for one in calls))
    assert found.b_ns == pytest.approx(sum(one.b_ns or 0 for one in calls))
    assert found.a_ns + sum(step.ns for step in found.steps) == pytest.approx(found.b_ns)


def test_many_changed_rows_share_one_step(tmp_path):
    base = {f"op{i}.out": 20_000 + i for i in range(MOST_STEPS + 3)}
    a = sessions(tmp_path, "a", base, NOISE)
    b = sessions(tmp_path, "b", {name: 2 * ns for name, ns in base.items()}, NOISE)
    labels = [step.label for step in steps_of(Comparison(a, b)).steps]
    assert labels[MOST_STEPS] == "3 more changed"


def test_without_verdicts_the_largest_changes_have_steps(tmp_path):
    a = sessions(tmp_path, "a", BASE, NOISE[:1])
    b = sessions(tmp_path, "b", {**BASE, "add.out": 26_000}, NOISE[:1])
    steps = steps_of(Comparison(a, b)).steps
    assert steps[0].label == "add.out"
    assert steps[0].verdict is Verdict.CANNOT_TELL
    assert "inconclusive" not in [step.label for step in steps]
