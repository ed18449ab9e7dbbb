"""Opening and closing of groups."""

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from tests.gui.panels.graph.picture import settle


def test_all_groups_open_and_close_again(whole, qtbot):
    first = whole.answer.opened
    whole.toggle(next(iter(first - {0})))
    settle(qtbot, whole)
    assert whole.answer.opened < first
    QTest.mouseClick(whole.controls.open_first, Qt.MouseButton.LeftButton)
    settle(qtbot, whole)
    assert whole.answer.opened == first
    QTest.mouseClick(whole.controls.open_all, Qt.MouseButton.LeftButton)
    settle(qtbot, whole)
    tree = whole.answer.model.tree
    assert whole.answer.layout.shown.is_frame[np.flatnonzero(tree.is_group)].all()


def test_closing_a_group_closes_those_inside(whole, qtbot):
    tree = whole.answer.model.tree
    outer = tree.names.index("blocks.0")
    whole.toggle(outer)
    settle(qtbot, whole)
    whole.toggle(outer)
    settle(qtbot, whole)
    inner = [n for n in range(outer + 1, int(tree.end[outer])) if tree.is_group[n]]
    assert inner
    assert not whole.answer.layout.shown.is_frame[inner].any()


def test_hidden_panels_ask_nothing(whole):
    before = whole.answer
    whole.hide()
    whole.controls.open_first.click()
    assert whole.answer is before
