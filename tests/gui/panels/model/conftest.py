"""The model panel over the sample with modules."""

import pytest

from viewer.gui.panels.model.panel import ModelPanel


@pytest.fixture
def panel(sample, show_panel):
    return show_panel(ModelPanel, sample("attention_xnnpack"), 1100, 560)
