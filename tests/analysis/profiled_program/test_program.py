"""The links of traces to the operators that they record."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest

from tests.builders.chrome_cases import DATA, read, slice_event
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.source_costs import line_costs, module_costs, most_expensive_lines
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.links.link_table import LinkState, Reason
from viewer.analysis.links.pairing import identified_by
from viewer.analysis.profiled_program.program import function_calls, recorded_links
from viewer.analysis.statistics.grouping import Grouping
from viewer.analysis.workload.operator_work import figures_of
from viewer.formats import open_file
from viewer.program.dataflow import NO_GRAPH_IN_PROFILE
from viewer.program.module_tree import module_tree
from viewer.workspace.workspace import Workspace


def test_every_node_of_an_onnx_runtime_profile_is_an_operator():
    table = recorded_links(open_file(str(DATA / "onnxruntime_profile.json")))
    linked = [link for link in table.links if link.reason.state is LinkState.LINKED]
    assert len(linked) == len(table.program.operators) > 0
    assert not table.program.is_nested


def test_inputs_are_unknown_because_a_profile_has_no_graph():
    table = recorded_links(open_file(str(DATA / "onnxruntime_profile.json")))
    assert set(dataflow_of(table.program).unknown.values()) == {NO_GRAPH_IN_PROFILE}


def test_a_session_is_a_scope(tmp_path):
    node = {"op_name": "Conv", "provider": "CPUExecutionProvider"}
    trace = read(
        tmp_path,
        slice_event("model_run", 0, 20, cat="Session"),
        slice_event("a_kernel_time", 5, 5, cat="Node", args=node),
    )
    reasons = [link.reason for link in recorded_links(trace).links]
    assert sorted(reason.name for reason in reasons) == ["BY_PROFILE", "FRAMEWORK"]


def test_functions_of_one_name_and_place_are_one_operator(tmp_path):
    trace = read(
        tmp_path, slice_event("f (a.py:1)", 0, 5), slice_event("f (a.py:1)", 9, 5, cat="x")
    )
    assert len(recorded_links(trace).program.operators) == 1


def test_a_trace_of_names_alone_records_nothing(tmp_path):
    assert recorded_links(read(tmp_path, slice_event("a", 0, 5))) is None
    dump = open_file(str(DATA.parent / "etdump" / "attn_portable_x5.etdp"))
    assert recorded_links(dump) is None


def test_a_workspace_links_a_profile_to_itself():
    space = Workspace()
    trace = space.open(str(DATA / "torch_training.json.gz"))
    table = space.links(trace)
    assert table.program.format == "PyTorch profile"
    assert {link.reason for link in table.links} <= {Reason.BY_PROFILE, Reason.FRAMEWORK}
    assert space.warnings(trace) == []


def test_a_profile_whose_identities_come_from_a_column_has_no_call_sites():
    trace = open_file(str(DATA / "torch_training.json.gz"))
    named = identified_by(trace, "Input type")
    assert recorded_links(named) is None


def test_the_time_of_built_ins_is_that_of_the_function_that_calls_them(tmp_path):
    trace = read(
        tmp_path,
        slice_event("main (run.py:9)", 0, 50),
        slice_event("leaf (run.py:3)", 10, 20),
        slice_event("builtins.sum", 12, 15),
        slice_event("leaf (run.py:3)", 52, 5),
        slice_event("other (run.py:20)", 60, 40),
    )
    table = recorded_links(trace)
    costs = Costs(table).table()
    own = {table.program.operators[row.operators[0]].op: row.ticks for row in costs.rows}
    assert own["leaf (run.py:3)"] == 25_000
    assert costs.without_operator == 0


def test_an_annotation_on_a_lane_of_its_own_is_no_operator(tmp_path):
    trace = read(
        tmp_path,
        slice_event("a.py(1): enter", 0, 10, cat="python_function"),
        slice_event("loss", 5, 45, cat="user_annotation"),
        slice_event("a.py(5): run", 12, 30, cat="python_function"),
        slice_event("aten::add", 15, 5, cat="cpu_op"),
    )
    assert "loss" not in {operator.op for operator in recorded_links(trace).program.operators}


def test_functions_have_their_file_and_line(tmp_path):
    trace = read(
        tmp_path,
        slice_event("main (run.py:9)", 0, 50),
        slice_event("leaf (run.py:3)", 10, 5),
        slice_event("gc", 20, 1),
    )
    found = {c.node.source.line: c.node.source.function for c in function_calls(trace) if c}
    assert found == {9: "main", 3: "leaf"}
    assert sum(call is None for call in function_calls(trace)) == 1


def test_one_name_that_looks_like_a_function_proves_nothing(tmp_path):
    others = [slice_event("work", 10 * i, 5) for i in range(5)]
    assert function_calls(read(tmp_path, slice_event("f (x:1)", 0, 5), *others)) == []


PROFILE = DATA / "torch_training.json.gz"


@pytest.fixture(scope="module")
def table():
    space = Workspace()
    return space.links(space.open(str(PROFILE)))


@pytest.fixture(scope="module")
def events():
    return json.loads(gzip.decompress(PROFILE.read_bytes()))["traceEvents"]


def test_the_program_has_forward_backward_and_the_rest(table):
    assert table.program.is_recorded
    assert {method.name for method in table.program.methods} == {
        "forward", "backward", "outside the modules",
    }  # fmt: skip


def test_the_forward_total_of_every_module_is_the_time_of_its_calls(table, events):
    """Self times of operators, functions and modules add up to the recorded durations."""
    tree = module_tree(table.program)
    costs = module_costs(tree, Costs(table).table())
    found = {
        module.path.rpartition(".")[2]: int(total)
        for module, total in zip(tree.modules, costs.total.tolist(), strict=True)
        if module.method == "forward" and module.path
    }
    recorded = Counter()
    for e in events:
        if e["name"].startswith("nn.Module: "):
            recorded[e["name"].removeprefix("nn.Module: ")] += round(e["dur"] * 1000)
    assert len(found) == 14
    assert found == dict(recorded)


def test_the_backward_time_of_a_module_is_that_of_the_operators_tied_to_it(table, events):
    """The engine's calls with the sequence numbers of the module's forward operators."""
    within = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == "nn.Module: Conv2d_0"]
    numbers = {
        e["args"]["Sequence number"]
        for e in events
        if e["name"] == "aten::convolution" and any(a <= e["ts"] < b for a, b in within)
    }
    meant = sum(
        round(e["dur"] * 1000)
        for e in events
        if e["name"].startswith("autograd::engine::evaluate_function: ConvolutionBackward0")
        and e["args"]["Sequence number"] in numbers
    )
    tree = module_tree(table.program)
    costs = module_costs(tree, Costs(table).table())
    (module,) = (
        i
        for i, m in enumerate(tree.modules)
        if m.method == "backward" and m.path.endswith("Conv2d_0")
    )
    assert len(numbers) == 5
    assert int(costs.total[module]) == meant > 0


def test_lines_are_those_of_the_users_functions(table):
    program, costs = table.program, Costs(table).table()
    path, line = most_expensive_lines(program, costs)[0]
    assert (path, line) == ("train.py", 27)
    assert set(line_costs(program, costs, path).self_costs) == {15, 27, 33, 51}


def test_operations_are_those_that_torch_counts(table):
    truth = json.loads((DATA.parent / "key_averages" / "torch_training.json").read_text())
    slices = np.bincount(table.trace.slices.key, minlength=len(table.trace.keys)).tolist()
    found = Counter()
    for key, link in enumerate(table.links):
        for index in link.operators:
            operator = table.program.operators[index]
            operations = figures_of(table.program, operator).operations
            found[operator.nodes[0].op] += (operations or 0) * slices[key]
    flops = {row["name"]: row["flops"] for row in truth if row["flops"]}
    assert len(flops) == 4
    assert {name: found[name] for name in flops} == flops


def test_times_by_name_are_those_of_key_averages(table, events):
    """To the nanosecond. Torch counts a call whose only callee has its name as one with it."""
    groups = Grouping(table, table.trace.clock.ns_per_tick).by("name").groups
    ours = {g.label: (g.total, g.self_ticks, g.spread.count) for g in groups}
    operators = {e["name"] for e in events if e.get("cat") == "cpu_op"}
    rows = json.loads((DATA.parent / "key_averages" / "torch_training.json").read_text())
    meant = {
        row["name"]: (round(row["total_us"] * 1000), round(row["self_us"] * 1000), row["count"])
        for row in rows
        if row["name"] in operators
    }
    assert len(meant) == 105
    for name in ("aten::div", "aten::div_"):
        total, own, count = meant[name]
        meant[name] = (total, own, 2 * count)
    assert {name: ours[name] for name in meant} == meant


def test_steps_and_spans_are_not_operators(table):
    trace = table.trace
    for key, name in enumerate(trace.keys.name.tolist()):
        if trace.strings[name].startswith(("ProfilerStep#", "PyTorch Profiler")):
            assert not table.links[key].operators


def test_forward_calls_are_named_after_the_class_of_their_module(table):
    operator = next(
        operator
        for operator in table.program.operators
        if operator.op == "aten::convolution" and operator.module_path.endswith("Conv2d_1")
    )
    named = [f.function for f in operator.frames if f.function.endswith(".forward")]
    assert named == ["Net.forward", "Sequential.forward", "Block.forward", "Conv2d.forward"]


def nested(folder, name, count):
    """The links of an operator within a stack of Python calls, named after their depth."""
    category = {"cat": "python_function"}
    calls = [slice_event(name(i), i, 2 * (count - i) + 9, **category) for i in range(count)]
    path = read(folder, *calls, slice_event("aten::add", count, 5, cat="cpu_op")).path
    space = Workspace()
    return space.links(space.open(path))


def test_modules_with_too_long_a_path_count_as_parts_of_those_around_them(tmp_path):
    table = nested(tmp_path, lambda depth: f"nn.Module: {depth:01000}_0", 9)
    tree = module_tree(table.program)
    assert [module.depth for module in tree.modules] == [0, 1, 2]
    assert tree.modules[-1].path.endswith(f".{1:01000}_0")
    costs = module_costs(tree, Costs(table).table())
    assert costs.whole == costs.wall[1] == costs.total[1] == 27_000


def test_an_operator_has_the_innermost_frames_of_a_deep_stack(tmp_path):
    table = nested(tmp_path, lambda depth: f"a.py({depth + 1}): f", 400)
    (frames,) = (op.frames for op in table.program.operators if op.op == "aten::add")
    assert [frame.line for frame in frames] == list(range(145, 401))
