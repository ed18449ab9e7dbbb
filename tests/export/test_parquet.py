"""Tables as Parquet, read back by pyarrow: types, nulls, many row groups, and files that fit."""

import csv
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as reader

from tests.builders.workspaces import export, workspace_of
from tests.paths import ROOT
from viewer.codecs.atomic_file import WriteCancelled
from viewer.export import table_files
from viewer.export.table_files import write_parquet, write_table
from viewer.model.trace import Column
from viewer.tables.columns import RowPlaces, SharedColumn

DATA = ROOT / "tests" / "data"
ATTENTION = [
    ROOT / "resources/samples/attention_xnnpack" / name
    for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
]


def test_values_nulls_and_types_come_back(tmp_path):
    path = tmp_path / "a.parquet"
    header = ["ints", "holes", "texts", "floats", "flags", "mixed"]
    columns = [
        np.array([1, -2, 2**62]), [5, None, ""], ["a", "", "ü 🚀"], [0.5, 2, None],
        np.array([True, False, True]), [1, "x", None],
    ]  # fmt: skip
    assert write_parquet(path, header, columns) == 3
    found = reader.read_table(path)
    assert found.to_pydict() == {
        "ints": [1, -2, 2**62], "holes": [5, None, None], "texts": ["a", None, "ü 🚀"],
        "floats": [0.5, 2.0, None], "flags": [True, False, True], "mixed": ["1", "x", None],
    }  # fmt: skip
    assert [found.schema.field(name).type for name in ("ints", "holes", "floats", "flags")] == [
        pa.int64(), pa.int64(), pa.float64(), pa.bool_(),
    ]  # fmt: skip


