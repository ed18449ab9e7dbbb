"""Files that change while they are open end no process; the campaign changes a thousand."""

import pytest

from tests.reliability.campaign import Options, run
from tests.reliability.faults.changed_files import jobs


@pytest.mark.slow
def test_files_that_are_truncated_while_panels_read_them(tmp_path):
    """In a process of its own, since a mapped file would end this one."""
    (row,) = run(jobs(Options(False, 0, tmp_path)), Options(False, 0, tmp_path))
    assert row.outcome.findings == ()
    assert "0 times" not in row.outcome.figures
