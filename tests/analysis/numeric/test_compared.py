"""Pairs with their figures, or with the reason why there are none."""

import math

import numpy as np
import pytest

from tests.analysis.numeric.test_pairing import real
from viewer.analysis.numeric.compared import (
    EDGES,
    NOT_COMPARED,
    OTHER_SHAPES,
    STEP_TITLES,
    Growth,
    OperatorErrors,
    compared,
    grows_most,
    growth_of,
    largest_growth,
)
from viewer.analysis.numeric.gap import Gap
from viewer.analysis.numeric.logged_values import Value, value_of
from viewer.analysis.numeric.pairing import ONLY_A, RESULT, Pair
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import TensorLayout


def value(*numbers, shape=None):
    stored = np.array(numbers, np.float32)
    return value_of(TensorLayout("f32", shape or stored.shape), stored.view(np.uint8))


def pair(one, reference, why="same name"):
    return Pair("a", "a", (), (), None, one, reference, why)


def test_values_of_equal_shapes_are_compared():
    (found,) = compared([pair(value(1, 2, shape=(1, 2)), value(1, 4))], None)
    assert (found.gap.mse, found.gap.l1, found.gap.place, found.fault) == (2, 2, (0, 1), "")
    assert grows_most([found]) is found


def test_what_cannot_be_compared_says_why():
    def gone():
        raise UnreadableFile("a.npz", "it is damaged")

    broken = Value(TensorLayout("f32", (2,)), gone)
    found = compared(
        [
            pair(value(1, 2), value(1, 2, 3)),
            pair(value(1, 2), None, ONLY_A),
            pair(value(1, 2), broken),
        ],
        None,
    )
    assert [one.gap for one in found] == [None] * 3
    assert [one.fault for one in found] == [OTHER_SHAPES, ONLY_A, "a.npz: it is damaged"]
    assert grows_most(found) is None


def pair_of_growth(*operators, why=""):
    return Pair("", "", (), operators, None, None, None, why)


def gap(error):
    return Gap(1, 0, 0, None, None, error, 0, None, (0, 0), (0, 0))


@pytest.fixture(scope="module")
def program():
    return real("portable").table.program


def index(program, label):
    return next(op.index for op in program.operators if op.label == label)


def test_an_error_is_measured_by_those_of_what_it_was_made_from(program):
    """softmax and cumsum take the two results of split, which was not compared."""
    labels = ("conv · convolution", "fc2 · linear", "softmax", "cumsum", "mul")
    pairs = [pair_of_growth(index(program, label)) for label in labels]
    growths = growth_of(pairs, [gap(e) for e in (1e-3, 2e-3, 8e-3, 1e-3, 9e-3)], program)
    assert [growth.before for growth in growths] == [0, 1e-3, 2e-3, 2e-3, 8e-3]
    assert [growth.factor for growth in growths] == pytest.approx([None, 2, 4, 0.5, 1.125])
    assert largest_growth(growths) == 2


def test_without_a_graph_it_is_the_one_before():
    growths = growth_of([pair_of_growth()] * 4, [gap(0.0), gap(1e-6), None, gap(4e-5)], None)
    assert growths == [Growth(0, 0), Growth(0, 1e-6), None, Growth(1e-6, 4e-5)]
    assert growths[3].factor == pytest.approx(40)
    assert largest_growth(growths) == 3


def test_results_of_the_method_do_not_grow():
    growths = growth_of([pair_of_growth(), pair_of_growth(why=RESULT)], [gap(1e-6), gap(1.0)], None)
    assert growths[1] is None


def test_no_error_grows_nowhere():
    assert largest_growth([Growth(0, 0), None, Growth(2, 1)]) is None


@pytest.mark.parametrize(
    ("error", "step"),
    [(0.0, 0), (9e-7, 0), (1e-6, 1), (5e-4, 3), (0.02, 5), (0.1, 6), (40.0, 6), (math.inf, 6)],
)
def test_a_step_is_a_power_of_ten(error, step):
    assert OperatorErrors({3: error}).step((3,)) == step


def test_of_several_operators_the_largest_counts():
    errors = OperatorErrors({0: 1e-8, 2: 1e-3})
    assert errors.largest((0, 1, 2)) == 1e-3
    assert errors.largest((1,)) is None
    assert errors.step((1,)) == NOT_COMPARED
    assert errors.steps(4).tolist() == [0, NOT_COMPARED, 4, NOT_COMPARED]


def test_every_step_has_a_title_and_every_set_a_version():
    assert len(STEP_TITLES) == len(EDGES) + 1
    assert OperatorErrors({}).version != OperatorErrors({}).version
