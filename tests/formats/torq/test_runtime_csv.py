"""The Torq runtime profile, against the samples and the reference converter's listing."""

import csv
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests import paths
from tests.builders.csv_cases import damaged, expect_snapshot
from viewer.codecs.reading import ReadCancelled, UnreadableFile, never_cancelled, no_progress
from viewer.formats.torq.runtime_csv import FORMAT
from viewer.model.trace import KeyKind, Trace

SNAPSHOTS = paths.SNAPSHOTS / "torq"
SAMPLES = {
    "runtime_r0_nss.csv": "R0",
    "runtime_r0_seed_readme_header.csv": "R0",
    "runtime_r1_nss_noloc.csv": "R1",
}


def read(path: Path) -> Trace:
    return FORMAT.read(str(path), no_progress, never_cancelled)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "runtime.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("name", "generation"), SAMPLES.items())
def test_every_row_of_a_sample_is_a_job(data, name, generation):
    path = data / "torq" / name
    assert FORMAT.sniff(path.read_bytes()[:4096])
    trace = read(path)
    assert (trace.generation, len(trace.slices), trace.problems) == (generation, 20, ())
    assert (trace.clock.unit, trace.clock.ns_per_tick) == ("us", Fraction(1000))
    assert not trace.clock.assumed
    assert [(t.process, t.thread) for t in trace.tracks] == [(name, "NSS jobs")]
    expect_snapshot(trace, SNAPSHOTS / f"{path.stem}.txt")


def test_a_job_lies_before_the_moment_it_was_seen_done(data):
    trace = read(data / "torq" / "runtime_r0_nss.csv")
    first = int(np.argmin(trace.slices.source_row))
    # "0;1420;52;...": done 1420 µs after open, 52 µs after its start.
    assert (trace.slices.start[first], trace.slices.end[first]) == (1368, 1420)
    assert trace.name(first) == "job 0"
    assert trace.slices.columns["job_id"].value(first) == 0


def test_the_reference_converter_is_late_by_one_duration(data):
    trace = read(data / "torq" / "runtime_r0_nss.csv")
    s = trace.slices
    late = Counter(
        (str(s.columns["job_id"].value(i)), int(s.end[i]), int(2 * s.end[i] - s.start[i]))
        for i in range(len(s))
    )
    with (data / "torq" / "reference_f63e303" / "small.slices.tsv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file, delimiter="\t")
                if r["process"] == "02 runtime_r0_nss.csv"]  # fmt: skip
    assert late == Counter((r["thread"], int(r["start"]), int(r["end"])) for r in rows)


def test_identity_is_the_location_where_there_is_one(tmp_path):
    text = (
        "id;time_since_open;time_since_start;location\n"
        '0;10;5;loc("a;b, c.mlir":1:2)\n1;20;5;\n2;30;5;loc(unknown)\n'
    )
    trace = read(written(tmp_path, text))
    keys = [int(k) for k in trace.slices.key]
    assert [KeyKind(trace.keys.kind[k]).name for k in keys] == ["LOCATION", "JOB", "LOCATION"]
    assert [trace.keys.location[k] for k in keys] == [
        'loc("a;b, c.mlir":1:2)',
        None,
        "loc(unknown)",
    ]
    assert trace.slices.columns["location"].value(1) is None


def test_odd_rows_are_counted_with_their_line(tmp_path):
    trace = read(written(tmp_path, b"id;time_since_open;time_since_start\n0;10;5\n\n1;x;5\n2;20\n"
                                   b"3;99999999999999999999;5\n4;3;9\n5;9;-2\n\xff"))  # fmt: skip
    assert trace.slices.source_row.tolist() == [4, 0, 5]
    assert {p.kind: (p.count, p.first) for p in trace.problems} == {
        "invalid UTF-8: replaced": (1, "line 9"),
        "row that is not id;time_since_open;time_since_start": (3, "line 4"),
        "row with a number too large for a time": (1, "line 6"),
        "negative time: kept": (1, "row 5"),
        "slice ends before it starts: drawn as an instant": (1, "slice 5"),
    }


def test_overlapping_jobs_keep_their_times(tmp_path):
    trace = read(written(tmp_path, "id;time_since_open;time_since_start\n0;10;10\n1;15;10\n"))
    assert sorted(zip(trace.slices.start, trace.slices.end, strict=True)) == [(0, 10), (5, 15)]
    assert trace.slices.row_lane.tolist() == [0, 1]


def test_a_line_of_digits_is_looked_through_once(tmp_path):
    header = "id;time_since_open;time_since_start\n"
    path = written(tmp_path, f"{header}0;10;10\n{'9' * 300_000}x\nx;{'9' * 300_000} x\n")
    began = time.process_time()
    trace = read(path)
    assert time.process_time() - began < 5  # from every digit on it would be minutes
    assert [(p.kind, p.count) for p in trace.problems] == [(f"row that is not {header.strip()}", 2)]


def test_a_header_alone_is_an_empty_trace(tmp_path):
    trace = read(written(tmp_path, "id;time_since_open;time_since_start;location\r\n"))
    assert (len(trace.slices), trace.problems) == (0, ())


def test_other_files_are_not_taken(data):
    for name in ("compile_c0_callsite.csv", "compile_c3_taskid.csv", "tiny_cnn.mlir"):
        assert not FORMAT.sniff((data / "torq" / name).read_bytes()[:4096])
    with pytest.raises(UnreadableFile, match="not a Torq runtime profile"):
        read(data / "torq" / "compile_c0_callsite.csv")
    with pytest.raises(UnreadableFile, match=r"Is a directory|Permission"):
        read(data / "torq")


def test_reading_can_be_cancelled(data):
    with pytest.raises(ReadCancelled):
        FORMAT.read(str(data / "torq" / "runtime_r0_nss.csv"), no_progress, lambda: True)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["runtime_r0_nss.csv", "runtime_r1_nss_noloc.csv"])
def test_no_damage_raises_anything_but_unreadable(data, tmp_path, name):
    whole = b"\n".join((data / "torq" / name).read_bytes().split(b"\n")[:6])
    for bent in damaged(whole):
        FORMAT.sniff(bent[:4096])
        try:
            trace = read(written(tmp_path, bent))
        except UnreadableFile:
            continue
        assert (trace.slices.end >= trace.slices.start).all()
