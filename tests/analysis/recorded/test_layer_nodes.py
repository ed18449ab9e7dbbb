"""The layers of a table as operators, and two runtimes compared by them."""

import json

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.analysis.recorded.program import recorded_links
from viewer.formats import open_file

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
