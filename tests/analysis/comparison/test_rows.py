"""Rows: calls that share operators are one, and every row of a labeled edit has its true calls."""

import json

import pytest

from tests.analysis.comparison.test_operator_pairs import EDITS
from tests.builders.compare_sessions import arm, write_sessions
from tests.paths import DATA
from viewer.analysis.comparison.arms import CALLS
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.operator_pairs import Grade
from viewer.analysis.comparison.rows import DELEGATE_EVENT, paired_operators, rows_of


def arms(edit):
    return [
        arm(*(DATA / f"compare/{edit}/{side}.{end}" for end in ("etrecord", "etdp")))
        for side in "ab"
    ]


def rows(a, b):
    return rows_of(a, b, paired_operators(a, b))


def calls(arm_of_rows, parts):
    found = (arm_of_rows.parts[number].id for number in parts)
    return frozenset((one.method, one.instruction) for one in found)


@pytest.mark.parametrize("edit", EDITS)
def test_rows_have_exactly_the_calls_that_can_be_compared(edit):
    a, b = arms(edit)
    truth = json.loads((DATA / f"compare/{edit}/truth.json").read_text())
    expected = {
        (frozenset(map(tuple, row["a"])), frozenset(map(tuple, row["b"]))) for row in truth["rows"]
    }
    found = {(calls(a, r.a), calls(b, r.b)) for r in rows(a, b) if r.level == CALLS}
    assert found == expected


@pytest.mark.parametrize("edit", EDITS)
def test_every_part_is_in_one_row(edit):
    a, b = arms(edit)
    found = rows(a, b)
    for side, one in ((lambda r: r.a, a), (lambda r: r.b, b)):
        assert sorted(n for row in found for n in side(row)) == list(range(len(one.parts)))


def test_kernels_against_the_delegate_call_that_took_them_over_are_a_group():
    a, b = arms("06_portable_vs_xnnpack")
    groups = [row for row in rows(a, b) if row.grade is Grade.GROUP]
    assert groups
    assert all(len(row.a) > len(row.b) >= 1 for row in groups)
    assert {row.why for row in groups} == {"they share operators"}


def test_events_of_a_delegate_are_rows_under_their_calls():
    a, b = arms("06_portable_vs_xnnpack")
    only_b = [row for row in rows(a, b) if row.level == DELEGATE_EVENT]
    assert {row.grade for row in only_b} == {Grade.ONLY_B}
    same = [row for row in rows(b, b) if row.level == DELEGATE_EVENT]
    assert len(same) == len(only_b)
    assert {row.grade for row in same} == {Grade.SAME}
    assert same[0].label.endswith("(XnnpackBackend)")


def test_without_a_record_calls_are_paired_by_name_in_order(tmp_path):
    a = arm(*write_sessions(tmp_path, "a", {"conv.out": 10, "add.out": 20}))
    b = arm(*write_sessions(tmp_path, "b", {"mul.out": 5, "conv.out": 10, "add.out": 20}))
    found = {(row.label, row.grade) for row in rows(a, b)}
    assert found == {
        ("conv.out", Grade.BY_NAME), ("add.out", Grade.BY_NAME), ("mul.out", Grade.ONLY_B)
    }  # fmt: skip


def test_calls_are_added_up_by_delegate_and_those_of_no_delegate_apart():
    a, b = arms("06_portable_vs_xnnpack")
    comparison = Comparison(a, b, level="delegate")
    labels = {row.label: (bool(row.a), bool(row.b)) for row in comparison.rows}
    assert labels["XnnpackBackend"] == (False, True)
    assert labels["(not delegated)"][0]
    fall = comparison.waterfall
    assert fall.a + fall.pairs + fall.only_a + fall.only_b + fall.rest == pytest.approx(fall.b)


def test_the_whole_inference_can_be_all_that_is_compared():
    a, b = arms("06_portable_vs_xnnpack")
    comparison = Comparison(a, b, level="inference")
    assert comparison.rows == ()
    assert comparison.inference.b_ns == Comparison(a, b).inference.b_ns
