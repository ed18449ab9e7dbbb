"""Graph nodes of every generation: names, unions, shapes, parameters, ATen nodes, inner graphs."""

import json

import pytest

from tests.builders.record_cases import (
    DATA,
    GRAPH,
    growth,
    made,
    members,
    node,
    read,
    readable,
    record,
)
from viewer.program.frames import parse_frames
from viewer.program.program import Tensor


def test_lowered_modules_are_searched_for_operators():
    program = read(DATA / "1.0.1/cnn_xnnpack_lowered.etrecord")
    (method,) = program.methods
    assert "executorch_call_delegate" not in {op.op for op in method.operators}
    for handles in method.handles.values():
        assert set(handles) & set(method.by_handle)


@pytest.mark.parametrize("name", ["cnn_portable", "demo_str", "demo_manual_int"])
def test_nodes_before_1_0_are_called_as_their_own_inspector_called_them(name):
    answer = json.loads((DATA / f"0.6.0/{name}_x3.inspector_0.6.0.json").read_text())
    traces = {
        key: text
        for block in answer["event_blocks"]
        for event in block["events"]
        for key, text in event["stack_traces"].items()
    }
    nodes = {
        n.name + "_": n for o in read(DATA / f"0.6.0/{name}.etrecord").operators for n in o.nodes
    }
    assert set(traces) == set(nodes)
    for key, text in traces.items():
        assert nodes[key].frames == parse_frames(text)


def test_nodes_of_several_outputs_before_1_0_are_numbered_per_graph():
    """The record is packed: it holds layer norms and splits, which have several outputs each."""
    names = json.loads((DATA / "0.6.0/attn_portable_x3.inspector_0.6.0.names.json").read_text())
    nodes = {
        n.name + "_" for o in read(DATA / "0.6.0/attn_portable.etrecord").operators for n in o.nodes
    }
    assert "aten_native_layer_norm_default_3_" in names
    assert set(names) <= nodes


def test_edge_nodes_know_the_aten_nodes_that_they_came_from():
    program = read(DATA / "cnn_toedge_portable.etrecord")
    nodes = [n for o in program.operators for n in o.nodes]
    assert [n.aten for n in nodes] == [
        "conv2d", "batch_norm", "relu", "max_pool2d", "conv2d_1", "relu_1", "mean", "linear",
        "linear", "softmax",
    ]  # fmt: skip
    assert {n.aten for n in nodes} == {n.name for n in program.graphs[0].nodes}
    assert program.operators[7].aten == ("linear",)


def test_only_the_method_that_was_exported_has_aten_nodes():
    program = read(DATA / "multi_forward_decode_toedge_portable.etrecord")
    found = {m.name: {n.aten for o in m.operators for n in o.nodes} for m in program.methods}
    assert found == {"forward": {"linear", "relu"}, "decode": {""}}


def test_a_graph_id_that_was_used_again_names_no_aten_node(tmp_path):
    parts = members("cnn_toedge_portable.etrecord")
    parts["exported_program"] = parts["exported_program"].replace(b'"name": "relu"', b'"name": "r"')
    program = read(record(tmp_path / "r", parts))
    assert [o.aten for o in program.operators][1:4] == [("batch_norm",), (), ("max_pool2d",)]


@pytest.mark.parametrize(
    "path", ["cnn_toedge_portable.etrecord", "0.6.0/cnn_portable.etrecord",
             "1.0.1/cnn_xnnpack_lowered.etrecord"],
)  # fmt: skip
def test_inputs_know_the_parameters_and_buffers_that_they_are(path):
    norm = next(n for o in read(DATA / path).operators for n in o.nodes if "norm" in n.op)
    assert [(t.parameter, t.dtype, t.shape) for t in norm.inputs[1:]] == [
        ("features.1.weight", "f32", (8,)), ("features.1.bias", "f32", (8,)),
        ("features.1.running_mean", "f32", (8,)), ("features.1.running_var", "f32", (8,)),
    ]  # fmt: skip
    assert norm.inputs[0].parameter == ""


def test_parameters_in_the_unions_of_the_first_releases():
    first = read(DATA / "0.1/demo_str_gen0.1.etrecord").operators[0].nodes[0]
    assert [t.parameter for t in first.inputs] == ["", "conv1.weight", "conv1.bias"]
    assert first.inputs[1].shape == (4, 3, 3, 3)


