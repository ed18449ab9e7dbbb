"""The settings of the Preferences window, which the menus and the next window have too."""

import pytest
import shiboken6
from PySide6.QtCore import Qt

from tests.gui.events import open_sample, settle
from viewer.gui.qt.settings import EDITOR, FIRST_INFERENCES, FONT_SIZE, WARM_UP
from viewer.gui.window.dialogs.preferences import PreferencesDialog
from viewer.gui.window.main_window import MainWindow
from viewer.model.inference_views import Inferences
from viewer.render.stacking import Density
from viewer.view.open_trace import AT_ONCE


@pytest.fixture
def dialog(controller, qtbot):
    qtbot.keyClick(controller.window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    dialog = controller.window.findChild(PreferencesDialog)
    yield dialog
    if shiboken6.isValid(dialog):
        dialog.close()


def pick(dialog, name, text):
    box = dialog.controls[name]
    box.setCurrentIndex(box.findText(text))
    box.activated.emit(box.currentIndex())


def test_a_choice_in_the_window_is_checked_in_the_menus(controller, dialog):
    checked = controller.commands.actions
    pick(dialog, "Theme", "Light")
    assert checked["view.theme_light"].isChecked()
    assert not controller.theme.dark
    pick(dialog, "Row density", "Compact")
    assert checked["view.density_compact"].isChecked()
    assert controller.timeline.scene.used_density is Density.COMPACT
    for name, id in (
        ("Smooth motion", "view.motion"),
        ("Drag to pan (Shift+drag selects)", "view.drag_pans"),
        ("Legend of colors", "view.legend"),
        ("Flows of the selected slice", "view.flows"),
    ):
        before = checked[id].isChecked()
        assert dialog.controls[name].isChecked() == before
        dialog.controls[name].click()
        assert checked[id].isChecked() != before
    pick(dialog, "Theme", "Dark")


def test_a_choice_in_a_menu_is_shown_in_the_window(controller, dialog):
    controller.commands.run("view.theme_light")
    controller.commands.run("view.density_comfortable")
    controller.commands.run("view.legend")
    assert dialog.controls["Theme"].currentText() == "Light"
    assert dialog.controls["Row density"].currentText() == "Comfortable"
    assert not dialog.controls["Legend of colors"].isChecked()
    controller.commands.run("view.theme_dark")


def test_the_font_size_and_the_editor_are_stored(controller, dialog, qtbot):
    pick(dialog, "Font size", "Large")
    assert controller.settings.get(FONT_SIZE) == "large"
    qtbot.keyClicks(dialog.controls["Editor command"].lineEdit(), "edit {file}")
    assert controller.settings.get(EDITOR) == "edit {file}"
    assert dialog.controls["Editor command"].currentText() == "edit {file}"


@pytest.mark.parametrize("at_once", [AT_ONCE, -1], ids=["small", "large"])
def test_files_are_opened_with_the_inferences_that_are_preferred(
    controller, dialog, qtbot, monkeypatch, at_once
):
    for module in ("workspace_edits", "session"):
        monkeypatch.setattr(f"viewer.gui.session.{module}.AT_ONCE", at_once)
    pick(dialog, "Show inferences", "Typical inference")
    dialog.controls["Include warm-up in figures"].click()
    dialog.close()
    open_sample(qtbot, controller, "attention_xnnpack")
    state = controller.session.state
    assert (state.inferences, state.warm_up) == (Inferences.TYPICAL, True)
    assert controller.toolbar.run.text() == "Typical inference"
    assert not controller.session.history.can_undo


def test_a_choice_in_one_window_applies_to_files_opened_in_another(controller, qtbot):
    other = MainWindow(controller.theme, controller.settings)
    other.controller.view_settings.set_first_inferences(Inferences.TYPICAL)
    other.controller.view_settings.toggle_warm_up()
    open_sample(qtbot, controller, "attention_xnnpack")
    state = controller.session.state
    assert (state.inferences, state.warm_up) == (Inferences.TYPICAL, True)
    other.close()
    shiboken6.delete(other)  # before the theme, which is the other window's


def test_a_session_is_reopened_as_it_was(controller, dialog, qtbot):
    pick(dialog, "Show inferences", "Typical inference")
    dialog.close()
    open_sample(qtbot, controller, "attention_xnnpack")
    controller.session.show_inferences(Inferences.AS_RUN)
    controller.session.set_range(680_000, 700_000)
    with qtbot.waitSignal(controller.loader.all_done):
        controller.commands.run("file.reload")
    settle(qtbot, controller)
    state = controller.session.state
    assert (state.inferences, state.t0, state.t1) == (Inferences.AS_RUN, 680_000, 700_000)


def test_defaults_are_restored_everywhere(controller, dialog):
    motion = dialog.controls["Smooth motion"]
    pick(dialog, "Row density", "Compact")
    pick(dialog, "Font size", "Larger")
    pick(dialog, "Show inferences", "Mean without warm-up")
    dialog.controls["Include warm-up in figures"].click()
    dialog.controls["Legend of colors"].click()
    if motion.isChecked():
        motion.click()
    dialog.restore.click()
    assert controller.timeline.scene.used_density is Density.AUTOMATIC
    assert motion.isChecked()
    assert controller.timeline.scene.animation.enabled
    assert not controller.timeline.legend.isHidden()
    assert dialog.controls["Font size"].currentText() == "Normal"
    assert controller.commands.actions["view.density_automatic"].isChecked()
    settings = controller.settings
    assert [settings.get(s) for s in (FIRST_INFERENCES, WARM_UP)] == ["as_run", False]
    assert controller.session.preferred().inferences is Inferences.AS_RUN
    assert controller.theme.choice == "system"


def test_it_fits_a_small_screen(dialog):
    assert dialog.sizeHint().width() <= 1280
    assert dialog.sizeHint().height() <= 700
