"""Input shapes of PyTorch profiles, and the outputs that follow from them."""

import pytest

from viewer.analysis.profiled_program.runtime_nodes import (
    input_tensors,
    output_tensors,
    settings_of,
)
from viewer.program.program import Tensor


def shapes(tensors):
    return [(tensor.dtype, tensor.shape) for tensor in tensors]


def test_tensors_are_kept_and_numbers_are_not():
    found = input_tensors("[[8, 3], [], []]", '["float", "Scalar", "long int"]')
    assert shapes(found) == [("f32", (8, 3)), ("i64", ())]


def test_lists_of_tensors_count_each():
    found = input_tensors("[[[2, 2], [2, 4]], []]", '["TensorList", "Scalar"]')
    assert shapes(found) == [("", (2, 2)), ("", (2, 4))]


@pytest.mark.parametrize(
    "text", [None, "", "7", "{", "[" * 100_000, "[[-1]]", '[["a"]]', "[[true]]", "[null]"]
)
def test_other_texts_have_no_tensors(text):
    assert input_tensors(text, '["float"]') == ()


@pytest.mark.parametrize(
    ("op", "inputs", "values", "meant"),
    [
        ("aten::conv2d", [(8, 3, 16, 16), (4, 3, 3, 3)],
         '["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1"]', (8, 4, 8, 8)),
        ("aten::conv2d", [(8, 3, 16, 16), (4, 3, 3, 3)],
         '["", "", "", "[1]", "same", "[1]", "1"]', None),
        ("aten::convolution", [(1, 4, 8), (4, 2, 3)],
         '["", "", "", "[1]", "[0]", "[2]", "False", "[0]", "2"]', (1, 4, 4)),
        ("aten::convolution", [(1, 4, 8), (4, 2, 3)],
         '["", "", "", "[1]", "[0]", "[1]", "True", "[0]", "2"]', None),
        ("aten::conv2d", [(8, 3, 16, 16), (4, 3, 3, 3)],
         '["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"]', None),
        ("aten::linear", [(5, 7, 3), (4, 3), (4,)], None, (5, 7, 4)),
        ("aten::linear", [(5, 7, 3), (4, 5)], None, None),
        ("aten::mm", [(2, 3), (3, 4)], None, (2, 4)),
        ("aten::matmul", [(6, 1, 2, 3), (5, 3, 4)], None, (6, 5, 2, 4)),
        ("aten::addmm", [(4,), (2, 3), (3, 4)], None, (2, 4)),
        ("aten::add", [(8, 1, 3), (5, 1)], None, (8, 5, 3)),
        ("aten::add", [(8, 2), (3,)], None, None),
        ("aten::relu", [(2, 2)], None, (2, 2)),
        ("aten::scaled_dot_product_attention", [(1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 4)], None,
         (1, 2, 5, 4)),
        ("aten::nonzero", [(2, 2)], None, None),
    ],
)  # fmt: skip
def test_an_output_follows_from_the_inputs_or_is_not_known(op, inputs, values, meant):
    given = tuple(Tensor(f"input {i}", "f32", shape) for i, shape in enumerate(inputs))
    found = output_tensors(op, given, settings_of(op, values))
    assert [tensor.shape for tensor in found] == ([] if meant is None else [meant])
