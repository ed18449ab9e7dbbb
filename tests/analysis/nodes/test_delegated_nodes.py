"""Delegate calls whose nodes have debug handles in common list only their own nodes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from viewer.analysis.nodes.delegated_nodes import calls_of_nodes
from viewer.formats import open_file
from viewer.model.trace import KeyKind
from viewer.workspace.workspace import Workspace


@pytest.fixture
def record(data):
    return open_file(str(data / "pte" / "quant_calls.etrecord"))


@pytest.mark.parametrize("ends", [("etdp", "etrecord"), ("etdp", "etrecord", "pte")])
def test_a_quantized_call_lists_the_nodes_and_lines_of_its_lowered_module(data, ends):
    """A dequantize in the second call has the debug handle of the relu in the first one."""
    space = Workspace()
    for end in ends:
        space.open(str(data / "pte" / f"quant_calls.{end}"))
    table = space.links(space.traces[0])
    truth = json.loads((data / "pte" / "quant_calls.truth.json").read_text())["forward"]
    keys, compared = table.trace.keys, 0
    wanted = (KeyKind.DELEGATE_CALL, KeyKind.OPERATOR_CALL)
    for key in np.flatnonzero(np.isin(keys.kind, wanted)).tolist():
        emitted, nodes = truth[str(keys.instruction[key])], table.nodes(key)
        assert {node.name for node in nodes} == {one["node"] for one in emitted}
        lines = {(at.path, at.line) for node in nodes if (at := node.source) is not None}
        assert lines == {tuple(one["line"]) for one in emitted if one["line"]}
        compared += 1
    assert compared == 7


def test_only_nodes_of_handles_in_several_calls_are_decided(record):
    (method,) = record.methods
    found = calls_of_nodes(record, method, {})
    assert {record.nodes[i].debug_handle for i in found} == {6}
    assert {record.nodes[i].name: calls for i, calls in found.items()} == {
        "aten_relu_default": {0},
        "quantized_decomposed_quantize_per_tensor_default_1": {0},
        "quantized_decomposed_dequantize_per_tensor_default_1": {0},
        "quantized_decomposed_dequantize_per_tensor_default_2": {2},
    }


def test_a_graph_that_a_pass_changed_decides_nothing(record):
    """The map lists other numbers of nodes than the graph has."""
    (method,) = record.methods
    handles = dict(method.handles)
    handles[2] = (*handles[2], 6)
    assert calls_of_nodes(record, replace(method, handles=handles), {}) == {}


def test_several_answers_leave_all_calls(record):
    """Without the data flow, any of four nodes may be the one of the second call."""
    (method,) = record.methods
    operators = tuple(
        replace(op, nodes=tuple(replace(node, inputs=()) for node in op.nodes))
        for op in method.operators
    )
    program = replace(record, methods=(replace(method, operators=operators),))
    found = calls_of_nodes(program, program.methods[0], {})
    assert set(map(frozenset, found.values())) == {frozenset({0, 2})}
