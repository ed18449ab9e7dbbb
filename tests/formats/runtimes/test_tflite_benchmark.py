"""LiteRT's operator tables: only the run order, with the mean of each node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.runtime_files import TFLITE_CSV, tflite_log
from tests.builders.workspaces import workspace_of
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.times import plain_spaces
from viewer.reports.stats import stats

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


# -- initialization and whole runs -----------------------------------------------------------------

ROW = "\t {type}\t {first:.3f}\t {avg:.3f}\t {part:.3f}%\t 0.000%\t 0.000\t 1\t{name}\n"
HEADER = "\t [node type]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]\n"
RUN_ORDER = "============================== Run Order ==============================\n"


def table(rows):
    lines = [
        ROW.format(type=kind, first=us / 1000, avg=us / 1000, part=0, name=name)
        for kind, us, name in rows
    ]
    return f"{RUN_ORDER}{HEADER}{''.join(lines)}\n"


def output(initial, regular):
    mean = sum(us for _, us, _ in regular)
    return (
        f"Inference timings in us: Init: 11331, First inference: 23118, Warmup (avg): 10911.5, "
        f"Inference (avg): {mean}\n"
        f"Profiling Info for Benchmark Initialization:\n{table(initial)}"
        f"Operator-wise Profiling Info for Regular Benchmark Runs:\n{table(regular)}"
        "Number of nodes executed: 3\n"
        f"Timings (microseconds): count=50 first=10977 curr=1 min=2 max=11102 avg={mean} std=71\n"
    )


def statistics(path, key):
    space = workspace_of(path)
    return stats(space, key)


AMOUNTS = st.lists(st.integers(0, 10**7), min_size=1, max_size=6)


@pytest.mark.slow
@given(initial=AMOUNTS, regular=AMOUNTS)
def test_shares_are_of_the_regular_runs_alone(tmp_path_factory, initial, regular):
    path = tmp_path_factory.mktemp("log") / "log.txt"
    nodes = [(f"TYPE_{i % 3}", us, f"[net/n{i}]:{i}") for i, us in enumerate(regular)]
    loads = [("AllocateTensors", us, f"AllocateTensors/{i}") for i, us in enumerate(initial)]
    path.write_text(output(loads, nodes))
    found = statistics(path, "name")
    whole = sum(regular) * 1000
    assert found["files"][0]["whole_ns"] == whole
    assert found["files"][0]["initialization"] == 1
    rows = {row["label"]: row for row in found["rows"]}
    assert not any("Allocate" in label for label in rows)
    for _, us, name in nodes:
        if whole:
            assert rows[name]["share"] == pytest.approx(us * 1000 / whole, abs=1e-6)
    if whole:
        by_type = {row["label"]: row["total_ns"] for row in statistics(path, "type")["rows"]}
        for kind in {kind for kind, _, _ in nodes}:
            assert by_type[kind] == 1000 * sum(us for own, us, _ in nodes if own == kind)


def test_times_of_whole_runs_are_kept(tmp_path):
    text = output([("A", 371, "A/0")], [("CONV_2D", 8123, "[c]:0"), ("SOFTMAX", 2692, "[p]:1")])
    trace = opened(tmp_path, text)
    assert {name: plain_spaces(value) for name, value in trace.stated.items()} == {
        "Initialization": "11.331 ms",
        "First inference": "23.118 ms",
        "Warm-up (mean)": "10.912 ms",
        "Inference (mean)": "10.815 ms",
        "Regular runs": "count 50, first 10.977 ms, min 2.000 µs, max 11.102 ms, avg 10.815 ms, "
        "std 71.000 µs",
    }
    assert len(trace.slices) == 3


@pytest.mark.parametrize(
    "before",
    [
        "11-20 09:12:40.003  4711  4712 I tflite  : ",
        "11-20 09:12:40.003 I/tflite  ( 4711): ",
        "I/tflite  ( 4711): ",
    ],
)
def test_the_log_of_android_is_read_as_the_output_itself(tmp_path, before):
    text = output([("A", 371, "A/0")], [("CONV_2D", 8123, "[c]:0"), ("SOFTMAX", 2692, "[p]:1")])
    plain = opened(tmp_path, text)
    logged = opened(tmp_path, "".join(f"{before}{line}\n" for line in text.split("\n")))
    assert logged.stated.items() >= plain.stated.items()
    assert "Android's log" in logged.stated["Taken from a log"]
    assert [bars(logged, part) for part in ("regular runs", "initialization")] == [
        bars(plain, part) for part in ("regular runs", "initialization")
    ]


def test_a_table_of_initialization_alone_is_counted(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(f"Profiling Info for Benchmark Initialization:\n{table([('A', 371, 'A/0')])}")
    assert statistics(path, "name")["files"][0]["whole_ns"] == 371_000
