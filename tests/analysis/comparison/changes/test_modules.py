"""The changes of modules with all that is in them."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm
from tests.builders.stretched_dumps import write_arm
from tests.paths import DATA
from viewer.analysis.comparison.changes.modules import module_changes
from viewer.analysis.comparison.comparison import Comparison, Verdict
from viewer.analysis.comparison.rollups import MODULE
from viewer.program.module_tree import module_tree

SOURCE = DATA / "compare/02_module_renamed"


def changes_of(a, b):
    return module_changes(Comparison(a, b, MODULE), module_tree(a.program))


def by_path(changes):
    """The figures of each module by its path; "" is the root."""
    modules = changes.tree.modules
    return {m.path: one for m, one in zip(modules, changes.compared, strict=True)}


@pytest.fixture
def slower(tmp_path):
    """Three sessions each; the depthwise convolution of one block takes twice as long in B."""
    a = write_arm(tmp_path, "a", SOURCE)
    b = write_arm(tmp_path, "b", SOURCE, {"blocks.1.dw": 2.0})
    record = SOURCE / "a.etrecord"
    return changes_of(arm(*a, record), arm(*b, record))


@pytest.mark.slow
def test_a_module_sums_up_what_is_in_it(slower):
    found = by_path(slower)
    own = dict(
        zip((r.label for r in slower.comparison.rows), slower.comparison.compared, strict=True)
    )
    for side in ("sessions_a", "sessions_b"):
        whole = getattr(found["blocks.1"], side)
        parts = [getattr(own[path], side) for path in ("blocks.1", "blocks.1.dw", "blocks.1.pw")]
        assert [sum(own) for own in zip(*parts, strict=True)] == pytest.approx(whole)


@pytest.mark.slow
def test_each_module_has_its_own_verdict(slower):
    verdicts = {path: one.verdict for path, one in by_path(slower).items()}
    slow = {"", "blocks.1", "blocks.1.dw"}
    assert {path for path, verdict in verdicts.items() if verdict is Verdict.SLOWER} == slow
    assert {v for path, v in verdicts.items() if path not in slow} == {Verdict.NO_CHANGE}


@pytest.mark.slow
def test_the_rows_of_a_module_are_those_of_its_whole_subtree(slower):
    number = {m.path: n for n, m in enumerate(slower.tree.modules)}
    labels = {slower.comparison.rows[i].label for i in slower.rows_in(number["blocks.1"])}
    assert labels == {"blocks.1", "blocks.1.dw", "blocks.1.pw"}
    assert len(slower.rows_in(0)) == len(slower.comparison.rows)


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
def test_modules_are_relative_to_the_inference_if_their_rows_are(slower):
    a, b = slower.comparison.a, slower.comparison.b
    relative = module_changes(Comparison(a, b, MODULE, relative=True), slower.tree)
    factor = relative.comparison.common_factor
    before, after = by_path(slower), by_path(relative)
    assert factor > 1.01
    assert after["blocks.1"].change < before["blocks.1"].change
    assert after["blocks.1"].a_ns == pytest.approx(before["blocks.1"].a_ns, rel=0.05)
