"""The change of each operator: of its own row, or of a row that it shares with others."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.analysis.comparison.comparison import Comparison, Verdict
from viewer.analysis.comparison.levels import MODULE, SET
from viewer.analysis.comparison.operator_changes import module_changes, operator_changes
from viewer.program.module_tree import module_tree

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


MODULES_SOURCE = DATA / "compare/02_module_renamed"


def changes_of(a, b):
    return module_changes(Comparison(a, b, MODULE), module_tree(a.program))


def by_path(changes):
    """The figures of each module by its path; "" is the root."""
    modules = changes.tree.modules
    return {m.path: one for m, one in zip(modules, changes.compared, strict=True)}


@pytest.fixture
def by_module(tmp_path):
    """Three sessions each; the depthwise convolution of one block takes twice as long in B."""
    a = write_arm(tmp_path, "a", MODULES_SOURCE)
    b = write_arm(tmp_path, "b", MODULES_SOURCE, {"blocks.1.dw": 2.0})
    record = MODULES_SOURCE / "a.etrecord"
    return changes_of(arm(*a, record), arm(*b, record))


@pytest.mark.slow
def test_a_module_sums_up_what_is_in_it(by_module):
    found = by_path(by_module)
    own = dict(
        zip(
            (r.label for r in by_module.comparison.rows),
            by_module.comparison.compared,
            strict=True,
        )
    )
    for side in ("sessions_a", "sessions_b"):
        whole = getattr(found["blocks.1"], side)
        parts = [getattr(own[path], side) for path in ("blocks.1", "blocks.1.dw", "blocks.1.pw")]
        assert [sum(own) for own in zip(*parts, strict=True)] == pytest.approx(whole)


@pytest.mark.slow
def test_each_module_has_its_own_verdict(by_module):
    verdicts = {path: one.verdict for path, one in by_path(by_module).items()}
    slow = {"", "blocks.1", "blocks.1.dw"}
    assert {path for path, verdict in verdicts.items() if verdict is Verdict.SLOWER} == slow
    assert {v for path, v in verdicts.items() if path not in slow} == {Verdict.NO_CHANGE}


@pytest.mark.slow
def test_the_rows_of_a_module_are_those_of_its_whole_subtree(by_module):
    number = {m.path: n for n, m in enumerate(by_module.tree.modules)}
    labels = {by_module.comparison.rows[i].label for i in by_module.rows_in(number["blocks.1"])}
    assert labels == {"blocks.1", "blocks.1.dw", "blocks.1.pw"}
    assert len(by_module.rows_in(0)) == len(by_module.comparison.rows)


def test_renamed_modules_are_compared_at_their_place_in_a():
    found = by_path(changes_of(*arms("02_module_renamed")))
    assert found["blocks.0.dw"].a_ns is not None
    assert found["blocks.0.dw"].b_ns is not None


def test_shared_time_counts_in_the_smallest_module_that_contains_it_all():
    changes = changes_of(*arms("06_portable_vs_xnnpack"))
    rows, modules = changes.comparison.rows, changes.tree.modules
    at = {row.label: modules[n].path for row, n in zip(rows, changes.place, strict=True)}
    shared = [path for label, path in at.items() if " + " in label]
    assert shared == ["layers.0", ""]
    assert at["layers.0.ln1"] == "layers.0.ln1"
    found = by_path(changes)
    assert found["layers.0.attn.q"] is None  # nothing is in it alone
    assert found[""].a_ns == pytest.approx(
        sum(one.a_ns or 0 for one in changes.comparison.compared)
    )


def test_what_only_b_has_counts_in_the_module_around_it():
    changes = changes_of(*arms("10_blocks_6_to_8"))
    assert changes.only_b
    rows = zip(changes.comparison.rows, changes.place, strict=True)
    places = {row.label: changes.tree.modules[n].path for row, n in rows if not row.a}
    assert set(places) >= {"blocks.6", "blocks.7"}
    assert set(places.values()) == {""}
    found = by_path(changes)
    whole = sum(one.b_ns or 0 for one in changes.comparison.compared)
    assert found[""].b_ns == pytest.approx(whole)


def test_one_session_proves_nothing():
    changes = changes_of(*arms("02_module_renamed"))
    assert {one.verdict for one in changes.compared} == {Verdict.CANNOT_TELL}


@pytest.mark.slow
def test_modules_are_relative_to_the_inference_if_their_rows_are(by_module):
    a, b = by_module.comparison.a, by_module.comparison.b
    relative = module_changes(Comparison(a, b, MODULE, relative=True), by_module.tree)
    factor = relative.comparison.common_factor
    before, after = by_path(by_module), by_path(relative)
    assert factor > 1.01
    assert after["blocks.1"].change < before["blocks.1"].change
    assert after["blocks.1"].a_ns == pytest.approx(before["blocks.1"].a_ns, rel=0.05)
