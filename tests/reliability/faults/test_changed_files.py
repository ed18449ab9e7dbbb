"""Files that change while they are open end no process; the campaign changes more, by night."""

import pytest

from tests.reliability.campaign import Job, Options, run
from tests.reliability.faults.changed_files import check


@pytest.mark.slow
def test_files_that_are_truncated_while_panels_read_them(tmp_path):
    """In a process of its own, since a mapped file would end this one."""
    job = Job("faults", "changed files", check, (7,))
    (row,) = run([job], Options(False, 0, tmp_path))
    assert row.outcome.findings == ()
    assert "0 times" not in row.outcome.figures
