"""Tables that Opscope exported, opened again."""

from pathlib import Path

from tests.paths import DATA
from viewer.model.trace import Trace
from viewer.workspace.exports import export
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
    workspace = Workspace()
    workspace.open(str(DATA / "etdump/attn_portable_x5.etdp"))
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
    workspace = Workspace()
    workspace.open(str(tmp_path / "b.csv"))
    (problem,) = workspace.traces[0].problems
    assert (problem.kind, problem.count, problem.first) == (
        "timing that is not known: taken as measured", 2, "guessed"
    )  # fmt: skip
