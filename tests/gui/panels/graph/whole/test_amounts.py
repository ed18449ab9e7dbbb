"""The values of groups: sets of operators count where they are, and are never divided."""

import numpy as np
import pytest

from tests.builders.nested_program import nested_program
from viewer.gui.panels.graph.whole.amounts import amounts
from viewer.gui.panels.graph.whole.measures import Measure, MeasureKind
from viewer.render.graph.model_tree import group_tree

PLACES = ["a.x", "a.x", "a.y", "a.y", "b", "b"]


def measure(sets, combine=np.add, dtype=np.int64):
    lengths = [len(own) for own, _ in sets]
    return Measure(
        MeasureKind.SIZE, "Bytes", np.array([o for own, _ in sets for o in own], np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([value for _, value in sets], dtype), lambda value: f"{value:g} B", "nothing",
        "calls", combine, 100,
    )  # fmt: skip


@pytest.fixture
def tree():
    return group_tree(nested_program(PLACES), ())


def of(tree, found, name):
    node = tree.names.index(name)
    return int(found.own[node]), int(found.shared[node]), int(found.sets[node])


def test_a_set_counts_for_the_innermost_group_that_has_all_of_it(tree):
    found = amounts(tree, measure([((0,), 5), ((0, 1), 7), ((1, 2), 20), ((3, 4, 5), 40)]))
    assert of(tree, found, "x") == (12, 20, 1)
    assert of(tree, found, "y") == (0, 60, 2)
    assert of(tree, found, "a") == (32, 40, 1)
    assert of(tree, found, "b") == (0, 40, 1)
    assert of(tree, found, "forward") == (72, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_every_set_looked_at_alone(tree, seed):
    dice = np.random.default_rng(seed)
    sets = [
        (tuple(sorted(dice.choice(6, dice.integers(1, 6), replace=False).tolist())), 3**n)
        for n in range(6)
    ]
    found = amounts(tree, measure(sets))
    for node in range(len(tree)):
        inside = set(tree.inside(node).tolist())
        own = [value for operators, value in sets if set(operators) <= inside]
        shared = [value for operators, value in sets
                  if inside & set(operators) and not set(operators) <= inside]  # fmt: skip
        assert (found.own[node], found.has[node]) == (sum(own), bool(own))
        assert (found.shared[node], found.sets[node]) == (sum(shared), len(shared))


def test_a_measure_may_take_the_largest_value_instead_of_the_sum(tree):
    found = amounts(tree, measure([((0,), 0.25), ((1,), 0.5), ((4,), 2.0)], np.maximum, np.float64))
    values = {name: float(found.own[tree.names.index(name)]) for name in ("x", "a", "b", "forward")}
    assert values == {"x": 0.5, "a": 0.5, "b": 2.0, "forward": 2.0}


def test_texts_tell_what_is_own_and_what_is_shared(tree):
    found = amounts(tree, measure([((0,), 5), ((0, 2), 7), ((2,), 0), ((3, 4), 1), ((3, 5), 1)]))
    texts = [found.text(int(leaf)) for leaf in tree.leaf]
    plain = [text.replace("\u202f", " ") for text in texts]
    assert plain == [
        "5 B · 5.0 % + shared", "", "7 B shared by 2", "2 B in 2 shared calls", "1 B shared by 2",
        "1 B shared by 2",
    ]  # fmt: skip


def test_without_sets_nothing_has_a_value(tree):
    found = amounts(tree, measure([]))
    assert not found.has.any()
    assert not found.sets.any()
