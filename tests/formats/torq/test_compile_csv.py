"""The Torq compile profile, against the samples and the reference converter's listing."""

import csv
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.builders.csv_cases import damaged, expect_snapshot
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.torq.compile_csv import FORMAT
from viewer.model.trace import KeyKind, Trace

SNAPSHOTS = paths.SNAPSHOTS / "torq"

SAMPLES = {
    "compile_c0_callsite.csv": ("C0", 40),
    "compile_c0_mixed_locs.csv": ("C0", 40),
    "compile_c1_css_cdma.csv": ("C1", 44),
    "compile_c2_actionindex_callsite.csv": ("C2", 44),
    "compile_c3_taskid.csv": ("C3", 44),
    "compile_c3_taskid_mtu.csv": ("C3", 44),
    "compile_c3_hostile_locs.csv": ("C3", 11),
}


def read(path: Path) -> Trace:
    return FORMAT.read(str(path), no_progress, never_cancelled)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "profile.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def by_row(trace: Trace) -> list[int]:
    """Slices in file order."""
    return np.argsort(trace.slices.source_row).tolist()


@pytest.mark.parametrize(("name", "expected"), SAMPLES.items())
def test_every_row_of_a_sample_is_a_slice(data, name, expected):
    path = data / "torq" / name
    assert FORMAT.sniff(path.read_bytes()[:4096])
    trace = read(path)
    assert (trace.generation, len(trace.slices)) == expected
    assert trace.problems == ()
    assert trace.clock.unit == "cycle"
    assert trace.clock.ns_per_tick == Fraction(5, 4)
    assert trace.clock.assumed
    expect_snapshot(trace, SNAPSHOTS / f"{path.stem}.txt")


@pytest.mark.parametrize("name", SAMPLES)
def test_locations_and_times_are_those_of_the_line(data, name):
    path = data / "torq" / name
    trace = read(path)
    s = trace.slices
    lines = path.read_text().splitlines()
    if trace.generation in ("C2", "C3"):
        lines = lines[1:]
    for line, i in zip(lines, by_row(trace), strict=True):
        location = line[line.index("loc(") : line.rindex(")") + 1]
        cells = line[: line.index("loc(")].split(",")
        assert trace.keys.location[s.key[i]] == location
        assert KeyKind(trace.keys.kind[s.key[i]]) is KeyKind.LOCATION
        assert s.columns["location"].value(i) == location
        if trace.generation in ("C2", "C3"):
            assert s.start[i] == int(cells[2])
            assert s.end[i] - s.start[i] == int(cells[1])
            assert trace.name(i) == cells[3]
        else:
            assert (s.start[i], s.end[i]) == (int(cells[1]), int(cells[2]))
            assert s.columns["event"].value(i) == cells[0]


def test_times_agree_with_the_reference_converter(data):
    trace = read(data / "torq" / "compile_c0_callsite.csv")
    s = trace.slices
    ours = Counter(
        (s.columns["event"].value(i), int(s.start[i]), int(s.end[i])) for i in range(len(s))
    )
    listing = data / "torq" / "reference_f63e303" / "small.slices.tsv"
    with listing.open(newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t")
                if r["process"] == "01 compile_c0_callsite.csv"]  # fmt: skip
    theirs = Counter((r["name"].split(", ")[1], int(r["start"]), int(r["end"])) for r in rows)
    assert ours == theirs
    # The reference spreads S<i> over two threads by i % 2; here they share one.
    assert {r["thread"] for r in rows} == {"DMA IN", "DMA OUT", "SLICE 0", "SLICE 1"}
    assert [t.thread for t in trace.tracks] == ["DMA In", "DMA Out", "Slice units"]


def test_c1_has_a_track_for_each_unit_in_display_order(data):
    trace = read(data / "torq" / "compile_c1_css_cdma.csv")
    assert [t.thread for t in trace.tracks] == [
        "DMA In", "DMA Out", "CDMA", "Slice unit 0", "Slice unit 1", "CSS",
    ]  # fmt: skip
    assert {t.process for t in trace.tracks} == {"compile_c1_css_cdma.csv"}
    names = {trace.name(i) for i in range(len(trace.slices))}
    assert {"DMA In", "DMA Out", "CDMA LRAM to ITCM", "CSS", "conv2d"} <= names


def test_bytes_are_numbers_where_given(data):
    trace = read(data / "torq" / "compile_c1_css_cdma.csv")
    first, sizes = by_row(trace)[0], trace.slices.columns["bytes"]
    assert (sizes.value(first), sizes.unit) == (1024, "B")
    conv = next(i for i in range(len(trace.slices)) if trace.name(i) == "conv2d")
    assert sizes.value(conv) is None


@pytest.mark.parametrize(
    ("name", "column"),
    [("compile_c2_actionindex_callsite.csv", "action_id"), ("compile_c3_taskid.csv", "task_id")],
)
def test_the_first_number_is_kept(data, name, column):
    path = data / "torq" / name
    trace = read(path)
    expected = [int(line.split(",")[0]) for line in path.read_text().splitlines()[1:]]
    assert [trace.slices.columns[column].value(i) for i in by_row(trace)] == expected


