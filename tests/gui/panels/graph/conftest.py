"""The graph panel over the sample with modules, and about one of its operators."""

import pytest

from tests.gui.panels.graph.picture import QKV, settle
from viewer.gui.panels.graph.panel import GraphPanel
from viewer.gui.session.session import Session


@pytest.fixture
def show_graph(show_panel, qtbot):
    """Show the panel over a session, and wait for its picture if there is one to draw."""

    def show(session: Session) -> GraphPanel:
        panel = show_panel(GraphPanel, session, 760, 560)
        qtbot.waitUntil(lambda: panel.is_empty or panel.answer is not None)
        return panel

    return show


@pytest.fixture
def panel(sample, show_graph):
    return show_graph(sample("attention_xnnpack"))


@pytest.fixture
def about_qkv(panel, qtbot):
    panel.session.select_operators(0, (QKV,))
    settle(qtbot, panel)
    return panel
