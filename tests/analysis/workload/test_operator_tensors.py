"""Sizes of tensors, by dtype and shape, and which values leave an operator."""

from dataclasses import replace

import pytest

from tests.paths import DATA
from viewer.analysis.workload.operator_tensors import (
    NotKnown,
    bytes_of,
    bytes_of_all,
    elements_of,
    inputs_of,
    outputs_of,
    parameters_of,
    used_elsewhere,
)
from viewer.formats import open_file
from viewer.program.program import GraphNode, Method, Operator, Program, Tensor

RECORDS = DATA / "etrecord"


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [("f32", (2, 3), 24), ("f16", (2, 3), 12), ("bf16", (2, 3), 12), ("i8", (7,), 7),
     ("bool", (7,), 7), ("i64", (), 8), ("c64", (2,), 16), ("f8e4m3fn", (5,), 5),
     ("i4", (5,), 3), ("i1", (9,), 9), ("i48", (2,), 12), ("f64", (0, 4), 0)],
)  # fmt: skip
def test_bytes_follow_dtype_and_shape(dtype, shape, size):
    assert bytes_of(Tensor("x", dtype, shape)) == size


def test_an_empty_tensor_of_no_dtype_has_no_bytes():
    assert bytes_of(Tensor("x", "", (0,))) == 0


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [(Tensor("x", "f32", None), "the shape of x is not recorded"),
     (Tensor("x", "f32", (2, "s0")), "x has a dynamic size, s0"),
     (Tensor("x", "f32", (-1,)), "the shape of x is invalid"),
     (Tensor("x", "f32", (1 << 40, 1 << 40)), "the shape of x is invalid"),
     (Tensor("x", "q7", (2,)), "the dtype q7 of x has an unknown size"),
     (Tensor("", "f32", None, "fc.weight"), "the shape of fc.weight is not recorded")],
)  # fmt: skip
def test_what_is_not_known_says_why(tensor, reason):
    with pytest.raises(NotKnown) as raised:
        bytes_of_all([tensor])
    assert str(raised.value) == reason


def test_a_scalar_is_one_element():
    assert elements_of(Tensor("x", "f32", ())) == 1


def test_what_nodes_hand_one_another_is_neither_taken_nor_made():
    a, b, c = (Tensor(name, "f32", (2, 3)) for name in "abc")
    w = Tensor("w", "f32", (3,), "fc.weight")
    operator = Operator(
        0, "forward", 1,
        (GraphNode("n", "aten.mul", 1, inputs=(a, w), outputs=(b,)),
         GraphNode("m", "aten.add", 1, inputs=(b, a), outputs=(c,))),
    )  # fmt: skip
    assert inputs_of(operator) == [a, w]
    assert parameters_of(operator) == [w]
    assert outputs_of(operator) == [c]


def test_results_of_a_method_leave_their_operator():
    program = open_file(str(RECORDS / "cnn_toedge_portable.etrecord"))
    softmax, linear = program.operators[-1], program.operators[-2]
    assert program.methods[0].results == {"aten__softmax_default"}
    assert "aten__softmax_default" in used_elsewhere(program, softmax)
    assert "aten_addmm_default" in used_elsewhere(program, linear)
    assert "aten_permute_copy_default" not in used_elsewhere(program, linear)


def test_what_a_profile_records_has_no_names_of_values():
    """All of its operators have an "input 0", and it may record 100,000 operators."""
    node = GraphNode("a", "aten::relu", -1, inputs=(Tensor("input 0", "f32", (2,)),))
    method = Method("calls", (Operator(0, "calls", -1, (node,)), Operator(1, "calls", -1, (node,))))
    record = Program("p", "PyTorch profile", "", (method,))
    assert used_elsewhere(record, method.operators[0]) == {"input 0"}
    assert used_elsewhere(replace(record, is_recorded=True), method.operators[0]) == frozenset()
