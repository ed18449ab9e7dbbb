"""The submenus of File that list what was open before."""

from pathlib import Path

from tests.gui.window.shown import ATTENTION, ATTENTION_RECORD, names


def test_an_opened_file_is_the_first_of_the_recent_ones(attention):
    assert set(attention.settings.recent_files()) == {ATTENTION, ATTENTION_RECORD}
    menu = attention.recent_menus.files
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions() if action.text()]
    assert set(texts) == {Path(ATTENTION).name, Path(ATTENTION_RECORD).name, "Clear list"}


def test_a_recent_file_opens_again(attention, qtbot):
    attention.session.close_all()
    attention.recent_menus.files.aboutToShow.emit()
    chosen = next(a for a in attention.recent_menus.files.actions() if a.data() == ATTENTION)
    with qtbot.waitSignal(attention.loader.all_done):
        chosen.trigger()
    assert names(attention) == ["attn_xnnpack_x5.etdp"]