def test_many_row_groups_have_one_schema(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "ROWS_PER_GROUP", 3)
    path = tmp_path / "a.parquet"
    values = [None, None, None, 4, 5, "", 7]
    told = []
    write_parquet(
        path, ["n", "t"], [values, [str(v) for v in values]],
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert reader.ParquetFile(path).num_row_groups == 3
    assert reader.read_table(path).to_pydict()["n"] == [None, None, None, 4, 5, None, 7]
    assert told == [(3, 7), (6, 7), (7, 7)]


def test_no_rows_are_a_table_with_columns(tmp_path):
    path = tmp_path / "a.parquet"
    assert write_parquet(path, ["count", "name"], [[], []]) == 0
    assert reader.read_table(path).column_names == ["count", "name"]


def test_what_is_no_unicode_does_not_stop_the_rest(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(path, ["t"], [["a\udcff", "b"]])
    assert reader.read_table(path).to_pydict() == {"t": ["a?", "b"]}


def test_a_cancelled_or_failed_table_leaves_nothing(tmp_path):
    path = tmp_path / "a.parquet"
    with pytest.raises(WriteCancelled):
        write_parquet(path, ["n"], [[1]], cancelled=lambda: True)
    with pytest.raises(ValueError, match="different lengths"):
        write_parquet(path, ["n", "m"], [[1], [1, 2]])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", ["slices", "operators", "statistics"])
def test_a_table_says_what_its_csv_says(tmp_path, table):
    space = workspace_of(*ATTENTION)
    export(space, str(tmp_path / "a.parquet"), table=table)
    export(space, str(tmp_path / "a.csv"), table=table)
    found = reader.read_table(tmp_path / "a.parquet").to_pylist()
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    assert len(found) == len(expected) > 0
    for row, texts in zip(found, expected, strict=True):
        for name, text in texts.items():
            value = row[name]
            if isinstance(value, float):
                assert value == pytest.approx(float(text))
            else:
                shown = str(value).lower() if isinstance(value, bool) else str(value)
                assert ("" if value is None else shown) == text


def test_the_files_of_a_folder_are_one_table(tmp_path):
    """One has instructions and handles, one has neither; their columns have the same types."""
    export(workspace_of(*ATTENTION), str(tmp_path / "a.parquet"), table="statistics", by="name")
    export(
        workspace_of(DATA / "torq/runtime_r0_nss.csv"),
        str(tmp_path / "b.parquet"),
        table="statistics",
        by="name",
    )
    export(
        workspace_of(DATA / "etdump/SYN_qnn_like.etdp"),
        str(tmp_path / "c.parquet"),
        table="statistics",
        by="name",
    )
    schemas = {str(reader.read_schema(path)) for path in tmp_path.glob("*.parquet")}
    assert len(schemas) == 1
    rows = pyarrow.dataset.dataset(tmp_path).to_table().to_pylist()
    executes = [row for row in rows if row["label"] == "Method::execute"]
    assert sum(row["count"] for row in executes) >= 5


@st.composite
def columns_of_both_kinds(draw):
    """Columns with a value per row, and the same with each value once: texts, numbers and flags."""
    rows, count = draw(st.integers(0, 40)), draw(st.integers(1, 12))
    code = np.array(draw(st.lists(st.integers(0, count - 1), min_size=rows, max_size=rows)), int)
    places = RowPlaces(rows, code.__getitem__)
    texts = st.sampled_from(["", "a", "b,c", '"', "\udcff", "?", "=1", "x\ny", "ü"])
    valid = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    pairs = []
    for kind in draw(st.lists(st.sampled_from("tifb"), min_size=1, max_size=5)):
        values = {"i": np.arange(count) - 2**53, "f": np.arange(count) / 3, "b": valid}.get(kind)
        strings = tuple(draw(st.lists(texts, min_size=count, max_size=count)))
        column = Column(np.arange(count, dtype=np.uint32) if values is None else values,
                        draw(st.sampled_from([None, valid])),
                        strings if values is None else None)  # fmt: skip
        pairs.append((column.taken(code), SharedColumn(column, places)))
    return pairs


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(pairs=columns_of_both_kinds(), at_once=st.integers(1, 15))
def test_shared_values_are_written_as_those_of_rows(tmp_path_factory, pairs, at_once):
    folder = tmp_path_factory.mktemp("both")
    header = [f"c{i}" for i in range(len(pairs))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "ROWS_PER_GROUP", at_once)
        for suffix in (".parquet", ".csv", ".tsv"):
            for number in (0, 1):
                columns = [pair[number] for pair in pairs]
                rows = write_table(folder / f"{number}{suffix}", header, columns)
    assert (folder / "0.csv").read_bytes() == (folder / "1.csv").read_bytes()
    assert (folder / "0.tsv").read_bytes() == (folder / "1.tsv").read_bytes()
    tables = [reader.read_table(folder / f"{number}.parquet") for number in (0, 1)]
    assert tables[0].to_pydict() == tables[1].to_pydict()
    assert tables[0].schema == tables[1].schema
    groups = reader.ParquetFile(folder / "1.parquet").num_row_groups
    assert groups == max(-(-rows // at_once), 1)
    for i, (plain, _) in enumerate(pairs):
        values = [plain.value(row) for row in range(rows)]
        expected = [v.replace("\udcff", "?") or None if isinstance(v, str) else v for v in values]
        assert tables[1].column(i).to_pylist() == expected


@pytest.mark.slow
def test_every_reader_has_the_same_values_and_the_same_table_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "ROWS_PER_GROUP", 100)
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for path in paths:
        export(workspace_of(*ATTENTION), str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    rows = reader.read_table(paths[0]).to_pylist()
    assert len(rows) == 727
    by_pandas = pd.read_parquet(paths[0], dtype_backend="numpy_nullable").astype(object)
    assert by_pandas.where(by_pandas.notna(), None).to_dict("records") == rows
    by_duckdb = duckdb.execute(f"FROM read_parquet('{paths[0]}')")
    names = [column[0] for column in by_duckdb.description]
    assert [dict(zip(names, row, strict=True)) for row in by_duckdb.fetchall()] == rows


def test_columns_of_many_different_numbers_are_written_without_a_table_of_these(tmp_path):
    path = tmp_path / "a.parquet"
    values = np.arange(100_000) ** 2
    few = Column(values % 7)
    places = RowPlaces(len(values), np.zeros(len(values), int).__getitem__)
    write_parquet(
        path, ["n", "m", "few", "shared"],
        [values, Column(values), few, SharedColumn(Column(np.array([5])), places)],
    )  # fmt: skip
    chunks = [reader.read_metadata(path).row_group(0).column(i) for i in range(4)]
    assert [c.dictionary_page_offset is None for c in chunks] == [True, True, False, False]
    table = reader.read_table(path)
    assert table.column("m").to_pylist() == values.tolist()
    assert table.column("shared").unique().to_pylist() == [5]


@pytest.mark.slow
def test_an_export_does_not_import_pandas(tmp_path):
    code = (
        "import sys\nfrom viewer.cli import main\n"
        f"assert not main(['export', {str(ATTENTION[0])!r}, '-o', {str(tmp_path / 'a.parquet')!r}])"
        "\nprint('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr
    assert len(reader.read_table(tmp_path / "a.parquet")) == 727
