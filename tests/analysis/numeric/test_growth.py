"""Where errors start and grow."""

import pytest

from tests.analysis.numeric.test_pairing import real
from viewer.analysis.numeric.gap import Gap
from viewer.analysis.numeric.growth import Growth, growth_of, largest_growth
from viewer.analysis.numeric.pairing import RESULT, Pair


def pair(*operators, why=""):
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
    pairs = [pair(index(program, label)) for label in labels]
    growths = growth_of(pairs, [gap(e) for e in (1e-3, 2e-3, 8e-3, 1e-3, 9e-3)], program)
    assert [growth.before for growth in growths] == [0, 1e-3, 2e-3, 2e-3, 8e-3]
    assert [growth.factor for growth in growths] == pytest.approx([None, 2, 4, 0.5, 1.125])
    assert largest_growth(growths) == 2


def test_without_a_graph_it_is_the_one_before():
    growths = growth_of([pair()] * 4, [gap(0.0), gap(1e-6), None, gap(4e-5)], None)
    assert growths == [Growth(0, 0), Growth(0, 1e-6), None, Growth(1e-6, 4e-5)]
    assert growths[3].factor == pytest.approx(40)
    assert largest_growth(growths) == 3


def test_results_of_the_method_do_not_grow():
    growths = growth_of([pair(), pair(why=RESULT)], [gap(1e-6), gap(1.0)], None)
    assert growths[1] is None


def test_no_error_grows_nowhere():
    assert largest_growth([Growth(0, 0), None, Growth(2, 1)]) is None
