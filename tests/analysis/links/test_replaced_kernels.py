"""Kernels that a pass put in place of recorded operators are linked by their debug handles."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from viewer.analysis.links.link_table import Reason
from viewer.analysis.links.linker import link
from viewer.analysis.links.logged_identities import signatures
from viewer.analysis.links.match import REPLACED, match_trace
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.workspace.workspace import Workspace


def pair(data, model):
    return tuple(open_file(str(data / "pte" / f"{model}.{end}")) for end in ("etdp", "etrecord"))


@pytest.mark.parametrize(
    ("model", "replaced", "kernels"),
    [
        ("embedded2", 6, 8),  # six operators became neg
        ("tpass2", 8, 30),  # every relu became sigmoid and mul
    ],
)
def test_every_kernel_has_the_line_and_module_of_the_program_that_ran(
    data, model, replaced, kernels
):
    trace, record = pair(data, model)
    truth = json.loads((data / "pte" / f"{model}.truth.json").read_text())["forward"]
    table = link(trace, record)
    assert table.trace_match.match.value == pytest.approx(1 - replaced * REPLACED / kernels)
    instructions = {}
    for key in np.flatnonzero(trace.keys.kind == KeyKind.KERNEL).tolist():
        instruction = int(trace.keys.instruction[key])
        (operator,) = table.operators(key)
        (node,) = truth[instruction]["nodes"]
        assert [operator.source.path, operator.source.line] == node["line"]
        assert operator.module_path == node["module"]
        instructions[instruction] = table.links[key].reason
    assert sorted(instructions) == list(range(kernels))
    assert list(instructions.values()).count(Reason.REPLACED) == replaced


def test_the_reason_names_both_operators(data):
    trace, record = pair(data, "embedded2")
    table = link(trace, record)
    key = np.flatnonzero(trace.keys.instruction == 2)[0]
    assert table.links[key].detail == (
        "Instruction 2 → debug handle 2. A pass, or another version of the model, replaced relu "
        "with neg"
    )


def test_a_run_with_other_instructions_has_no_replaced_kernels(data):
    """Then the record is more likely of another model."""
    trace, record = pair(data, "embedded2")
    (method,) = record.methods
    shorter = replace(method, handles={i: h for i, h in method.handles.items() if i < 7})
    found = match_trace(trace, replace(record, methods=(shorter,)))
    assert found.replaced == (frozenset(), frozenset())
    assert not found.match.belongs


def test_kernels_that_contradict_their_handles_are_not_replaced(data):
    """All kernels have names of the record, in another order."""
    trace, record = pair(data, "tpass2")
    (method,) = record.methods
    turned = dict(zip(method.handles, reversed(method.handles.values()), strict=True))
    found = match_trace(trace, replace(record, methods=(replace(method, handles=turned),)))
    assert not found.replaced[0]


def test_a_method_without_a_graph_is_not_taken_for_another_one_after_passes(data):
    """Both methods have the same instructions, so the relu may be of the one without a graph."""
    trace, record = pair(data, "embedded2")
    (method,) = record.methods
    unknown = replace(method, name="decode", operators=())
    found = match_trace(trace, replace(record, methods=(method, unknown)))
    assert not found.replaced[0]


def test_of_two_scopes_that_fit_a_method_equally_none_is_that_method_after_passes(data):
    """The scopes of a dump are different methods."""
    trace, record = pair(data, "embedded2")
    (run,) = [one for one in signatures(trace) if one.runs > 1]
    twin = replace(run, scope=1)
    assert match_trace(trace, record, None, [run]).replaced[0]
    found = match_trace(trace, record, None, [run, twin])
    assert found.replaced == (frozenset(), frozenset())


def test_the_user_is_told_that_kernels_were_replaced(data):
    workspace = Workspace()
    for suffix in ("etdp", "etrecord"):
        workspace.open(str(data / "pte" / f"tpass2.{suffix}"))
    assert workspace.warnings(workspace.traces[0]) == [
        "8 instructions of tpass2.etdp ran kernels that are not in tpass2.etrecord: an export pass "
        "replaced operators, or the ETRecord is from another version of the model. They are linked "
        "by their debug handles."
    ]


def test_a_chosen_record_links_by_debug_handle_whatever_the_kernels_are_called(data):
    dump, record = data / "pte" / "embedded2.etdp", data / "pte" / "tpass2.etrecord"
    workspace = workspace_of(dump, record)
    (trace,) = workspace.traces
    assert workspace.links(trace).program is None
    workspace.pair(str(dump), str(record))
    table = workspace.links(trace)
    reasons = {
        int(trace.keys.instruction[key]): table.links[key].reason
        for key in np.flatnonzero(trace.keys.kind == KeyKind.KERNEL).tolist()
    }
    assert reasons[2] is Reason.CHOSEN_RECORD
    assert Reason.OTHER_OPERATOR not in reasons.values()
    assert Path(table.program.path) == record
