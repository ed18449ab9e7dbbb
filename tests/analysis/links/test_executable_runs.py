"""Which program file is what ran in a trace."""

from dataclasses import replace

import pytest

from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from tests.builders.pte_cases import MODELS
from viewer.analysis.links.executable_match import methods_that_ran
from viewer.analysis.links.logged_identities import signatures
from viewer.formats import open_file
from viewer.program.executables import (
    XNNPACK,
    Delegate,
    Executable,
    ExecutableMethod,
    Instruction,
    InstructionKind,
    Tensors,
    XnnpackNode,
)


def test_a_dump_ran_its_own_program_and_no_other(opened):
    for model in MODELS:
        trace = opened(f"{model}.etdp")
        logged = signatures(trace)
        fitting = [
            name
            for name in MODELS
            if methods_that_ran(trace, opened(f"{name}.pte"), logged) is not None
        ]
        assert fitting == [model]


def test_methods_with_one_instruction_list_are_both_possible(opened):
    trace, executable = opened("multi3.etdp"), opened("multi3.pte")
    found = methods_that_ran(trace, executable, signatures(trace))
    assert found == [("forward", "prefill"), ("decode",), ()]


@pytest.fixture
def delegated(tmp_path):
    """A dump of one delegate call with some events, and an executable whose call has some nodes."""

    def make(events, nodes, backend=XNNPACK):
        logged = [delegate(e, 0, 10 + i, 11 + i) for i, e in enumerate(events)]
        call, whole = operator("DELEGATE_CALL", 0, 5, 90), framework("Method::execute", 0, 100)
        runs = [Run("Execute", [*logged, call, whole])]
        trace = open_file(str(write_dump(tmp_path / "run.etdp", runs)))
        part = Delegate(backend, 8, tuple(XnnpackNode(f"XNN{n}", i) for i, n in enumerate(nodes)))
        instruction = Instruction(0, InstructionKind.DELEGATE_CALL, backend, delegate=0)
        method = ExecutableMethod("forward", (instruction,), (part,), Tensors.empty())
        return trace, Executable("run.pte", "ExecuTorch program", "", (method,), (), 8)

    return make


def ran(trace, executable):
    return methods_that_ran(trace, executable, signatures(trace)) is not None


ADD, SOFTMAX = "Add (ND) #1", "Softmax (NC, F32) #1"


def test_events_are_those_of_the_delegates_nodes(delegated):
    assert ran(*delegated([ADD, SOFTMAX], ["Add", "Softmax"]))
    assert not ran(*delegated([SOFTMAX, ADD], ["Add", "Softmax"]))


def test_one_event_without_a_node_refutes_no_program(delegated):
    light = ["Add", "Multiply", "Sigmoid", "Tanh", "Exp", "Softmax"]
    events = ["Add (ND) #1", "Multiply (ND) #1", "New Fusion (NC) #1", "Sigmoid (NC) #1",
              "TanH (NC) #1", "Exp (NC) #1", SOFTMAX]  # fmt: skip
    assert ran(*delegated(events, light))
    assert not ran(*delegated(events[:2] + events[3:], [*light, "Softmax"]))  # none removes one
    # Unless a later release gave it another name.
    renamed = [*events[:2], *events[3:-1], "New Softmax (NC) #1"]
    twice = [f"{event[:-1]}2" for event in events[:2] + events[3:]]
    assert ran(*delegated(renamed + twice, light * 2))


def test_most_of_a_small_call_may_differ_if_the_other_calls_agree(tmp_path):
    names = ("Add (ND)", "Multiply (ND)", "Sigmoid (NC)", "TanH (NC)")
    agreed = [f"{name} #{i}" for i in (1, 2) for name in names]
    first = [delegate(event, 0, 10 + i, 11 + i) for i, event in enumerate(agreed)]
    second = [delegate("New Fusion (NC) #1", 1, 31, 32)]
    calls = [operator("DELEGATE_CALL", 0, 5, 30), operator("DELEGATE_CALL", 1, 30, 90)]
    logged = [*first, calls[0], *second, calls[1], framework("Method::execute", 0, 100)]
    trace = open_file(str(write_dump(tmp_path / "run.etdp", [Run("Execute", logged)])))

    def program(*types):
        parts = [
            Delegate(XNNPACK, 8, tuple(XnnpackNode(f"XNN{n}", i) for i, n in enumerate(own)))
            for own in types
        ]
        instructions = tuple(
            Instruction(i, InstructionKind.DELEGATE_CALL, XNNPACK, delegate=i)
            for i in range(len(parts))
        )
        method = ExecutableMethod("forward", instructions, tuple(parts), Tensors.empty())
        return Executable("run.pte", "ExecuTorch program", "", (method,), (), 8)

    light = ["Add", "Multiply", "Sigmoid", "Tanh"] * 2
    assert ran(trace, program(light, ["Log"]))
    assert not ran(trace, program(light[:4], ["Log"]))


def test_a_larger_model_with_the_same_first_nodes_is_another_one(delegated):
    assert not ran(*delegated([ADD], ["Add", "Softmax", "Add"]))


def test_events_of_another_delegate_are_of_another_program(delegated):
    assert not ran(*delegated(["Fancy Fusion"], ["Add"]))
    assert not ran(*delegated([7], ["Add"]))
    assert not ran(*delegated([ADD], [], "ToyNpu"))


def test_without_any_kernel_or_event_of_xnnpack_nothing_is_known(delegated):
    assert not ran(*delegated([], ["Add"]))
    assert not ran(*delegated(["Fancy Fusion"], [], "ToyNpu"))


def test_an_instruction_that_the_program_does_not_have_refutes_it(delegated):
    trace, executable = delegated([ADD], ["Add"])
    (method,) = executable.methods
    kernel = Instruction(0, InstructionKind.KERNEL_CALL, "aten::add.out")
    assert not ran(trace, replace(executable, methods=(replace(method, instructions=(kernel,)),)))
    longer = (*method.instructions, replace(method.instructions[0], number=1))
    assert not ran(trace, replace(executable, methods=(replace(method, instructions=longer),)))
