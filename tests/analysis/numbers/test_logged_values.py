"""Values of calls, read from the debug buffer."""

import numpy as np
import pytest

from tests.builders.logged_runs import LoggedRun, floats
from viewer.analysis.numbers.logged_values import (
    OVERLAP,
    LoggedCalls,
    LoggedTensors,
    LoggedValues,
    logged_inferences,
    results_of,
)
from viewer.codecs.tensor_values import TensorLayout
from viewer.formats.executorch.debug_buffer import read_debug_tensors
from viewer.workspace.workspace import Workspace


def logged(path, data):
    workspace = Workspace()
    table = workspace.links(workspace.open(path))
    values = LoggedValues(LoggedCalls(table), read_debug_tensors(path), data)
    return values.of(logged_inferences(table)[0])


def test_tensors_lists_and_numbers(tmp_path):
    run = LoggedRun()
    run.inference(
        ("add.out", [floats(1, 2)]),
        ("split.out", [[floats(3), np.array([[4, 5]], np.int64)]]),
        ("sym_size", [7, True, 0.25]),
    )
    path, buffer = run.write(tmp_path)
    found = logged(path, np.fromfile(buffer, np.uint8))
    arrays = [[value.open().array.tolist() for value in values] for _, values in found]
    assert arrays == [[[1, 2]], [[3], [[4, 5]]], [7, 1, 0.25]]
    assert results_of(*found[1]) == found[1][1]


def test_a_tensor_outside_the_buffer_is_a_fault(tmp_path):
    run = LoggedRun()
    run.inference(("a.out", [floats(1)]), ("b.out", [floats(2, 3)]))
    path, buffer = run.write(tmp_path)
    found = logged(path, np.fromfile(buffer, np.uint8)[:-1])
    assert [values[0].fault for _, values in found] == ["", "tensor outside its buffer"]
    with pytest.raises(ValueError, match="tensor outside its buffer"):
        found[1][1][0].open()


def test_tensors_that_share_bytes_again_and_again_are_left_out(tmp_path):
    run = LoggedRun()
    large = run.tensor(np.zeros(100))
    run.inference(*[("a.out", [large])] * 10)
    path, buffer = run.write(tmp_path)
    found = logged(path, np.fromfile(buffer, np.uint8))
    assert [values[0].fault for _, values in found] == [""] * 4 + [OVERLAP] * 6


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
