"""The change of each operator: of its own row, or of a row that it shares with others."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.analysis.comparison.changes.operators import operator_changes
from viewer.analysis.comparison.comparison import Comparison, Verdict
from viewer.analysis.comparison.rollups import SET

SOURCE = DATA / "compare/02_module_renamed"


def by_label(changes):
    """The number of each operator of A by its label."""
    return {one.label: one.index for one in changes.comparison.a.program.operators}


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """Three sessions each; the depthwise convolution of one block takes twice as long in B."""
    folder = tmp_path_factory.mktemp("slower")
    a, b = write_arm(folder, "a", SOURCE), write_arm(folder, "b", SOURCE, {"blocks.1.dw": 2.0})
    record = SOURCE / "a.etrecord"
    return operator_changes(Comparison(arm(*a, record), arm(*b, record)))


@pytest.fixture(scope="module")
def delegated():
    """Portable kernels against XNNPACK."""
    return operator_changes(Comparison(*arms("06_portable_vs_xnnpack")))


@pytest.mark.slow
def test_an_operator_with_a_call_of_its_own_has_its_change(slower):
    conv = by_label(slower)["blocks.1.dw · convolution"]
    assert slower.operators[slower.row_of(conv)] == (conv,)
    assert slower.change_of(conv).verdict is Verdict.SLOWER
    assert slower.largest == pytest.approx(slower.change_of(conv).change_ns)


def test_the_order_starts_with_what_is_proven(slower):
    conv = by_label(slower)["blocks.1.dw · convolution"]
    assert slower.order.argmax() == conv
    assert (slower.order[[slower.row_of(i) < 0 for i in range(len(slower.order))]] == 0).all()


def test_swapped_arms_negate_the_changes(slower):
    compared = slower.comparison
    other = operator_changes(Comparison(compared.b, compared.a))
    conv = by_label(slower)["blocks.1.dw · convolution"]
    assert other.change_of(conv).verdict is Verdict.FASTER
    assert other.change_of(conv).change_ns == -slower.change_of(conv).change_ns


def test_operators_of_a_delegate_call_share_its_row_and_time(delegated):
    parts = delegated.comparison.b.parts
    row, members = next(
        (row, delegated.operators[n])
        for n, row in enumerate(delegated.comparison.rows)
        if len(row.a) > 1 and any(parts[part].backend for part in row.b)
    )
    own = [delegated.change_of(i) for i in members]
    assert len(members) > 1
    assert all(one is own[0] for one in own)
    assert (delegated.own[list(members)] == -1).all()
    assert (delegated.sets[list(members)] == 1).all()
    times = delegated.comparison.a.medians([row.a])
    assert own[0].a_ns == pytest.approx(times.item())


def test_no_operator_is_in_two_rows_by_call(delegated):
    shown = [i for operators in delegated.operators for i in operators]
    assert len(shown) == len(set(shown))
    assert all(len(delegated.rows_of(i)) == 1 for i in shown)


def test_rows_that_only_b_has_are_counted():
    inserted = operator_changes(Comparison(*arms("10_blocks_6_to_8")))
    rows = inserted.comparison.rows
    assert inserted.only_b == sum(not row.a for row in rows) > 0
    assert all(not inserted.operators[n] for n, row in enumerate(rows) if not row.a)


def test_without_calls_an_operator_may_have_a_row_and_share_others(delegated):
    xnnpack = delegated.comparison.b
    by_set = operator_changes(Comparison(xnnpack, xnnpack, SET))
    both = [i for i in range(len(by_set.own)) if by_set.own[i] >= 0 and by_set.sets[i]]
    assert both
    for i in both:
        assert by_set.row_of(i) == by_set.own[i]
        assert {int(by_set.own[i]), int(by_set.shared[i])} <= set(by_set.rows_of(i))


def test_an_arm_without_a_program_has_no_operators():
    bare = operator_changes(Comparison(arm(SOURCE / "a.etdp"), arm(SOURCE / "b.etdp")))
    assert len(bare.own) == len(bare.order) == 0
