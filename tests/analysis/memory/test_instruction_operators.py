"""The operators of an ETRecord behind the instructions of a program file."""

from tests.paths import DATA
from viewer.analysis.memory.instruction_operators import instruction_operators
from viewer.formats import open_file

FILES = DATA / "pte"


def labels(name):
    program = open_file(str(FILES / f"{name}.etrecord"))
    (method,) = open_file(str(FILES / f"{name}.pte")).methods
    found = instruction_operators(program, method)
    return {at: [program.operators[i].label for i in own] for at, own in found.items()}


def test_kernels_and_delegate_calls_have_the_operators_of_their_debug_handles():
    found = labels("part_x")
    assert found[1] == ["c1 · convolution", "relu"]
    assert all(found.values())


def test_kernels_in_branches_have_the_operators_of_their_nodes():
    program_labels = labels("cond")
    assert "sin" in {label for own in program_labels.values() for label in own}


def test_a_method_that_the_record_does_not_have_has_none():
    program = open_file(str(FILES / "part_x.etrecord"))
    decode = open_file(str(FILES / "multi3.pte")).method("decode")
    assert instruction_operators(program, decode) == {}
