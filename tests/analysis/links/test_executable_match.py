"""With the program file that ran, matches with ETRecords are exact."""

import os
from dataclasses import replace

import pytest

from tests.builders.pte_cases import MODELS
from tests.builders.workspaces import workspace_of
from viewer.analysis.links.executable_match import (
    decided_by,
    match_with_executable,
    methods_that_ran,
    replaced_instructions,
)
from viewer.analysis.links.logged_identities import signatures
from viewer.analysis.links.match import match_trace
from viewer.workspace.workspace import Workspace

# Refuted by the program file that ran.
WRONG = (
    ("mobile_x", "part_x"), ("dyn_x", "mobile_x"), ("part_x", "mobile_x"), ("multi3", "cond"),
    ("custom", "llama"), ("quant_p", "mobile_x"),
)  # fmt: skip


@pytest.mark.parametrize("model", [m for m in MODELS if m not in ("embedded2", "tpass2")])
def test_a_record_matches_its_own_program_to_the_last_instruction(opened, model):
    executable = opened(f"{model}.pte")
    for method in opened(f"{model}.etrecord").methods:
        found = match_with_executable(method, executable.method(method.name))
        assert found.value == 1
        assert found.evidence >= 1
        assert not replaced_instructions(method, executable.method(method.name))


def test_kernels_that_a_pass_replaced_are_known_one_by_one(opened):
    (method,) = opened("tpass2.etrecord").methods
    ran = opened("tpass2.pte").method("forward")
    replaced = replaced_instructions(method, ran)
    assert {ran.instructions[i].name for i in replaced} == {"aten::sigmoid.out", "aten::mul.out"}
    assert len(replaced) == 8


@pytest.mark.parametrize(("dump", "record"), WRONG)
def test_a_record_of_another_model_is_refuted(data, dump, record):
    space = Workspace()
    for name in (f"{dump}.etdp", f"{dump}.pte", f"{record}.etrecord"):
        space.open(str(data / "pte" / name))
    (trace,) = space.traces
    assert space.what_ran(trace) is space.executables[0]
    assert space.links(trace).program is None
    assert not space.candidates(trace)[0].trace_match.match.belongs


def test_the_method_that_the_user_chose_is_kept(opened):
    trace, record, executable = (opened(f"multi3.{end}") for end in ("etdp", "etrecord", "pte"))
    chosen = {0: "prefill"}
    ran = methods_that_ran(trace, executable, signatures(trace))
    found = decided_by(trace, executable, ran, match_trace(trace, record, chosen), record, chosen)
    assert found.methods[:2] == ("prefill", "decode")
    assert found.undecided == ((), (), ())


def test_without_a_choice_methods_with_one_instruction_list_stay_undecided(opened):
    trace, record, executable = (opened(f"multi3.{end}") for end in ("etdp", "etrecord", "pte"))
    ran = methods_that_ran(trace, executable, signatures(trace))
    found = decided_by(trace, executable, ran, match_trace(trace, record), record, {})
    assert found.undecided[0] == ("forward", "prefill")
    assert found.methods == (None, "decode", None)


def test_a_method_that_the_program_refutes_keeps_its_own_match(opened):
    """The runs of Execute 1 cannot be of decode."""
    trace, record, executable = (opened(f"multi3.{end}") for end in ("etdp", "etrecord", "pte"))
    chosen = {0: "decode"}
    ran = methods_that_ran(trace, executable, signatures(trace))
    before = match_trace(trace, record, chosen)
    found = decided_by(trace, executable, ran, before, record, chosen)
    assert found.by_scope[0] == before.by_scope[0]
    assert found.by_scope[0].value < 0.6


def test_a_record_without_one_of_two_methods_with_the_same_instructions_decides_nothing(opened):
    trace, record, executable = (opened(f"multi3.{end}") for end in ("etdp", "etrecord", "pte"))
    part = replace(record, methods=tuple(m for m in record.methods if m.name != "prefill"))
    ran = methods_that_ran(trace, executable, signatures(trace))
    found = decided_by(trace, executable, ran, match_trace(trace, part), part, {})
    assert found.methods[0] is None
    assert found.undecided[0] == ("forward", "prefill")


def test_a_delegate_that_does_not_show_what_it_runs_leaves_the_match_as_it_is(opened):
    """Its program file is the same for any delegate map."""
    trace, record, executable = (
        opened(name) for name in ("mix_str_failed.etdp", "mix_str.etrecord", "mix_str.pte")
    )
    ran = methods_that_ran(trace, executable, signatures(trace))
    before = match_trace(trace, record)
    assert decided_by(trace, executable, ran, before, record, {}).match == before.match
    assert 0.6 < before.match.value < 1


def test_a_program_file_of_another_model_changes_nothing(data):
    """A demonstration delegate and XNNPACK, each with one call."""
    space = Workspace()
    for name in ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord",
                 "pte/mobile_x.etrecord", "pte/mobile_x.pte"):  # fmt: skip
        space.open(str(data / name))
    (trace,) = space.traces
    assert space.what_ran(trace) is None
    assert os.path.basename(space.links(trace).program.path) == "demo_str.etrecord"


def test_two_program_files_that_differ_in_weights_alone_link_alike(opened, data):
    executable = opened("mobile_x.pte")
    heavier = replace(
        executable,
        path="other.pte",
        methods=tuple(
            replace(m, delegates=tuple(replace(d, size=d.size + 8) for d in m.delegates))
            for m in executable.methods
        ),
    )
    space = Workspace()
    for item in (opened("mobile_x.etdp"), opened("mobile_x.etrecord"), executable, heavier):
        space.add(item)
    assert space.what_ran(space.traces[0]) is executable
    assert space.warnings(space.traces[0]) == []
    (method,) = executable.methods
    fewer = replace(method, delegates=(replace(method.delegates[0], unread="cut"),))
    space.add(replace(executable, path="cut.pte", methods=(fewer,)))
    assert space.what_ran(space.traces[0]) is executable  # it has the dump's name


def test_every_scope_states_the_method_that_ran(data):
    space = workspace_of(*(data / "pte" / name for name in ("multi3.etdp", "multi3.pte")))
    (trace,) = space.traces
    ran = space.links(trace).ran  # known without an ETRecord, except of two equal methods
    assert [method and method.name for method in ran] == [None, "decode", None]
    space.open(str(data / "pte" / "multi3.etrecord"))
    space.choose_method(trace.path, trace.scopes[0].name, "prefill")
    ran = space.links(space.traces[0]).ran
    assert [method and method.name for method in ran] == ["prefill", "decode", None]
    assert ran[0] is space.executables[0].method("prefill")


def test_without_a_program_file_no_method_is_known_to_have_run(data):
    space = workspace_of(data / "pte" / "multi3.etdp")
    assert space.links(space.traces[0]).ran == ()
