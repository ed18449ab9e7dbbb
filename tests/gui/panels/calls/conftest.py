"""The Calls panel over hand-made traces."""

import pytest

from tests.builders.call_traces import trace_of
from viewer.gui.panels.calls.panel import CallsPanel

SLICES = (
    ("t", "main", 0, 100), ("t", "load", 0, 20), ("t", "run", 20, 90), ("t", "conv", 30, 70),
    ("t", "copy", 40, 45), ("t", "copy", 70, 80),
)  # fmt: skip


@pytest.fixture
def show_session(show_panel, qtbot):
    """Show the panel over a session; it computes nothing before it is visible."""

    def show(session):
        panel = show_panel(CallsPanel, session, 900, 500)
        qtbot.waitUntil(lambda: not panel.is_empty)
        return panel

    return show


@pytest.fixture
def show_trace(opened, show_session):
    """Show the panel over a session with hand-made traces open."""

    def show(*traces):
        session = opened()
        session.add(list(traces))
        return show_session(session)

    return show


@pytest.fixture
def linked(opened, show_session, data):
    """The panel over a linked profile of ten inferences."""
    names = "etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord"
    return show_session(opened(*(data / name for name in names)))


@pytest.fixture
def panel(show_trace):
    """main 100 (load 20, run 70 (conv 40 (copy 5), copy 10)), on one thread."""
    return show_trace(trace_of(*SLICES))
