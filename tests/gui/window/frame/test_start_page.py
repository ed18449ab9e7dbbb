"""The start page: samples with real pictures, what opens, recent files."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton

from viewer.formats import formats
from viewer.gui.window.frame.start_page import RecentSet, StartPage
from viewer.gui.window.frame.thumbnails import thumbnail
from viewer.render.palette import SLAB
from viewer.resources import SAMPLES


@pytest.fixture
def page(theme, settings, qtbot):
    made = StartPage(theme, settings)
    qtbot.addWidget(made)
    made.resize(1400, 900)
    made.show()
    return made


def test_every_format_is_listed(page):
    texts = " ".join(label.toolTip() for label in page.findChildren(QLabel))
    assert all(form.name in texts for form in formats())


def test_a_button_leads_to_how_to_record_each_format(page, qtbot):
    with qtbot.waitSignal(page.help_requested):
        qtbot.mouseClick(buttons(page)["How to record each format"], Qt.MouseButton.LeftButton)


def buttons(page):
    return {button.accessibleName(): button for button in page.widget().findChildren(QPushButton)}


def test_the_last_session_is_offered_where_there_is_one(page, qtbot):
    assert "Reopen last session" not in buttons(page)
    page.offer_last_session(True)
    with qtbot.waitSignal(page.last_session_requested):
        qtbot.mouseClick(buttons(page)["Reopen last session"], Qt.MouseButton.LeftButton)
    page.offer_last_session(False)
    assert "Reopen last session" not in buttons(page)


def test_the_tour_starts_here(page, qtbot):
    with qtbot.waitSignal(page.tour_requested):
        qtbot.keyClick(buttons(page)["Take the tour"], Qt.Key.Key_Space)


def test_a_sample_opens_with_all_its_files(page, qtbot):
    with qtbot.waitSignal(page.open_requested) as asked:
        qtbot.mouseClick(page.cards[1], Qt.MouseButton.LeftButton)
    assert asked.args == [SAMPLES[1].paths()]
    assert all(Path(path).is_file() for path in asked.args[0])


def test_a_sample_opens_from_the_keyboard_and_has_a_name(page, qtbot):
    with qtbot.waitSignal(page.open_requested) as asked:
        qtbot.keyClick(page.cards[0], Qt.Key.Key_Return)
    assert asked.args == [SAMPLES[0].paths()]
    assert page.cards[0].accessibleName() == "Open sample: Attention, XNNPACK"
    assert page.cards[0].focusPolicy() == Qt.FocusPolicy.StrongFocus


def test_the_button_asks_for_the_dialog(page, qtbot):
    button = next(b for b in page.findChildren(QPushButton) if b.property("primary"))
    with qtbot.waitSignal(page.open_dialog_requested):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_pictures_arrive_from_the_background_once_they_are_wanted(page, qtbot):
    assert not page._drawer.pending
    page.want_pictures()
    qtbot.waitUntil(lambda: len(page._pictures) == len(SAMPLES), timeout=10_000)
    assert page._pictures["attention_xnnpack"].cells.any()


def test_pictures_are_drawn_when_the_page_is_shown_again(page, qtbot):
    page.hide()
    page.want_pictures()
    assert not page._drawer.pending
    page.show()
    qtbot.waitUntil(lambda: len(page._pictures) == len(SAMPLES), timeout=10_000)


def test_a_picture_shows_the_shared_calls_of_a_warm_run():
    picture = thumbnail(SAMPLES[0].paths(), 240)
    assert picture.cells.shape == (3, 240)
    assert (picture.cells[1] & 63 == SLAB).any()


def test_a_plain_table_is_shown_as_the_text_it_is():
    picture = thumbnail(SAMPLES[2].paths(), 240)
    first = Path(SAMPLES[2].paths()[0]).read_text().splitlines()[0]
    assert picture.lines[0] == first


def test_files_that_cannot_be_read_have_no_picture(tmp_path):
    assert len(thumbnail([str(tmp_path / "absent.etdp")], 240).cells) == 0


def test_recent_files_open_together_and_sets_without_any_are_off(page, settings, tmp_path, qtbot):
    profile, record = tmp_path / "net.etdp", tmp_path / "net.etrecord"
    profile.write_bytes(b"x")
    settings.add_recent_set([str(tmp_path / "gone.etdp")])
    settings.add_recent_set([str(profile), str(record)])
    page.refresh_recent()
    qtbot.waitUntil(lambda: len(page._gone) == 2)
    present, gone = page.widget().findChildren(RecentSet)
    assert not gone.isEnabled()
    texts = [label.text() for label in present.findChildren(QLabel) if label.text()]
    assert texts == ["net.etdp", "1 of 2 missing", "net.etrecord"]
    with qtbot.waitSignal(page.recent_requested) as asked:
        qtbot.mouseClick(present, Qt.MouseButton.LeftButton)
    assert asked.args == [[str(profile)]]


def test_a_small_window_scrolls_and_stacks_the_cards(page, qtbot):
    page.resize(520, 400)
    qtbot.waitUntil(lambda: page.cards[2].y() > page.cards[0].y())
    assert page.verticalScrollBar().maximum() > 0
    assert page.horizontalScrollBar().maximum() == 0


def test_a_hidden_page_follows_the_theme_once_it_is_shown(page, theme):
    page.show()
    before = page.widget()
    page.hide()
    theme.set_choice("light")
    assert page.widget() is before
    page.show()
    after = page.widget()
    assert after is not before
    theme.set_choice("dark")
    assert page.widget() is not after
