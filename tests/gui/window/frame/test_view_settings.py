"""Choices about the timeline: each takes effect at once, and the next window has it."""

from PySide6.QtCore import QPoint, Qt

from tests.gui.events import drag, settle
from viewer.gui.qt.settings import HEADER_WIDTH, LEGEND
from viewer.gui.session.choices import set_scheme
from viewer.gui.timeline.track_headers import WIDTH


def test_the_switch_of_motion_is_kept(controller):
    assert not controller.view_settings.moves_smoothly  # as tests want it
    controller.commands.run("view.motion")
    assert controller.view_settings.moves_smoothly
    assert controller.timeline.scene.animation.enabled
    assert controller.commands.actions["view.motion"].isChecked()
    controller.commands.run("view.motion")
    assert not controller.timeline.scene.animation.enabled


def test_l_hides_the_legend_and_the_next_window_remembers(attention, qtbot):
    legend = attention.timeline.legend
    assert legend.isVisible()
    qtbot.keyClick(attention.window, Qt.Key.Key_L)
    assert legend.isHidden()
    assert attention.settings.get(LEGEND) is False
    assert not attention.commands.actions["view.legend"].isChecked()
    set_scheme(attention.session, "type")  # nothing is counted for nobody
    qtbot.keyClick(attention.window, Qt.Key.Key_L)
    settle(qtbot, attention)
    titles = [button.share.title for button in legend.classes if not button.isHidden()]
    assert "scaled_dot_product_attention" in titles


def test_the_width_of_the_headers_is_remembered(attention):
    edge = QPoint(WIDTH - 1, 100)
    drag(attention.timeline.headers, edge, edge + QPoint(104, 0))
    assert attention.timeline.headers.width() == WIDTH + 104
    assert attention.settings.get(HEADER_WIDTH) == WIDTH + 104
