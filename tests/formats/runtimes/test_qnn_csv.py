"""QNN's events: totals nest, nodes in cycles follow each other and keep their cycles."""

from tests.builders.runtime_files import QNN_HEADER, QNN_NODES, qnn_csv
from viewer.formats import open_file
from viewer.formats.runtimes import qnn_csv as module
from viewer.model.trace import RunKind


def opened(tmp_path, text):
    path = tmp_path / "qnn.csv"
    path.write_text(text)
    return open_file(str(path))


def bars(trace):
    s = trace.slices
    return {(trace.name(i), int(s.start[i])): int(s.end[i] - s.start[i]) for i in range(len(s))}


def test_totals_of_an_execution_start_together_and_the_longest_is_outside(tmp_path):
    trace = opened(tmp_path, qnn_csv(1))
    found = bars(trace)
    assert found["QNN (execute) time", 8_200_000] == 100_000
    assert found["RPC (execute) time", 8_200_000] == 90_000
    assert found["QNN accelerator (execute) time", 8_200_000] == 70_000
    assert found["QNN (finalize) time", 0] == 8_200_000


def test_nodes_fill_the_accelerators_time_in_order_and_keep_their_cycles(tmp_path):
    trace = opened(tmp_path, qnn_csv(1))
    nodes = sorted(
        (int(trace.slices.start[i]), trace.name(i), trace.slices.columns["native_dur"].value(i))
        for i in range(len(trace.slices))
        if trace.slices.columns["native_dur"].value(i) is not None
    )
    assert [(name, cycles) for _, name, cycles in nodes] == list(QNN_NODES)
    assert nodes[0][0] == 8_200_000
    assert trace.slices.columns["native_unit"].strings == ("cycles",)
    last = max(
        int(trace.slices.end[i]) for i in range(len(trace.slices)) if "Softmax" in trace.name(i)
    )
    assert last == 8_200_000 + 70_000


def test_each_execution_is_an_inference(tmp_path):
    trace = opened(tmp_path, qnn_csv(3))
    runs = [run for run in trace.runs if run.kind is RunKind.INFERENCE]
    assert [run.end - run.start for run in runs] == [100_000, 101_000, 102_000]


def test_a_count_is_no_time_and_is_reported_with_its_line(tmp_path):
    trace = opened(tmp_path, qnn_csv(1))
    assert (module.NOT_TIMES, 1, "line 4") in [(p.kind, p.count, p.first) for p in trace.problems]


def test_a_file_of_cycles_alone_is_in_cycles(tmp_path):
    rows = [
        QNN_HEADER,
        "0,NODE,25,CYCLES,BACKEND,SUB-EVENT,a",
        "0,NODE,5,CYCLES,BACKEND,SUB-EVENT,b",
    ]
    trace = opened(tmp_path, "\n".join(rows))
    assert (trace.clock.unit, trace.clock.assumed) == ("cycle", True)
    assert bars(trace) == {("a", 0): 25, ("b", 25): 5}


def test_an_unquoted_comma_is_part_of_the_last_column_only(tmp_path):
    text = f"{QNN_HEADER}\nUNKNOWN,NODE,7,US,BACKEND,SUB-EVENT,a, b,c\n"
    assert opened(tmp_path, text).name(0) == "a, b,c"


def test_a_source_column_and_a_timestamp_are_arguments(tmp_path):
    text = f"{QNN_HEADER},ONNX Source Ops\n120,NODE,7,US,BACKEND,SUB-EVENT,a,Conv_1\n"
    columns = opened(tmp_path, text).slices.columns
    assert columns["ONNX Source Ops"].value(0) == "Conv_1"
    assert columns["timestamp"].value(0) == 120


def test_rows_without_a_time_are_counted_with_the_first_line(tmp_path):
    text = (
        qnn_csv(1) + "UNKNOWN,NODE,soon,CYCLES,BACKEND,SUB-EVENT,x\nUNKNOWN,NODE,-1,US,B,ROOT,y\n"
    )
    problems = {p.kind: (p.count, p.first) for p in opened(tmp_path, text).problems}
    assert problems["row without a usable time: left out"] == (2, "line 13")
