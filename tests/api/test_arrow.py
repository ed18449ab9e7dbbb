"""Tables for Arrow, polars and DuckDB: the same values, shared memory, and Parquet files."""

import pytest

from tests.builders.profiles import profile
from viewer.tables.catalog import TABLES


def test_numbers_share_their_memory():
    slices = profile().slices
    table = profile().to_arrow("slices")
    assert table.num_rows == len(slices)
    (start,) = table["start_ns"].chunks
    assert start.buffers()[1].address == slices["start_ns"].to_numpy().ctypes.data


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_the_values_of_the_frame(name):
    frame, table = getattr(profile(), name), profile().to_arrow(name)
    assert table.column_names == list(frame.columns)
    for column in frame.columns:
        if frame[column].dtype != object:
            values = frame[column].astype(object).where(frame[column].notna(), None)
            assert table[column].to_pylist() == values.tolist()


def test_polars_and_duckdb_read_a_table():
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    wanted = profile().slices.groupby("name", observed=True).dur_ns.sum().to_dict()
    slices = profile().to_arrow()
    found = duckdb.sql("select name, sum(dur_ns)::bigint from slices group by name").fetchall()
    assert dict(found) == wanted
    by_name = polars.from_arrow(slices).group_by("name").agg(polars.col("dur_ns").sum())
    assert dict(by_name.iter_rows()) == wanted


def test_a_folder_of_parquet_files(tmp_path):
    from pyarrow import parquet

    written = profile().to_parquet(tmp_path / "tables")
    assert set(written) <= set(TABLES)
    assert parquet.read_table(written["slices"]).num_rows == len(profile().slices)
    assert parquet.read_schema(written["lines"]).metadata[b"schema"]
