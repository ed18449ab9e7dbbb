"""What every panel's columns are called: one meaning per title, explained in its tooltip."""

import pytest
from PySide6.QtCore import Qt

from viewer.gui.panels.calls.panel import CallsPanel
from viewer.gui.panels.delegation.panel import DelegationPanel
from viewer.gui.panels.estimates import EstimatesPanel
from viewer.gui.panels.events import EventsPanel
from viewer.gui.panels.handle_map import HandleMapPanel
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.operators import OperatorsPanel
from viewer.gui.panels.selection import SelectionPanel
from viewer.gui.panels.statistics.panel import StatisticsPanel
from viewer.gui.session.navigation import pick_run
from viewer.model.figures import TERMS
from viewer.view.state import Area

DEFINITIONS = {term.title: term.definition for term in TERMS}
PANELS = (
    CallsPanel, DelegationPanel, EstimatesPanel, EventsPanel, HandleMapPanel, ModelPanel,
    OperatorsPanel, SelectionPanel, StatisticsPanel,
)  # fmt: skip
FILES = {
    EstimatesPanel: ("torq/compile_c3_taskid.csv", "torq/host_h4_latest_2inv.csv"),
    HandleMapPanel: ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"),
}
CNN = "etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord"


def headings(panel):
    """The titles of a panel's columns, each with its tooltip."""
    role, across = Qt.ItemDataRole, Qt.Orientation.Horizontal
    return {
        panel.model.headerData(column, across, role.DisplayRole): panel.model.headerData(
            column, across, role.ToolTipRole
        )
        or ""
        for column in range(panel.model.columnCount())
    }


@pytest.fixture(params=PANELS, ids=lambda kind: kind.__name__)
def panel(request, show_files):
    made = show_files(request.param, *FILES.get(request.param, CNN))
    session = made.session
    session.select_area(Area(session.state.t0, session.state.t1, frozenset({(0, 0)})))
    pick_run(session, None)
    assert made.model.columnCount() > 3
    return made


def test_a_title_means_the_same_in_every_panel(panel):
    found = headings(panel)
    known = found.keys() & DEFINITIONS.keys()
    assert known
    assert [title for title in known if DEFINITIONS[title] not in found[title]] == []


def test_every_share_names_its_whole(panel):
    shares = {title: tip for title, tip in headings(panel).items() if title.startswith("%")}
    assert all(" as a percentage of " in tip for tip in shares.values())
    assert not headings(panel).keys() & {"Share", "Share, %"}


def test_no_title_has_a_unit_of_time(panel):
    assert not any(title.endswith((", s", ", ms", ", µs", ", ns")) for title in headings(panel))
