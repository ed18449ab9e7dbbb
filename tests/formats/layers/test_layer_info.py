"""What TensorRT knows of the layers of an engine, and its profile that is linked by their names."""

import json

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.formats.layers.layer_info import NO_LAYER

LAYERS = DATA / "layers"
INFO, PROFILE = str(LAYERS / "trt_layers.json"), str(LAYERS / "trt_profile.json")


def layers(tmp_path, *items):
    path = tmp_path / "layers.json"
    path.write_text(json.dumps({"Layers": items, "Bindings": ["x"]}))
    return str(path)


def test_a_layer_has_its_type_shapes_and_precision():
    program = open_file(INFO)
    assert (program.format, program.title, len(program.operators)) == (
        "TensorRT layers", "layers", 6
    )  # fmt: skip
    fused = program.operators[1]
    assert [node.name for node in fused.nodes] == ["/stem/conv + /stem/act", "/stem/act"]
    assert (fused.op, fused.module_path) == ("CaskConvolution", "stem.conv")
    ((read,), (written,)) = fused.nodes[0].inputs, fused.nodes[1].outputs
    assert (read.name, read.dtype, read.shape) == ("x", "f16", (1, 3, 224, 224))
    assert (written.name, written.dtype, written.shape) == ("y", "f16", (1, 8, 112, 112))


def test_a_profile_is_linked_by_the_names_of_its_layers():
    workspace = workspace_of(PROFILE, INFO)
    (trace,) = workspace.traces
    assert list(workspace.warnings(trace)) == []
    table = workspace.links(trace)
    assert table.program.path == INFO
    assert [link.reason.name for link in table.links] == ["BY_LAYER"] * 6
    assert [link.operators for link in table.links] == [(i,) for i in range(6)]
    assert (table.trace_match.match.value, table.trace_match.match.evidence) == (1, 6)


def test_a_profile_of_another_engine_is_not_linked(tmp_path):
    other = layers(tmp_path, {"Name": "/other", "LayerType": "Reformat"}, {"Name": "/head/fc"})
    workspace = workspace_of(PROFILE, other)
    table = workspace.links(workspace.traces[0])
    assert table.program.path == PROFILE  # what it records itself
    assert table.program.is_recorded


@pytest.mark.parametrize(
    ("stated", "dtype"),
    [
        ("Half", "f16"), ("Row major linear FP32", "f32"), ("Int8 NC/32HW32", "i8"),
        ("Channel major FP16 format where channel % 8 == 0", "f16"), ("BFloat16", "bf16"),
        ("Bool", "bool"), ("Int64", "i64"), ("odd", ""),
    ],
)  # fmt: skip
def test_the_precision_is_that_of_the_format(tmp_path, stated, dtype):
    tensor = {"Name": "x", "Dimensions": [1, 8], "Format/Datatype": stated}
    program = open_file(layers(tmp_path, {"Name": "/a/Conv", "Outputs": [tensor]}))
    assert program.operators[0].op == "Conv"
    assert program.nodes[0].outputs[0].dtype == dtype


def test_names_alone_are_layers_and_what_has_none_is_left_out(tmp_path):
    program = open_file(layers(tmp_path, "/a/Conv", "plain", {"LayerType": "Reformat"}, 7))
    assert [operator.nodes[0].name for operator in program.operators] == ["/a/Conv", "plain"]
    (problem,) = program.problems
    assert (problem.kind, problem.count) == (NO_LAYER, 2)


@pytest.mark.parametrize("rest", ["", "]", "{}, 1]}", '{"Name": "a"'])
def test_damaged_files_are_refused(tmp_path, rest):
    path = tmp_path / "layers.json"
    path.write_text('{"Layers": [' + rest)
    with pytest.raises(UnreadableFile):
        open_file(str(path))
