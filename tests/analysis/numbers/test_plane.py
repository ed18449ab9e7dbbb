"""Two dimensions of a tensor as a grid: single outliers stay visible, and keep their index."""

import numpy as np
import pytest

from viewer.analysis.numbers.tensor_summary import PlaneShape, Shown, plane_of
from viewer.codecs.tensor_values import StoredTensor, TensorLayout


def stored(values, dtype="f64"):
    array = np.asarray(values, np.float64)
    return StoredTensor(TensorLayout(dtype, array.shape), array.reshape(-1).view(np.uint8))


def test_the_last_two_dimensions_longer_than_1_are_the_picture():
    shape = PlaneShape((2, 1, 3, 4, 1, 5))
    assert (shape.height, shape.width, shape.outer, shape.count) == (4, 5, (2, 3), 6)
    assert shape.plane_of((1, 0, 2, 0, 0, 0)) == 5
    vector = PlaneShape((1, 7, 1))
    assert (vector.height, vector.width, vector.outer) == (1, 7, ())
    assert PlaneShape(()).count == 1


def test_a_small_plane_has_a_cell_per_value():
    a = np.arange(12.0).reshape(2, 2, 3)
    b = a.copy()
    b[1, 1, 2] += 0.5
    plane = plane_of(stored(a), stored(b), 1, Shown.DIFFERENCE)
    assert plane.size.tolist() == [[0, 0, 0], [0, 0, 0.5]]
    assert plane.number.tolist() == [[6, 7, 8], [9, 10, 11]]
    assert (plane.a[1, 2], plane.b[1, 2]) == (11.0, 11.5)
    assert plane.cell_of(11) == (1, 2)
    assert plane.cell_of(3) is None, "it is in the other plane"


def test_one_outlier_of_a_large_plane_stays_visible():
    a = np.zeros((100, 90))
    b = a.copy()
    b[37, 71] = 2.0
    plane = plane_of(stored(a), stored(b), 0, Shown.DIFFERENCE, most=8)
    assert plane.size.shape == (8, 8)
    assert plane.size.max() == 2.0
    row, column = np.unravel_index(plane.size.argmax(), plane.size.shape)
    assert plane.number[row, column] == 37 * 90 + 71
    first, end = plane.rows_of(int(row))
    assert first <= 37 < end
    first, end = plane.columns_of(int(column))
    assert first <= 71 < end
    assert plane.cell_of(37 * 90 + 71) == (row, column)


def test_every_value_is_in_exactly_one_cell():
    plane = plane_of(stored(np.zeros((10, 7))), None, 0, Shown.A, most=4)
    spans = [plane.rows_of(row) for row in range(4)]
    assert spans[0][0] == 0
    assert spans[-1][1] == 10
    assert [end for _, end in spans[:-1]] == [first for first, _ in spans[1:]]


@pytest.mark.parametrize(
    ("a", "b", "size"),
    [(np.nan, 1.0, np.inf), (np.nan, np.nan, 0.0), (np.inf, np.inf, 0.0), (np.inf, 1.0, np.inf)],
)
def test_what_is_no_number_on_one_side_is_infinitely_far(a, b, size):
    plane = plane_of(stored([a]), stored([b]), 0, Shown.DIFFERENCE)
    assert plane.size.tolist() == [[size]]


def test_values_are_reduced_by_their_size_and_keep_their_sign():
    plane = plane_of(stored([1.0, -3.0, 2.0, 0.0]), None, 0, Shown.A, most=2)
    assert plane.values.tolist() == [[-3.0, 2.0]]
    b = plane_of(stored([1.0]), stored([-4.0]), 0, Shown.B)
    assert b.values.tolist() == [[-4.0]]
