"""The first part of a file reads as if the file ended there."""

from fractions import Fraction

import pytest

from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.unpacking import open_part

ROWS = b"a,b\n1,2\n3,4\n5,6\n7,8\n"


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "rows.csv"
    found.write_bytes(ROWS)
    return found


def part_of(path, share, **how) -> bytes:
    with BUDGET.reading(Fraction(share)):
        file, size = open_part(str(path), **how)
        with file:
            content = file.read()
            file.seek(0)
            assert file.read(size + 5) == content
    assert len(content) == size
    return content


def test_all_of_a_file(path):
    assert part_of(path, "1", lines=True) == ROWS


def test_bytes_are_rounded_up(path):
    assert part_of(path, "1/3") == ROWS[:7]


def test_whole_lines(path):
    assert part_of(path, "3/4", lines=True) == b"a,b\n1,2\n3,4\n"


def test_at_least_two_lines(path):
    assert part_of(path, "1/1000", lines=True) == b"a,b\n1,2\n"


def test_a_line_end_in_quotes_does_not_count(path):
    path.write_bytes(b'a,b\n1,2\n3,"x\ny\nz"\n5,6\n')
    assert part_of(path, "16/23", lines=True) == b'a,b\n1,2\n3,"x\ny\n'
    assert part_of(path, "16/23", lines=True, quotes=True) == b"a,b\n1,2\n"
    assert part_of(path, "19/23", lines=True, quotes=True) == b'a,b\n1,2\n3,"x\ny\nz"\n'
