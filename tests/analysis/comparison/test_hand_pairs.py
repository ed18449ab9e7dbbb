"""The user's pairs overrule those that were found."""

import pytest

from tests.analysis.comparison.test_rows import arms
from tests.builders.compare_sessions import arm, write_sessions
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.hand_pairs import HandPairs, key_of, keys_of_parts
from viewer.analysis.comparison.operator_pairs import Grade


@pytest.fixture
def unlinked(tmp_path):
    a = arm(*write_sessions(tmp_path, "a", {"conv.out": 900, "old.out": 500, "add.out": 100}))
    b = arm(*write_sessions(tmp_path, "b", {"conv.out": 900, "new.out": 400, "add.out": 100}))
    return a, b


def rows_by_label(comparison):
    return {row.label: row for row in comparison.rows}


def test_two_calls_of_other_names_are_paired(unlinked):
    by_hand = HandPairs().with_made(("forward@1", "forward@1"))
    before = rows_by_label(Comparison(*unlinked))
    assert not before["old.out"].b
    (key,) = keys_of_parts(unlinked[0], before["old.out"].a)
    (other,) = keys_of_parts(unlinked[1], before["new.out"].b)
    found = rows_by_label(Comparison(*unlinked, by_hand=by_hand.with_made((key, other))))
    assert found["old.out"].grade is Grade.BY_HAND
    assert "new.out" not in found
    assert found["conv.out"].grade is Grade.BY_NAME


def test_separated_calls_are_two_rows(unlinked):
    row = rows_by_label(Comparison(*unlinked))["conv.out"]
    keys = (keys_of_parts(unlinked[0], row.a)[0], keys_of_parts(unlinked[1], row.b)[0])
    found = Comparison(*unlinked, by_hand=HandPairs().with_cut([keys])).rows
    alone = [row.grade for row in found if row.label == "conv.out"]
    assert alone == [Grade.ONLY_A, Grade.ONLY_B]


def test_operators_are_named_by_method_and_handle_and_their_pairs_overrule():
    a, b = arms("05_swapped")
    plain = Comparison(a, b)
    one, other = [row for row in plain.rows if len(row.a) == len(row.b) == 1][:2]
    x, y = (keys_of_parts(a, one.a)[0], keys_of_parts(b, other.b)[0])
    assert x == key_of(a.program.operators[a.parts[one.a[0]].operators[0]])
    found = Comparison(a, b, by_hand=HandPairs(made=((x, y),)))
    row = next(row for row in found.rows if row.a == one.a)
    assert (row.b, row.grade, row.why) == (other.b, Grade.BY_HAND, "paired by hand")


def test_every_part_stays_in_one_row():
    a, b = arms("06_portable_vs_xnnpack")
    one = next(row for row in Comparison(a, b).rows if row.a and row.b)
    cut = [(x, y) for x in keys_of_parts(a, one.a) for y in keys_of_parts(b, one.b)]
    for side, arm_ in ((0, a), (1, b)):
        rows = Comparison(a, b, by_hand=HandPairs().with_cut(cut)).rows
        used = [part for row in rows for part in (row.b if side else row.a)]
        assert sorted(used) == list(range(len(arm_.parts)))


def test_keys_of_nothing_change_nothing(unlinked):
    by_hand = HandPairs(made=(("gone:1", "gone:2"),), cut=(("x", "y"),))
    assert Comparison(*unlinked, by_hand=by_hand).rows == Comparison(*unlinked).rows


def test_a_new_pair_replaces_older_ones_and_swapping_keeps_all():
    pairs = HandPairs().with_made(("a", "b")).with_made(("a", "c")).with_cut([("d", "e")])
    assert pairs == HandPairs((("a", "c"),), (("d", "e"),))
    assert pairs.swapped == HandPairs((("c", "a"),), (("e", "d"),))
    assert pairs.with_cut([("a", "c")]).made == ()