def test_unions_of_the_torch_2_2_nightlies(tmp_path):
    def tagged(kind: str, value: object) -> dict:
        return {"$type": kind, "$value": value}

    relu = node() | {
        "inputs": [{"name": "self", "arg": tagged("as_tensor", {"name": "p_w"})}],
        "outputs": [tagged("as_tensor", {"name": "relu"})],
    }
    weight = {"arg": {"name": "p_w"}, "parameter_name": "fc.w"}
    program = {"graph_module": {
        "graph": {"nodes": [relu], "tensor_values": {
            "p_w": {"dtype": 7, "sizes": [tagged("as_int", 3)]}}},
        "signature": {"input_specs": [tagged("parameter", weight)]},
    }}  # fmt: skip
    (operator,) = read(made(tmp_path, **{GRAPH: json.dumps(program)})).operators
    assert operator.nodes[0].inputs == (Tensor("p_w", "f32", (3,), "fc.w"),)
    assert operator.nodes[0].outputs[0].name == "relu"


def test_symbolic_sizes_are_shown_with_the_size_at_export():
    program = read(DATA / "mlp_dynamic_toedge_portable.etrecord")
    gelu = next(o for o in program.operators if o.op == "gelu").nodes[0]
    assert gelu.inputs[0].shape == (1, "s27 (8)", 64)
    assert program.operators[0].nodes[0].name == "sym_size"


def test_optional_and_nested_tensors_are_inputs_too(tmp_path):
    arguments = [
        {"as_optional_tensors": [{"as_tensor": {"name": "a"}}, {"as_none": True}]},
        {"as_nested_tensors": [[{"name": "b"}], [{"name": "c"}]]},
        {"as_tensors": [{"name": "d"}]},
    ]
    one = node() | {"inputs": [{"name": "", "arg": a} for a in arguments]}
    (operator,) = read(made(tmp_path, one)).operators
    assert [t.name for t in operator.nodes[0].inputs] == ["a", "b", "c", "d"]


def test_code_that_torch_made_is_not_the_users_line():
    """Branches of torch.cond are traced through generated code; nodes of passes have no module."""
    cond = read(DATA / "cond_toedge_portable.etrecord")
    assert [op.source.line for op in cond.operators] == [92, 93, 93, 93, 93, 94]
    size = read(DATA / "mlp_dynamic_toedge_portable.etrecord").operators[0]
    assert (size.label, size.module_path, size.source) == ("sym_size", "", None)


def test_nodes_say_in_which_branch_they_lie():
    program = read(DATA / "cond_nested_toedge_portable.etrecord")
    inside = [(n.op, n.branch) for o in program.operators for n in o.nodes if n.branch]
    assert inside == [
        ("aten.sigmoid.default", "true branch of cond"),
        ("aten.cos.default", "true branch of cond"),
        ("aten.mul.Tensor", "true branch of cond"),
        ("aten.exp.default", "false branch of cond"),
        ("aten.sub.Tensor", "false branch of cond"),
        ("higher_order.cond", "true branch of cond"),
        ("aten.add.Tensor", "true branch of cond"),
        ("aten.sin.default", "false branch of cond"),
        ("aten.mul.Tensor", "false branch of cond"),
    ]
    body = read(DATA / "map_toedge_portable.etrecord").methods[0].in_branches
    assert set(body) == {"add", "sin", "mul"}
    assert {n.branch for ops in body.values() for o in ops for n in o.nodes} == {"body of map_impl"}


def test_views_without_deepcopy_keep_the_handles_that_they_had(tmp_path):
    """They are no instructions, so to_executorch() writes no instruction id over them."""
    relu = node(debug_handle="0") | {"target": "torch.ops.aten.relu.out"}
    view = node(debug_handle="8") | {"name": "view", "target": "executorch.exir.memory.view"}
    maps = {"debug_handle_map": '{"forward": {"0": 7, "8": 9}}'}
    (operator, other) = read(made(tmp_path, relu, view, **maps)).operators
    assert (operator.debug_handle, other.debug_handle) == (7, 8)


