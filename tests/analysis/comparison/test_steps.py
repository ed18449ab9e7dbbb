"""The steps from A to B add up, and each changed row has one."""

import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE, sessions
from tests.analysis.comparison.test_rows import arms
from tests.builders.inference_trace import inference_trace
from viewer.analysis.comparison.comparison import (
    MOST_STEPS,
    SINGLE_CALLS,
    Comparison,
    Verdict,
    steps_of,
)
from viewer.analysis.comparison.session_test import LEAST_SESSIONS
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace


def test_a_changed_row_comes_first_and_the_rest_is_summed(tmp_path):
    a = sessions(tmp_path, "a", BASE)
    b = sessions(tmp_path, "b", {**BASE, "add.out": 26_000, "new.out": 7_000})
    found = steps_of(Comparison(a, b))
    labels = [step.label for step in found.steps]
    assert labels[0] == "add.out"
    assert found.steps[0].verdict is Verdict.SLOWER
    assert "no change" in labels
    only = next(step for step in found.steps if step.label == "only in B")
    assert only.ns == pytest.approx(7_000, rel=0.05)


@pytest.mark.parametrize("edit", ["06_portable_vs_xnnpack", "12_wrapped", "20_bn_folded"])
def test_the_steps_lead_from_the_inference_of_a_to_that_of_b(edit):
    comparison = Comparison(*arms(edit))
    found = steps_of(comparison)
    rows = zip(comparison.rows, comparison.compared, strict=True)
    calls = [one for row, one in rows if row.level != "delegate_event"]
    whole = comparison.inference
    assert (found.a_ns, found.b_ns) == (whole.a_ns, whole.b_ns)
    assert found.rows_a == pytest.approx(sum(one.a_ns or 0 for one in calls))
    assert found.rows_b == pytest.approx(sum(one.b_ns or 0 for one in calls))
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


def test_single_calls_that_ran_long_have_a_bar_and_the_totals_are_those_of_the_headline(tmp_path):
    """In every inference of A another operator is interrupted, so no median of a row shows it."""
    names = [f"op{i}.out" for i in range(5)]

    def inferences(late):
        return [
            [(name, 10_000 + late * (at == number % 5)) for at, name in enumerate(names)]
            for number in range(20)
        ]

    arms = []
    for name, late in (("a", 900_000), ("b", 0)):
        space = Workspace()
        for session in range(LEAST_SESSIONS):
            runs = [(n * 10**7, own) for n, own in enumerate(inferences(late + session))]
            space.add(inference_trace(f"{name}{session}.json", runs))
        arms.append(arm_of(space))
    comparison = Comparison(*arms)
    found = steps_of(comparison)
    assert (found.a_ns, found.b_ns) == (comparison.inference.a_ns, comparison.inference.b_ns)
    assert found.steps[-1].label == SINGLE_CALLS
    assert found.steps[-1].ns == pytest.approx(-900_000, rel=0.01)
    assert found.rows_a == pytest.approx(50_000, rel=0.01)
