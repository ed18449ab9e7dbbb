"""Tables of the Inspector: slices where single times stand in them, else one clear error."""

import csv
from collections import Counter

import pytest

from tests.paths import DATA
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.trace import KeyKind

TABLES = DATA / "inspector"
ONE_RUN = {
    "attn_xnnpack_x1_debug__attn_teal_xnnpack.tsv": "attn_xnnpack_x1_debug.etdp",
    "cnn_portable_x1__cnn_toedge_portable.tsv": "cnn_portable_x1.etdp",
}
HEADER = (
    "\tevent_block_name\tevent_name\tavg (ms)\tmin (ms)\tmax (ms)\tis_delegated_op\tstart_time\n"
)


def placed(trace):
    slices = trace.slices
    return Counter(
        (trace.name(i), int(slices.start[i]), int(slices.end[i])) for i in range(len(slices))
    )


@pytest.mark.parametrize("table", ONE_RUN)
def test_a_table_of_one_run_has_the_slices_of_its_dump(table):
    read, dump = open_file(str(TABLES / table)), open_file(str(DATA / "etdump" / ONE_RUN[table]))
    assert read.format == "Inspector table"
    assert read.problems == ()
    # OPERATOR_CALL events are dropped when a table is saved, and what we compute never was in it.
    meant = placed(dump)
    derived = dump.slices.derived
    for i in range(len(dump.slices)):
        if dump.name(i) == "OPERATOR_CALL" or (derived is not None and derived[i]):
            meant[dump.name(i), int(dump.slices.start[i]), int(dump.slices.end[i])] -= 1
    assert placed(read) <= meant
    assert sum(placed(read).values()) == len((TABLES / table).read_text().splitlines()) - 1


@pytest.mark.parametrize("table", sorted(p.name for p in TABLES.glob("*_x[2-9]*.tsv")))
def test_a_table_of_several_runs_has_the_mean_of_each_row(table):
    read = open_file(str(TABLES / table))
    assert (read.format, read.problems) == ("Inspector table", ())
    assert all(track.thread.startswith("placed · ") for track in read.tracks)
    with (TABLES / table).open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    meant = Counter((row["event_name"], round(float(row["avg (ms)"]) * 10**9)) for row in rows)
    slices = read.slices
    assert meant == Counter(
        (read.name(i), int(slices.end[i] - slices.start[i])) for i in range(len(slices))
    )


def test_what_a_delegate_counted_on_its_own_clock_is_left_out_and_counted():
    trace = open_file(str(TABLES / "SYN_qnn_like__demo_str.tsv"))
    assert placed(trace) == Counter(
        {
            ("Method::init", 100, 900): 1, ("Program::load_method", 50, 950): 1,
            ("DELEGATE_CALL", 1000, 8000): 1, ("Method::execute", 1000, 9000): 1,
        }
    )  # fmt: skip
    assert [(p.count, p.first) for p in trace.problems] == [(3, "row 3")]


def table(tmp_path, *rows, header=HEADER):
    path = tmp_path / "table.tsv"
    path.write_text(header + "".join(f"{i}\t{row}\n" for i, row in enumerate(rows)))
    return str(path)


def test_equal_durations_of_several_runs_are_slices_and_others_are_counted(tmp_path):
    trace = open_file(
        table(
            tmp_path,
            "Execute\tMethod::execute\t0.002\t0.002\t0.002\tFalse\t[1000, 5000]",
            "Execute\tfused\t0.001\t0.001\t0.001\tTrue\t[1500]",
            "Execute\tvaries\t0.0015\t0.001\t0.002\tFalse\t[1000, 5000]",
            "Execute\tbroken\tx\t\t0.002\tFalse\t[1000]",
        )
    )
    assert placed(trace) == Counter(
        {("Method::execute", 1000, 3000): 1, ("Method::execute", 5000, 7000): 1,
         ("fused", 1500, 2500): 1}
    )  # fmt: skip
    assert [run.number for run in trace.runs] == [1, 2]
    assert [(p.count, p.first) for p in trace.problems] == [(1, "row 3"), (1, "row 4")]
    fused = next(i for i in range(3) if trace.name(i) == "fused")
    key = int(trace.slices.key[fused])
    assert (trace.keys.kind[key], trace.keys.identifier[key]) == (KeyKind.DELEGATE_EVENT, "fused")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (HEADER.replace("\tstart_time", ""), "no table with a name and a duration"),
        (HEADER.replace("ms", "cycles"), "in cycles"),
        (HEADER.replace(" (ms)", ""), "an unknown unit"),
    ],
)
def test_a_table_whose_times_mean_nothing_is_refused(tmp_path, header, reason):
    with pytest.raises(UnreadableFile, match=reason):
        open_file(table(tmp_path, header=header))
