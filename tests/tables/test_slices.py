"""The columns of slices: the same in every file, so that several files are one table."""

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.builders.workspaces import export, workspace_of
from tests.paths import DATA, ROOT
from viewer import SCHEMA, __version__
from viewer.model.times import ticks_to_ns
from viewer.tables.columns import cells
from viewer.tables.slices import (
    SLICES,
    SliceTableSource,
    dur_fractions,
    fraction_text,
    has_fractions,
    slice_columns,
    start_fractions,
)

ATTENTION = ROOT / "resources/samples/attention_xnnpack"
# A dump with its record, a profile of an NPU, a trace of another tool, and a delegate that has a
# clock of its own.
FILES = {
    "pair": (ATTENTION / "attn_xnnpack_x5.etdp", ATTENTION / "attn_teal_xnnpack.etrecord"),
    "npu": (DATA / "torq/compile_c1_css_cdma.csv",),
    "chrome": (DATA / "chrome_json/kineto_cpu.json",),
    "qnn": (DATA / "etdump/SYN_qnn_like.etdp",),
}
INTEGERS = {
    "depth", "start_ns", "dur_ns", "start_ticks", "dur_ticks", "inference", "instruction_id",
    "native_start", "native_dur",
}  # fmt: skip
ROWS = {"pair": 727, "npu": 44, "chrome": 122, "qnn": 7}
RATES = (Fraction(5, 4), Fraction(1, 1000), Fraction(625, 12), Fraction(1, 2**31 - 1))
TICKS = st.integers(-(2**61), 2**61)


