"""Stages next to executions: loads apart, in no share of QNN's and SNPE's profiles."""

import pytest

from tests.builders.runtime_files import SNPE_REPORT, qnn_csv, snpe_csv
from tests.builders.workspaces import workspace_of
from viewer.model.trace import RunKind
from viewer.reports.stats import stats
from viewer.workspace.workspace import Workspace


@pytest.mark.parametrize("text", [qnn_csv(), snpe_csv(), SNPE_REPORT])
def test_initialization_is_in_no_share(tmp_path, text):
    path = tmp_path / "profile.csv"
    path.write_text(text)
    space = Workspace()
    trace = space.open(str(path))
    loads = [run for run in trace.runs if run.kind is RunKind.LOAD]
    assert loads
    assert all(run.is_apart for run in loads)
    found = stats(space, "name")
    executions = sum(run.end - run.start for run in trace.inferences())
    assert found["files"][0]["whole_ns"] == executions > 0
    in_load = {
        trace.name(i)
        for i in range(len(trace.slices))
        if any(run.start <= trace.slices.start[i] < run.end for run in loads)
    }
    assert in_load.isdisjoint(row["label"] for row in found["rows"])
    assert sum(row["share"] for row in found["rows"]) == pytest.approx(1, abs=1e-4)


def test_without_executions_initialization_counts(tmp_path):
    path = tmp_path / "profile.csv"
    path.write_text(qnn_csv(runs=0))
    space = workspace_of(path)
    assert stats(space, "name")["files"][0]["whole_ns"] == 8_200_000
