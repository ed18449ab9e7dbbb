"""The clock rates in the status bar, and the menu that chooses one."""

import pytest
from PySide6.QtWidgets import QInputDialog

from tests.gui.events import open_files
from tests.gui.window.shown import CSV, THIN, message
from viewer.gui.window.commands.menus import CLOCK_MENU


@pytest.fixture
def cycles(controller, qtbot, data):
    """The window with a compile profile, whose text is found beside it."""
    open_files(qtbot, controller, data / "torq" / "compile_c3_taskid_mtu.csv")
    return controller


def clock_words(controller):
    return [action.text().replace("&", "") for action in controller.clock.menu().actions()
            if not action.isSeparator()]  # fmt: skip


def checked(controller):
    return [id for id in CLOCK_MENU if id != "-" and controller.commands.actions[id].isChecked()]


def test_the_clock_in_the_status_bar_is_the_handle_of_its_rate(cycles):
    assert cycles.clock.text() == f"800{THIN}MHz assumed · 44 slices"
    assert clock_words(cycles) == [
        "compile_c3_taskid_mtu.csv", "As assumed or stated", "800 MHz", "100 MHz",
        "Other clock rate…",
    ]  # fmt: skip
    assert checked(cycles) == ["clock.file"]
    before = cycles.window.status.range.text()
    cycles.commands.actions["clock.100"].trigger()
    assert cycles.clock.text() == f"100{THIN}MHz chosen · 44 slices"
    assert f"1 cycle = 10{THIN}ns, chosen" in cycles.clock.toolTip()
    assert checked(cycles) == ["clock.100"]
    assert cycles.window.status.range.text() != before
    cycles.commands.actions["go.undo"].trigger()
    assert (cycles.window.status.range.text(), checked(cycles)) == (before, ["clock.file"])
    assert cycles.clock.text() == f"800{THIN}MHz assumed · 44 slices"
    cycles.commands.actions["clock.800"].trigger()
    assert cycles.clock.text() == f"800{THIN}MHz chosen · 44 slices"


def test_any_rate_can_be_given_and_what_is_none_is_told(cycles, monkeypatch):
    answers = iter([("1.2 GHz", True), ("fast", True), ("7 GHz", False)])
    monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: next(answers))
    ask = cycles.commands.actions["clock.other"].trigger
    ask()
    assert cycles.clock.text().startswith(f"1.2{THIN}GHz chosen")
    assert message(cycles) == ""
    ask()
    assert message(cycles).startswith("The clock rate stays as it was: 'fast' is not a clock rate")
    ask()
    assert cycles.clock.text().startswith(f"1.2{THIN}GHz chosen")


def test_a_stated_clock_has_no_menu(controller, qtbot):
    open_files(qtbot, controller, CSV)
    assert controller.clock.menu() is None
    assert not controller.commands.actions["clock.other"].isEnabled()
    controller.commands.actions["file.close_all"].trigger()
    assert not controller.clock.isVisible()


def test_the_rate_of_estimates_is_chosen_where_only_debug_info_has_them(controller, qtbot, data):
    torq = data / "torq"
    open_files(
        qtbot, controller, torq / "host_h4_latest_2inv.csv", torq / "tiny_cnn.lowered_generic.mlir"
    )
    assert controller.clock.text().startswith(
        f"1 tick = 1000{THIN}ns · estimates at 800{THIN}MHz assumed"
    )
    assert clock_words(controller)[0] == "estimates of debug info"
    before = controller.window.status.range.text()
    controller.commands.actions["clock.100"].trigger()
    assert f"estimates at 100{THIN}MHz chosen" in controller.clock.text()
    assert checked(controller) == ["clock.100"]
    assert f"at 100{THIN}MHz chosen" in controller.estimates.note.text()
    assert controller.window.status.range.text() == before
    controller.commands.actions["go.undo"].trigger()
    assert f"at 800{THIN}MHz assumed" in controller.estimates.note.text()
