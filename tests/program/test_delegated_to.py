"""Which delegates' calls an operator went into, by the maps of real records."""

from viewer.formats import open_file
from viewer.program.program import DelegateIdentifier, instructions_of, lowered_into

CONV1, RELU1, CONV2, RELU2, TAN = range(5)


def lowerings(data, name, operator):
    program = open_file(str(data / "etrecord" / name))
    return lowered_into(program.methods[0], program.operators[operator])


def test_an_identifier_of_several_handles_is_a_fusion(data):
    (found,) = lowerings(data, "demo_str.etrecord", RELU1)
    assert (found.instruction, found.backend, found.has_map) == (0, "BackendStrDemo", True)
    assert found.others == (CONV1, CONV2, RELU2, TAN)
    assert found.identifiers == (DelegateIdentifier("Fancy Fusion", (CONV1,)),)


def test_one_operator_may_have_several_identifiers(data):
    (found,) = lowerings(data, "demo_str.etrecord", TAN)
    assert [(x.key, x.fused) for x in found.identifiers] == [
        ("sin:0;a=b", ()), ("cos/1", ()), ("div", ())
    ]  # fmt: skip


def test_a_backend_without_a_map_names_no_identifier(data):
    found = lowerings(data, "cnn_teal_xnnpack.etrecord", 0)
    assert found
    assert all(not x.has_map and not x.identifiers for x in found)
    assert {x.backend for x in found} == {"XnnpackBackend"}


def test_an_operator_of_kernels_is_in_no_delegate(data):
    assert lowerings(data, "cnn_toedge_portable.etrecord", 0) == ()


def test_the_instructions_of_an_operator_are_those_of_the_map(data):
    program = open_file(str(data / "etrecord" / "cnn_toedge_portable.etrecord"))
    method = program.methods[0]
    assert instructions_of(method, program.operators[0]) == {0}
    assert instructions_of(method, program.operators[7]) == {7, 8}  # permute_copy, addmm
