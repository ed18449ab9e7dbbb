"""Which inferences figures cover, and how the view changes that."""

import pytest

from tests.gui.fake_host import FakeHost
from viewer.analysis.statistics.group_keys import KEYS
from viewer.gui.panels.statistics.panel import StatisticsPanel
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.navigation import include_warm_up, pick_run
from viewer.model.figures import LeftOut
from viewer.resources import SAMPLES

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}


@pytest.fixture
def session(opened):
    """The attention sample: five inferences, of which the first one warms up."""
    session = opened(*_PATHS["attention_xnnpack"])
    pick_run(session, None)
    return session


def test_costs_leave_out_the_warm_up_until_it_is_included(session):
    costs = CostFeed.of(session)
    lengths = [run.end - run.start for run in session.traces[0].trace.inferences()]
    assert costs.answer.table.whole == sum(lengths[1:])
    assert costs.answer.left_out == LeftOut(warm_up=1)
    include_warm_up(session, included=True)
    assert costs.answer.table.whole == sum(lengths)
    assert costs.answer.left_out == LeftOut()
    session.undo()
    assert costs.answer.table.whole == sum(lengths[1:])


def test_a_picked_inference_counts_even_if_it_warms_up(session):
    first = next(session.traces[0].trace.inferences())
    pick_run(session, (0, session.traces[0].trace.runs.index(first)))
    assert CostFeed.of(session).answer.table.whole == first.end - first.start


def test_statistics_cover_the_inferences_that_costs_do(session, theme, qtbot):
    panel = StatisticsPanel(FakeHost(session, theme))
    qtbot.addWidget(panel)
    lengths = [run.end - run.start for run in session.traces[0].trace.inferences()]
    assert panel.answer.table.whole == sum(lengths[1:])
    include_warm_up(session, included=True)
    assert panel.answer.table.whole == sum(lengths)
    panel._pick(KEYS.index("inference"))  # these rows are the inferences, all of them
    include_warm_up(session, included=False)
    assert panel.answer.table.whole == sum(lengths)
