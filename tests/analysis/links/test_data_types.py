"""Data types that XNNPACK logged, compared with those of an ETRecord."""

import json
from dataclasses import replace

import pytest

from tests.builders.command_line import run
from tests.builders.workspaces import workspace_of
from viewer.analysis.links.logged_identities import (
    LoggedIdentities,
    Precision,
    contradictions,
    precision_of,
)
from viewer.program.program import GraphNode, Method, Operator, Tensor

FLOAT, DYNAMIC, STATIC = (
    "Fully Connected (NC, F32) GEMM #{}",
    "Fully Connected (NC, QDU8, F32, QC8W) GEMM #{}",
    "Fully Connected (NC, QS8, QC8W) GEMM #{}",
)
WEIGHTS, HALF = "Fully Connected (NC, F32, QC8W) GEMM #{}", "Fully Connected (NC, F16) GEMM #{}"
LOGGED = {
    "float": FLOAT, "half": HALF, "static": STATIC, "dynamic": DYNAMIC, "weights": WEIGHTS,
}  # fmt: skip


@pytest.mark.parametrize(
    ("event", "precision"),
    [
        ("Convolution (NHWC, F32) IGEMM #1", Precision.F32),
        ("Convolution (NHWC, F16) IGEMM #1", Precision.F16),
        ("Convolution (NHWC, QS8, QC8W) IGEMM #1", Precision.STATIC),
        ("Convolution (NHWC, QU8) DWConv #2", Precision.STATIC),
        ("Convolution (NHWC, QC8) DWConv #1", Precision.STATIC),
        ("Convolution (NHWC, QDU8, F32, QC8W) IGEMM #1", Precision.DYNAMIC),
        (DYNAMIC.format(3), Precision.DYNAMIC),
        ("Fully Connected (NC, QD8, F32, QB4W) GEMM #1", Precision.DYNAMIC),
        (WEIGHTS.format(1), Precision.WEIGHTS),
        ("Copy (NC, X32) #1", None),
        ("Add (ND) #1", None),
        ("Softmax (NC, F32) #1", Precision.F32),
    ],
)
def test_the_types_of_an_event(event, precision):
    assert precision_of(event) is precision


@pytest.mark.parametrize("program_file", [False, True])
@pytest.mark.parametrize(("dump", "record"), [("int8", "float"), ("float", "int8")])
def test_a_quantized_model_and_its_float_version_do_not_match(data, dump, record, program_file):
    paths = [f"et_{dump}.etdp", f"et_{record}.etrecord"]
    paths += [f"et_{dump}.pte"] if program_file else []
    space = workspace_of(*(data / "pte" / path for path in paths))
    (trace,) = space.traces
    assert space.links(trace).program is None
    (warning,) = space.warnings(trace)
    assert "3 of 3 events computed in other data types than recorded" in warning
    space.pair(trace.path, space.programs[0].path)
    (warning,) = space.warnings(trace)
    assert "3 of 3 events computed in other data types than recorded" in warning
    assert "because you chose so" in warning


@pytest.mark.parametrize("model", ["int8", "float"])
def test_each_matches_its_own_record(data, capsys, model):
    paths = [str(data / "pte" / f"et_{model}.{end}") for end in ("etdp", "etrecord")]
    code, out, err = run(capsys, "info", "--json", *paths)
    (entry,) = json.loads(out)["links"]
    assert (code, err) == (0, "")
    assert (entry["match"], entry["linked"], entry["linkable"]) == (1.0, 3, 21)
    assert (entry["reason"], entry["warnings"]) == ("match", [])


def test_links_of_a_wrong_pair_say_why(data, capsys):
    paths = [str(data / "pte" / name) for name in ("et_int8.etdp", "et_float.etrecord")]
    _, out, _ = run(capsys, "info", "--json", *paths)
    (entry,) = json.loads(out)["links"]
    assert "8-bit integers (dynamic quantization); the ETRecord has float32" in entry["reason"]
    assert (entry["linked"], entry["warnings"]) == (0, [])
    _, out, _ = run(capsys, "info", "--json", "--pair", "=".join(paths), *paths)
    (entry,) = json.loads(out)["links"]
    assert entry["reason"] == "chosen"
    assert "because you chose so" in entry["warnings"][0]


def linear(kind: str, number: int) -> list[GraphNode]:
    """A linear layer of a kind, with the nodes that quantize it, all of one handle."""
    dtype = "f16" if kind == "half" else "f32"

    def node(op: str, inputs: list[str], output: str) -> GraphNode:
        tensors = (Tensor(f"{name}{number}") for name in inputs)
        made = (Tensor(f"{output}{number}", dtype),)
        return GraphNode(
            f"{op}_{output}", f"x.{op}.default", number, inputs=tuple(tensors), outputs=made
        )

    found = [node("linear", ["x", "w", "b"], "y")]
    if kind in ("static", "dynamic"):
        found.append(node("quantize_per_tensor", ["a", "scale"], "q"))
        found.append(node("dequantize_per_tensor", ["q", "scale"], "x"))
    if kind == "dynamic":
        found.append(node("choose_qparams", ["a"], "scale"))
    if kind != "float" and kind != "half":
        found.append(node("dequantize_per_channel", ["p"], "w"))
    if kind == "static":
        found.append(node("quantize_per_tensor", ["y"], "z"))
    return found


def method_of(kinds: list[str]) -> Method:
    operators = [Operator(i, "forward", i, tuple(linear(kind, i))) for i, kind in enumerate(kinds)]
    return Method("forward", tuple(operators), {0: tuple(range(len(kinds)))})


def logged(kinds: list[str]) -> LoggedIdentities:
    events = {LOGGED[kind].format(i) for i, kind in enumerate(kinds)}
    return LoggedIdentities({}, set(), {0}, {0: events}, set())


@pytest.mark.parametrize("recorded", LOGGED)
@pytest.mark.parametrize("ran", LOGGED)
def test_only_layers_of_the_same_kind_agree(ran, recorded):
    """Weights that alone are quantized may be floating point by the time of the run."""
    agrees = recorded in (ran, "weights")
    found = contradictions(logged([ran] * 4), method_of([recorded] * 4))
    assert found.count == (0 if agrees else 4)
    assert found.agreeing == (1 if agrees else 0)


def test_a_part_that_differs_lowers_the_match_by_its_share():
    found = contradictions(
        logged(["float", "static", "static", "static"]), method_of(["static"] * 4)
    )
    assert (found.count, found.compared) == (1, 4)
    assert found.event == FLOAT.format(0)


def test_what_is_quantized_outside_the_call_contradicts_nothing():
    """The call gets floating point, so the layer in it computes so."""
    layer, *around = linear("static", 0)
    inside = Operator(0, "forward", 0, (layer,))
    outside = Operator(1, "forward", 1, tuple(replace(node, debug_handle=1) for node in around))
    for handles, count in (((0, 1), 1), ((0,), 0)):
        method = Method("forward", (inside, outside), {0: handles})
        assert contradictions(logged(["float"]), method).count == count


def test_integers_contradict_a_method_that_quantizes_nothing():
    events = {"Convert (NC, F32, QS8) #1", "Sigmoid (NC, QS8) #1"}
    ran = LoggedIdentities({}, set(), {0}, {0: events}, set())
    assert contradictions(ran, method_of(["float"])).count == 2
    assert contradictions(ran, method_of(["static"])).count == 0


def test_conversions_alone_prove_nothing():
    ran = LoggedIdentities({}, set(), {0}, {0: {"Convert (NC, F32, QS8) #1"}}, set())
    assert contradictions(ran, method_of(["float"])).compared == 0
