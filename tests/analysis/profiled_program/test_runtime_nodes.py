"""Nodes of ONNX Runtime, LiteRT and Vela: types, providers, shapes and modules."""

import json

import pytest

from tests.builders.chrome_cases import read, slice_event
from tests.builders.command_line import run
from tests.builders.runtime_files import tflite_log, vela_csv
from tests.paths import DATA
from viewer.analysis.links.labels import key_labels
from viewer.analysis.profiled_program.program import recorded_links
from viewer.analysis.profiled_program.runtime_nodes import onnx_runtime_calls, runtime_calls
from viewer.formats import open_file
from viewer.program.module_tree import MOST_MODULES


def node(name, op, provider="CPUExecutionProvider", ts=0, **arguments):
    args = {"op_name": op, "provider": provider, **arguments}
    return slice_event(f"{name}_kernel_time", ts, 5, cat="Node", args=args)


def only_call(folder, *events):
    (found,) = (call for call in onnx_runtime_calls(read(folder, *events)) if call is not None)
    return found


def test_a_real_profile_has_its_nodes():
    calls = onnx_runtime_calls(open_file(str(DATA / "chrome_json" / "onnxruntime_profile.json")))
    nodes = [call.node for call in calls if call is not None]
    assert nodes
    assert all(node.op.startswith("onnx::") and node.outputs for node in nodes)


def test_a_node_has_its_type_shapes_and_types(tmp_path):
    call = only_call(
        tmp_path,
        node("conv1", "Conv", input_type_shape=[{"float": [1, 3]}, {"int64": []}],
             output_type_shape=[{"float16": [1, 16]}]),
        slice_event("model_run", 0, 9, cat="Session"),
    )  # fmt: skip
    assert (call.node.name, call.node.type, call.backend) == ("conv1", "Conv", "")
    assert [(t.dtype, t.shape) for t in call.node.inputs] == [("f32", (1, 3)), ("i64", ())]
    assert [(t.dtype, t.shape) for t in call.node.outputs] == [("f16", (1, 16))]


def test_another_provider_than_the_cpu_is_a_backend(tmp_path):
    assert only_call(tmp_path, node("a", "Conv", "QNNExecutionProvider")).backend == (
        "QNNExecutionProvider"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("/layer1/conv/Conv", "layer1.conv"),
        ("/layer1/conv/Conv_2", "layer1.conv"),
        ("/head/matmul", "head.matmul"),
        ("Conv_nchwc", "Conv_nchwc"),
        ("Conv", ""),
        ("", ""),
    ],
)
def test_a_path_states_the_module(tmp_path, name, meant):
    assert only_call(tmp_path, node(name, "Conv")).node.module_path == meant


@pytest.mark.parametrize("shapes", ["x", "[", 7, [7], [{"float": "x"}], [{"float": [-1]}]])
def test_odd_shapes_are_not_known(tmp_path, shapes):
    found = only_call(tmp_path, node("a", "Conv", input_type_shape=shapes)).node.inputs
    assert all(tensor.shape is None for tensor in found)


def test_other_traces_have_no_nodes(tmp_path):
    assert onnx_runtime_calls(read(tmp_path, slice_event("a_kernel_time", 0, 5))) == []


def test_slices_of_nodes_are_labeled_with_their_operators():
    table = recorded_links(open_file(str(DATA / "chrome_json" / "onnxruntime_runs.json")))
    labels = key_labels(table)
    assert "r0_nchwc · Conv" in labels
    assert "model_run" in labels


def test_paths_of_modules_are_limited(tmp_path):
    """All prefixes of this name would be 90 GB of text."""
    modules = only_call(tmp_path, node("/a" * 300_000 + "/Conv", "Conv")).node.modules
    assert modules[:2] == (("a", ""), ("a.a", ""))
    assert len(modules) == MOST_MODULES
    assert only_call(tmp_path, node("/a/" + "b" * 9_999 + "/c", "Conv")).node.module_path == "a"


