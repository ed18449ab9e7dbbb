"""Pairs with their figures, or with the reason why there are none."""

import numpy as np

from viewer.analysis.numeric.compared import OTHER_SHAPES, compared, grows_most
from viewer.analysis.numeric.logged_values import Value, value_of
from viewer.analysis.numeric.pairing import ONLY_A, Pair
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