def test_an_odd_row_is_counted_with_its_line(tmp_path):
    text = (
        'S0,0,10,loc("a":1:2),conv2d\n\nS1,10,20,lo\n'
        "S2,20,30,loc(unknown),add\nS3,nine,1,loc(unknown),add"
    )
    trace = read(written(tmp_path, text))
    assert trace.slices.start.tolist() == [0, 20]
    assert trace.slices.source_row.tolist() == [0, 2]
    (problem,) = trace.problems
    assert problem.kind == "row that is not event,start,end,loc(...),type"
    assert (problem.count, problem.first) == (2, "line 3")


def test_numbers_that_are_too_large_or_negative_are_counted(tmp_path):
    huge = "9" * 30
    text = (
        "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"
        f"0,5,{huge},Slice 0,loc(unknown),\n1,5,-7,Slice 0,loc(unknown),\n"
        "2,-5,9,DMA In,loc(unknown),many\n"
    )
    trace = read(written(tmp_path, text))
    problems = {p.kind: (p.count, p.first) for p in trace.problems}
    assert problems == {
        "row with a number too large for a time": (1, "line 2"),
        "negative time: kept": (1, "row 2"),
        "byte count that is not a number: left out": (1, "row 3"),
        "slice ends before it starts: drawn as an instant": (1, "slice 2"),
    }
    assert sorted(trace.slices.start.tolist()) == [-7, 9]


def test_an_event_of_no_known_unit_stays_visible(tmp_path):
    trace = read(written(tmp_path, "S0,0,1,loc(unknown),add\nNPU7,1,2,loc(unknown),add\n"))
    assert [t.thread for t in trace.tracks] == ["Slice units", "Other"]
    assert trace.problems[0].first == "'NPU7'"
    assert trace.generation == "C0"


def test_a_header_alone_is_an_empty_trace(data, tmp_path):
    header = (data / "torq" / "compile_c3_taskid.csv").read_text().split("\n")[0]
    for text in (header, header + "\n", header + "\r\n"):
        trace = read(written(tmp_path, text))
        assert (len(trace.slices), trace.problems) == (0, ())


def test_windows_line_ends_and_bom_change_nothing(data, tmp_path):
    for name in SAMPLES:
        plain = (data / "torq" / name).read_bytes()
        bent = read(written(tmp_path, b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")))
        straight = read(data / "torq" / name)
        assert bent.strings == straight.strings
        assert bent.slices.start.tolist() == straight.slices.start.tolist()
        assert bent.keys.location.tolist() == straight.keys.location.tolist()
        assert bent.problems == ()


def test_bytes_that_are_no_utf8_are_replaced_and_counted(tmp_path):
    trace = read(written(tmp_path, b'S0,0,1,loc(unknown),add\nS1,1,2,loc("\xff\xfe":1:1),add\n'))
    (problem,) = trace.problems
    assert (problem.count, problem.first) == (2, "line 2")


def test_other_files_are_not_taken(data):
    for name in ("runtime_r0_nss.csv", "runtime_r1_nss_noloc.csv", "tiny_cnn.mlir"):
        assert not FORMAT.sniff((data / "torq" / name).read_bytes()[:4096])
    host = (
        b"actionIndex, elapsed_time(us), timestamp(us), event, location\n0,1,2,NSS_START,loc(a)\n"
    )
    assert not FORMAT.sniff(host)
    assert not FORMAT.sniff(b"")
    with pytest.raises(UnreadableFile, match="not those of a Torq compile profile"):
        read(data / "torq" / "tiny_cnn.mlir")
    with pytest.raises(UnreadableFile, match="No such file"):
        read(data / "torq" / "missing.csv")


def test_progress_is_in_bytes_and_reading_can_be_cancelled(data):
    path = data / "torq" / "compile_c0_callsite.csv"
    steps: list[tuple[int, int]] = []
    FORMAT.read(str(path), lambda done, total: steps.append((done, total)), never_cancelled)
    assert steps[-1] == (path.stat().st_size, path.stat().st_size)
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(path), no_progress, lambda: True)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["compile_c3_hostile_locs.csv", "compile_c1_css_cdma.csv"])
def test_no_damage_raises_anything_but_unreadable(data, tmp_path, name):
    whole = b"\n".join((data / "torq" / name).read_bytes().split(b"\n")[:8])
    for bent in damaged(whole):
        FORMAT.sniff(bent[:4096])
        try:
            trace = read(written(tmp_path, bent))
        except UnreadableFile:
            continue
        assert (trace.slices.end >= trace.slices.start).all()


def test_deep_parentheses_are_read_in_one_go(tmp_path):
    deep = "callsite(" * 100_000
    path = written(tmp_path, f"S0,0,1,loc({deep}),add\nS1,1,2,loc({deep}\nS2,2,3,loc(unknown),a\n")
    trace = read(path)
    assert len(trace.slices) == 2
    assert trace.problems[0].first == "line 2"
