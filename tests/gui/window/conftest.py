"""The window with a sample open."""

import pytest

from tests.gui.events import open_sample


@pytest.fixture
def attention(desk, qtbot):
    """The window with the attention sample open."""
    open_sample(qtbot, desk, "attention_xnnpack")
    return desk
