"""Numbers and arguments in the rows of profiles."""

import pytest

from viewer.formats.runtimes.rows import columns_of, ticks_of


@pytest.mark.parametrize(("text", "ticks"), [
    ("12", 12_000), ("1.5", 1500), ("1,234", 1_234_000), ("12,345,678.5", 12_345_678_500),
    ("2e3", 2_000_000), ("0", 0),
])  # fmt: skip
def test_a_time_is_exact(text, ticks):
    assert ticks_of(text, 1000) == ticks


@pytest.mark.parametrize("text", ["1,5", "0,125", "1,23,456", ",5", "-1", "", "n/a", "1e99"])
def test_a_decimal_comma_is_no_time(text):
    assert ticks_of(text, 1000) is None


def test_arguments_are_numbers_only_if_they_are_amounts():
    columns = columns_of(
        {"bytes": {0: "12", 1: "7"}, "id": {0: "007", 1: "12"}, "share": {1: "1.5"}}, 2
    )
    assert [columns["bytes"].value(i) for i in (0, 1)] == [12, 7]
    assert [columns["id"].value(i) for i in (0, 1)] == ["007", "12"]
    assert [columns["share"].value(i) for i in (0, 1)] == [None, 1.5]
