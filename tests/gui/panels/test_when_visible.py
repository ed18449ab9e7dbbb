"""Panels of a large trace work their figures out when they are seen, and only then."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from tests.gui.fake_host import FakeHost
from viewer.gui.panels import estimates as estimates
from viewer.gui.panels import events as events
from viewer.gui.panels.estimates import EstimatesPanel
from viewer.gui.panels.events import EventsPanel
from viewer.gui.panels.statistics import panel as statistics
from viewer.gui.panels.statistics.panel import StatisticsPanel
from viewer.gui.qt.background import BEING_COUNTED

_KINDS = {
    "statistics": (statistics, StatisticsPanel),
    "events": (events, EventsPanel),
    "estimates": (estimates, EstimatesPanel),
}


@pytest.fixture
def host(qtbot):
    """A window for docks."""
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(1200, 600)
    return window


@pytest.fixture(params=_KINDS)
def tabs(request, sample, theme, qtbot, monkeypatch, host):
    """A panel of a trace that counts as large behind another tab, and how often it was asked."""
    module, kind = _KINDS[request.param]
    asked, work = [], module._answer
    monkeypatch.setattr(kind, "SYNC_LIMIT", 0)
    monkeypatch.setattr(module, "_answer", lambda *of: (asked.append(of), work(*of))[1])
    session = sample("torq_npu")
    panel = kind(FakeHost(session, theme))
    docks = [QDockWidget("behind", host), QDockWidget("front", host)]
    docks[0].setWidget(panel)
    for dock in docks:
        host.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
    host.tabifyDockWidget(*docks)
    docks[1].raise_()
    with qtbot.waitExposed(host):
        host.show()
    qtbot.wait(0)
    return session, panel, docks, asked


def texts(panel):
    model = panel.model
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def test_behind_a_tab_nothing_is_worked_out_and_in_front_all_is(tabs, qtbot, show_panel):
    session, panel, docks, asked = tabs
    session.clear_selection()
    session.workspace_changed.emit()
    assert asked == []
    assert panel.is_empty
    docks[0].raise_()
    qtbot.waitUntil(lambda: not panel.is_empty)
    assert not panel.is_pending
    seen = show_panel(type(panel), session, panel.width(), panel.height())
    qtbot.waitUntil(lambda: not seen.is_empty)
    assert texts(panel) == texts(seen) != []


def test_it_is_asked_once_however_often_it_was_put_off(tabs, qtbot):
    session, panel, docks, asked = tabs
    for _ in range(3):
        session.workspace_changed.emit()
    docks[0].raise_()
    qtbot.waitUntil(lambda: not panel.is_empty)
    panel.repaint()
    qtbot.waitUntil(lambda: not panel.is_pending)
    assert len(asked) == 1


def test_until_then_it_says_that_it_is_worked_out(tabs):
    _, panel, _, _ = tabs
    assert panel.sentence == BEING_COUNTED


def test_closing_all_leaves_nothing_to_be_done(tabs, qtbot):
    session, panel, docks, _ = tabs
    session.close_all()
    docks[0].raise_()
    qtbot.waitUntil(lambda: not panel.visibleRegion().isEmpty() and not panel.is_pending)
    assert panel.is_empty
    assert panel.sentence != BEING_COUNTED
