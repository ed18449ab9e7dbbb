"""Columns of the tensors of debug events."""

import numpy as np

from viewer.analysis.numeric.logged_tensors import LoggedTensors
from viewer.codecs.tensor_values import TensorLayout

LAYOUTS = (TensorLayout("f32", (2,)), TensorLayout("i64", (4,)), TensorLayout("c64", (9,)))


def columns(*rows):
    return (np.array(column) for column in zip(*rows, strict=True))


def test_the_end_is_that_of_the_last_tensor_that_can_be_read():
    tensors = LoggedTensors(*columns((0, 0, 0, 64), (3, 0, 1, 0), (4, 0, 2, 900)), LAYOUTS)
    assert tensors.end == 72
    assert len(tensors) == 3


def test_an_event_may_have_several():
    tensors = LoggedTensors(*columns((2, 0, 0, 8), (2, 1, 1, 16), (5, 0, 0, 48)), LAYOUTS)
    assert tensors.of_event(2) == [(LAYOUTS[0], 8), (LAYOUTS[1], 16)]
    assert tensors.of_event(3) == []


def test_there_may_be_none():
    assert (len(LoggedTensors.none()), LoggedTensors.none().end) == (0, 0)
