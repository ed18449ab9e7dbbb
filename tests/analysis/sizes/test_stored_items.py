"""Parameters of the ETRecord behind stored data: only where one alone can be meant."""

import pytest

from tests.paths import DATA
from viewer.analysis.sizes.file_parts import ItemKind, stored_items
from viewer.formats import open_file

FILES = DATA / "pte"


def items(name):
    return stored_items(
        open_file(str(FILES / f"{name}.pte")), open_file(str(FILES / f"{name}.etrecord"))
    )


def test_equal_shapes_are_told_apart_by_the_node_and_the_order_of_arguments():
    of_name = {path: item for item in items("multi3") for path in item.parameters}
    assert of_name["n.weight"].start < of_name["n.bias"].start
    assert {use.what for use in of_name["n.bias"].uses} == {"aten::native_layer_norm.out"}


@pytest.mark.parametrize("name", ["mobile_x", "part_x", "dyn_x"])
def test_roles_of_xnnpack_are_the_names_of_the_parameters(name):
    named = [item for item in items(name) if item.kind is ItemKind.NAMED_DATA]
    assert named
    for item in named:
        assert item.role in ("weight", "bias")
        assert all(path.endswith(f".{item.role}") for path in item.parameters)


def test_uses_state_the_instruction_and_the_node():
    (weight,) = [item for item in items("part_x") if "c3.weight" in item.parameters]
    (use,) = weight.uses
    assert (use.method, use.node, use.what, use.chain) == (0, 3, "XNNConv2d", 0)
    method = open_file(str(FILES / "part_x.pte")).methods[0]
    delegate = method.delegates[method.instructions[use.instruction].delegate]
    assert delegate.nodes[use.node].type == "XNNConv2d"
