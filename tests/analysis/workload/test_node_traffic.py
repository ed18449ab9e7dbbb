"""Copies: told by what a file or a record proves, and by nothing else."""

import pytest

from viewer.analysis.workload.node_traffic import copy_of_operators
from viewer.program.program import GraphNode, Operator


def operator(*ops: str) -> Operator:
    return Operator(0, "forward", 1, tuple(GraphNode(op, op, 1) for op in ops))


@pytest.mark.parametrize(
    ("ops", "copy"),
    [
        (["aten.permute_copy.default"], "permute_copy"),
        (["dim_order_ops._to_dim_order_copy.default"], "_to_dim_order_copy"),
        (["aten.slice_copy.Tensor", "aten.cat.default"], "slice_copy + cat"),
        (["aten.sym_size.int", "aten.view_copy.default"], "sym_size + view_copy"),
        (["tosa.transpose"], "tosa.transpose"),
        (["tensor.extract_slice"], "tensor.extract_slice"),
        (["func.func", "tosa.cast"], "tosa.cast"),
    ],
)
def test_operators_all_of_whose_nodes_move_data(ops, copy):
    assert copy_of_operators([operator(*ops)]) == copy


@pytest.mark.parametrize(
    "ops",
    [
        ["aten.permute_copy.default", "aten.addmm.default"],
        ["aten.embedding.default"],
        ["aten.full.default"],
        ["aten.sym_size.int"],
        ["func.func"],
        ["tosa.conv2d"],
        ["mine.permute_copy.default"],  # of another library it may do anything
    ],
)
def test_operators_that_do_more_or_none_of_it(ops):
    assert copy_of_operators([operator(*ops)]) == ""


def test_one_of_several_operators_that_works_makes_it_no_copy():
    copying, working = operator("aten.clone.default"), operator("aten.relu.default")
    assert copy_of_operators([copying]) == "clone"
    assert copy_of_operators([copying, working]) == ""
