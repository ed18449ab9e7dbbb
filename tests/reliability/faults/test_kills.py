"""What a killed window must have saved."""

import pytest

from tests.reliability.faults.kills import bookmarks_made

pytestmark = pytest.mark.nightly


def test_bookmarks_count_until_a_time_and_a_cut_line_does_not():
    lines = b"1 10.0\n2 10.1\n3 10.2\n4 10.3\n5"
    assert bookmarks_made(lines, 10.25) == 3
    assert bookmarks_made(lines, 99.0) == 4
    assert bookmarks_made(lines, 5.0) == 0
    assert bookmarks_made(b"", 99.0) == 0
