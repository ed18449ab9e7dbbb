"""Tables as Parquet, read back by pyarrow: types, nulls, many row groups, and files that fit."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from pyarrow import parquet as reader

from tests.builders.workspaces import workspace_of
from tests.paths import ROOT
from viewer.codecs.atomic_file import WriteCancelled
from viewer.export.tables import parquet
from viewer.export.tables.parquet import write_parquet
from viewer.workspace.exports import export

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
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", 3)
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