def test_nesting_without_end(tmp_path):
    inner = {"nodes": [node()]}
    for _ in range(40):
        branch = {"target": "cond", "inputs": [{"arg": {"as_graph": {"graph": inner}}}]}
        inner = {"nodes": [branch]}
    program = read(made(tmp_path, **{GRAPH: json.dumps({"graph_module": {"graph": inner}})}))
    assert "nested more than 20 deep" in program.problems[0].kind
    for deep in ("[" * 10**6, '{"graph_module":' * 10**5 + "1" + "}" * 10**5):
        problem = read(made(tmp_path, **{GRAPH: deep})).problems[0]
        assert "not valid JSON" in problem.kind


def test_a_line_number_of_5000_digits(tmp_path):
    trace = f'  File "m.py", line {"9" * 5000}, in f\n    x\n'
    assert readable(made(tmp_path, node(stack_trace=trace)))


def test_commas_in_a_module_stack_take_linear_time(tmp_path):
    small, large = (
        made(tmp_path / str(size), node(nn_module_stack="a" * size + ",b,c"))
        for size in (10**6, 4 * 10**6)
    )
    assert growth(small, large) < 8  # 16 if every letter were compared with all others


@pytest.mark.slow
def test_many_names_that_are_taken_take_linear_time(tmp_path):
    def outputs(name: str) -> list[dict]:
        return [{"as_tensor": {"name": name}}]

    def named(count: int) -> list[dict]:
        return [node() | {"name": "", "outputs": outputs(n)} for i in range(count)
                for n in ("a", f"a_{'0' * (i % 8)}7")]  # fmt: skip

    small, large = (made(tmp_path / str(count), *named(count)) for count in (1_000, 4_000))
    assert growth(small, large) < 8


def test_blanks_in_a_stack_trace_take_linear_time(tmp_path):
    small, large = (
        made(
            tmp_path / str(size),
            node(stack_trace='File "m.py", line 1, in a' + " " * size + "b"),
        )
        for size in (30_000, 120_000)
    )
    assert growth(small, large) < 8


@pytest.mark.parametrize(
    "path",
    ["cnn_toedge_portable.etrecord", "0.1/cnn_portable_gen0.1.etrecord",
     "0.1/cnn_portable_gen0.3.etrecord", "cnn_standalone_NOdeepcopy.etrecord"],
)  # fmt: skip
def test_numbers_among_the_arguments_are_settings(path):
    nodes = [n for op in read(DATA / path).operators for n in op.nodes]
    convolution = next(n for n in nodes if "convolution" in n.op)
    assert dict(convolution.settings) == {
        "stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "transposed": False,
        "output_padding": (0, 0), "groups": 1,
    }  # fmt: skip
    pooling = next(n for n in nodes if "max_pool2d" in n.op)
    assert dict(pooling.settings)["kernel_size"] == (2, 2)


def test_the_room_for_a_result_is_no_input():
    nodes = [
        n for op in read(DATA / "cnn_standalone_NOdeepcopy.etrecord").operators for n in op.nodes
    ]
    convolution = next(n for n in nodes if "convolution" in n.op)
    assert [t.name for t in convolution.inputs] == ["x", "p_features_0_weight", "p_features_0_bias"]


def test_odd_arguments_are_no_settings(tmp_path):
    odd = [
        None, {"name": "a"}, {"name": "b", "arg": {"as_ints": [1, "x"]}}, {"arg": {"as_int": 1}},
        {"name": "c", "arg": {"as_int": "7"}}, {"name": "d", "arg": {"as_float": 0.5}},
    ]  # fmt: skip
    (operator,) = read(made(tmp_path, {**node(), "inputs": odd})).operators
    assert operator.nodes[0].settings == (("d", 0.5),)


def test_a_method_knows_what_it_hands_out():
    (method,) = read(DATA / "cnn_toedge_portable.etrecord").methods
    assert method.results == {"aten__softmax_default"}
    (buffers,) = read(DATA / "buffer_toedge_portable.etrecord").methods
    assert len(buffers.results) > 1


def test_modules_that_are_not_clear_are_unknown_and_counted(tmp_path):
    """A key that is like two entries, in a record that lists no modules."""
    path = "a,a,m.T;L__self__a,a"
    stack = f"L__self__{path},{path},m.T"
    record = read(made(tmp_path, node(nn_module_stack=stack), node(nn_module_stack="k,a,b,T")))
    assert {op.module_path for op in record.operators} == {"(unknown module)"}
    (problem,) = (p for p in record.problems if "modules of a node" in p.kind)
    assert problem.count == 2
