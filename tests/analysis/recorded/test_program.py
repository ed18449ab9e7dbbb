"""The links of traces to the operators that they record."""

from tests.builders.chrome_cases import DATA, read, slice_event
from viewer.analysis.cost.costs import Costs
from viewer.analysis.flows.dataflow import dataflow_of
from viewer.analysis.links.identifier_columns import identified_by
from viewer.analysis.links.link_table import LinkState, Reason
from viewer.analysis.recorded.program import function_calls, recorded_links
from viewer.formats import open_file
from viewer.program.dataflow import NO_GRAPH_IN_PROFILE
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
