"""Commands end in order at a signal; the campaign sends more, by night."""

import sys
from pathlib import Path

import pytest

from tests.reliability.campaign import Options
from tests.reliability.faults.signals import check


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_signals_at_random_moments_leave_nothing_behind():
    assert check(Options(False, 0, Path()), 3).findings == ()
