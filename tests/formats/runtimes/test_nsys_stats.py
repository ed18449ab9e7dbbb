"""Reports of Nsight Systems: traces have starts, summaries are placed."""

import pytest

from tests.builders.runtime_files import KERNEL_SUM, gpu_trace
from viewer.formats import open_file
from viewer.formats.runtimes.nsys_stats import sniff


def opened(tmp_path, text):
    path = tmp_path / "report.csv"
    path.write_text(text)
    return open_file(str(path))


def slices(trace):
    s = trace.slices
    return sorted(
        (int(s.start[i]), int(s.end[i] - s.start[i]), trace.name(i),
         trace.tracks[s.row_track[s.rows()[i]]].thread)
        for i in range(len(s))
    )  # fmt: skip


def test_kernels_and_copies_by_stream(tmp_path):
    trace = opened(tmp_path, gpu_trace())
    assert slices(trace) == [
        (1_134_711_990, 661_398, "[CUDA memcpy Host-to-Device]", "stream 13"),
        (1_136_125_733, 7_072, "add(int)", "stream 13"),
        (1_136_129_000, 41_280, "gemm<float, 4>", "stream 7"),
    ]
    assert {t.process for t in trace.tracks} == {"NVIDIA RTX A6000, Laptop (0)"}
    assert trace.slices.columns["CorrId"].values.tolist() == [123, 128, 129]


@pytest.mark.parametrize(
    ("start", "duration", "times"),
    [
        ("Start(nsec)", "Duration(nsec)", (5, 7)),
        ("Start (us)", "Duration (us)", (5_000, 7_000)),
        ("Start (s)", "Duration (ms)", (5_000_000_000, 7_000_000)),
    ],
)
def test_units_are_those_of_the_header(tmp_path, start, duration, times):
    text = f"{start},{duration},CorrId,Device,Strm,Name\n5,7,1,GPU,2,k\n"
    assert slices(opened(tmp_path, text))[0][:2] == times


def test_calls_of_the_api_are_on_threads(tmp_path):
    text = "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid\n5,7,cudaLaunchKernel,0,1,40,41\n"
    trace = opened(tmp_path, text)
    assert (trace.tracks[0].process, trace.tracks[0].thread) == ("process 40", "thread 41")


def test_a_summary_has_a_placed_bar_for_each_kernel(tmp_path):
    trace = opened(tmp_path, KERNEL_SUM)
    assert slices(trace) == [
        (0, 41_280_000, "gemm<float, 4>", "placed · totals"),
        (41_280_000, 7_072_000, "add(float *, int)", "placed · totals"),
    ]
    assert trace.slices.columns["Instances"].value(0) == 1000


def test_several_reports_in_one_file(tmp_path):
    trace = opened(tmp_path, gpu_trace() + "\n ** CUDA GPU Kernel Summary:\n" + KERNEL_SUM)
    assert len(trace.slices) == 5
    assert [t.thread for t in trace.tracks][2] == "placed · totals of report 2 by Instances"


def test_rows_that_do_not_fit_are_counted_with_the_first_line(tmp_path):
    trace = opened(tmp_path, gpu_trace() + "now,1,2\n")
    problems = [(p.kind, p.first) for p in trace.problems]
    assert problems == [("row that does not fit the header: left out", "line 6")]


def test_a_csv_with_start_and_duration_alone_is_none():
    assert not sniff(b"Start (ns),Duration (ns),Process,Name\n1,2,a,b\n")
