"""What qnn-profile-viewer prints: totals around each other, nodes in cycles below them."""

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.queries import NATIVE_DURATION
from viewer.model.trace import RunKind

TEXT = (DATA / "qnn/viewer.txt").read_text()


@pytest.fixture
def trace():
    return open_file(str(DATA / "qnn/viewer.txt"))


def lengths(trace):
    slices = trace.slices
    return {trace.name(i): int(slices.end[i] - slices.start[i]) // 1000 for i in range(len(slices))}


def test_totals_of_the_averages_are_in_us_and_contain_each_other(trace):
    found = lengths(trace)
    assert found["RPC (execute) time"] == 2901
    assert found["QNN accelerator (execute) time"] == 2846
    assert found["Accelerator (execute) time"] == 2402
    slices = trace.slices
    execute = next(run for run in trace.runs if run.kind == RunKind.INFERENCE)
    assert execute.end - execute.start == 3011_000
    depth = {trace.name(i): int(slices.row_depth[slices.rows()[i]]) for i in range(len(slices))}
    assert depth["RPC (execute) time"] < depth["QNN accelerator (execute) time"]
    assert depth["QNN accelerator (execute) time"] < depth["Accelerator (execute) time"]


def test_nodes_keep_their_cycles(trace):
    cycles = trace.slices.columns[NATIVE_DURATION]
    found = {
        trace.name(i): int(cycles.values[i]) for i in range(len(trace.slices)) if cycles.valid[i]
    }
    assert found == {
        "Input OpId_2 (cycles)": 34120,
        "stem_conv:OpId_21 (cycles)": 901223,
        "b0_softmax:OpId_44 (cycles)": 610991,
    }


def test_stages_before_executions_are_loads_apart(trace):
    loads = {run.name: (run.end - run.start) // 1000 for run in trace.runs if run.is_apart}
    assert loads == {"init": 41220, "compose graphs": 1002, "finalize": 230411}


def test_the_minimum_is_not_added_and_what_is_no_time_is_counted(trace):
    assert trace.stated["Durations"] == "averages of all executions"
    assert [(p.count, p.first) for p in trace.problems] == [(1, "line 31"), (1, "line 34")]


def test_a_text_without_times_is_refused(tmp_path):
    path = tmp_path / "viewer.txt"
    path.write_text(TEXT.partition("    NetRun")[0])
    with pytest.raises(UnreadableFile, match="no times"):
        open_file(str(path))
