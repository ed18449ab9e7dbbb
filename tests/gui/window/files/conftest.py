"""Reading and writing of files: each test has a window of its own."""

import pytest

from tests.gui.events import open_sample


@pytest.fixture
def attention(controller, qtbot):
    """The attention sample in a window of this test alone."""
    open_sample(qtbot, controller, "attention_xnnpack")
    return controller
