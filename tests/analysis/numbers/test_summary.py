"""A tensor in a few numbers."""

import numpy as np
import pytest

from viewer.analysis.numbers.tensor_summary import BINS, histogram_of, summary_of
from viewer.codecs.tensor_values import BLOCK, StoredTensor, TensorLayout


def summary(values, dtype="f32", kind=np.float32):
    stored = np.asarray(values, kind)
    return summary_of(
        StoredTensor(TensorLayout(dtype, stored.shape), stored.reshape(-1).view(np.uint8))
    )


def test_figures_of_a_tensor_of_several_blocks():
    values = np.random.default_rng(1).normal(3, 2, (3, BLOCK)).astype(np.float32)
    found, wide = summary(values), values.astype(np.float64)
    assert (found.count, found.min, found.max) == (values.size, wide.min(), wide.max())
    assert found.mean == pytest.approx(wide.mean(), rel=1e-12)
    assert found.sd == pytest.approx(wide.std(), rel=1e-12)
    assert len(found.histogram) == BINS
    assert sum(found.histogram) == values.size
    wanted = np.histogram(wide, BINS)[0]
    assert np.abs(np.array(found.histogram) - wanted).sum() <= 4  # at edges


def test_what_is_no_number_counts_and_is_left_out():
    found = summary([np.nan, np.inf, -np.inf, 0.0, -0.0, 4.0, 2.0, np.nan])
    assert (found.nan, found.inf, found.zeros) == (2, 2, 2)
    assert (found.min, found.max, found.mean) == (0.0, 4.0, 1.5)
    assert sum(found.histogram) == 4


def test_without_any_finite_value_there_are_no_figures():
    for values in ([], [np.nan, np.inf]):
        found = summary(values)
        assert (found.min, found.max, found.mean, found.sd) == (None,) * 4
        assert (found.count, found.histogram) == (len(values), ())


def test_equal_values_have_one_bin_and_no_deviation():
    found = summary([0.1] * 1000, "f64", np.float64)
    assert (found.mean, found.histogram) == (0.1, (1000,))
    assert found.sd == 0


def test_the_largest_floats_have_a_mean():
    largest = np.finfo(np.float64).max
    found = summary([largest, largest, -largest], "f64", np.float64)
    assert found.mean == pytest.approx(largest / 3)
    assert (found.sd, sum(found.histogram)) == (None, 3)


def test_a_histogram_may_have_any_range():
    stored = np.array([0.0, 1.0, 2.0, 9.0, np.nan, np.inf])
    tensor = StoredTensor(TensorLayout("f64", (6,)), stored.view(np.uint8))
    assert histogram_of(tensor, 0.0, 4.0, 4).tolist() == [1, 1, 1, 0]
    assert histogram_of(tensor, 1.0, 1.0, 1).tolist() == [1]
