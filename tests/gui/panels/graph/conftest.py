"""The graph panel over the sample with modules, and about one of its operators."""

import pytest

from tests.gui.panels.graph.picture import (
    QKV,
    made,
    settle,
)


@pytest.fixture
def panel(sample, theme, qtbot):
    return made(sample("attention_xnnpack"), theme, qtbot)


@pytest.fixture
def about_qkv(panel, qtbot):
    panel.session.select_operators(0, (QKV,))
    settle(qtbot, panel)
    return panel
