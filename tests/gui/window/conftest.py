"""The window with a sample open."""

import pytest

from tests.gui.events import open_sample


@pytest.fixture
def attention(controller, qtbot):
    """The window with the attention sample open."""
    open_sample(qtbot, controller, "attention_xnnpack")
    return controller
