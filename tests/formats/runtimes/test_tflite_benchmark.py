"""LiteRT's operator tables: only the run order, with the mean of each node."""

import pytest

from tests.builders.runtime_files import TFLITE_CSV, tflite_log
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file

NODES = [
    ("[conv1/Relu6]:0", 0, 5_322_000),
    ("[conv2/Relu6]:1", 5_322_000, 5_491_000),
    ("[Softmax]:2", 5_491_000, 5_503_000),
]


def opened(tmp_path, text):
    path = tmp_path / "log.txt"
    path.write_text(text)
    return open_file(str(path))


def bars(trace, part):
    s = trace.slices
    track = next(i for i, t in enumerate(trace.tracks) if t.thread.startswith(f"placed · {part}"))
    return sorted(
        ((trace.name(i), int(s.start[i]), int(s.end[i]))
         for i in range(len(s)) if s.row_track[s.rows()[i]] == track),
        key=lambda bar: bar[1],
    )  # fmt: skip


@pytest.mark.parametrize("starts", [False, True])
def test_the_run_order_once_for_each_part(tmp_path, starts):
    trace = opened(tmp_path, tflite_log(starts=starts))
    assert bars(trace, "regular runs") == NODES
    assert bars(trace, "initialization") == [("AllocateTensors/0", 0, 102_000)]
    assert trace.problems == ()
    assert ("start ms" in trace.slices.columns) == starts


def test_the_csv_with_a_comma_in_a_name_and_an_exponent(tmp_path):
    trace = opened(tmp_path, TFLITE_CSV)
    assert bars(trace, "operators") == [
        ("[conv1/Relu6, b]:0", 0, 5_322_000),
        ("[Softmax]:1", 5_322_000, 5_334_000),
    ]


def test_subgraphs_and_delegates_are_tracks(tmp_path):
    text = (
        "Operator-wise Profiling Info for Regular Benchmark Runs:\n"
        "Subgraph (index: 1, name: while_body) profile:\n" + TFLITE_CSV
        + "Delegate internal: \n" + TFLITE_CSV
    )  # fmt: skip
    assert [t.thread for t in opened(tmp_path, text).tracks] == [
        "placed · regular runs, index: 1, name: while_body (means)",
        "placed · regular runs, Delegate internal (means)",
    ]


def test_what_a_log_writes_before_each_line_is_ignored(tmp_path):
    before = "2017-12-06 17:16:35.096968: I tensorflow/core/util/stat_summarizer.cc:468] "
    text = "".join(f"{before}{line}\n" for line in tflite_log(starts=True).split("\n"))
    assert bars(opened(tmp_path, text), "regular runs") == NODES


def test_a_log_without_tables_names_the_option(tmp_path):
    with pytest.raises(UnreadableFile, match="--enable_op_profiling=true"):
        opened(tmp_path, "INFO: STARTING!\nINFO: Graph: [model.tflite]\n")


def test_rows_without_a_time_are_counted_with_the_first_line(tmp_path):
    text = TFLITE_CSV.replace("5.322, 96.71%, 96.71%, 0, 1, [", "nan, 96.71%, 96.71%, 0, 1, [")
    (problem,) = opened(tmp_path, text).problems
    assert (problem.kind, problem.first) == ("row without a usable time: left out", "line 3")