def rows(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tables")
    for name, paths in FILES.items():
        workspace = workspace_of(*paths)
        for suffix in ("csv", "tsv", "parquet"):
            assert export(workspace, str(out / f"{name}.{suffix}")) == ROWS[name]
    return out


@pytest.mark.parametrize("name", FILES)
def test_every_file_and_format_starts_with_the_same_columns(folder, name):
    schema = parquet.read_schema(folder / f"{name}.parquet")
    assert tuple(schema.names[: len(SLICES.names)]) == SLICES.names
    for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
        assert list(rows(folder / f"{name}.{suffix}", delimiter)[0]) == schema.names
    meant = {name: pa.int64() if name in INTEGERS else pa.string() for name in SLICES.names}
    meant["derived"] = pa.bool_()
    assert {field.name: field.type for field in schema if field.name in SLICES.names} == meant
    assert schema.metadata == {
        b"opscope": __version__.encode(), b"schema": str(SCHEMA).encode()
    }  # fmt: skip


def test_a_folder_is_one_table_for_pyarrow(folder):
    paths = sorted(str(path) for path in folder.glob("*.parquet"))
    found = pyarrow.dataset.dataset(paths).to_table(columns=list(SLICES.names))
    assert len(found) == sum(ROWS.values())
    assert found["native_unit"].to_pylist().count(None) == len(found) - 3


@pytest.mark.slow
def test_a_folder_is_one_table_for_duckdb(folder):
    duckdb = pytest.importorskip("duckdb")
    for suffix, read in (("parquet", "read_parquet"), ("csv", "read_csv")):
        table = f"{read}('{folder}/*.{suffix}', union_by_name = true)"
        connection = duckdb.connect()
        count = connection.execute(f"select count(*) from {table}").fetchone()
        assert count == (sum(ROWS.values()),)
        found = connection.execute(
            f"select inference, sum(dur_ns) from {table} where op_type like 'aten.linear%' "
            "group by inference order by inference"
        ).fetchall()
        assert [number for number, _ in found] == [1, 2, 3, 4, 5]
        named = connection.execute(
            f"select count(*), count(start_ticks), sum(native_dur) from {table} "
            "where native_unit is not null"
        ).fetchone()
        assert named == (3, 0, 6500)


def test_what_a_slice_ran_is_told_by_node_type_and_module(folder):
    softmax = [r for r in rows(folder / "pair.csv") if "softmax" in r["op_type"]]
    assert {r["link_reason"] for r in softmax} == {"instruction in the debug handle map"}
    for row in softmax:
        ops, nodes = json.loads(row["operators"]), row["node"].split("; ")
        # An instruction ran one node of its operator, a delegate call all of them.
        assert set(row["op_type"].split("; ")) <= set(ops)
        assert (len(nodes) == 1) == (row["name"] != "DELEGATE_CALL")
        assert all(":" in place for place in row["source"].split("; "))


def test_the_number_of_an_inference_is_that_of_its_run(folder):
    table = rows(folder / "pair.csv")
    spans = [r for r in table if r["name"] == "Method::execute"]
    assert [r["inference"] for r in spans] == ["1", "2", "3", "4", "5"]
    assert {r["inference"] for r in table if r["name"].startswith("Program::")} == {""}


def test_what_is_on_another_clock_has_no_ticks_of_the_file(folder):
    own = [r for r in rows(folder / "qnn.csv") if r["native_unit"]]
    assert len(own) == 3
    for row in own:
        assert (row["start_ticks"], row["dur_ticks"]) == ("", "")
        assert row["start_ns"]
        assert row["native_dur"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paths", "timing"),
    [
        (FILES["pair"], {"measured": 357, "placed, rounded": 270, "derived": 100}),
        (FILES["npu"], {"estimated": 44}),
        (FILES["chrome"], {"measured": 122}),
        (FILES["qnn"], {"measured": 4, "placed": 3}),
    ],
)
def test_where_a_time_comes_from_survives_tables_and_perfetto(tmp_path, paths, timing):
    export(workspace_of(*paths), str(tmp_path / "first.csv"))
    export(workspace_of(*paths), str(tmp_path / "a.pftrace"))
    export(workspace_of(tmp_path / "a.pftrace"), str(tmp_path / "second.csv"))
    export(workspace_of(tmp_path / "first.csv"), str(tmp_path / "third.csv"))
    for name in ("first", "second", "third"):
        assert Counter(row["timing"] for row in rows(tmp_path / f"{name}.csv")) == timing


def test_nothing_of_a_file_with_the_name_of_a_column_is_lost(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("process,thread,name,start_ns,dur_ns,module,node,bytes\np,t,a,0,1,m,7,64\n")
    export(workspace_of(path), str(tmp_path / "b.csv"))
    (row,) = rows(tmp_path / "b.csv")
    assert (row["module"], row["node"]) == ("", "")
    assert (row["column module"], row["column node"], row["bytes"]) == ("m", "7", "64")


def test_a_range_has_the_same_columns_and_its_slices_alone():
    workspace = workspace_of(*FILES["pair"])
    (trace,) = workspace.traces
    source = SliceTableSource(
        workspace.links(trace), trace.clock.ns_per_tick, 0, ("p",), (0, trace.start)
    )
    columns, count = slice_columns(source)
    assert (tuple(columns), count) == (SLICES.names, 0)


@pytest.mark.slow
def test_an_exported_trace_keeps_what_it_states_of_its_slices(folder, tmp_path):
    """Opened again without its record: what it says of operators is still in the table."""
    workspace = workspace_of(*FILES["pair"])
    export(workspace, str(tmp_path / "a.pftrace"))
    export(workspace_of(tmp_path / "a.pftrace"), str(tmp_path / "b.csv"))
    first, second = rows(folder / "pair.csv"), rows(tmp_path / "b.csv")
    stated = ("name", "inference", "operators", "debug_handles", "link_reason")
    assert [[r[c] for c in stated] for r in second] == [[r[c] for c in stated] for r in first]


def test_times_are_those_of_the_trace():
    workspace = workspace_of(DATA / "torq/compile_c3_taskid_mtu.csv")
    (trace,) = workspace.traces
    rate = trace.clock.ns_per_tick
    columns, _ = slice_columns(SliceTableSource(workspace.links(trace), rate, 5, ("p",) * 9))
    ns = ticks_to_ns(columns["start_ticks"].values, rate)
    assert (columns["start_ns"].values == ns + 5).all()
    assert set(cells(columns["derived"], slice(None))) == {"false"}
    assert sorted(columns["dur_ticks"].values) == sorted(trace.slices.end - trace.slices.start)
    assert columns["start_ns"].values.dtype == np.int64


@given(first=TICKS, second=TICKS, rate=st.sampled_from(RATES))
def test_both_parts_are_the_exact_time(first, second, rate):
    start, end = np.array([min(first, second)]), np.array([max(first, second)])
    ns = [int(ticks_to_ns(t, rate)[0]) for t in (start, end)]
    if abs(int(start[0]) * rate) > 2**61 or abs(int(end[0]) * rate) > 2**61:
        return
    of_start = Fraction(start_fractions(start, rate, None).value(0))
    of_dur = Fraction(dur_fractions(start, end, rate, None).value(0))
    assert ns[0] + of_start == int(start[0]) * rate
    assert ns[1] - ns[0] + of_dur == (int(end[0]) - int(start[0])) * rate
    assert 0 <= of_start < 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"), (Fraction(1, 4), "0.25"), (Fraction(-1, 1000), "-0.001"),
        (Fraction(1, 12), "1/12"), (Fraction(-3, 4), "-0.75"), (Fraction(7, 10), "0.7"),
        (Fraction(3, 2), "1.5"), (Fraction(1, 640), "0.0015625"),
    ],
)  # fmt: skip
def test_texts_are_exact(value, text):
    assert fraction_text(value) == text


def test_ticks_of_whole_ns_have_none():
    assert not has_fractions(Fraction(1000))
    assert has_fractions(Fraction(5, 4))
    assert not has_fractions(Fraction(1, 2**40))
