"""Edits of models with their truth: that they are what they say, and how their pairs are scored."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.edits.cases import edits, edits_of
from tests.builders.edits.exported import exported
from tests.builders.edits.kinds import KINDS
from tests.builders.edits.models import MODELS
from tests.builders.edits.profile import arm
from tests.builders.edits.score import score
from tests.builders.edits.truth import grades
from viewer.analysis.comparison.comparison import Comparison
from viewer.analysis.comparison.operator_pairs import Grade, OperatorPair, pair_operators

SOME = 13  # every so many edits: a sample of 36 with all kinds


def answer(edit):
    """The truth as pairs."""
    single = [OperatorPair(x, y, Grade.MOVED, "") for x, y in edit.truth.pairs]
    groups = edit.truth.groups
    return single + [
        OperatorPair(x, y, Grade.GROUP, "") for of_a, of_b in groups for x in of_a for y in of_b
    ]


@pytest.mark.slow
def test_every_kind_and_model_is_edited_often():
    kinds, models, sizes = Counter(), Counter(), Counter()
    for edit in edits():
        kinds.update(edit.kinds)
        models[edit.models[0].name] += 1
        sizes[len(edit.kinds)] += 1
    assert min(kinds[kind] for kind in KINDS) >= 20
    assert min(models[model.__name__] for model in MODELS) >= 20
    assert sizes.total() >= 400
    assert sizes[2] + sizes[3] == sizes[1]


@pytest.mark.slow
def test_an_edit_is_the_same_every_time():
    first, second = (
        [(edit.name, edit.a.program.operators, edit.a.times, edit.b.constants)
         for edit in edits(every=SOME)]
        for _ in range(2)
    )  # fmt: skip
    assert first == second


@pytest.mark.slow
def test_the_truth_is_right_and_everything_but_it_is_not():
    for edit in edits(every=SOME):
        best = score(edit, answer(edit))
        assert (best.wrong.total(), best.missed) == (0, 0), edit.name
        assert best.right == pytest.approx(best.total), edit.name
        assert score(edit, []).missed > 0, edit.name
        # The last operator of A with the first of B is no pair of any edit.
        wrong = OperatorPair(len(edit.a.identities) - 1, 0, Grade.SAME, "")
        assert score(edit, [*answer(edit), wrong]).wrong == {"same": 1}, edit.name


def test_a_contradiction_forbids_the_grades_same_and_moved():
    edit = next(edits_of("widen"))
    contradicted = {frozenset(("resized",))}
    assert contradicted <= set(edit.truth.pairs.values())
    assert score(edit, answer(edit)).graded > 0
    a = edit.a.program.operators[0]
    assert "same" in grades(a, a)
    assert grades(a, replace(a, nodes=(replace(a.nodes[0], source_op="other"),))) == {
        "renamed", "rewritten"
    }  # fmt: skip


def test_what_was_fused_or_split_is_a_group():
    for kind, sizes in (("fuse linear", (3, 1)), ("split linear", (1, 3)),
                        ("fuse attention", (5, 1)), ("fold norm", (2, 1))):  # fmt: skip
        edit = next(edits_of(kind))
        assert sizes in {(len(of_a), len(of_b)) for of_a, of_b in edit.truth.groups}


def test_equal_elements_of_a_list_are_exchangeable_without_constants():
    """Of two copies any may be the new one; other operators cannot be."""
    edit = next(
        edit
        for edit in edits_of("duplicate front")
        if not edit.constants and any("new" in stage.uid for stage in edit.b.stages)
    )
    in_stages = {i for stage in edit.b.stages for i in stage.operators}
    assert edit.truth.free[1] <= in_stages
    assert edit.truth.free[1] & {y for _, y in edit.truth.pairs}


def test_an_unchanged_model_is_one_program():
    """As its two ETRecords would be: debug handles decide, and every operator is the same."""
    edit = next(edits_of("retrain"))
    a, b = (exported(model).program for model in edit.models)
    pairs = pair_operators(a, b)
    assert pairs.same_program
    assert [(pair.a, pair.b) for pair in pairs.pairs] == [(i, i) for i in range(len(a.operators))]


@pytest.mark.slow
def test_rows_have_every_call_once():
    """Calls are in one row if they share operators or pairs, so no time is divided."""
    for edit in edits(every=4 * SOME):
        arms = arm(edit.a, "a.etdp"), arm(edit.b, "b.etdp")
        comparison = Comparison(*arms)
        for side, side_arm in enumerate(arms):
            calls = [part for row in comparison.rows for part in (row.a, row.b)[side]]
            assert sorted(calls) == list(range(len(side_arm.parts)))
            measured = comparison.sum_ns(side)
            total = sum((edit.a, edit.b)[side].times.values())
            assert measured == pytest.approx(total, rel=0.05)
        assert comparison.waterfall is not None
