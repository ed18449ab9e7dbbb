"""A lake from Python: one query as a DataFrame, and its refusals."""

import pytest

import viewer
from tests.builders.lakes import built
from viewer.fleet.lake import UnusableLake
from viewer.fleet.query import WrongQuery

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lake(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("python") / "lake"
    built(folder, fleet)
    return viewer.lake(folder)


def test_a_query_is_a_frame(lake):
    frame = lake.sql("SELECT device, count(*) AS n FROM files GROUP BY 1 ORDER BY 1")
    assert frame.to_dict("list") == {"device": ["device0", "device1", "device2"], "n": [8, 8, 8]}
    assert not lake.losses


def test_missing_whole_numbers_stay_whole_and_floats_stay_floats(lake):
    frame = lake.sql("SELECT unnest([1, NULL]) AS whole, unnest([1.0::DOUBLE, 2.0]) AS share")
    assert [str(dtype) for dtype in frame.dtypes] == ["Int64", "float64"]
    assert frame.whole.isna().tolist() == [False, True]


def test_a_sum_of_more_than_64_bits_is_exact(lake):
    frame = lake.sql("SELECT 3 * 9223372036854775807::HUGEINT AS sum, 1 AS sum")
    assert frame.iloc[0].tolist() == [3 * (2**63 - 1), 1]


def test_a_query_without_rows_has_its_columns(lake):
    assert list(lake.sql("SELECT key, name FROM slices").columns) == ["key", "name"]


def test_every_table_that_is_named_can_be_queried(lake):
    assert "operators" in lake.tables
    for table in lake.tables:
        assert len(lake.sql(f"SELECT count(*) FROM {table}")) == 1


@pytest.mark.parametrize("select", ["DROP VIEW files", "SELECT nothing FROM files"])
def test_what_is_no_query_is_refused(lake, select):
    with pytest.raises(WrongQuery):
        lake.sql(select)


def test_limits_are_those_of_the_command(lake):
    with pytest.raises(WrongQuery, match="memory"):
        lake.sql("SELECT repeat('x', 30000000) FROM range(5)", max_memory="100M")
    with pytest.raises(ValueError, match="4Q"):
        lake.sql("SELECT 1", max_memory="4Q")


def test_a_folder_that_is_no_lake(tmp_path):
    with pytest.raises(UnusableLake, match="this is not a lake"):
        viewer.lake(tmp_path)
