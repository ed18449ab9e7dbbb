"""What nodes of torch.fx tell without torch: handles, modules, the user's line, the source call."""

from types import SimpleNamespace

import pytest

from viewer.program.program import GraphNode, Operator
from viewer.record.debug_handle_map import each_node, graph_nodes_of, handles_of

TRACE = (
    'File "/home/user/model.py", line 7, in forward\n    return self.net(x)\n'
    '  File "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward\n'
    "    return F.linear(input, self.weight, self.bias)"
)
META = {
    "debug_handle": 3,
    "stack_trace": TRACE,
    "torch_fn": ("linear_1", "builtin_function_or_method.linear"),
    "nn_module_stack": {
        "L__self__": ("", "__main__.Model"),
        "L__self__net.0": ("net.0", "torch.nn.modules.linear.Linear"),
    },
}


class EdgeOpOverload:
    """Its text is its whole schema; the ATen overload inside has the name alone."""

    _op = "aten.addmm.default"

    def __repr__(self) -> str:
        return "<EdgeOpOverload: aten.addmm.default>: schema = aten::addmm(Tensor self, ..."


def fx(target: object, **meta: object) -> SimpleNamespace:
    return SimpleNamespace(name="aten_addmm_default", target=target, meta=meta)


def test_a_node_tells_of_its_operator():
    (told,) = graph_nodes_of(fx(EdgeOpOverload(), **META))
    operator = Operator(0, "forward", 3, (told,))
    assert (operator.label, operator.ops) == ("net.0 · linear", ("aten.addmm.default",))
    assert operator.module_type == "Linear"
    assert (operator.source.path, operator.source.line) == ("/home/user/model.py", 7)


@pytest.mark.parametrize(
    ("target", "op"),
    [
        ("aten.sin.default", "aten.sin.default"),
        (len, "len"),
        (SimpleNamespace(__name__="aten.add.Tensor"), "aten.add.Tensor"),
    ],
)
def test_a_target_may_be_any_function(target, op):
    assert [node.op for node in graph_nodes_of(fx(target, debug_handle=1))] == [op]


@pytest.mark.parametrize(
    "meta",
    [
        {"stack_trace": None, "torch_fn": None, "nn_module_stack": None},
        {"stack_trace": 5, "torch_fn": "linear", "nn_module_stack": ["a"]},
        {"stack_trace": "no frame", "torch_fn": (1, 2), "nn_module_stack": {"a": "b", "c": (1, 2)}},
        {"nn_module_stack": {"_": ("_empty_nn_module_stack_from_metadata_hook", "")}},
    ],
)
def test_what_a_node_does_not_tell_is_left_open(meta):
    (told,) = graph_nodes_of(fx("aten.sin.default", debug_handle=1, **meta))
    assert (told.frames, told.modules, told.source_op) == ((), (), "")


def test_a_fused_node_tells_of_no_operator_by_its_target():
    fused = fx("my.fused", debug_handle=(1, 2))
    assert handles_of(fused) == (1, 2)
    assert list(graph_nodes_of(fused)) == []


def test_our_own_nodes_tell_themselves():
    node = GraphNode("n", "aten.sin.default", 4)
    assert list(graph_nodes_of(node)) == [node]
    assert list(graph_nodes_of(Operator(0, "m", 4, (node, node)))) == [node, node]
    assert list(graph_nodes_of(Operator(0, "m", -1, (node,)))) == []
    assert list(graph_nodes_of(4)) == []
    assert each_node(node) == [node]


def test_a_module_may_be_told_by_its_class():
    stack = {"a": ("net", SimpleNamespace)}
    (told,) = graph_nodes_of(fx("aten.sin.default", debug_handle=1, nn_module_stack=stack))
    assert told.modules == (("net", "SimpleNamespace"),)
