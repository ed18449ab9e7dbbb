"""The empty state of a panel, and stacks of pages."""

import pytest
from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from viewer.gui.qt.widgets.labels import PageOrSentence, PageStack


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


def page(width: int, height: int) -> QWidget:
    class Page(QWidget):
        def sizeHint(self):
            return QSize(width, height)

        minimumSizeHint = sizeHint

    return Page()


def test_hidden_pages_do_not_affect_its_size(qtbot):
    stack = PageStack()
    qtbot.addWidget(stack)
    small, large = page(100, 50), page(900, 700)
    for one in (small, large):
        stack.addWidget(one)
    assert stack.currentWidget() is small
    assert stack.sizeHint() == stack.minimumSizeHint() == QSize(100, 50)
    stack.setCurrentWidget(large)
    assert stack.sizeHint() == stack.minimumSizeHint() == QSize(900, 700)


def test_without_a_page_it_has_no_size(qtbot):
    stack = PageStack()
    qtbot.addWidget(stack)
    assert stack.minimumSizeHint() == QSize()


def test_its_height_does_not_depend_on_its_width(qtbot):
    text = QLabel("a sentence that takes several lines if it is narrow")
    text.setWordWrap(True)
    stack = PageStack()
    qtbot.addWidget(stack)
    stack.addWidget(text)
    assert text.hasHeightForWidth()
    assert not stack.hasHeightForWidth()
