"""With the program file, matches are exact: what ran, and whether an ETRecord is of it."""

import pytest

from viewer.analysis.links.executable_match import (
    decided_by,
    match_with_executable,
    methods_that_ran,
    replaced_instructions,
)
from viewer.analysis.links.logged_identities import signatures
from viewer.analysis.links.match import match_trace
from viewer.formats import open_file
from viewer.workspace.workspace import Workspace

MODELS = (
    "cond", "custom", "dyn_x", "embedded2", "llama", "mobile_x", "multi3", "part_x", "quant_p",
    "tpass2",
)  # fmt: skip
# Refuted by the program file that ran.
WRONG = (
    ("mobile_x", "part_x"), ("dyn_x", "mobile_x"), ("part_x", "mobile_x"), ("multi3", "cond"),
    ("custom", "llama"), ("quant_p", "mobile_x"),
)  # fmt: skip


@pytest.fixture(scope="module")
def opened():
    """Files of tests/data/pte by name, each read once."""
    from tests.paths import DATA

    known = {}

    def read(name):
        if name not in known:
            known[name] = open_file(str(DATA / "pte" / name))
        return known[name]

    return read


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
    found = decided_by(executable, ran, match_trace(trace, record, chosen), record, chosen)
    assert found.methods[:2] == ("prefill", "decode")
    assert found.undecided == ((), (), ())


def test_without_a_choice_methods_with_one_instruction_list_stay_undecided(opened):
    trace, record, executable = (opened(f"multi3.{end}") for end in ("etdp", "etrecord", "pte"))
    ran = methods_that_ran(trace, executable, signatures(trace))
    found = decided_by(executable, ran, match_trace(trace, record), record, {})
    assert found.undecided[0] == ("forward", "prefill")
    assert found.methods == (None, "decode", None)
