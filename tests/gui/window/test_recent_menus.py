"""The submenus of File that list what was open before."""

from pathlib import Path

from tests.builders.compare_sessions import varied, write_sessions
from tests.gui.events import open_files, settle
from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, names
from viewer.gui.window.frame.start_page import RecentSet


def test_files_that_were_open_together_are_one_recent_set(attention):
    (recent,) = attention.settings.recent_sets()
    assert set(recent) == {ATTENTION, ATTENTION_RECORD}
    menu = attention.recent_menus.files
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts == [f"{Path(recent[0]).name} and 1 more", "Clear list"]


def test_a_recent_set_opens_again(attention, qtbot):
    attention.session.close_all()
    attention.recent_menus.files.aboutToShow.emit()
    with qtbot.waitSignal(attention.loader.all_done):
        attention.recent_menus.files.actions()[0].trigger()
    assert set(names(attention)) == {Path(ATTENTION).name, Path(ATTENTION_RECORD).name}


def compared_files(tmp_path):
    """Two sessions of each of three programs with one operator."""
    base = {"add.out": 20_000}
    arms = {"a": [0, 0.01], "b": [0.2, 0.21], "c": [0.4, 0.41]}
    return {
        name: [str(path) for path in write_sessions(tmp_path, name, *varied(base, shares))]
        for name, shares in arms.items()
    }


def test_two_comparisons_are_two_different_rows(controller, qtbot, tmp_path):
    files = compared_files(tmp_path)
    for other in "bc":
        open_files(qtbot, controller, *files["a"])
        controller.comparing.start(files[other])
        qtbot.waitUntil(lambda: controller.session.state.compared is not None)
        settle(qtbot, controller)
        controller.session.close_all()
        settle(qtbot, controller)
    menu = controller.recent_menus.files
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()][:2] == [
        "a0.etdp + 1 → c0.etdp + 1", "a0.etdp + 1 → b0.etdp + 1",
    ]  # fmt: skip
    rows = controller.window.start_page.findChildren(RecentSet)
    assert [row.accessibleName().partition(",")[0] for row in rows][:2] == [
        "Open a0.etdp + 1 → c0.etdp + 1", "Open a0.etdp + 1 → b0.etdp + 1",
    ]  # fmt: skip


def test_a_recent_comparison_compares_again(controller, qtbot, tmp_path):
    files = compared_files(tmp_path)
    open_files(qtbot, controller, *files["a"])
    controller.comparing.start(files["b"])
    qtbot.waitUntil(lambda: controller.session.state.compared is not None)
    controller.session.close_all()
    settle(qtbot, controller)
    row = controller.window.start_page.findChildren(RecentSet)[0]
    row.click()
    qtbot.waitUntil(lambda: controller.session.state.compared is not None)
    arms = controller.session.state.compared
    assert [sorted(arm.paths) for arm in (arms.a, arms.b)] == [files["a"], files["b"]]
    settle(qtbot, controller)


def test_files_that_are_opened_anew_are_not_compared(controller, qtbot, tmp_path):
    files = compared_files(tmp_path)
    open_files(qtbot, controller, *files["a"])
    controller.comparing.start(files["b"])
    qtbot.waitUntil(lambda: controller.session.state.compared is not None)
    controller.session.close_all()
    open_files(qtbot, controller, *files["a"], *files["b"])
    assert controller.session.state.compared is None
