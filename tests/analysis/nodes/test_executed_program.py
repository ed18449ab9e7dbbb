"""Links through the program file: XNNPACK's events, and kernels in branches."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from viewer.analysis.links.link_table import Reason
from viewer.analysis.nodes.executed_program import view_nodes
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.program.executables import INSERTED


@pytest.fixture
def linked(data):
    """The links of a model's dump with its record and, if asked for, its program file."""

    def open_files(model, ends=("etdp", "etrecord", "pte")):
        space = workspace_of(*(data / "pte" / f"{model}.{end}" for end in ends))
        return space.links(space.traces[0])

    return open_files


@pytest.mark.parametrize("model", ["mobile_x", "dyn_x", "part_x"])
def test_every_event_of_xnnpack_has_the_debug_handle_of_its_node(linked, data, model):
    truth = json.loads((data / "pte" / f"{model}.xnn.json").read_text())["forward"]
    table = linked(model)
    keys = table.trace.keys
    compared = 0
    for key in np.flatnonzero(keys.kind == KeyKind.DELEGATE_EVENT).tolist():
        events = {event: handle for event, handle, _ in truth[str(keys.instruction[key])]["events"]}
        handle, link = events[keys.identifier[key]], table.links[key]
        if handle == INSERTED:
            assert link.reason is Reason.INSERTED
            assert link.operators == ()
        else:
            assert link.reason is Reason.BY_XNNPACK_NODE
            assert link.handles == (handle,)
            assert [op.debug_handle for op in table.operators(key)] == [handle]
        compared += 1
    assert compared == sum(len(call["events"]) for call in truth.values())


def test_without_the_program_file_they_say_what_would_link_them(linked):
    table = linked("mobile_x", ("etdp", "etrecord"))
    kinds = table.trace.keys.kind
    reasons = {table.links[key].reason for key in np.flatnonzero(kinds == KeyKind.DELEGATE_EVENT)}
    assert reasons == {Reason.NO_DELEGATE_MAP}


def test_kernels_in_branches_have_the_operator_of_their_branch(linked):
    """torch.cond(p, yes, no) at line 164 and torch.cond(p, no, yes) at 166."""
    table = linked("cond")
    keys = table.trace.keys
    found = {
        int(keys.instruction[key]): [
            (node.name, node.branch, node.source.line) for node in table.nodes(key)
        ]
        for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist()
    }
    assert found[3] == [("aten_sin_default", "true branch of cond", 164)]
    assert found[8] == [("aten_mul_tensor", "false branch of cond", 164)]
    assert found[12] == [("aten_cos_default", "true branch of cond", 166)]
    assert found[17] == [("aten_add_tensor", "false branch of cond", 166)]
    assert all(len(nodes) == 1 for nodes in found.values())


def test_without_the_program_file_they_are_not_linked(linked):
    table = linked("cond", ("etdp", "etrecord"))
    reasons = [link.reason for link in table.links]
    assert Reason.IN_BRANCH in reasons
    assert Reason.BY_BRANCH not in reasons


def test_views_have_the_node_and_line_that_the_emitter_recorded(linked, data):
    """Of a batch of any size: two equal views, a view of a view, and views of fixed sizes."""
    truth = json.loads((data / "pte" / "views.truth.json").read_text())["forward"]
    table, found = linked("views"), {}
    for key in np.flatnonzero(table.trace.keys.kind == KeyKind.OPERATOR_CALL).tolist():
        if table.links[key].reason is Reason.BY_VIEW:
            (node,) = table.nodes(key)
            assert node.source is not None
            found[str(table.trace.keys.instruction[key])] = {
                "node": node.name,
                "line": [node.source.path, node.source.line],
                "handle": node.debug_handle,
            }
    assert found == truth


def test_a_view_between_delegate_calls_is_that_of_what_the_first_returns(linked):
    table = linked("dyn_x")
    (key,) = [k for k, link in enumerate(table.links) if link.reason is Reason.BY_VIEW]
    assert [node.name for node in table.nodes(key)] == ["aten_view_copy_default"]
    assert table.links[key].detail == (
        "dyn_x.pte has instruction 4 as the view aten_view_copy_default"
    )


def test_without_the_program_file_views_are_not_linked(linked):
    assert Reason.BY_VIEW not in {x.reason for x in linked("views", ("etdp", "etrecord")).links}


def test_a_view_that_may_be_either_of_two_is_unknown(data):
    """Without sizes, the second of two views in a row may be the first one."""
    program, executable = (open_file(str(data / "pte" / f"views.{e}")) for e in ("etrecord", "pte"))
    ((ran,), (method,)) = executable.methods, program.methods
    assert view_nodes(program, method, ran).keys() == {2, 4, 5, 11}
    no_sizes = replace(ran.tensors, value=np.full(len(ran.tensors), -1))
    found = view_nodes(program, method, replace(ran, tensors=no_sizes))
    assert 11 not in found
