"""The submenus of File that list what was open before."""

from pathlib import Path

from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, names


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
