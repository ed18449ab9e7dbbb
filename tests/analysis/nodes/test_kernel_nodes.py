"""The graph node that an instruction ran is selected by its kernel's name, and by its order."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.builders.workspaces import workspace_of
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.source_costs import line_costs, module_costs
from viewer.analysis.links.linker import link
from viewer.analysis.nodes.instruction_nodes import KernelNodes, calls_of_nodes
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, RunKind
from viewer.program.module_tree import module_tree
from viewer.program.program import GraphNode, Method, Operator, Program


def selection(ops, handles, kernels):
    """The nodes of a method whose one operator has nodes with these operators."""
    nodes = tuple(GraphNode(f"n{i}", f"aten.{op}.default", 7) for i, op in enumerate(ops))
    method = Method("forward", (Operator(0, "forward", 7, nodes),), handles)
    program = Program("p", "ETRecord", "", (method,))
    return KernelNodes(program, method, {i: {name} for i, name in kernels.items()})


def test_the_kernels_name_selects_the_node():
    found = selection(["add", "mul"], {4: (7,)}, {4: "mul"})
    assert found.nodes(4) == (1,)


def test_instructions_with_equal_kernels_ran_the_nodes_in_graph_order():
    found = selection(["add", "view_copy", "add"], {3: (7,), 5: (7,)}, {3: "add", 5: "add"})
    assert [found.nodes(i) for i in (3, 5)] == [(0,), (2,)]


def test_if_a_node_became_no_instruction_all_that_it_may_be_are_given():
    found = selection(["add", "mul", "add"], {3: (7,), 5: (7,)}, {3: "add", 5: "mul"})
    assert found.nodes(3) == (0, 2)
    assert found.nodes(5) == (1,)


def test_without_kernels_the_order_alone_decides_if_there_is_an_instruction_per_node():
    assert selection(["add", "mul"], {3: (7,), 5: (7,)}, {}).nodes(5) == (1,)
    assert selection(["add", "mul"], {3: (7,)}, {}).nodes(3) == ()


def test_a_replaced_kernel_keeps_its_place_among_the_others():
    found = selection(["add", "mul"], {3: (7,), 5: (7,)}, {3: "add", 5: "fancy_mul"})
    assert found.nodes(5) == (1,)


def test_an_operator_of_one_node_needs_no_selection():
    assert selection(["add"], {3: (7,)}, {3: "add"}).nodes(3) == ()


@pytest.fixture
def quantized(data):
    """A quantized model: quantizing nodes have the debug handles of their neighbors."""
    trace, record = (
        open_file(str(data / "pte" / f"quant_p.{end}")) for end in ("etdp", "etrecord")
    )
    return link(trace, record)


def test_every_kernel_has_the_node_that_the_program_emitted(quantized, data):
    truth = json.loads((data / "pte/quant_p.truth.json").read_text())["forward"]
    keys = quantized.trace.keys
    compared = 0
    for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist():
        emitted = truth[int(keys.instruction[key])]["nodes"]
        (node,) = quantized.nodes(key)
        same = [found for found in emitted if found["name"] == node.name]
        assert len(same) == 1
        assert node.module_path == same[0]["module"]
        assert (node.source is None) == (same[0]["line"] is None)
        if node.source is not None:
            assert [node.source.path, node.source.line] == same[0]["line"]
        compared += 1
    assert compared > 100


def test_costs_by_type_are_those_of_the_nodes(quantized):
    """Sums of the OPERATOR_CALLs over both inferences, by the operators that were emitted."""
    found = {group.label: group.total for group in Grouping(quantized).by("type").groups}
    assert found["convolution"] == 508_297
    assert found["quantize_per_tensor"] == 59_718
    assert found["dequantize_per_tensor"] == 16_828


def test_costs_by_line_are_those_of_the_nodes(quantized, data):
    truth = json.loads((data / "pte/quant_p.truth.json").read_text())["forward"]
    trace, program = quantized.trace, quantized.program
    expected = {}
    for i in np.flatnonzero(trace.keys.kind[trace.slices.key] == KeyKind.OPERATOR_CALL).tolist():
        instruction = int(trace.keys.instruction[trace.slices.key[i]])
        line = truth[instruction]["nodes"][0]["line"]
        ticks = int(trace.slices.end[i] - trace.slices.start[i])
        if line is not None:
            expected[line[1]] = expected.get(line[1], 0) + ticks
    (path,) = {op.source.path for op in program.operators if op.source and "m.py" in op.source.path}
    found = line_costs(program, Costs(quantized).table(), path)
    assert {line: own.ticks for line, own in found.self_costs.items()} == expected
    assert not found.shared


def test_costs_of_modules_are_those_of_the_nodes(quantized, data):
    truth = json.loads((data / "pte/quant_p.truth.json").read_text())["forward"]
    trace, tree = quantized.trace, module_tree(quantized.program)
    expected = {}
    for i in np.flatnonzero(trace.keys.kind[trace.slices.key] == KeyKind.OPERATOR_CALL).tolist():
        module = truth[int(trace.keys.instruction[trace.slices.key[i]])]["nodes"][0]["module"]
        ticks = int(trace.slices.end[i] - trace.slices.start[i])
        expected[module] = expected.get(module, 0) + ticks
    found = module_costs(tree, Costs(quantized).table())
    ticks = zip(tree.modules, found.self_ticks.tolist(), strict=True)
    assert {module.path: own for module, own in ticks if own} == expected
    rows = [*found.single.values(), *(row for rows in found.sets for row in rows)]
    assert sum(row.ticks for row in rows) == sum(expected.values())


def test_each_of_the_instructions_of_a_gru_ran_another_node(data):
    trace = open_file(str(data / "etdump/gru_portable_x1.etdp"))
    table = link(trace, open_file(str(data / "etrecord/gru_toedge_portable.etrecord")))
    keys = trace.keys
    kernels = np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist()
    ran = [node.name for key in kernels for node in table.nodes(key)]
    assert len(ran) == len(set(ran)) == len(kernels) > 20
    nodes = Grouping(table).by("node")
    assert len(nodes.groups) == len(kernels)


def test_sets_of_operators_with_one_node_in_common_are_charged_apart():
    """An instruction of two debug handles whose kernel is that of the first one alone."""
    builder = TraceBuilder("a.etdp", "ETDump", "", Clock("ns"))
    track, scope = builder.track("m", "forward"), builder.scope("Execute", "forward")
    spans = [(KeyKind.FRAMEWORK, "Method::execute", -1, 0, 1000, 0)]
    for instruction, (start, end) in enumerate(((0, 100), (100, 400))):
        spans.append((KeyKind.OPERATOR_CALL, "OPERATOR_CALL", instruction, start, end, 1))
        spans.append((KeyKind.KERNEL, "native_call_add.out", instruction, start, end, 2))
    for kind, name, instruction, start, end, level in spans:
        builder.add(
            track=track,
            start=np.array([start]),
            end=np.array([end]),
            name=builder.intern(name),
            key=builder.key(kind, name, scope=scope, instruction=instruction),
            levels=np.array([level], np.int32),
        )
    builder.run(RunKind.INFERENCE, "Execute", track, scope, 0, 1000)
    nodes = [GraphNode(op, f"aten.{op}.Tensor", i + 1) for i, op in enumerate(("add", "mul"))]
    operators = tuple(Operator(i, "forward", i + 1, (node,)) for i, node in enumerate(nodes))
    method = Method("forward", operators, {0: (1,), 1: (1, 2)})
    table = link(builder.build(), Program("a.etrecord", "ETRecord", "1", (method,)))
    rows = {row.operators: row.ticks for row in Costs(table).table().rows}
    assert rows == {(0,): 100, (0, 1): 300}
    assert {g.label: g.total for g in Grouping(table).by("operator").groups} == {
        "add": 100, "add + mul": 300,
    }  # fmt: skip


@pytest.fixture
def record(data):
    return open_file(str(data / "pte" / "quant_calls.etrecord"))


@pytest.mark.parametrize("ends", [("etdp", "etrecord"), ("etdp", "etrecord", "pte")])
def test_a_quantized_call_lists_the_nodes_and_lines_of_its_lowered_module(data, ends):
    """A dequantize in the second call has the debug handle of the relu in the first one."""
    space = workspace_of(*(data / "pte" / f"quant_calls.{end}" for end in ends))
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
