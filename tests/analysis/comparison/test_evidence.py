"""What of operators is compared, and what is around them."""

from tests.builders.nested_program import chain, nested_program
from tests.paths import DATA
from viewer.analysis.comparison.evidence import (
    Evidence,
    PairedOperator,
    only_users,
    without_address,
)
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.formats import open_file


def evidence(a, b):
    return Evidence(a.methods[0], b.methods[0], (dataflow_of(a), dataflow_of(b)))


def test_what_is_compared_of_an_operator():
    (method,) = open_file(str(DATA / "compare/02_module_renamed/a.etrecord")).methods
    stem = PairedOperator.of(method.operators[0], method.constants)
    assert stem.shapes == ((1, 8, 8, 8), (8, 3, 3, 3), (8,))
    assert stem.text == "x = self.stem(x) # id:stem"
    assert len(stem.constants) == 2
    assert ("stride", (2, 2)) in stem.settings


def test_a_constant_of_several_operators_identifies_none():
    assert only_users([("w", "b"), ("v", "b"), ()]) == {"w": 0, "v": 1}


def test_names_of_recorded_calls_lose_what_differs_between_processes():
    name = "<built-in method dim of Tensor object at 0x7f0e445ad9f0>"
    assert without_address(name) == "<built-in method dim of Tensor object>"
    assert without_address("aten::mm") == "aten::mm"
    assert without_address("looks at 0xyz") == "looks at 0xyz"


def test_what_is_around_ends_at_what_is_paired():
    a = nested_program([""] * 4, chain(4), ["x", "relu", "relu", "y"])
    b = nested_program([""] * 5, chain(5), ["z", "x", "relu", "relu", "y"])
    found = evidence(a, b)
    takes, gives = found.cones({}, is_exact=True)
    assert takes[0][1] != takes[1][2]  # what b has at the front is before it
    assert gives[0][1] == gives[1][2] != gives[1][3]
    takes, _ = found.cones({0: 1}, is_exact=True)
    assert takes[0][1] == takes[1][2] != takes[1][3]


def test_neighbors_in_common_are_counted():
    program = nested_program([""] * 3, chain(3))
    found = evidence(program, program)
    assert found.common({0: 0, 2: 2}, 1, 1) == (2, 0)
    assert found.common({0: 2}, 1, 0) == (0, 1)
