"""Tensors that a statement of an MLIR text states, in the forms that printers write."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.workload.mlir_work import with_tensors
from viewer.analysis.workload.operator_work import figures_of_nodes
from viewer.formats import open_file
from viewer.program.program import GraphNode, Operator, Program, Tensor


@pytest.fixture
def node(tmp_path):
    """The node of the one statement in a function, with its tensors."""

    def read(statement):
        path = tmp_path / "t.mlir"
        path.write_text(f"func.func @f() {{\n  {statement}\n  return\n}}\n")
        program = open_file(str(path))
        operator = next(op for op in program.operators if op.place == "L2")
        return with_tensors(program, operator).nodes[0]

    return read


def shapes(node):
    return [(t.name, t.dtype, t.shape) for t in node.inputs], [
        (t.name, t.dtype, t.shape) for t in node.outputs
    ]


A, B = ("%a", "f32", (4, 8)), ("%b", "f32", (8, 5))


@pytest.mark.parametrize(
    ("statement", "inputs", "outputs"),
    [
        ("%r = tosa.add %a, %b : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x8xi8>",
         [A, B], [("%r", "i8", (4, 8))]),
        ('%r = "tosa.add"(%a, %b) <{k = "x: (y<"}> : (tensor<4x8xf32>, tensor<8x5xf32>) -> '
         'tensor<f32> loc(callsite("a.mlir":1:2 at "b":3:4))', [A, B], [("%r", "f32", ())]),
        ("%r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>) "
         "outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>", [A, B], [("%r", "f32", (4, 5))]),
        ("linalg.matmul ins(%a, %b : memref<4x8xf32, 1>, memref<8x5xf32>) "
         "outs(%c : memref<4x5xf32>)", [A, B], [("%c", "f32", (4, 5))]),
        ("%r = arith.addf %a, %a : tensor<4x8xf32>", [A, A], [("%r", "f32", (4, 8))]),
        ("%r = arith.constant dense<0> : tensor<3xi8>", [], [("%r", "i8", (3,))]),
        ("%r = tensor.cast %a : tensor<4x8xf32> to tensor<?x8xf32>",
         [A], [("%r", "f32", ("?", 8))]),
        ("%r = tosa.abs %q : (tensor<2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<*xbf16>",
         [("%q", "i8", (2,))], [("%r", "bf16", None)]),
        ("%r:2 = my.split %a : (tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xcomplex<f32>>)",
         [A], [("value 1", "f32", (2, 8)), ("value 2", "c64", (2, 8))]),
        ("%r = tosa.exp %a : (tensor<4x8xf32, #tosa.layout<[1, 2]>>) -> tensor<4x8x!my.type>",
         [A], [("%r", "", (4, 8))]),
    ],
)  # fmt: skip
def test_types_are_read_from_the_text(node, statement, inputs, outputs):
    assert shapes(node(statement)) == (inputs, outputs)


def test_arrays_of_numbers_are_settings(node):
    found = node(
        "%r = tosa.max_pool2d %a {kernel = array<i64: 2, 3>, pad = [0, 1], name = [a, b]} : "
        "(tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>"
    )
    assert dict(found.settings) == {"kernel": (2, 3), "pad": (0, 1)}


@pytest.mark.parametrize(
    "statement", ["%r = my.op %a", "my.op", "%r = my.op : tensor<", "%r = my.op ->"]
)
def test_a_text_without_types_states_no_tensors(node, statement):
    found = node(statement)
    assert all(t.shape is None for t in (*found.inputs, *found.outputs))


@given(st.text(alphabet='%ar:()<>[]{}-=,"x4?f32 tensor!/\n', max_size=60))
def test_no_text_stops_the_reading(text):
    lines = f"func.func @f() {{\n  %r = tosa.add {text}\n  return\n}}\n".split("\n")
    node = GraphNode("%r", "tosa.add", -1)
    program = Program("t.mlir", "mlir_file", "", (), text_lines=tuple(lines))
    operator = Operator(0, "f", -1, (node,), place="L2")
    figures_of_nodes(with_tensors(program, operator).nodes)


def test_a_statement_of_a_long_text_takes_its_own_lines_alone():
    line = "%r = tosa.abs %a : (tensor<4xf32>) -> tensor<4xf32>"
    operator = Operator(0, "f", -1, (GraphNode("%r", "tosa.abs", -1),), place="L500000")
    lines = ("%x = my.weights dense<1>",) * 499_999 + (line,)
    found = with_tensors(Program("t.mlir", "", "", (), text_lines=lines), operator)
    assert found.nodes[0].outputs == (Tensor("%r", "f32", (4,)),)
    weights = (f"%r = tosa.abs dense<{'1, ' * 50_000}> : (tensor<4xf32>) -> tensor<4xf32>",)
    first = replace(operator, place="L1")
    assert with_tensors(Program("t.mlir", "", "", (), text_lines=weights), first) is first


def test_a_product_with_indexing_maps_is_not_guessed(node):
    found = node(
        "%r = linalg.matmul indexing_maps = [affine_map<(a, b, c) -> (c, a)>] "
        "ins(%a, %b : tensor<8x4xf32>, tensor<8x5xf32>) outs(%c : tensor<4x5xf32>) "
        "-> tensor<4x5xf32>"
    )
    assert figures_of_nodes((found,)).missing == (
        "the indexing maps of linalg.matmul are not read",
    )


def test_a_record_is_left_as_it_is(data):
    program = open_file(str(data / "etrecord" / "demo_str.etrecord"))
    assert with_tensors(program, program.operators[0]) is program.operators[0]
    assert isinstance(program.operators[0].nodes[0].inputs[0], Tensor)
