"""Limits: what is made, and what counts as above them."""

import pytest

from tests.paths import DATA
from tests.reliability.limits import SHAPES, Reading, info_of

pytestmark = pytest.mark.nightly


def test_a_small_file_is_read_within_all_limits():
    found = info_of(DATA / "table_csv/two_threads.csv", 60.0)
    assert found.complaint(60.0, 300 << 20) == ""
    assert "Profile CSV" in found.text


def test_time_memory_and_tracebacks_are_complaints():
    assert Reading(9.0, 0, 0, "").complaint(5.0, 10) == "more than 5 s"
    assert (
        Reading(1.0, 20_000_000, 0, "").complaint(5.0, 10_000_000)
        == "20 MB of memory, at most 10 MB"
    )
    assert "exit code 1" in Reading(1.0, 0, 1, "Traceback (most recent…").complaint(5.0, 10)
    assert "exit code -9" in Reading(1.0, 0, -9, "").complaint(5.0, 10)
    assert Reading(1.0, 0, 1, "opscope: x.csv: too large").complaint(5.0, 10) == ""


def test_a_shape_has_about_the_size_that_was_asked():
    for name in (
        "table_rows",
        "chrome_rows",
        "torq_host_rows",
        "etdump_events",
        "handle_map_entries",
    ):
        assert 0.5e6 < len(SHAPES[name].write(1)) < 2e6, name


@pytest.mark.parametrize("shape", ["chrome_rows", "table_rows"])
def test_a_limit_of_the_memory_holds(shape, tmp_path):
    path = tmp_path / f"a{SHAPES[shape].suffix}"
    path.write_bytes(SHAPES[shape].write(40))
    codes = set()
    for limit in (250, 300, 400, 550, 700):
        found = info_of(path, 60.0, "--max-memory", f"{limit}M")
        codes.add(found.code)
        assert found.memory < 1.2 * limit * 1_000_000, (limit, found)
    assert 0 in codes
