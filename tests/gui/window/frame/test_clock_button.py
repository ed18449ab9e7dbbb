"""The clock rates in the status bar, and the menu that chooses one."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QInputDialog

from tests.builders.etdump_writer import delegate, operator
from tests.gui.events import open_files
from tests.gui.window.shown import CSV, THIN, message
from viewer.analysis.links.delegate_clocks import native_ns
from viewer.gui.window.commands.menus import CLOCK_MENU
from viewer.gui.window.frame import status


@pytest.fixture
def cycles(shared_window, data):
    """The window with a compile profile, whose text is found beside it."""
    return shared_window.showing(data / "torq" / "compile_c3_taskid_mtu.csv")


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
    assert message(cycles).startswith("Clock rate not changed: 'fast' is not a clock rate")
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
    assert clock_words(controller)[0] == "estimates in debug info"
    before = controller.window.status.range.text()
    controller.commands.actions["clock.100"].trigger()
    assert f"estimates at 100{THIN}MHz chosen" in controller.clock.text()
    assert checked(controller) == ["clock.100"]
    assert f"at 100{THIN}MHz chosen" in controller.panels["estimates"].note.text()
    assert controller.window.status.range.text() == before
    controller.commands.actions["go.undo"].trigger()
    assert f"at 800{THIN}MHz assumed" in controller.panels["estimates"].note.text()


@pytest.fixture
def qnn(shared_window, data):
    """The window with an ETDump whose delegate counts cycles and us."""
    return shared_window.showing(data / "etdump" / "SYN_qnn_like.etdp")


def delegate_menus(controller):
    """Title of each menu of a delegate's clock -> its actions by text."""
    menus = [a.menu() for a in controller.clock.menu().actions() if a.menu() is not None]
    return {
        menu.title(): {a.text().replace("&", ""): a for a in menu.actions() if a.text()}
        for menu in menus
    }


def rate_of_delegate(controller, text, of="cycles"):
    """Choose what a menu offers for a delegate's clock."""
    actions = next(a for title, a in delegate_menus(controller).items() if title.startswith(of))
    actions[text].trigger()


def test_the_rate_of_a_delegates_clock_is_stated_cleared_and_undone(qnn):
    assert list(delegate_menus(qnn)) == ["cycles: unknown"]
    assert list(delegate_menus(qnn)["cycles: unknown"]) == [
        "Unknown", "800 MHz", "100 MHz", "Other clock rate…",
    ]  # fmt: skip
    before = qnn.window.status.range.text(), qnn.clock.text()
    rate_of_delegate(qnn, "800 MHz")
    assert list(delegate_menus(qnn)) == [f"cycles: 800{THIN}MHz chosen"]
    assert f" · cycles at 800{THIN}MHz chosen · " in qnn.clock.text()
    shown = qnn.session.traces[0]
    assert native_ns(shown.table) is not None
    assert qnn.window.status.range.text() == before[0]
    qnn.commands.actions["go.undo"].trigger()
    assert (qnn.window.status.range.text(), qnn.clock.text()) == before
    assert native_ns(qnn.session.traces[0].table) is None
    qnn.commands.actions["go.redo"].trigger()
    assert list(delegate_menus(qnn)) == [f"cycles: 800{THIN}MHz chosen"]
    rate_of_delegate(qnn, "Unknown")
    assert list(delegate_menus(qnn)) == ["cycles: unknown"]
    assert qnn.session.workspace.choices.delegate_clocks == {}


def test_a_delegates_rate_changes_no_label_and_links_nothing_again(qnn):
    before = qnn.session.traces[0]
    rate_of_delegate(qnn, "100 MHz")
    now = qnn.session.traces[0]
    assert now is not before
    assert now.labels is before.labels
    assert now.table.links is before.table.links


def test_any_rate_of_a_delegate_can_be_given_with_the_same_messages(qnn, monkeypatch):
    answers = iter([("1.2 GHz", True), ("fast", True), ("7 GHz", False)])
    monkeypatch.setattr(QInputDialog, "getText", lambda *args, **more: next(answers))
    for _ in range(3):
        rate_of_delegate(qnn, "Other clock rate…")
        actions = delegate_menus(qnn)[f"cycles: 1.2{THIN}GHz chosen"]
        assert [text for text, a in actions.items() if a.isChecked()] == [f"1.2{THIN}GHz"]
    assert message(qnn).startswith("Clock rate not changed: 'fast' is not a clock rate")


def test_each_open_file_has_its_own_rates(qnn, qtbot, dump):
    own = [delegate("conv (cycles)", 0, 0, 5000), operator("DELEGATE_CALL", 0, 1000, 9000)]
    open_files(qtbot, qnn, dump(("Execute", own)))
    rate_of_delegate(qnn, "800 MHz", of="cycles in built.etdp")
    assert list(delegate_menus(qnn)) == [
        "cycles in SYN_qnn_like.etdp: unknown", f"cycles in built.etdp: 800{THIN}MHz chosen",
    ]  # fmt: skip
    qnn.session.close_all()
    assert qnn.session.state.delegate_clocks == {}


@pytest.mark.qt_log_ignore("does not support", extend=True)  # of an offscreen menu
def test_clocks_of_delegates_are_reached_with_the_keyboard(qnn, qtbot):
    menu = qnn.clock.menu()
    menu.popup(qnn.window.pos())
    qtbot.keyClick(menu, Qt.Key.Key_Up)
    assert menu.activeAction().text() == "cycles: unknown"
    qtbot.keyClick(menu, Qt.Key.Key_Right)
    qtbot.keyClick(menu.activeAction().menu(), Qt.Key.Key_8)
    assert list(delegate_menus(qnn)) == [f"cycles: 800{THIN}MHz chosen"]


def test_a_long_text_of_clocks_is_cut_and_told_in_full_by_the_tooltip(cycles, monkeypatch):
    long = "a clock of a delegate with a very long name " * 9
    monkeypatch.setattr(status, "clock_text", lambda session: long)
    cycles.clock.follow()
    assert cycles.clock.text().endswith("…")
    assert cycles.clock.sizeHint().width() < status.MOST_WIDTH + 60
    assert long in cycles.clock.toolTip()
    assert cycles.clock.accessibleName() == long


def test_text_of_a_trace_is_not_markup_in_the_tooltip(cycles, monkeypatch):
    text = "1 <b>tick</b> = " + "x" * 200
    monkeypatch.setattr(status, "clock_text", lambda session: text)
    cycles.clock.follow()
    assert "&lt;b&gt;tick" in cycles.clock.toolTip()
    assert cycles.clock.accessibleDescription().startswith(text)
