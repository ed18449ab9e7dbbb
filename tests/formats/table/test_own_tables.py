"""Tables that Opscope exported, opened again."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA
from viewer.analysis.cost.event_times import ThreadTime
from viewer.model.queries import run_of_slices
from viewer.model.trace import Trace
from viewer.workspace.workspace import Workspace


def again(path: Path, tmp_path: Path, **more) -> tuple[Trace, Trace]:
    """A file as a trace, and the trace of its exported table."""
    workspace, other = Workspace(), Workspace()
    workspace.open(str(path))
    export(workspace, str(tmp_path / "a.csv"), **more)
    other.open(str(tmp_path / "a.csv"))
    return workspace.traces[0], other.traces[0]


def test_inferences_keep_their_numbers_and_whether_they_finished(tmp_path):
    first, second = again(DATA / "etdump/words_failing_x3.etdp", tmp_path)
    assert [(r.number, r.total, r.finished) for r in second.inferences()] == [
        (r.number, r.total, r.finished) for r in first.inferences()
    ]
    assert not all(r.finished for r in first.inferences())


def test_a_part_of_a_trace_keeps_the_numbers_of_the_whole(tmp_path):
    workspace = workspace_of(DATA / "etdump/attn_portable_x5.etdp")
    trace = workspace.traces[0]
    third = list(trace.inferences())[2]
    span = (third.start - trace.start, third.end - trace.start)
    _, part = again(DATA / "etdump/attn_portable_x5.etdp", tmp_path, ns_range=span)
    assert [r.number for r in part.inferences()] == [3]


def test_columns_without_a_value_do_not_come_back(tmp_path):
    first, second = again(DATA / "etdump/attn_portable_x5.etdp", tmp_path)
    assert set(second.slices.columns) == set(first.slices.columns) - {"instruction_id"}
    first, second = again(DATA / "etdump/SYN_qnn_like.etdp", tmp_path)
    assert {"native_start", "native_dur", "native_unit"} <= set(second.slices.columns)


def test_a_timing_that_no_export_writes_is_counted(tmp_path):
    again(DATA / "etdump/attn_portable_x5.etdp", tmp_path)
    text = (tmp_path / "a.csv").read_text().replace(",measured,", ",guessed,", 2)
    (tmp_path / "b.csv").write_text(text)
    workspace = workspace_of(tmp_path / "b.csv")
    (problem,) = workspace.traces[0].problems
    assert (problem.kind, problem.count, problem.first) == (
        "unknown timing: taken as measured", 2, "guessed"
    )  # fmt: skip


@pytest.mark.parametrize("number", [str(2**63), "9" * 5000, "²", "-1"])
def test_an_inference_that_no_export_numbers_so_is_left_out(tmp_path, number):
    again(DATA / "etdump/attn_portable_x5.etdp", tmp_path)
    (tmp_path / "b.csv").write_text(
        (tmp_path / "a.csv").read_text().replace(",5,,", f",{number},,"),
        encoding="utf-8",
    )
    workspace = workspace_of(tmp_path / "b.csv")
    assert [run.number for run in workspace.traces[0].inferences()] == [1, 2, 3, 4]


NAMES = [
    "=1+1", "-conv", "@x", "'quoted", "'=quoted", "a\tb", "\x1b[31m", "\\x1b", "C:\\x86", " +x",
    "＋x", "\t=x", "\r=x", "a\nb", "a\r\nb", "-5", "plain",
]  # fmt: skip
HEADER = ["process", "thread", "name", "start_ns", "dur_ns", "=argument", "note"]


def names_file(path: Path) -> Path:
    """A CSV of another tool, with a slice of each of `NAMES`."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(HEADER)
        writer.writerows(["=p", "@t", name, i, 1, f"-{name}", name] for i, name in enumerate(NAMES))
    return path


def texts_of(trace: Trace) -> tuple[object, ...]:
    """Everything in a trace that a file gives it as text."""
    every = range(len(trace.slices))
    columns = {n: [c.value(i) for i in every] for n, c in trace.slices.columns.items()}
    tracks = [(track.process, track.thread) for track in trace.tracks]
    return [trace.name(i) for i in every], tracks, columns


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("target", ["a.csv", "a.tsv"])
def test_texts_that_a_spreadsheet_would_run_come_back(tmp_path, target, raw):
    workspace, other = Workspace(), Workspace()
    workspace.open(str(names_file(tmp_path / "names.csv")))
    export(workspace, str(tmp_path / target), raw=raw)
    other.open(str(tmp_path / target))
    first, second = workspace.traces[0], other.traces[0]
    assert [first.name(i) for i in range(len(NAMES))] == NAMES
    assert texts_of(second) == texts_of(first)
    assert second.problems == ()


def test_a_table_of_another_tool_keeps_its_apostrophes(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('"process",thread,name,start_ns,dur_ns\np,t,\'=1+1,0,1\n')
    workspace = workspace_of(path)
    assert workspace.traces[0].name(0) == "'=1+1"


def test_a_table_that_another_program_saved_again_keeps_its_apostrophes(tmp_path):
    again(names_file(tmp_path / "names.csv"), tmp_path)
    with open(tmp_path / "a.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        with open(tmp_path / "b.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=quoting).writerows(rows)
        workspace = workspace_of(tmp_path / "b.csv")
        assert workspace.traces[0].name(0) == "'=1+1"


def test_texts_that_only_an_edited_table_has_stay_distinct(tmp_path):
    again(names_file(tmp_path / "names.csv"), tmp_path)
    text = (tmp_path / "a.csv").read_text().replace(",plain,", ",=1+1,", 1)
    (tmp_path / "b.csv").write_text(text)
    workspace = workspace_of(tmp_path / "b.csv")
    trace = workspace.traces[0]
    assert {"=1+1", "'=1+1"} <= {trace.name(i) for i in range(len(trace.slices))}


@pytest.mark.parametrize("name", ["torch_training.json.gz", "onnxruntime_runs.json"])
def test_steps_and_runs_come_back_with_their_times_and_slices(tmp_path, name):
    first, second = again(DATA / "chrome_json" / name, tmp_path)

    def told(trace: Trace) -> list[tuple]:
        return [
            (r.name, r.number, r.start, r.end, r.all_tracks, r.warms_up) for r in trace.inferences()
        ]

    assert told(second) == told(first)
    counts = [
        np.bincount(run_of_slices(trace) + 1)[[trace.runs.index(r) + 1 for r in trace.inferences()]]
        for trace in (first, second)
    ]
    assert counts[0].tolist() == counts[1].tolist()


def test_steps_of_a_table_are_no_work_of_their_own_either(tmp_path):
    traces = again(DATA / "chrome_json" / "torch_training.json.gz", tmp_path)
    busy = []
    for trace in traces:
        charged = ThreadTime(trace).of_slices
        busy.append(int((charged.end - charged.start).sum()))
        steps = trace.slices.key[
            [trace.name(i).startswith("ProfilerStep#") for i in range(len(trace.slices))]
        ]
        assert len(set(steps.tolist())) == 1
    assert busy[0] == busy[1]
