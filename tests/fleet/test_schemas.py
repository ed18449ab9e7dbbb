"""Numbered schemas: only ever added to, and files of all numbers are one table."""

import json
from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.paths import DATA
from viewer.fleet.schemas import ALWAYS, INT, KEYS, TABLES, TEXT, chosen_tables, lake_type
from viewer.tables.columns import ColumnSpec

FIRST = json.loads((DATA / "fleet" / "schemas.json").read_text())


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_columns_are_only_added(table):
    """tests/data/fleet/schemas.json: the columns of every number so far, in order.

    A new column has the next number in `lake`, is at the end, and gets a line there.
    """
    numbers = [column.lake or 1 for column in table.columns]
    columns = [
        [c.name, lake_type(c), number] for c, number in zip(table.columns, numbers, strict=True)
    ]
    assert columns == FIRST[table.name]
    assert numbers == sorted(numbers)
    assert table.columns[: len(KEYS)] == KEYS


def test_files_of_old_and_new_schemas_are_one_table(tmp_path):
    old = TABLES["problems"]
    new = replace(old, columns=(*old.columns, ColumnSpec("line", INT, "Its line", lake=2)))
    assert (old.schema, new.schema) == (1, 2)
    for table, extra in ((old, {}), (new, {"line": 7})):
        row = {"key": f"k{table.schema}", "kind": "cut", "count": 3, **extra}
        path = tmp_path / table.folder() / "one.parquet"
        path.parent.mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist([row], table.arrow()), path)
        stored = parquet.read_schema(path).metadata
        assert (stored[b"opscope.table"], stored[b"opscope.schema"]) == (
            b"problems",
            str(table.schema).encode(),
        )
    files = f"{tmp_path}/table=problems/*/*.parquet"
    both = duckdb.sql(
        f"select key, kind, count, line from read_parquet('{files}', union_by_name=true) order by 1"
    )
    assert both.fetchall() == [("k1", "cut", 3, None), ("k2", "cut", 3, 7)]


def test_tables_are_chosen_by_name():
    names = [table.name for table in chosen_tables(["slices"])]
    assert names == ["slices", *sorted(ALWAYS, reverse=True)]
    with pytest.raises(KeyError, match="sliced"):
        chosen_tables(["sliced"])


def test_every_column_has_a_meaning():
    columns = [column for table in TABLES.values() for column in table.columns]
    assert all(column.meaning and not column.meaning.endswith(".") for column in columns)
    assert all(column.unit == "ns" for column in columns if column.name.endswith("_ns"))
    assert {lake_type(column) for column in columns if column.name == "key"} == {TEXT}