def test_rows_of_litert_are_nodes_without_what_it_initializes(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(tflite_log())
    calls = runtime_calls(open_file(str(path)))
    nodes = [call.node for call in calls if call is not None]
    assert [(node.module_path, node.type) for node in nodes] == [
        ("conv1.Relu6", "CONV_2D"),
        ("conv2.Relu6", "DEPTHWISE_CONV_2D"),
        ("Softmax", "SOFTMAX"),
    ]


def test_rows_of_vela_are_nodes(tmp_path):
    path = tmp_path / "model_per-layer.csv"
    path.write_text(vela_csv())
    calls = runtime_calls(open_file(str(path)))
    assert all(call is not None and call.node.op.startswith("vela::") for call in calls)
    assert runtime_calls(open_file(str(DATA / "chrome_json" / "onnxruntime_profile.json"))) == []


LAYERS, ETDUMP, RECORDS = DATA / "layers", DATA / "etdump", DATA / "etrecord"


@pytest.mark.parametrize(
    ("name", "types", "modules"),
    [
        ("openvino_counters.csv", ["Convolution", "Convolution", "Pooling", "FullyConnected"],
         ["stem.conv", "b.conv", "pool", "fc"]),
        ("trt_profile.json", ["layer"] * 6,
         ["stem.conv", "stem.conv", "blocks.0.conv", "blocks.1.conv", "attn.q", "head.fc"]),
        ("ncnn.txt", ["Convolution", "ConvolutionDepthWise", "InnerProduct"],
         ["conv1", "dw2", "fc"]),
    ],
)  # fmt: skip
def test_layers_are_operators_with_their_modules(name, types, modules):
    operators = recorded_links(open_file(str(LAYERS / name))).program.operators
    assert [operator.op for operator in operators] == types
    assert [operator.module_path for operator in operators] == modules


@pytest.mark.parametrize("name", ["latency.csv", "rocprof_stats.csv", "inspector_frame.csv"])
def test_a_table_without_types_and_paths_has_no_operators(name):
    assert recorded_links(open_file(str(LAYERS / name))) is None


def profile(tmp_path, layers):
    """A profile of TensorRT. layers: names and their means in ms."""
    path = tmp_path / "trt.json"
    rows = [{"name": name, "timeMs": ms * 100, "averageMs": ms, "percentage": 1}
            for name, ms in layers.items()]  # fmt: skip
    path.write_text(json.dumps([{"count": 100}, *rows]))
    return str(path)


def pairs(capsys, *arguments):
    """For each row that both arms have: its name, and the ns of A and B."""
    code, out, _ = run(capsys, "compare", "--json", *arguments)
    assert code in (0, 3)
    rows = json.loads(out)["rows"]
    return {row["label"]: row for row in rows if row["a"] and row["b"]}


@pytest.mark.slow
def test_two_runtimes_are_compared_layer_by_layer_by_the_names_that_both_have(capsys, tmp_path):
    layers = {"Fancy Fusion": 0.02, "sin:0;a=b": 0.01, "cos/1": 0.04, "other": 0.5}
    trt, run_ = profile(tmp_path, layers), str(ETDUMP / "demo_str_x4.etdp")
    found = pairs(capsys, trt, "--with", run_, "--by", "name")
    assert set(found) == set(layers) - {"other"}


@pytest.mark.slow
def test_two_runtimes_are_compared_by_module(capsys, tmp_path):
    layers = {"/features.0/Conv + /features.1/Relu": 0.041, "/features.2/MaxPool": 0.006,
              "/features.3/Conv": 0.012, "/features.4/Conv": 0.055, "/head/Gemm": 0.01}  # fmt: skip
    record = str(RECORDS / "cnn_toedge_portable.etrecord")
    run_ = str(ETDUMP / "cnn_portable_x10.etdp")
    trt = profile(tmp_path, layers)
    found = pairs(capsys, trt, "--with", run_, record, "--by", "module")
    assert set(found) == {"features.0", "features.2", "features.3", "features.4", "head"}
