"""Pairs with their figures, or with the reason why there are none."""

import math

import numpy as np
import pytest

from tests.analysis.numbers.test_pairing import real
from viewer.analysis.numbers.compared import (
    EDGES,
    NOT_COMPARED,
    ONLY_A,
    OTHER_SHAPES,
    RESULT,
    STEP_TITLES,
    Gap,
    Growth,
    OperatorErrors,
    Pair,
    compared,
    gap_of,
    grows_most,
    growth_of,
    largest_growth,
)
from viewer.analysis.numbers.logged_values import Value, value_of
from viewer.codecs.reading import UnreadableFile
from viewer.codecs.tensor_values import BLOCK, StoredTensor, TensorLayout


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


def tensor(values):
    stored = np.asarray(values, np.float64)
    return StoredTensor(TensorLayout("f64", stored.shape), stored.reshape(-1).view(np.uint8))


def official(value, reference):
    """MSE, L1 and SNR as `convert_to_float_tensor` and the comparators compute them."""
    a, b = (np.nan_to_num(x) if np.isnan(x).any() else x for x in (reference, value))
    with np.errstate(all="ignore"):
        mse = np.square(a - b).mean()
        return mse, np.abs(a - b).sum(), 10 * np.log10(np.square(a).mean() / mse)


def test_figures_over_several_blocks():
    dice = np.random.default_rng(2)
    reference = dice.normal(size=(4, BLOCK // 2, 3))
    value = reference + dice.normal(scale=1e-3, size=reference.shape)
    value[2, 5, 1] += 1
    gap = gap_of(tensor(value), tensor(reference))
    assert (gap.mse, gap.l1, gap.snr) == pytest.approx(official(value, reference), rel=1e-12)
    cosine = (value * reference).sum() / np.linalg.norm(value) / np.linalg.norm(reference)
    assert gap.cosine == pytest.approx(cosine, rel=1e-12)
    assert gap.error == pytest.approx(10 ** (-gap.snr / 20), rel=1e-12)
    assert gap.place == (2, 5, 1)
    assert gap.max_abs == np.abs(value - reference).max()


def test_equal_tensors_have_no_snr():
    gap = gap_of(tensor([1.0, 2.0]), tensor([1.0, 2.0]))
    assert (gap.mse, gap.l1, gap.snr, gap.error, gap.place) == (0, 0, None, 0, None)
    assert gap.is_exact
    assert gap.cosine == pytest.approx(1)


def test_nan_counts_as_0():
    value, reference = np.array([np.nan, 2.0, 3.0]), np.array([1.0, 2.0, np.nan])
    gap = gap_of(tensor(value), tensor(reference))
    assert (gap.mse, gap.l1, gap.snr) == pytest.approx(official(value, reference))
    assert (gap.nan, gap.inf) == ((1, 1), (0, 0))


def test_an_infinity_has_no_finite_error_but_a_place():
    gap = gap_of(tensor([1.0, np.inf]), tensor([1.0, 2.0]))
    assert (gap.mse, gap.l1, gap.snr, gap.max_abs) == (None,) * 4
    assert (gap.place, gap.inf) == ((1,), (1, 0))


def test_infinities_next_to_a_nan_are_the_largest_float():
    value, reference = np.array([np.nan, np.inf, 5.0]), np.array([np.nan, np.inf, 4.0])
    gap = gap_of(tensor(value), tensor(reference))
    assert (gap.mse, gap.l1) == pytest.approx(official(value, reference)[:2])


def test_a_reference_of_zeros_has_no_ratio():
    gap = gap_of(tensor([1.0, 1.0]), tensor([0.0, 0.0]))
    assert (gap.mse, gap.snr, gap.error, gap.cosine) == (1.0, None, None, None)


def test_empty_tensors_have_no_figures():
    gap = gap_of(tensor([]), tensor([]))
    assert (gap.count, gap.mse, gap.l1, gap.max_abs, gap.place) == (0, None, None, None, None)
