"""The gap between a tensor and its reference, by the formulas of the official Inspector."""

import numpy as np
import pytest

from viewer.analysis.numeric.gap import gap_of
from viewer.codecs.tensor_values import BLOCK, StoredTensor, TensorLayout


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
