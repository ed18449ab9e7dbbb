"""The model panel over the sample with modules."""

import pytest

from viewer.gui.panels.model.panel import ModelPanel


@pytest.fixture
def panel(sample, theme, qtbot):
    made = ModelPanel(sample("attention_xnnpack"), theme)
    qtbot.addWidget(made)
    made.resize(1100, 560)
    made.show()
    return made
