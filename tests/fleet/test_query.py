"""Queries of a lake: every table is a view, nothing is written, nothing else is read."""

import pytest

from tests.builders.lakes import built
from viewer.fleet.lake import Lake, UnusableLake
from viewer.fleet.query import WrongQuery, query

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("query") / "lake"
    built(folder, fleet)
    return Lake(str(folder))


def test_tables_are_views(lake):
    columns, rows = query(lake, "SELECT device, count(*) AS n FROM files GROUP BY 1 ORDER BY 1")
    assert columns == ["device", "n"]
    assert rows == [("device0", 8), ("device1", 8), ("device2", 8)]
    assert query(lake, "SELECT * FROM slices")[1] == []
    assert query(lake, "SELECT sum(self_ns) > 0 FROM inference_operators JOIN files USING (key)")[
        1
    ] == [(True,)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY files TO '/tmp/opscope-x.csv'",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "CREATE TABLE x AS SELECT 1",
        "DROP VIEW files",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2",
        "",
        "SELECT nothing FROM files",
    ],
)
def test_what_is_no_query_is_an_error_of_one_line(lake, sql):
    with pytest.raises(WrongQuery) as error:
        query(lake, sql)
    assert "\n" not in str(error.value)


def test_a_folder_that_is_no_lake(tmp_path):
    with pytest.raises(UnusableLake, match="this is not a lake"):
        Lake(str(tmp_path))
