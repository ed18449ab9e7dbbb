"""The tip at the mouse: a child of the window once it is shown, gone with what it belongs to."""

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QPoint
from PySide6.QtWidgets import QWidget

from viewer.gui.qt.canvases import HoverTip


def test_a_tip_goes_with_its_owner(qtbot, theme):
    window = QWidget()
    qtbot.addWidget(window)
    owner = QWidget(window)
    shown, never_shown = HoverTip(owner, theme), HoverTip(owner, theme)
    shown.show_lines(["conv", "12 ns"], QPoint(1, 1))
    assert shown.parentWidget() is window
    shiboken6.delete(owner)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not shiboken6.isValid(shown)
    assert not shiboken6.isValid(never_shown)


def test_a_tip_goes_with_its_window(qtbot, theme):
    window = QWidget()
    tip = HoverTip(QWidget(window), theme)
    tip.show_lines(["conv"], QPoint(1, 1))
    shiboken6.delete(window)
    assert not shiboken6.isValid(tip)
