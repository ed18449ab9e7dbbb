"""The empty state of a panel: its sentence, its button and what the button does."""

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QPushButton, QWidget

from viewer.gui.qt.widgets.labels import PageOrSentence


@pytest.fixture
def panel(qtbot, theme):
    made = PageOrSentence(QWidget(), theme, None)
    qtbot.addWidget(made)
    made.show()
    return made


def button(panel):
    (found,) = panel.empty.findChildren(QPushButton)
    return found


def test_a_sentence_takes_the_place_of_the_page_until_the_page_comes_back(panel):
    assert panel.sentence == ""
    panel.show_sentence("Nothing yet.")
    assert (panel.sentence, button(panel).isVisible()) == ("Nothing yet.", False)
    panel.show_page()
    assert panel.sentence == ""


def test_a_button_does_only_what_the_last_sentence_asks(panel):
    done = []
    panel.show_sentence("No files.", "Open…", lambda: done.append("open"))
    panel.show_sentence("No file.", "Locate…", lambda: done.append("locate"))
    assert button(panel).text() == "Locate…"
    button(panel).click()
    assert done == ["locate"]
    panel.show_sentence("Nothing.")
    panel.empty.pressed.emit()
    assert done == ["locate"]


def test_no_button_is_a_window_for_a_moment_and_takes_the_focus(panel, qapp):
    shown_as_windows = []

    class Watcher(QObject):
        def eventFilter(self, widget, event):
            if event.type() == QEvent.Type.Show and isinstance(widget, QPushButton):
                shown_as_windows.append(widget.isWindow())
            return False

    watcher = Watcher()
    qapp.installEventFilter(watcher)
    panel.show_sentence("No files.", "Open…", print)
    qapp.removeEventFilter(watcher)
    assert shown_as_windows == [False]


def test_a_hundred_sentences_need_one_widget(panel):
    first = None
    for number in range(100):
        panel.show_sentence(f"Step {number}", "Next" * (number % 2), print, QWidget())
        first = first or panel.empty
    assert panel.empty is first
    assert panel.count() == 2
