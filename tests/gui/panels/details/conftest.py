"""The details panel in the size of its dock."""

from functools import partial

import pytest

from viewer.gui.panels.details.panel import DetailsPanel


@pytest.fixture
def show_details(show_panel):
    """Show the details of what is selected in a session."""
    return partial(show_panel, DetailsPanel, width=372, height=900)
