"""SSA values of MLIR texts: custom and generic form, scopes, arguments, and names that are none."""

import pytest

from tests import paths
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.formats import open_file

DATA = paths.DATA / "torq"


@pytest.fixture
def edges(tmp_path):
    """Per operation of a text, by its place: the places that it takes from, what is given."""

    def read(text):
        path = tmp_path / "t.mlir"
        path.write_text(text)
        program = open_file(str(path))
        flow = dataflow_of(program)
        found = {}
        for op in program.operators:
            places = [program.operators[i].name for i in flow.inputs_of(op.index)]
            given = [value.name for value in flow.given.get(op.index, ())]
            found[op.name] = None if op.index in flow.unknown else (places, given)
        return found

    return read


def test_a_real_text_in_custom_form():
    program = open_file(str(DATA / "tiny_cnn.mlir"))
    by_name = {op.name: op.index for op in program.operators}
    flow = dataflow_of(program)
    assert not flow.unknown
    taken = flow.inputs_of(by_name["tosa.add@L16"]).tolist()
    assert taken == [by_name["tosa.depthwise_conv2d@L14"], by_name["tosa.cast@L15"]]
    used = flow.outputs_of(by_name["tosa.clamp@L13"]).tolist()
    assert used == [by_name["tosa.depthwise_conv2d@L14"], by_name["tosa.cast@L15"]]
    assert [g.name for g in flow.given[by_name["tosa.conv2d@L11"]]] == ["%arg0"]


def test_operands_of_the_generic_form_are_those_in_brackets(edges):
    found = edges(
        'func.func @f(%a: i32) {\n'
        '  %0:2 = "x.two"(%a) {note = "%9 // %8"} : (i32) -> (i32, i32)\n'
        '  %1 = "x.one"(%0#1, %0#0) : (i32, i32) -> i32 // of %77\n'
        '  "x.none"() : () -> ()\n'
        '}\n'
    )  # fmt: skip
    assert found["x.two@L2"] == ([], ["%a"])
    assert found["x.one@L3"] == (["x.two@L2"], [])
    assert found["x.none@L4"] == ([], [])


def test_functions_and_isolated_regions_name_their_own_values(edges):
    found = edges(
        "func.func @f() {\n"
        "  %0 = x.c : i32\n"
        "  %1 = x.use %0 : i32\n"
        "}\n"
        "func.func @g(%0: i32) {\n"
        "  %1 = x.use %0 : i32\n"
        "}\n"
    )
    assert found["x.use@L3"] == (["x.c@L2"], [])
    assert found["x.use@L6"] == ([], ["%0"])


def test_regions_see_what_is_around_them_and_introduce_arguments(edges):
    found = edges(
        "func.func @f(%n: index) {\n"
        "  %z = x.zero : i32\n"
        "  %r = scf.for %i = %n to %n step %n iter_args(%s = %z) -> (i32) {\n"
        "    %t = x.body %s, %i, %z : i32\n"
        "    scf.yield %t : i32\n"
        "  }\n"
        "  x.end %r : i32\n"
        "}\n"
    )
    assert found["scf.for@L3"] == (["x.zero@L2"], ["%n"])
    assert found["x.body@L4"] == (["x.zero@L2"], ["%s", "%i"])
    assert found["scf.yield@L5"] == (["x.body@L4"], [])
    assert found["x.end@L7"] == (["scf.for@L3"], [])


def test_block_arguments_of_the_generic_form(edges):
    found = edges(
        '%p = "x.program"() ({\n'
        "^bb0(%a: i32, %b: i32):\n"
        '  "x.use"(%b) : (i32) -> ()\n'
        "}) : () -> i32\n"
        '"x.run"(%p) : (i32) -> ()\n'
    )
    assert found["x.use@L3"] == ([], ["%b"])
    assert found["x.run@L5"] == (["x.program@L1"], [])


def test_a_name_that_nothing_introduces_leaves_the_inputs_unknown(edges):
    found = edges('%0 = "x.a"() : () -> i32\n"x.b"(%0, %ghost) : (i32, i32) -> ()\n')
    assert found["x.b@L2"] is None


def test_operations_outside_of_functions_keep_their_places(edges):
    found = edges(
        '%0 = "x.before"() : () -> i32\n'
        "func.func @f() {\n"
        "  %0 = x.inside : i32\n"
        "  x.use %0 : i32\n"
        "}\n"
        '"x.after"(%0) : (i32) -> ()\n'
    )
    assert found["x.use@L4"] == (["x.inside@L3"], [])
    assert found["x.after@L6"] == (["x.before@L1"], [])
