"""Nothing is left of files that were closed; the campaign opens and closes hundreds of times."""

import pytest

from tests.reliability.campaign import Options, run
from tests.reliability.soak.cycles import jobs


@pytest.mark.slow
def test_opening_and_closing_leaves_nothing(tmp_path):
    options = Options(False, 0, tmp_path)
    (row,) = run(jobs(options), options)
    assert row.outcome.findings == ()
