"""The Torq annotated profile, against the samples and small files whose answer is known."""

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.builders.csv_cases import expect_snapshot
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.links.link_table import Reason
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats import open_file
from viewer.formats.torq.annotated_csv import FORMAT
from viewer.model.trace import KeyKind, Trace, Unit
from viewer.workspace.workspace import Workspace

SNAPSHOTS = paths.SNAPSHOTS / "torq"
SAMPLES = (
    "annotated_a0_nss.csv", "annotated_a1_host.csv", "annotated_a3_latest.csv",
    "annotated_a3_latest_2inv.csv",
)  # fmt: skip
A3 = (
    "action_id;job_id;operation;invocation_names;original_operators;total_time;"
    "slice_used_0_in_program;slice_used_1_in_program;dma_in_used_in_program;"
    "dma_out_used_in_program;cdma_used_in_program;css_used_in_program;"
    "timestamp_start;timestamp_end;location"
)


def read(path: Path) -> Trace:
    return FORMAT.read(str(path), no_progress, never_cancelled)


@pytest.fixture
def made(tmp_path):
    """Reads a file of some lines of the latest generation, or under another header."""

    def make(*lines: str, header: str = A3) -> Trace:
        path = tmp_path / "annotated.csv"
        path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
        return read(path)

    return make


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def a2_of(a1: Path, path: Path) -> Path:
    """The profile of A1 with the columns of A2, and the last action that A1's writer lost."""
    rows = rows_of(a1)
    rows.append({**rows[-1], "action_id": "15"})
    names = list(rows[0])
    names.insert(names.index("invocation_name") + 1, "original_operator")
    at = names.index("timestamp_start")
    names[at:at] = ["cdma_used_in_program", "css_used_in_program"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter=";", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            waits = row["operation"].startswith("torq_hw.")
            of_css = waits and row["job_id"] == "2"
            row["original_operator"] = "tosa.clamp@L13 + tosa.conv2d@L11" if waits else ""
            row["cdma_used_in_program"] = row["css_used_in_program"] = str(of_css) if waits else ""
            writer.writerow(row)
    return path


def cells(trace: Trace, i: int) -> dict:
    return {
        c: v for c, column in trace.slices.columns.items() if (v := column.value(i)) is not None
    }


def problems(trace: Trace) -> dict[str, tuple[int, str]]:
    return {p.kind: (p.count, p.first) for p in trace.problems}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_as_it_is_read(data, name):
    trace = read(data / "torq" / name)
    assert (trace.clock.unit, trace.clock.ns_per_tick) == ("us", Fraction(1000))
    assert trace.clock.domain == ("" if name == "annotated_a0_nss.csv" else "torq host")
    expect_snapshot(trace, SNAPSHOTS / f"{Path(name).stem}.txt")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_row_with_a_time_is_in_the_slice_of_its_times(data, name):
    path = data / "torq" / name
    trace, s = read(path), read(path).slices
    expected: dict[tuple, list[str]] = {}
    for row in rows_of(path):
        program = "nss_program_" if "nss_program_index" in row else ""
        start, end = row[f"{program}timestamp_start"], row[f"{program}timestamp_end"]
        which = row.get("nss_program_index") or row["action_id"]
        if start:
            identity = which if which != "-1" else row["operation"]
            key = (identity, int(float(start)), int(float(end)))
            expected.setdefault(key, []).append(row["operation"])
    found = {}
    for i in np.flatnonzero(~s.derived) if s.derived is not None else range(len(s)):
        own = cells(trace, i)
        which = own.get("action_id", own.get("job_id"))
        identity = own["operations"] if which is None else str(which)
        found[identity, int(s.start[i]), int(s.end[i])] = own["operations"].split(", ")
    assert found == expected


def test_a_program_tells_its_operations_and_units(data):
    trace = read(data / "torq" / "annotated_a0_nss.csv")
    assert [(t.thread, t.unit) for t in trace.tracks] == [("NSS jobs", Unit.NSS)]
    assert (int(trace.slices.start[1]), int(trace.slices.end[1])) == (52, 102)
    assert trace.name(1) == "job 1"
    assert cells(trace, 1) == {
        "job_id": 1, "units": "DMA In, Slice unit 0", "invocations": "conv2d_0",
        "operations": "torq_hw.dma_in_cfg, torq_hw.dma_in_start, torq_hw.slice_start, "
        "torq_hw.dma_in_wait",
    }  # fmt: skip
    assert KeyKind(trace.keys.kind[trace.slices.key[1]]) is KeyKind.JOB


def test_the_generation_between_has_all_columns(data, tmp_path):
    path = a2_of(data / "torq" / "annotated_a1_host.csv", tmp_path / "a2.csv")
    assert len(rows_of(path)) == 125
    assert FORMAT.sniff(path.read_bytes()[:4096])
    trace = read(path)
    assert (trace.generation, trace.problems) == ("A2", ())
    derived = trace.slices.derived
    assert (len(trace.slices) - derived.sum(), derived.sum()) == (15, 4)
    waits = [i for i in range(len(trace.slices)) if trace.name(i) == "torq_hl.wait_program"]
    assert [cells(trace, i)["units"] for i in waits] == [
        "DMA In, DMA Out, Slice unit 0, Slice unit 1",
        "DMA In, DMA Out, Slice unit 0, Slice unit 1",
        "CDMA, CSS",
        "DMA In, DMA Out, Slice unit 0, Slice unit 1",
    ]
    assert cells(trace, waits[0])["original_operators"] == "tosa.clamp@L13 + tosa.conv2d@L11"


def test_actions_are_of_the_host_calls_of_the_hal(data):
    trace = read(data / "torq" / "annotated_a3_latest.csv")
    s = trace.slices
    of = {
        t.thread: [i for i in range(len(s)) if s.track(i) == n] for n, t in enumerate(trace.tracks)
    }
    assert {thread: len(own) for thread, own in of.items()} == {"Host": 16, "HAL": 5, "NSS jobs": 4}
    assert [trace.name(i) for i in of["HAL"]] == [
        "HAL_QUEUE_WAIT", "HAL_QUEUE_APPLY_DEFERRED", "HAL_QUEUE_SIGNAL",
        "HAL_CALL __HAL_COMMAND_BUFFER_DISPATCH__", "HAL_COMMAND_BUFFER_COPY_BUFFER",
    ]  # fmt: skip
    assert cells(trace, of["HAL"][3])["scope"] == "__HAL_COMMAND_BUFFER_DISPATCH__"
    assert s.depth(of["HAL"][3]) == 1
    # As in the host profile that it was made of.
    host = read_host(data)
    jobs = [(int(s.start[i]), int(s.end[i])) for i in of["NSS jobs"]]
    assert jobs == host
    assert all(s.derived[i] for i in of["NSS jobs"])


def read_host(data: Path) -> list[tuple[int, int]]:
    trace = open_file(str(data / "torq" / "host_h4_latest.csv"))
    assert isinstance(trace, Trace)
    s = trace.slices
    own = [i for i in range(len(s)) if trace.name(i).startswith("job ")]
    return [(int(s.start[i]), int(s.end[i])) for i in own]


def test_rows_without_a_time_are_told(data):
    trace = read(data / "torq" / "annotated_a3_latest.csv")
    assert problems(trace) == {"row without a time: not drawn": (16, "row 1")}


def test_a_position_without_a_file_is_of_the_one_text_that_fits(data):
    workspace = Workspace()
    for name in ("annotated_a3_latest.csv", "tiny_cnn.lowered_generic.mlir", "tiny_cnn.mlir"):
        workspace.open(str(data / "torq" / name))
    (trace,) = workspace.traces
    table = workspace.links(trace)
    assert table.program is not None
    assert Path(table.program.path).name == "tiny_cnn.mlir"
    linked = {
        trace.keys.location[key]: [op.op for op in table.operators(key)]
        for key, link in enumerate(table.links)
        if link.reason is Reason.BY_LOCATION
    }
    assert linked == {
        "@L2C3": ["func.func"],
        "@L13C10+@L11C10": ["tosa.clamp", "tosa.conv2d"],
        "@L17C10+@L14C10": ["tosa.rescale", "tosa.depthwise_conv2d"],
        "@L15C10": ["tosa.cast"],
        "@L18C10": ["tosa.max_pool2d"],
    }


def test_it_is_not_linked_to_a_text_of_the_same_lines_alone(data, tmp_path):
    """Every operation one column further right: each line has one, and none begins there."""
    text = (data / "torq" / "tiny_cnn.mlir").read_text()
    (tmp_path / "tiny_cnn.mlir").write_text("\n".join(" " + line for line in text.split("\n")))
    workspace = workspace_of(data / "torq" / "annotated_a3_latest.csv", tmp_path / "tiny_cnn.mlir")
    assert workspace.links(workspace.traces[0]).program is None


def test_fractions_of_a_microsecond_are_kept(made):
    trace = made(
        "0;;memref.alloc;;;0.25;;;;;;;10.5;10.75;@L2C3",
        "1;;memref.alloc;;;1;;;;;;;11;12.001;@L2C3",
    )
    assert (trace.clock.unit, trace.clock.ns_per_tick) == ("ns", 1)
    assert trace.clock.domain == "torq host"
    assert trace.slices.start.tolist() == [10_500, 11_000]
    assert trace.slices.end.tolist() == [10_750, 12_001]
    assert trace.problems == ()


def test_odd_cells_are_counted(made):
    trace = made(
        "0;;memref.alloc;;;;;;;;;;1;2.0001;@L2C3",  # finer than a nanosecond
        "1;;memref.alloc;;;;;;;;;;1;;@L2C3",  # no end
        "2;;memref.alloc;;;;;;;;;;1;soon;@L2C3",
        "3.5;x;memref.alloc;;;;;;;;;;4;3;@L2C3",
        "4;short",
    )
    assert problems(trace) == {
        f"row that is not {A3}": (1, "line 6"),
        "row without a usable start or end: not drawn": (2, "row 2"),
        "time finer than a nanosecond: rounded": (1, "row 1"),
        "action_id that is not a whole number: left out": (1, "row 4"),
        "job_id that is not a whole number: left out": (1, "row 4"),
        "slice ends before it starts: drawn as an instant": (1, "slice 3"),
    }
    assert trace.slices.start.tolist() == [1000, 4000]


def test_a_quoted_cell_may_hold_anything(made):
    where = r'loc(fused["/a;b, c/m.mlir":1:2, "x\22;\\.mlir":3:4])'
    doubled = where.replace('"', '""')
    trace = made(f'0;;memref.alloc;;;;;;;;;;1;2;"{doubled}"')
    assert trace.keys.location.tolist() == [where]
    assert trace.problems == ()


def test_a_job_needs_its_start_and_its_wait(made):
    """A wait whose start is missing, and two executions of the same job."""
    rows = [("wait", 0, 5, 9), ("start", 0, 10, 11), ("wait", 0, 12, 20), ("start", 0, 30, 31),
            ("wait", 0, 31, 44), ("start", 1, 50, 51)]  # fmt: skip
    trace = made(*(f"{i};{j}.0;torq_hl.{w}_program;;;;;;;;;;{a};{b};@L2C3"
                   for i, (w, j, a, b) in enumerate(rows)))  # fmt: skip
    s = trace.slices
    jobs = [(trace.name(i), int(s.start[i]), int(s.end[i])) for i in np.flatnonzero(s.derived)]
    assert jobs == [("job 0", 10, 20), ("job 0", 30, 44)]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("action_id;job_id;operation;timestamp_start;location", "has no timestamp_end"),
        (f"{A3};location", "a column twice"),
        (f"{A3};{';'.join(map(str, range(99)))}", "columns; the limit is 40"),
        ("id;time_since_open;time_since_start", "not a Torq annotated profile"),
    ],
)
def test_a_header_that_cannot_be_read_says_why(made, header, reason):
    with pytest.raises(UnreadableFile, match=reason):
        made(header=header)


def test_reading_can_be_cancelled(data):
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(data / "torq" / SAMPLES[0]), no_progress, lambda: True)


def test_a_cell_of_several_lines_is_one_cell(tmp_path):
    header, *lines = (DATA / "torq/annotated_a3_latest.csv").read_text().splitlines()
    at, row = next((n, line) for n, line in enumerate(lines) if "True" in line)
    cells = row.split(";")
    cells[3] = '"conv\n""7"""'
    lines[at] = ";".join(cells)
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([header, *lines]))
    trace, sound = open_file(str(path)), open_file(str(DATA / "torq/annotated_a3_latest.csv"))
    assert len(trace.slices) == len(sound.slices)
    assert [p.count for p in trace.problems] == [p.count for p in sound.problems]
