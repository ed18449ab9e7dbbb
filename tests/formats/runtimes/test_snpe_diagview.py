"""SNPE's layers from CSV and from the printed report."""

import pytest

from tests.builders.runtime_files import SNPE_REPORT, snpe_csv
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file


def opened(tmp_path, text):
    path = tmp_path / "layers.txt"
    path.write_text(text)
    return open_file(str(path))


def bars(trace):
    s = trace.slices
    return sorted((int(s.start[i]), int(s.end[i]), trace.name(i)) for i in range(len(s)))


def test_layers_of_the_report_follow_each_other_below_the_totals(tmp_path):
    trace = opened(tmp_path, SNPE_REPORT)
    start = (494 + 240) * 1000
    assert bars(trace)[2:] == [
        (start, start + 23_000, "dense_1/MatMul"),
        (start, start + 61_000, "Subnet 0 (CPU)"),
        (start, start + 67_000, "Forward Propagate Time"),
        (start, start + 69_000, "Total Inference Time"),
        (start + 23_000, start + 24_000, "dense_1/Relu"),
        (start + 24_000, start + 51_000, "dense_2/MatMul"),
    ]


def test_layers_of_the_dsp_are_in_cycles(tmp_path):
    text = SNPE_REPORT.replace("23 us : CPU", "2142 cycles : DSP")
    trace = opened(tmp_path, text)
    at = next(i for i in range(len(trace.slices)) if trace.name(i) == "dense_1/MatMul")
    assert trace.slices.columns["native_dur"].value(at) == 2142
    assert trace.slices.columns["core"].value(at) == "DSP"


def test_layers_of_earlier_reports_have_no_names(tmp_path):
    text = "Average SNPE Statistics:\nTotal Inference Time: 26 us\nLayer Times:\n0: 14 us : CPU\n"
    assert (0, 14_000, "layer 0") in bars(opened(tmp_path, text))


def test_each_run_of_the_csv_is_an_inference(tmp_path):
    trace = opened(tmp_path, snpe_csv(3))
    assert [r.end - r.start for r in trace.inferences()] == [1_328_000, 1_329_000, 1_330_000]


def test_a_report_without_times_says_how_to_record_it(tmp_path):
    with pytest.raises(UnreadableFile, match="--profiling_level detailed"):
        opened(tmp_path, "SNPE Create Statistics:\n  Load: 1 ns\nSNPE Execute Statistics:\n 2 us\n")


def test_a_damaged_line_of_the_report_is_counted_with_its_number(tmp_path):
    trace = opened(tmp_path, SNPE_REPORT.replace("dense_1/Relu : 1 us", "dense_1/Relu ; 1 us"))
    assert len(trace.slices) == len(opened(tmp_path, SNPE_REPORT).slices) - 1
    (problem,) = trace.problems
    line = SNPE_REPORT.splitlines().index("    1: dense_1/Relu : 1 us : CPU") + 1
    assert (problem.count, problem.first) == (1, f"line {line}")


def test_layers_below_a_damaged_title_are_read(tmp_path):
    text = SNPE_REPORT.replace("Execute Statistics", "Execute Statisticz")
    assert len(opened(tmp_path, text).slices) == len(opened(tmp_path, SNPE_REPORT).slices)
