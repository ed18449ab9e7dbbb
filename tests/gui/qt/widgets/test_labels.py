"""The empty state of a panel, and stacks of pages."""

import pytest
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from viewer.gui.qt.widgets.labels import (
    MOST_LINES,
    ClampedText,
    KeyValueGrid,
    PageOrSentence,
    PageStack,
)


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


@pytest.fixture
def grid(qtbot, theme):
    made = KeyValueGrid(theme)
    qtbot.addWidget(made)
    return made


@pytest.mark.parametrize("value", ["line\n" * 9, "word " * 200, "x" * 2000], ids=len)
@pytest.mark.parametrize("key", ["k", "key_" * 135, "a key " * 90], ids=len)
def test_long_keys_and_values_are_clamped_until_all_is_requested(grid, theme, key, value):
    grid.add(key, value)
    grid.resize(300, 400)
    grid.show()
    (clamped,) = grid.findChildren(ClampedText)
    line = QFontMetricsF(clamped.text.document().defaultFont()).lineSpacing()
    assert clamped.text.height() <= MOST_LINES * line + 2
    assert clamped.more.isVisible()
    name = grid.layout().itemAtPosition(0, 0).widget()
    assert name.sizeHint().height() <= 2.6 * name.fontMetrics().lineSpacing()
    assert grid.rows[key] == value
    clamped.more.linkActivated.emit("all")
    assert clamped.text.height() > MOST_LINES * line + 2
    assert not clamped.more.isVisible()


def test_short_values_have_no_link(grid):
    grid.add("Shapes", "[1, 2]\n[3]")
    grid.show()
    (clamped,) = grid.findChildren(ClampedText)
    assert not clamped.more.isVisible()


def test_a_value_from_right_to_left_starts_where_others_do(grid):
    grid.add("rtl", "مرحبا بالعالم")
    value = grid.layout().itemAtPosition(0, 1).widget()
    assert value.alignment() & Qt.AlignmentFlag.AlignAbsolute
