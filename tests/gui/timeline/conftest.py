"""The timeline alone, with something open."""

import pytest

from tests.builders.clocked_traces import profile
from tests.gui.timeline_harness import TimelineHarness


@pytest.fixture
def tall(harness: TimelineHarness, tmp_path) -> TimelineHarness:
    """A trace with more rows than the canvas can show."""
    path = tmp_path / "tall.csv"
    rows = [f"p,t{n},s{n},{n * 10},{1000 + n}" for n in range(80)]
    path.write_text("\n".join(["process,thread,name,start_ns,dur_ns", *rows]) + "\n")
    harness.open(path)
    return harness


@pytest.fixture
def two(harness: TimelineHarness) -> TimelineHarness:
    """Two files, each on a clock of its own: a.csv has 3 tracks and 1000 ns, b.csv 2 and 5000."""
    harness.session.add([profile("/a.csv", 3, 1000), profile("/b.csv", 2, 5000)])
    harness.settle()
    return harness
