"""The panel with a whole model: the attention sample, and a program file with delegates."""

import pytest

from tests.gui.panels.graph.picture import settle


@pytest.fixture
def whole(panel, qtbot):
    """The attention sample, all of whose groups are open."""
    panel.show_whole()
    settle(qtbot, panel)
    return panel


@pytest.fixture
def partly(opened, data, show_graph, qtbot):
    """A program of which parts are delegated, with its file."""
    ends = ("etdp", "etrecord", "pte")
    panel = show_graph(opened(*(data / "pte" / f"part_x.{end}" for end in ends)))
    panel.show_whole()
    settle(qtbot, panel)
    return panel
