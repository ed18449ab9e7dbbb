"""The graph nodes in the names of layers."""

import pytest

from viewer.program.module_tree import MOST_MODULES, nodes_of_layer


@pytest.mark.parametrize(
    ("name", "stated", "types", "modules"),
    [
        ("/stem/conv/Conv", "", ["Conv"], ["stem.conv"]),
        ("/stem/conv/Conv + /stem/act/Relu_2", "", ["Conv", "Relu"], ["stem.conv", "stem.act"]),
        ("{ForeignNode[/attn/q/MatMul.../attn/Softmax]}", "Myelin", ["Myelin"] * 2,
         ["attn.q", "attn"]),
        ("Reformatting CopyNode for Input Tensor 0 to /stem/conv", "", ["layer"], ["stem.conv"]),
        ("conv1", "Convolution", ["Convolution"], ["conv1"]),
        ("features.0", "Conv", ["Conv"], ["features.0"]),
    ],
)  # fmt: skip
def test_a_layer_has_the_nodes_in_its_name(name, stated, types, modules):
    nodes = nodes_of_layer(name, stated)
    assert nodes[0].name == name
    assert [node.type for node in nodes] == types
    assert [node.module_path for node in nodes] == modules


def test_deep_paths_are_cut():
    (node,) = nodes_of_layer("/a" * 5000, "")
    assert len(node.modules) == MOST_MODULES
