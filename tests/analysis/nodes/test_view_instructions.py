"""Views that the runtime makes have the node that they were emitted for."""

import json
from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.links.link_table import Reason
from viewer.analysis.nodes.view_instructions import view_nodes
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.workspace.workspace import Workspace


@pytest.fixture
def linked(data):
    def open_files(model, ends=("etdp", "etrecord", "pte")):
        space = Workspace()
        for end in ends:
            space.open(str(data / "pte" / f"{model}.{end}"))
        return space.links(space.traces[0])

    return open_files


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
