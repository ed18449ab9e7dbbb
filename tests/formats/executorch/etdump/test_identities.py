"""Which events of an ETDump are kernels, whatever registered them."""

from tests.builders.etdump_cases import read_path
from tests.builders.etdump_writer import framework, operator
from viewer.model.trace import KeyKind


def kinds_by_name(trace):
    """The kinds of the keys of each name."""
    found = {}
    for name, kind in zip(trace.keys.name.tolist(), trace.keys.kind.tolist(), strict=True):
        found.setdefault(trace.strings[name], set()).add(KeyKind(kind))
    return found


def test_a_kernel_of_executorch_library_is_logged_without_a_prefix(data):
    kinds = kinds_by_name(read_path(data / "pte" / "custom.etdp"))
    assert kinds["truth::mul3.out"] == kinds["native_call_add.out"] == {KeyKind.KERNEL}


def test_an_event_inside_the_call_of_its_instruction_is_its_kernel(dump):
    events = [
        operator("ns::own.out", 0, 110, 120),
        operator("OPERATOR_CALL", 0, 100, 130),
        framework("Method::execute", 90, 140),
    ]
    kinds = kinds_by_name(read_path(dump(("Execute", events))))
    assert kinds["ns::own.out"] == {KeyKind.KERNEL}


def test_an_event_is_no_kernel_outside_of_a_call_of_its_own_instruction_or_inside_a_kernel(dump):
    others = "ns::before", "ns::other_instruction", "ns::part", "ns::after", "no namespace"
    before, other_instruction, part, after, without = others
    events = [
        operator(before, 0, 95, 98),
        operator(other_instruction, 7, 111, 112),
        operator(without, 0, 113, 114),
        operator("OPERATOR_CALL", 0, 100, 130),
        operator(part, 1, 142, 143),
        operator("native_call_add.out", 1, 141, 149),
        operator("OPERATOR_CALL", 1, 140, 150),
        operator(after, 1, 155, 156),
        framework("Method::execute", 90, 160),
    ]
    kinds = kinds_by_name(read_path(dump(("Execute", events))))
    for name in others:
        assert kinds[name] == {KeyKind.PLAIN}, name
