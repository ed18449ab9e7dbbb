"""How the total below tables is called: of several threads, times are added up."""

import numpy as np
import pytest

from tests.builders.stepped_traces import stepped
from viewer.gui.panels.base.cost_painting import whole_title
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.queries import busy_time


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_total_that_can_be_longer_than_its_range_says_what_it_adds_up(seed, threads):
    trace = stepped(seed, threads=threads).trace
    spans = [(trace.start, trace.end), *((run.start, run.end) for run in trace.inferences())]
    for first, last in spans:
        title = whole_title(trace, TimeScope(ticks=(first, last)))
        busy = [busy_time(trace.slices, track, first, last) for track in range(threads)]
        if sum(busy) > last - first:
            assert title == f"Busy time of {np.count_nonzero(busy)} tracks"
    assert whole_title(trace, WHOLE) == (
        "Busy time" if threads == 1 else f"Busy time of {threads} tracks"
    )
    run = next(trace.inferences())
    assert whole_title(trace, TimeScope(run)) == "Busy time"  # on its track alone
