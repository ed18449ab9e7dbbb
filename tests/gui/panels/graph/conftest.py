"""The graph panel over the sample with modules, and about one of its operators."""

import pytest

from tests.gui.panels.graph.picture import QKV, settle
from viewer.gui.panels.graph.controls import GraphMode
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
def around(panel, qtbot):
    """The attention sample in the mode of neighborhoods, without a selection."""
    panel.controls.modes.buttons[GraphMode.NEIGHBORHOOD].click()
    settle(qtbot, panel)
    return panel


@pytest.fixture
def about_qkv(around, qtbot):
    around.session.select_operators(0, (QKV,))
    settle(qtbot, around)
    return around


@pytest.fixture
def whole(panel):
    """The attention sample, all of whose groups are open."""
    return panel


@pytest.fixture
def partly(opened, data, show_graph, qtbot):
    """A program of which parts are delegated, with its file."""
    ends = ("etdp", "etrecord", "pte")
    panel = show_graph(opened(*(data / "pte" / f"part_x.{end}" for end in ends)))
    settle(qtbot, panel)
    return panel
