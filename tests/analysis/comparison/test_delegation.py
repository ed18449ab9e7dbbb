"""What delegates run in each arm, and which operators moved into or out of them."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.levels import DELEGATE, NAME
from viewer.analysis.comparison.operator_changes import delegation_changes


def changes_of(a, b):
    return delegation_changes(Comparison(a, b), Comparison(a, b, DELEGATE))


@pytest.fixture(scope="module")
def moved():
    """Portable kernels against XNNPACK."""
    return changes_of(*arms("06_portable_vs_xnnpack"))


def operators_in(arm_of_parts, *, delegated):
    """The operators of the calls inside or outside delegates, counted one by one."""
    calls = [part for part in arm_of_parts.parts if part.id.event is None]
    return {i for part in calls if bool(part.backend) is delegated for i in part.operators}


def test_coverage_counts_operators_and_calls_of_each_arm(moved):
    for own, side in zip(moved.coverage, (moved.calls.a, moved.calls.b), strict=True):
        inside, outside = (operators_in(side, delegated=on) for on in (True, False))
        assert own.delegated == len(inside)
        assert own.operators == len(inside | outside)
        assert own.partly == len(inside & outside)
    assert moved.coverage[0].delegated == 0
    assert moved.coverage[1].delegated > 0


def test_the_delegated_time_is_that_of_all_delegate_calls(moved):
    a, b = moved.coverage
    assert a.ns == 0
    rows = dict(
        zip((r.label for r in moved.by_delegate.rows), moved.by_delegate.compared, strict=True)
    )
    assert b.ns == pytest.approx(rows["XnnpackBackend"].b_ns)
    assert b.inference_ns == moved.calls.inference.b_ns


def test_what_moved_has_the_time_of_its_own_calls_only(moved):
    only_a, only_b = moved.only_in
    assert only_a == ()
    assert {i for one in only_b for i in one.operators} == operators_in(
        moved.calls.a, delegated=False
    ) & {
        pair.a
        for pair in moved.calls.pairs.pairs
        if pair.b in operators_in(moved.calls.b, delegated=True)
    }
    for one in only_b:
        assert one.ns == pytest.approx(moved.calls.a.medians([one.parts]).item())
        assert set(one.parts) <= set(moved.calls.rows[one.row].a)
        assert set(one.into) <= set(moved.calls.rows[one.row].b)
        assert one.members >= len({i for n in one.into for i in moved.calls.b.parts[n].operators})
    assert [one.ns for one in only_b] == sorted((one.ns for one in only_b), reverse=True)


def test_swapped_arms_swap_what_moved(moved):
    other = changes_of(moved.calls.b, moved.calls.a)
    assert other.only_in[1] == ()
    assert [one.ns for one in other.only_in[0]] == [one.ns for one in moved.only_in[1]]


def test_rows_have_a_delegate_call_in_one_arm_at_least(moved):
    rows, parts = moved.calls.rows, moved.calls.b.parts
    assert moved.rows
    assert all(any(parts[n].backend for n in rows[i].b) for i in moved.rows)
    delegate_calls = sum(bool(part.backend) and part.id.event is None for part in parts)
    assert sum(bool(parts[n].backend) for i in moved.rows for n in rows[i].b) == delegate_calls
    assert delegate_calls == moved.coverage[1].calls


def test_without_delegates_nothing_moved():
    same = changes_of(*arms("01_reexport"))
    assert same.rows == ()
    assert same.only_in == ((), ())
    assert same.coverage[0].ns == same.coverage[1].ns == 0


def test_without_a_record_calls_are_counted_and_operators_unknown():
    source = DATA / "compare/06_portable_vs_xnnpack"
    bare = changes_of(arm(source / "a.etdp"), arm(source / "b.etdp"))
    assert not bare.is_linked
    assert bare.coverage[1].calls > 0
    assert bare.coverage[1].delegated == 0
    assert bare.only_in == ((), ())


def test_profiles_without_calls_have_nothing_to_delegate(moved):
    a, b = moved.calls.a, moved.calls.b
    by_name = delegation_changes(Comparison(a, b, NAME), Comparison(a, b, NAME))
    assert not by_name.has_calls
    assert by_name.rows == ()


def test_what_moved_is_relative_to_the_inference_if_rows_are(moved):
    a, b = moved.calls.a, moved.calls.b
    there = Comparison(b, a, relative=True)  # A runs outside what B delegates
    relative = delegation_changes(there, Comparison(b, a, DELEGATE, relative=True))
    absolute = {one.operators: one.ns for one in moved.only_in[1]}
    found = {one.operators: one.ns for one in relative.only_in[0]}
    assert found.keys() == absolute.keys()
    for operators, ns in found.items():
        assert ns == pytest.approx(absolute[operators] / there.common_factor)
    assert relative.coverage[0].ns == moved.coverage[1].ns  # of one arm, with its inference
